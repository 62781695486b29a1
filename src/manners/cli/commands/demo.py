"""`manners demo`: a site on this machine, crawled before your eyes, and what came of it judged."""

import shlex
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from manners._text import count, printable
from manners.cli import inputs, render

if TYPE_CHECKING:
    from manners.crawler.crawl import Crawl
    from manners.crawler.demo_site import Case, DemoSite, Measured, Visit
    from manners.crawler.pages import Crawled
    from manners.evidence.store import EvidenceStore
    from manners.settings import Settings

_INDENT = " " * 9


def command(
    store: Annotated[
        Path | None,
        typer.Option(
            "--store", metavar="FILE", help="Keep the evidence (default: until the demo ends)."
        ),
    ] = None,
    json: inputs.JsonOption = False,
) -> int:
    """Crawl a small site on this machine, with every case explained, and check what came of it.

    Nothing else is asked. It takes about ten seconds. Exit code 0 when everything came out as
    it should, 1 otherwise.
    """
    import tempfile

    from manners.crawler.demo_site import SETTINGS, DemoSite

    if store is not None:
        return run(DemoSite(), SETTINGS.but(store=str(store)), json)
    with tempfile.TemporaryDirectory(prefix="manners-", ignore_cleanup_errors=True) as folder:
        its = SETTINGS.but(store=str(Path(folder, "demo.db")))
        return run(DemoSite(), its, json, is_kept=False)


def run(site: "DemoSite", its: "Settings", json: bool = False, *, is_kept: bool = True) -> int:
    """Crawl the site, tell about it, and judge it; the exit code."""
    import asyncio

    from manners.cli import watching
    from manners.crawler.status import status_of
    from manners.evidence.store import EvidenceStore

    place = its.store or inputs.STORE
    number = asyncio.run(_crawl(site, its, json))
    with EvidenceStore(place, readonly=True, timeout=its.server_timeout) as store:
        status = status_of(store, number)
        outcomes = list(_outcomes(site, store, number))
        picture = None if is_kept or json else _picture(store, number)
    if json:
        for outcome in outcomes:
            print(render.as_json(outcome.to_dict(site)))
    else:
        _say("", *watching.summary(status, place if is_kept else "a temporary folder"))
        _say("", render.styled("What was to be expected, and what happened", "bold"))
        _say(*_table(outcomes), "", _verdict(outcomes), "", *_next(place, picture))
    return 0 if all(outcome.ok for outcome in outcomes) else 1


async def _crawl(site: "DemoSite", its: "Settings", json: bool) -> int:
    """Crawl the site, and tell about it as it goes; the number of the crawl."""
    from manners.crawler.crawl import Crawl
    from manners.crawler.demo_site import LIBRARY, SHOP

    async with site:
        crawl = Crawl([site.url(f"{name}/") for name in (SHOP, LIBRARY)], its)
        story = _Story(site, crawl, json)
        try:
            story.begin()
            async for page in crawl:
                story.add(page)
        finally:
            story.end()
        return crawl.number


class _Story:
    """What is told while the crawl runs."""

    def __init__(self, site: "DemoSite", crawl: "Crawl", json: bool) -> None:
        from manners.crawler.demo_site import CASES

        self._site, self._crawl, self._json = site, crawl, json
        self._progress = render.Progress()
        self._cases = [case for case in CASES if case.at]
        site.told = self._answered

    def begin(self) -> None:
        """Say what there is, and what is about to happen."""
        from manners.crawler.demo_site import LIBRARY, SETTINGS, SHOP

        self._progress.say("crawling the demo site")
        if self._json:
            return
        hosts = " and ".join(self._site.url(name) for name in (SHOP, LIBRARY))
        _say(f"A small site is running on this machine for a moment: {hosts}.")
        _say("It has two hosts, and each has a robots.txt of its own:", "")
        for name in (SHOP, LIBRARY):
            _say(render.styled(self._site.url(f"{name}/robots.txt"), "bold"))
            for number, line in enumerate(self._site.robots(name).splitlines(), 1):
                _say(f"  {number:>2}  {line}".rstrip())
            _say("")
        _say(
            f"Both are crawled now, as {SETTINGS.identity}: a line for each page, a sentence for",
            "each case. At the end of a line: how long after the request before, to the same host.",
            "It takes about ten seconds.",
            "",
        )

    def add(self, page: "Crawled") -> None:
        """A page has come."""
        from manners.cli.watching import page_line

        if not self._json:
            visit = next((each for each in self._site.log[::-1] if each.url == page.url), None)
            self._tell(f"{page_line(page)}{self._since(visit)}", page.url)
        states = self._crawl.states
        left = states["queued"] + states["leased"]
        done = count(states["done"], "page")
        self._progress.say(f"{done} done, {states['blocked']} blocked, {left} left")

    def _answered(self, visit: "Visit") -> None:
        """The server has answered; what is asked for again is no page yet."""
        from manners.crawler.demo_site import RETRY_AFTER

        if visit.status == 429 and not self._json:
            said = f"{printable(visit.url)}  Retry-After: {RETRY_AFTER}"
            self._tell(
                f"{render.styled('429', 'yellow')}      {said}{self._since(visit)}", visit.url
            )

    def _since(self, visit: "Visit | None") -> str:
        seconds = None if visit is None else self._site.since(visit)
        return "" if seconds is None else render.styled(f"  +{seconds:.2f} s", "dim")

    def _tell(self, line: str, url: str) -> None:
        self._progress.clear()
        _say(line)
        for case in [each for each in self._cases if self._site.url(each.at) == url]:
            self._cases.remove(case)
            _say(_INDENT + render.styled(case.says, "dim"))

    def end(self) -> None:
        """The crawl is over."""
        self._progress.clear()


class _Outcome(NamedTuple):
    """A case, and what came of it."""

    case: "Case"
    became: list[str]
    """Of each URL, in the order in which they are expected."""
    measured: "Measured | None"

    @property
    def ok(self) -> bool:
        is_ok = self.measured is None or self.measured.ok
        return is_ok and self.became == [said for _, said in self.case.expected]

    def to_dict(self, site: "DemoSite") -> dict[str, object]:
        """The outcome as plain values, ready for JSON."""
        rows = zip(self.case.expected, self.became, strict=True)
        return {
            "case": self.case.name,
            "ok": self.ok,
            "says": self.case.says,
            "urls": [
                {"url": site.url(short), "expected": expected, "happened": happened}
                for (short, expected), happened in rows
            ],
            "measured": self.measured.said if self.measured is not None else None,
        }


def _outcomes(site: "DemoSite", store: "EvidenceStore", number: int) -> Iterator[_Outcome]:
    from manners.crawler.demo_site import CASES, Case, fates

    found = fates(store, number, site)
    for case in CASES:
        became = [
            found[url].said if (url := site.url(short)) in found else "not found"
            for short, _ in case.expected
        ]
        measured = None if case.measure is None else case.measure(site, found)
        yield _Outcome(case, became, measured)
    for name, says, measured in (
        (
            "evidence",
            "There is a record of every decision, and none was changed.",
            _verified(store),
        ),
        ("replay", "From these records, everything is decided again, the same way.", _again(store)),
    ):
        yield _Outcome(Case(name, says, "", ()), [], measured)


def _verified(store: "EvidenceStore") -> "Measured":
    from manners.crawler.demo_site import Measured

    with closing(store.verify()) as findings:
        found = [str(finding) for finding in findings]
    records = store.head().number
    said = f"OK: {count(records, 'record')} verified, chain intact"
    return Measured(records > 0 and not found, "; ".join(found[:3]) or said)


def _again(store: "EvidenceStore") -> "Measured":
    from manners.crawler.demo_site import Measured
    from manners.evidence.record import engine
    from manners.evidence.replay import Replay

    replay = Replay(store.snapshot, engine())
    with closing(store.records()) as records:
        differences = [replay.again(record) for record in records]
    different = [str(each) for each in differences if each is not None]
    said = f"{count(len(differences), 'record')} decided again: all the same"
    return Measured(bool(differences) and not different, "; ".join(different[:3]) or said)


# What is printed at the end.


def _picture(store: "EvidenceStore", number: int) -> str:
    """A report to look at, in a file of its own that stays; returns its name."""
    import os
    import tempfile

    from manners.crawler.picture.page import page
    from manners.crawler.report import report_of

    handle, name = tempfile.mkstemp(prefix="manners-demo-", suffix=".html")
    with os.fdopen(handle, "wb") as file:
        file.write(page(report_of(store, number)).encode())
    return name


def _table(outcomes: list[_Outcome]) -> Iterator[str]:
    """A block for each case: its URLs, and what became of them."""
    wide = max(len(short) for each in outcomes for short, _ in each.case.expected)
    for outcome in outcomes:
        mark = ("ok", "green") if outcome.ok else ("NO", "red")
        name, says = outcome.case.name, outcome.case.says
        yield f"{render.styled(*mark)}  {render.styled(name, 'bold')}  {render.styled(says, 'dim')}"
        for (short, expected), happened in zip(outcome.case.expected, outcome.became, strict=True):
            said = printable(happened)
            if happened != expected:
                said = render.styled(f"{said}, and not {expected}", "red")
            yield f"      {short:<{wide}}  {said}"
        if outcome.measured is not None:
            said = printable(outcome.measured.said)
            yield f"      {said if outcome.measured.ok else render.styled(said, 'red')}"


def _verdict(outcomes: list[_Outcome]) -> str:
    wrong = [outcome.case.name for outcome in outcomes if not outcome.ok]
    if not wrong:
        return render.styled(f"All {len(outcomes)} cases came out as they should.", "green")
    said = f"{len(wrong)} of {len(outcomes)} cases did not come out as they should"
    return render.styled(f"{said}: {'; '.join(wrong)}", "red")


def _next(kept: str, picture: str | None) -> Iterator[str]:
    """What to look at, and what to type next."""
    if picture is None:
        place = printable(shlex.quote(kept))
        yield "Look at what was decided, and verify it yourself:"
        yield f"  manners evidence list --store {place}"
        yield f"  manners evidence verify --store {place}"
        yield f"  manners evidence replay --store {place}"
        yield f"  manners crawl status {place}"
        yield "See it as a picture:"
        yield f"  manners report {place}"
    else:
        yield "All of it as a picture, to open in a browser:"
        yield f"  {printable(picture)}"
        yield "Keep the evidence next time, to look at it:"
        yield "  manners demo --store demo.db"
    yield "Ask about a page, or crawl a site of your own:"
    yield "  manners check https://example.com/ --agent MyBot"
    yield "  manners crawl https://example.com/ --max-pages 20"


def _say(*lines: str) -> None:
    for line in lines:
        print(line, flush=True)
