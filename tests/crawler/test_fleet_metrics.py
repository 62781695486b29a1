"""Metrics of a fleet: what is scraped is what the server's log and the store say, to the unit.

The web is another process, PostgreSQL is real, each worker has its own metrics, read over HTTP.
"""

import asyncio
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text

import manners
from manners.compat.prometheus import Metrics
from manners.evidence.store import EvidenceStore
from tests.contracts.postgres import Postgres
from tests.crawler.fleet_crew import SETTINGS
from tests.crawler.fleet_web import Web, WebSpec
from tests.sizes import size

WORKERS = 3
Samples = Counter[tuple[str, str]]
"""Numbers by name, and by the values of the labels."""


def scraped(address: str) -> Samples:
    """What a page of metrics says."""
    with urllib.request.urlopen(address) as reply:
        assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        families = list(text_string_to_metric_families(reply.read().decode()))
    found: Samples = Counter()
    for family in families:
        for sample in family.samples:
            labels = " ".join(value for _, value in sorted(sample.labels.items()))
            found[sample.name.removeprefix("manners_"), labels] += int(sample.value)
    return found


def total(found: Samples, name: str, *words: str) -> int:
    """The sum of a metric where all these words are among the labels."""
    return sum(
        number
        for (each, labels), number in found.items()
        if each == name and all(word in labels.split(" ") for word in words)
    )


async def work(store: str, number: int, metrics: Metrics) -> None:
    """One worker, to the end of the crawl."""
    settings = {**SETTINGS, "min_delay": 0.0, "max_delay": 0.0, "store": store}
    async for _ in manners.crawl([], work=number, on_event=metrics, **settings):
        pass


@pytest.fixture
def addresses() -> Iterator[list[tuple[Metrics, str]]]:
    """Metrics of some workers, and where they are served."""
    with ExitStack() as stack:
        all_metrics = [Metrics() for _ in range(WORKERS)]
        yield [(each, stack.enter_context(each.serve(0))) for each in all_metrics]


@pytest.mark.long
def test_every_counter_is_what_the_server_and_the_store_say(
    postgres: Postgres, tmp_path: Path, addresses: list[tuple[Metrics, str]]
) -> None:
    """Requests by kind and status, decisions by reason, records, pages by state: none is lost."""
    store = postgres.database()
    spec = WebSpec(hosts=size("METRICS_HOSTS"), pages=size("METRICS_PAGES"), crawl_delay=0.0)
    with Web(spec, tmp_path) as web:
        settings = {**SETTINGS, "min_delay": 0.0, "max_delay": 0.0, "store": store}
        number = manners.crawl(web.site.starts, **settings).start()

        async def run() -> None:
            await asyncio.gather(*(work(store, number, metrics) for metrics, _ in addresses))

        asyncio.run(run())
        found = sum((scraped(address) for _, address in addresses), Counter())
        each_last = [scraped(address) for _, address in addresses]
        seen = web.seen()
    # The server's log.
    by_log: Counter[tuple[str, str]] = Counter(
        ("robots" if ask.path == "/robots.txt" else "page", str(ask.status)) for ask in seen.asks
    )
    assert len(seen.asks) > 0
    for (kind, status), asks in by_log.items():
        assert total(found, "requests_total", kind, status) == asks, (kind, status)
    assert total(found, "requests_total") == len(seen.asks)
    assert total(found, "request_seconds_count") == len(seen.asks)
    assert total(found, "wait_seconds_count") == len(seen.asks)
    assert total(found, "crawl_requests_running") == 0
    assert total(found, "robots_retrievals_total") == sum(
        number for (kind, _), number in by_log.items() if kind == "robots"
    )
    assert total(found, "backoffs_total") == sum(
        number for (_, status), number in by_log.items() if status in ("429", "503")
    )
    # The store.
    with EvidenceStore(store, readonly=True) as evidence, evidence.reading() as connection:
        kinds = "SELECT type, count(*) FROM evidence GROUP BY type"
        records = {row[0]: row[1] for row in connection.execute(text(kinds))}
        states = "SELECT state, count(*) FROM urls WHERE kind = 'page' GROUP BY state"
        by_state = {row[0]: row[1] for row in connection.execute(text(states))}
    assert total(found, "evidence_seconds_count") == sum(records.values())
    assert total(found, "allowed_total") == records["robots_allowed"]
    assert total(found, "disallowed_total", "rule-matched") == records["blocked_by_robots"]
    assert total(found, "disallowed_total") == sum(records.values()) - records["robots_allowed"]
    for state in ("queued", "leased", "done", "failed", "blocked"):  # the last of all knows all
        told = max(total(each, "crawl_urls", state) for each in each_last)
        assert told == by_state.get(state, 0), state
    assert total(found, "workers_joined_total") == WORKERS
    assert total(found, "crawls_ended_total") == WORKERS
