"""Patterns: how rules and paths are normalised, and which of many rules matches a path.

*Normalising.* A path for the matcher is a string with one character for each byte (Latin-1 of its
UTF-8), so that comparing strings compares bytes; an ASCII path is unchanged.

*Matching.* Rules are numbered by rank, and the verdict is the highest rank that matches. A rule
without `*` is a literal: the literals that begin a path form a chain, each a beginning of the
next, and a binary search finds the end of that chain. A rule with `*` hangs on the literal before
its first `*` and is tried only where that literal matched; its pieces are then found leftmost
first, which never backtracks. Nothing is cached.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from manners import urls
from manners._text import to_bytes, to_text
from manners.errors import InvalidURL
from manners.robots.groups import Rule

if TYPE_CHECKING:
    from manners.robots.dialects import Dialect

# RFC 3986: unreserved and reserved characters, less `*` and `$`, which RFC 9309 section 2.2.3
# makes operators. Everything else has no place in a URL unless percent-encoded.
_UNRESERVED = rb"A-Za-z0-9\-._~"
_SAFE = _UNRESERVED + rb"/:?#\[\]@!&'()+,;="

_PERCENT = rb"%[0-9A-Fa-f]{2}"
_PLAIN_PATTERN = re.compile(rb"[*" + _SAFE + rb"]*+\$?").fullmatch
_PLAIN_PATH = re.compile(rf"[{_SAFE.decode()}]*+").fullmatch


# Normalising: patterns are bytes, with the URL of their file; paths are strings.


def rfc_pattern(value: bytes, url: str | None) -> bytes | None:
    r"""RFC 9309: `*` and a final `$` are operators, `$` elsewhere is a character.

    >>> rfc_pattern(b"/caf\xc3\xa9/%7Ejoe/$5*$", None)
    b'/caf%C3%A9/~joe/%245*$'
    """
    if _PLAIN_PATTERN(value):
        return value
    body, anchor = (value[:-1], b"$") if value.endswith(b"$") else (value, b"")
    return _rfc_pattern(body) + anchor


def rfc_path(path: str) -> str:
    """RFC 9309: in a URL, `*` and `$` are characters.

    >>> rfc_path("/a b/%7e%2f*")
    '/a%20b/~%2F%2A'
    """
    return path if _PLAIN_PATH(path) else _rfc_path(to_bytes(path)).decode("ascii")


def literal_pattern(value: bytes, url: str | None) -> bytes | None:
    """As `rfc_pattern`, with `*` and `$` as ordinary characters."""
    return _literal(value)


def literal_path(path: str) -> str:
    """As `rfc_path`, with `*` and `$` as ordinary characters.

    >>> literal_path("/a*%2a")
    '/a**'
    """
    if _PLAIN_PATH(path):
        return path
    return _literal(to_bytes(path)).decode("ascii")


class _Rewriter(dict[bytes, bytes]):
    """Rewrites octets and percent-encoded octets; each is worked out once, then looked up.

    A text is split at what has to be rewritten, and joined again. No function is called for each
    occurrence, so that a text full of them costs little more than any other.
    """

    def __init__(self, rewritten: bytes, decoded: bytes = b"") -> None:
        self._parts = re.compile(b"(" + rewritten + b")").split
        self._is_decoded = re.compile(b"[" + decoded + b"]").fullmatch if decoded else None

    def __call__(self, data: bytes) -> bytes:
        parts = self._parts(data)
        parts[1::2] = map(self.__getitem__, parts[1::2])
        return b"".join(parts)

    def __missing__(self, found: bytes) -> bytes:
        if len(found) == 1:
            rewritten = b"%%%02X" % ord(found)
        else:
            octet = bytes.fromhex(found[1:].decode())
            is_decoded = self._is_decoded is not None and self._is_decoded(octet)
            rewritten = octet if is_decoded else found.upper()
        self[found] = rewritten
        return rewritten


# RFC 9309 section 2.2.2: percent-encoded octets of unreserved characters are decoded, octets
# outside US-ASCII or with no place in a URL are encoded; `%` alone stands for itself.
_rfc_path = _Rewriter(_PERCENT + rb"|[^" + _SAFE + rb"]", _UNRESERVED)
_rfc_pattern = _Rewriter(_PERCENT + rb"|[^*" + _SAFE + rb"]", _UNRESERVED)
_literal = _Rewriter(_PERCENT + rb"|[^*$" + _SAFE + rb"]", rb"*$" + _UNRESERVED)
_google = _Rewriter(_PERCENT + rb"|[\x80-\xff]")
_escape = _Rewriter(rb"[^%*$" + _SAFE + rb"]")
_upper_hex = _Rewriter(_PERCENT)


def google_pattern(value: bytes, url: str | None) -> bytes | None:
    r"""Google: octets outside US-ASCII are escaped, %xx is upper-cased, nothing is decoded.

    >>> google_pattern(b"/SanJos\xc3\xa9/%aa", None)
    b'/SanJos%C3%A9/%AA'
    """
    return value if value.isascii() and b"%" not in value else _google(value)


def raw_path(path: str) -> str:
    """Google: the bytes, up to a NUL, because its matcher takes a C string."""
    return _one_a_byte(path).partition("\0")[0]


def scanner_pattern(value: bytes, url: str | None) -> bytes | None:
    r"""Scanner: patterns with white space or a backslash are dropped, %xx is upper-cased.

    >>> scanner_pattern(b"/a%2f", None), scanner_pattern(b"/a b", None)
    (b'/a%2F', None)
    """
    if _IMPOSSIBLE(value):
        return None
    return _upper_hex(value) if b"%" in value else value


_IMPOSSIBLE = re.compile(rb"[\s\\]").search


def scanner_path(path: str) -> str:
    """Scanner: no query, `//` is `/`, %xx upper-cased, nothing decoded.

    >>> scanner_path("/a//b%2f?c=d")
    '/a/b%2F'
    """
    path = re.sub("//+", "/", path.partition("?")[0])
    return _one_a_byte(path) if "%" not in path else _upper_hex(to_bytes(path)).decode("latin-1")


def resolved_pattern(value: bytes, url: str | None) -> bytes | None:
    """WWW::RobotRules: the value may be a relative path or a URL; another server's is dropped.

    Without the URL of the file, any URL counts as one of this server.

    >>> resolved_pattern(b"http://example.com/a", "http://example.com/robots.txt")
    b'/a'
    >>> resolved_pattern(b"http://example.org/a", "http://example.com/robots.txt") is None
    True
    """
    text = to_text(value)
    if _HAS_SCHEME(text) or text.startswith("//"):
        text = text if url is None or _HAS_SCHEME(text) else url.partition("//")[0] + text
        try:
            if url is not None and urls.origin(text) != urls.origin(url):
                return None
        except InvalidURL:
            return None
        text = urls.match_path(text)
    elif text and text[0] != "/":
        text = _relative(text, urls.match_path(url or "/robots.txt"))
    return _escape(to_bytes(text))


_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:").match


def _relative(text: str, base: str) -> str:
    """A relative reference, resolved as Perl's URI does: a `..` at the root stays."""
    base_path = base.partition("?")[0]
    if text.startswith("?"):
        return base_path + text
    path, mark, query = text.partition("?")
    kept: list[str] = []
    segments = (base_path.rpartition("/")[0] + "/" + path).split("/")[1:]
    for segment in segments:
        if segment == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", "..") and kept[-1:] != [".."]:
        kept.append("")
    return "/" + "/".join(kept) + mark + query


def escaped_path(path: str) -> str:
    """WWW::RobotRules: characters that no URL may contain are escaped, nothing else."""
    return path if _PLAIN_PATH(path) else _escape(to_bytes(path)).decode("ascii")


def _one_a_byte(text: str) -> str:
    return text if text.isascii() else to_bytes(text).decode("latin-1")


# Matching.

# CPython finds a text of 100 characters or more in linear time only in a text that is long enough;
# in a shorter one, "aaa…ab" takes the product of both lengths. NUL, as padding, matches no pattern.
_LONG = 100
_ENOUGH = "\0" * 30_000


class _Wild(NamedTuple):
    """A rule with `*`, without the literal before it."""

    rank: int
    needs: str
    """The longest piece: most paths lack it, which is quick to see."""
    pieces: tuple[str, ...]
    """The pieces between the stars, and behind the last."""
    end: str
    """The piece that must end the path, for a rule with `$`; else empty."""
    length: int
    """The total length of all pieces."""


def _wild(rank: int, pieces: tuple[str, ...], end: str) -> _Wild:
    every = (*pieces, end)
    return _Wild(rank, max(every, key=len), pieces, end, sum(map(len, every)))


class _Wilds:
    """The rules with `*` behind one literal, best first."""

    __slots__ = ("by_gram", "outer", "rules", "sizes", "start", "top")

    GRAM = 4
    MANY = 48
    """From this many rules on, looking up the path's grams is cheaper than trying every rule."""

    def __init__(self, literal: str, rules: list[_Wild], outer: "_Wilds | None") -> None:
        self.start = len(literal)
        self.rules = sorted(rules, reverse=True)
        self.by_gram: dict[str, list[_Wild]] = {}
        self.sizes: list[int] = []
        """The lengths of the grams in `by_gram`."""
        self.outer = outer
        """The rules of the next shorter literal that has any."""
        self.top: int = max(self.rules[0].rank, outer.top if outer else 0)
        """The highest rank here and in `outer`."""
        for size in range(self.GRAM, 0, -1):
            if len(self.rules) < self.MANY:
                break
            self._file_by_gram(size)

    def _file_by_gram(self, size: int) -> None:
        """Index each rule that has a long enough piece by the rarest of its grams.

        A path without that gram cannot match, so most rules are never tried.
        """
        grams = {rule.rank: self._grams(rule, size) for rule in self.rules}
        count = Counter(gram for found in grams.values() for gram in found)
        if not count:
            return
        for rule in self.rules:
            if found := grams[rule.rank]:
                rarest = min(found, key=lambda gram: (count[gram], gram))
                self.by_gram.setdefault(rarest, []).append(rule)
        self.rules = [rule for rule in self.rules if not grams[rule.rank]]
        self.sizes.append(size)

    def _grams(self, rule: _Wild, size: int) -> set[str]:
        pieces = (*rule.pieces, rule.end)
        return {gram for piece in pieces for gram in _windows(piece, size)}

    def best(self, path: str, padded: str, best: int) -> int:
        """The highest matching rank of these rules, or `best` when none is higher."""
        best = self._best_of(self.rules, path, padded, best)
        for size in self.sizes:
            # Sets: a gram that occurs many times in the path is still looked up once.
            for gram in self.by_gram.keys() & _windows(path[self.start :], size):
                best = self._best_of(self.by_gram[gram], path, padded, best)
        return best

    def _best_of(self, rules: list[_Wild], path: str, padded: str, best: int) -> int:
        """The first of these rules that matches, if it is better than `best`.

        A piece taken at its first place leaves the most room for the next, so there is no need to
        backtrack: the work is at most the length of the path for each piece.
        """
        room = len(path) - self.start
        for rank, needs, pieces, end, length in rules:
            if rank <= best:
                break
            if length > room:
                continue
            text = padded if len(needs) >= _LONG else path
            if needs not in text or not path.endswith(end):
                continue
            place = self.start
            for piece in pieces:
                place = text.find(piece, place)
                if place < 0:
                    break
                place += len(piece)
            else:
                if place <= len(path) - len(end):
                    return rank
        return best


def _windows(text: str, size: int) -> set[str]:
    return {text[i : i + size] for i in range(len(text) - size + 1)}


class _Literal:
    """The literal start of at least one rule, and what follows for a path that begins with it."""

    __slots__ = ("exact", "outer", "prefix", "text", "wilds")

    def __init__(self, text: str, outer: "_Literal | None") -> None:
        self.text = text
        self.outer = outer
        """The longest other literal that this one begins with."""
        self.prefix: int = outer.prefix if outer else 0
        """The best rank among rules that match whatever follows."""
        self.exact = 0
        """The best rank among rules that match when nothing follows."""
        self.wilds: _Wilds | None = outer.wilds if outer else None
        """The rules with `*` to try, the longest literal's first."""


class RuleSet:
    """The rules for one agent, arranged for a quick search of the best match.

    >>> from manners.robots.dialects import get
    >>> rules = RuleSet([Rule(False, "/a", 2), Rule(True, "/a/*.html$", 3)], get("rfc9309"))
    >>> rules.ranked[rules.best("/a/b.html")].line
    3
    """

    __slots__ = ("_has_long", "_literals", "_texts", "ranked")

    def __init__(self, rules: Iterable[Rule], dialect: "Dialect") -> None:
        ranked = _ranked(_with_index_html(rules, dialect), dialect)
        self.ranked: list[Rule | None] = [None, *ranked]
        """The rules by rank, the best last; rank 0 is no rule."""
        prefix: dict[str, int] = {}
        exact: dict[str, int] = {}
        wild: dict[str, dict[tuple[tuple[str, ...], str], int]] = {}
        # Ascending: of two rules with the same literal, the later one here is the better.
        for rank, rule in enumerate(ranked, 1):
            literal, pieces, end = _split(_one_a_byte(rule.pattern), dialect.wildcards)
            if pieces or end:
                wild.setdefault(literal, {})[pieces, end or ""] = rank
            elif end == "":
                exact[literal] = rank
            else:
                prefix[literal] = rank
        self._texts = sorted({*prefix, *exact, *wild})
        self._literals: list[_Literal] = []
        self._has_long = False
        outer: _Literal | None = None
        for text in self._texts:
            while outer is not None and not text.startswith(outer.text):
                outer = outer.outer
            outer = _Literal(text, outer)
            outer.prefix = max(outer.prefix, prefix.get(text, 0))
            outer.exact = exact.get(text, 0)
            if text in wild:
                rules_here = [_wild(rank, *parts) for parts, rank in wild[text].items()]
                outer.wilds = _Wilds(text, rules_here, outer.wilds)
                self._has_long |= any(len(rule.needs) >= _LONG for rule in rules_here)
            self._literals.append(outer)

    def best(self, path: str) -> int:
        """The highest rank that matches a path; 0 when no rule does."""
        # Of all literals up to the path in sorted order, the last is the one to start from: any
        # literal that the path begins with is also a beginning of everything between the two.
        place = bisect_right(self._texts, path)
        if place == 0:
            return 0
        literal: _Literal | None = self._literals[place - 1]
        while literal is not None and not path.startswith(literal.text):
            literal = literal.outer
        if literal is None:
            return 0
        best = literal.prefix
        if literal.exact > best and len(path) == len(literal.text):
            best = literal.exact
        wilds = literal.wilds
        padded = path + _ENOUGH if self._has_long and wilds is not None else path
        while wilds is not None and wilds.top > best:
            best = wilds.best(path, padded, best)
            wilds = wilds.outer
        return best


def _ranked(rules: Iterable[Rule], dialect: "Dialect") -> list[Rule]:
    """Rules in ascending order: the last one that matches decides. All else being equal, the
    earlier line is better."""
    numbered = [(len(_one_a_byte(rule.pattern)), -n, rule) for n, rule in enumerate(rules)]
    match dialect.rank:
        case "longest":
            numbered.sort(key=lambda item: (item[0], item[2].allow, item[1]))
        case "allow-first":
            numbered.sort(key=lambda item: (item[2].allow, item[0], item[1]))
        case "first":
            numbered.sort(key=lambda item: item[1])
    return [rule for _, _, rule in numbered]


def _split(pattern: str, wildcards: bool) -> tuple[str, tuple[str, ...], str | None]:
    """A pattern as the literal before its first `*`, the pieces between stars, and the end of the
    path: None for a rule without `$`. A final `*` is redundant."""
    if not wildcards:
        return pattern, (), None
    anchored = pattern.endswith("$")
    body = pattern[:-1] if anchored else pattern
    stripped = body.rstrip("*")
    literal, *pieces = stripped.split("*")
    end = None
    if anchored and stripped == body:
        end = pieces.pop() if pieces else ""
    return literal, tuple(filter(None, pieces)), end


def _with_index_html(rules: Iterable[Rule], dialect: "Dialect") -> Iterable[Rule]:
    for rule in rules:
        yield rule
        directory = index_html_pattern(rule.pattern) if dialect.index_html and rule.allow else None
        if directory:
            yield rule._replace(pattern=directory)


def index_html_pattern(pattern: str) -> str | None:
    """The pattern of the directory that an index page stands for; None for any other page.

    >>> index_html_pattern("/dir/index.html")
    '/dir/$'
    """
    directory, slash, page = pattern.rpartition("/")
    return directory + "/$" if slash and page.startswith("index.htm") else None
