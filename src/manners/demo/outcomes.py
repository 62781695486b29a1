"""What came of the demo: each case compared with what is expected, and the evidence checked."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from manners._text import count
from manners.crawler.frontier.summary import CrawlSummary
from manners.demo.cases import CASES, Case, Measurement, PageOutcome
from manners.demo.site import DemoSite
from manners.evidence.record import engine
from manners.evidence.replay import Replay
from manners.evidence.store import EvidenceStore

_MAX_FINDINGS = 3


class CaseOutcome(NamedTuple):
    """A case, and what came of it."""

    case: Case
    results: list[str]
    """The result of each URL, in the order of `case.expected`."""
    measurement: Measurement | None

    @property
    def ok(self) -> bool:
        """Whether everything is as expected."""
        is_ok = self.measurement is None or self.measurement.ok
        return is_ok and self.results == [result for _, result in self.case.expected]

    def to_dict(self, site: DemoSite) -> dict[str, object]:
        """The outcome as plain values, ready for JSON."""
        rows = zip(self.case.expected, self.results, strict=True)
        return {
            "case": self.case.name,
            "ok": self.ok,
            "says": self.case.explanation,
            "urls": [
                {"url": site.url(short), "expected": expected, "happened": result}
                for (short, expected), result in rows
            ],
            "measured": self.measurement.text if self.measurement is not None else None,
        }


def case_outcomes(site: DemoSite, store: EvidenceStore, crawl: int) -> Iterator[CaseOutcome]:
    """Every case, then the evidence and its replay."""
    pages = page_outcomes(site, store, crawl)
    for case in CASES:
        urls = [site.url(short) for short, _ in case.expected]
        results = [pages[url].result if url in pages else "not found" for url in urls]
        measurement = None if case.measure is None else case.measure(site, pages)
        yield CaseOutcome(case, results, measurement)
    evidence = Case("evidence", "Every decision is on record, and no record was changed.", "", ())
    yield CaseOutcome(evidence, [], _verify(store))
    replay = Case("replay", "Replaying the records gives the same decisions.", "", ())
    yield CaseOutcome(replay, [], _replay(store))


def page_outcomes(site: DemoSite, store: EvidenceStore, crawl: int) -> dict[str, PageOutcome]:
    """What came of every page that a crawl of the site has found."""
    with store.reading() as connection:
        return {
            row.url: PageOutcome(_result(row, site), row.seconds or 0.0, row.delay or 0.0)
            for row in CrawlSummary(connection, crawl).outcomes()
        }


def _result(row: Any, site: DemoSite) -> str:
    if row.location:
        return f"{row.status} to {site.short(row.location)}"
    if row.line:
        return f"line {row.line}: {row.rule}"
    if row.reason:
        return f"{row.reason} ({row.rule})" if row.rule else str(row.reason)
    if row.attempts > 1:
        return f"{row.status} on attempt {row.attempts}"
    return str(row.status) if row.state == "done" else str(row.state)


def _verify(store: EvidenceStore) -> Measurement:
    with closing(store.verify()) as findings:
        problems = [str(finding) for finding in findings]
    records = store.head().number
    return _checked(problems, records, f"OK: {count(records, 'record')} verified, chain intact")


def _replay(store: EvidenceStore) -> Measurement:
    replay = Replay(store.snapshot, engine())
    with closing(store.records()) as records:
        differences = [replay.again(record) for record in records]
    problems = [str(difference) for difference in differences if difference is not None]
    number = len(differences)
    return _checked(problems, number, f"{count(number, 'record')} replayed: all the same")


def _checked(problems: list[str], records: int, text: str) -> Measurement:
    return Measurement(records > 0 and not problems, "; ".join(problems[:_MAX_FINDINGS]) or text)
