"""The pages that were fetched."""

from manners._text import count, duration
from manners.report.data import Report
from manners.report.html import words
from manners.report.html.elements import Child
from manners.report.html.parts import OPEN_ROWS, cut_notice, details, nothing, page_cell, table

ORDER = 110
TITLE = "Pages"


def content(report: Report) -> Child:
    """The pages, in the order of their requests."""
    pages = report.pages
    if not pages.rows:
        return nothing("None was fetched.")
    rows = (
        (str(page.status), page_cell(page), words.size(page.bytes), duration(page.seconds))
        for page in pages.rows
    )
    return details(
        count(pages.total, "page"),
        [
            table("Pages", ("Status", "Page", "Size>", "Time>"), rows, hide=True),
            cut_notice(pages, "page", report),
        ],
        is_open=len(pages.rows) <= OPEN_ROWS,
    )
