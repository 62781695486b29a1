"""Crawls over a scripted network, in a loop that skips waiting: hours pass at once."""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from manners.crawler.crawl import Crawl, crawl
from manners.crawler.fleet import FINISHED
from manners.crawler.opening import UrlsToFetch
from manners.crawler.page import CrawledPage
from manners.net.messages import Response, Unreachable
from manners.settings import Settings
from manners.testing import Clock, ScriptedSender
from manners.testing.loop import run, skip_waiting

HOUR = 3_600.0


def html(*links: str, seconds: float = 0.0) -> Response:
    body = "".join(f"<a href='{link}'>x</a>" for link in links).encode()
    return Response(200, {"Content-Type": "text/html"}, body, seconds=seconds)


def robots(*lines: str) -> str:
    return "\n".join(["User-agent: *", *lines])


def chain(site: str, length: int, seconds: float = 0.0) -> dict[str, Any]:
    """Pages that lead from one to the next."""
    pages: dict[str, Any] = {
        f"{site}/{n}": html(f"/{n + 1}", seconds=seconds) for n in range(length - 1)
    }
    return {**pages, f"{site}/{length - 1}": html(seconds=seconds)}


class Scripted:
    """A scripted network and what crawls of it leave behind."""

    def __init__(self, replies: dict[str, Any], store: str | None = None) -> None:
        self.clock = Clock()
        self.sender = ScriptedSender(replies, self.clock)
        self.store = store
        self.crawl: Crawl

    def crawled(self, *starts: str, resume: bool = False, **changes: Any) -> list[CrawledPage]:
        """Crawl to the end, and return the pages."""
        return run(self.pages(*starts, resume=resume, **changes), self.clock)

    async def pages(
        self, *starts: str, resume: bool = False, keep: Any = None, **changes: Any
    ) -> list[CrawledPage]:
        defaults = {"source": "links", "max_minutes": 100_000.0, "max_pages": 10_000}
        settings = Settings(**{**defaults, "store": self.store, **changes})
        self.crawl = Crawl(
            starts,
            settings,
            resume=resume,
            keep=keep,
            draw=lambda: 0.5,
            clock=self.clock,
            http=self.sender,
        )
        return [page async for page in self.crawl]

    @property
    def seconds(self) -> float:
        return self.clock.now - self.clock.start

    def gaps(self, host: str) -> list[float]:
        """Seconds between the requests for pages of a host."""
        pages = [each for each in self.sender.requests if not each.url.endswith("/robots.txt")]
        times = [request.at for request in pages if f"//{host}/" in request.url]
        return [after - before for before, after in pairwise(times)]


def test_a_crawl_of_hours_takes_no_time() -> None:
    """A site asks for ten minutes between requests, and gets them."""
    site = "https://slow.example"
    script = Scripted({f"{site}/robots.txt": robots("Crawl-delay: 600"), **chain(site, 20)})
    pages = script.crawled(f"{site}/0")
    assert [page.url for page in pages] == [f"{site}/{n}" for n in range(20)]
    assert script.crawl.ended == FINISHED
    assert min(script.gaps("slow.example")) >= 599.99
    assert script.seconds == pytest.approx(19 * 600.0, rel=0.01)


def test_no_host_waits_for_another() -> None:
    """One wants minutes, one hangs, one says to come back in an hour."""
    quick, slow, hangs, away = (f"https://{name}.example" for name in ("q", "s", "h", "a"))
    script = Scripted(
        {
            **chain(quick, 100),
            f"{slow}/robots.txt": robots("Crawl-delay: 300"),
            **chain(slow, 5),
            f"{hangs}/": [Unreachable("timeout", seconds=30.0)] * 2 + [html()],
            f"{away}/": [Response(503, {"Retry-After": "3600"}), html()],
        }
    )
    done = {}

    async def main() -> None:
        starts = [f"{slow}/0", f"{hangs}/", f"{away}/", f"{quick}/0"]
        await script.pages(*starts, keep=note, connections=4)

    def note(page: CrawledPage) -> None:
        done[page.url] = script.seconds

    run(main(), script.clock)
    assert script.crawl.ended == FINISHED
    assert script.crawl.states["done"] == 107
    assert done[f"{quick}/99"] < 120.0
    assert done[f"{slow}/4"] < 4 * 300.0 + 60.0
    assert HOUR <= done[f"{away}/"] < HOUR + 60.0
    assert min(script.gaps("s.example")) >= 299.99


def test_the_time_limit_is_kept_to_the_second() -> None:
    """A request that is under way is finished, and nothing starts afterwards."""
    site = "https://example.com"
    script = Scripted(chain(site, 1_000, seconds=20.0))
    pages = script.crawled(f"{site}/0", max_minutes=5.0)
    assert script.crawl.ended == "time limit reached: 5 minutes"
    assert 300.0 <= script.seconds <= 321.0
    assert max(request.at for request in script.sender.requests) <= script.clock.start + 301.0
    assert len(pages) > 10


def test_a_crawl_ends_early_when_every_host_asks_for_more_time_than_there_is() -> None:
    """It does not sleep until the limit."""
    site = "https://example.com"
    away = Response(503, {"Retry-After": "7200"})
    script = Scripted({f"{site}/": away})
    script.crawled(f"{site}/", max_minutes=60.0)
    assert script.crawl.ended == "time limit: no host may be asked again before it"
    assert script.seconds < 60.0


def test_a_resumed_crawl_keeps_the_times_of_hosts(tmp_path: Path) -> None:
    """A host that asked for an hour gets it, though the crawl was stopped and resumed meanwhile."""
    site, other = "https://example.com", "https://other.example"
    busy = [Response(429, {"Retry-After": "3600"}), html()]
    script = Scripted({f"{site}/": busy, f"{other}/": html()}, str(tmp_path / "crawl.db"))

    def stop(_: CrawledPage) -> None:
        script.crawl.stop()

    script.crawled(f"{site}/", f"{other}/", keep=stop)
    assert script.crawl.ended == "interrupted"
    first = next(each for each in script.sender.requests if each.url == f"{site}/")
    script.clock.advance(60.0)
    pages = script.crawled(resume=True)
    assert [page.url for page in pages] == [f"{site}/"]
    assert script.crawl.ended == FINISHED
    again = [each.at for each in script.sender.requests if each.url == f"{site}/"][-1]
    assert again - first.at >= HOUR


@pytest.mark.parametrize("concurrency", [1, 2, 5])
def test_slots_and_delays_hold_at_any_number_of_hosts(concurrency: int) -> None:
    """Thirty hosts at a second each are done in the time that one of them takes."""
    sites = [f"https://h{number}.example" for number in range(30)]
    pages: dict[str, Any] = {}
    for site in sites:
        pages |= {f"{site}/": html(*(f"/{n}" for n in range(10)))}
        pages |= {f"{site}/{n}": html(seconds=3.0) for n in range(10)}
    script = Scripted(pages)
    script.crawled(
        *(f"{site}/" for site in sites), concurrency=concurrency, min_delay=1.0, max_delay=1.0
    )
    assert script.crawl.states["done"] == 330
    assert min(min(script.gaps(f"h{number}.example")) for number in range(30)) >= 0.99
    longest = 10 * (3.0 if concurrency == 1 else 1.5 if concurrency == 2 else 1.0)
    assert script.seconds < longest + 30.0
    under_way: defaultdict[str, list[float]] = defaultdict(list)
    for request in script.sender.requests:
        host = request.url.split("/")[2]
        if request.url[-1].isdigit():
            under_way[host].append(request.at)
    for times in under_way.values():
        assert all(
            later >= sooner + 2.99
            for sooner, later in zip(times, times[concurrency:], strict=False)
        )


def test_blocking_code_skips_waiting_too() -> None:
    """By the short name, with a loop that stands in for the portal's."""
    site, clock = "https://example.com", Clock()
    sender = ScriptedSender(
        {f"{site}/robots.txt": robots("Crawl-delay: 60"), **chain(site, 5)}, clock
    )
    with skip_waiting(clock):
        pages = list(crawl([f"{site}/0"], clock=clock, http=sender, source="links"))
    assert len(pages) == 5
    assert clock.now - clock.start >= 4 * 60.0
    assert sender.is_closed


def listed(scripted: Scripted, *urls: str) -> list[tuple[str, float]]:
    """Fetch a list; what was requested, with the hours since the beginning."""
    begin = scripted.clock()

    async def main() -> list[CrawledPage]:
        settings = Settings(max_minutes=100_000.0)
        to_fetch = UrlsToFetch("list.txt", iter(urls))
        fetching = Crawl([], settings, http=scripted.sender, clock=scripted.clock, listed=to_fetch)
        return [page async for page in fetching]

    fetched = run(main(), scripted.clock)
    assert sorted(page.url for page in fetched) == sorted(urls)
    return [(sent.url, (sent.at - begin) // HOUR) for sent in scripted.sender.requests]


PAUSE = Response(503, {"retry-after": "3600"})


def test_a_host_need_not_wait_for_another_that_one_of_its_urls_redirects_to() -> None:
    """That URL is put off, until the other may be asked; the others of its host are fetched."""
    a, b = "https://a.example", "https://b.example"
    scripted = Scripted(
        {
            f"{a}/robots.txt": robots("Crawl-delay: 10"),  # b is asked before a redirects to it
            f"{b}/robots.txt": robots(),
            f"{b}/busy": [PAUSE, "ok"],
            f"{a}/moved": Response(301, {"Location": f"{b}/new"}),
            **dict.fromkeys((f"{a}/1", f"{a}/2", f"{a}/3", f"{b}/new"), "ok"),
        }
    )
    sent = listed(scripted, f"{b}/busy", f"{a}/1", f"{a}/moved", f"{a}/2", f"{a}/3")
    pages = [(url, hour) for url, hour in sent if "robots.txt" not in url]
    assert pages[:5] == [
        (f"{b}/busy", 0.0),
        *((f"{a}/{name}", 0.0) for name in ("1", "moved", "2", "3")),
    ]
    assert sorted(pages[5:]) == [(f"{a}/moved", 1.0), (f"{b}/busy", 1.0), (f"{b}/new", 1.0)]


def test_a_host_whose_robots_txt_is_elsewhere_waits_as_a_whole() -> None:
    """Its robots.txt is asked for once more when the other host may be asked, not for each URL."""
    a, b = "https://a.example", "https://b.example"
    moved = Response(301, {"Location": f"{b}/robots.txt"}, seconds=5.0)  # b is asked meanwhile
    scripted = Scripted(
        {
            f"{a}/robots.txt": moved,
            f"{b}/robots.txt": robots(),
            f"{b}/busy": [PAUSE, "ok"],
            **{f"{a}/{number}": "ok" for number in range(5)},
        }
    )
    sent = listed(scripted, f"{b}/busy", *(f"{a}/{number}" for number in range(5)))
    assert [hour for url, hour in sent if url == f"{a}/robots.txt"] == [0.0, 1.0]
