"""What sections are made of: tables, notes, bars, and lists that open. Quiet."""

from collections.abc import Iterable, Sequence
from typing import Any

from manners._text import count
from manners.report.data import Fetched, Listing, Report
from manners.report.html import charts
from manners.report.html.elements import Child, Element, element, untrusted

OPEN_ROWS = 12
"""A list with no more rows is open from the beginning."""


def note(*children: Child) -> Element:
    """An explanation."""
    return element("p", children, class_="note")


def nothing(text: str) -> Element:
    """What a section says that has nothing to show."""
    return element("p", text, class_="none")


def small(*children: Child) -> Element:
    """A line below a value."""
    return element("span", children, class_="sub")


def badge(text: str, kind: str) -> Element:
    """A word in a colour."""
    return element("span", text, class_=f"badge {kind}")


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[Child]], *, hide: bool = False
) -> Element:
    """A table; a heading that ends with `>` is for numbers, `|` is for bars.

    With `hide`, only screen readers have the caption.
    """
    kinds = [{">": "number", "|": "bar"}.get(name[-1:]) for name in header]
    names = [name.rstrip(">|") for name in header]
    headings = [
        element("th", name, scope="col", class_=kind) if name else element("td", class_=kind)
        for name, kind in zip(names, kinds, strict=True)
    ]
    body = [
        element(
            "tr",
            [element("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)],
        )
        for row in rows
    ]
    return element(
        "table",
        element("caption", element("span", caption, class_="hidden" if hide else None)),
        element("thead", element("tr", headings)),
        element("tbody", body),
    )


def bar_table(
    caption: str, header: tuple[str, str], rows: Sequence[tuple[Child, int, str]]
) -> Element:
    """A bar chart as a table: names, numbers, and the class of each bar."""
    most = max((number for _, number, _ in rows), default=0)
    cells = [(name, charts.bar(number, most, kind), f"{number:,}") for name, number, kind in rows]
    return table(caption, (header[0], "|", f"{header[1]}>"), cells)


def details(summary: Child, content: Child, *, is_open: bool = False) -> Element:
    """Content that opens and closes."""
    return element("details", element("summary", summary), content, open="" if is_open else None)


def cut_notice(listing: Listing[Any], thing: str, report: Report) -> Child:
    """That a list is cut, and the command that prints all of it; nothing where it is not."""
    return rows_notice(listing.total, len(listing.rows), thing, report)


def rows_notice(total: int, shown: int, thing: str, report: Report) -> Child:
    """The same, for a number of rows."""
    if total <= shown:
        return None
    text = f"The first {shown:,} of {count(total, thing)}. All of them: "
    return element("p", text, element("code", report.rest), class_="cut")


def page_cell(page: Fetched) -> Child:
    """A page: its URL, and its title below."""
    return [untrusted(page.url), small(untrusted(page.title)) if page.title else ""]


def missing_records(report: Report) -> str:
    """How many decisions have no readable record; empty where all have."""
    missing = report.proof.missing
    return f"No longer on record: {count(missing, 'decision')}." if missing else ""
