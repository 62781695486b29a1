"""The workers: who crawled what, and how each ended."""

from manners.crawler.status import WorkerStatus
from manners.report.data import Report
from manners.report.html import words
from manners.report.html.elements import Child, untrusted
from manners.report.html.parts import note, nothing, small, table

ORDER = 105
TITLE = "Workers"
_MOST = 200


def content(report: Report) -> Child:
    """The processes that worked on the crawl, the first first."""
    workers = report.status.workers
    if not workers:
        return nothing("The store does not say who crawled.")
    header = ("Worker", "Pages>", "Failed>", "Requests>", "Bytes>", "Ended")
    more = len(workers) - _MOST
    return [
        note("Each process that worked on the crawl, with what it did. Redirects count as pages."),
        table("Workers", header, map(_row, workers[:_MOST]), hide=True),
        note(f"{more:,} more are not shown.") if more > 0 else None,
    ]


def _row(worker: WorkerStatus) -> tuple[Child, ...]:
    facts = f"{words.moment(worker.began)} to {words.moment(worker.seen)}"
    return (
        [untrusted(f"{worker.worker}  {worker.name}", 100), small(facts)],
        f"{worker.fetched:,}",
        f"{worker.failed:,}",
        f"{worker.requests:,}",
        words.size(worker.bytes),
        untrusted(worker.ended, 100),
    )
