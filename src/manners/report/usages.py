"""What the pages of a crawl may be used for, counted: by purpose, and by who says so. Quiet."""

from collections import Counter

import msgspec

from manners._text import cut
from manners.crawler.reasons import USAGE
from manners.report.data import (
    ClaimRow,
    Listing,
    PurposeCount,
    SourceCount,
    UsageConflict,
    UsageSummary,
)
from manners.report.display import Display
from manners.signals.claims import PURPOSES

_CONFLICTS = 20
"""Contradictions that are shown; all are counted."""
_CLAIMS = 6
"""Claims that are shown of each."""
_SOURCES = 100
"""Standards, versions and kinds of sources; more of them cannot be, unless records were changed."""
_MAX_TEXT = 300


class RecordedClaim(msgspec.Struct):
    """What a record has about a claim; other members are not read."""

    purpose: str
    value: str
    standard: str
    edition: str
    source: str
    text: str = ""
    where: str = ""
    line: int = 0


class RecordedUsage(msgspec.Struct):
    """What a record has about usage."""

    purpose: str
    unknown: str
    answers: dict[str, str]
    conflicts: list[str]
    claims: list[RecordedClaim]


class _UsageRecord(msgspec.Struct):
    usage: RecordedUsage
    url: str = ""


class UsageCounts:
    """Counts what the records of a crawl have about usage."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._pages = 0
        self._kept_for: Counter[tuple[str, str]] = Counter()
        self._answers: Counter[tuple[str, str]] = Counter()
        self._conflicting: Counter[str] = Counter()
        self._sources: Counter[tuple[str, str, str, str]] = Counter()
        self._contradicted = 0
        self._conflicts: list[UsageConflict] = []
        self._decode = msgspec.json.Decoder(_UsageRecord).decode

    def add(self, metadata: str | None, state: str, reason: str) -> None:
        """Count a page, by its last record and what became of it."""
        is_page = (state == "done" and not reason) or reason == USAGE
        if not is_page or metadata is None or '"usage":' not in metadata:
            return
        try:
            record = self._decode(metadata)
        except (msgspec.MsgspecError, UnicodeError):
            return
        usage = record.usage
        self._pages += 1
        self._kept_for[usage.purpose, usage.unknown] += 1
        for purpose in PURPOSES:
            self._answers[purpose, usage.answers.get(purpose, "unknown")] += 1
            self._conflicting[purpose] += purpose in usage.conflicts
        for source in {(c.standard, c.edition, c.source, c.value) for c in usage.claims}:
            if source in self._sources or len(self._sources) < _SOURCES:
                self._sources[source] += 1
        self._contradicted += bool(usage.conflicts)
        if usage.conflicts and len(self._conflicts) < _CONFLICTS:
            self._conflicts.append(self._conflict(record))

    def _conflict(self, record: _UsageRecord) -> UsageConflict:
        usage = record.usage
        purpose = usage.purpose if usage.purpose in usage.conflicts else usage.conflicts[0]
        claims = [claim for claim in usage.claims if claim.purpose == purpose]
        return UsageConflict(
            self._display.url(record.url),
            cut(purpose, _MAX_TEXT),
            [_claim(claim) for claim in claims[:_CLAIMS]],
        )

    def summary(self) -> UsageSummary | None:
        """The counts; None for a crawl without a purpose."""
        if not self._pages:
            return None
        (purpose, unknown), _ = self._kept_for.most_common(1)[0]
        purposes = [
            PurposeCount(
                name,
                self._answers[name, "yes"],
                self._answers[name, "no"],
                self._answers[name, "unknown"],
                self._conflicting[name],
            )
            for name in PURPOSES
            if name != "crawl"
        ]
        return UsageSummary(
            cut(purpose, _MAX_TEXT),
            cut(unknown, _MAX_TEXT),
            self._pages,
            purposes,
            self._source_counts(),
            Listing(self._contradicted, self._conflicts),
        )

    def _source_counts(self) -> list[SourceCount]:
        """Who says yes and no, on how many pages; the most frequent first."""
        counts = [
            SourceCount(
                cut(standard, _MAX_TEXT),
                cut(edition, _MAX_TEXT),
                cut(source, _MAX_TEXT),
                self._sources[standard, edition, source, "yes"],
                self._sources[standard, edition, source, "no"],
            )
            for standard, edition, source in {key[:3] for key in self._sources}
        ]
        return sorted(counts, key=lambda one: (-one.yes - one.no, one[:3]))


def _claim(claim: RecordedClaim) -> ClaimRow:
    return ClaimRow(
        cut(claim.value, _MAX_TEXT),
        cut(claim.standard, _MAX_TEXT),
        cut(claim.edition, _MAX_TEXT),
        cut(claim.source, _MAX_TEXT),
        cut(claim.text, _MAX_TEXT),
        cut(claim.where, _MAX_TEXT),
        claim.line,
    )
