"""What a crawl tells while it runs, besides its requests: the events of `manners.events`."""

from collections.abc import Iterator
from contextlib import contextmanager

from manners import events
from manners.crawler.fleet_values import Beat
from manners.crawler.frontier.values import LeasedUrl
from manners.crawler.opening import CrawlPlan, CrawlState, Opened


@contextmanager
def report_run(plan: CrawlPlan, state: CrawlState, opened: Opened) -> Iterator[None]:
    """Tell that a crawl begins, or a worker joins it, and how it ended."""
    reporter, number, worker = state.reporter, state.number, opened.fleet.worker
    reporter.crawl, reporter.worker = number, worker
    if not plan.is_work:
        reporter.tell(events.CrawlStart(plan.clock(), number, worker, plan.is_resumed))
    if not opened.frontier.store.is_sqlite:
        reporter.tell(events.WorkerJoin(plan.clock(), number, worker))
    try:
        yield
    finally:
        reason, states = state.ended or "failed", dict(state.pages)
        pages = state.budget.pages_used
        reporter.tell(events.CrawlEnd(plan.clock(), number, worker, reason, states, pages))


def report_beat(state: CrawlState, beat: Beat, now: float, *, running: int, hosts: int) -> None:
    """Tell how far a crawl is, and which workers this one has closed."""
    reporter, number, worker = state.reporter, state.number, state.reporter.worker
    for one in beat.closed:
        reporter.tell(events.WorkerDeath(now, number, one))
    if reporter.listener is not None:
        states, pages = dict(state.pages), state.budget.pages_used
        reporter.tell(
            events.CrawlBeat(now, number, worker, states, pages, running, hosts, beat.living)
        )


def report_block(state: CrawlState, url: LeasedUrl, reason: str, now: float) -> None:
    """Tell that a URL is blocked whose turn had come."""
    state.reporter.tell(events.UrlBlock(now, url.host, url.url, reason))
