"""The sections of the report are a family: a new one is one new file."""

from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from manners.evidence.store import EvidenceStore
from manners.report.html import sections
from manners.report.html.page import page
from manners.report.reader import report_of
from tests.crawler.made import Made

FILES = sorted(path.stem for path in Path(sections.__file__).parent.glob("[!_]*.py"))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> LexborHTMLParser:
    """The page of a crawl in which one page was fetched."""
    place = tmp_path_factory.mktemp("report") / "crawl.db"
    crawl = Made(place)
    crawl.ask("https://shop.example/")
    crawl.write("finished")
    with EvidenceStore(place, readonly=True) as store:
        return LexborHTMLParser(page(report_of(store, clock=lambda: 1_800_000_000.0)))


def test_every_file_is_a_section_with_a_place_of_its_own() -> None:
    members = sections.ordered()
    assert sorted(section.name for section in members) == FILES
    orders = [section.order for section in members]
    assert orders == sorted(set(orders))


def test_the_page_has_every_section_in_its_order(tree: LexborHTMLParser) -> None:
    """Under the title and the anchor that the links at the top name.

    But for changes, if there are none, and usage, if the crawl had no purpose.
    """
    absent = ("changes", "usage")
    members = [section for section in sections.ordered() if section.name not in absent]
    expected = [(section.name, section.title) for section in members]
    anchors = [node.attributes["id"] for node in tree.css("main > section")]
    titles = [node.text() for node in tree.css("main > section > h2")]
    links = [(str(node.attributes["href"])[1:], node.text()) for node in tree.css("nav a")]
    assert [*zip(anchors, titles, strict=True)] == links == expected


def test_the_time_comes_from_the_clock(tree: LexborHTMLParser) -> None:
    assert "on 15 January 2027, 08:00:00 UTC" in tree.css("footer")[0].text()
