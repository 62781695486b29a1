"""Where the chain of evidence ends, and how to verify it."""

from manners.report.data import Report
from manners.report.html.elements import Child, element
from manners.report.html.parts import note

ORDER = 120
TITLE = "Evidence"


def content(report: Report) -> Child:
    """The head, and the command."""
    return [
        note(
            "Every decision was on disk before its request was sent, in a hash chain. This is the"
            " head of the chain when the report was created. Keep it elsewhere: it shows later that"
            " no earlier record was changed, inserted or removed."
        ),
        element("code", report.proof.head, class_="command"),
        note("To verify it:"),
        element("code", report.proof.verify, class_="command"),
    ]
