"""What a change of a robots.txt does: the one place that asks the linter. Quiet."""

from dataclasses import replace
from typing import Any, NamedTuple

from manners.lint.difference import difference
from manners.lint.sentences import by_importance
from manners.robots.policy import Robots


class Effect(NamedTuple):
    """What a change does, in sentences and as plain values."""

    sentences: list[str]
    values: dict[str, Any]


def effect_of(before: Robots, after: Robots) -> Effect:
    """What changes for whom, between two files; what concerns most people comes first.

    >>> from manners.robots.policy import parse
    >>> old, new = parse("User-agent: *\\nDisallow: /a"), parse("User-agent: *\\nDisallow: /")
    >>> effect_of(old, new).values["equal"]
    False
    """
    found = difference(before, after)
    found = replace(found, changes=tuple(by_importance(found.changes)))
    return Effect(found.sentences, found.to_dict())
