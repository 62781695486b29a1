"""Random robots.txt files and URLs, nasty on purpose, and the same for the same seed.

A small alphabet makes rules collide: the same length, the same beginning, the same pieces between
stars. Most URLs are made from the rules of their file, so that most rules decide something.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from manners._text import to_text

MAX_LINE = 16_663
"""Bytes of a line that are read."""
MANY = (999, 1_000, 1_001, 1_050)
"""About as many rules as a dialect reads at most."""


class Case(NamedTuple):
    """A file, who asks, and what for."""

    body: bytes
    agents: tuple[str, ...]
    url: str | None
    """Where the file came from."""
    urls: list[str]


class _Weighted(NamedTuple):
    """Things to choose from, some more often than others."""

    things: Sequence[bytes]
    weights: Sequence[int]

    def some(self, rng: random.Random, count: int) -> list[bytes]:
        return rng.choices(self.things, cum_weights=self.weights, k=count)

    def one(self, rng: random.Random) -> bytes:
        return self.some(rng, 1)[0]


def _weighted(*rows: tuple[int, Sequence[bytes]]) -> _Weighted:
    """Each thing of a row weighs as much as the row says."""
    things = [(thing, weight) for weight, row in rows for thing in row]
    return _Weighted([thing for thing, _ in things], list(accumulate(w for _, w in things)))


# What files are made of.

_LETTERS = [b"a", b"b", b"e", b"2", b"F", b"~"]
_ODD_BYTES = [b" ", b'"', b"\xc3\xa9", b"\xff", b"\t", b"\\", b"\x0b", b"\x7f", b"\xed\xb2\x80"]
_ENCODED = [
    *(b"%2F", b"%2f", b"%7e", b"%7E", b"%61", b"%2A", b"%24", b"%25", b"%C3%A9", b"%c3%a9"),
    *(b"%00", b"%3f", b"%", b"%2", b"%zz", b"%%", b"%20", b"%FF"),
]
_PATTERN = _weighted(
    (60, [b"/", b"a", b"b", b"*"]),
    (30, _LETTERS),
    (14, [b"$", b"?", b"//", b"**"]),
    (7, _ENCODED),
    (5, _ODD_BYTES),
    (3, [b";", b":", b"index.html", b"/index.htm", b"robots.txt", b"[", b"=", b"abab", b"|"]),
    (1, [b"\0", b"#", b"\r", b"\n", b"\x85", b"\xe2\x80\xa8"]),
)
_BEGINNINGS = _weighted(
    (70, [b"/"]), (8, [b"*", b"/*", b"/a", b"/*/"]), (4, [b"", b"a", b"$", b"//", b"%2F", b"?"])
)
_WHOLE_PATTERNS = [
    *(b"", b"/", b"*", b"$", b"/$", b"*$", b"/*", b"/*$", b"/**$", b"**", b"/a*$", b"/a$", b"/a$*"),
    *(b"/a***", b"/abc", b"/robots.txt", b"/index.html", b"/a/index.html", b"/a/index.htm$"),
    *(b"http://h/a", b"//h/a", b"https://example.com/a*b", b"http://[::1/x", b"mailto:a", b"http:"),
    *(b"..", b"a/../b", b"./a", b"?a", b"h/a", b"HTTP://H:80/a", b"http://h", b"ht:tp://h/a"),
]
_RULE_KEYS = _weighted(
    (60, [b"Disallow", b"Allow"]),
    (8, [b"disallow", b"ALLOW", b"DisAllow", b" Disallow", b"Allow ", b"\tdisallow\t"]),
    (4, [b"Disalow", b"dissallow", b"dissalow", b"DIASLLOW", b"disallaw"]),
    (4, [b"Disallowed", b"Allow-this", b"allowx", b"disalow it", b"dissalows"]),
    (1, [b"disallow\x0b", b"\x0callow", b"dis allow", b"allo", b"disallo\xff", b"dis\0allow"]),
)
_AGENT_KEYS = _weighted(
    (60, [b"User-agent"]),
    (5, [b"user-agent", b"USER-AGENT", b"useragent", b"User Agent", b" User-Agent "]),
    (4, [b"User-agents", b"User-agent: User-agent"]),
    (1, [b"User-agen", b"User_agent", b"user-agent\x0b", b"user agent x"]),
)
_COLONS = _weighted(
    (60, [b": "]),
    (10, [b":", b" : ", b":\t", b":  "]),
    (4, [b" ", b"\t", b"  "]),
    (1, [b"", b"::", b"\x0b:\x0b", b"\x0b ", b" \x0c", b"=", b" \t "]),
)
_AGENTS = _weighted(
    (40, [b"*", b"bot"]),
    (12, [b"ab", b"Bot", b"abc", b"bot2", b"a"]),
    (4, [b"* x", b"*\tx", b"*x", b"**", b"BOT/1.0", b"bot/2", b"bot*", b"2", b"42bot", b"bot bot"]),
    (2, [b"", b"\xc3\xa9", b"\xff", b"foo-bar_x", b"mybotx", b"/1.0", b"\xe2\x84\xaa", b"b\xff"]),
)
_OTHER_LINES = _weighted(
    (12, [b"", b"# a comment", b"   ", b"\t# x: y"]),
    (8, [b"Crawl-delay: 2", b"crawl-delay 1.5", b"Crawldelay: x", b"Crawl delay: 3"]),
    (6, [b"Request-rate: 1/10s", b"Visit-time: 0600-0845", b"Visit-time 2200-0400 # late"]),
    (4, [b"Sitemap: http://h/s.xml", b"Host: h", b"Clean-param: a /b", b"Content-Signal: ai=no"]),
    (3, [b"Noindex: /a", b"unknown: x", b"no separator here", b"word", b"two words"]),
    (3, [b": /a", b":", b"crawl-delays: 9"]),
    (2, [b"\0", b"\0Disallow: /", b"\xff\xfe", b"\x0b", b"\x0c", b"#"]),
)
_TAILS = _weighted(
    (90, [b""]), (3, [b" ", b"\t", b" # why", b"#x", b"  \x0b"]), (1, [b"\0 x", b"\0"])
)
_LINE_ENDS = _weighted((12, [b"\n"]), (3, [b"\r\n", b"\r"]), (1, [b"\n\r", b"\r\r\n", b"\n\n"]))
_BOMS = _weighted(
    (60, [b""]), (4, [b"\xef\xbb\xbf"]), (1, [b"\xef", b"\xef\xbb", b"\xef\xbb\xbf\xef\xbb\xbf"])
)
_WORD = b"ab/e2"


def _pattern(rng: random.Random) -> bytes:
    if rng.random() < 0.12:
        return rng.choice(_WHOLE_PATTERNS)
    # Short ones collide, long ones have pieces of four bytes and more.
    size = rng.choice((1, 2, 2, 3, 3, 4, 5, 8, 14))
    text = _BEGINNINGS.one(rng) + b"".join(_PATTERN.some(rng, size))
    return text + b"$" if rng.random() < 0.15 else text


def _wild_patterns(rng: random.Random, count: int) -> list[bytes]:
    """Many rules with `*` on one literal, sharing their pieces: what the index of grams is for."""
    literal = rng.choice((b"/", b"/", b"/a", b"/a/", b"", b"/ab"))
    # Rules that need what a path lacks are passed over by other means.
    words = [
        bytes(rng.choices(_WORD[: rng.choice((2, 3, 5))], k=rng.choice((1, 2, 3, 4, 4, 5, 6, 9))))
        for _ in range(rng.choice((2, 5, 9)))
    ]
    words += rng.choices([b"aaaa", b"abab", b"%2F", b"%7e", b"\xc3\xa9", b"a" * 33 + b"b"], k=2)
    found = []
    for _ in range(count):
        pieces = rng.choices(words, k=rng.choice((1, 1, 2, 2, 3, 5)))
        end = rng.choice((b"", b"", b"", b"$", b"$", b"*", b"*$"))
        found.append(literal + b"*" + b"*".join(pieces) + end)
    return found


def _long_line(rng: random.Random) -> bytes:
    """About as long as a line that is read whole, one byte more or less counting."""
    key = rng.choice(
        (b"Disallow: /", b"Allow: /a*", b"User-agent: ", b"Crawl-delay: 1", b"Allow /")
    )
    filler = rng.choice((b"a", b"ab", b"\xc3\xa9", b"%2f", b"*a", b" ", b"a\xff", b"%", b"/"))
    line = key + filler * (MAX_LINE // len(filler))
    line = line[: MAX_LINE + rng.choice((-9, -1, 0, 1, 2, 3, 500))]
    return line[:-3] + rng.choice((b"", b"$", b"b$$", b"# x", b"\0 x", b"%2F"))


def _patterns_of_a_group(rng: random.Random) -> list[bytes]:
    chance = rng.random()
    if chance < 0.08:
        return []
    if chance < 0.30:
        return _wild_patterns(rng, rng.choice((15, 16, 17, 24, 48, 60)))
    if chance < 0.31:
        small = [b"/" + bytes(rng.choices(b"ab*$", k=3)) for _ in range(40)]
        return rng.choices(small, k=rng.choice(MANY))
    return [_pattern(rng) for _ in range(rng.choice((1, 1, 2, 3, 5, 8, 13)))]


def _body(rng: random.Random) -> tuple[bytes, list[bytes], list[bytes]]:
    """A file, and the patterns and agents that went into it."""
    lines: list[bytes] = []
    patterns: list[bytes] = []
    agents: list[bytes] = []
    noise = rng.choice((0, 0.05, 0.2))

    def add(line: bytes) -> None:
        lines.append(line + _TAILS.one(rng))
        if rng.random() < noise:
            lines.append(_OTHER_LINES.one(rng))

    for number in range(rng.choice((1, 1, 2, 2, 3, 5))):
        if number or rng.random() < 0.93:  # else rules that no agent stands above
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                agents.append(_AGENTS.one(rng))
                add(_AGENT_KEYS.one(rng) + _COLONS.one(rng) + agents[-1])
        found = _patterns_of_a_group(rng)
        patterns += found
        for each in found:
            if len(found) in MANY:
                lines.append(b"Disallow: " + each)
            else:
                add(_RULE_KEYS.one(rng) + _COLONS.one(rng) + each)
        if rng.random() < 0.2:
            add(b"")
    if rng.random() < 0.02:
        line = _long_line(rng)
        patterns.append(line.partition(b" ")[2])
        lines.insert(rng.randrange(len(lines) + 1), line)
    if rng.random() < 0.03:
        lines.append(bytes(rng.choices(b'/ab*$%2F~e "\xc3\xa9\0\xff\r\n#:\tDdiAalow', k=60)))
    end = _LINE_ENDS.one(rng)
    if rng.random() < 0.1:
        body = b"".join(line + _LINE_ENDS.one(rng) for line in lines)
    else:
        body = end.join(lines) + rng.choice((b"", end))
    if rng.random() < 0.02:
        return to_text(body).encode("utf-16", "surrogatepass"), patterns, agents
    return _BOMS.one(rng) + body, patterns, agents


# Who asks, and what for.

_OTHER_AGENTS = [
    *("bot", "Bot/1.0", "ab", "abc/2", "*", "", "é", "\udcff", "\udcc3\udca9", "K", "\u212a"),
    *("Mozilla/5.0 (compatible; bot/2.1; +http://h)", "nobody", "mybot x", " bot", "*x", "a\0b"),
]
_FILE_URLS = [None, None, None, "http://h/robots.txt", "https://example.com/robots.txt"]
_ODD_FILE_URLS = ["", "h", "//h/robots.txt", "http://h/d/robots.txt?x", "http://[::1", "http://É.h"]
_HOSTS = [
    *("http://h", "http://h", "https://example.com", "https://example.com:443", "", "", "", "//h"),
    *("HTTP://H", "ftp://h", "h", "http://u:p@h", "http://[::1]", "http://bücher.h", "http:/", ":"),
    *("http://", "https://", "//", "///", "http://h:x", "http://h_-.h.", "://", "a?://", "http:\\"),
]
_FRAGMENTS = ["", "", "", "", "", "", "", "#f", "#", "?q", "?", ";p", "/?a=b#c", "#/a", "?/a//b"]
_URL_PARTS = [
    *("/", "/", "/", "a", "a", "b", "b", "e", "2", "F", "~", "*", "$", "%", "?", ";", "#", ":"),
    *("%2F", "%2f", "%7e", "%61", "%C3%A9", "%ff", "//", " ", '"', "é", "漢", "😀", "\ud800"),
    *("\udcff", "\udcc3\udca9", "\0", "\n", "\x7f", "\\", "@", "[", "\xa0", "Ⅷ", "aaaa"),
    *("index.html", "robots.txt"),
]
_FILLERS = [
    *(b"", b"", b"a", b"b", b"/", b"ab", b"abab", b"aaaa", b"e2", b"*", b"%2a", b"\xc3\xa9", b"?"),
]
_ROBOTS_TXT = [
    "/robots.txt",
    "/robots.txt?a",
    "/robots.txta",
    "http://h/robots.txt",
    "/robots.txt#",
]


def _path(rng: random.Random, pattern: bytes) -> bytes:
    """A path that a pattern matches, or nearly."""
    path = pattern
    if b"*" in path and rng.random() < 0.8:
        first, *others = path.split(b"*")
        path = b"".join([first, *(rng.choice(_FILLERS) + piece for piece in others)])
    if path.endswith(b"$") and rng.random() < 0.8:
        path = path[:-1]
    if not path.startswith(b"/") and rng.random() < 0.8:
        path = b"/" + path
    if rng.random() < 0.5:
        path = rng.choice(_CHANGES)(rng, path)
    return path


def _cut(rng: random.Random, path: bytes) -> bytes:
    return path[: rng.randrange(len(path) + 1)]


def _lengthen(rng: random.Random, path: bytes) -> bytes:
    return path + b"".join(_PATTERN.some(rng, rng.choice((1, 1, 2, 6))))


def _encode(rng: random.Random, path: bytes) -> bytes:
    at = rng.randrange(len(path) + 1)
    octets = path[at : at + rng.choice((1, 1, 2))]
    form = rng.choice((b"%%%02X", b"%%%02x"))
    return path[:at] + b"".join(form % each for each in octets) + path[at + len(octets) :]


def _replace(rng: random.Random, path: bytes) -> bytes:
    at = rng.randrange(len(path) + 1)
    return path[:at] + _PATTERN.one(rng) + path[at + 1 :]


def _repeat(rng: random.Random, path: bytes) -> bytes:
    return path[:400] * rng.choice((2, 3, 40))


_CHANGES: list[Callable[[random.Random, bytes], bytes]] = [
    *(_cut, _lengthen, _lengthen, _encode, _encode, _replace),
    *(_repeat, lambda _, path: path.swapcase(), lambda _, path: path.replace(b"/", b"//")),
]


def some_url(rng: random.Random, patterns: Sequence[bytes]) -> str:
    """A URL that one of the patterns matches, or nearly; now and then any other."""
    chance = rng.random()
    if chance < 0.01:
        return rng.choice(_ROBOTS_TXT)
    if chance < 0.12 or not patterns:
        rest = "".join(rng.choices(_URL_PARTS, k=rng.choice((0, 1, 2, 4, 8, 20))))
        return rng.choice(_HOSTS) + rest
    path = _path(rng, rng.choice(patterns))
    # An octet that is no character reaches us as a surrogate, or as what Latin-1 makes of it.
    text = to_text(path) if rng.random() < 0.9 else path.decode("latin-1")
    host = rng.choice(_HOSTS) if rng.random() < 0.6 else ""
    return host + text + rng.choice(_FRAGMENTS)


def _asking(rng: random.Random, named: list[bytes]) -> tuple[str, ...]:
    def one() -> str:
        if named and rng.random() < 0.7:
            return to_text(rng.choice(named))
        return rng.choice(_OTHER_AGENTS)

    return tuple(one() for _ in range(rng.choice((1, 1, 1, 1, 1, 1, 2, 3, 0))))


def cases(seed: int | str, urls: int = 40) -> Iterator[Case]:
    """Cases without end, each with so many URLs."""
    rng = random.Random(seed)
    while True:
        body, patterns, named = _body(rng)
        file_url = rng.choice(_FILE_URLS if rng.random() < 0.9 else _ODD_FILE_URLS)
        asked = [some_url(rng, patterns) for _ in range(urls)]
        yield Case(body, _asking(rng, named), file_url, asked)
