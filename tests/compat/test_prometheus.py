"""Metrics for Prometheus: right, bounded whatever sites do, and served to whoever scrapes."""

import http.client
import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from manners import events
from manners.cli import main
from manners.compat.prometheus import Metrics
from manners.events import Event, RequestEnd, RequestStart
from manners.robots.verdict import Reason, Verdict
from manners.testing import Clock, ScriptedSender, run
from tests.client.test_events import PAGES, SITE, client_of
from tests.faults.server import Call, in_thread, page
from tests.faults.server import Site as Server


def values(metrics: Metrics) -> dict[str, float]:
    """Every sample, as Prometheus reads it: by name and labels."""
    found = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            if not sample.name.endswith(("_bucket", "_created")):
                labels = ",".join(sample.labels.values())
                found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def request(host: str, url: str, status: int | None, cause: str = "") -> Iterator[Event]:
    """What one request tells."""
    yield RequestStart(0.0, 1, host, url, "page", "GET", 1, 0.2)
    yield RequestEnd(
        *(0.0, 1, host, url, "page", "GET", 1, 0.2, status, cause, cause, 0.1, 10, True, "normal")
    )


def test_a_client_is_counted() -> None:
    """Requests by kind, class and status; decisions; uses of robots.txt; bytes and seconds."""
    clock, metrics = Clock(), Metrics()
    sender = ScriptedSender({**PAGES, f"{SITE}/busy": 503}, clock, default=404)

    async def go() -> None:
        async with client_of(sender, clock, metrics) as client:
            for path in ("/a", "/closed", "/busy", "/gone"):
                await client.get(SITE + path)

    run(go(), clock)
    found = values(metrics)
    expected = {
        "manners_requests_total{robots,normal,200}": 1,
        "manners_requests_total{page,normal,200}": 1,
        "manners_requests_total{page,normal,503}": 1,
        "manners_requests_total{page,backing-off,404}": 1,
        "manners_response_bytes_total{page}": 4,
        "manners_request_seconds_count{page}": 3,
        "manners_wait_seconds_count{page}": 3,
        "manners_allowed_total": 3,
        "manners_disallowed_total{rule-matched}": 1,
        "manners_robots_uses_total{site}": 1,
        "manners_robots_uses_total{memory}": 3,
        "manners_robots_retrievals_total{available}": 1,
        "manners_backoffs_total{503}": 1,
    }
    # In the order that the library sorts labels into.
    known = {name.replace("{", "{,").replace("}", ",}"): value for name, value in found.items()}
    for name, value in expected.items():
        words = name.replace("}", "").split("{")
        labels = set(words[1].split(",")) if len(words) > 1 else set()
        same = [
            each
            for key, each in known.items()
            if key.split("{")[0] == words[0]
            and {word for word in key.partition("{")[2].strip("},").split(",") if word} == labels
        ]
        assert same == [value], name


def test_ten_thousand_hosts_and_hostile_answers_make_no_more_series() -> None:
    """No label has a host, a URL or a word of a server; memory is bounded as well."""
    metrics = Metrics()
    evil = 'x"} 1\nforged_total 7\n\x1b[2J'
    verdict = Verdict(False, Reason.RULE_MATCHED)
    for number in range(12_000):
        host, url = f"h{number}.example", f"https://h{number}.example/{number}?token=s3same"
        status = number if number % 2 else None
        for event in request(host, url, status, f"{evil}{number}"):
            metrics(event)
        metrics(events.UrlDecision(0.0, 1, host, url, False, lambda: verdict))
        metrics(events.UrlBlock(0.0, host, url, f"trap: {evil}{number}"))
        metrics(events.UrlBlock(0.0, host, url, f"{evil}{number}"))
        metrics(events.HostBackoff(0.0, host, 400 + number % 200, 1e9))
        metrics(events.HostEnd(0.0, host))
    text = metrics.text().decode()
    assert "h1.example" not in text
    assert "s3same" not in text
    assert "forged" not in text
    assert len(text.splitlines()) < 600
    found = values(metrics)
    assert found["manners_hosts_done_total"] == 12_000
    assert (
        sum(n for name, n in found.items() if name.startswith("manners_requests_total")) == 12_000
    )
    assert found["manners_blocked_total{trap}"] == found["manners_blocked_total{other}"] == 12_000
    assert len(metrics._backing_off) <= 10_000


def test_the_page_is_served_and_bounded() -> None:
    """`/metrics` alone, also while others hold connections open; beyond a few they are closed."""
    metrics = Metrics()
    with metrics.serve(0) as address:
        with urllib.request.urlopen(address) as reply:
            assert reply.read().startswith(b"# HELP manners_")
        port = int(address.split(":")[2].partition("/")[0])
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(30)]
        closed = sum(not each.recv(1) for each in silent[8:])  # waits until it is closed
        assert closed == 22
        for each in silent:
            each.close()
        while True:  # until the server has noticed
            connection = http.client.HTTPConnection("127.0.0.1", port)
            try:
                connection.request("GET", "/other")
                assert connection.getresponse().status == 404
                break
            except (http.client.RemoteDisconnected, ConnectionError):
                continue
            finally:
                connection.close()


def test_a_command_serves_its_metrics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """While it runs, where `--metrics-port` says; a page counts when it is answered."""
    monkeypatch.chdir(tmp_path)
    scraped: list[str] = []

    async def answer(call: Call) -> None:
        path = (await call.request()).path
        if path == "/slow":
            place = capfd.readouterr().err.partition("metrics at ")[2].split()[0]
            scraped.append(await in_another_thread(place))
        await page(b"hi")(call)

    with in_thread(Server(answer)) as site:
        code = main(
            [
                "get",
                "--allow-private",
                "--no-evidence",
                "--metrics-port",
                "0",
                site.url(path="/slow"),
            ]
        )
    assert code == 0
    assert "manners_allowed_total 1.0" in scraped[0]
    assert (
        'manners_requests_total{host_class="normal",kind="robots",status="200"} 1.0' in scraped[0]
    )
    assert 'kind="page"' not in scraped[0]
    for wrong in ("metrics", "70000", "127.0.0.1:"):
        assert main(["get", "--metrics-port", wrong, "https://a.example/"]) == 2


async def in_another_thread(address: str) -> str:
    """What a page says, read without standing in the way of this loop."""
    import asyncio

    def read() -> str:
        with urllib.request.urlopen(address) as reply:
            return str(reply.read().decode())

    return await asyncio.to_thread(read)


def test_many_threads_lose_no_count() -> None:
    """Clients of several threads may share one."""
    metrics = Metrics()

    def work() -> None:
        for _ in range(2_000):
            for event in request("a.example", SITE, 200):
                metrics(event)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values(metrics)["manners_request_seconds_count{page}"] == 8_000
