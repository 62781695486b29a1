"""`manners demo`: crawl a small site on this machine, with every case explained and checked."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manners._text import count
from manners.cli import inputs, render
from manners.cli.options import JsonOption

if TYPE_CHECKING:
    from manners.crawler.crawl import Crawl
    from manners.crawler.page import CrawledPage
    from manners.demo.site import DemoRequest, DemoSite
    from manners.settings import Settings


def command(
    store: Annotated[
        Path | None,
        typer.Option(
            "--store", metavar="FILE", help="Keep the store (default: deleted when the demo ends)."
        ),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Crawl a small site on this machine, with every case explained, and check the results.

    No other site is asked. It takes about ten seconds. Exit code 0 when every case came out as
    expected, 1 otherwise.
    """
    import tempfile

    from manners.demo.site import SETTINGS, DemoSite

    if store is not None:
        return run(DemoSite(), SETTINGS.but(store=str(store)), json)
    with tempfile.TemporaryDirectory(prefix="manners-", ignore_cleanup_errors=True) as folder:
        settings = SETTINGS.but(store=str(Path(folder, "demo.db")))
        return run(DemoSite(), settings, json, is_kept=False)


def run(site: "DemoSite", settings: "Settings", json: bool = False, *, is_kept: bool = True) -> int:
    """Crawl the site and check the results; returns the exit code."""
    import asyncio

    from manners.cli import watching
    from manners.crawler.status import status_of
    from manners.demo.outcomes import case_outcomes
    from manners.demo.running import crawl_site, report_html
    from manners.demo.story import next_steps, results
    from manners.evidence.store import EvidenceStore

    teller, place = _Teller(site, json), settings.store or inputs.STORE
    try:
        number = asyncio.run(crawl_site(site, settings, teller.start, teller.page))
    finally:
        teller.end()
    with EvidenceStore(place, readonly=True, timeout=settings.server_timeout) as store:
        status = status_of(store, number)
        outcomes = list(case_outcomes(site, store, number))
        html = None if is_kept or json else report_html(store, number)
    if json:
        _say(render.as_json(outcome.to_dict(site)) for outcome in outcomes)
    else:
        _say(["", *watching.summary(status, place if is_kept else "a temporary folder"), ""])
        _say([*results(outcomes, render.styled), ""])
        _say(next_steps(place, None if html is None else _saved(html)))
    return 0 if all(outcome.ok for outcome in outcomes) else 1


class _Teller:
    """Prints the story while the crawl runs; with `json`, only its progress."""

    def __init__(self, site: "DemoSite", json: bool) -> None:
        from manners.demo.story import Story

        self._story, self._json = Story(site, render.styled), json
        self._progress = render.Progress()
        site.on_response = self._response

    def start(self) -> None:
        """The site is running."""
        self._progress.say("crawling the demo site")
        self._print(self._story.introduction())

    def page(self, page: "CrawledPage", crawl: "Crawl") -> None:
        """A page is finished."""
        from manners.cli.watching import page_line

        self._print(self._story.page(page_line(page), page.url))
        states = crawl.states
        remaining = states["queued"] + states["leased"]
        done = count(states["done"], "page")
        self._progress.say(f"{done} done, {states['blocked']} blocked, {remaining} left")

    def _response(self, request: "DemoRequest") -> None:
        if request.status == 429:
            self._print(self._story.refusal(request))

    def _print(self, lines: Iterable[str]) -> None:
        if not self._json:
            self._progress.clear()
            _say(lines)

    def end(self) -> None:
        """The crawl is over."""
        self._progress.clear()


def _saved(html: bytes) -> str:
    """Save a report in a temporary file that stays; returns its name."""
    import os
    import tempfile

    handle, name = tempfile.mkstemp(prefix="manners-demo-", suffix=".html")
    with os.fdopen(handle, "wb") as file:
        file.write(html)
    return name


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)
