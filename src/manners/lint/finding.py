"""What the linter reports: findings, and fixes made of edits."""

from enum import Enum
from typing import Any, Literal, NamedTuple

Safety = Literal["safe", "unsafe"]
"""Whether a fix leaves every verdict as it is, which is proved before it is applied; or changes
some, on purpose."""


class Severity(Enum):
    """How bad a finding is.

    >>> Severity.ERROR.is_at_least(Severity.WARNING), Severity("info").is_at_least(Severity.ERROR)
    (True, False)
    """

    ERROR = "error"
    """Surely not what was meant, and somebody gets another verdict for it."""
    WARNING = "warning"
    """Engines differ about it, or it is nearly surely a mistake."""
    INFO = "info"
    """Without effect, or worth knowing."""

    def is_at_least(self, other: "Severity") -> bool:
        """Whether this is as bad as another, or worse."""
        order = list(Severity)
        return order.index(self) <= order.index(other)


class Edit(NamedTuple):
    """A replacement of some bytes of a file; an insertion if `start` is `end`."""

    start: int
    """The offset of the first byte, in `Source.data`."""
    end: int
    """The offset behind the last byte."""
    replacement: bytes


NO_MARK = Edit(0, 0, b"")
"""The edit that removes a byte order mark, which stands before the bytes that edits count."""


class Fix(NamedTuple):
    """Edits that remove the cause of a finding.

    >>> Fix((Edit(0, 0, b"x"),), "insert an x").is_safe
    True
    """

    edits: tuple[Edit, ...]
    summary: str
    """What it does, in a few words: an imperative without a full stop."""
    safety: Safety = "safe"
    is_proved: bool = False
    """Whether it is proved that it changes no verdict by itself. A safe fix that is offered without
    that is proved together with the other safe fixes of the file: `fix` applies them all."""

    @property
    def is_safe(self) -> bool:
        """Whether it may be applied once it is proved that no verdict changes."""
        return self.safety == "safe"

    @property
    def is_move(self) -> bool:
        """Whether it inserts lines in one place, and removes them in another."""
        if len(self.edits) != 2:
            return False
        insertion, removal = self.edits
        is_insertion = insertion.start == insertion.end
        return is_insertion and removal.start < removal.end and not removal.replacement


class Finding(NamedTuple):
    """Something a rule has to say about a line, or about a file as a whole.

    >>> print(Finding("P407", "trailing-star", Severity.INFO, 2, 10, "the star has no effect"))
    2:10 info P407 trailing-star: the star has no effect
    """

    code: str
    name: str
    severity: Severity
    line: int
    """Counted from 1. A finding about the whole file is at line 1."""
    column: int
    """Counted from 1, in characters."""
    message: str
    """One sentence, without a full stop; values of the file are quoted and printable."""
    fix: Fix | None = None
    end_column: int = 0
    """Behind the last character that is meant; 0 for the end of the line."""

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}"
        return f"{place} {self.severity.value} {self.code} {self.name}: {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values, as `--output-format json` prints it."""
        fix = None
        if self.fix is not None:
            fix = {"summary": self.fix.summary, "safety": self.fix.safety}
        return {
            "code": self.code,
            "name": self.name,
            "severity": self.severity.value,
            "line": self.line,
            "column": self.column,
            "end_column": self.end_column,
            "message": self.message,
            "fix": fix,
        }


def apply_edits(data: bytes, edits: "list[Edit]") -> bytes:
    """A file with edits made that do not overlap; insertions in one place in their order.

    >>> apply_edits(b"abc", [Edit(2, 3, b"C"), Edit(0, 1, b"A")])
    b'AbC'
    """
    parts: list[bytes] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        parts += [data[at : edit.start], edit.replacement]
        at = edit.end
    return b"".join((*parts, data[at:]))
