"""The checks of a fleet's crawl find what they are made for: each is shown a crawl that went well,
and the same with one thing wrong."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.crawler import fleet_checks as checks
from tests.crawler.fleet_checks import Loss, Standstills, Stop
from tests.crawler.fleet_process import address_of, pid_of
from tests.crawler.fleet_store import FleetStore, RecordRow, UrlRow, WorkerRow
from tests.crawler.fleet_web import Ask, Fate, FleetSite, Seen, Web, WebSpec

ONE, TWO = 101, 102
"""Processes."""
WALL = 1_000_000.0
"""What the clock on the wall is ahead of the other one."""
HOST = "127.16.0.1"
QUIET = Standstills()
WORKERS = [
    WorkerRow(1, f"machine-{ONE}", 2, WALL, WALL + 60, "lost", WALL + 5.0),
    WorkerRow(2, f"machine-{TWO}", 3, WALL, WALL + 60, "finished", WALL + 60.0),
]


def ask(
    at: float, path: str = "/a", pid: int = ONE, host: str = HOST, seconds: float = 0.01
) -> Ask:
    return Ask(at, at + WALL, host, path, at + seconds, 200, pid, 4000, at + WALL)


def seen(*asks: Ask) -> Seen:
    return Seen(asks, 80)


def url(path: str = "/a", host: str = HOST) -> str:
    return f"http://{host}:80{path}"


def row(path: str = "/a", state: str = "done", **more: Any) -> UrlRow:
    status = 200 if state == "done" else None
    return UrlRow("page", url(path), state, "", status, 1, 0)._replace(**more)


def record(at: float, path: str = "/a", strand: int = 2, late: float = 0.0) -> RecordRow:
    return RecordRow(url(path), strand, WALL + at, WALL + at + late)


def store(rows: Iterable[UrlRow], **more: Any) -> FleetStore:
    made = FleetStore([(1, "finished")], list(rows), WORKERS, {HOST: 2}, {}, [], {})
    return made._replace(**{"counted": made.states, **more})


TRUTH = {url("/a"): Fate("done", 200), url("/b"): Fate("failed", 500, None, 2)}
WELL = [row("/a"), row("/b", "failed", status=500, attempts=2, reason="server error")]


@pytest.mark.parametrize(
    "rows",
    [
        WELL[:1],
        [*WELL, row("/c")],
        [*WELL, row("/a")],
        [row("/a", "queued"), WELL[1]],
        [row("/a", reason="redirect"), WELL[1]],
        [row("/a", status=404), WELL[1]],
    ],
    ids=["missing", "unknown", "twice", "queued", "another reason", "another status"],
)
def test_a_url_with_another_fate_is_found(rows: list[UrlRow]) -> None:
    """One that is missing, one too many, one that is there twice, one left over, another answer."""
    assert checks.unlike_truth(TRUTH, WELL) == []
    assert len(checks.unlike_truth(TRUTH, rows)) == 1


GOOD = [ask(1, "/a"), ask(2, "/b"), ask(3, "/b")]


@pytest.mark.parametrize(
    ("asks", "losses"),
    [
        ([*GOOD, ask(4, "/a")], []),
        ([*GOOD, ask(4, "/a")], [Loss(TWO, WALL + 3)]),
        ([*GOOD, ask(4, "/a")], [Loss(ONE, WALL + 0.5)]),
        ([*GOOD, ask(4, "/a")], [Loss(ONE, WALL + 4.5)]),
        ([*GOOD, ask(4, "/a"), ask(5, "/a")], [Loss(ONE, WALL + 3)]),
        ([*GOOD, ask(4, "/private/a")], [Loss(ONE, WALL + 3)]),
        (GOOD[1:], []),
    ],
    ids=["twice", "another", "earlier", "later", "three times", "disallowed", "never"],
)
def test_a_url_that_was_asked_for_twice_is_found(asks: list[Ask], losses: list[Loss]) -> None:
    """Unless its worker was lost between the two; and what may not be asked for, and what never
    was."""
    assert checks.asked_wrongly(TRUTH, seen(*GOOD), []) == []
    again = [*GOOD, ask(4, "/a", TWO)]
    assert checks.asked_wrongly(TRUTH, seen(*again), [Loss(ONE, WALL + 3)]) == []
    assert len(checks.asked_wrongly(TRUTH, seen(*asks), losses)) == 1


def test_what_was_sent_at_the_end_of_a_stop_may_be_asked_for_again() -> None:
    """Its worker was closed meanwhile; but not what it sends later."""
    loss = Loss(ONE, WALL + 0.5)
    again = seen(*GOOD, ask(4, "/a", TWO))

    def found(stop: Stop) -> list[str]:
        return checks.asked_wrongly(TRUTH, again, [loss], [stop])

    assert found(Stop(ONE, WALL + 0.2, WALL + 0.99)) == []
    assert len(found(Stop(TWO, WALL + 0.2, WALL + 0.99))) == 1  # another process
    assert len(found(Stop(ONE, WALL - 2, WALL - 1))) == 1  # it went on before it was closed
    assert (
        len(
            checks.asked_wrongly(
                TRUTH, again, [Loss(ONE, WALL - 2)], [Stop(ONE, WALL - 3, WALL - 1)]
            )
        )
        == 1
    )


@pytest.mark.parametrize(
    "records",
    [
        [],
        [record(1.1)],
        [record(0.9, late=0.2)],
        [record(0.9, strand=3)],
        [record(0.9, "/b")],
    ],
    ids=["none", "made later", "durable later", "of another strand", "of another URL"],
)
def test_a_request_without_a_durable_record_is_found(records: list[RecordRow]) -> None:
    """Also one whose record was made in time and written too late, and one of another worker."""
    assert checks.without_record(seen(ask(1)), [record(0.9)], WORKERS) == []
    assert len(checks.without_record(seen(ask(1)), records, WORKERS)) == 1
    # A record is for one request.
    twice = seen(ask(1), ask(2))
    assert len(checks.without_record(twice, [record(0.9)], WORKERS)) == 1
    assert checks.without_record(twice, [record(0.9), record(1.9)], WORKERS) == []


def test_a_request_of_a_closed_worker_is_found() -> None:
    """One of a process whose workers are all closed, or that has none; but for one at the very end
    of a stop."""
    stop = Stop(ONE, WALL + 2, WALL + 8)

    def found(*asks: Ask, stops: Iterable[Stop] = (stop,)) -> list[str]:
        return checks.asked_when_closed(seen(*asks), WORKERS, stops, QUIET)

    assert found(ask(1), ask(4.99), ask(30, pid=TWO)) == []
    assert len(found(ask(5.1), stops=())) == 1
    assert len(found(ask(1, pid=999))) == 1
    assert found(ask(8.001)) == []  # it was stopped between the look and the write
    assert len(found(ask(8.001), ask(8.002))) == 1
    assert len(found(ask(9.5))) == 1
    assert len(found(ask(7.9), stops=[Stop(ONE, WALL + 6, WALL + 7)])) == 1
    # A process that has begun anew is another worker.
    again = WorkerRow(3, f"machine-{ONE}", 4, WALL + 9, WALL + 60, "finished", WALL + 60)
    both = [*WORKERS, again]
    assert checks.asked_when_closed(seen(ask(20)), both, [stop], QUIET) == []
    # Once may be chance; each time is not.
    stops = [Stop(number, WALL + 2, WALL + 8) for number in range(200, 210)]
    workers = [WORKERS[0]._replace(name=f"machine-{stop.pid}") for stop in stops]
    late = seen(*(ask(8.001, pid=stop.pid) for stop in stops))
    assert len(checks.asked_when_closed(late, workers, stops, QUIET)) == 1


def test_two_workers_at_a_host_are_found() -> None:
    """At a time; or one after the other, more often than the host was taken."""
    after = seen(ask(1), ask(2, pid=TWO))
    assert checks.several_at_a_host(after, {HOST: 2}) == []
    assert len(checks.several_at_a_host(after, {HOST: 1})) == 1
    assert len(checks.several_at_a_host(seen(ask(1, seconds=2), ask(2, pid=TWO)))) == 1
    assert checks.several_at_a_host(seen(ask(1, seconds=2), ask(2))) == []
    two = seen(ask(1, seconds=2), ask(2, pid=TWO, host="127.16.0.2"))
    assert checks.several_at_a_host(two) == []


def test_a_request_that_came_too_early_is_found() -> None:
    """Also behind that of another worker; but not behind one that was held up by the machine."""

    def found(*asks: Ask, delay: float = 0.0, lost: float = 0.0) -> list[str]:
        standstills = Standstills()
        standstills.add(ONE, 1.0, lost)
        return checks.too_early(seen(*asks), lambda _: delay, 0.1, standstills)

    assert found(ask(1), ask(1.09), ask(1.2)) == []
    assert len(found(ask(1), ask(1.05))) == 1
    assert len(found(ask(1), ask(1.05, pid=TWO))) == 1
    assert len(found(ask(1), ask(1.3), delay=0.5)) == 1
    # Who asks for robots.txt again has not read it.
    assert found(ask(1, "/robots.txt"), ask(1.3, "/robots.txt"), delay=0.5) == []
    assert found(ask(1), ask(1.05), lost=0.05) == []
    # Late by a little once in a thousand: a busy machine.
    rare = [ask(10 + number) for number in range(1_000)]
    assert found(*rare, ask(2000), ask(2000.06)) == []
    assert len(found(*rare, ask(2000), ask(2000.04))) == 1


def test_too_many_requests_at_a_time_are_found() -> None:
    """More than a host may have."""
    three = seen(*(ask(1 + number / 10, seconds=1) for number in range(3)))
    assert checks.too_many_at_once(three, 3) == []
    assert len(checks.too_many_at_once(three, 2)) == 1


def test_pages_are_counted_as_a_budget_counts_them() -> None:
    """Final replies and failed attempts; neither redirects nor what is blocked or queued."""
    more = [row("/r", reason="redirect", status=302), row("/x", "blocked", attempts=0)]
    assert checks.pages_counted([*WELL, *more, row("/q", "queued", attempts=0)]) == 3


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({}, {"done": 2, "failed": 1}),
        ({}, {"done": 1}),
        ({"counted": {("page", "done"): 1}}, {"done": 1, "failed": 1}),
        ({"owned": {HOST: 1}}, {"done": 1, "failed": 1}),
    ],
    ids=["too many", "too few", "counters", "owned"],
)
def test_numbers_that_do_not_add_up_are_found(more: dict[str, Any], status: dict[str, int]) -> None:
    """Of the status, of the counters; and a host that nobody has handed back."""
    well = {"states": {"done": 1, "failed": 1, "queued": 0}}
    assert checks.not_added_up(store(WELL), well) == []
    assert len(checks.not_added_up(store(WELL, **more), {"states": status})) == 1


def test_pages_that_were_printed_wrongly_are_found() -> None:
    """By two workers, otherwise than stored, or by nobody, though all lived."""
    a, b = {"url": url("/a"), "state": "done"}, {"url": url("/b"), "state": "failed"}
    end: dict[str, Any] = {"crawl": {}}
    assert checks.printed_wrongly({ONE: [a, end], TWO: [b, end]}, WELL, []) == []
    assert len(checks.printed_wrongly({ONE: [a, b], TWO: [b]}, WELL, [])) == 1
    assert len(checks.printed_wrongly({ONE: [a, b | {"state": "done"}]}, WELL, [])) == 1
    assert len(checks.printed_wrongly({ONE: [a]}, WELL, [])) == 1
    assert checks.printed_wrongly({ONE: [a]}, WELL, [Loss(TWO, WALL)]) == []


def test_standstills_are_those_of_one_process(tmp_path: Path) -> None:
    """As their files say, also where one was cut off."""
    (tmp_path / f"standstills.{ONE}").write_text("1.0 0.2\n1.5 0.1\n9.")
    (tmp_path / f"standstills.{TWO}").write_text("1.1 5.0\n")
    found = Standstills(tmp_path)
    assert found.lost(ONE, 0.5, 1.6) == pytest.approx(0.3)
    assert found.lost(ONE, 1.2, 1.6) == pytest.approx(0.1)
    assert found.lost(999, 0.0, 9.0) == 0.0


# The web.


def test_the_truth_of_a_web_is_what_its_links_lead_to() -> None:
    """From where a crawl starts, exactly the URLs of the truth are reached."""
    site = FleetSite(WebSpec(hosts=23, pages=17, crawl_delay=0.5), 80)
    reached, waiting = set(site.starts), list(site.starts)
    while waiting:
        address, path = waiting.pop().removeprefix("http://").split(":80")
        host = site.number(address)
        assert site.address(host) == address
        status, header, body = site.answer(address, path)
        fate = site.truth[site.url(host, path)]
        assert fate.status in (status, None), path
        page = site._page(path)
        links = list(site.links(host, page)) if page is not None else []
        links += [site.target(host, path)] if status == 302 else []
        assert body.count(b"<a ") == len(links) - (status == 302)
        assert bool(header) or status in (404, 500), path
        new = {site.url(*link) for link in links} - reached
        reached |= new
        waiting += new
    assert reached == site.truth.keys()


def test_a_server_tells_who_asked(tmp_path: Path) -> None:
    """By the address that a process calls from; its log is there while it runs."""
    import http.client

    with Web(WebSpec(hosts=3, pages=4), tmp_path) as web:
        assert web.count() == 0
        for host, pid in ((0, 70_000), (2, 4_194_303)):
            connection = http.client.HTTPConnection(
                web.site.address(host), web.site.port, source_address=(address_of(pid), 0)
            )
            for path in ("/robots.txt", "/"):
                connection.request("GET", path)
                assert connection.getresponse().read()
            connection.close()
        assert web.count() == 4
        assert [(ask.host, ask.path, ask.pid, ask.status) for ask in web.seen().asks] == [
            ("127.16.0.1", "/robots.txt", 70_000, 200),
            ("127.16.0.1", "/", 70_000, 200),
            ("127.16.0.3", "/robots.txt", 4_194_303, 200),
            ("127.16.0.3", "/", 4_194_303, 200),
        ]
    assert pid_of("127.0.0.1") == 0
