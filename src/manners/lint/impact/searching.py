"""Searching: the shortest path that some patterns match and others do not.

The search is A* in the product of a few automata. Patterns that must not match are added lazily:
search without them, look which of them the path found runs into, add that one, search again. When
there is no path any more, the few that were added are the reason.

"Does this rule matter?" is NP-hard, so there is a budget. It counts steps of single automata, not
seconds: the same file gives the same answer on every machine.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import NamedTuple, TypeVar

from manners.lint.impact.automata import ALL, DEAD, FAR, Automata
from manners.lint.impact.spaces import PLAIN, START, PathSpace

_T = TypeVar("_T")
_Place = tuple[int, tuple[int, ...], tuple[int, ...]]
"""States: of the path, of the patterns that must match, and of those that must not."""


class OutOfSteps(Exception):
    """The budget is used up: not decided."""


class StepBudget:
    """How many steps of single automata a question may take.

    >>> StepBudget(10).take(7)
    """

    def __init__(self, steps: int, parent: "StepBudget | None" = None) -> None:
        self.steps = steps
        self.used = 0
        self.searches = 0
        self._parent = parent

    def take(self, steps: int) -> None:
        """Use up some steps; raise `OutOfSteps` when there are not so many."""
        self.used += steps
        if self._parent is not None:
            self._parent.take(steps)
        if self.used > self.steps:
            raise OutOfSteps

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left of it."""
        return self.used >= self.steps

    def has(self, steps: int) -> bool:
        """Use up some steps, and say whether there were so many."""
        try:
            self.take(steps)
        except OutOfSteps:
            return False
        return True

    def part(self, steps: int) -> "StepBudget":
        """A budget for one of several questions, within this one."""
        return StepBudget(steps, self)


class SearchTools(NamedTuple):
    """What a search works with."""

    automata: Automata
    space: PathSpace
    budget: StepBudget


def shortest(
    tools: SearchTools, must: tuple[int, ...], must_not: tuple[int, ...], limit: int = FAR
) -> str | None:
    """The shortest path below a length that all of `must` match and none of `must_not`.

    The distance of the farthest state of `must` is a lower bound that never falls too fast, so the
    first path found is a shortest one. A branch in which a pattern of `must_not` matches whatever
    follows is given up at once.
    """
    distance = tools.automata.distance
    tools.budget.searches += 1
    if DEAD in must or ALL in must_not:
        return None
    begin: _Place = (START, must, tuple(sorted(set(must_not) - {DEAD})))
    order = count()
    came: dict[_Place, tuple[_Place, str] | None] = {begin: None}
    best: dict[_Place, int] = {begin: 0}
    heap = [(_farthest(distance, must), next(order), 0, begin)]
    done: set[_Place] = set()
    while heap:
        bound, _, length, place = heapq.heappop(heap)
        if bound >= limit:
            return None
        if place in done:
            continue
        done.add(place)
        if _is_found(tools.automata.accepts, place):
            return _path(came, place)
        length += 1
        for byte, following in _following(tools, place):
            if best.get(following, FAR) > length:
                best[following] = length
                came[following] = (place, byte)
                bound = length + _farthest(distance, following[1])
                heapq.heappush(heap, (bound, next(order), length, following))
    return None


def shortest_lazily(
    tools: SearchTools,
    must: tuple[int, ...],
    must_not: Callable[[str], Iterable[tuple[int, _T]]],
    limit: int = FAR,
) -> tuple[str | None, list[_T]]:
    """As `shortest`, with patterns that must not match added when a path runs into one.

    `must_not` is given a path, and yields those that may match it, the preferred ones first. Also
    returned are those that were added: if there is no path, they are the reason.
    """
    added: list[int] = []
    reasons: list[_T] = []
    while True:
        path = shortest(tools, must, tuple(added), limit)
        if path is None:
            return None, reasons
        for state, reason in must_not(path):
            if tools.automata.matches(state, path):
                added.append(state)
                reasons.append(reason)
                break
        else:
            return path, reasons


def _farthest(distance: list[int], states: tuple[int, ...]) -> int:
    return max([distance[state] for state in states], default=0)


def _is_found(accepts: list[bool], place: _Place) -> bool:
    where, wanted, banned = place
    return (
        where == PLAIN
        and all(map(accepts.__getitem__, wanted))
        and not any(map(accepts.__getitem__, banned))
    )


def _following(tools: SearchTools, place: _Place) -> Iterator[tuple[str, _Place]]:
    """Where one more byte leads, but for where nothing can be found any more."""
    step = tools.automata.step
    where, wanted, banned = place
    choices = _choices(tools, where, wanted, banned)
    tools.budget.take(1 + len(choices) * (len(wanted) + len(banned)))
    for byte in choices:
        there = tools.space.step(where, byte)
        if there < 0:
            continue
        next_wanted = tuple([step(state, byte) if state > ALL else state for state in wanted])
        if DEAD in next_wanted:
            continue
        next_banned = {step(state, byte) for state in banned}
        if ALL not in next_banned:
            next_banned.discard(DEAD)
            yield byte, (there, next_wanted, tuple(sorted(next_banned)))


def _choices(
    tools: SearchTools, where: int, wanted: tuple[int, ...], banned: tuple[int, ...]
) -> list[str]:
    """The bytes that make a difference to a pattern, and one for all that do not."""
    automata = tools.automata
    looked_at: set[str] = set()
    for state in wanted:
        moves = automata.moves(state)
        if automata.default[state] == DEAD:  # within a literal: there is no other continuation
            return list(moves)
        looked_at.update(moves)
    for state in banned:
        looked_at.update(automata.moves(state))
    choices = sorted(looked_at)
    another = tools.space.another(where, looked_at)
    if another is not None:
        choices.append(another)
    return choices


def _path(came: dict[_Place, tuple[_Place, str] | None], place: _Place) -> str:
    path: list[str] = []
    step = came[place]
    while step is not None:
        place, byte = step
        path.append(byte)
        step = came[place]
    return "".join(reversed(path))
