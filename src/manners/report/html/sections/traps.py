"""URLs that a site generates without end."""

from manners.report.data import Report
from manners.report.html.elements import Child
from manners.report.html.parts import note, nothing
from manners.report.html.reasons import reasons_chart

ORDER = 60
TITLE = "Traps"


def content(report: Report) -> Child:
    """The kinds of traps, with the URLs."""
    if not report.traps:
        return nothing("None was found.")
    return [
        note("URLs that a site generates without end. The settings have the limits."),
        reasons_chart(report.traps, report),
    ]
