"""`manners get`: fetch pages, politely."""

import shlex
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from manners._text import count
from manners.cli import inputs, render
from manners.cli.fetched import PageResult, ResultCounts, print_json, print_line, print_page
from manners.cli.options import (
    ARCHIVES,
    LOGS,
    PAGES,
    JsonOption,
    Options,
    OutputOption,
    UrlsArgument,
    UrlsColumnOption,
    UrlsOption,
    takes,
)
from manners.errors import StoreError
from manners.robots.verdict import Reason, Verdict
from manners.settings.fields import STORED, WHAT, flag_of

if TYPE_CHECKING:
    from manners.cli.folder import PageFolder
    from manners.client.async_client import AsyncClient
    from manners.client.page import Page
    from manners.crawler.scheduler import Scheduler
    from manners.settings import Settings


@takes(
    *("max_pages", "max_minutes", "purpose", "unknown", "signals"),
    *(*PAGES, *ARCHIVES, "redact_query", *LOGS, "metrics_port"),
)
def command(
    urls: UrlsArgument = None,
    output: OutputOption = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with --urls FILE or -o DIR: skip what is done.",
            rich_help_panel=WHAT,
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show what would be fetched; fetch no page.",
            rich_help_panel=WHAT,
        ),
    ] = False,
    urls_from: UrlsOption = None,
    urls_column: UrlsColumnOption = None,
    no_evidence: Annotated[
        bool,
        typer.Option(
            "--no-evidence", help="Keep no evidence and no state.", rich_help_panel=STORED
        ),
    ] = False,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Fetch pages, politely and as far as robots.txt allows.

    A single page is printed; of several, each gets a line, and -o saves them. Decisions are
    recorded before each request; see manners evidence. A list in a file keeps its state in the
    store: --resume goes on with it. Exit code 0 if all were fetched, 1 if one is disallowed or
    answered with an error (404, 503, ...), 3 if one could not be fetched, 130 if interrupted.
    """
    if no_evidence and "store" in options.values:
        raise inputs.Unusable("--store and --no-evidence contradict each other")
    listed = inputs.UrlList.of(urls, urls_from, urls_column)
    is_kept = listed.is_file and not (no_evidence or dry_run)
    _refuse_without_list(is_kept, resume and output is None, options)
    if is_kept:
        from manners.cli.listed import ListJob, fetch_list

        show = print_json if json else print_line
        command = _resume_command(listed, output)
        return fetch_list(ListJob(listed, output, resume, show, command), options)
    wanted = listed.read()
    settings = options.load()
    job = _Job(
        folder=output if resume or not dry_run else None,
        resumes=resume,
        is_dry_run=dry_run,
        as_json=json,
        is_one=listed.is_one,
        hint=_resume_hint(listed, output),
    )
    place = None if no_evidence or dry_run else settings.store or inputs.STORE
    return _run(wanted, settings.but(store=place), job)


def _refuse_without_list(is_kept: bool, resumes: bool, options: Options) -> None:
    """Raise for options that need a list whose state is in the store."""
    if is_kept:
        return
    if resumes:
        raise inputs.Unusable(
            "--resume needs --urls FILE, whose state is in the store, or -o DIR with saved pages"
        )
    for name in ("max_pages", "max_minutes"):
        if name in options.values:
            raise inputs.Unusable(f"{flag_of(name)} needs --urls FILE, to be resumed later")


class _Job(NamedTuple):
    """What to do with the URLs."""

    folder: Path | None
    """Where pages are saved."""
    resumes: bool
    """Whether URLs are skipped whose pages are saved."""
    is_dry_run: bool
    as_json: bool
    is_one: bool
    """Whether one URL was given, as an argument."""
    hint: str
    """How to resume."""

    @property
    def show(self) -> "Callable[[PageResult], None]":
        """Prints a result."""
        if self.as_json:
            return print_json
        prints_page = self.is_one and self.folder is None and not self.is_dry_run
        return print_page if prints_page else print_line


def _run(urls: Iterator[str], settings: "Settings", job: _Job) -> int:
    from manners._portal import portal
    from manners.cli.folder import PageFolder
    from manners.cli.measures import Measures

    folder = None if job.folder is None else PageFolder(job.folder)
    measures = Measures(settings)
    client = inputs.open_client(settings, measures.listener)
    report = ResultCounts()

    async def fetch(url: str) -> "Page | Verdict":
        return await (client.check(url) if job.is_dry_run else client.get(url))

    try:
        if job.resumes and folder is not None:
            urls = _skip_saved(urls, folder, report)
        _fetch_all(urls, fetch, client, folder, report, job.show)
    except BrokenPipeError:  # as with `| head`: that is quiet
        report.is_read = False
        raise
    finally:
        if folder is not None:
            folder.close()
        portal.run(client.close())
        measures.close()
        if report.is_read and not job.is_one:
            place = client.evidence.place if client.evidence is not None else None
            sent = "" if job.is_dry_run else f"sent as {settings.identity}"
            for line in report.summary(job.hint, sent, place):
                print(line, file=sys.stderr)
    return report.code


def _fetch_all(
    urls: Iterator[str],
    fetch: "Callable[[str], Coroutine[Any, Any, Page | Verdict]]",
    client: "AsyncClient",
    folder: "PageFolder | None",
    report: "ResultCounts",
    show: "Callable[[PageResult], None]",
) -> None:
    """Fetch URLs; save, count and show the results as they come."""
    from manners.cli.fetching import Fetching

    fetching = Fetching(fetch, _scheduler(client), _answered)
    progress = render.Progress()

    def show_progress() -> None:
        progress.say(
            f"{fetching.done} of {fetching.read} done, {report.kinds['blocked']} blocked,"
            f" {count(fetching.hosts, 'host')} under way"
        )

    try:
        with closing(fetching.answers(urls, show_progress)) as answers:
            for url, answer in answers:
                progress.clear()
                if isinstance(answer, StoreError):  # without evidence nothing more is fetched
                    raise answer
                result = PageResult(url, answer)
                if folder is not None and result.page is not None and result.page.ok:
                    result.file = folder.save(result.page)
                report.add(result)
                show(result)
                if show is not print_page:
                    show_progress()
        report.is_complete = True
    finally:
        progress.clear()


def _scheduler(client: "AsyncClient", clock: Callable[[], float] = time.time) -> "Scheduler[str]":
    """A scheduler for the hosts of a list, at the pace that a client knows."""
    from manners.crawler.scheduler import LEAD, Scheduler

    settings = client.settings

    def pace(host: str) -> tuple[float, float]:
        delay, at = client.pace_of(host)
        # A host that is not waited for is asked at once: the client answers that it is deferred.
        is_deferred = at - clock() > settings.defer_beyond
        return delay, 0.0 if is_deferred else at - LEAD

    return Scheduler(pace, settings.slots_of, settings.connections)


def _answered(answer: "Page | Verdict") -> bool | None:
    """Whether a host answers, as far as an answer tells."""
    if isinstance(answer, Verdict) or not answer.was_allowed:
        verdict = answer if isinstance(answer, Verdict) else answer.verdict
        return None if verdict.reason is Reason.UNREACHABLE else True  # robots.txt was answered
    return answer.status is not None


def _skip_saved(urls: Iterator[str], folder: "PageFolder", report: "ResultCounts") -> Iterator[str]:
    """The URLs whose pages are not saved in a folder yet."""
    for url in urls:
        if folder.has(url):
            report.skipped["saved"] += 1
        else:
            yield url


def _resume_hint(listed: inputs.UrlList, output: Path | None) -> str:
    """What to type to resume a run that ended early."""
    if output is None:
        return (
            "ended early; --urls FILE keeps in the store what is done, -o DIR saves pages:"
            " with either, --resume skips those"
        )
    return f"ended early; resume with the same options: {_resume_command(listed, output)}"


def _resume_command(listed: inputs.UrlList, output: Path | None) -> str:
    given = ["--urls", listed.source or ""] if listed.source not in (None, "-") else []
    given += ["--urls-column", listed.column] if given and listed.column else []
    folder = [] if output is None else ["-o", str(output)]
    shown = shlex.join(["manners", "get", *given, *folder, "--resume"])
    if not given or listed.given:
        shown += " " + ("URL…" if listed.given and listed.given != ["-"] else "< LIST")
    return shown
