"""The robots.txt files as received, with the lines that decided and their problems."""

from itertools import pairwise

from manners._text import count, cut
from manners.report.data import FileLine, Report, RobotsFile
from manners.report.html import words
from manners.report.html.elements import Child, Element, element, untrusted
from manners.report.html.parts import cut_notice, missing_records, note, nothing, small, table

ORDER = 40
TITLE = "robots.txt"

_MAX_LINES = 600
"""Lines of all files that are shown."""


def content(report: Report) -> Child:
    """An excerpt of each file, and a table of those without one."""
    listing = report.robots
    if not listing.rows:
        missing = missing_records(report)
        return nothing(f"None is known. {missing}" if missing else "None was requested.")
    excerpts, rest, room = list[RobotsFile](), list[RobotsFile](), _MAX_LINES
    for file in listing.rows:
        room -= len(file.lines)
        (excerpts if file.lines and room >= 0 else rest).append(file)
    return [
        note(
            "The files as received, with the lines that decided, the number of URLs that each of"
            f" them allowed or blocked, and their problems. {missing_records(report)}"
        ),
        [_excerpt(file, number) for number, file in enumerate(excerpts)],
        table(
            "Others",
            ("robots.txt", "Decisions>"),
            (([_address(file), _facts(file)], f"{file.decisions:,}") for file in rest),
        )
        if rest
        else None,
        cut_notice(listing, "file", report),
    ]


def _address(file: RobotsFile) -> Child:
    same = f" and {count(file.sites - 1, 'other')}" if file.sites > 1 else ""
    return [untrusted(file.url), same]


def _facts(file: RobotsFile) -> Element:
    facts = file.outcome
    if file.bytes is not None:
        facts += f", {words.size(file.bytes)}, SHA-256 {file.sha256[:16]}…"
    elif file.sha256:
        facts += f", SHA-256 {file.sha256[:16]}…, which is missing"
    if not file.is_read:
        facts += "; too large to show here"
    return small(cut(facts, 200))


def _excerpt(file: RobotsFile, number: int) -> Element:
    omitted = element("li", "⋯", class_="gone")
    lines: list[Child] = [omitted] if file.lines[0].number > 1 else []
    for before, line in pairwise((None, *file.lines)):
        if line is None:
            continue
        if before is not None and line.number > before.number + 1:
            lines.append(omitted)
        lines.append(_line(line))
    if file.lines[-1].number < file.length:
        lines.append(omitted)
    caption = element("figcaption", _address(file), _facts(file), id=f"file-{number}")
    listing = element("ol", lines)
    return element("figure", caption, listing, class_="file", aria_labelledby=f"file-{number}")


def _line(line: FileLine) -> Element:
    effects: list[Child] = []
    if line.allowed:
        effects.append(element("span", f"{line.allowed:,} allowed", class_="ok-text"))
    if line.blocked:
        effects.append(element("span", f"{line.blocked:,} blocked", class_="no-text"))
    if line.problems:
        problems = ", ".join(map(words.problem, line.problems))
        effects.append(element("span", problems, class_="wrong"))
    return element(
        "li",
        element("span", element("span", "line ", class_="hidden"), str(line.number), class_="line"),
        untrusted(line.text),
        element("span", effects, class_="did") if effects else None,
        class_="decides" if line.allowed or line.blocked else None,
    )
