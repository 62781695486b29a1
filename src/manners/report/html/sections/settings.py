"""The non-default settings of the crawl."""

from typing import Any

from manners.report.data import Report
from manners.report.html.elements import Child, element, untrusted
from manners.report.html.parts import note, nothing

ORDER = 130
TITLE = "Settings"


def content(report: Report) -> Child:
    """Names and values."""
    if not report.settings:
        return nothing("All defaults.")
    rows = [
        (element("dt", name), element("dd", element("code", untrusted(_written(value), 500))))
        for name, value in sorted(report.settings.items())
    ]
    return [note("Those that are not the defaults."), element("dl", rows, class_="facts")]


def _written(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
