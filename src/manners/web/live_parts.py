"""The parts of the page of a crawl, as markup: each changes by itself while somebody watches.

They are made of the elements of the report, where whatever is not an element is text.
"""

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlencode

from manners._text import count, cut, duration, minutes
from manners.crawler.frontier.values import place_of
from manners.crawler.status import RUNNING, WAITING
from manners.errors import InvalidURL
from manners.report.data import Fetched
from manners.report.html import charts, words
from manners.report.html.elements import Child, Element, element, untrusted
from manners.report.html.parts import badge, nothing, small, table
from manners.report.looking import LiveCrawl

_WORKERS = 32
"""Workers that are shown: those that live, and the last ones that do not."""
_HOST_KINDS = {"asked": "ok", "backing off": "bad", "waiting": "wait", "due": "wait"}
_MAX_LINK = 2_000
"""Characters of a URL from which on it is cut, and no link can be made of it."""


class Controls(NamedTuple):
    """What a visitor may do with crawls."""

    is_allowed: bool
    """Whether the service was started with `--control`."""
    is_starting: bool
    """Whether a process of this service is working on the crawl."""
    problem: str
    """Why the last resume failed."""


def parts(view: LiveCrawl, controls: Controls) -> dict[str, Element]:
    """Each part by its name."""
    return {
        "state": element("div", _state(view, controls)),
        "totals": element("div", _totals(view)),
        "hosts": element("div", _hosts(view)),
        "workers": element("div", _workers(view)),
        "blocked": element("div", _blocked(view)),
        "errors": element("div", _errors(view)),
        "latest": element("div", _pages(view, view.outcomes.latest, "Latest pages")),
        "slowest": element("div", _pages(view, view.outcomes.slowest, "Slowest pages")),
    }


def is_live(view: LiveCrawl, controls: Controls) -> bool:
    """Whether anything may change."""
    return view.progress.is_running or controls.is_starting or view.progress.ended == WAITING


def page_link(crawl: int, url: str, limit: int = 160) -> Element:
    """A URL of a crawl as a link to what is known of it; never to the URL itself."""
    if len(url) >= _MAX_LINK or url.endswith("?…"):
        return untrusted(url, limit)
    try:
        host, digest = place_of(url)
    except (InvalidURL, UnicodeError):
        return untrusted(url, limit)
    return element("a", untrusted(url, limit), href=page_address(crawl, host, digest))


def page_address(crawl: int, host: str, digest: str) -> str:
    """Where a URL of a crawl is shown."""
    return f"/crawls/{crawl}/page?{urlencode({'host': host, 'key': digest})}"


# State and controls.


def _state(view: LiveCrawl, controls: Controls) -> Iterable[Child]:
    progress = view.progress
    if view.problem:
        yield element(
            "p", f"The store cannot be read now: {cut(view.problem, 300)}.", class_="trouble"
        )
    if controls.problem:
        yield element("p", f"It was not resumed: {cut(controls.problem, 500)}", class_="trouble")
    living = sum(worker.ended == RUNNING for worker in progress.workers)
    word, kind = progress.ended, "wait"
    if progress.is_stopping:
        word, kind = "finishing the running requests", "no"
    elif progress.is_running:
        word, kind = f"running, with {count(living, 'worker')}", "ok"
    elif controls.is_starting:
        word, kind = "starting", "ok"
    yield element(
        "p",
        badge(cut(word, 120), kind),
        f" for {duration(progress.seconds)}, since {words.moment(progress.began)}",
        class_="state",
    )
    if controls.is_allowed:
        yield from _forms(view, controls)


def _forms(view: LiveCrawl, controls: Controls) -> Iterable[Child]:
    progress = view.progress
    if progress.is_stopping or (controls.is_starting and not progress.is_running):
        return
    if progress.is_running:
        yield _form(progress.crawl, "stop", "Stop", "Requests that are under way are finished.")
    elif view.outcomes.status.resumable:
        note = (
            "It goes on with the settings that are stored with it: without --output, and without"
            " headers, cookies and a proxy, which may hold secrets."
        )
        yield _form(progress.crawl, "resume", "Resume", note)


def _form(crawl: int, action: str, title: str, note: str) -> Element:
    return element(
        "form",
        element("button", title),
        element("span", note, class_="soft"),
        method="post",
        action=f"/crawls/{crawl}/{action}",
        class_="control",
    )


# Numbers.


def _totals(view: LiveCrawl) -> Iterable[Child]:
    progress = view.progress
    states = progress.states
    totals = (
        ("Answered", states.get("done", 0), "ok", "done"),
        ("Failed", states.get("failed", 0), "bad", "failed"),
        ("Blocked", states.get("blocked", 0), "no", "blocked"),
        ("Queued", states.get("queued", 0), "wait", "queued"),
    )
    yield element(
        "div", charts.stack((number, kind) for _, number, kind, _ in totals), class_="whole"
    )
    tiles: list[Child] = []
    for name, number, kind, state in totals:
        address = f"/crawls/{progress.crawl}/pages?state={state}"
        value = element("a", f"{number:,}", href=address) if number else "0"
        dot = element("span", class_=f"dot {kind}")
        tiles.append(element("div", element("dt", dot, name), element("dd", value)))
    tiles.append(_tile("Downloaded", words.size(progress.bytes), _byte_rate(view)))
    tiles.append(_tile("Requests a second", *_request_rate(view)))
    yield element("dl", tiles, class_="tiles")
    budget = progress.budget
    pages = f"{budget.pages:,} of {count(budget.max_pages, 'page')} of the budget"
    time = f"{progress.seconds / 60:.1f} of {minutes(budget.max_minutes)}"
    yield element(
        "div",
        _meter(pages, budget.pages, budget.max_pages),
        _meter(time, progress.seconds / 60, budget.max_minutes),
        class_="budget",
    )


def _tile(name: str, value: str, more: str) -> Element:
    remark = element("div", more, class_="more") if more else None
    return element("div", element("dt", name), element("dd", value, remark))


def _byte_rate(view: LiveCrawl) -> str:
    if view.rate is None or not view.progress.is_running:
        return ""
    return f"{words.size(round(view.rate.bytes))} a second"


def _request_rate(view: LiveCrawl) -> tuple[str, str]:
    progress = view.progress
    average = progress.budget.pages / progress.seconds if progress.seconds > 0 else 0.0
    if view.rate is None or not progress.is_running:
        return f"{average:.1f}", "on average"
    return f"{view.rate.requests:.1f}", f"{average:.1f} on average"


def _meter(text: str, used: float, limit: float) -> Element:
    kind = "no" if limit and used >= 0.999 * limit else "ok"
    share = element("span", f" {words.share(used, limit)}", class_="soft")
    bar = element("div", charts.bar(min(used, limit), limit, kind), class_="meter")
    return element("div", element("div", text, share), bar)


# Hosts and workers.


def _hosts(view: LiveCrawl) -> Iterable[Child]:
    progress = view.progress
    hosts = progress.hosts
    kinds = (
        (f"{hosts.asked:,} asked now", hosts.asked),
        (f"{hosts.backing_off:,} backing off", hosts.backing_off),
        (f"{hosts.waiting:,} waiting", hosts.waiting),
        (f"{hosts.due:,} due", hosts.due),
        (f"{hosts.finished:,} with nothing queued", hosts.finished),
    )
    known = ", ".join(text for text, number in kinds if number)
    yield element("p", f"{count(hosts.total, 'host')}: {known}." if known else "None yet.")
    if not progress.active:
        return
    rows = [
        (
            untrusted(host.host, 80),
            badge(host.state, _HOST_KINDS.get(host.state, "wait")),
            "" if host.delay is None else duration(host.delay),
            f"in {duration(host.wait)}" if host.wait > 0 else "now",
            f"{host.queued:,}" + ("+" if host.queued >= 10_000 else ""),
        )
        for host in progress.active
    ]
    yield table("Hosts", ("Host", "State", "Delay>", "Next request>", "Queued>"), rows, hide=True)


def _workers(view: LiveCrawl) -> Child:
    workers = sorted(view.progress.workers, key=lambda worker: worker.ended != RUNNING)
    if not workers:
        return nothing("None has joined.")
    rows = [
        (
            [f"{worker.worker}", small(untrusted(worker.name, 60))],
            badge(cut(worker.ended, 40), "ok" if worker.ended == RUNNING else "wait"),
            f"{worker.requests:,}",
            f"{worker.failed:,}",
            words.size(worker.bytes),
        )
        for worker in workers[:_WORKERS]
    ]
    header = ("Worker", "State", "Requests>", "Failed>", "Downloaded>")
    more = len(workers) - len(rows)
    rest = element("p", f"And {more:,} more.", class_="cut") if more else None
    return [table("Workers", header, rows, hide=True), rest]


# What became of pages.


def _blocked(view: LiveCrawl) -> Iterable[Child]:
    status = view.outcomes.status
    if not status.blocked:
        yield nothing("Nothing so far.")
        return
    most = max(blocked.number for blocked in status.blocked)
    rows: list[tuple[Child, ...]] = []
    for blocked in status.blocked:
        name: list[Child] = [words.REASONS.get(blocked.reason, cut(blocked.reason, 80))]
        if blocked.line:
            name.append(small(f"line {blocked.line}: ", untrusted(blocked.rule)))
        elif blocked.rule:
            name.append(small(untrusted(blocked.rule)))
        bar = charts.bar(blocked.number, most, "no")
        rows.append((name, bar, f"{blocked.number:,}"))
    yield table("Blocked, by rule", ("Rule", "|", "URLs>"), rows, hide=True)
    if status.reasons > len(rows):
        yield element("p", f"And {status.reasons - len(rows):,} other rules.", class_="cut")


def _errors(view: LiveCrawl) -> Iterable[Child]:
    progress, status = view.progress, view.outcomes.status
    answers = [
        *(
            (name, number, "ok" if name < "400" else "bad")
            for name, number in status.statuses.items()
        ),
        *([("redirects", status.redirects, "wait")] if status.redirects else []),
        *((name, number, "bad") for name, number in status.failures.items()),
    ]
    if not answers:
        yield nothing("None so far.")
    else:
        most = max(number for _, number, _ in answers)
        rows = [
            (untrusted(name, 80), charts.bar(number, most, kind), f"{number:,}")
            for name, number, kind in answers[:20]
        ]
        yield table("Answers and failures", ("Answer", "|", "Pages>"), rows, hide=True)
    if progress.retries:
        yield element("h3", "Asked again")
        retried = [
            (page_link(progress.crawl, retry.url), untrusted(retry.why, 60), _ago(retry.ago))
            for retry in progress.retries
        ]
        yield table("Asked again, the latest first", ("URL", "Why", "When>"), retried, hide=True)


def _ago(seconds: float) -> str:
    return f"{duration(max(seconds, 0.0))} ago"


def _pages(view: LiveCrawl, pages: Iterable[Fetched], title: str) -> Child:
    rows = [
        (
            [
                page_link(view.progress.crawl, page.url),
                small(untrusted(page.title)) if page.title else "",
            ],
            badge(str(page.status), "ok" if page.status < 400 else "bad"),
            words.size(page.bytes),
            duration(page.seconds),
        )
        for page in pages
    ]
    if not rows:
        return nothing("None so far.")
    return table(title, ("URL", "Status", "Size>", "Took>"), rows, hide=True)
