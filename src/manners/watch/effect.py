"""What a change of a robots.txt does: the one place that asks the linter. Quiet."""

from typing import Any, NamedTuple

from manners.robots.policy import Robots


class Effect(NamedTuple):
    """What a change does, in sentences and as plain values."""

    sentences: list[str]
    values: dict[str, Any]


def effect_of(before: Robots, after: Robots) -> Effect:
    """What changes for whom, between two files.

    >>> from manners.robots.policy import parse
    >>> effect_of(parse("User-agent: *\\nDisallow: /a"), parse("User-agent: *\\nDisallow: /b"))
    """
    del before, after
    return Effect([], {})
