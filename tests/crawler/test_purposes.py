"""Crawls for a purpose: what refuses it is not fetched, or not kept, and the evidence says why."""

import json
from pathlib import Path
from typing import Any

import pytest

from manners import AsyncClient, crawl
from manners.crawler.crawl import Crawl
from manners.crawler.page import CrawledPage
from manners.crawler.status import status_of
from manners.evidence.record import Record, engine
from manners.evidence.replay import Replay
from manners.evidence.store import EvidenceStore
from manners.report.html.page import page as report_page
from manners.report.reader import report_of
from manners.signals import PURPOSES
from manners.testing import Clock, Response, ScriptedSender, run, skip_waiting
from tests.contracts.postgres import Postgres

SITE = "https://example.com"
ROBOTS = """User-agent: *
Content-Usage: /closed/ train-ai=n
Content-Usage: /lessons/ train-ai=y
Content-Signal: search=yes
Disallow: /private/
"""
HTML = {"Content-Type": "text/html; charset=utf-8"}


def html(body: str = "", *links: str, **headers: str) -> Response:
    """A page with links, and headers such as `X_Robots_Tag`."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    written = f"<title>A title</title>{body}" + "".join(f'<a href="{to}">x</a>' for to in links)
    return Response(200, HTML | more, written.encode())


PAGES = {
    "/": html("", "/closed/a", "/lessons/1", "/noai", "/meta", "/both", "/private/x", "/gone"),
    "/closed/a": html(),
    "/lessons/1": html(),
    "/noai": html("", "/behind", X_Robots_Tag="noai"),
    "/behind": html(),
    "/meta": html('<meta name="robots" content="noai">'),
    "/both": html(
        '<meta name="content-signal" content="ai-train=yes">', Content_Usage="train-ai=n"
    ),
    "/gone": Response(404, HTML, b"gone"),
}


class Result:
    """A crawl that has ended: its pages, what was kept, and what the site was asked for."""

    def __init__(self, place: str, **changes: Any) -> None:
        self.place, self.kept = place, dict[str, bytes]()
        clock = Clock()
        pages = {"/robots.txt": ROBOTS, **PAGES, **changes.pop("pages", {})}
        self.sender = ScriptedSender(
            {f"{SITE}{path}": reply for path, reply in pages.items()}, clock
        )

        def keep(page: CrawledPage) -> None:
            self.kept[path_of(page.url)] = page.body

        with skip_waiting(clock):
            self.crawl: Crawl = crawl(
                [] if changes.get("resume") else [f"{SITE}/"],
                **{"store": place, "agent": "MyBot", "keep": keep, **changes},
                http=self.sender,
                clock=clock,
            )
            self.pages = {path_of(page.url): page for page in self.crawl}

    @property
    def requested(self) -> set[str]:
        """The pages that the site was asked for."""
        return {path_of(get.url) for get in self.sender.requests} - {"/robots.txt", "/sitemap.xml"}

    def records(self, path: str) -> list[Record]:
        """The records about a page."""
        with EvidenceStore(self.place, readonly=True) as store:
            return [record for record in store.records() if path_of(record.url) == path]

    def fates(self) -> dict[str, tuple[str, str]]:
        """The state of each page, and its reason."""
        return {path: (page.state, page.reason) for path, page in self.pages.items()}


def path_of(url: str) -> str:
    return url.removeprefix(SITE)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A crawl for training, of a site that says something in every kind of place."""
    return Result(str(tmp_path_factory.mktemp("purpose") / "crawl.db"), purpose="ai-train")


REFUSED, DONE = ("blocked", "usage"), ("done", "")


def test_pages_that_refuse_the_purpose_are_blocked(shop: Result) -> None:
    """By robots.txt, a header or an element; what says nothing is kept."""
    assert shop.fates() == {
        "/": DONE,
        "/closed/a": REFUSED,
        "/lessons/1": DONE,
        "/noai": REFUSED,
        "/behind": DONE,
        "/meta": REFUSED,
        "/both": REFUSED,
        "/private/x": ("blocked", "rule-matched"),
        "/gone": DONE,
    }


def test_what_robots_txt_refuses_is_not_requested(shop: Result) -> None:
    assert shop.requested == {*PAGES} - {"/closed/a"}


def test_a_page_that_is_refused_leads_on_to_others(shop: Result) -> None:
    """It may be crawled, and its links may be followed."""
    assert shop.pages["/behind"].found_in == f"{SITE}/noai"


def test_no_content_of_a_refused_page_is_handed_out(shop: Result) -> None:
    for path in ("/closed/a", "/noai", "/meta", "/both"):
        page = shop.pages[path]
        assert (page.body, page.title, page.links, page.ok, page.was_allowed) == (
            *(b"", "", (), False),
            False,
        )
        assert str(page.verdict.reason) == "usage"
        assert page.usage["ai-train"].answer == "no"
    assert shop.pages["/noai"].status == 200


def test_keep_gets_no_page_that_was_fetched_and_refused(shop: Result) -> None:
    """Nor the content of any other that is blocked."""
    assert {path for path, body in shop.kept.items() if body} == {
        *("/", "/lessons/1", "/behind", "/gone")
    }
    assert not {"/noai", "/meta", "/both"} & shop.kept.keys()


def test_the_deciding_claim_is_named(shop: Result) -> None:
    """With the version of its standard, and its line if it is one of robots.txt."""
    assert (shop.pages["/closed/a"].rule, shop.pages["/closed/a"].line) == (
        "ai-train no, content-usage (attach-05, vocab-08): Content-Usage: /closed/ train-ai=n",
        2,
    )
    assert (shop.pages["/noai"].rule, shop.pages["/noai"].line) == (
        "ai-train no, robots-meta (Google and Bing, 2026-11): X-Robots-Tag: noai",
        0,
    )
    assert shop.pages["/both"].to_dict()["usage"]["conflicts"] == ["ai-train"]


def test_each_claim_is_on_record_with_the_version_of_its_standard(shop: Result) -> None:
    before, after = shop.records("/both")
    assert (before.type, after.type) == ("robots_allowed", "blocked_by_usage")
    assert [(claim["standard"], claim["edition"], claim["value"], claim["source"])
            for claim in after.metadata["usage"]["claims"] if claim["purpose"] == "ai-train"] == [
        ("content-usage", "attach-05, vocab-08", "no", "header"),
        ("content-signal", "2026-07-01", "yes", "html"),
    ]  # fmt: skip
    (record,) = shop.records("/closed/a")
    assert (record.type, record.metadata["line"]) == ("blocked_by_usage", 2)
    (record,) = shop.records("/lessons/1")
    assert record.metadata["usage"]["answers"] == {"ai-train": "yes", "search": "yes"}


def test_a_page_that_only_its_robots_txt_speaks_of_has_one_record(shop: Result) -> None:
    """One that says something itself has a second."""
    assert [record.type for record in shop.records("/lessons/1")] == ["robots_allowed"]
    assert len(shop.records("/noai")) == 2


def test_every_record_is_decided_again(shop: Result) -> None:
    with EvidenceStore(shop.place, readonly=True) as store:
        assert list(store.verify()) == []
        replay = Replay(store.snapshot, engine())
        assert [replay.again(record) for record in store.records()] == [None] * store.count()
        assert replay.counts.types["blocked_by_usage"] == 4


def _changed(record: Record, change: str) -> Record:
    metadata = json.loads(json.dumps(record.metadata))
    usage = metadata["usage"]
    if change == "a header":
        usage["sources"]["headers"] = []
    elif change == "an answer":
        usage["answers"]["ai-train"] = "yes"
    elif change == "a claim":
        usage["claims"][0]["edition"] = "vocab-07"
    elif change == "the purpose":
        usage["purpose"] = "search"
    elif change == "no purpose":
        usage["purpose"] = "x"
    elif change == "its sources":
        usage["sources"] = {"tooLarge": True}
    elif change == "a list":
        usage["sources"]["headers"] = [1, {"a": 2}]
    else:
        usage["sources"]["elements"] = [["meta"]]
    return Record(record.id, record.type, record.content, metadata, record.hash, record.previous)


CHANGES = (
    *("a header", "an answer", "a claim", "the purpose", "no purpose", "its sources", "a list"),
    "an element",
)


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_record_comes_out_otherwise(shop: Result, change: str) -> None:
    """Or cannot be decided again; never an exception."""
    record = shop.records("/noai")[1]
    with EvidenceStore(shop.place, readonly=True) as store:
        replay = Replay(store.snapshot, engine())
        assert replay.again(record) is None
        assert replay.again(_changed(record, change)) is not None


def test_the_report_says_what_may_be_done_with_the_pages(shop: Result) -> None:
    with EvidenceStore(shop.place, readonly=True) as store:
        report = report_of(store)
    usage = report.usage
    assert usage is not None
    assert (usage.purpose, usage.unknown, usage.pages) == ("ai-train", "allow", 8)
    counts = {row.purpose: row[1:] for row in usage.purposes}
    assert counts["ai-train"] == (1, 4, 3, 1)
    assert counts["search"] == (8, 0, 0, 0)
    assert set(counts) == {*PURPOSES} - {"crawl"}
    sources = {(row.standard, row.source): (row.yes, row.no) for row in usage.sources}
    assert sources["robots-meta", "header"] == (0, 1)
    assert sources["content-usage", "robots.txt"] == (1, 1)
    (conflict,) = usage.conflicts.rows
    assert (path_of(conflict.url), [claim.value for claim in conflict.claims]) == (
        "/both",
        ["no", "yes"],
    )
    text = report_page(report)
    assert "What may be done with it" in text
    assert "Refused for the purpose of the crawl" in text
    assert report.to_dict()["usage"]["purposes"][0]["purpose"] == "search"


def test_the_status_says_what_for(shop: Result) -> None:
    with EvidenceStore(shop.place, readonly=True) as store:
        status = status_of(store)
    assert (status.purpose, status.unknown) == ("ai-train", "allow")
    assert status.to_dict()["purpose"] == "ai-train"
    assert sum(blocked.number for blocked in status.blocked) == 5
    assert status.fetched == 4


def test_unknown_is_refused_if_somebody_wants_it(tmp_path: Path) -> None:
    """Then only pages with a yes are kept; where robots.txt says nothing, they have to be fetched
    to know."""
    found = Result(str(tmp_path / "crawl.db"), purpose="ai-train", unknown="deny")
    assert [path for path, page in found.pages.items() if page.ok] == ["/lessons/1"]
    assert found.pages["/"].rule == "ai-train unknown"
    assert found.pages["/behind"].state == "blocked"
    assert found.pages["/gone"].status == 404  # there is nothing to keep
    assert found.records("/")[1].metadata["usage"]["answer"] == "unknown"
    with EvidenceStore(found.place, readonly=True) as store:
        replay = Replay(store.snapshot, engine())
        assert {replay.again(record) for record in store.records()} == {None}


def test_without_a_purpose_nothing_changes(tmp_path: Path) -> None:
    """No page is refused, no record mentions usage, and no report has the section."""
    found = Result(str(tmp_path / "crawl.db"))
    assert {page.reason for page in found.pages.values()} == {"", "rule-matched"}
    with EvidenceStore(found.place, readonly=True) as store:
        records = list(store.records())
        report = report_of(store)
        status = status_of(store)
    assert not any("usage" in record.metadata for record in records)
    assert {record.type for record in records} == {"robots_allowed", "blocked_by_robots"}
    assert report.usage is None
    assert "usage" not in report.to_dict()
    assert "What may be done with it" not in report_page(report)
    assert not {"purpose", "unknown"} & status.to_dict().keys()
    assert "usage" not in found.pages["/"].to_dict()


def test_a_resumed_crawl_has_its_purpose_and_another_one_judges_anew(tmp_path: Path) -> None:
    place = str(tmp_path / "crawl.db")
    Result(place, purpose="ai-train", max_pages=3)
    again = Result(place, resume=True, max_pages=100)
    assert again.crawl.settings.purpose == "ai-train"
    with EvidenceStore(place, readonly=True) as store:
        assert status_of(store).states["blocked"] == 5
    other = Result(place, resume=True, purpose="search")
    assert other.fates()["/noai"] == DONE
    assert other.fates()["/closed/a"] == DONE
    with EvidenceStore(place, readonly=True) as store:
        assert (status_of(store).purpose, status_of(store).states["blocked"]) == ("search", 1)


def test_workers_on_postgresql_have_the_purpose_of_the_crawl(postgres: Postgres) -> None:
    """It is in the row of the crawl: one that joins it needs no setting."""
    place = postgres.database()
    crawl([f"{SITE}/"], store=place, purpose="ai-train", min_delay=0.0, max_delay=0.0).start()
    pages = {f"{SITE}{path}": reply for path, reply in PAGES.items()}
    sender = ScriptedSender({f"{SITE}/robots.txt": ROBOTS, **pages})
    worker = crawl([], store=place, work=True, http=sender)
    fates = {path_of(page.url): page.reason for page in worker}
    assert {path for path, reason in fates.items() if reason == "usage"} == {
        *("/closed/a", "/noai", "/meta", "/both")
    }
    with EvidenceStore(place, readonly=True) as store:
        assert list(store.verify()) == []
        replay = Replay(store.snapshot, engine())
        assert {replay.again(record) for record in store.records()} == {None}


FILES = {
    "/.well-known/tdmrep.json": '[{"location": "/lessons", "tdm-reservation": 1}]',
    "/only": html(),
}


def test_files_count_if_they_are_asked_for(tmp_path: Path) -> None:
    """They are on record with the page, so that they are read again."""
    found = Result(str(tmp_path / "crawl.db"), purpose="ai-train", signals=["tdmrep"], pages=FILES)
    assert found.fates()["/lessons/1"] == REFUSED
    record = found.records("/lessons/1")[1]
    assert record.metadata["usage"]["sources"]["tdmrep"] == FILES["/.well-known/tdmrep.json"]
    with EvidenceStore(found.place, readonly=True) as store:
        replay = Replay(store.snapshot, engine())
        assert {replay.again(record) for record in store.records()} == {None}


def test_depth_is_passed_on_through_pages_that_are_not_kept(tmp_path: Path) -> None:
    """A shorter way that is found late goes on through a refused page."""
    pages = {
        "/": html("", "/a", "/late"),
        "/a": html("", "/b"),
        "/b": html("", "/noai"),
        "/late": [503, html("", "/noai")],
        "/behind": html("", "/last"),
        "/last": html(),
    }
    found = Result(str(tmp_path / "crawl.db"), purpose="ai-train", max_depth=4, pages=pages)
    assert found.fates()["/noai"] == REFUSED
    assert (found.pages["/last"].state, found.pages["/last"].depth) == ("done", 4)


# A client.


async def _client(path: str, **settings: Any) -> Any:
    sender = ScriptedSender(
        {f"{SITE}/robots.txt": ROBOTS, **{f"{SITE}{name}": page for name, page in PAGES.items()}}
    )
    async with AsyncClient("MyBot", http=sender, purpose="ai-train", **settings) as client:
        page = await client.get(f"{SITE}{path}")
        usage = await client.usage(page)
        async with client.stream(f"{SITE}{path}") as stream:
            body = b"".join([chunk async for chunk in stream.chunks()])
        return page, usage, body, await client.check(f"{SITE}{path}"), sender.requests


def test_a_client_hands_out_no_content_that_is_refused() -> None:
    page, usage, body, verdict, _ = run(_client("/noai"))
    assert (page.ok, page.status, page.body, body) == (False, 200, b"", b"")
    assert str(page) == (
        "blocked: disallowed: usage: ai-train no, robots-meta (Google and Bing, 2026-11):"
        " X-Robots-Tag: noai"
    )
    assert usage["ai-train"].answer == "no"
    assert verdict.allowed  # nobody knows before it is fetched


def test_a_client_does_not_request_what_robots_txt_refuses() -> None:
    page, usage, body, verdict, requests = run(_client("/closed/a"))
    assert (page.ok, page.status, body, verdict.allowed) == (False, None, b"", False)
    assert [path_of(get.url) for get in requests] == ["/robots.txt"]
    assert usage["ai-train"].answer == "no"


def test_a_client_hands_out_the_rest() -> None:
    page, _, body, verdict, _ = run(_client("/lessons/1"))
    assert page.ok
    assert (page.body, verdict.allowed) == (body, True)
