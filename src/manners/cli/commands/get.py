"""`manners get`: fetch pages, politely."""

import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from manners._text import count, duration, printable
from manners.cli import UNDECIDED, inputs, render
from manners.cli.options import (
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
from manners.errors import HostDeferred, InvalidURL, MannersError, StoreError
from manners.robots.verdict import Reason, Verdict
from manners.urls import origin, without_credentials

if TYPE_CHECKING:
    from manners.cli.folder import PageFolder
    from manners.client.async_client import AsyncClient
    from manners.client.page import Page
    from manners.crawler.scheduler import Scheduler
    from manners.settings import Settings

_KINDS = ("fetched", "allowed", "blocked", "failed", "deferred")
"""What a URL can count as, in the order of the summary."""
_REASONS = 20
"""How many reasons the summary lists."""


@takes(*PAGES, "redact_query", *LOGS)
def command(
    urls: UrlsArgument = None,
    output: OutputOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Skip the URLs whose pages are already saved in DIR.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be fetched; fetch no page.")
    ] = False,
    urls_from: UrlsOption = None,
    urls_column: UrlsColumnOption = None,
    no_evidence: Annotated[
        bool, typer.Option("--no-evidence", help="Keep no evidence of the decisions.")
    ] = False,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Fetch pages, politely and as far as robots.txt allows.

    A single page is printed; of several, each gets a line, and -o saves them. Decisions are
    recorded before each request; see `manners evidence`. Exit code 0 if all were fetched, 1 if one
    is disallowed or answered with an error (404, 503, ...), 3 if one could not be fetched, 130 if
    interrupted.
    """
    if resume and output is None:
        raise inputs.Unusable("--resume needs -o DIR: it skips the pages that are saved there")
    if no_evidence and "store" in options.values:
        raise inputs.Unusable("--store and --no-evidence contradict each other")
    listed = inputs.UrlList.of(urls, urls_from, urls_column)
    wanted = listed.read()
    settings = options.load()
    job = _Job(
        folder=output if resume or not dry_run else None,
        resumes=resume,
        is_dry_run=dry_run,
        as_json=json,
        is_one=listed.is_one,
        hint=_resume_hint(urls or [], urls_from, output),
    )
    place = None if no_evidence or dry_run else settings.store or inputs.STORE
    return _run(wanted, settings.but(store=place), job)


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
    def show(self) -> "Callable[[_Result], None]":
        """Prints a result."""
        if self.as_json:
            return _print_json
        prints_page = self.is_one and self.folder is None and not self.is_dry_run
        return _print_page if prints_page else _print_line


def _run(urls: Iterator[str], settings: "Settings", job: _Job) -> int:
    from manners._portal import portal
    from manners.cli.folder import PageFolder

    folder = None if job.folder is None else PageFolder(job.folder)
    client = inputs.open_client(settings)
    report = _Report()

    async def fetch(url: str) -> "Page | Verdict":
        return await (client.check(url) if job.is_dry_run else client.get(url))

    try:
        if job.resumes and folder is not None:
            urls = _skip_saved(urls, folder, report)
        _fetch_all(urls, fetch, client, folder, report, job.show)
    finally:
        if folder is not None:
            folder.close()
        portal.run(client.close())
        if not job.is_one:
            place = client.evidence.place if client.evidence is not None else None
            sent = "" if job.is_dry_run else f"sent as {settings.identity}"
            for line in _summary(report, job.hint, sent, place):
                print(line, file=sys.stderr)
    return report.code


def _fetch_all(
    urls: Iterator[str],
    fetch: "Callable[[str], Coroutine[Any, Any, Page | Verdict]]",
    client: "AsyncClient",
    folder: "PageFolder | None",
    report: "_Report",
    show: "Callable[[_Result], None]",
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
                result = _Result(url, answer)
                if folder is not None and result.page is not None and result.page.ok:
                    result.file = folder.save(result.page)
                report.add(result)
                show(result)
                if show is not _print_page:
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


def _summary(report: "_Report", hint: str, sent: str, place: str | None) -> Iterator[str]:
    yield from report.lines()
    if not report.is_complete:
        yield printable(hint)
    if report.kinds and sent:
        yield sent
    if report.is_recorded and place is not None:
        yield _evidence_line(place)


def _skip_saved(urls: Iterator[str], folder: "PageFolder", report: "_Report") -> Iterator[str]:
    """The URLs whose pages are not saved in a folder yet."""
    for url in urls:
        if folder.has(url):
            report.skipped += 1
        else:
            yield url


def _resume_hint(urls: list[str], urls_from: str | None, output: Path | None) -> str:
    """What to type to resume a run that ended early."""
    if output is None:
        return "ended early; with -o DIR pages are saved, and --resume skips those"
    given = ["--urls", urls_from] if urls_from not in (None, "-") else []
    words = [*given, "-o", str(output), "--resume"]
    shown = shlex.join(["manners", "get", *map(str, words)])
    if not given or urls:
        shown += " " + ("URL…" if urls and urls != ["-"] else "< LIST")
    return f"ended early; resume with the same options: {shown}"


def _evidence_line(place: str) -> str:
    option = inputs.store_option(place)
    return printable(f"evidence: {place}; check it with: manners evidence verify{option}")


class _Result:
    """What came of a URL, in words, and where it was saved."""

    def __init__(self, url: str, answer: "Page | Verdict | MannersError") -> None:
        self.url = without_credentials(url)
        self.error = answer if isinstance(answer, MannersError) else None
        self.page = None if isinstance(answer, Verdict | MannersError) else answer
        self.verdict = answer if isinstance(answer, Verdict) else None
        """The verdict of a dry run, which has no page."""
        self.file: Path | None = None
        self.kind, self.label, self.detail, self.code = _described(answer)


class _Described(NamedTuple):
    """An answer in words."""

    kind: str
    """What it counts as: one of `_KINDS`."""
    label: str
    """The status, where there is one; else the kind, or more exactly what is wrong."""
    detail: str
    code: int
    """The exit code that it leads to."""


def _described(answer: "Page | Verdict | MannersError") -> _Described:
    if isinstance(answer, InvalidURL):
        return _Described("failed", "invalid-url", answer.problem, UNDECIDED)
    if isinstance(answer, MannersError):
        kind = "deferred" if isinstance(answer, HostDeferred) else "failed"
        return _Described(kind, kind, printable(str(answer)), UNDECIDED)
    verdict = answer if isinstance(answer, Verdict) else answer.verdict
    if not verdict.allowed:
        return _Described("blocked", "blocked", render.because(verdict), 1)
    if isinstance(answer, Verdict):
        return _Described("allowed", "allowed", "", 0)
    return _described_page(answer)


def _described_page(page: "Page") -> _Described:
    """A page that was allowed, in words."""
    if page.status is None:
        detail = f"{page.cause}: {page.detail}" if page.detail else page.cause
        return _Described("failed", "no-answer", detail, UNDECIDED)
    kind = "failed" if page.cause or page.server_failed else "fetched"
    if not page.complete:
        return _Described(kind, str(page.status), "truncated: larger than the limit of a page", 1)
    if page.ok or page.not_modified:
        return _Described(kind, str(page.status), "", 0)
    return _Described(kind, str(page.status), page.cause, 1)


def _print_line(result: _Result) -> None:
    # Somebody may be waiting for the answer before asking the next question: flush.
    print(_line(result), flush=True)


def _line(result: _Result) -> str:
    """A result on one line."""
    if result.verdict is not None:
        return render.verdict_line(result.verdict)
    if isinstance(result.error, InvalidURL):
        return render.invalid_line(result.error)
    colour = {0: "green", 1: "red"}.get(result.code, "yellow")
    return f"{render.styled(f'{result.label:<9}', colour)}  {_details(result)}"


def _details(result: _Result) -> str:
    page, parts = result.page, [printable(result.url)]
    if page is not None and len(page.hops) > 1:
        parts[0] += f" -> {page.final_url}"
    if page is not None and page.status is not None:
        parts += [count(len(page.body), "byte"), duration(page.seconds)]
    return "  ".join(filter(None, [*parts, result.detail, printable(str(result.file or ""))]))


def _print_json(result: _Result) -> None:
    print(_as_json(result), flush=True)


def _as_json(result: _Result) -> str:
    if result.verdict is not None:
        return render.as_json(result.verdict.to_dict())
    if result.page is not None:
        file = {} if result.file is None else {"file": str(result.file)}
        return render.as_json(result.page.to_dict() | file)
    until = {"until": result.error.until} if isinstance(result.error, HostDeferred) else {}
    values = {"allowed": None, "reason": result.label, "url": result.url, "problem": result.detail}
    return render.as_json(values | until)


def _print_page(result: _Result) -> None:
    """Print the body to standard output, and the line about it to standard error."""
    print(f"{result.label:<9}  {_details(result)}", file=sys.stderr, flush=True)
    page = result.page
    if page is None or not page.body:
        return
    if not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(page.body)
        sys.stdout.buffer.flush()
    elif "\0" in page.text:
        raise inputs.Unusable("not text, and not for a terminal: -o DIR saves it, > FILE writes it")
    else:
        print(render.printable_text(page.text), end="", flush=True)


class _Report:
    """Counts what came of all URLs, and why."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.code = 0
        self.is_recorded = False
        """Whether there is evidence of anything."""
        self.is_complete = False
        """Whether every URL of the list was read and answered."""
        self.skipped = 0
        """URLs whose pages were saved before."""
        self._reasons: Counter[tuple[str, str]] = Counter()
        self._warnings = inputs.Warnings()

    def add(self, result: _Result) -> None:
        """Count a result, and warn about sites whose robots.txt or address is unusual."""
        page = result.page
        self.kinds[result.kind] += 1
        self.code = max(self.code, result.code)
        verdicts = [] if result.verdict is None else [result.verdict]
        if page is not None:
            verdicts = [hop.verdict for hop in page.hops]
            self.is_recorded |= page.evidence_id is not None
            if page.cause == "refused address":
                self._warnings.say(origin(page.final_url), inputs.REFUSED)
        for verdict in verdicts:
            self._warnings.about(verdict)
        if result.code:
            site = origin(verdicts[-1].url) if result.kind == "blocked" else ""
            label = "" if result.label == result.kind else result.label
            reason = "  ".join(filter(None, (site, label, result.detail)))
            self._reasons[result.kind, reason] += 1

    def lines(self) -> Iterator[str]:
        """The counts, and the reasons for failures, the most frequent first."""
        counts = [f"{self.kinds[kind]:,} {kind}" for kind in _KINDS if self.kinds[kind]]
        if self.skipped:
            counts.append(f"{self.skipped:,} skipped: saved before")
        if counts:
            yield ", ".join(counts)
        for (kind, reason), number in self._reasons.most_common(_REASONS):
            yield f"  {number:,} {kind}: {reason}"
        if len(self._reasons) > _REASONS:
            yield f"  and {count(len(self._reasons) - _REASONS, 'other reason')}"
