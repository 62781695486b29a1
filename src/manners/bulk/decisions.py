"""What was decided about a column of URLs, and why: one byte a row, and columns made of it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from manners.robots.verdict import Reason
from manners.signals.claims import Purpose

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_URL = "no-url"
"""The row is null."""
INVALID_URL = "invalid-url"
"""The row is not an http or https URL."""
NO_ROBOTS = "no-robots"
"""The archive does not have the site's robots.txt, or not the one that it redirects to."""

REASONS = (
    NO_URL,
    INVALID_URL,
    NO_ROBOTS,
    *(
        reason.value
        for reason in (
            Reason.RULE_MATCHED,
            Reason.NO_RULE_MATCHED,
            Reason.NO_GROUP,
            Reason.ROBOTS_TXT_ITSELF,
            Reason.TOO_LARGE,
            Reason.TOO_MANY_RULES,
            Reason.UNAVAILABLE,
            Reason.UNREACHABLE,
            Reason.STALE_COPY,
        )
    ),
)
"""Why a row is allowed, disallowed or undecided. The kernel counts on their order."""

DISALLOWED, ALLOWED, UNDECIDED = range(3)

ADD = ("allowed", "reason", "line", "rule", "crawl_delay")
"""The columns that verdicts add to a table."""

USAGES: dict[str, Purpose] = {
    "usage_search": "search",
    "usage_archive": "archive",
    "usage_ai_input": "ai-input",
    "usage_ai_index": "ai-index",
    "usage_ai_train": "ai-train",
}
"""Columns that are added when they are asked for, with the purposes that a robots.txt can speak of
by itself: `yes`, `no`, and null for unknown."""
ADD_USAGE = tuple(USAGES)


def code(reason: str, answer: int) -> int:
    """A reason and an answer in one byte.

    >>> code("rule-matched", ALLOWED)
    13
    """
    return REASONS.index(reason) << 2 | answer


class RuleTexts(Protocol):
    """Where the details of a decision can be looked up."""

    def rule_places(self, sites: bytes, rules: bytes) -> tuple[bytes, bytes, bytes]:
        """The place of each row's rule among the distinct ones; the texts of those, such as
        `Disallow: /path`, one behind the other, after the numbers of bytes where each ends."""

    def delays(self) -> bytes:
        """The crawl delay of each site, as bytes of doubles; NaN where it asks for none."""


class Decisions:
    """What was decided about each row of a column, as arrays.

    >>> from manners.bulk import Sites
    >>> robots = {"origin": ["https://a.example"], "body": ["User-agent: *\\nDisallow: /x"]}
    >>> sites = Sites.from_table(pa.table(robots), agent="MyBot")
    >>> decisions = sites.decide(pa.array(["https://a.example/x", "https://b.example/"]))
    >>> decisions.array("allowed").to_pylist(), decisions.array("reason").to_pylist()
    ([False, None], ['rule-matched', 'no-robots'])
    """

    __slots__ = ("_texts", "codes", "lines", "rules", "sites")

    def __init__(self, codes: bytes, lines: bytes, sites: bytes, rules: bytes, texts: RuleTexts):
        self.codes: NDArray[np.uint8] = np.frombuffer(codes, np.uint8)
        """The answer in the two lowest bits, the number of the reason above."""
        self.lines: NDArray[np.int32] = np.frombuffer(lines, np.int32)
        """The deciding line of the site's robots.txt, counted from 1; 0 if no line decided."""
        self.sites: NDArray[np.int32] = np.frombuffer(sites, np.int32)
        """The number of the site; -1 if there is none."""
        self.rules: NDArray[np.int32] = np.frombuffer(rules, np.int32)
        """The number of the deciding rule among those of the site; 0 if none decided."""
        self._texts = texts

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def joined(cls, parts: "Sequence[Decisions]", texts: RuleTexts) -> "Decisions":
        """The rows of several, one behind the other."""
        columns = zip(*((p.codes, p.lines, p.sites, p.rules) for p in parts), strict=True)
        codes, lines, sites, rules = (
            (b"".join(column) for column in columns) if parts else (b"",) * 4
        )
        return cls(codes, lines, sites, rules, texts)

    def take(self, rows: "NDArray[np.int64]") -> "Decisions":
        """The same for some of the rows, in any order."""
        columns = (self.codes, self.lines, self.sites, self.rules)
        codes, lines, sites, rules = (column[rows].tobytes() for column in columns)
        return Decisions(codes, lines, sites, rules, self._texts)

    def counts(self) -> dict[tuple[str, int], int]:
        """How often each reason led to each answer."""
        numbers = np.bincount(self.codes, minlength=len(REASONS) << 2)
        return {
            (REASONS[number >> 2], number & 3): int(numbers[number])
            for number in np.flatnonzero(numbers).tolist()
        }

    def array(self, name: str) -> pa.Array:
        """One of the columns `ADD`."""
        return _ARRAYS[name](self)

    def _allowed(self) -> pa.Array:
        answers = self.codes & 3
        return pa.array(answers == ALLOWED, mask=answers == UNDECIDED)

    def _reason(self) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array((self.codes >> 2).astype(np.int8)), REASONS)

    def _line(self) -> pa.Array:
        return pa.array(self.lines, mask=self.lines == 0)

    def _rule(self) -> pa.Array:
        places, *texts = self._texts.rule_places(self.sites.tobytes(), self.rules.tobytes())
        indices = pa.array(np.frombuffer(places, np.int32), mask=self.rules == 0)
        return pa.DictionaryArray.from_arrays(indices, _strings(*texts))

    def _crawl_delay(self) -> pa.Array:
        delays = np.frombuffer(self._texts.delays(), np.float64)
        if not len(delays):
            return pa.nulls(len(self), pa.float64())
        found = delays[self.sites]
        return pa.array(found, mask=np.isnan(found) | (self.sites < 0))


def _strings(offsets: bytes, texts: bytes) -> pa.Array:
    """A column of strings; bytes that are not UTF-8 are replaced."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(texts)]
    found = pa.Array.from_buffers(pa.binary(), len(offsets) // 4 - 1, buffers)
    if texts.isascii():
        return found.view(pa.string())
    return pa.array([text.decode("utf-8", "replace") for text in found.to_pylist()], pa.string())


_ARRAYS: dict[str, Callable[[Decisions], Any]] = {
    "allowed": Decisions._allowed,
    "reason": Decisions._reason,
    "line": Decisions._line,
    "rule": Decisions._rule,
    "crawl_delay": Decisions._crawl_delay,
}
