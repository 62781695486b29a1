"""What the rules about crawlers share: who a file names, and who may fetch its home page."""

from collections.abc import Sequence

from manners.lint.source import Source, SourceLine
from manners.robots.agents import token_key
from manners.robots.dialects import get
from manners.robots.policy import Robots

HOME = "/"


def named_agents(source: Source) -> dict[str, SourceLine]:
    """The keys of all agents that a file names, each with the first line that does."""
    named: dict[str, SourceLine] = {}
    for group in source.groups:
        for line in group.agents:
            key = token_key(line.value)
            if key is not None:
                named.setdefault(key, line)
    return named


def rfc_reading(source: Source) -> Robots:
    """The file as RFC 9309 reads it; product tokens may have digits there."""
    return source.robots.get("rfc9309") or source.read_as(get("rfc9309"))


def enumerated(names: Sequence[str], limit: int = 4) -> str:
    """Names in a sentence, the first few of many.

    >>> enumerated(["a"]), enumerated(["a", "b", "c"]), enumerated(["a", "b", "c", "d"], 2)
    ('a', 'a, b and c', 'a, b and 2 more')
    """
    if len(names) == 1:
        return names[0]
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"
