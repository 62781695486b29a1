"""The middleware for Scrapy: what a real crawl asks for, when, and what is counted and kept.

What Scrapy does by itself in the same situations is in the table of `test_today.py`.
"""

import gzip
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from manners.evidence.store import EvidenceStore
from tests.client.asking import AT_ONCE, OPEN, in_turn, rules, run, site, to
from tests.compat.crawling import crawl
from tests.faults.server import Call, Handler, Site, Visit, by_address, by_path, page

CLOSED = rules("Disallow: /closed")
OK = page(b"ok")
MANY = 7
BUSY = page(b"", 503, [("Retry-After", "2")])
HTML = gzip.compress(b'<meta name="robots" content="noarchive"><p>text')
HTML_HEADERS = [
    *(("Content-Type", "text/html"), ("Content-Encoding", "gzip")),
    *(("X-Robots-Tag", "otherbot: noindex"), ("X-Robots-Tag", "nosnippet")),
]


class Crawl(NamedTuple):
    """A site, and a crawl of it."""

    answer: Handler
    paths: tuple[str, ...]
    at_once: bool = False
    manners: dict[str, Any] | None = {}  # noqa: RUF012
    settings: dict[str, Any] = {}  # noqa: RUF012
    meta: dict[str, Any] = {}  # noqa: RUF012
    headers: dict[str, str] = {}  # noqa: RUF012


class Crawled(NamedTuple):
    """What the site has seen, and what Scrapy has counted."""

    visits: list[Visit]
    stats: dict[str, Any]

    @property
    def paths(self) -> list[str]:
        return [visit.path for visit in self.visits]

    @property
    def gaps(self) -> list[float]:
        return [after.at - before.at for before, after in pairwise(self.visits)]

    @property
    def most(self) -> int:
        """How many ran at a time, where the site has counted them."""
        return max(int(visit.headers.get("running", "0")) for visit in self.visits)


def counted(first: Handler) -> Handler:
    """Pages that wait until no more come, and write down how many there are then.

    One has another answer, the first.
    """
    running, asked, latest = 0, 0, 0.0

    async def answer(call: Call) -> None:
        nonlocal running, asked, latest
        asked += 1
        if asked == 1:
            await first(call)
            return
        visit = await call.request()
        running, latest = running + 1, time.monotonic()
        visit.headers["running"] = str(running)
        while time.monotonic() < latest + 0.5:
            await call.pause(0.05)
        running -= 1
        await call.reply(200, b"ok")

    return answer


def crowd(first: Handler = OK, **more: Any) -> Crawl:
    """A crawl that wants many pages at once, of a site without a Crawl-delay."""
    paths = tuple(f"/{number}" for number in range(MANY))
    return Crawl(by_path({"/robots.txt": OPEN}, counted(first)), paths, at_once=True, **more)


def all_crawls() -> dict[str, Crawl]:
    """Made anew each time: sites count what they have answered."""
    return {
        "rules": Crawl(site(CLOSED, go=to("/closed")), ("/open", "/closed", "/go")),
        "503": Crawl(site(page(b"User-agent: *", 503)), ("/open", "/open")),
        "open profile": Crawl(
            site(page(status=503)), ("/open",), manners={"profile": "open", "initial_backoff": 0.05}
        ),
        "delay": Crawl(
            site(rules("Crawl-delay: 1")),
            ("/0", "/1", "/2", "/3", "/4"),
            at_once=True,
            settings={
                "AUTOTHROTTLE_ENABLED": True,
                "AUTOTHROTTLE_START_DELAY": 0.1,
                "DOWNLOAD_DELAY_JITTER": 1.0,
            },
        ),
        "busy": Crawl(
            by_path({"/robots.txt": rules("Crawl-delay: 0.5")}, in_turn(BUSY, page(b"ok"))),
            ("/0", "/1", "/2", "/3"),
            at_once=True,
            settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 1},  # none is on its way when a reply comes
        ),
        "deferred": Crawl(site(rules("Crawl-delay: 3600")), ("/0", "/1")),
        "retry later": Crawl(
            site(busy=page(b"", 503, [("Retry-After", "3600")])),
            ("/busy", "/1"),
            settings={"RETRY_ENABLED": False},
        ),
        "own rules": Crawl(site(CLOSED), ("/closed", "/out/a"), manners={"exclude": ["/out/"]}),
        "not asked": Crawl(site(CLOSED), ("/closed",), meta={"dont_obey_robotstxt": True}),
        "no http": Crawl(site(CLOSED), ("data:,hello",)),
        "agent": Crawl(
            site(page(b"User-agent: Named\nDisallow: /named\n\nUser-agent: *\nDisallow: /other")),
            ("/named", "/other"),
            settings={"ROBOTSTXT_USER_AGENT": "Named", "USER_AGENT": "Sent/1.0"},
        ),
        "guard": Crawl(site(), ("/open",), manners={"allow_private": False}),
        "own delay": Crawl(
            site(rules("Crawl-delay: 0.2")), ("/0",), settings={"DOWNLOAD_DELAY": 0.5}
        ),
        "usage": Crawl(
            site(rules("Content-Usage: train-ai=n"), page=page(HTML, 200, HTML_HEADERS)),
            ("/page",),
            settings={"MANNERS_USAGE": True},
        ),
        "another host": Crawl(site(CLOSED), ("/open",), headers={"Host": "other.example"}),
    }


def all_crowds() -> dict[str, Crawl]:
    """Crawls that want many pages at once."""
    return {
        "crowd": crowd(),
        "crowd after a pause": crowd(BUSY),
        "one at a time": crowd(settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 1}),
        "four at a time": crowd(manners={"concurrency": 4}),
        "four of this host": crowd(manners={"hosts": {"127.0.9.5": {"concurrency": 4}}}),
        "fewer than it may": crowd(
            manners={"concurrency": 9}, settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 3}
        ),
        "Scrapy alone": crowd(manners=None, settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 2}),
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evidence") / "proof.db"


@pytest.fixture(scope="module")
def crawls(place: Path) -> dict[str, Crawled]:
    return crawled(all_crawls(), place)


@pytest.fixture(scope="module")
def crowds(place: Path) -> dict[str, Crawled]:
    return crawled(all_crowds(), place)


def crawled(crawls: dict[str, Crawl], place: Path) -> dict[str, Crawled]:
    """All crawls, side by side, each of a host of its own."""
    hosts = {name: f"127.0.9.{number}" for number, name in enumerate(crawls, 1)}

    async def main() -> dict[str, Crawled]:
        answers = {hosts[name]: each.answer for name, each in crawls.items()}
        async with Site(by_address(answers)) as server:
            given = [
                {
                    "urls": [
                        path if ":" in path else server.url(hosts[name], path)
                        for path in each.paths
                    ],
                    "at_once": each.at_once,
                    "manners": None
                    if each.manners is None
                    else {
                        **AT_ONCE,
                        **({"evidence": str(place)} if name == "rules" else {}),
                        **each.manners,
                    },
                    "settings": each.settings,
                    "meta": each.meta,
                    "headers": each.headers,
                }
                for name, each in crawls.items()
            ]
            counted = await crawl(given)
            assert server.failures == []
        return {
            name: Crawled([each for each in server.log if each.address == hosts[name]], stats)
            for (name, stats) in zip(crawls, counted, strict=True)
        }

    return run(main, 120.0)


def test_what_is_closed_is_left_out_and_says_why(crawls: dict[str, Crawled]) -> None:
    """Also behind a redirect. The errback has the verdict; robots.txt is asked for once."""
    found = crawls["rules"]
    assert found.paths == ["/robots.txt", "/open", "/go"]
    assert found.stats["found"][0] == 200
    for name, text, line in found.stats["found"][1:]:
        assert (name, line) == ("Forbidden", "Disallow: /closed")
        assert text.endswith("/closed': disallowed: rule-matched, line 2: /closed")


def test_it_counts_in_scrapys_own_statistics(crawls: dict[str, Crawled]) -> None:
    """By what was decided, and why; and what came of robots.txt."""
    stats = crawls["rules"].stats
    ours = {name: value for name, value in stats.items() if name.startswith("manners/")}
    assert ours == {
        "manners/allowed": 2,
        "manners/blocked": 2,
        "manners/reason/no-rule-matched": 2,
        "manners/reason/rule-matched": 2,
        "manners/robotstxt/retrievals": 1,
        "manners/robotstxt/not_modified": 0,
        "manners/robotstxt/unreachable": 0,
    }
    assert stats["robotstxt/forbidden"] == 2
    assert "robotstxt/request_count" not in stats  # Scrapy's own asks for nothing


def test_every_decision_is_on_record(crawls: dict[str, Crawled], place: Path) -> None:
    """Before its request; the store is closed with the crawl."""
    assert crawls["rules"].paths
    with EvidenceStore(place, create=False) as store:
        assert list(store.verify()) == []
        kept = [(record.type, record.url.rpartition("/")[2]) for record in store.records()]
    assert kept == [
        ("robots_allowed", "open"),
        ("blocked_by_robots", "closed"),
        ("robots_allowed", "go"),
        ("blocked_by_robots", "closed"),
    ]


def test_a_robots_txt_that_cannot_be_had_closes_the_site(crawls: dict[str, Crawled]) -> None:
    """Whatever is in the error page; the profile decides, and it is asked once."""
    found = crawls["503"]
    assert found.paths == ["/robots.txt"]
    assert found.stats["manners/reason/unreachable"] == 2
    assert found.stats["manners/robotstxt/unreachable"] == 1
    assert crawls["open profile"].paths == ["/robots.txt", "/open"]


def test_a_setting_adds_what_pages_may_be_used_for(crawls: dict[str, Crawled]) -> None:
    """In the meta of the response, by robots.txt, headers and HTML; not unless it is set."""
    answers = crawls["usage"].stats["usage"]
    refused = {purpose for purpose, answer in answers.items() if answer == "no"}
    assert refused == {"ai-train", "snippet", "archive"}
    assert (answers["crawl"], answers["search"]) == ("yes", "unknown")
    assert crawls["usage"].paths == ["/robots.txt", "/page"]
    assert "usage" not in crawls["own delay"].stats


def test_a_crawl_delay_is_the_delay_of_the_slot(crawls: dict[str, Crawled]) -> None:
    """From robots.txt on; neither jitter nor AutoThrottle make it shorter."""
    found = crawls["delay"]
    assert len(found.paths) == 6
    assert min(found.gaps) > 0.5  # the machine may be busy; AutoThrottle would make it 0.1


def test_retry_after_holds_for_what_is_in_the_slot_already(crawls: dict[str, Crawled]) -> None:
    """Nothing starts before; then the slot is as it was."""
    found = crawls["busy"]
    # A robots.txt that came too late on a busy machine is asked for once more.
    pages = [visit for visit in found.visits if visit.path != "/robots.txt"]
    assert len(pages) == 5, found
    assert pages[1].at - pages[0].at > 1.8, found
    assert found.stats["manners/backoff"] == 1
    assert found.stats["found"] == [200] * 4
    assert found.stats["delay"] == 0.5


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("crowd", 2),
        ("crowd after a pause", 2),
        ("one at a time", 1),
        ("four at a time", 4),
        ("four of this host", 4),
        ("fewer than it may", 3),
    ],
)
def test_no_more_than_two_at_a_time(crowds: dict[str, Crawled], name: str, most: int) -> None:
    """Unless the settings say so; Scrapy's limit counts where it is smaller."""
    found = crowds[name]
    assert found.stats["found"] == [200] * MANY
    assert found.most == most


def test_scrapy_alone_does_not_keep_its_limit(crowds: dict[str, Crawled]) -> None:
    """It is why its queue is replaced here; one day there may be no need for it."""
    assert crowds["Scrapy alone"].most > 2


def test_after_a_pause_nothing_goes_out_at_once(crowds: dict[str, Crawled]) -> None:
    """What stood in line meanwhile has nobody's turn but its own."""
    found = crowds["crowd after a pause"]
    busy = next(n for n, each in enumerate(found.visits) if "running" not in each.headers and n)
    late = [each for each in found.visits[busy:] if each.at > found.visits[busy].at + 1.0]
    assert len(late) >= MANY - 1
    assert late[0].at - found.visits[busy].at > 1.8
    assert [int(each.headers["running"]) for each in late[:2]] == [1, 2]


def test_a_delay_of_the_users_that_is_long_enough_is_left_alone(
    crawls: dict[str, Crawled],
) -> None:
    """With its jitter."""
    stats = crawls["own delay"].stats
    assert (stats["delay"], stats["jitter"]) == (0.5, 0.5)


def test_a_header_that_names_another_host_is_refused(crawls: dict[str, Crawled]) -> None:
    """It would be answered by a site that nobody has asked about."""
    found = crawls["another host"]
    assert found.paths == []
    [(error, text, _)] = found.stats["found"]
    assert (error, text[:28]) == ("ValueError", "the header Host would ask an")


@pytest.mark.parametrize(
    ("name", "asked"),
    [("deferred", ["/0"]), ("retry later", ["/busy"])],
)
def test_a_host_that_is_to_be_left_alone_for_long_is_left_out(
    crawls: dict[str, Crawled], name: str, asked: list[str]
) -> None:
    """One request passes; the others are not kept waiting for hours."""
    found = crawls[name]
    assert found.paths == ["/robots.txt", *asked]
    assert found.stats["manners/deferred"] == 1
    (error, text, _) = found.stats["found"][-1]
    assert error == "IgnoreRequest"
    assert "is deferred until" in text


def test_the_users_own_rules_count(crawls: dict[str, Crawled]) -> None:
    """Exclusions, as everywhere."""
    assert crawls["own rules"].stats["manners/reason/excluded"] == 1
    assert crawls["own rules"].paths == ["/robots.txt"]


def test_a_request_may_say_that_robots_txt_is_not_to_be_asked(
    crawls: dict[str, Crawled],
) -> None:
    """By the same key as with Scrapy's own; what is no page on the web needs no key."""
    assert crawls["not asked"].paths == ["/closed"]
    assert crawls["no http"].stats["found"] == [200]
    assert "manners/allowed" not in crawls["no http"].stats


def test_the_agent_is_the_one_of_scrapys_settings(crawls: dict[str, Crawled]) -> None:
    """ROBOTSTXT_USER_AGENT decides; USER_AGENT is what is sent, for robots.txt too."""
    found = crawls["agent"]
    assert found.paths == ["/robots.txt", "/other"]
    assert [visit.headers["user-agent"] for visit in found.visits] == ["Sent/1.0", "Sent/1.0"]


def test_the_guard_is_for_robots_txt(crawls: dict[str, Crawled]) -> None:
    """A private address is not asked, so nothing is known of it, and it is closed."""
    assert crawls["guard"].paths == []
    assert "refused address" in crawls["guard"].stats["found"][0][1]


def logged(settings: str) -> str:
    """What a crawl of nothing has to say, with these settings."""
    script = f"""
import scrapy
from scrapy.crawler import CrawlerProcess

settings = {{
    "DOWNLOADER_MIDDLEWARES": {{"manners.compat.scrapy.MannersMiddleware": 100}},
    "TELNETCONSOLE_ENABLED": False,
}}
{settings}
process = CrawlerProcess(settings)
process.crawl(scrapy.Spider, name="none", start_urls=[])
process.start()
"""
    ran = subprocess.run(
        [sys.executable, "-c", script],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return ran.stderr


def test_without_asyncio_the_crawl_does_not_begin() -> None:
    """It would be a crawl without manners."""
    reactor = "twisted.internet.selectreactor.SelectReactor"
    said = logged(f"settings['TWISTED_REACTOR'] = {reactor!r}")
    assert "RuntimeError: manners needs asyncio: set TWISTED_REACTOR" in said
    assert "Spider opened" not in said


OWN = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"


@pytest.mark.parametrize(
    ("settings", "warns"),
    [
        ("settings['ROBOTSTXT_OBEY'] = True", True),
        ("settings['ROBOTSTXT_OBEY'] = False", False),
        (
            "settings['ROBOTSTXT_OBEY'] = True\n"
            f"settings['DOWNLOADER_MIDDLEWARES'][{OWN!r}] = None",
            False,
        ),
    ],
)
def test_scrapys_own_handling_besides_ours_is_warned_of(settings: str, warns: bool) -> None:
    """With what to do about it."""
    said = logged(settings)
    assert "Spider closed (finished)" in said
    assert ("WARNING: Scrapy's own robots.txt handling is on as well" in said) is warns
    assert (f'DOWNLOADER_MIDDLEWARES = {{"{OWN}": None' in said) is warns
