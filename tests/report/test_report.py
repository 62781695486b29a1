"""The report: what happened in a crawl, counted in full and listed in part."""

import base64
import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import update

from manners.crawler.crawl import Crawl
from manners.crawler.frontier.crawls import NoCrawl
from manners.crawler.frontier.tables import crawls, pages
from manners.evidence.store import EvidenceStore
from manners.evidence.tables import evidence
from manners.report import robots_files
from manners.report.data import Report
from manners.report.html.page import page
from manners.report.reader import report_of
from manners.report.timeline import Requests
from tests.client.asking import in_turn, rules, settings
from tests.contracts.postgres import Postgres
from tests.crawler import hostile, shop
from tests.crawler.discoveries import discovery_in
from tests.crawler.made import START, Made
from tests.crawler.site import html, urlset
from tests.faults.server import Call, Site, by_path, in_thread
from tests.faults.server import page as answer
from tests.sizes import size


def read(place: str | Path, crawl: int | None = None, **options: Any) -> Report:
    with EvidenceStore(place, create=False) as store:
        return report_of(store, crawl, **options)


@pytest.fixture(scope="module")
def shop_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shop") / "shop.db"
    shop.made(place)
    return place


@pytest.fixture(scope="module")
def report(shop_db: Path) -> Report:
    return read(shop_db)


# What it says.


def test_a_crawl_that_took_place(tmp_path: Path) -> None:
    """What a site did, and what is wrong with it, stands in the report of its crawl."""
    place, site = tmp_path / "crawl.db", Site(answer())
    with in_thread(site):
        base = site.url(path="")
        robots = rules("Disallow: /private/", "Disalow: /drafts/", f"Sitemap: {base}/sitemap.xml")
        site.answer = by_path(
            {
                "/robots.txt": robots,
                "/sitemap.xml": answer(urlset(f"{base}/a", "/relative", "http://[")),
                "/": html("/a", "/private/x", "/drafts/1", "/gone", "https://other.example/"),
                "/a": html("/a/a/a/a", head="<title>A page</title>"),
                "/relative": html(),
                "/broken": answer(status=500),
            }
        )
        told = settings(store=str(place), attempts=1, min_delay=0.05, max_delay=0.05)
        fetched = list(Crawl([f"{base}/", f"{base}/broken"], told, agent="MyBot"))
    found = read(place)
    assert found.status.fetched == 4 == len([each for each in fetched if each.state == "done"])
    assert {each.url.removeprefix(base) for each in found.pages.rows} == {
        *("/", "/a", "/relative", "/gone"),
    }
    assert [each.title for each in found.pages.rows if each.title] == ["A page"]
    broken = [(each.url, each.reason, each.status, each.found_in) for each in found.broken.rows]
    assert broken == [
        (f"{base}/broken", "status 500", 500, ""),
        (f"{base}/gone", "", 404, f"{base}/"),
    ]
    assert {each.reason: each.number for each in found.blocked} == {
        "rule-matched": 2,
        "other-host": 1,
    }
    assert {each.reason: each.number for each in found.traps} == {"trap: repeated-segment": 1}
    by_rule = {(each.rule, each.line, each.allowed): each.number for each in found.decisions.rows}
    assert by_rule == {
        ("", 0, True): 6,  # five pages, and the sitemap
        ("Disallow: /private/", 2, False): 1,
        ("Disalow: /drafts/", 3, False): 1,  # as it stands there
    }
    (problem,) = found.problems.rows
    assert (problem.line, problem.text, problem.problems) == (
        *(3, "Disalow: /drafts/"),
        ["misspelt-key"],
    )
    (sitemap,) = found.sitemaps.rows
    assert [each.problem for each in sitemap.problems] == ["relative-url", "bad-url"]
    assert (sitemap.entries, sitemap.status) == (2, 200)
    (lane,) = found.timeline.lanes
    assert lane.requests == 6 == sum(each.requests for each in lane.bins)
    assert lane.shortest is not None
    assert lane.shortest >= 0.049
    assert all(each.gap is None or each.gap >= 0.98 * each.delay for each in lane.bins)
    assert found.agents == ["MyBot"]
    assert found.proof.decisions == 8
    with EvidenceStore(place) as store:
        assert found.proof.head == str(store.head())


def test_every_request_counts_however_often_a_url_is_tried(tmp_path: Path) -> None:
    """What the server has seen, but for robots.txt, is what the report counts."""
    place = tmp_path / "crawl.db"
    busy = in_turn(answer(status=429, headers=[("Retry-After", "0")]), answer(status=503), html())
    pages = {
        "/robots.txt": rules("Disallow:"),
        "/sitemap.xml": in_turn(answer(status=503), answer(urlset())),
        "/": html("/busy", "/broken", "/lost"),
        "/busy": busy,
        "/broken": answer(status=500),
        "/lost": in_turn(lose, html()),
    }
    with in_thread(Site(by_path(pages))) as site:
        told = settings(store=str(place), attempts=3, initial_backoff=0.01, max_backoff=0.02)
        list(Crawl([site.url()], told))
        log = [visit for visit in site.log if visit.path != "/robots.txt"]
    found = read(place)
    assert (found.status.statuses, found.status.failures) == ({"200": 3}, {"status 500": 1})
    lost = ({*found.status.retries} - {"500", "429", "503"}).pop()
    assert found.status.retries == {"500": 2, "429": 1, "503": 1, lost: 1}
    (lane,), (host,) = found.timeline.lanes, found.hosts.rows
    assert lane.requests == host.requests == len(log) == 11
    assert sum(each.requests for each in lane.bins) == 11
    assert found.times.answers == 8  # of pages; one was lost
    assert sum(each.number for each in found.times.spans) == 8
    shown = LexborHTMLParser(page(found)).css("#responses table")[0].css("tbody tr")
    rows = {row.css("td")[0].text(): int(row.css("td")[2].text()) for row in shown}
    assert rows == {
        "200": 3, "failed: 500": 1, "retried: 500": 2, "retried: 429": 1,
        "retried: 503": 1, f"retried: {lost}": 1,
    }  # fmt: skip
    assert "5 requests had to be retried." in page(found)


async def lose(call: Call) -> None:
    """Lose the connection in the middle of an answer."""
    await call.request()
    await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\nx")


def test_what_is_counted_is_what_there_is(report: Report, shop_db: Path) -> None:
    status = report.status
    assert sum(status.statuses.values()) == status.fetched
    assert sum(status.failures.values()) == status.states["failed"]
    assert status.retries == {"timeout": 10, "503": 6}
    assert report.times.answers == sum(each.number for each in report.times.spans)
    out = sum(each.number for each in (*report.blocked, *report.traps))
    assert out == status.states["blocked"]
    assert sum(each.number for each in report.decisions.rows) == report.proof.decisions
    asked = sum(each.requests for each in report.hosts.rows)
    assert asked == sum(lane.requests for lane in report.timeline.lanes)
    with EvidenceStore(shop_db) as store:
        assert report.proof.decisions == store.count()


def test_the_deciding_lines_stand_in_their_file(report: Report) -> None:
    """With how many URLs each has decided, and what is wrong with it."""
    (file,) = [each for each in report.robots.rows if each.url == f"{shop.SHOP}/robots.txt"]
    lines = {line.number: line for line in file.lines}
    written = shop.ROBOTS[shop.SHOP]
    assert written is not None
    assert [line.text for line in file.lines] == written.decode().splitlines()[: len(file.lines)]
    assert lines[3].blocked > 0 == lines[3].allowed
    assert lines[5].allowed > 0 == lines[5].blocked
    assert lines[6].problems == ["misspelt-key"]
    assert lines[6].blocked > 0
    assert lines[8].problems == ["missing-colon", "no-leading-slash"]
    assert file.sha256 == hashlib.sha256(written).hexdigest()
    for each in report.decisions.rows:
        if each.line and each.sha256 == file.sha256:
            line = lines[each.line]
            assert each.number == (line.allowed if each.allowed else line.blocked)


def test_only_lines_around_those_that_matter_are_shown(tmp_path: Path) -> None:
    body = b"User-agent: *\n" + b"Disallow: /a\n" * 500 + b"Disallow: /secret\n" + b"# x\n" * 500
    made = Made(tmp_path / "a.db", robots={shop.SHOP: body})
    made.ask(f"{shop.SHOP}/secret")
    made.write("finished")
    found = read(tmp_path / "a.db")
    (file,) = found.robots.rows
    assert [line.number for line in file.lines] == [500, 501, 502, 503, 504]
    assert file.lines[2].blocked == 1
    assert file.length == 1_002
    assert [line[-1] for line in excerpt(found)] == ["⋯", "a", "a", "t", "x", "x", "⋯"]


def excerpt(found: Report) -> list[str]:
    """The lines of a robots.txt, as they are shown."""
    lines = LexborHTMLParser(page(found)).css("#robots li")
    return [(line.css_first("bdi") or line).text() for line in lines]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_what_is_behind_the_last_line_is_no_line(tmp_path: Path, end: bytes) -> None:
    made = Made(tmp_path / "a.db", robots={shop.SHOP: b"User-agent: *\nDisallow: /secret" + end})
    made.ask(f"{shop.SHOP}/secret")
    made.write("finished")
    assert excerpt(read(tmp_path / "a.db")) == ["User-agent: *", "Disallow: /secret"]


def test_a_rule_is_written_as_it_stands_in_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each place; where the file is not looked at, as it was understood."""
    rule = "disalow :  /secret*  # by the way"
    made = Made(tmp_path / "a.db", robots={shop.SHOP: f"User-agent: *\n {rule}\n".encode()})
    made.ask(f"{shop.SHOP}/secret")
    made.write("finished")
    found = read(tmp_path / "a.db")
    assert found.decisions.rows[0].rule == found.blocked[0].urls[0].rule == rule
    assert found.robots.rows[0].lines[1].text.strip() == rule
    monkeypatch.setattr(robots_files, "_MAX_BYTES", 1)
    assert read(tmp_path / "a.db").decisions.rows[0].rule == "Disallow: /secret*"


def test_the_same_file_of_many_sites_is_one(tmp_path: Path) -> None:
    made = Made(tmp_path / "a.db")
    for number in range(20):
        made.ask(f"https://site-{number}.example/private/x")
    made.write("finished")
    found = read(tmp_path / "a.db")
    assert [(each.sites, each.decisions) for each in found.robots.rows] == [(20, 20)]
    assert [(each.sites, each.number) for each in found.decisions.rows] == [(20, 20)]
    assert found.timeline.lanes == []


def test_files_beyond_what_is_looked_at_are_named_all_the_same(
    shop_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robots_files, "_MAX_BYTES", 200)
    found = read(shop_db)
    assert [each.is_read for each in found.robots.rows if each.bytes] == [True, False, False]
    assert "too large to show here" in page(found)


# The time line.


def fed(*starts: tuple[str, float], delay: float = 0.5, running: float = 10.0) -> Requests:
    requests = Requests(running)
    for host, at in starts:
        requests.add(host, at, seconds=0.1, delay=delay, size=1, counts=True)
    return requests


def test_the_time_line_is_as_long_for_a_million_as_for_ten() -> None:
    requests = fed(*((f"h{number % 20}", number / 10) for number in range(20_000)))
    found = requests.timeline()
    assert len(found.lanes) == 8
    assert found.hosts == 20
    for lane in found.lanes:
        assert sum(each.requests for each in lane.bins) == lane.requests == 1_000
        assert len(lane.bins) <= 120
        assert all(each.gap == pytest.approx(2.0) for each in lane.bins if each.gap is not None)


def test_a_part_has_the_shortest_gap_and_the_delay_that_was_in_force_for_it() -> None:
    """Of an answer that came after a request had started, the gap behind it knows nothing."""
    requests = Requests(running=1_000.0)
    slow, quick = (1.5, 1.0), (0.1, 0.2)
    for at, (seconds, delay) in (
        *((0.0, quick), (0.2, quick), (0.9, slow), (1.2, slow)),
        *((2.2, slow), (2.8, slow), (100.0, slow)),
    ):
        requests.add("a", at, seconds=seconds, delay=delay, size=1, counts=True)
    (lane,) = requests.timeline().lanes
    assert lane.shortest == pytest.approx(0.2)
    assert [each.requests for each in lane.bins] == [2, 2, 1, 1, 1]
    assert [round(each.gap or 0.0, 3) for each in lane.bins] == [0.2, 0.3, 1.0, 0.6, 97.2]
    assert [each.delay for each in lane.bins] == [0.2, 0.2, 0.2, 0.2, 1.0]


def test_pauses_are_left_out_of_the_time_line() -> None:
    """A crawl that goes on after a week is not two strokes at the ends of an empty page."""
    week = 7 * 86_400.0
    found = fed(("a", 0.0), ("a", 10.0), ("a", week), ("a", week + 10)).timeline()
    assert found.seconds == pytest.approx(20.0)
    assert [(each.at, each.seconds) for each in found.pauses] == [(10.0, week - 10)]
    assert fed(("a", 0.0), ("a", 50.0)).timeline().pauses == []
    assert fed(("a", 0.0), ("a", 500.0), running=4_000).timeline().pauses == []


def test_a_delay_that_is_drawn_stands_for_the_least_of_it(tmp_path: Path) -> None:
    """The store has the middle of what is drawn from; gaps may be shorter, and rightly so."""
    made = Made(tmp_path / "a.db", min_delay=0.2, max_delay=0.6)
    for number, delay in enumerate((0.4, 0.4, 3.0, 3.0, 3.0, 3.0)):
        made.ask(f"{shop.SHOP}/{number}", delay=delay)
        made.at += 5
    made.write("finished")
    (lane,) = read(tmp_path / "a.db").timeline.lanes
    assert [each.delay for each in lane.bins] == [0.2, 0.2, 0.2, 0.2, 0.2, 3.0]


def test_a_host_has_one_delay(tmp_path: Path) -> None:
    """Of one that is drawn, the least: in the time line as in the list of hosts."""
    made = Made(tmp_path / "a.db", min_delay=0.2, max_delay=0.6)
    for number in range(3):
        made.ask(f"{shop.SHOP}/{number}", delay=0.4)
        made.ask(f"{shop.NEWS}/{number}", delay=3.0)
        made.at += 5
    made.write("finished")
    found = read(tmp_path / "a.db")
    in_lanes = {lane.host: {each.delay for each in lane.bins} for lane in found.timeline.lanes}
    assert in_lanes == {row.host: {row.delay} for row in found.hosts.rows}
    assert in_lanes == {"shop.example": {0.2}, "news.example": {3.0}}


def test_one_request_is_one_bar_and_one_time(tmp_path: Path) -> None:
    made = Made(tmp_path / "a.db")
    made.ask(f"{shop.SHOP}/")
    made.write("finished")
    tree = LexborHTMLParser(page(read(tmp_path / "a.db")))
    assert [tick.text() for tick in tree.css(".tick")] == ["0 s"]
    (bar,) = tree.css(".lane rect.count")
    assert float(str(bar.attributes["width"]).rstrip("%")) < 1


def test_steps_of_the_time_line_have_names_of_their_own(tmp_path: Path) -> None:
    made = Made(tmp_path / "a.db")
    for number in range(200):
        made.ask(f"{shop.SHOP}/{number}")
        made.at += 0.13
    made.write("finished")
    found = read(tmp_path / "a.db")
    rows = LexborHTMLParser(page(found)).css("details.numbers tbody tr")
    names = [row.css("td")[0].text() for row in rows]
    assert len(set(names)) == len(names) == len(found.timeline.lanes[0].bins) > 100


def test_a_crawl_in_which_nothing_was_asked_for(tmp_path: Path) -> None:
    made = Made(tmp_path / "a.db")
    made.left(f"{shop.SHOP}/")
    made.write(None)
    found = read(tmp_path / "a.db")
    assert (found.timeline.lanes, found.times.answers, found.pages.rows) == ([], 0, [])
    assert found.status.ended == "stopped unexpectedly"
    assert "Nothing was requested." in page(found)


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ((), "Nothing: every URL found was requested."),
        (("trap",), "Only traps."),
        (("page",), "Nothing so far; some URLs are still in the queue."),
        (("sitemap",), "Nothing so far; some URLs are still in the queue."),
        (
            ("page", "trap"),
            "Only traps so far; some URLs are still in the queue.",
        ),
    ],
)
def test_where_nothing_is_blocked(tmp_path: Path, rest: tuple[str, ...], said: str) -> None:
    """What is still to be asked for is not passed over, nor are traps."""
    made = Made(tmp_path / "a.db")
    made.ask(f"{shop.SHOP}/")
    for each in rest:
        if each == "trap":
            made.out(f"{shop.SHOP}/trap", "trap: too-deep")
        else:
            made.left(f"{shop.SHOP}/{each}", each)
    made.write("interrupted")
    tree = LexborHTMLParser(page(read(tmp_path / "a.db")))
    assert [node.text() for node in tree.css("#blocked .none")] == [said]
    left = {node.css_first("dt").text(): node.css_first("dd").text() for node in tiles(tree)}
    assert left["Left to fetch"] == {"page": "1", "sitemap": "0and 1 sitemap to read"}.get(
        rest[0] if rest else "", "0"
    )


def tiles(tree: LexborHTMLParser) -> Any:
    """The numbers of the beginning."""
    return tree.css("header .tiles > div")


# Which crawl.


def test_a_store_without_a_crawl_says_what_there_is(tmp_path: Path) -> None:
    discovery_in(tmp_path / "a.db")
    with pytest.raises(NoCrawl, match=r"no crawl in it, only what `manners discover` found"):
        read(tmp_path / "a.db")
    EvidenceStore(tmp_path / "b.db").close()
    with pytest.raises(NoCrawl, match=r"no crawl in it; `manners crawl` makes one"):
        read(tmp_path / "b.db")


def test_the_last_crawl_unless_another_is_named(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    for name in ("one", "two"):
        made = Made(place, f"https://{name}.example/")
        made.ask(f"https://{name}.example/private/{name}")
        made.write("finished")
    discovery_in(place)
    assert read(place).status.start == "https://two.example/"
    first = read(place, 1)
    assert [each.url for each in first.blocked[0].urls] == ["https://one.example/private/one"]
    assert first.proof.decisions == 1
    with pytest.raises(NoCrawl, match=r"crawl 3 is a discovery; the latest are: 1, 2"):
        read(place, 3)
    with pytest.raises(NoCrawl, match=r"there is no crawl 9 in it"):
        read(place, 9)


# What was changed, or is gone.


def test_what_was_pruned_is_counted_as_such(shop_db: Path, tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    shop.made(place)
    before = read(shop_db).proof.decisions
    with EvidenceStore(place) as store:
        gone = store.prune(START + 60)
        assert 0 < gone < before
    found = read(place)
    assert (found.proof.decisions, found.proof.missing) == (before - gone, gone)
    tree = LexborHTMLParser(page(found))
    for part in ("decisions", "robots"):
        (note,) = tree.css(f"#{part} .note")
        assert note.text().endswith(f"No longer on record: {gone:,} decisions.")


def test_what_was_pruned_did_take_place(tmp_path: Path) -> None:
    """Where no record is left, it is not said that there was none, nor that nothing was asked."""
    shop.made(tmp_path / "a.db")
    with EvidenceStore(tmp_path / "a.db") as store:
        gone = f"No longer on record: {store.prune(START + 9_999):,} decisions."
    tree = LexborHTMLParser(page(read(tmp_path / "a.db")))
    assert [node.text() for node in tree.css("#decisions .none")] == [gone]
    assert [node.text() for node in tree.css("#robots .none")] == [f"None is known. {gone}"]
    assert [node.text() for node in tree.css("#problems .none")] == [f"None found. {gone}"]


def test_what_somebody_changed_is_no_reason_to_fail(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    shop.made(place)
    with EvidenceStore(place) as store, store.writing() as connection:
        connection.execute(update(evidence).where(evidence.c.id < 9).values(metadata="[1, 2"))
        connection.execute(update(pages).values(problems='{"a": 1}'))
        connection.execute(update(crawls).values(settings='["not", "settings"]', at=-1))
        connection.exec_driver_sql("DELETE FROM snapshots")
    found = read(place)
    assert found.proof.missing == 8
    assert found.settings == {}
    assert [each.lines for each in found.robots.rows if each.sha256] == [[], [], []]
    assert "which is missing" in page(found)


# Whole and cut.


def test_lists_are_cut_and_counts_are_not(shop_db: Path, report: Report) -> None:
    short = read(shop_db, rows=3)
    for name in ("decisions", "robots", "broken", "pages", "hosts"):
        cut, whole = getattr(short, name), getattr(report, name)
        assert len(cut.rows) <= 3 < whole.total + 1
        assert cut.total == whole.total
        assert cut.rows == whole.rows[:3]
    assert [each.number for each in short.blocked] == [each.number for each in report.blocked]
    assert max(len(each.urls) for each in short.blocked) == 3
    assert short.timeline == report.timeline
    shown = page(short)
    assert f"The first 3 of {report.pages.total:,} pages. All of them: " in shown
    assert "manners report" in short.rest
    assert short.rest in shown.replace("&#x27;", "'")


def test_the_data_is_ready_for_json(report: Report) -> None:
    values = json.loads(json.dumps(report.to_dict()))
    assert values["status"]["states"] == report.status.states
    assert (values["status"]["fetched"], values["status"]["left"]) == (
        *(report.status.fetched, report.status.remaining),
    )
    assert values["timeline"]["lanes"][0]["bins"][0].keys() == {"at", "requests", "gap", "delay"}
    assert values["robots"]["rows"][0]["lines"][0].keys() == {
        *("number", "text", "allowed", "blocked", "problems"),
    }
    assert values["proof"]["verify"].endswith(f"--head {report.proof.head}")


@pytest.mark.parametrize("told", [{}, {"redact_query": True}], ids=["asked for", "as it was told"])
def test_queries_are_left_out_if_somebody_wants_it(tmp_path: Path, told: dict[str, Any]) -> None:
    place, secret = tmp_path / "a.db", "token=hidden"
    made = Made(place, f"{shop.SHOP}/?{secret}", **told)
    problem = {"problem": "bad-url", "detail": f"/x?{secret}", "line": 1}
    made.ask(f"{shop.SHOP}/?{secret}")
    made.ask(f"{shop.SHOP}/private/?{secret}")
    made.ask(f"{shop.SHOP}/x?{secret}", 500)
    made.ask(f"{shop.SHOP}/s.xml?{secret}", kind="sitemap", problems=[problem])
    made.out(f"{shop.SHOP}/o?{secret}", "nofollow", "", f"{shop.SHOP}/?{secret}")
    made.write("finished")
    assert secret in json.dumps(read(place).to_dict()) or told
    found = read(place, redact=not told)
    assert secret not in json.dumps(found.to_dict())
    assert secret not in page(found)


def lengthy(place: Path, number: int) -> None:
    """A crawl with many pages on many hosts."""
    crawl = Made(place)
    for each in range(number):
        crawl.at += 0.01
        base = f"https://h{each % 300}.example"
        status = 503 if each % 11 == 5 else 200
        path = "private" if each % 7 == 3 else "page"
        crawl.ask(f"{base}/{path}/{each}?q={'v' * 60}", status, title="T" * 80, seconds=each % 9)
        if each % 3 == 0:
            reason = ("other-host", "nofollow", "trap: too-deep")[each % 9 // 3]
            crawl.out(f"{base}/out/{each}/{'x' * 100}", reason, "rule", base)
    crawl.write("finished")


@pytest.mark.long
def test_a_long_crawl_has_a_short_report(tmp_path: Path) -> None:
    """However many pages it has."""
    number = size("REPORT_PAGES")
    lengthy(tmp_path / "a.db", number)
    found = read(tmp_path / "a.db")
    assert found.proof.decisions == number
    assert sum(found.status.states.values()) == number + len(range(0, number, 3))
    assert len(page(found).encode()) < 1_500_000
    assert len(json.dumps(found.to_dict())) < 3_000_000


def test_nothing_that_is_in_a_crawl_makes_the_page_long(tmp_path: Path) -> None:
    """Everything as long as can be, of characters that take most room when they are escaped."""
    long = "&" * 500
    robots = "User-agent: *\n" + "".join(f"Disallow: /{number}{long}\n" for number in range(220))
    place = tmp_path / "a.db"
    crawl = Made(place, f"{shop.SHOP}/{long}", robots={shop.SHOP: robots.encode()})
    problems = [{"problem": long, "detail": long, "line": 1}] * 20
    for number in range(220):
        crawl.ask(f"{shop.SHOP}/{number}{long}")
        crawl.ask(f"{shop.SHOP}/open/{number}{long}", title="\u202e" * 500)
        crawl.ask(f"{shop.SHOP}/bad/{number}{long}", None, cause=f"{number}{long}")
        crawl.ask(f"{shop.SHOP}/{long}{number}", kind="sitemap", form=long, problems=problems)
        for reason in range(12):
            crawl.out(f"{shop.SHOP}/{reason}/{number}{long}", f"{reason}{long}", long, long)
            crawl.out(f"{shop.SHOP}/t/{reason}/{number}{long}", f"trap: {reason}", long, long)
    crawl.write(long)
    assert len(page(read(place)).encode()) < 5_000_000


# The page.


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("hostile") / "hostile.db"
    hostile.made(place)
    return page(read(place))


OURS = {
    *("html", "head", "meta", "title", "link", "style", "body", "header", "nav", "main", "section"),
    *("footer", "h1", "h2", "h3", "p", "div", "span", "strong", "bdi", "code", "a", "ul", "ol"),
    *("li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td", "details"),
    *("summary", "figure", "figcaption", "svg", "rect", "circle", "line", "text"),
}
ATTRIBUTES = {
    *("charset", "http-equiv", "content", "name", "rel", "href", "lang", "class", "id", "scope"),
    *("aria-label", "aria-hidden", "aria-labelledby", "role", "focusable", "open", "width"),
    *("height", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "text-anchor"),
}


def test_nothing_from_a_crawl_becomes_markup(hostile_page: str) -> None:
    """A parser of HTML finds our elements and our attributes, each with what we put there."""
    tree = LexborHTMLParser(hostile_page)
    nodes = tree.css("*")
    assert {node.tag for node in nodes} <= OURS
    assert {name for node in nodes for name in node.attributes} <= ATTRIBUTES
    counts = Counter(node.tag for node in nodes)
    assert (counts["style"], counts["title"], counts["h1"], counts["meta"]) == (1, 1, 1, 6)
    links = [str(node.attributes.get("href")) for node in tree.css("a")]
    assert links == [f"#{node.attributes['id']}" for node in tree.css("section")]
    text = tree.body.text() if tree.body else ""
    assert "<script>window.hacked = 1; alert(1)</script>" in text
    usage = tree.css_first("#usage")
    assert usage is not None
    assert "noai, <script>window.hacked = 1; alert(1)</script>" in usage.text()
    assert "\\u202egnp.exe" in text
    assert "\\x1b[2J" in text


def test_no_control_character_is_in_the_page(hostile_page: str) -> None:
    assert {each for each in hostile_page if not each.isprintable()} == {"\n"}
    assert hostile_page.encode().decode() == hostile_page


def test_the_policy_allows_our_style_and_nothing_else(hostile_page: str) -> None:
    (sheet,) = re.findall(r"<style>(.*?)</style>", hostile_page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    (policy,) = (
        node.attributes["content"]
        for node in LexborHTMLParser(hostile_page).css("meta")
        if node.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )


def test_what_is_drawn_is_said_as_well(report: Report) -> None:
    """For those who do not see it: a label, and a table that has every number."""
    tree = LexborHTMLParser(page(report))
    for drawing in tree.css("svg"):
        said = drawing.attributes
        assert said.get("aria-hidden") == "true" or (
            said.get("role"),
            bool(said["aria-label"]),
        ) == (*("img", True),)
    labels = [node.attributes["aria-label"] for node in tree.css("svg[role=img]")]
    assert len(labels) == len(report.timeline.lanes) == 3
    for table in tree.css("table"):
        assert table.css_first("caption") is not None
    tables = tree.css("details.numbers table")
    for lane, table in zip(report.timeline.lanes, tables, strict=True):
        rows = [[cell.text() for cell in row.css("td")] for row in table.css("tbody tr")]
        assert len(rows) == len(lane.bins)
        assert [int(row[1]) for row in rows] == [each.requests for each in lane.bins]


# PostgreSQL.


def test_a_store_in_postgresql_has_the_same_report(postgres: Postgres, report: Report) -> None:
    place = postgres.database()
    shop.made(place)
    found = read(place)
    one, other = found.to_dict(), report.to_dict()
    for values in (one, other):
        del values["made"], values["store"], values["rest"], values["proof"]["verify"]
    assert one == other
    assert found.proof.head == report.proof.head
    assert "postgresql://" in found.proof.verify
