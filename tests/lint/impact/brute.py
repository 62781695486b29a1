"""What changes between two rule sets, by trying every path: what the automata are compared with.

Paths are made of a few letters, and patterns of the same letters without the last plain one, which
stands for every character that no pattern names. So a shortest path over all characters is as long
as a shortest path over these, and a length up to which all paths are tried is a proof.
"""

import random
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import manners
from manners import Policy, Robots, Rule
from manners.lint.impact import Impact, Witness
from manners.robots import dialects

SITE = "https://example.com"
IS_PATH = re.compile(r"/(?:[A-Za-z0-9\-._~/:?\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*").fullmatch
"""RFC 3986: path and query of a URL."""


# Every path up to a length.


@dataclass(frozen=True)
class Terrain:
    """What paths and patterns are made of, and how long the paths are that are tried."""

    dialects: tuple[str, ...]
    letters: tuple[str, ...]
    longest: int
    parts: tuple[str, ...]
    """What patterns are made of; a part that stands here twice is drawn twice as often."""
    most_letters: int | None = None
    """Where letters are long: how many a path has at most. A shorter path may then differ, too."""

    @property
    def dialect(self) -> str:
        return self.dialects[0]

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the dialects read alike, the shortest first."""
        return _paths(self)

    @property
    def urls(self) -> tuple[str, ...]:
        return _urls(self)

    def is_canonical(self, path: str) -> bool:
        """Whether a path is one that a URL can have, and that each dialect leaves as it is.

        A dialect that drops the query and doubled slashes still decides about them when another
        dialect reads them: then only the escapes have to stay.
        """
        kept = path
        if len(self.dialects) > 1 and "scanner" in self.dialects:
            kept = re.sub("//+", "/", path.partition("?")[0])
        return IS_PATH(path) is not None and all(
            dialects.get(name).normalise_path(path) == (kept if name == "scanner" else path)
            for name in self.dialects
        )

    def changes(self, before: Policy, after: Policy) -> tuple[str | None, str | None]:
        """The shortest paths that are opened and closed."""
        verdicts = zip(
            self.paths, before.allowed_many(self.urls), after.allowed_many(self.urls), strict=True
        )
        opened = closed = None
        for path, was, now in verdicts:
            if now and not was and opened is None:
                opened = path
            if was and not now and closed is None:
                closed = path
        return opened, closed

    def deciding_lines(self, policy: Policy) -> set[int]:
        """The numbers of all lines that decide one of the paths."""
        return {policy.check(url).line for url in self.urls}


@cache
def _paths(terrain: Terrain) -> tuple[str, ...]:
    found, grown = ["/"], ["/"]
    for _ in range(terrain.most_letters or terrain.longest):
        grown = [
            path + letter
            for path in grown
            for letter in terrain.letters
            if len(path + letter) <= terrain.longest
        ]
        found += grown
    return tuple(sorted(filter(terrain.is_canonical, found), key=len))


@cache
def _urls(terrain: Terrain) -> tuple[str, ...]:
    return tuple(SITE + path for path in terrain.paths)


# No letter is a hexadecimal digit, so that none becomes a part of an escape.
_PLAIN, _WILD = ("x", "y", "/", "z"), ("x", "y", "/", "*", "*")
_CHARACTERS = ("x", "y", "/", "*", "$")
TERRAINS = (
    Terrain(("rfc9309",), _PLAIN, 7, _WILD),
    Terrain(("google",), _PLAIN, 7, _WILD),
    Terrain(("audit",), _PLAIN, 7, _WILD),
    Terrain(("scanner",), _PLAIN, 7, (*_WILD, "?")),
    # Where `*` and `$` are characters.
    Terrain(("specificity",), (*_PLAIN, "*", "$"), 6, _CHARACTERS),
    Terrain(("robotrules",), (*_PLAIN, "*", "$"), 6, _CHARACTERS),
)
"""One for each dialect."""

_ESCAPED = ("x", "/", "*", "$", "%24", "%2F", "%2f")
_CHARACTERS_ESCAPED = ("x", "/", "%24", "%2F", "%2f")
ESCAPES = (
    # A `$` inside a pattern is `%24` in a path.
    Terrain(("rfc9309",), ("x", "/", "z", "%24", "%2F"), 8, _ESCAPED),
    Terrain(("audit",), ("x", "/", "z", "%24", "%2A"), 8, ("x", "/", "*", "$", "%24", "%2a")),
    Terrain(("google",), ("x", "/", "z", "$", "%24", "%2F", "%2f"), 7, (*_ESCAPED, "%2")),
    Terrain(("scanner",), ("x", "/", "z", "$", "%24", "%2F"), 7, (*_ESCAPED, "//")),
    Terrain(("specificity",), ("x", "/", "z", "$", "*", "%2F"), 7, _CHARACTERS_ESCAPED),
    Terrain(
        ("robotrules",), ("x", "/", "z", "$", "*", "%24", "%2F", "%2f"), 6, _CHARACTERS_ESCAPED
    ),
)
"""With characters that are escaped, or may be."""

INDEX_PAGES = Terrain(
    ("google",),
    ("x", "/", "z", "index.html"),
    50,
    ("x", "/", "*", "/index.html", "/index.html"),
    most_letters=5,
)
"""With pages that stand for their directories."""


def both(one: str, other: str) -> Terrain:
    """Paths that two dialects read alike, and patterns that they may read differently."""
    query = ("?",) if "scanner" in (one, other) else ()
    letters = (*_PLAIN, "*", "$", "%24", *query)
    return Terrain((one, other), letters, 6, (*_CHARACTERS, *query))


# Random files.


class RuleLine(NamedTuple):
    """An Allow or Disallow line."""

    allow: bool
    pattern: str

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.pattern}"


Rules = list[RuleLine]


def some_pattern(rng: random.Random, parts: Sequence[str]) -> str:
    if rng.random() < 0.03:
        return ""
    start = rng.choice(("/", "/", "/", "/", "/", "/", "/*", "*", ""))
    body = "".join(rng.choices(parts, k=rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 5))))
    return start + body + rng.choice(("", "", "", "", "$", "*", "*$"))


def some_rules(rng: random.Random, parts: Sequence[str], most: int = 7) -> Rules:
    return [some_rule(rng, parts) for _ in range(rng.randint(0, most))]


def some_rule(rng: random.Random, parts: Sequence[str]) -> RuleLine:
    return RuleLine(rng.random() < 0.4, some_pattern(rng, parts))


def edited(rng: random.Random, rules: Rules, parts: Sequence[str]) -> Rules:
    """The rules after some edits, as people make them."""
    rules = list(rules)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(rules)) if rules else None
        kind = rng.choice(("insert", "remove", "replace", "flip", "change", "double", "shuffle"))
        if at is None or kind == "insert":
            rules.insert(rng.randint(0, len(rules)), some_rule(rng, parts))
        elif kind == "remove":
            del rules[at]
        elif kind == "replace":
            rules[at] = some_rule(rng, parts)
        elif kind == "flip":
            rules[at] = rules[at]._replace(allow=not rules[at].allow)
        elif kind == "change":
            rules[at] = rules[at]._replace(pattern=_changed(rng, rules[at].pattern, parts))
        elif kind == "double":
            rules.insert(rng.randint(0, len(rules)), rules[at])
        else:
            rng.shuffle(rules)
    return rules


def _changed(rng: random.Random, pattern: str, parts: Sequence[str]) -> str:
    """Longer, shorter, or with another end; an escape is not cut."""
    body = pattern.removesuffix("$")
    pieces = re.findall(r"%..|.", body)
    at = rng.randint(1, max(len(pieces), 1))
    start, rest = "".join(pieces[:at]), "".join(pieces[at:])
    return rng.choice(
        (
            start,
            f"{start}*{rest}",
            body + rng.choice(parts),
            body.rstrip("*"),
            body.rstrip("*") + "$",
            body + "*",
        )
    )


def text(rules: Rules, agent: str = "*") -> str:
    """A file with one group; its first rule is line 2."""
    return "".join(f"{line}\n" for line in (f"User-agent: {agent}", *rules))


def without(body: str, lines: Collection[int], dialect: str) -> str:
    """A file without the rules of some lines; other lines keep their numbers and groups."""
    # Where an empty rule is no rule, or the weakest, it still ends the User-agent lines above.
    empty = "X-Dropped: x" if dialects.get(dialect).rank == "first" else "Disallow:"
    kept = enumerate(body.splitlines(), 1)
    return "".join(f"{empty if number in lines else line}\n" for number, line in kept)


class SmallGroup(NamedTuple):
    """User-agent lines and their rules."""

    agents: tuple[str, ...]
    rules: Rules


NAMES = ("ant", "bee", "Antbee", "Ant/2", "cow bell", "*", "*", "*")


def some_groups(rng: random.Random, parts: Sequence[str]) -> list[SmallGroup]:
    return [_some_group(rng, parts) for _ in range(rng.randint(1, 4))]


def _some_group(rng: random.Random, parts: Sequence[str]) -> SmallGroup:
    agents = tuple(rng.choices(NAMES, k=rng.choice((1, 1, 1, 2, 3))))
    return SmallGroup(agents, some_rules(rng, parts, 4))


def edited_groups(
    rng: random.Random, groups: list[SmallGroup], parts: Sequence[str]
) -> list[SmallGroup]:
    """The groups after some edits, mostly of rules."""
    groups = list(groups)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(groups)) if groups else None
        kind = rng.choice(("rules", "rules", "rules", "agents", "insert", "remove", "shuffle"))
        if at is None or kind == "insert":
            groups.insert(rng.randint(0, len(groups)), _some_group(rng, parts))
        elif kind == "rules":
            groups[at] = groups[at]._replace(rules=edited(rng, groups[at].rules, parts))
        elif kind == "agents":
            agents = tuple(rng.choices(NAMES, k=rng.choice((1, 1, 2))))
            groups[at] = groups[at]._replace(agents=agents)
        elif kind == "remove":
            del groups[at]
        else:
            rng.shuffle(groups)
    return groups


def text_of_groups(groups: list[SmallGroup], blank: str = "") -> str:
    """A file with several groups, with a line such as a blank one between them."""
    lines = [
        line
        for agents, rules in groups
        for line in (*(f"User-agent: {name}" for name in agents), *map(str, rules), blank)
    ]
    return "".join(f"{line}\n" for line in lines)


def named_agents(*files: Robots) -> set[str]:
    """The keys of all User-agent lines, except `*`."""
    keys = {
        robots.dialect.agent_key(name)
        for robots in files
        for group in robots.groups
        for name in group.agents
    }
    return {key for key in keys if key is not None and key != "*"}


# One-line edits of real files.

_RULE_LINE = re.compile(rb"(\s*(?:dis)?allow\s*:\s*)(/[^\s#]*)(.*)", re.IGNORECASE | re.DOTALL)


def one_line_edit(rng: random.Random, body: bytes) -> bytes | None:
    """A file with one rule line removed, added, flipped, lengthened or shortened; None for a file
    that has none."""
    lines = body.splitlines(keepends=True)
    places = [at for at, line in enumerate(lines) if _RULE_LINE.fullmatch(line)]
    if not places:
        return None
    at = rng.choice(places)
    found = _RULE_LINE.fullmatch(lines[at])
    assert found
    key, pattern, end = found.groups()
    flipped = b"Disallow: " if key.lstrip().lower().startswith(b"a") else b"Allow: "
    cut = max(len(pattern.rstrip(b"*$/")) - rng.randint(1, 3), 1)
    changed: list[bytes] = rng.choice(
        (
            [],
            [lines[at], rng.choice((b"Disallow: ", b"Allow: ")) + _near(rng, pattern) + b"\n"],
            [flipped + pattern + end],
            [key + _near(rng, pattern) + end],
            [key + pattern[:cut] + end],
        )
    )
    return b"".join([*lines[:at], *changed, *lines[at + 1 :]])


def _near(rng: random.Random, pattern: bytes) -> bytes:
    """A pattern a little longer than another."""
    return pattern.removesuffix(b"$") + rng.choice((b"x", b"*", b"/new/", b"*.pdf$", b"?q=", b"$"))


# What has to hold.


def assert_real(witness: Witness, before: Policy, after: Policy, is_opened: bool) -> None:
    """The engine says of the path what the witness says of it."""
    was, now = before.check(SITE + witness.path), after.check(SITE + witness.path)
    assert (was.allowed, now.allowed) == (not is_opened, is_opened), witness
    # Agents of one class may have the same rules on other lines.
    assert _said(was.rule, now.rule) == _said(witness.before, witness.after), witness
    assert IS_PATH(witness.path), witness
    if before.robots.dialect == after.robots.dialect:
        assert was.path == now.path == witness.path, "not a canonical path"


def _said(*rules: Rule | None) -> list[tuple[bool, str] | None]:
    """What rules say, without where they stand."""
    return [rule and (rule.allow, rule.pattern) for rule in rules]


def assert_as_brute(impact: Impact, before: Policy, after: Policy, terrain: Terrain) -> None:
    """An impact is what trying every path shows, with shortest paths."""
    assert impact.is_equal is not None
    assert impact.is_shortest
    assert impact.is_equal == (impact.opened is None and impact.closed is None)
    expected = terrain.changes(before, after)
    for witness, path in zip((impact.opened, impact.closed), expected, strict=True):
        if witness is None:
            assert path is None, "a path that differs was not found"
            continue
        assert_real(witness, before, after, witness is impact.opened)
        assert terrain.is_canonical(witness.path)
        if path is not None:
            assert len(witness.path) <= len(path), f"{path} is shorter"
        if terrain.most_letters is None and len(witness.path) <= terrain.longest:
            assert path is not None
            assert len(witness.path) == len(path), "the letters are not enough"


def policies(before: str, after: str, terrain: Terrain, agent: str = "*") -> Iterator[Policy]:
    """Both files as the terrain's dialects read them, for an agent."""
    for body, dialect in zip((before, after), (terrain.dialects * 2)[:2], strict=True):
        yield manners.parse(body, dialect).policy(agent)
