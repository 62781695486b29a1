"""Examples of what changes: a few paths that differ in kind, not fifty siblings."""

import re
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from manners.robots.groups import Rule

CANDIDATES = 64
"""Paths among which examples are chosen."""
_SEGMENT = re.compile(r"/[^/?]*").match
_WORDS = re.compile(r"[A-Za-z0-9_%.~-]+")


class Witness(NamedTuple):
    """A path with two verdicts, and the rules that decide; None where no rule matches."""

    path: str
    before: Rule | None
    after: Rule | None


def varied(candidates: Iterable[Witness], most: int) -> tuple[Witness, ...]:
    """Of many witnesses the shortest, and some that differ from those before in kind.

    >>> rules = [Rule(False, f"/shop/{n}", n) for n in range(9)] + [Rule(False, "/*.pdf$", 9)]
    >>> found = [Witness(rule.pattern.replace("*", "").rstrip("$"), rule, None) for rule in rules]
    >>> [witness.path for witness in varied(found, 3)]
    ['/.pdf', '/shop/0']
    """
    remaining = sorted(islice(candidates, CANDIDATES), key=lambda witness: len(witness.path))
    chosen: list[Witness] = []
    seen: set[object] = set()
    while remaining and len(chosen) < most:
        best = (
            max(remaining, key=lambda witness: len(_kinds(witness) - seen))
            if chosen
            else remaining[0]
        )
        if _kinds(best) <= seen:
            break
        chosen.append(best)
        seen |= _kinds(best)
        remaining.remove(best)
    return tuple(chosen)


def _kinds(witness: Witness) -> set[object]:
    """What makes a witness another kind of example: where it is, and how its rules are made."""
    segment = _SEGMENT(witness.path)
    shape = tuple(
        None if rule is None else (rule.allow, _WORDS.sub("", rule.pattern))
        for rule in (witness.before, witness.after)
    )
    return {segment[0] if segment else "", shape}
