"""URLs that were not fetched, by reason; traps have a section of their own."""

from manners.report.data import Report
from manners.report.html.elements import Child
from manners.report.html.parts import nothing
from manners.report.html.reasons import reasons_chart

ORDER = 50
TITLE = "Blocked"


def content(report: Report) -> Child:
    """The reasons, with the URLs."""
    if report.blocked:
        return reasons_chart(report.blocked, report)
    only = "Only traps" if report.traps else "Nothing"
    if report.status.remaining or report.status.unread:
        return nothing(f"{only} so far; some URLs are still in the queue.")
    return nothing(f"{only}." if report.traps else "Nothing: every URL found was requested.")
