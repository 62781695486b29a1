"""Reasons for which URLs are blocked: a bar for each, which opens to the URLs. Quiet."""

from collections.abc import Sequence

from manners._text import count, cut
from manners.report.data import BlockedReason, BlockedURL, Report
from manners.report.html import charts, words
from manners.report.html.elements import Child, Element, element, untrusted
from manners.report.html.parts import rows_notice, small, table

_BYTES_PER_ROW = 5_000
"""Limits the page: lists with longer rows end earlier, and a page of 200 rows stays below 5 MB.
Other lists are short enough, whatever is in them."""


def reasons_chart(reasons: Sequence[BlockedReason], report: Report) -> Child:
    """The reasons, most frequent first."""
    most = max(reason.number for reason in reasons)
    room = _BYTES_PER_ROW * max(len(reason.urls) for reason in reasons)
    items = []
    for reason in reasons:
        rows = []
        for url in reason.urls:
            row = _row(url)
            room -= sum(len(cell) for cell in row)
            if room < 0:
                break
            rows.append(row)
        items.append(_reason(reason, rows, most, report))
    return element("div", items, class_="reasons")


def _reason(
    reason: BlockedReason, rows: Sequence[Sequence[Child]], most: int, report: Report
) -> Element:
    title = words.REASONS.get(reason.reason, cut(reason.reason, 80))
    summary = element(
        "summary",
        element("span", title),
        charts.bar(reason.number, most, "no"),
        element("span", count(reason.number, "URL"), class_="number"),
    )
    urls = table(title, ("URL", "Depth>"), rows, hide=True)
    return element("details", summary, urls, rows_notice(reason.number, len(rows), "URL", report))


def _row(url: BlockedURL) -> tuple[Element, str]:
    rule: Child = None
    if url.line:
        rule = [f"line {url.line}: ", untrusted(url.rule)]
    elif url.rule:
        rule = untrusted(url.rule)
    below = [
        small(rule) if rule else None,
        small("found in ", untrusted(url.found_in)) if url.found_in else None,
    ]
    return element("div", untrusted(url.url), below), str(url.depth)
