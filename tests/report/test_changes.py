"""What the report says of a robots.txt that changed during a crawl."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import delete

from manners import parse
from manners.crawler.crawl import Crawl
from manners.evidence.store import EvidenceStore
from manners.evidence.tables import snapshots
from manners.report import changes, decisions
from manners.report.data import Report, RobotsChange
from manners.report.html.page import page
from manners.report.reader import report_of
from tests.client.asking import in_turn, rules, settings
from tests.crawler import hostile
from tests.crawler.made import START, Made
from tests.crawler.made import site as site_at
from tests.crawler.site import html
from tests.faults.server import Site, by_path, in_thread
from tests.faults.server import page as answer

DAY = 86_400.0
SHOP = "https://shop.example"
OLD = b"User-agent: *\nDisallow: /cart\n"
NEW = b"User-agent: *\nDisallow: /cart/\nDisallow: /*.pdf$\n\nUser-agent: OtherBot\nDisallow: /\n"


def read(place: Path, rows: int = 200) -> Report:
    with EvidenceStore(place, readonly=True) as store:
        return report_of(store, rows=rows)


def crawled(place: Path, *versions: Mapping[str, bytes | None], path: str = "/") -> Report:
    """A crawl that asks each site once a day, while these are their files; None is no answer."""
    crawl = Made(place)
    for day, robots in enumerate(versions):
        crawl.at = START + day * DAY
        crawl._sites = {site: site_at(site, body, crawl.at) for site, body in robots.items()}
        for site in robots:
            crawl.ask(f"{site}{path}{day}")
    crawl.write("finished")
    return read(place)


def shown(report: Report) -> str:
    """The section of changes as text; empty if there is none."""
    found = LexborHTMLParser(page(report)).css("#changes")
    return found[0].text(separator=" ") if found else ""


def verify(change: RobotsChange, before: bytes, after: bytes) -> None:
    """Every URL that is shown gets the verdicts that are told, by the lines that are told."""
    was, now = parse(before), parse(after)
    for kind, paths in ((True, change.closed), (False, change.opened)):
        for each in paths:
            old, new = was.check(each.url, "MyBot"), now.check(each.url, "MyBot")
            assert (old.allowed, new.allowed) == (kind, not kind)
            for verdict, line in ((old, each.before), (new, each.after)):
                expected = f"line {verdict.line}: {verdict.line_text}" if verdict.line else ""
                assert line == expected


def test_a_crawl_whose_robots_txt_changes(tmp_path: Path) -> None:
    """What the change closed and opened for the crawl's agent is in its report."""
    place = tmp_path / "crawl.db"
    pages = {
        "/robots.txt": in_turn(rules("Disallow: /private"), rules("Disallow: /shop/")),
        "/": html("/one", "/two", "/shop/3"),
        "/one": html(),
    }
    with in_thread(Site(by_path(pages))) as site:
        told = settings(store=str(place), attempts=1, max_pages=1)
        list(Crawl([site.url()], told, agent="MyBot"))
        list(
            Crawl(
                [], settings(store=str(place), attempts=1, max_pages=20), agent="MyBot", resume=True
            )
        )
        base = site.url(path="")
    report = read(place)
    (change,) = report.changes.rows
    assert (change.url, change.sites, change.agent) == (f"{base}/robots.txt", 1, "MyBot")
    assert [(each.url, each.before, each.after) for each in change.closed] == [
        (f"{base}/shop/", "", "line 2: Disallow: /shop/")
    ]
    assert [each.url for each in change.opened][:1] == [f"{base}/private"]
    assert (change.is_equal, change.is_exact, change.problem) == (False, True, "")
    assert change.last_before < change.first_after
    text = shown(report)
    assert f"{base}/shop/" in text
    assert "line 2: Disallow: /shop/" in text
    assert report.to_dict()["changes"]["rows"][0]["closed"][0]["url"] == f"{base}/shop/"


def test_without_a_change_there_is_no_section(tmp_path: Path) -> None:
    """A file that is retrieved again and is the same is no news."""
    report = crawled(tmp_path / "crawl.db", {SHOP: OLD}, {SHOP: OLD})
    assert report.changes == (0, [])
    assert shown(report) == ""
    assert 'href="#changes"' not in page(report)


def test_examples_get_the_verdicts_that_are_told(tmp_path: Path) -> None:
    """The engine says the same of each, and other agents do not count."""
    report = crawled(tmp_path / "crawl.db", {SHOP: OLD}, {SHOP: NEW})
    (change,) = report.changes.rows
    verify(change, OLD, NEW)
    assert change.closed[0].url == f"{SHOP}/.pdf"
    assert change.opened[0].url == f"{SHOP}/cart"
    assert (change.before, change.after) == tuple(
        hashlib.sha256(body).hexdigest() for body in (OLD, NEW)
    )
    assert change.last_before == "2027-01-01T10:00:00.000Z"
    assert change.first_after == "2027-01-02T10:00:00.000Z"


def test_a_change_that_changes_no_verdict_is_shown_as_such(tmp_path: Path) -> None:
    """The file is another, and nothing closed or opened."""
    report = crawled(tmp_path / "crawl.db", {SHOP: OLD}, {SHOP: b"# new\n" + OLD})
    (change,) = report.changes.rows
    assert (change.is_equal, change.closed, change.opened) == (True, [], [])
    assert shown(report).count("nothing") == 2


def test_sites_with_the_same_change_are_one_row(tmp_path: Path) -> None:
    """As where one platform changes the file of all its shops."""
    sites = [f"https://{number}.example" for number in range(5)]
    before, after = dict.fromkeys(sites, OLD), dict.fromkeys(sites[:4], NEW)
    report = crawled(tmp_path / "crawl.db", before, {**after, sites[4]: b"# other\n"})
    assert [change.sites for change in report.changes.rows] == [4, 1]
    assert "and 3 others" in shown(report)


def test_a_site_that_cannot_be_reached_has_not_changed(tmp_path: Path) -> None:
    """What comes after it is compared with what was before it."""
    place = tmp_path / "crawl.db"
    assert crawled(place, {SHOP: OLD}, {SHOP: None}, {SHOP: OLD}).changes.total == 0
    other = crawled(tmp_path / "other.db", {SHOP: OLD}, {SHOP: None}, {SHOP: NEW})
    assert [change.first_after[:10] for change in other.changes.rows] == ["2027-01-03"]


def test_a_file_that_comes_back_is_two_changes(tmp_path: Path) -> None:
    """In the order of time, although it is the same file as at the beginning."""
    report = crawled(tmp_path / "crawl.db", {SHOP: OLD}, {SHOP: NEW}, {SHOP: OLD})
    first, second = report.changes.rows
    assert (first.before, first.after) == (second.after, second.before)
    assert first.closed[0].url == second.opened[0].url


def test_a_list_of_changes_is_cut(tmp_path: Path) -> None:
    """All are counted, and few are shown."""
    versions = [{SHOP: b"User-agent: *\nDisallow: /%d\n" % number} for number in range(9)]
    crawled(tmp_path / "crawl.db", *versions)
    report = read(tmp_path / "crawl.db", rows=3)
    assert (report.changes.total, len(report.changes.rows)) == (8, 3)
    assert "The first 3 of 8 changes." in shown(report)


def test_what_cannot_be_compared_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was pruned, and files that are too large together."""
    place = tmp_path / "crawl.db"
    with monkeypatch.context() as small:
        small.setattr(changes, "_MAX_BYTES", len(OLD) + 5)
        assert "too many bytes" in shown(crawled(place, {SHOP: OLD}, {SHOP: NEW}))
    with EvidenceStore(place) as store, store.writing() as connection:
        connection.execute(delete(snapshots).where(snapshots.c.body == NEW))
    report = read(place)
    assert (report.changes.rows[0].is_equal, report.changes.rows[0].is_exact) == (None, False)
    assert "not on record any more" in shown(report)


def test_what_is_not_decided_within_the_steps_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing found is not the same as nothing there."""
    monkeypatch.setattr(changes, "_STEPS", 1)
    monkeypatch.setattr(changes, "_LEAST_STEPS", 1)
    before = b"User-agent: *\nDisallow: /*a*b*c*d\nAllow: /*d*c*b*a*e\n"
    after = b"User-agent: *\nDisallow: /*a*b*c\nAllow: /*d*c*b*a\n"
    report = crawled(tmp_path / "crawl.db", {SHOP: before}, {SHOP: after})
    (change,) = report.changes.rows
    verify(change, before, after)
    assert not change.is_exact
    assert "not decided" in shown(report) or (change.closed and change.opened)


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a site that changes all the time the latest changes remain, of many sites the first."""
    monkeypatch.setattr(decisions, "_MAX_SIGHTINGS", 4)
    monkeypatch.setattr(decisions, "_MAX_SITES", 1)
    versions = [
        {SHOP: b"# %d\n" % number, "https://b.example": b"# b%d\n" % number} for number in range(9)
    ]
    report = crawled(tmp_path / "crawl.db", *versions)
    assert {change.url for change in report.changes.rows} == {f"{SHOP}/robots.txt"}
    assert [change.first_after[8:10] for change in report.changes.rows] == ["07", "08", "09"]


def test_hostile_files_stay_text(tmp_path: Path) -> None:
    """Whatever a rule says, it is no markup."""
    attacks = [attack.encode("utf-8", "replace") for attack in hostile.ATTACKS]
    before = b"User-agent: *\n" + b"".join(b"Disallow: /%s\n" % each for each in attacks)
    report = crawled(tmp_path / "crawl.db", {SHOP: before}, {SHOP: b"User-agent: *\nAllow: /\n"})
    tree = LexborHTMLParser(page(report))
    assert tree.css("#changes")
    assert not tree.css("script, img, iframe, svg script, object, embed")


def test_a_site_without_a_file_is_compared_too(tmp_path: Path) -> None:
    """From no file to one that closes everything."""
    place = tmp_path / "crawl.db"
    robots = in_turn(answer(status=404), rules("Disallow: /"))
    with in_thread(Site(by_path({"/robots.txt": robots, "/": html("/one")}))) as site:
        told = settings(store=str(place), attempts=1, max_pages=1)
        list(Crawl([site.url()], told))
        list(
            Crawl(
                [], settings(store=str(place), attempts=1, max_pages=20), agent="MyBot", resume=True
            )
        )
    report = read(place)
    (change,) = report.changes.rows
    assert (change.before, change.closed[0].after) == ("", "line 2: Disallow: /")
    assert "no robots.txt" in shown(report)
