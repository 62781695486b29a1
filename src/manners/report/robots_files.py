"""The robots.txt files of a report: the lines that decided, and the problems. Quiet."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from manners.evidence.replay import lines_of
from manners.report.data import FileLine, RobotsFile, RobotsProblem
from manners.report.decisions import DecisionGroup, FileKey, LineCounts, RecordedDecision
from manners.report.display import Display, text

_CONTEXT = 2
"""Lines shown before and after one that decided or has a problem."""
_EXCERPT = 25
"""Lines that decided which are shown of a file, and as many lines that have problems."""
_MAX_BYTES = 8_000_000
"""Bytes of all files that are read, which takes about a second."""


class RobotsFiles:
    """Reads robots.txt files one after the other, up to a limit on the bytes of all.

    `snapshot` returns the body of a file by its SHA-256; `by_line` has the number of URLs that each
    line allowed and blocked.
    """

    def __init__(
        self,
        snapshot: Callable[[str], bytes | None],
        by_line: Mapping[FileKey, LineCounts],
        display: Display,
    ) -> None:
        self._snapshot, self._by_line, self._display = snapshot, by_line, display
        self._bytes_available = _MAX_BYTES
        self._texts: dict[FileKey, dict[int, str]] = {}
        self.problems: list[RobotsProblem] = []
        """The lines with problems; as many as a list may have."""
        self.problem_count = 0
        """How many lines of all files have problems."""

    def read(self, group: DecisionGroup) -> RobotsFile:
        """The file that a group of decisions rests on."""
        decision = group.decision
        body = None if decision.snapshot is None else self._snapshot(decision.snapshot)
        url = self._display.url(decision.robots_url)
        is_read = body is None or len(body) <= self._bytes_available
        lines: list[FileLine] = []
        if body is not None and is_read:
            self._bytes_available -= len(body)
            lines = _lines(decision, body, self._by_line.get(decision.file, {}))
            self._texts[decision.file] = {
                line.number: line.text.strip() for line in lines if _decided(line)
            }
        return RobotsFile(
            url=url,
            sites=len(group.sites),
            outcome=_outcome(decision),
            sha256=decision.snapshot or "",
            bytes=None if body is None else len(body),
            decisions=group.number,
            problems=self._add_problems(url, lines),
            is_read=is_read,
            length=len(lines),
            lines=_excerpt(lines),
        )

    def _add_problems(self, url: str, lines: Sequence[FileLine]) -> int:
        bad = [line for line in lines if line.problems]
        self.problem_count += len(bad)
        room = max(self._display.rows - len(self.problems), 0)
        self.problems += [
            RobotsProblem(url, line.number, line.text, line.problems) for line in bad[:room]
        ]
        return len(bad)

    def rule(self, decision: RecordedDecision) -> str:
        """The rule that decided: as written in its file, or as parsed where that was not read."""
        written = self._texts.get(decision.file, {}).get(decision.line)
        return text(written or decision.matched or "")


def _decided(line: FileLine) -> bool:
    return bool(line.allowed or line.blocked)


def _lines(decision: RecordedDecision, body: bytes, counts: LineCounts) -> list[FileLine]:
    """All lines of a file, with what each decided and its problems."""
    lines = [
        FileLine(
            line.number,
            text(line.text),
            *counts.get(line.number, (0, 0)),
            list(line.problems),
        )
        for line in lines_of(msgspec.to_builtins(decision), body)
    ]
    if lines and not lines[-1].text:
        lines.pop()  # a line break ends the last line and begins no other
    return lines


def _excerpt(lines: Sequence[FileLine]) -> list[FileLine]:
    """The lines that decided most and those with problems, each with its context."""
    deciding = sorted(
        filter(_decided, lines), key=lambda line: (-line.allowed - line.blocked, line.number)
    )
    bad = [line for line in lines if line.problems]
    shown = {
        number
        for line in (*deciding[:_EXCERPT], *bad[:_EXCERPT])
        for number in range(line.number - _CONTEXT, line.number + _CONTEXT + 1)
    }
    return [line for line in lines if line.number in shown]


def _outcome(decision: RecordedDecision) -> str:
    """The result of the retrieval, in a few words."""
    outcome = decision.outcome
    if outcome is None:
        return ""
    note = f" ({text(outcome.note)})" if outcome.note else ""
    return f"{outcome.availability}{note}" + ("; an earlier copy was used" if outcome.copy else "")
