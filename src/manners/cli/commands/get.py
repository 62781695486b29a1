"""`manners get`: fetch pages, politely."""

import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from manners._text import count, cut, printable
from manners.cli import UNDECIDED, inputs, render
from manners.errors import HostDeferred, InvalidURL, MannersError, StoreError
from manners.robots.verdict import Verdict
from manners.urls import origin, without_credentials

if TYPE_CHECKING:
    from manners.cli.folder import PageFolder
    from manners.page import Page

_KINDS = ("fetched", "allowed", "blocked", "failed", "deferred")
"""What a URL can count as, in the order of the summary."""
_REASONS = 20
"""How many reasons the summary lists."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
_OURS = {
    *("accept-encoding", "connection", "content-length", "expect", "host", "te", "trailer"),
    *("transfer-encoding", "upgrade", "user-agent"),
}
"""Headers that are not the user's to set: verdict, identity and decompression rest on them."""


def command(
    urls: inputs.UrlsArgument = None,
    output: inputs.OutputOption = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Skip the URLs whose pages are saved in -o DIR already."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be fetched, and fetch no page.")
    ] = False,
    agent: inputs.AgentOption = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            metavar="'NAME: VALUE'",
            help="Sent with the requests for pages; may be given several times.",
        ),
    ] = None,
    dialect: inputs.LiveDialectOption = None,
    profile: inputs.ProfileOption = None,
    like: inputs.LikeOption = None,
    urls_from: inputs.UrlsOption = None,
    allow_private: inputs.AllowPrivateOption = None,
    timeout: inputs.PageTimeoutOption = None,
    user_agent: inputs.UserAgentOption = None,
    cache: inputs.CacheOption = None,
    politeness: inputs.PolitenessOption = None,
    store: inputs.StoreOption = None,
    no_evidence: Annotated[
        bool, typer.Option("--no-evidence", help="Keep no evidence of what was decided.")
    ] = False,
    redact_query: inputs.RedactQueryOption = None,
    config: inputs.ConfigOption = None,
    log_level: inputs.LogLevelOption = None,
    log_format: inputs.LogFormatOption = None,
    log_matches: inputs.LogMatchesOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """Fetch pages, as far as robots.txt allows and as fast as their sites like it.

    One page is printed; of several there is a line each, and -o saves them; --resume then skips
    what is saved. What was decided is recorded before each request, see `manners evidence`. Exit
    code 0 when all were fetched with success, 1 when one is disallowed or was answered with an
    error (404, 503, ...), 3 when one could not be asked for, 130 when it was interrupted.
    """
    if resume and output is None:
        raise inputs.Unusable("--resume goes by the pages that are saved: -o DIR is needed")
    if no_evidence and store is not None:
        raise inputs.Unusable("--store and --no-evidence contradict each other")
    given = urls or ([] if urls_from is not None else ["-"])
    wanted, headers = inputs.all_urls(given, urls_from), _headers(header or [])
    settings = inputs.load_settings(
        config,
        like,
        page_timeout=timeout,
        agent=agent,
        dialect=dialect,
        profile=profile,
        allow_private=allow_private,
        user_agent=user_agent,
        cache=cache,
        politeness=politeness,
        store=store,
        redact_query=redact_query,
        log_level=log_level,
        log_format=log_format,
        log_matches=log_matches,
    )
    from manners._portal import portal
    from manners.cli.fetching import Fetching
    from manners.cli.folder import PageFolder

    folder = None if output is None or (dry_run and not resume) else PageFolder(output)
    place = None if no_evidence or dry_run else settings.store or inputs.STORE
    client = inputs.open_client(settings.but(store=place))

    async def ask(url: str) -> "Page | Verdict":
        return await (client.check(url) if dry_run else client.get(url, headers))

    def slots(host: str) -> int:
        own = settings.hosts.get(host)
        return (own.concurrency if own else None) or settings.concurrency

    is_one = len(given) == 1 and given != ["-"] and urls_from is None
    fetching, report, progress = Fetching(ask, slots), _Report(), render.Progress()
    wanted = _without(wanted, folder if resume else None, report)

    def waiting() -> None:
        progress.say(
            f"{fetching.done} of {fetching.read} done, {report.kinds['blocked']} blocked,"
            f" {count(fetching.hosts, 'host')} under way"
        )

    try:
        with closing(fetching.answers(wanted, waiting)) as answers:
            for url, answer in answers:
                progress.clear()
                if isinstance(answer, StoreError):  # without evidence nothing more is fetched
                    raise answer
                result = _Result(url, answer)
                if folder is not None and result.page is not None and result.page.ok:
                    result.file = folder.save(result.page)
                report.add(result)
                if is_one and not (output or dry_run or json):
                    _print_page(result)
                    continue
                # Somebody may be waiting for the answer before asking the next question.
                print(_as_json(result) if json else _line(result), flush=True)
                waiting()
        report.is_whole = True
    finally:
        progress.clear()
        if folder is not None:
            folder.close()
        portal.run(client.close())
        if not is_one:
            place = client.evidence.place if client.evidence is not None else None
            again = _resume_line(urls or [], urls_from, output)
            sent = "" if dry_run else f"sent as {settings.identity}"
            for line in _summary(report, again, sent, place):
                print(line, file=sys.stderr)
    return report.code


def _summary(report: "_Report", again: str, sent: str, place: str | None) -> Iterator[str]:
    yield from report.lines()
    if not report.is_whole:
        yield printable(again)
    if report.kinds and sent:
        yield sent
    if report.is_recorded and place is not None:
        yield _evidence_line(place)


def _without(
    wanted: Iterator[str], folder: "PageFolder | None", report: "_Report"
) -> Iterator[str]:
    """The URLs whose pages are not saved in a folder yet."""
    for url in wanted:
        if folder is not None and folder.has(url):
            report.skipped += 1
        else:
            yield url


def _resume_line(urls: list[str], urls_from: str | None, output: Path | None) -> str:
    """What to type to go on after a run that ended early."""
    if output is None:
        return "ended early; with -o DIR pages are saved, and --resume goes on from there"
    given = ["--urls", urls_from] if urls_from not in (None, "-") else []
    words = [*given, "-o", str(output), "--resume"]
    shown = shlex.join(["manners", "get", *map(str, words)])
    if not given or urls:
        shown += " " + ("URL…" if urls and urls != ["-"] else "< LIST")
    return f"ended early; go on, with the same options: {shown}"


def _evidence_line(place: str) -> str:
    option = inputs.store_option(place)
    return printable(f"evidence: {place}; check it with: manners evidence verify{option}")


def _headers(written: list[str]) -> dict[str, str]:
    headers = {}
    for line in written:
        name, colon, value = line.partition(":")
        if not colon or not _TOKEN(name) or not value.isprintable():
            raise inputs.Unusable(f"--header is 'Name: value', not {cut(line, 200)!r}")
        if name.lower() in _OURS:
            hint = ": there is --user-agent" if name.lower() == "user-agent" else ""
            raise inputs.Unusable(f"--header cannot set {name}{hint}")
        headers[name] = value.strip()
    return headers


class _Result:
    """What came of a URL, and where it was saved."""

    def __init__(self, url: str, answer: "Page | Verdict | MannersError") -> None:
        self.url = without_credentials(url)
        self.error = answer if isinstance(answer, MannersError) else None
        self.page = None if isinstance(answer, Verdict | MannersError) else answer
        self.verdict = answer if isinstance(answer, Verdict) else None
        """What there is in place of a page, when none is to be fetched."""
        self.file: Path | None = None
        self.told = _told(answer)


class _Told(NamedTuple):
    """An answer in words."""

    kind: str
    """What it counts as: one of `_KINDS`."""
    sign: str
    """The same in more detail: a status, where there is one."""
    why: str
    code: int
    """The exit code that it leads to."""


def _told(answer: "Page | Verdict | MannersError") -> _Told:
    if isinstance(answer, InvalidURL):
        return _Told("failed", "invalid-url", answer.problem, UNDECIDED)
    if isinstance(answer, MannersError):
        kind = "deferred" if isinstance(answer, HostDeferred) else "failed"
        return _Told(kind, kind, printable(str(answer)), UNDECIDED)
    verdict = answer if isinstance(answer, Verdict) else answer.verdict
    if not verdict.allowed:
        return _Told("blocked", "blocked", render.because(verdict), 1)
    if isinstance(answer, Verdict):
        return _Told("allowed", "allowed", "", 0)
    return _told_of(answer)


def _told_of(page: "Page") -> _Told:
    """A page in words, when it was allowed."""
    if page.status is None:
        why = f"{page.cause}: {page.detail}" if page.detail else page.cause
        return _Told("failed", "no-answer", why, UNDECIDED)
    kind = "failed" if page.cause or page.server_failed else "fetched"
    if not page.complete:
        return _Told(kind, str(page.status), "longer than what is read of a page", 1)
    if page.ok or page.not_modified:
        return _Told(kind, str(page.status), "", 0)
    return _Told(kind, str(page.status), page.cause, 1)


def _line(result: _Result) -> str:
    """A result on one line."""
    if result.verdict is not None:
        return render.verdict_line(result.verdict)
    if isinstance(result.error, InvalidURL):
        return render.invalid_line(result.error)
    colour = {0: "green", 1: "red"}.get(result.told.code, "yellow")
    return f"{render.styled(f'{result.told.sign:<9}', colour)}  {_story(result)}"


def _story(result: _Result) -> str:
    page, parts = result.page, [printable(result.url)]
    if page is not None and len(page.hops) > 1:
        parts[0] += f" -> {page.final_url}"
    if page is not None and page.status is not None:
        parts += [count(len(page.body), "byte"), f"{page.seconds:.2f} s"]
    return "  ".join(filter(None, [*parts, result.told.why, printable(str(result.file or ""))]))


def _as_json(result: _Result) -> str:
    if result.verdict is not None:
        return render.as_json(result.verdict.to_dict())
    if result.page is not None:
        file = {} if result.file is None else {"file": str(result.file)}
        return render.as_json(result.page.to_dict() | file)
    until = {"until": result.error.until} if isinstance(result.error, HostDeferred) else {}
    told = result.told
    values = {"allowed": None, "reason": told.sign, "url": result.url, "problem": told.why}
    return render.as_json(values | until)


def _print_page(result: _Result) -> None:
    """The body to standard output, the line about it to standard error."""
    print(f"{result.told.sign:<9}  {_story(result)}", file=sys.stderr, flush=True)
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
    """What came of all URLs, and why."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.code = 0
        self.is_recorded = False
        """Whether there is evidence of anything."""
        self.is_whole = False
        """Whether every URL of the list was read and answered."""
        self.skipped = 0
        """URLs whose pages were saved before."""
        self._reasons: Counter[tuple[str, str]] = Counter()
        self._warnings = inputs.Warnings()

    def add(self, result: _Result) -> None:
        """Count a result, and warn about what is strange about the sites on the way."""
        told, page = result.told, result.page
        self.kinds[told.kind] += 1
        self.code = max(self.code, told.code)
        verdicts = [] if result.verdict is None else [result.verdict]
        if page is not None:
            verdicts = [hop.verdict for hop in page.hops]
            self.is_recorded |= page.evidence_id is not None
            if page.cause == "refused address":
                self._warnings.say(origin(page.final_url), inputs.REFUSED)
        for verdict in verdicts:
            self._warnings.about(verdict)
        if told.code:
            where = origin(verdicts[-1].url) if told.kind == "blocked" else ""
            sign = "" if told.sign == told.kind else told.sign
            self._reasons[told.kind, "  ".join(filter(None, (where, sign, told.why)))] += 1

    def lines(self) -> Iterator[str]:
        """The counts, and the reasons for what is no success, the most frequent first."""
        counts = [f"{self.kinds[kind]:,} {kind}" for kind in _KINDS if self.kinds[kind]]
        if self.skipped:
            counts.append(f"{self.skipped:,} skipped: saved before")
        if counts:
            yield ", ".join(counts)
        for (kind, why), number in self._reasons.most_common(_REASONS):
            yield f"  {number:,} {kind}: {why}"
        if len(self._reasons) > _REASONS:
            yield f"  and {count(len(self._reasons) - _REASONS, 'other reason')}"
