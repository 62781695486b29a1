"""Events: what is told, in which order, and that telling breaks nothing."""

import asyncio
import json
import logging
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import manners
from manners import events, logs
from manners.events import NAMES, Event
from manners.logs import Reporter
from manners.net.messages import Response, Unreachable
from manners.testing import Clock, ScriptedSender, run, skip_waiting

SITE = "https://a.example"
PAGES: dict[str, Any] = {
    f"{SITE}/robots.txt": "User-agent: *\nDisallow: /closed\n",
    f"{SITE}/": "<a href=/a>a</a><a href=/closed>b</a><a href=/gone>c</a>",
    f"{SITE}/a": "text",
}
SECRET = "s3same"


def names(heard: list[Event]) -> list[str]:
    return [NAMES[type(event)] for event in heard]


def of(heard: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in heard if isinstance(event, kind)]


def client_of(
    http: ScriptedSender, clock: Clock, listener: Callable[[Event], object] | None, **arguments: Any
) -> manners.AsyncClient:
    return manners.AsyncClient("MyBot", http=http, clock=clock, on_event=listener, **arguments)


def fetch(
    urls: list[str],
    listener: Callable[[Event], object] | None,
    pages: dict[str, Any] = PAGES,
    **arguments: Any,
) -> list[manners.Page | None]:
    """What a client fetches, one after the other, while somebody listens; None if deferred."""
    clock = Clock()
    http = ScriptedSender(pages, clock, default=404)

    async def go() -> list[manners.Page | None]:
        found: list[manners.Page | None] = []
        client = manners.AsyncClient(
            "MyBot", http=http, clock=clock, on_event=listener, **arguments
        )
        async with client:
            for url in urls:
                try:
                    found.append(await client.get(url))
                except manners.HostDeferred:
                    found.append(None)
        return found

    return run(go(), clock)


def hear(urls: list[str], pages: dict[str, Any] = PAGES, **arguments: Any) -> list[Event]:
    """What a client tells about some URLs."""
    heard: list[Event] = []
    fetch(urls, heard.append, pages, **arguments)
    return heard


# What is told.


def test_a_page_is_told_from_its_start_to_its_end(tmp_path: Path) -> None:
    """Each step once, in order, with the number of the page; robots.txt within its first page."""
    heard = hear([f"{SITE}/a", f"{SITE}/closed"], evidence=tmp_path / "proof.db")
    assert names(heard) == [
        *("page-start", "request", "response", "retrieval", "decision", "evidence"),
        *("wait", "request", "response", "page-end"),
        *("page-start", "retrieval", "decision", "evidence", "page-end"),
    ]
    first, second = (event.page for event in of(heard, events.PageStart))
    paged: list[Any] = [event for event in heard if hasattr(event, "page")]
    assert [event.page for event in paged] == [first] * 10 + [second] * 5
    asked = [(event.url, event.kind, event.attempt) for event in of(heard, events.RequestStart)]
    assert asked == [(f"{SITE}/robots.txt", "robots", 1), (f"{SITE}/a", "page", 1)]
    answer = of(heard, events.RequestEnd)[-1]
    assert (answer.status, answer.bytes, answer.is_sent, answer.method) == (200, 4, True, "GET")
    assert 0.2 <= answer.waited <= 0.5
    assert [event.source for event in of(heard, events.RobotsUse)] == ["site", "memory"]
    decisions = [(event.allowed, str(event.reason)) for event in of(heard, events.UrlDecision)]
    assert decisions == [(True, "no-rule-matched"), (False, "rule-matched")]
    assert [event.status for event in of(heard, events.PageEnd)] == [200, None]


def test_trouble_is_told() -> None:
    """Back-off, retries of a page that was not sent, a refused address, a host that has to wait."""
    busy = {**PAGES, f"{SITE}/busy": Response(429, {"retry-after": "5"})}
    heard = hear([f"{SITE}/busy"], busy)
    (backoff,) = of(heard, events.HostBackoff)
    assert (backoff.host, backoff.status, backoff.seconds) == ("a.example", 429, 5.0)
    stale = {**PAGES, f"{SITE}/a": [Unreachable("connection lost", is_stale=True), "text"]}
    heard = hear([f"{SITE}/a"], stale)
    (retry,) = of(heard, events.RequestRetry)
    assert (retry.url, retry.attempt) == (f"{SITE}/a", 2)
    assert [event.attempt for event in of(heard, events.RequestStart)] == [1, 1, 2]
    slow = {**PAGES, f"{SITE}/robots.txt": "User-agent: *\nCrawl-delay: 500"}
    heard = hear([f"{SITE}/a", f"{SITE}/"], slow)
    deferred = of(heard, events.HostDeferral)
    assert [event.host for event in deferred] == ["a.example"]
    assert deferred[0].until - deferred[0].at > 60
    assert of(heard, events.PageEnd)[-1].cause == "HostDeferred"


def test_a_stream_ends_with_what_was_read() -> None:
    """The end of its request comes after its body, with the bytes that were read."""
    clock, heard = Clock(), list[Event]()
    http = ScriptedSender(PAGES, clock)

    async def go() -> None:
        async with (
            manners.AsyncClient("MyBot", http=http, clock=clock, on_event=heard.append) as client,
            client.stream(f"{SITE}/a") as stream,
        ):
            assert not [e for e in of(heard, events.RequestEnd) if e.kind == "page"]
            assert b"".join([chunk async for chunk in stream.chunks()]) == b"text"

    run(go(), clock)
    assert names(heard)[-2:] == ["response", "page-end"]
    assert of(heard, events.RequestEnd)[-1].bytes == 4


def test_a_request_of_another_library_is_told() -> None:
    """It starts when it departs and ends with its reply, or when it is given up."""
    clock, heard = Clock(), list[Event]()
    http = ScriptedSender(PAGES, clock)

    async def go() -> None:
        async with manners.AsyncClient(
            "MyBot", http=http, clock=clock, on_event=heard.append
        ) as client:
            for status in (200, None):
                visit = await client.visit(f"{SITE}/a", tells=True)
                visit.departed()
                if status is not None:
                    await visit.replied(status, {})
                await visit.leave()

    run(go(), clock)
    ends = [event for event in of(heard, events.RequestEnd) if event.kind == "page"]
    assert [(event.status, event.cause, event.is_sent) for event in ends] == [
        (200, "", True),
        (None, "given up", True),
    ]
    assert len([e for e in of(heard, events.RequestStart) if e.kind == "page"]) == 2


def test_a_crawl_tells_how_far_it_is(tmp_path: Path) -> None:
    """It starts, says what is blocked and which host is done, and ends with its numbers."""
    clock, heard = Clock(), list[Event]()
    http = ScriptedSender(PAGES, clock, default=404)
    store = str(tmp_path / "crawl.db")
    with skip_waiting(clock):
        crawl = manners.crawl(
            [f"{SITE}/"], http=http, clock=clock, on_event=heard.append, store=store, agent="MyBot"
        )
        assert len(list(crawl)) == 4
    told = names(heard)
    assert (told[0], told[-1]) == ("crawl-start", "crawl-end")
    assert Counter(told)["page-start"] == Counter(told)["page-end"] >= 4
    blocked = [(event.url, event.reason) for event in of(heard, events.UrlBlock)]
    assert blocked == [(f"{SITE}/closed", "rule-matched")]
    assert [event.host for event in of(heard, events.HostEnd)] == ["a.example"]
    (end,) = of(heard, events.CrawlEnd)
    assert (end.reason, end.pages) == ("finished", 3)
    assert {state: n for state, n in end.states.items() if n} == {"done": 3, "blocked": 1}


def test_every_event_has_a_name_and_is_listed() -> None:
    """In the table of names, and in the documentation."""
    kinds = set(Event.__args__)
    assert kinds == set(NAMES)
    assert len(set(NAMES.values())) == len(NAMES)
    page = Path("docs/how-to/metrics.md").read_text(encoding="utf-8")
    assert [kind.__name__ for kind in kinds if f"`{kind.__name__}`" not in page] == []


# Telling breaks nothing.


def test_a_listener_that_raises_breaks_no_request(caplog: pytest.LogCaptureFixture) -> None:
    """The page is there, the log says what happened, and the listener is called again."""
    calls = []

    def listener(event: Event) -> None:
        calls.append(event)
        raise RuntimeError(f"oops \x1b[2J https://me:{SECRET}@a.example/?token={SECRET}")

    (page,) = fetch([f"{SITE}/a"], listener)
    assert page is not None
    assert page.text == "text"
    assert len(calls) == len(hear([f"{SITE}/a"]))
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert {getattr(record, "event", "") for record in warnings} == {"listener-failure"}
    assert "on_event raised RuntimeError for PageStart: oops" in warnings[0].getMessage()
    for record in warnings:
        assert record.getMessage().isprintable()
        assert SECRET not in record.getMessage()


def test_warnings_that_repeat_are_counted_instead() -> None:
    """One line in ten seconds, which says how many there were; others are not held back."""
    reporter, lines = Reporter(), list[str]()
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("manners.cache")
    logger.addHandler(handler)
    try:
        for at in range(12):
            reporter.tell(events.CacheProblem(float(at), "the store is down"))
        reporter.tell(events.CacheProblem(12.0, "another store is down"))
        for number in range(5_000):
            reporter.tell(events.CacheProblem(13.0, f"store {number} is down"))
    finally:
        logger.removeHandler(handler)
    assert lines[:3] == [
        "the store is down",
        "the store is down (9 times more since it was last told)",
        "another store is down",
    ]
    assert len(lines) == 3 + 5_000
    assert len(reporter._repeats._seen) <= 1_000


URLS = [
    (f"https://me:{SECRET}@a.example/x", "https://***@a.example/x"),
    (f"{SITE}/x?access_token={SECRET}&q=shoes", f"{SITE}/x?access_token=***&q=shoes"),
    (f"{SITE}/x?a=1&X-Amz-Signature={SECRET}", f"{SITE}/x?a=1&X-Amz-Signature=***"),
    (f"{SITE}/x;jsessionid={SECRET}?q=1", f"{SITE}/x;jsessionid=***"),
    (f"{SITE}/x?page=2&size=10", f"{SITE}/x?page=2&size=10"),
]


@pytest.mark.parametrize(("url", "expected"), URLS)
@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_of_a_url_is_logged(
    url: str, expected: str, form: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither of a decision, a request, a retry nor a failure; the rest of the URL stays."""
    logs.configure("debug", form, False)
    try:
        reporter = Reporter()
        reporter.tell(events.RequestStart(0.0, 1, "a.example", url, "page", "GET", 1, 0.0))
        reporter.tell(events.RequestRetry(0.0, 1, "a.example", url, "timeout", 2))
        reporter.tell(events.HostDeferral(0.0, 1, "a.example", url, 90.0))
        reporter.tell(events.RetrievalProblem(0.0, "a.example", f"{url}: unreachable (timeout)"))
    finally:
        err = capsys.readouterr().err
        logs.configure("none", "text", False)
    lines = err.splitlines()
    assert len(lines) == 4
    assert all(expected in line for line in lines)
    assert SECRET not in err


def test_structlog_formats_our_records_like_its_own() -> None:
    """Event and values are there by name; it needs no code of ours."""
    script = """
import logging, structlog
from manners import events
from manners.logs import Reporter
shared = [structlog.stdlib.ExtraAdder()]
handler = logging.StreamHandler()
handler.setFormatter(structlog.stdlib.ProcessorFormatter(
    foreign_pre_chain=shared,
    processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer()],
))
logging.basicConfig(level=logging.INFO, handlers=[handler])
reporter = Reporter()
reporter.crawl, reporter.worker = 3, 1
reporter.tell(events.HostBackoff(0.0, "a.example", 429, 5.0))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    line = json.loads(ran.stderr)
    expected = {
        "event": "backoff",
        "host": "a.example",
        "status": 429,
        "seconds": 5.0,
        "crawl": 3,
        "worker": 1,
    }
    assert {name: line[name] for name in expected} == expected


def test_a_listener_of_a_cache_hears_of_it() -> None:
    """`RobotsCache` tells uses and problems, also those that are answered from memory."""
    heard: list[Event] = []
    sender = ScriptedSender({}, default=Unreachable("timeout"))
    with manners.RobotsCache(http=sender, on_event=heard.append) as cache:
        cache.check(f"{SITE}/", "MyBot")
        cache.check(f"{SITE}/", "MyBot")
    assert names(heard) == ["retrieval", "retrieval-failure", "retrieval"]
    assert [event.availability for event in of(heard, events.RobotsUse)] == ["unreachable"] * 2


def test_pages_that_are_fetched_at_once_are_told_apart() -> None:
    """What happens for one page has its number, whichever task of the program asks."""
    heard, clock = list[Event](), Clock()
    http = ScriptedSender({}, clock, default="text")

    async def go() -> None:
        async with manners.AsyncClient(
            "MyBot", http=http, clock=clock, on_event=heard.append
        ) as client:
            await asyncio.gather(*(client.get(f"https://{n}.example/") for n in range(20)))

    run(go(), clock)
    urls = {event.page: event.url for event in of(heard, events.PageStart)}
    assert len(urls) == 20
    for event in of(heard, events.RequestEnd):
        assert urls[event.page].startswith(f"https://{event.host}/")
    assert events.PAGE.get() == 0
