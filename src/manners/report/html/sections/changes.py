"""The robots.txt files that changed during the crawl, and what that closed and opened."""

from manners._text import count
from manners.report.data import PathChange, Report, RobotsChange
from manners.report.html import words
from manners.report.html.elements import Child, Element, element, untrusted
from manners.report.html.parts import cut_notice, note, small, table

ORDER = 45
TITLE = "Changes of robots.txt"


def content(report: Report) -> Child:
    """A table of the changes; no section if no file changed."""
    listing = report.changes
    if not listing.rows:
        return None
    return [
        note(
            "Files that changed while the crawl went on, and what that closed and opened for the"
            " crawl's agent. The examples are the shortest URLs, whether the crawl found them or"
            " not, with the lines that decide before and after."
        ),
        table(
            "Changes of robots.txt",
            ("robots.txt", "Closed", "Opened"),
            map(_row, listing.rows),
            hide=True,
        ),
        cut_notice(listing, "change", report),
    ]


def _row(change: RobotsChange) -> tuple[Child, ...]:
    same = f" and {count(change.sites - 1, 'other')}" if change.sites > 1 else ""
    place = [
        untrusted(change.url),
        same,
        small(
            "until ", untrusted(words.moment(change.last_before), 40), ": ", _file(change.before)
        ),
        small("from ", untrusted(words.moment(change.first_after), 40), ": ", _file(change.after)),
    ]
    if change.problem:
        return place, change.problem, change.problem
    nothing = _nothing(change)
    return place, _paths(change.closed) or nothing, _paths(change.opened) or nothing


def _file(sha256: str) -> str:
    return f"SHA-256 {sha256[:16]}…" if sha256 else "no robots.txt"


def _nothing(change: RobotsChange) -> Element:
    """What to say of a direction in which nothing was found."""
    return element("span", "nothing" if change.is_exact else "not decided", class_="soft")


def _paths(changes: list[PathChange]) -> Child:
    return [
        element(
            "div",
            untrusted(change.url),
            small(_rule(change.before), " → ", _rule(change.after)),
        )
        for change in changes
    ]


def _rule(rule: str) -> Child:
    return untrusted(rule) if rule else "no rule"
