"""Applying fixes: those that are proved to change no verdict, and others if they are asked for."""

from bisect import bisect_left, insort
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable

from manners.lint.finding import NO_MARK, Edit, Finding, Fix, apply_edits
from manners.lint.impact.searching import StepBudget
from manners.lint.proving import unchanged
from manners.lint.source import Source, SourceLine

ROUNDS = 20
"""How often a file is linted and fixed again: a fix may make room for another."""

_STEPS = 400_000
"""Steps of automata for all proofs of one file when it is linted."""
_ROUND_STEPS = 2_000_000
"""Steps for all proofs of a round when it is fixed. Each round has as many, so that fixing a file
again is one more round, in which nothing is left."""

Check = Callable[[Source], list[Finding]]
"""Finds what is wrong with a file."""


def with_proved_fixes(source: Source, findings: list[Finding]) -> list[Finding]:
    """The findings, with those safe fixes only that are proved to change no verdict.

    Each is proved by itself if there is room for it; the rest is proved all together, and not
    marked as proved: a star may be needless only if another one goes, too.
    """
    open_questions = [
        finding.fix
        for finding in findings
        if finding.fix is not None and finding.fix.is_safe and not finding.fix.is_proved
    ]
    budget = StepBudget(_STEPS)
    room = _STEPS // (8 * len(source.engines) * (len(source.data) + 100))
    is_small = len(open_questions) <= room
    together = open_questions if is_small else choose(source, open_questions, budget)
    offered = set() if is_small else set(together)
    if not is_small:
        budget = StepBudget(_STEPS)
    proved = {fix for fix in together[:room] if is_proved(source, [fix], budget)}

    def judged(fix: Fix | None) -> Fix | None:
        if fix is None or not fix.is_safe or fix.is_proved:
            return fix
        if fix in proved:
            return fix._replace(is_proved=True)
        return fix if fix in offered else None

    return [finding._replace(fix=judged(finding.fix)) for finding in findings]


def fixed(source: Source, check: Check, unsafe: bool = False) -> bytes:
    """The file with all fixes applied that can be; the same again changes nothing more."""
    safe = _settled(source, check)
    return (_settled(safe, check, unsafe=True) if unsafe else safe).body


def _settled(source: Source, check: Check, unsafe: bool = False) -> Source:
    """The file in which nothing is left to fix; as it was, if that takes too many rounds.

    A file that was fixed half-way would change again the next time.
    """
    current = source
    for _ in range(ROUNDS):
        budget = StepBudget(_ROUND_STEPS)
        fixes = [finding.fix for finding in check(current) if finding.fix is not None]
        chosen = choose(current, [fix for fix in fixes if fix.is_safe], budget)
        if not chosen and unsafe:
            chosen = _apart([fix for fix in fixes if not fix.is_safe])
        data = _edited(current, chosen)
        if not chosen or data == current.body:
            return current
        current = Source(data, source.engines, source.url)
    return source


def choose(source: Source, fixes: list[Fix], budget: StepBudget) -> list[Fix]:
    """Fixes that, all together, are proved to change no verdict.

    Those that are not are found by halves: most files need one proof.
    """
    chosen: list[Fix] = []
    waiting = [_apart(fixes)] if fixes else []
    while waiting and not budget.is_spent:
        some = waiting.pop()
        if is_proved(source, [*chosen, *some], budget):
            chosen += some
        elif len(some) > 1:
            half = len(some) // 2
            waiting += [some[half:], some[:half]]
    return chosen


def is_proved(source: Source, fixes: list[Fix], budget: StepBudget) -> bool:
    """Whether some fixes together change no verdict, delay or other directive."""
    if source.is_utf16 or _empties_group(source, fixes):
        return False
    return unchanged(source.body, _edited(source, fixes), source.engines, source.url, budget)


def _empties_group(source: Source, fixes: list[Fix]) -> bool:
    """Whether a group would lose its last rule line: the next User-agent line would join it."""
    ends = {edit.start: edit.end for fix in fixes for edit in fix.edits if not edit.replacement}

    def is_removed(line: SourceLine) -> bool:
        return ends.get(line.start, 0) >= line.start + max(line.value_end, 1)

    return any(
        group.rules and all(map(is_removed, group.rules)) and not all(map(is_removed, group.agents))
        for group in source.groups
    )


def _edited(source: Source, fixes: Iterable[Fix]) -> bytes:
    """The file with some fixes applied; its byte order mark stays unless one removes it."""
    edits = [edit for fix in fixes for edit in fix.edits]
    has_mark = source.body.startswith(BOM_UTF8) and NO_MARK not in edits
    return (BOM_UTF8 if has_mark else b"") + apply_edits(source.data, edits)


def _apart(fixes: Iterable[Fix]) -> list[Fix]:
    """Those fixes whose edits do not overlap the edits of an earlier one.

    Any number of fixes may move lines to one place: there, these are in the order of the file.
    """
    taken: list[Edit] = []
    chosen: list[Fix] = []
    targets: set[int] = set()
    for fix in sorted(fixes, key=_places):
        target = fix.edits[0].start if fix.is_move else None
        edits = fix.edits[1:] if target in targets else fix.edits
        if not any(_overlaps(taken, edit, fix.is_move) for edit in edits):
            chosen.append(fix)
            for edit in edits:
                insort(taken, edit)
            if target is not None:
                targets.add(target)
    return chosen


def _places(fix: Fix) -> list[tuple[int, int]]:
    return [(edit.start, edit.end) for edit in fix.edits]


def _overlaps(taken: list[Edit], edit: Edit, is_move: bool) -> bool:
    """Whether an edit overlaps one of those that are taken, which are sorted and apart."""
    at = bisect_left(taken, edit)
    near = taken[max(0, at - 1) : at + 2]
    return any(
        (edit.start == other.start and not (is_move and _are_apart(edit, other)))
        or (edit.start < other.end and other.start < edit.end)
        for other in near
    )


def _are_apart(edit: Edit, other: Edit) -> bool:
    """Whether one of two edits inserts something where the other removes something."""
    insertion, removal = sorted((edit, other), key=lambda edit: edit.end)
    return insertion.start == insertion.end < removal.end and not removal.replacement
