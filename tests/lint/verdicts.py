"""Whether two files give everybody the same verdicts: by automata, and by URLs that are tried."""

import random
import re
from collections.abc import Sequence
from urllib.parse import quote

from manners import Robots, parse
from manners._text import to_bytes
from manners.lint import ENGINES
from manners.lint.finding import Finding, apply_edits
from manners.lint.impact import compare_agents
from manners.robots import dialects

SITE = "https://www.example.com"
NOBODY = "unheard-of-crawler"
"""An agent that no file names."""
FILLINGS = ("", "a", "/", "x/y", "?b=1", "index.html", "%7E", "$", "é", ".pdf", "-0-")
"""What stands where a pattern has a star, or follows it."""
SAFE = "/:?[]@!$&'()*+,;=%"
NO_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
"""What a URL can have besides letters and digits, RFC 3986; anything else is escaped."""
AGENTS = 6
"""How many classes of agents of a file are asked."""


def assert_same_verdicts(
    before: bytes, after: bytes, engines: Sequence[str] = ENGINES, urls: int = 200
) -> None:
    """No verdict differs between two files: proved for every URL, and tried with some."""
    for engine in engines:
        old, new = (parse(body, dialects.get(engine)) for body in (before, after))
        impacts = compare_agents(old, new)
        assert not impacts, f"{engine}: {impacts[0]}"
        assert_same_answers(old, new, urls)


def assert_same_answers(old: Robots, new: Robots, count: int) -> None:
    """Two files answer alike, for some agents of each and for one that none of them names."""
    draw = random.Random(1)
    urls = urls_of((old, new), count, draw)
    for name in agents_of((old, new), draw):
        one, two = (robots.policy(name).allowed_many(urls) for robots in (old, new))
        differing = [url for url, a, b in zip(urls, one, two, strict=True) if a != b]
        assert not differing, f"{old.dialect.name}, {name!r}: {differing[0]}"
        delays = {robots.policy(name).crawl_delay for robots in (old, new)}
        assert len(delays) == 1, f"{old.dialect.name}, {name!r}: delays {delays}"


def agents_of(files: Sequence[Robots], draw: random.Random) -> list[str]:
    """Some names of agents, as files have them; those of the same groups stand for each other."""
    names: list[str] = []
    for robots in files:
        groups = draw.sample(robots.groups, min(AGENTS, len(robots.groups)))
        names += [draw.choice(group.agents) for group in groups if group.agents]
    return [*dict.fromkeys(name for name in names if name.strip("* ")), NOBODY]


def urls_of(files: Sequence[Robots], count: int, draw: random.Random) -> list[str]:
    """URLs near the patterns of files: that match them, nearly do, or match two of them."""
    patterns = [
        rule.pattern for robots in files for group in robots.groups for rule in group.rules
    ] or ["/"]
    patterns = draw.sample(patterns, min(len(patterns), count))
    return [SITE + _path(patterns, draw) for _ in range(count)]


def _path(patterns: list[str], draw: random.Random) -> str:
    path = "".join(
        draw.choice(FILLINGS) if letter == "*" else letter for letter in draw.choice(patterns)
    )
    match draw.randrange(6):
        case 0:
            path += draw.choice(FILLINGS)
        case 1:
            path = path[: draw.randrange(len(path) + 1)]
        case 2:
            path += draw.choice(patterns).replace("*", draw.choice(FILLINGS))
        case 3:
            path = path.removesuffix("$") + draw.choice(FILLINGS)
        case 4:
            path = path.replace("/", "/a", 1)
        case _:
            path = path.removesuffix("$")
    path = NO_ESCAPE.sub("%25", quote(to_bytes(path), SAFE))
    return path if path.startswith("/") else f"/{path}"


def applied(body: bytes, finding: Finding) -> bytes:
    """A file without a byte order mark, and with the fix of one finding."""
    assert finding.fix is not None
    return apply_edits(body.removeprefix(b"\xef\xbb\xbf"), list(finding.fix.edits))
