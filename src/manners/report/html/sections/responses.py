"""What came of the requests for pages, and how long responses took."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from manners._text import count, duration
from manners.report.data import Report
from manners.report.html.elements import Child, element, untrusted
from manners.report.html.parts import bar_table, details, note, nothing, page_cell, table
from manners.report.timeline import ResponseTimes

if TYPE_CHECKING:
    from manners.crawler.status import Status

ORDER = 20
TITLE = "Responses"

_MAX_ROWS = 20
_COLOURS = {"2": "ok", "r": "wait", "3": "wait", "4": "no"}
"""By the first character of a status, or of `redirect`."""


def content(report: Report) -> Child:
    """Statuses, failures and retries; response times; the slowest pages."""
    statuses, times = list(_statuses(report.status)), report.times
    if not statuses:
        return nothing("There were none.")
    retries = sum(report.status.retries.values())
    spans: list[tuple[Child, int, str]] = [
        ("longer" if span.up_to is None else f"up to {duration(span.up_to)}", span.number, "ok")
        for span in times.spans
    ]
    return [
        note(
            "Requests for pages; requests for sitemaps and robots.txt are not counted."
            + (f" {count(retries, 'request')} had to be retried." if retries else "")
        ),
        element(
            "div",
            element("div", bar_table("Statuses", ("Status", "Requests"), statuses)),
            element("div", bar_table("Response times", ("Time", "Responses"), spans)),
            class_="pair",
        ),
        _quantiles(times) if times.answers else None,
        _slowest(report) if report.slowest else None,
    ]


def _statuses(status: "Status") -> Iterator[tuple[Child, int, str]]:
    redirects = {"redirect": status.redirects} if status.redirects else {}
    for prefix, counts, colour in (
        ("", {**status.statuses, **redirects}, None),
        ("failed: ", status.failures, "bad"),
        ("retried: ", status.retries, "wait"),
    ):
        for name, number in [*counts.items()][:_MAX_ROWS]:
            label = [prefix, untrusted(name.removeprefix("status "), 80)]
            yield label, number, colour or _COLOURS.get(name[:1], "bad")


def _quantiles(times: ResponseTimes) -> Child:
    quantiles = (
        ("Median", times.median),
        ("90 %", times.p90),
        ("99 %", times.p99),
        ("Longest", times.longest),
    )
    tiles = [
        element("div", element("dt", name), element("dd", duration(value)))
        for name, value in quantiles
    ]
    return element("dl", tiles, class_="tiles")


def _slowest(report: Report) -> Child:
    rows = ((page_cell(page), duration(page.seconds)) for page in report.slowest)
    title = "The slowest pages"
    return details(title, table(title, ("Page", "Time>"), rows, hide=True))
