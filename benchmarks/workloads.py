"""Files and URLs to measure with, drawn anew for every repetition."""

import base64
import gzip
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import AGENT

WORDS = (
    *("account", "admin", "api", "archive", "author", "blog", "cart", "checkout", "compare"),
    *("contact", "download", "feed", "forum", "help", "images", "includes", "login", "media"),
    *("news", "print", "private", "products", "search", "share", "shop", "tag", "tmp", "user"),
)
WILD = ("/*?sort=", "/*&filter=", "/*.pdf$", "/*/print/", "/*sessionid", "/*.php$")


@dataclass(frozen=True)
class File:
    """A robots.txt, and the patterns in it that URLs may be made from."""

    body: bytes
    patterns: list[str]

    def urls(self, draw: random.Random, count: int) -> list[str]:
        """Full URLs of about 70 characters, no two alike.

        Three in ten are made to match a pattern, and one in twenty has characters to escape.
        """
        return [self._url(draw, number) for number in range(count)]

    def _url(self, draw: random.Random, number: int) -> str:
        unique = f"{draw.getrandbits(56):x}"
        odd = draw.choice(("%7Ejoe", "caf\u00e9", "a%20b")) if number % 20 == 0 else "page"
        if self.patterns and draw.random() < 0.3:
            filled = draw.choice(self.patterns).replace("*", f"{draw.choice(WORDS)}/{unique}")
            tail = f"{odd}-{unique}"
            path = filled[:-1] if filled.endswith("$") else filled + tail
        else:
            words = "/".join(draw.choices(WORDS, k=3))
            path = f"/{words}/{odd}-{unique}?id={number}"
        return f"https://www.example.com{path}"


def typical(draw: random.Random) -> File:
    """30 rules, 6 of them with wildcards, as a shop or a news site has them."""
    paths = [
        f"/{word}/{draw.choice(WORDS)}{draw.randrange(100)}" for word in draw.sample(WORDS, 24)
    ]
    rules = [f"Allow: {path}" for path in paths[:3]]
    rules += [f"Disallow: {pattern}" for pattern in (*paths[3:], *WILD)]
    draw.shuffle(rules)
    lines = ["User-agent: *", *rules, "Crawl-delay: 1", f"# {draw.getrandbits(64):x}", ""]
    return File("\n".join(lines).encode(), [*paths, *WILD])


def large(draw: random.Random, rules: int) -> File:
    """Thousands of rules, a tenth of them with wildcards."""
    patterns = [
        f"/*/{draw.choice(WORDS)}-{number}"
        if number % 10 == 0
        else f"/{'/'.join(draw.choices(WORDS, k=draw.randint(1, 4)))}/{number}"
        for number in range(rules)
    ]
    return _file(draw, patterns)


def _file(draw: random.Random, patterns: list[str]) -> File:
    lines = ["User-agent: *", *(f"Disallow: {pattern}" for pattern in patterns)]
    return File("\n".join([*lines, f"# {draw.getrandbits(64):x}", ""]).encode(), patterns)


# Shapes that are hard, or made to be. Doubling `scale` doubles the rules or the path.


@dataclass(frozen=True)
class Shape:
    """A kind of file, and the path to ask for; None: as in other files."""

    title: str
    make: Callable[[random.Random, int], File]
    path: Callable[[int], str] | None = None

    def urls(self, draw: random.Random, file: File, scale: int, count: int) -> list[str]:
        """Where the path is given, the hosts differ."""
        if self.path is None:
            return file.urls(draw, count)
        path = self.path(scale)
        return [f"https://{draw.getrandbits(64):x}.example.com{path}" for _ in range(count)]


def _groups(draw: random.Random, scale: int) -> File:
    """Groups of 8 rules for two agents each; the agent's own group is the third from the end."""
    lines, own = [], []
    for number in range(200 * scale):
        mine = number == 200 * scale - 3
        names = [AGENT] if mine else [f"{draw.choice(WORDS)}bot-{number}", f"{number}-crawler"]
        patterns = [f"/{draw.choice(WORDS)}/{draw.randrange(1000)}" for _ in range(6)]
        patterns += [f"/*{draw.choice(WORDS)}-{draw.randrange(1000)}", f"/{number}/*.html$"]
        own += patterns if mine else []
        lines += [f"User-agent: {name}" for name in names]
        lines += [*(f"Disallow: {pattern}" for pattern in patterns), ""]
    lines += ["User-agent: *", "Disallow: /", f"# {draw.getrandbits(64):x}", ""]
    return File("\n".join(lines).encode(), own)


def _wildcards(draw: random.Random, scale: int) -> File:
    """Wildcards as large sites write them: behind a folder, in a query, at the end."""
    count = 16_000 * scale
    forms = (
        "/{word}/*/{number}/",
        "/*?{word}={number}",
        "/*/{word}-{number}.html$",
        "/*{number}*/",
    )
    patterns = [
        draw.choice(forms).format(word=draw.choice(WORDS), number=number) for number in range(count)
    ]
    return _file(draw, patterns)


def _megabytes(draw: random.Random, scale: int) -> File:
    """5 MB of rules, a tenth of them with wildcards."""
    lines = [f"Disallow: {pattern}\n" for pattern in large(draw, 5_000).patterns]
    text = "".join(lines)
    copies = (
        text.replace("\n", f"-{copy}\n") for copy in range(5_000_000 * scale // len(text) + 1)
    )
    body = f"# {draw.getrandbits(64):x}\nUser-agent: *\n{''.join(copies)}"[: 5_000_000 * scale]
    return File(body.encode(), [line[10:-1] for line in lines])


def _pieces(draw: random.Random, scale: int) -> File:
    # Rules have to differ to count, so the number of their pieces does.
    return _file(draw, ["/" + "*a" * (1_000 * scale + n) + "*b" for n in range(250)])


def _letters(draw: random.Random, scale: int) -> File:
    return _file(draw, [f"/*{'a' * 950}*{n}" for n in range(500 * scale)])


def _roots(draw: random.Random, scale: int) -> File:
    return _file(draw, [f"/*{n:x}-{n * 7919 % 65536:x}/" for n in range(15_000 * scale)])


SHAPES = (
    Shape("5 MB", _megabytes),
    Shape("200 groups", _groups),
    Shape("16,000 wildcard rules", _wildcards),
    Shape(
        "9 stars, 2,000 letters",
        lambda draw, _: _file(draw, ["/*a*a*a*a*a*a*a*a*b$"]),
        lambda scale: "/" + "a" * 2_000 * scale,
    ),
    Shape("250 rules of 1,000 pieces", _pieces, lambda scale: "/b" + "a" * 2_000 * scale),
    Shape("500 rules of 950 letters", _letters, lambda _: "/" + ("a" * 899 + "b") * 3),
    Shape("15,000 wildcards at the root", _roots, lambda _: "/" + "abcdef0123456789/" * 5),
    Shape(
        "1,000 nested prefixes",
        lambda draw, scale: _file(
            draw, ["/" + "a" * n + "$" * m for n in range(1, 1_001) for m in range(scale)]
        ),
        lambda _: "/" + "a" * 3_000,
    ),
)


def corpus(path: Path) -> list[bytes]:
    """Real files, one in each line of a gzipped JSON Lines file."""
    with gzip.open(path, "rt", encoding="ascii") as file:
        return list(_bodies(file))


def _bodies(lines: Iterator[str]) -> Iterator[bytes]:
    for line in lines:
        each = json.loads(line)
        if "robots_b64" in each:
            yield base64.b64decode(each["robots_b64"])
        else:
            yield str(each["robots"]).encode("utf-8", "surrogatepass")
