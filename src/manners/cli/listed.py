"""`manners get` of a list in a file: a crawl that follows nothing, with its state in the store.

A URL is done when its outcome is in the store, which is after its page was saved. So a run that
was interrupted or killed is resumed with what is not done. The list is read again for that: what
the store knows of it is skipped, and what is new in it is added.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from manners._text import count, duration
from manners.cli import INTERRUPTED, UNDECIDED, inputs, render
from manners.cli.fetched import PageResult, ResultCounts
from manners.cli.measures import Measures
from manners.cli.options import Options
from manners.errors import InvalidURL, StoreError, StoreTimeout
from manners.urls import page_url

if TYPE_CHECKING:
    from manners.cli.folder import PageFolder
    from manners.crawler.crawl import Crawl, CrawlView
    from manners.crawler.page import CrawledPage
    from manners.crawler.status import Status
    from manners.settings import Settings

UNLIMITED = {"max_pages": 10**12, "max_minutes": 365 * 1440.0}
"""The limits of a list, unless others are set: it ends by itself."""
_TICK, _ALL = 1.0, 100_000
"""Seconds between two looks at a run, and hosts that are looked at."""
_PROGRESS = 1_000
"""URLs after which the reading of a list is shown again."""


class ListJob(NamedTuple):
    """A list to fetch."""

    urls: inputs.UrlList
    output: Path | None
    """Where pages are saved."""
    resumes: bool
    show: Callable[[PageResult], None]
    command: str
    """What to type to resume it."""

    @property
    def name(self) -> str:
        """What the store knows it by: its file."""
        return str(Path(self.urls.source or "").resolve())


def fetch_list(job: ListJob, options: Options) -> int:
    """Fetch the pages of a list, show what came of each, and return the exit code."""
    from manners.crawler.crawl import stored_settings

    settings = options.load(defaults=UNLIMITED)
    place = settings.store or inputs.STORE
    number = _number(job.name, place, settings.server_timeout) if job.resumes else 0
    if number:  # the settings it had; options change them
        stored = stored_settings(place, number, timeout=settings.server_timeout)
        settings = options.load(stored, UNLIMITED)
    return _run(job, settings.but(store=place), number)


def _run(job: ListJob, settings: "Settings", number: int) -> int:
    from manners.cli.crawling import interruptible, read_status
    from manners.cli.folder import PageFolder
    from manners.crawler import fleet_values
    from manners.crawler.crawl import Crawl
    from manners.crawler.opening import UrlsToFetch

    wanted = job.urls.read()  # a missing file is an error before anything else
    folder = None if job.output is None else PageFolder(job.output)
    counts, progress, files = ResultCounts(), render.Progress(), dict[str, Path]()

    def keep(page: "CrawledPage") -> None:
        if folder is not None and page.ok:
            files[page.url] = folder.save(page)

    def tell(result: PageResult) -> None:  # pages here, invalid URLs in the thread that reads
        with ticker.paused():
            counts.add(result)
            job.show(result)

    saved = folder if job.resumes and not number else None  # no state: another run saved them
    measures, kept = Measures(settings), None if folder is None else keep
    crawl = Crawl(
        *([], settings),
        on_event=measures.listener,
        resume=number or False,
        keep=kept,
        listed=UrlsToFetch(job.name, _valid(wanted, tell, counts, saved, progress)),
    )
    ticker = _Ticker(crawl, progress)
    with measures, folder or nullcontext(), interruptible(crawl), ticker:
        for page in crawl:
            result = PageResult(page.url, page)
            result.file = files.pop(page.url, None)
            tell(result)
    status, place = read_status(settings, settings.store or inputs.STORE, crawl.number)
    is_read = crawl.ended == fleet_values.FINISHED
    counts.is_complete = is_read and not status.resumable
    answered = sum(status.states.get(state, 0) for state in ("done", "failed", "blocked"))
    counts.skipped["done"] = answered - counts.from_crawl
    for line in counts.summary(_hint(job.command, status), f"sent as {settings.identity}", place):
        print(line, file=sys.stderr)
    if crawl.ended == fleet_values.INTERRUPTED:
        return INTERRUPTED
    return max(counts.code, UNDECIDED if status.remaining else _exit_code(settings, crawl.number))


def _hint(command: str, status: "Status") -> str:
    """How to resume a list that ended early."""
    options = "the same options"
    if "limit" in status.ended:  # it counts for all runs of a list together
        options = "a higher --max-pages or --max-minutes"
    return f"ended early; resume with {options}: {command}"


def _number(name: str, place: str, timeout: float) -> int:
    """The number of the last list of this name in the store; 0 if there is none."""
    from manners.crawler.frontier import crawls
    from manners.store.database import Store

    try:
        with Store(place, readonly=True, timeout=timeout) as store:
            return crawls.latest_list(store, name)
    except StoreTimeout:
        raise
    except StoreError:  # there is none yet; other problems show when the crawl opens it
        return 0


def _valid(
    urls: Iterator[str],
    tell: Callable[[PageResult], None],
    counts: ResultCounts,
    saved: "PageFolder | None",
    progress: render.Progress,
) -> Iterator[str]:
    """The URLs to fetch, in normal form; invalid ones are shown, those saved before are skipped."""
    for number, url in enumerate(urls, 1):
        if not number % _PROGRESS:
            progress.say(f"reading the list: {count(number, 'URL')}")
        try:
            normal = page_url(url)
        except InvalidURL as error:
            tell(PageResult(url, error))
            continue
        if saved is not None and saved.has(normal):
            counts.skipped["saved"] += 1
            continue
        yield normal
    progress.clear()


class _Ticker:
    """Shows on a terminal how far a list is, once a second: a host may have to be waited for."""

    def __init__(self, crawl: "Crawl", progress: render.Progress) -> None:
        self._crawl, self._progress = crawl, progress
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        with self._lock:
            self._progress.clear()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time to print something else."""
        with self._lock:
            self._progress.clear()
            yield

    def _run(self) -> None:
        while not self._ended.wait(_TICK):
            line = progress_line(self._crawl.view(_ALL), time.time())
            with self._lock:
                if line and not self._ended.is_set():
                    self._progress.say(line)


def progress_line(view: "CrawlView", now: float) -> str:
    """How far a list is; empty while it is being read."""
    states = view.states
    done = sum(states.get(state, 0) for state in ("done", "failed", "blocked"))
    if not view.hosts:
        return view.waiting
    total = done + states.get("queued", 0) + states.get("leased", 0)
    activity = f"{view.running} under way"
    if view.is_stopping:
        activity = "finishing the running requests; Ctrl-C again aborts"
    elif not view.running:
        wait = min(host.until for host in view.hosts) - now
        activity = f"next request in {duration(max(wait, 0.0))}"
    return f"{done:,} of {total:,} done, {states.get('blocked', 0):,} blocked; {activity}"


def _exit_code(settings: "Settings", number: int) -> int:
    """What all runs of a list together lead to: 0 if every page was fetched."""
    from manners.crawler.frontier.summary import CrawlSummary
    from manners.store.database import Store

    place, timeout = settings.store or inputs.STORE, settings.server_timeout
    code = 0
    with Store(place, readonly=True, timeout=timeout) as store, store.reading() as connection:
        summary = CrawlSummary(connection, number)
        for kind, state, status, _, _ in summary.outcome_counts():
            if kind != "page":
                continue
            if state == "failed" and status is None:
                return UNDECIDED
            is_fine = state == "done" and (200 <= status < 300 or status == 304)
            code = code if is_fine else 1
    return code
