"""From bytes to lines: what each line of a robots.txt means, and its problems."""

import codecs
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from manners._text import to_bytes, to_text
from manners.robots.dialects import Dialect, get
from manners.robots.directives import BY_NAME, RULES, TABLE

MAX_LINE = 2083 * 8 - 1
"""Bytes of a line that are read. Google's number: eight times the longest URL of an old browser,
less one for the end of a C string (kMaxLineLen in robots.cc)."""

_TWO_WORDS = re.compile(rb"([^ \t]+)[ \t]+([^ \t]+)").fullmatch
_LINE_END = re.compile(rb"\r\n|\r|\n")


class Line(NamedTuple):
    """One line of a robots.txt, parsed.

    >>> Line(1, "disallow", "Disalow", "/é", "/%C3%A9", "Disalow: /é", ("misspelt-key",)).kind
    'disallow'
    """

    number: int
    """Counted from 1."""
    kind: str
    """The directive's name in the table, or `unknown`, `invalid`, `comment`, `blank`."""
    key: str = ""
    """The key as written."""
    value: str = ""
    """The value as written, without comment and surrounding white space."""
    pattern: str | None = None
    """For Allow and Disallow: the value normalised; None where the dialect drops the rule."""
    text: str = ""
    """The line as written, cut at the length limit."""
    problems: tuple[str, ...] = ()
    """missing-colon, misspelt-key, line-too-long, no-separator, rule-outside-group, bad-value,
    nul, not-utf8, no-leading-slash."""


def lines(
    body: bytes | str, dialect: str | Dialect = "rfc9309", url: str | None = None
) -> Iterator[Line]:
    """Every line of a robots.txt as a typed event, with its problems.

    The empty line after a final line end is a line too, as in Google's parser.

    >>> for line in lines("Disalow: /a\\nUser-agent *"):
    ...     print(line.number, line.kind, line.value, line.problems)
    1 disallow /a ('misspelt-key', 'rule-outside-group')
    2 user-agent * ('missing-colon',)
    """
    chosen = get(dialect)
    return read_lines(decode(body, chosen), chosen, url)


def decode(body: bytes | str, dialect: Dialect) -> bytes:
    """The bytes of a file for the lexer: UTF-8 without a byte order mark."""
    if type(body) is bytes:
        if body[:1] < b"\xef":  # nearly every file
            return body
        data = body
    elif isinstance(body, str):
        data = to_bytes(body)
    else:
        try:
            data = bytes(memoryview(body))
        except TypeError:
            name = type(body).__name__
            raise TypeError(f"a robots.txt is bytes or str, not {name}") from None
    if not data.startswith((b"\xef", b"\xff", b"\xfe")):
        return data
    if dialect.utf16 and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        even = len(data) // 2 * 2
        return to_bytes(data[:even].decode("utf-16", "surrogatepass"))
    # "Skipping possible BOM-prefix in the first bytes of the input": any beginning of the mark.
    for octet in codecs.BOM_UTF8:
        if not data.startswith(bytes([octet])):
            break
        data = data[1:]
    return data


def truncate(data: bytes, max_bytes: int | None) -> tuple[bytes, bool]:
    """The file up to a size limit, and whether it was cut.

    RFC 9309 section 2.5 asks for at least 500 kibibytes. The line that contains the last byte of
    the limit is still read, so that no rule is cut in the middle.
    """
    if max_bytes is None or len(data) <= max_bytes:
        return data, False
    if max_bytes <= 0:
        return b"", True
    found = _LINE_END.search(data, max_bytes - 1)
    # The last line, too, is read up to the length limit: it may be the rest of the file.
    end = min(found.end() if found else len(data), max_bytes + MAX_LINE)
    return data[:end], end < len(data)


def read_lines(data: bytes, dialect: Dialect, url: str | None) -> Iterator[Line]:
    """Lines of decoded bytes."""
    raw_lines = data.splitlines()
    if not data or data.endswith((b"\n", b"\r")):
        raw_lines.append(b"")
    keys = known_keys(dialect)
    in_group = False
    for number, raw in enumerate(raw_lines, 1):
        line = read_line(number, raw, dialect, keys, url)
        if line.kind == "user-agent":
            in_group = True
        elif line.kind == "blank":
            in_group = in_group and dialect.record_end == "rule"
        elif line.kind in RULES and not in_group:
            line = line._replace(problems=(*line.problems, "rule-outside-group"))
        yield line


def read_line(number: int, raw: bytes, dialect: Dialect, keys: "Keys", url: str | None) -> Line:
    """One line, without its context."""
    text, kept, problems = _readable(raw)
    content, comment, _ = kept.partition(b"#")
    content = content.strip()
    if not content:
        kind = "comment" if comment else "blank"
        return Line(number, kind, text=text, problems=tuple(problems))
    key, value = _key_and_value(content, dialect, problems)
    if not key:
        return Line(number, "invalid", text=text, problems=(*problems, "no-separator"))
    kind, misspelt = _kind(key, keys)
    if misspelt:
        problems.append("misspelt-key")
    pattern: bytes | None = None
    if kind in RULES:
        pattern = dialect.normalise_pattern(value, url)
        if pattern is None:
            problems.append("bad-value")
        elif pattern and pattern[0] not in b"/*":
            problems.append("no-leading-slash")
    elif kind in BY_NAME and BY_NAME[kind].read(to_text(value)) is None:
        problems.append("bad-value")
    shown = None if pattern is None else to_text(pattern)
    return Line(number, kind, to_text(key), to_text(value), shown, text, tuple(problems))


def _readable(raw: bytes) -> tuple[str, bytes, list[str]]:
    """A line as text, the bytes of it that count, and its problems."""
    problems: list[str] = []
    cut = len(raw) > MAX_LINE
    if cut:
        raw = raw[:MAX_LINE]
        problems.append("line-too-long")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        text = to_text(raw)
        if not (cut and error.reason == "unexpected end of data"):
            problems.append("not-utf8")
    kept, nul, _ = raw.partition(b"\0")
    if nul:
        problems.append("nul")
    return text, kept, problems


def _key_and_value(content: bytes, dialect: Dialect, problems: list[str]) -> tuple[bytes, bytes]:
    key, colon, value = content.partition(b":")
    if colon:
        return key.strip(), value.strip()
    # "We only accept whitespace as a separator if there are exactly two sequences of
    # non-whitespace characters" (robots.cc): a sentence is not a rule.
    words = _TWO_WORDS(content) if dialect.colon_optional else None
    if words is None:
        return b"", b""
    problems.append("missing-colon")
    return words[1].strip(), words[2].strip()


class Keys(NamedTuple):
    """The keys that a dialect knows, in lower case, with the directive that each means."""

    known: dict[bytes, str]
    prefixes: dict[bytes, str]
    """Keys that a longer key may begin with."""


def _kind(key: bytes, keys: Keys) -> tuple[str, bool]:
    """The directive a key means, and whether it is misspelt."""
    lowered = key.lower()
    kind = keys.known.get(lowered)
    if kind is None:
        beginnings = (kind for prefix, kind in keys.prefixes.items() if lowered.startswith(prefix))
        kind = next(beginnings, "unknown")
    return kind, kind != "unknown" and lowered != kind.encode()


@lru_cache(maxsize=32)  # a program may make dialects of its own, without end
def known_keys(dialect: Dialect) -> Keys:
    """The keys a dialect knows."""
    known: dict[bytes, str] = {}
    prefixes: dict[bytes, str] = {}
    for row in TABLE:
        if row.name in RULES and row.name not in dialect.rules:
            continue
        spellings = (row.name,) if dialect.keys == "exact" else (row.name, *row.misspellings)
        for spelling in spellings:
            known[spelling.encode()] = row.name
            # google/robotstxt knows four keys, and takes them as the beginning of a key: to it,
            # DisallowAITraining is a Disallow.
            if dialect.keys == "prefix" and row.name in ("user-agent", "sitemap", *RULES):
                prefixes[spelling.encode()] = row.name
    longer = [key for key in known if key not in prefixes and key.startswith(tuple(prefixes))]
    return Keys({key: kind for key, kind in known.items() if key not in longer}, prefixes)
