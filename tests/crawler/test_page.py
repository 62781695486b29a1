"""A crawled page: one value, complete when it is made, the same for readers and for the store."""

import dataclasses
import json

import pytest

from manners.crawler.frontier.statements import PAGE_COLUMNS
from manners.crawler.frontier.values import LeasedUrl
from manners.crawler.page import SitemapSummary
from manners.crawler.reasons import NOT_NAMED, REDIRECT
from manners.sitemaps import Problem
from tests.crawler.results import Answer, result

URL = LeasedUrl("https://example.com/", "example.com", "page", "start", "", 0, 0, 1.0, 0)


def test_it_is_a_value() -> None:
    """Equal to one like it, with the same hash; nothing can be changed."""
    one, other = (result(URL, "done", answer=Answer()).page for _ in range(2))
    assert one == other
    assert {one: 1}[other] == 1
    assert one != result(URL, "failed", answer=Answer()).page
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.state = "failed"  # type: ignore[misc]


def test_the_store_has_what_the_reader_has() -> None:
    """One row, column by column."""
    page = result(URL, "done", answer=Answer(type="Text/HTML; charset=utf-8")).page
    row = page.to_row()
    assert tuple(row) == PAGE_COLUMNS
    assert (row["status"], row["type"], row["title"]) == (page.status, "text/html", page.title)
    assert (row["bytes"], row["sha256"], row["links"]) == (5, page.sha256, len(page.links))
    assert row["sha256"] == page.to_dict()["sha256"]


def test_a_redirect_is_an_answer() -> None:
    """Though the client, which follows none here, says that it was not followed."""
    answer = Answer(301, "too many redirects", location="https://example.com/there")
    page = result(URL, "done", REDIRECT, answer=answer).page
    assert (page.cause, page.to_row()["cause"], page.location) == ("", "", answer.location)


def test_a_sitemap_has_its_form_and_its_last_problems() -> None:
    """The last may say why no more was read."""
    problems = tuple(Problem("bad-url", line=number) for number in range(30))
    summary = SitemapSummary(URL.url, "", "urlset", 7, problems, "200")
    page = result(URL, "done", answer=Answer(), sitemap=summary).page
    row = page.to_row()
    assert (row["type"], row["links"]) == ("urlset", 7)
    assert [problem["line"] for problem in json.loads(row["problems"])] == list(range(10, 30))


@pytest.mark.parametrize(
    ("kind", "state", "reason", "is_shown"),
    [
        ("page", "done", "", True),
        ("page", "blocked", "rule-matched", True),
        ("page", "queued", "timeout", False),
        ("page", "blocked", NOT_NAMED, False),
        ("sitemap", "done", "", False),
    ],
)
def test_who_is_shown_to_readers(kind: str, state: str, reason: str, is_shown: bool) -> None:
    """Pages that are over."""
    found = result(URL._replace(kind=kind), state, reason, answer=Answer())
    assert (found.page_for_reader is not None) is is_shown
