"""The head of the page: which crawl, how it ended, totals and budget. Quiet."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from manners._text import count, duration, minutes
from manners.report.data import Report
from manners.report.html import charts, words
from manners.report.html.elements import Child, Element, element, untrusted
from manners.robots.agents import product_token

if TYPE_CHECKING:
    from manners.crawler.status import Status

_Total = tuple[str, int, str, str]
"""A name, a number, the class of its colour, and a remark."""


def page_header(report: Report) -> Element:
    """The first thing that a reader sees."""
    totals = _totals(report.status)
    starts = report.status.start.split(" ")
    more = f" and {len(starts) - 1:,} more" if len(starts) > 1 else ""
    title = [untrusted(starts[0], 200), element("span", more, class_="soft") if more else None]
    return element(
        "header",
        element("p", f"Report of crawl {report.status.crawl}", class_="kicker"),
        element("h1", title),
        _lead(report),
        element(
            "div", charts.stack((number, kind) for _, number, kind, _ in totals), class_="whole"
        ),
        element("dl", _tiles(totals, report.status), class_="tiles"),
        _budget(report),
    )


def _totals(status: "Status") -> list[_Total]:
    redirects = f"and {count(status.redirects, 'redirect')}" if status.redirects else ""
    sitemaps = f"and {count(status.unread, 'sitemap')} to read" if status.unread else ""
    return [
        ("Fetched", status.fetched, "ok", redirects),
        ("Failed", status.states.get("failed", 0), "bad", ""),
        ("Blocked", status.states.get("blocked", 0), "no", ""),
        ("Left to fetch", status.remaining, "wait", sitemaps),
    ]


def _tiles(totals: Sequence[_Total], status: "Status") -> list[Child]:
    tiles: list[Child] = [
        element(
            "div",
            element("dt", element("span", class_=f"dot {kind}"), name),
            element("dd", f"{number:,}", _remark(remark) if remark else None),
        )
        for name, number, kind, remark in totals
    ]
    hosts = _remark(f"from {count(status.hosts, 'host')}")
    size = element("dd", words.size(status.bytes), hosts)
    return [*tiles, element("div", element("dt", "Downloaded"), size)]


def _remark(text: str) -> Element:
    return element("div", text, class_="more")


def _lead(report: Report) -> Element:
    """When it began, how long it ran, as whom, and how it ended."""
    status = report.status
    sent = report.user_agents or report.agents
    tokens = {product_token(name).lower() for name in sent}
    other_agents = [name for name in report.agents if product_token(name).lower() not in tokens]
    return element(
        "p",
        "Started on ",
        element("strong", words.moment(status.began)),
        ", ran for ",
        element("strong", duration(status.seconds)),
        " as ",
        _names(sent),
        [", with robots.txt files read for ", _names(other_agents)] if other_agents else None,
        ". It is " if status.is_running else ". It ended: ",
        element("strong", untrusted(status.ended, 200)),
        ".",
        class_="lead",
    )


def _names(names: Sequence[str]) -> Child:
    return [
        [", " if number else None, element("strong", untrusted(name, 120))]
        for number, name in enumerate(names)
    ]


def _budget(report: Report) -> Element:
    budget = report.budget
    pages = f"{budget.pages:,} of {count(budget.max_pages, 'page')} of the budget"
    time = f"{budget.minutes:.1f} of {minutes(budget.max_minutes)}"
    return element(
        "div",
        _meter(pages, budget.pages, budget.max_pages),
        _meter(time, budget.minutes, budget.max_minutes),
        class_="budget",
    )


def _meter(text: str, used: float, limit: float) -> Element:
    kind = "no" if limit and used >= 0.999 * limit else "ok"
    return element(
        "div",
        element("div", text, element("span", f" {words.share(used, limit)}", class_="soft")),
        element("div", charts.bar(min(used, limit), limit, kind), class_="meter"),
    )
