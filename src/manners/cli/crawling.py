"""Running a crawl for `manners crawl`: progress, Ctrl-C, summary, next steps, exit code."""

import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from manners._interrupts import ENDING, handling
from manners._text import cut, printable
from manners.cli import INTERRUPTED, UNDECIDED, inputs, render
from manners.errors import StoreAway
from manners.settings.fields import flag_of

if TYPE_CHECKING:
    from manners.crawler.crawl import Crawl
    from manners.crawler.page import CrawledPage
    from manners.crawler.status import Status
    from manners.settings import Settings

_PAUSE = 0.5
"""Seconds after which a server that is away is asked again."""


def run_crawl(
    starts: list[str],
    settings: "Settings",
    resume: bool | int,
    output: Path | None,
    json: bool,
    *,
    work: bool | int = False,
) -> int:
    """Run a crawl to its end, or one worker of it, show it, and return the exit code."""
    shown = printable(cut(" ".join(starts) or "the URLs in the store", 200))
    is_live = sys.stdout.isatty() and not json
    if not json:  # before anything that takes time
        print(render.styled(f"crawling {shown} as {settings.identity}", "bold"), flush=True)
    from manners.cli import watching
    from manners.cli.folder import PageFolder
    from manners.cli.measures import Measures
    from manners.crawler.crawl import Crawl

    folder = None if output is None else PageFolder(output)

    def keep(page: "CrawledPage") -> None:
        if folder is not None and page.ok:
            folder.save(page)

    measures, kept = Measures(settings), keep if folder else None
    crawl = Crawl(starts, settings, resume=resume, keep=kept, work=work, on_event=measures.listener)
    watch, progress, warnings = watching.Watch(crawl), render.Progress(), inputs.Warnings()
    live = watch.live() if is_live else nullcontext()
    with measures, folder or nullcontext(), interruptible(crawl), live:
        for page in crawl:
            line = watch.add(page)
            if page.state == "blocked":
                warnings.about(page.verdict)
            if json:
                progress.clear()
                print(render.as_json(page.to_dict()), flush=True)
                progress.say(watch.lines()[0])
            elif not is_live:
                print(line, flush=True)
    progress.clear()
    is_interrupted = crawl.is_interrupted
    return conclude(crawl, output, json, is_interrupted=is_interrupted, is_worker=bool(work))


def conclude(
    crawl: "Crawl",
    output: Path | None,
    json: bool,
    *,
    is_interrupted: bool,
    is_worker: bool = False,
) -> int:
    """Print how a crawl stands at the end, and what to type next; returns the exit code."""
    from manners.cli import watching

    settings = crawl.settings
    status, place = _final_status(settings, crawl.number)
    if json:
        print(render.as_json({"crawl": status.to_dict()}))
    else:
        summary = watching.summary(status, place)
        print("\n".join(["", *summary, *_next_steps(status, crawl, place, output)]))
    if is_interrupted:
        return INTERRUPTED
    # A worker may have come when everything was done: that is as it should be.
    return 0 if is_worker else _exit_code(status)


def _final_status(settings: "Settings", number: int) -> "tuple[Status, str]":
    """The status of a crawl that ran; a server that is just restarted is waited for."""
    gives_up_at = time.monotonic() + settings.server_timeout
    while True:
        try:
            return read_status(settings, settings.store or inputs.STORE, number)
        except StoreAway:
            if time.monotonic() > gives_up_at:
                raise
            time.sleep(_PAUSE)


def _next_steps(status: "Status", crawl: "Crawl", place: str, output: Path | None) -> Iterator[str]:
    """What to type next."""
    where = printable(inputs.store_option(place))
    is_latest = status.crawl == status.latest
    if crawl.is_cut:
        yield (
            "some links were dropped: a page is read up to 10,000 links, a crawl up to"
            " max_discovered URLs and max_sitemaps sitemaps"
        )
    if status.resumable and not status.is_running:
        more = "" if "limit" not in status.ended else " with a higher --max-pages or --max-minutes"
        more += _not_stored(crawl.settings)
        number = "" if is_latest else f" {status.crawl}"
        folder = "" if output is None else f" -o {shlex.quote(str(output))}"
        yield f"resume{more}: manners crawl resume{number}{where}{printable(folder)}"
    yield f"verify the evidence: manners evidence verify{where}"
    option = "" if is_latest else f" --crawl {status.crawl}"
    yield f"create a report: manners report{where.replace(' --store', '', 1)}{option}"


def _not_stored(settings: "Settings") -> str:
    """Options that have to be given again, because they may hold secrets."""
    names = [name for name in ("headers", "cookie_file", "proxy") if getattr(settings, name)]
    kept_out = [name for name in ("logins", "client_certs") if getattr(settings, name)]
    flags = " and ".join([*map(flag_of, names), *(f"the setting {name}" for name in kept_out)])
    return f", and {flags} again, which the store does not have" if flags else ""


def _exit_code(status: "Status") -> int:
    if status.fetched:
        return 0
    is_undecided = status.resumable or status.lost or status.states.get("failed")
    return UNDECIDED if is_undecided else 1


class _Stoppable(Protocol):
    """What Ctrl-C stops: a crawl, or its workers."""

    def stop(self) -> None:
        """Start nothing more, and end."""

    def abort(self) -> None:
        """End at once."""


@contextmanager
def interruptible(crawl: "_Stoppable", *, is_quiet: bool = False) -> Iterator[None]:
    """Ctrl-C or SIGTERM stops the crawl gracefully; a second one aborts it."""
    signals = count()

    def stop() -> None:
        # Another signal may come in the middle of this function: exactly one of them is the first.
        if next(signals) == 0:
            crawl.stop()
            if not is_quiet:
                print("\nfinishing the running requests; Ctrl-C again aborts", file=sys.stderr)
        else:
            crawl.abort()

    with handling(stop, *ENDING):
        yield


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM ends what runs as Ctrl-C does, unless it is ignored."""

    def stop() -> None:
        raise KeyboardInterrupt

    with handling(stop, signal.SIGTERM):
        yield


def read_status(settings: "Settings", place: str, crawl: int | None = None) -> "tuple[Status, str]":
    """The status of a crawl, and its store without secrets."""
    from manners.crawler.status import status_of
    from manners.store.database import Store

    with Store(place, readonly=True, timeout=settings.server_timeout) as store:
        return status_of(store, crawl), store.place
