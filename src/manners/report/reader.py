"""Reads the report of a crawl from its store.

from manners import EvidenceStore
from manners.report.reader import report_of

with EvidenceStore("manners.db", readonly=True) as store:
    report = report_of(store)
"""

import shlex
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Any

from sqlalchemy import Connection

from manners.crawler.frontier.summary import CrawlSummary
from manners.crawler.status import Status, status_of
from manners.evidence.queries import last_content, snapshot_body, store_head
from manners.identity import Identity, identity
from manners.report.changes import robots_changes
from manners.report.data import BudgetUse, Decision, Listing, Proof, Report
from manners.report.decisions import DecisionCounts, DecisionGroup
from manners.report.delays import MinimumDelays
from manners.report.display import Display, text
from manners.report.lists import ListReader
from manners.report.robots_files import RobotsFiles
from manners.report.stored import number, parsed
from manners.report.timeline import Requests
from manners.report.usages import UsageCounts
from manners.settings import Settings
from manners.settings.names import current_names
from manners.store.database import Store

ROWS = 200
"""Rows of a list, by default."""
_AGENTS = 5
_TRAP = "trap: "


def report_of(
    store: Store,
    crawl: int | None = None,
    *,
    rows: int = ROWS,
    redact: bool = False,
    clock: Callable[[], float] = time.time,
) -> Report:
    """The report of a crawl, by default of the last one in a store; also while it is running.

    With `redact`, or where the crawl had `redact_query`, URLs are shown without their queries.

        with EvidenceStore("manners.db", readonly=True) as store:
            report = report_of(store)
            print(report.status.fetched, report.times.median)
    """
    status = status_of(store, crawl)
    created = datetime.fromtimestamp(clock(), UTC).isoformat(timespec="seconds")
    with store.reading() as connection:
        return _read(connection, store, status, rows=rows, redact=redact, created=created)


def _read(
    connection: Connection, store: Store, status: Status, *, rows: int, redact: bool, created: str
) -> Report:
    """Read the whole report, in one view of the store."""
    summary, place = CrawlSummary(connection, status.crawl), shlex.quote(store.place)
    settings = current_names(parsed(summary.settings(), dict))
    display = Display(rows, redact or settings.get("redact_query") is True)
    requests = _requests(summary, connection, status, settings)
    counts, usages = DecisionCounts(), UsageCounts(display)
    for record, metadata, state, reason in summary.decisions():
        counts.add(record, metadata)
        usages.add(metadata, state, reason)
    files, groups = _robots_files(connection, counts, display), counts.files()
    robots = [files.read(group) for group in groups[:rows]]
    rules, lists = counts.rules(), ListReader(summary, display)
    blocked, who = lists.blocked(), _identity(settings)
    return Report(
        created=created,
        version=version("manners"),
        store=store.place,
        status=status._replace(start=" ".join(map(display.url, status.start.split(" ")))),
        agents=_most_common(counts.agents) or [who.agent],
        user_agents=_most_common(counts.user_agents) or ([] if counts.number else [who.user_agent]),
        settings=settings,
        budget=_budget(summary, status, settings),
        timeline=requests.timeline(),
        times=requests.times(),
        slowest=lists.slowest(),
        decisions=Listing(len(rules), [_decision(rule, files, display) for rule in rules[:rows]]),
        robots=Listing(len(groups), robots),
        problems=Listing(files.problem_count, files.problems),
        changes=robots_changes(
            counts.versions.changes(), partial(snapshot_body, connection), display
        ),
        blocked=[reason for reason in blocked if not reason.reason.startswith(_TRAP)],
        traps=[reason for reason in blocked if reason.reason.startswith(_TRAP)],
        broken=lists.broken(),
        pages=lists.pages(status.fetched),
        sitemaps=lists.sitemaps(),
        hosts=lists.hosts(requests.hosts),
        proof=_proof(connection, store, counts),
        rest=f"manners report {place} --crawl {status.crawl} --json --rows 1000000",
        usage=usages.summary(),
    )


def _requests(
    summary: CrawlSummary, connection: Connection, status: Status, settings: Mapping[str, Any]
) -> Requests:
    """Collect every request, in the order in which they started."""
    minimum = MinimumDelays(settings, partial(last_content, connection))
    requests = Requests(status.seconds, minimum)
    for host, kind, code, started, seconds, delay, size in summary.requests():
        counts = kind == "page" and code is not None
        requests.add(host, started, seconds=seconds, delay=delay, size=size, counts=counts)
    return requests


def _robots_files(connection: Connection, counts: DecisionCounts, display: Display) -> RobotsFiles:
    return RobotsFiles(partial(snapshot_body, connection), counts.by_line(), display)


def _decision(group: DecisionGroup, files: RobotsFiles, display: Display) -> Decision:
    decision = group.decision
    return Decision(
        allowed=decision.allowed,
        reason=decision.reason,
        rule=files.rule(decision),
        line=decision.line,
        robots=display.url(decision.robots_url) if decision.line else "",
        sites=len(group.sites),
        sha256=decision.snapshot or "" if decision.line else "",
        number=group.number,
        record=group.record,
    )


def _most_common(names: Counter[str]) -> list[str]:
    return [text(name) for name, _ in names.most_common(_AGENTS)]


def _identity(settings: Mapping[str, Any]) -> Identity:
    """Who the crawl was told to be."""
    names = (settings.get(name) for name in ("agent", "user_agent"))
    return identity(*(name if isinstance(name, str) else None for name in names))


def _budget(summary: CrawlSummary, status: Status, settings: Mapping[str, Any]) -> BudgetUse:
    defaults = Settings()
    return BudgetUse(
        pages=summary.attempts(),
        max_pages=int(number(settings.get("max_pages"), defaults.max_pages)),
        minutes=status.seconds / 60,
        max_minutes=number(settings.get("max_minutes"), defaults.max_minutes),
    )


def _proof(connection: Connection, store: Store, counts: DecisionCounts) -> Proof:
    head = store_head(connection, store.version)
    verify = f"manners evidence verify --store {shlex.quote(store.place)} --head {head}"
    return Proof(counts.number, counts.missing, str(head), verify)
