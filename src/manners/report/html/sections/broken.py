"""Pages that failed or were answered with an error, and where they were found."""

from manners._text import count, cut
from manners.report.data import BrokenPage, Report
from manners.report.html.elements import Child, untrusted
from manners.report.html.parts import (
    OPEN_ROWS,
    cut_notice,
    details,
    note,
    nothing,
    small,
    table,
)

ORDER = 70
TITLE = "Broken pages"

_SOURCES = {
    "link": "linked from ",
    "redirect": "redirected from ",
    "sitemap": "listed in ",
    "start": "",
}


def content(report: Report) -> Child:
    """The pages, with the status and the number of attempts."""
    broken = report.broken
    if not broken.rows:
        return nothing("There are none.")
    header = ("URL", "Status>", "Attempts>")
    pages = [
        table("Broken pages", header, map(_row, broken.rows), hide=True),
        cut_notice(broken, "page", report),
    ]
    return [
        note("Pages that failed or were answered with an error, and where each was first found."),
        pages if len(broken.rows) <= OPEN_ROWS else details(count(broken.total, "page"), pages),
    ]


def _row(page: BrokenPage) -> tuple[Child, ...]:
    found_in = small(_SOURCES.get(page.source, ""), untrusted(page.found_in))
    return (
        [
            untrusted(page.url),
            small(cut(page.reason, 160)) if page.reason else None,
            found_in if page.found_in else None,
        ],
        "" if page.status is None else str(page.status),
        f"{page.attempts:,}",
    )
