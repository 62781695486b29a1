"""The page: a report as one HTML file, to be opened anywhere, printed, and handed on.

URLs that were crawled are not links. Whoever reads a report would ask a site for a page with one
click, often for the very one that it does not want asked for; and nobody would have decided that.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from manners._text import count, cut, duration, minutes
from manners.crawler.picture import charts, words
from manners.crawler.picture.elements import Child, Element, element, its, style
from manners.crawler.report import (
    Decision,
    Fetched,
    FileLine,
    HostRow,
    Listing,
    Out,
    Reason,
    Report,
    RobotsFile,
    SitemapRead,
)
from manners.crawler.status import RUNNING
from manners.crawler.timeline import Lane, TimeLine
from manners.robots.agents import product_token

_OPEN = 12
"""A list of no more rows is open from the beginning."""
_LINES = 600
"""Lines of robots.txt files that are shown in all."""
_ROOM = 5_000
"""Bytes for each row that the report may have: lists of longer ones end earlier. The other lists
are short enough, whatever is in them: a page of 200 rows stays below 5 MB."""
_PROBLEMS = 3
"""Problems of a sitemap that are shown."""
_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect width='16' height='16' rx='3' fill='%230f766e'/%3E%3Cpath d='M4 11V6m4 5V4m4 7V8'"
    " stroke='%23fff' stroke-width='2'/%3E%3C/svg%3E"
)


def page(report: Report) -> str:
    """A report as HTML."""
    sheet = _sheet()
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )
    status = report.status
    title = f"Crawl {status.crawl} of {cut(status.start, 100)}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        # Before anything that it rules.
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="robots", content="noindex, nofollow"),
        element("meta", name="generator", content=f"manners {report.version}"),
        element("title", title),
        element("link", rel="icon", href=_ICON),
        style(sheet),
    )
    parts = [(name, title, make(report)) for name, title, make in _SECTIONS]
    shown = [(name, title, made) for name, title, made in parts if made]
    body = element(
        "body",
        _beginning(report),
        element(
            "nav",
            element(
                "ul",
                [element("li", element("a", title, href=f"#{name}")) for name, title, _ in shown],
            ),
            aria_label="Parts of the report",
        ),
        element("main", [_section(name, title, made) for name, title, made in shown]),
        element(
            "footer",
            f"Made by manners {report.version} on {words.moment(report.made)} from ",
            its(report.store),
            ". This file has no scripts, loads nothing, and links nowhere.",
        ),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


@cache
def _sheet() -> str:
    return files("manners.crawler.picture").joinpath("style.css").read_text(encoding="utf-8")


# What parts are made of.


def _section(name: str, title: str, made: Child) -> Element:
    heading = element("h2", title, id=f"{name}-title")
    return element("section", heading, made, id=name, aria_labelledby=f"{name}-title")


def _note(*said: Child) -> Element:
    return element("p", said, class_="note")


def _badge(text: str, kind: str) -> Element:
    return element("span", text, class_=f"badge {kind}")


def _table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[Child]], *, hide: bool = False
) -> Element:
    """A table. A heading that ends with `>` has numbers below it, one that is `|` has bars."""
    kinds = [{">": "number", "|": "bar"}.get(name[-1:]) for name in header]
    names = [name.rstrip(">|") for name in header]
    return element(
        "table",
        element("caption", element("span", caption, class_="hidden" if hide else None)),
        element(
            "thead",
            element(
                "tr",
                [
                    element("th", name, scope="col", class_=kind)
                    if name
                    else element("td", class_=kind)
                    for name, kind in zip(names, kinds, strict=True)
                ],
            ),
        ),
        element(
            "tbody",
            [
                element(
                    "tr",
                    [
                        element("td", cell, class_=kind)
                        for cell, kind in zip(row, kinds, strict=True)
                    ],
                )
                for row in rows
            ],
        ),
    )


def _bars(caption: str, header: tuple[str, str], rows: Sequence[tuple[Child, int, str]]) -> Element:
    """A table that is its own chart."""
    most = max((number for _, number, _ in rows), default=0)
    cells = [(name, charts.bar(number, most, kind), f"{number:,}") for name, number, kind in rows]
    return _table(caption, (header[0], "|", f"{header[1]}>"), cells)


def _details(summary: Child, made: Child, *, is_open: bool = False) -> Element:
    return element("details", element("summary", summary), made, open="" if is_open else None)


def _cut(listing: Listing[Any], thing: str, report: Report) -> Child:
    """That a list goes on, and where."""
    return _more(listing.total, len(listing.rows), thing, report)


def _more(total: int, shown: int, thing: str, report: Report) -> Child:
    if total <= shown:
        return None
    said = f"The first {shown:,} of {count(total, thing)}. All of them: "
    return element("p", said, element("code", report.rest), class_="cut")


# The beginning.


def _beginning(report: Report) -> Element:
    status = report.status
    redirects = f"and {count(status.redirects, 'redirect')}" if status.redirects else ""
    left = "to be asked for" if status.left else ""
    if status.unread:
        left = f"and {count(status.unread, 'sitemap')} to be read"
    states: list[tuple[str, int, str, str]] = [
        ("Fetched", status.fetched, "ok", redirects),
        ("Failed", status.states.get("failed", 0), "bad", ""),
        ("Not asked for", status.states.get("blocked", 0), "no", ""),
        ("Left", status.left, "wait", left),
    ]
    starts = status.start.split(" ")
    more = f" and {len(starts) - 1:,} more" if len(starts) > 1 else ""
    sent = [element("strong", its(name, 120)) for name in report.user_agents or report.agents]
    tokens = {product_token(name).lower() for name in report.user_agents or report.agents}
    others = [name for name in report.agents if product_token(name).lower() not in tokens]
    read_for = [element("strong", its(name, 120)) for name in others]
    tiles = [
        element(
            "div",
            element("dt", element("span", class_=f"dot {kind}"), name),
            element("dd", f"{number:,}", element("div", said, class_="more") if said else None),
        )
        for name, number, kind, said in states
    ]
    hosts = count(status.hosts, "host")
    tiles.append(
        element(
            "div",
            element("dt", "Read"),
            element("dd", words.size(status.bytes), element("div", f"from {hosts}", class_="more")),
        )
    )
    return element(
        "header",
        element("p", f"Report of crawl {status.crawl}", class_="kicker"),
        element("h1", its(starts[0], 200), element("span", more, class_="soft") if more else None),
        element(
            "p",
            "Began on ",
            element("strong", words.moment(status.began)),
            ", ran for ",
            element("strong", duration(status.seconds)),
            " as ",
            _joined(sent),
            [", with robots.txt files read for ", _joined(read_for)] if read_for else None,
            ". It ended: " if status.ended != RUNNING else ". It is ",
            element("strong", its(status.ended, 200)),
            ".",
            class_="lead",
        ),
        element(
            "div", charts.stack((number, kind) for _, number, kind, _ in states), class_="whole"
        ),
        element("dl", tiles, class_="tiles"),
        _budget(report),
    )


def _joined(parts: Sequence[Child]) -> Child:
    return [[", " if number else None, part] for number, part in enumerate(parts)]


def _budget(report: Report) -> Element:
    budget = report.budget

    def meter(said: str, used: float, most: float) -> Element:
        kind = "no" if most and used >= 0.999 * most else "ok"
        return element(
            "div",
            element("div", said, element("span", f" {words.share(used, most)}", class_="soft")),
            element("div", charts.bar(min(used, most), most, kind), class_="meter"),
        )

    return element(
        "div",
        meter(
            f"{budget.pages:,} of {count(int(budget.max_pages), 'page')} of the budget",
            budget.pages,
            budget.max_pages,
        ),
        meter(
            f"{budget.minutes:.1f} of {minutes(budget.max_minutes)}",
            budget.minutes,
            budget.max_minutes,
        ),
        class_="budget",
    )


# The time line.


def _timeline(report: Report) -> Child:
    timeline = report.timeline
    if not timeline.lanes:
        return element("p", "Nothing was asked for.", class_="none")
    rest = timeline.hosts - len(timeline.lanes)
    pauses = [
        f"{duration(pause.seconds)} after {duration(pause.at)}" for pause in timeline.pauses[:5]
    ]
    left_out = f" Pauses are left out: {', '.join(pauses)}." if pauses else ""
    others = (
        f" These are the hosts that were asked most, without {count(rest, 'other')}."
        if rest
        else ""
    )
    return [
        _note(
            "How far apart requests to a host started, against the least delay in force: what the"
            " site asks for, and what its response times suggest. Each try counts; requests for"
            f" robots.txt do not.{left_out}{others}"
        ),
        element(
            "div",
            *(
                element("span", _sign(kind), text)
                for kind, text in (
                    ("gap", "time since the request before"),
                    ("over", "longer than there is room for"),
                    ("delay", "delay in force"),
                    ("count", "number of requests"),
                )
            ),
            class_="legend",
        ),
        [_lane(each, timeline) for each in timeline.lanes],
        element("div", element("div"), charts.axis(timeline), class_="plot", aria_hidden="true"),
        _numbers(timeline),
    ]


def _sign(kind: str) -> Element:
    """A sign of the legend."""
    sign = {
        "gap": element("circle", cx=9, cy=6, r=2.5, class_="gap"),
        "over": element("circle", cx=9, cy=6, r=2.5, class_="gap over"),
        "delay": element("line", x1=1, x2=17, y1=6, y2=6, class_="delay"),
        "count": element("rect", x=4, y=2, width=10, height=9, class_="count"),
    }[kind]
    return element("svg", sign, width=18, height=12, aria_hidden="true")


def _lane(lane: Lane, timeline: TimeLine) -> Element:
    asked = count(lane.requests, "request")
    shortest = "" if lane.shortest is None else f"shortest gap {duration(lane.shortest)}"
    delays = sorted({each.delay for each in lane.bins})
    least = duration(delays[0])
    force = f"delay {least}" if len(delays) == 1 else f"delay {least} to {duration(delays[-1])}"
    label = (
        f"{cut(lane.host, 200)}: {asked}, {shortest}, {force}. The numbers are in a table below."
    )
    most = max(each.requests for each in lane.bins)
    return element(
        "div",
        element(
            "div",
            element("h3", its(lane.host, 100)),
            *(element("span", said) for said in (asked, shortest, force) if said),
            class_="about",
        ),
        element(
            "div",
            element(
                "div",
                element("span", duration(charts.top_of(lane)), class_="upper"),
                element("span", "0", class_="lower"),
                element("span", f"max {most:,}", class_="most"),
                class_="scale",
                aria_hidden="true",
            ),
            charts.lane(lane, timeline, label),
            class_="plot",
        ),
        class_="lane",
    )


def _numbers(timeline: TimeLine) -> Element:
    """The time line for those who do not see it."""
    tables = [
        _table(
            cut(lane.host, 100),
            ("From", "Requests>", "Shortest gap>", "Delay in force>"),
            (
                (
                    words.instant(each.at, timeline.step),
                    f"{each.requests:,}",
                    "" if each.gap is None else duration(each.gap),
                    duration(each.delay),
                )
                for each in lane.bins
            ),
        )
        for lane in timeline.lanes
    ]
    summary = f"The time line in numbers, in steps of {duration(timeline.step)}"
    return element("details", element("summary", summary), tables, class_="numbers")


# Answers.


def _answers(report: Report) -> Child:
    status, times = report.status, report.times
    redirects = {"redirect": status.redirects} if status.redirects else {}
    codes: list[tuple[Child, int, str]] = []
    for what, found in (
        ("", {**status.statuses, **redirects}),
        ("failed: ", status.failures),
        ("tried again: ", status.retries),
    ):
        for name, number in [*found.items()][:_REASONS]:
            shown = its(name.removeprefix("status "), 80)
            codes.append(([what, shown], number, _kind(what or name)))
    if not codes:
        return element("p", "There were none.", class_="none")
    spans: list[tuple[Child, int, str]] = []
    for span in times.spans:
        name = "longer" if span.up_to is None else f"up to {duration(span.up_to)}"
        spans.append((name, span.number, "ok"))
    parts = [
        ("Median", times.median),
        ("90 %", times.p90),
        ("99 %", times.p99),
        ("Longest", times.longest),
    ]
    again = sum(status.retries.values())
    return [
        _note(
            "What came of the requests for pages. Those for sitemaps are not among them, nor those"
            " for robots.txt."
            + (f" {count(again, 'request')} had to be made again." if again else "")
        ),
        element(
            "div",
            element("div", _bars("Statuses", ("Status", "Requests"), codes)),
            element("div", _bars("Response times", ("Time", "Answers"), spans)),
            class_="pair",
        ),
        element(
            "dl",
            [
                element("div", element("dt", name), element("dd", duration(value)))
                for name, value in parts
            ],
            class_="tiles",
        )
        if times.answers
        else None,
        _details(
            "The slowest pages",
            _table("The slowest pages", ("Page", "Time>"), map(_slow, report.slowest), hide=True),
        )
        if report.slowest
        else None,
    ]


_REASONS = 20


def _kind(status: str) -> str:
    """The colour of a status, or of what became of a request."""
    return {"2": "ok", "r": "wait", "3": "wait", "t": "wait", "4": "no"}.get(status[:1], "bad")


def _slow(page: Fetched) -> tuple[Child, ...]:
    return _page_cell(page), duration(page.seconds)


def _page_cell(page: Fetched) -> Child:
    return [
        its(page.url),
        element("span", its(page.title), class_="sub") if page.title else "",
    ]


# Decisions.


def _decisions(report: Report) -> Child:
    decisions, proof = report.decisions, report.proof
    if not decisions.rows:
        said = _gone(report) or "There is no record of any."
        return element("p", said, class_="none")
    most = max(each.number for each in decisions.rows)
    return [
        _note(
            "What decided whether a URL, of a page or of a sitemap, may be fetched:"
            f" {count(proof.decisions, 'decision')} on record, each with its reason.",
            f" {_gone(report)}",
        ),
        _table(
            "Decisions by rule",
            ("", "Because of", "|", "URLs>"),
            (
                (
                    _badge("allowed", "ok") if each.allowed else _badge("blocked", "no"),
                    _because(each),
                    charts.bar(each.number, most, "ok" if each.allowed else "no"),
                    f"{each.number:,}",
                )
                for each in decisions.rows
            ),
            hide=True,
        ),
        _cut(decisions, "rule", report),
    ]


def _gone(report: Report) -> str:
    """How many decisions cannot be shown: somebody pruned them, or changed them."""
    missing = report.proof.missing
    return f"No longer on record: {count(missing, 'decision')}." if missing else ""


def _because(decision: Decision) -> Child:
    why = words.DECISIONS.get(decision.reason, decision.reason)
    if decision.line:
        same = f", and {count(decision.sites - 1, 'other')}" if decision.sites > 1 else ""
        where = [f"line {decision.line} of ", its(decision.robots), same]
        return [its(decision.rule), element("span", where, class_="sub")]
    if decision.rule:
        return [its(decision.rule), element("span", why, class_="sub")]
    return why


# The files.


def _robots(report: Report) -> Child:
    listing = report.robots
    if not listing.rows:
        gone = _gone(report)
        said = f"None is known. {gone}" if gone else "None was asked for."
        return element("p", said, class_="none")
    shown, rest, left = list[RobotsFile](), list[RobotsFile](), _LINES
    for each in listing.rows:
        left -= len(each.lines)
        (shown if each.lines and left >= 0 else rest).append(each)
    return [
        _note(
            "The files as they were received, with the lines that decided, how many URLs each of"
            f" them has allowed or blocked, and what is wrong with them. {_gone(report)}"
        ),
        [_file(each, number) for number, each in enumerate(shown)],
        _table(
            "Others",
            ("robots.txt", "Decisions>"),
            (([_place(each), _story(each)], f"{each.decisions:,}") for each in rest),
        )
        if rest
        else None,
        _cut(listing, "file", report),
    ]


def _place(file: RobotsFile) -> Child:
    same = f" and {count(file.sites - 1, 'other')}" if file.sites > 1 else ""
    return [its(file.url), same]


def _story(file: RobotsFile) -> Element:
    said = file.outcome
    if file.bytes is not None:
        said += f", {words.size(file.bytes)}, SHA-256 {file.sha256[:16]}…"
    elif file.sha256:
        said += f", SHA-256 {file.sha256[:16]}…, which is missing"
    if not file.is_read:
        said += "; too large to be looked at here"
    return element("span", cut(said, 200), class_="sub")


def _file(file: RobotsFile, number: int) -> Element:
    lines: list[Child] = []
    if file.lines[0].number > 1:
        lines.append(element("li", "⋯", class_="gone"))
    for before, line in pairwise((None, *file.lines)):
        if line is None:
            continue
        if before is not None and line.number > before.number + 1:
            lines.append(element("li", "⋯", class_="gone"))
        lines.append(_file_line(line))
    if file.lines[-1].number < file.length:
        lines.append(element("li", "⋯", class_="gone"))
    listed = element("ol", lines)
    caption = element("figcaption", _place(file), _story(file), id=f"file-{number}")
    return element("figure", caption, listed, class_="file", aria_labelledby=f"file-{number}")


def _file_line(line: FileLine) -> Element:
    did: list[Child] = []
    if line.allowed:
        did.append(element("span", f"{line.allowed:,} allowed", class_="ok-text"))
    if line.blocked:
        did.append(element("span", f"{line.blocked:,} blocked", class_="no-text"))
    if line.problems:
        said = ", ".join(map(words.problem, line.problems))
        did.append(element("span", said, class_="wrong"))
    return element(
        "li",
        element("span", element("span", "line ", class_="hidden"), str(line.number), class_="line"),
        its(line.text),
        element("span", did, class_="did") if did else None,
        class_="decides" if line.allowed or line.blocked else None,
    )


# What was not fetched.


def _blocked(report: Report) -> Child:
    if not report.blocked:
        return element("p", _nothing_blocked(report), class_="none")
    return _reasons(report.blocked, report)


def _nothing_blocked(report: Report) -> str:
    only = "Only traps" if report.traps else "Nothing"
    if report.status.left or report.status.unread:
        return f"{only} so far; not everything that was found has been asked for yet."
    return f"{only}." if report.traps else "Everything that was found was asked for."


def _traps(report: Report) -> Child:
    if not report.traps:
        return element("p", "None was met.", class_="none")
    return [
        _note("URLs that a site makes without end. The settings say how many are too many."),
        _reasons(report.traps, report),
    ]


def _reasons(reasons: Sequence[Reason], report: Report) -> Child:
    """A chart whose bars open: below each are its URLs."""
    most = max(each.number for each in reasons)
    room = _ROOM * max(len(each.urls) for each in reasons)
    made = []
    for each in reasons:
        rows = []
        for out in each.urls:
            row = _out_row(out)
            room -= sum(len(cell) for cell in row)
            if room < 0:
                break
            rows.append(row)
        made.append(_reason(each, rows, most, report))
    return element("div", made, class_="reasons")


def _reason(reason: Reason, rows: Sequence[Sequence[Child]], most: int, report: Report) -> Element:
    title = words.REASONS.get(reason.reason, cut(reason.reason, 80))
    summary = element(
        "summary",
        element("span", title),
        charts.bar(reason.number, most, "no"),
        element("span", count(reason.number, "URL"), class_="number"),
    )
    table = _table(title, ("URL", "Depth>"), rows, hide=True)
    return element("details", summary, table, _more(reason.number, len(rows), "URL", report))


def _out_row(out: Out) -> tuple[Element, str]:
    rule: Child = None
    if out.line:
        rule = [f"line {out.line}: ", its(out.rule)]
    elif out.rule:
        rule = its(out.rule)
    below = [
        element("span", rule, class_="sub") if rule else None,
        element("span", "named by ", its(out.found_in), class_="sub") if out.found_in else None,
    ]
    return element("div", its(out.url), below), str(out.depth)


_NAMED = {
    "link": "linked from ",
    "redirect": "redirected to by ",
    "sitemap": "listed in ",
    "start": "",
}
"""How a page came to be known, by the source of its URL."""


def _broken(report: Report) -> Child:
    broken = report.broken
    if not broken.rows:
        return element("p", "None is.", class_="none")
    table = _table(
        "Broken pages",
        ("URL", "Status>", "Tried>"),
        (
            (
                [
                    its(each.url),
                    element("span", cut(each.reason, 160), class_="sub") if each.reason else None,
                    element("span", _NAMED.get(each.source, ""), its(each.found_in), class_="sub")
                    if each.found_in
                    else None,
                ],
                "" if each.status is None else str(each.status),
                count(each.attempts, "time"),
            )
            for each in broken.rows
        ),
        hide=True,
    )
    note = _note("Answered with an error, or not at all, and the page that named each first.")
    if len(broken.rows) <= _OPEN:
        return [note, table, _cut(broken, "page", report)]
    number = count(broken.total, "page")
    return [note, _details(number, [table, _cut(broken, "page", report)])]


# Problems.


def _problems(report: Report) -> Child:
    robots = report.problems
    sitemaps = [each for each in report.sitemaps.rows if each.problems]
    return [
        element("h3", "In robots.txt"),
        [
            _table(
                "Problems in robots.txt",
                ("Line", "Problem"),
                (
                    (
                        [
                            its(each.text),
                            element("span", f"line {each.line} of ", its(each.url), class_="sub"),
                        ],
                        "; ".join(map(words.problem, each.problems)),
                    )
                    for each in robots.rows
                ),
                hide=True,
            ),
            _cut(robots, "line", report),
        ]
        if robots.rows
        else element("p", f"Nothing was found. {_gone(report)}", class_="none"),
        element("h3", "In sitemaps"),
        _table(
            "Problems in sitemaps",
            ("Sitemap", "Problem"),
            (
                (
                    its(each.url),
                    _wrong(each),
                )
                for each in sitemaps
            ),
            hide=True,
        )
        if sitemaps
        else element("p", "Nothing was found.", class_="none"),
    ]


def _wrong(sitemap: SitemapRead) -> Child:
    shown = [element("div", _problem(*each)) for each in sitemap.problems[:_PROBLEMS]]
    more = len(sitemap.problems) - len(shown)
    return [shown, element("div", f"and {more} more", class_="soft") if more > 0 else None]


def _problem(problem: str, detail: str, line: int) -> Child:
    where = f"line {line}: " if line else ""
    named = cut(problem, 80).replace("-", " ")
    return [where, named, [": ", its(detail, 100)] if detail else None]


def _sitemaps(report: Report) -> Child:
    if not report.sitemaps.rows:
        return element("p", "None was read.", class_="none")
    table = _table(
        "Sitemaps",
        ("Sitemap", "Entries>"),
        (([its(each.url), _came(each)], f"{each.entries:,}") for each in report.sitemaps.rows),
        hide=True,
    )
    return [table, _cut(report.sitemaps, "sitemap", report)]


def _came(sitemap: SitemapRead) -> Element:
    said = [str(sitemap.status) if sitemap.status else sitemap.state]
    if sitemap.form and sitemap.form != "unknown":
        said.append(cut(sitemap.form, 40))
    if sitemap.reason:
        said.append(cut(sitemap.reason, 100))
    if sitemap.problems:
        said.append(count(len(sitemap.problems), "problem"))
    return element("span", ", ".join(said), class_="sub")


def _hosts(report: Report) -> Child:
    if not report.hosts.rows:
        return element("p", "None was asked.", class_="none")
    return [
        _note("Requests for pages and sitemaps, each try; those for robots.txt are not counted."),
        _table(
            "Hosts",
            ("Host", "Requests>", "Shortest gap>", "Last delay>"),
            map(_host, report.hosts.rows),
            hide=True,
        ),
        _cut(report.hosts, "host", report),
    ]


def _host(row: HostRow) -> tuple[Child, ...]:
    read = f"{words.size(row.bytes)}, answers in {duration(row.seconds)} on average"
    return (
        [its(row.host, 100), element("span", read, class_="sub")],
        f"{row.requests:,}",
        "" if row.shortest is None else duration(row.shortest),
        duration(row.delay),
    )


def _pages(report: Report) -> Child:
    if not report.pages.rows:
        return element("p", "None was fetched.", class_="none")
    table = _table(
        "Pages",
        ("Status", "Page", "Size>", "Time>"),
        (
            (str(each.status), _page_cell(each), words.size(each.bytes), duration(each.seconds))
            for each in report.pages.rows
        ),
        hide=True,
    )
    number = count(report.pages.total, "page")
    return _details(
        number, [table, _cut(report.pages, "page", report)], is_open=len(report.pages.rows) <= _OPEN
    )


# The proof.


def _evidence(report: Report) -> Child:
    proof = report.proof
    return [
        _note(
            "Every decision was on the disk before its request left, in a chain of hashes. This is"
            " where the chain ended when the report was made; kept elsewhere, it shows later that"
            " nothing before it was changed, put in or taken out."
        ),
        element("code", proof.head, class_="command"),
        _note("To verify it:"),
        element("code", proof.verify, class_="command"),
    ]


def _settings(report: Report) -> Child:
    rows = [
        (
            element("dt", name),
            element("dd", element("code", its(_value(value), 500))),
        )
        for name, value in sorted(report.told.items())
    ]
    if not rows:
        return element("p", "All as by default.", class_="none")
    return [_note("Those that are not as by default."), element("dl", rows, class_="facts")]


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


_SECTIONS: tuple[tuple[str, str, Callable[[Report], Child]], ...] = (
    ("time", "Time line", _timeline),
    ("answers", "Answers", _answers),
    ("decisions", "Decisions", _decisions),
    ("robots", "robots.txt", _robots),
    ("blocked", "Not asked for", _blocked),
    ("traps", "Traps", _traps),
    ("broken", "Broken pages", _broken),
    ("problems", "Problems", _problems),
    ("sitemaps", "Sitemaps", _sitemaps),
    ("hosts", "Hosts", _hosts),
    ("pages", "Pages", _pages),
    ("evidence", "Evidence", _evidence),
    ("settings", "Settings", _settings),
)
