"""`manners crawl`: fetch whole sites, politely; watch it, stop it, go on with it."""

import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manners._text import count, cut, minutes, printable
from manners.cli import INTERRUPTED, UNDECIDED, inputs, render
from manners.errors import HostDeferred, PolitenessError, SlotTimeout, StoreError, StoreTimeout
from manners.robots.verdict import Reason
from manners.urls import host, page_url, with_scheme

if TYPE_CHECKING:
    from manners.client import AsyncClient
    from manners.crawler.crawl import Crawl
    from manners.crawler.pages import Crawled
    from manners.crawler.status import Status
    from manners.settings import Settings


def command(
    context: typer.Context,
    urls: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="URL…",
            help="Where to begin; or `list STORE`, or `status STORE`: the crawls of a store, or how"
            " one of them stands.",
        ),
    ] = None,
    max_pages: Annotated[
        int | None,
        typer.Option("--max-pages", metavar="N", help="How many pages are fetched (default 200)."),
    ] = None,
    max_minutes: Annotated[
        float | None,
        typer.Option("--max-minutes", metavar="N", help="How long it may take (default 60)."),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth", metavar="N", min=0, help="How many links are followed one after another."
        ),
    ] = None,
    source: inputs.SourceOption = None,
    same_domain: Annotated[
        bool | None,
        typer.Option(
            "--same-domain/--no-same-domain", help="Stay on the hosts it begins with (default)."
        ),
    ] = None,
    include: inputs.IncludeOption = None,
    exclude: inputs.ExcludeOption = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume the last crawl in the store, or crawl N (--crawl)."),
    ] = False,
    number: Annotated[
        int | None,
        typer.Option("--crawl", metavar="N", min=1, help="Which crawl, with --resume or `status`."),
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Begin a new crawl, though the last one is unfinished.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and fetch no page.")
    ] = False,
    output: inputs.OutputOption = None,
    agent: inputs.AgentOption = None,
    dialect: inputs.LiveDialectOption = None,
    profile: inputs.ProfileOption = None,
    like: inputs.LikeOption = None,
    store: inputs.StoreOption = None,
    allow_private: inputs.AllowPrivateOption = None,
    timeout: inputs.PageTimeoutOption = None,
    user_agent: inputs.UserAgentOption = None,
    cache: inputs.CacheOption = None,
    politeness: inputs.PolitenessOption = None,
    redact_query: inputs.RedactQueryOption = None,
    config: inputs.ConfigOption = None,
    log_level: inputs.LogLevelOption = None,
    log_format: inputs.LogFormatOption = None,
    log_matches: inputs.LogMatchesOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """Fetch whole sites, as far as robots.txt allows and as fast as they like it.

    Pages are found in sitemaps and links. Ctrl-C once finishes what is under way and saves; twice
    stops now; --resume goes on. Exit code 0 when pages were fetched, 1 when nothing may be, 3 when
    nothing could be, 130 when it was interrupted.
    """
    if urls and urls[0] in ("list", "status"):
        takes = {"urls", "store", "json", *(["number"] if urls[0] == "status" else [])}
        for each in context.command.params:
            given = context.get_parameter_source(each.name or "")
            is_given = given is not None and given.name == "COMMANDLINE"
            if is_given and each.name not in takes:
                raise inputs.Unusable(f"`crawl {urls[0]}` does not take {each.opts[0]}")
        if len(urls) > 2 or (len(urls) > 1 and store):
            raise inputs.Unusable(f"`crawl {urls[0]}` takes one store")
        place = urls[1] if len(urls) > 1 else store or inputs.STORE
        return _list(place, json) if urls[0] == "list" else _status(place, number, json)
    if resume and new:
        raise inputs.Unusable("--resume and --new contradict each other")
    if number is not None and not resume:
        raise inputs.Unusable("--crawl says which crawl to resume: --resume --crawl N")
    options: dict[str, Any] = {
        "page_timeout": timeout,
        "max_pages": max_pages,
        "max_minutes": max_minutes,
        "max_depth": depth,
        "source": source,
        "same_domain": same_domain,
        "include": include,
        "exclude": exclude,
        "agent": agent,
        "like": like,
        "dialect": dialect,
        "profile": profile,
        "store": store,
        "allow_private": allow_private,
        "user_agent": user_agent,
        "cache": cache,
        "politeness": politeness,
        "redact_query": redact_query,
        "log_level": log_level,
        "log_format": log_format,
        "log_matches": log_matches,
    }
    settings = inputs.load_settings(config, **options)
    place = settings.store or inputs.STORE
    if resume:
        from manners.crawler.crawl import told

        options = {
            **told(place, number, timeout=settings.server_timeout),
            **{k: v for k, v in options.items() if v is not None},
        }
        settings = inputs.load_settings(config, **options)
    elif not urls:
        raise inputs.Unusable("where to begin? a URL is needed, or --resume")
    settings = settings.but(store=place)
    starts = [page_url(with_scheme(url)) for url in urls or ()]
    if dry_run and resume:
        raise inputs.Unusable("--resume --dry-run: `manners crawl status` says what is left")
    if dry_run:
        return _dry_run(starts, settings, json)
    if not resume and not new:
        _ask_about_unfinished(settings)
    return _run(starts, settings, number or resume, output, json)


def _run(
    starts: list[str], settings: "Settings", resume: bool | int, output: Path | None, json: bool
) -> int:
    shown = printable(cut(" ".join(starts) or "what the store has", 200))
    is_live = sys.stdout.isatty() and not json
    if not json:  # before anything that takes its time
        said = f"crawling {shown} as {settings.identity}"
        print(render.styled(said, "bold"), flush=True)
    from manners.cli import watching
    from manners.cli.folder import PageFolder
    from manners.crawler.crawl import Crawl

    folder = None if output is None else PageFolder(output)

    def keep(page: "Crawled") -> None:
        if folder is not None and page.ok:
            folder.save(page)

    crawl = Crawl(starts, settings, resume=resume, keep=keep if folder else None)
    watch, progress, warnings = watching.Watch(crawl), render.Progress(), inputs.Warnings()
    with folder or nullcontext(), _interruptible(crawl), watch.live() if is_live else nullcontext():
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
    status, place = _read(settings, settings.store or inputs.STORE, crawl.number)
    if json:
        print(render.as_json({"crawl": status.to_dict()}))
    else:
        summary = watching.summary(status, place)
        print("\n".join(["", *summary, *_next(status, crawl, place, output)]))
    return _code(status, crawl)


def _next(status: "Status", crawl: "Crawl", place: str, output: Path | None) -> Iterator[str]:
    """What to type next."""
    where = printable(inputs.store_option(place))
    which = "" if status.crawl == status.latest else f" --crawl {status.crawl}"
    if crawl.is_cut:
        yield (
            "there is more than was taken in: of a page 10,000 links are read;"
            " see max_found and max_sitemaps"
        )
    if status.resumable:
        more = "" if "limit" not in status.ended else " with a higher --max-pages or --max-minutes"
        folder = "" if output is None else f" -o {shlex.quote(str(output))}"
        yield f"go on{more}: manners crawl --resume{which}{where}{printable(folder)}"
    yield f"check the evidence: manners evidence verify{where}"
    yield f"see it as a picture: manners report{where.replace(' --store', '', 1)}{which}"


def _code(status: "Status", crawl: "Crawl") -> int:
    from manners.crawler import crawl as crawling

    if crawl.ended == crawling.INTERRUPTED:
        return INTERRUPTED
    if status.fetched:
        return 0
    is_undecided = status.resumable or status.lost or status.states.get("failed")
    return UNDECIDED if is_undecided else 1


@contextmanager
def _interruptible(crawl: "Crawl") -> Iterator[None]:
    """Ctrl-C once ends the crawl in good order, twice at once; so does being told to end.

    A signal that is ignored stays ignored: whoever started the command in the background, as
    `nohup` and scripts with `&` do, meant it.
    """
    asked: list[int] = []

    def stop(number: int, _: object) -> None:
        asked.append(number)
        if len(asked) == 1:
            print("\nfinishing what is under way; Ctrl-C again stops now", file=sys.stderr)
            crawl.stop()
        else:
            crawl.abort()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    both = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    # None is a handler that is not Python's, and could not be put back.
    before = {each: it for each, it in both.items() if it not in (signal.SIG_IGN, None)}
    for each in before:
        signal.signal(each, stop)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


# What is known without asking for a page.


def _read(settings: "Settings", place: str, crawl: int | None = None) -> "tuple[Status, str]":
    """How a crawl stands, and its store as it may be shown."""
    from manners.crawler.status import status_of
    from manners.evidence.store import EvidenceStore

    with EvidenceStore(place, readonly=True, timeout=settings.server_timeout) as store:
        return status_of(store, crawl), store.place


def _status(place: str, crawl: int | None, json: bool) -> int:
    from manners.cli import watching

    status, shown = _read(inputs.load_settings(), place, crawl)
    if json:
        print(render.as_json(status.to_dict()))
    else:
        print("\n".join(watching.summary(status, shown)))
    return 0


def _list(place: str, json: bool) -> int:
    from manners.crawler.status import crawls_of
    from manners.evidence.store import EvidenceStore

    timeout = inputs.load_settings().server_timeout
    with EvidenceStore(place, readonly=True, timeout=timeout) as store:
        found, shown = crawls_of(store), store.place
    if json:
        for each in found:
            print(render.as_json(each._asdict()))
        return 0
    if not found:
        print(f"no crawl in {printable(shown)}")
        return 0
    header = ("crawl", "began (UTC)", "fetched", "failed", "blocked", "left", "ended", "start")
    rows = [
        (
            str(each.crawl),
            each.began.replace("T", " ").partition("+")[0],
            *(f"{value:,}" for value in (each.fetched, each.failed, each.blocked, each.left)),
            cut(each.ended, 60),
            cut(each.start, 100),
        )
        for each in found
    ]
    print(render.table(header, rows))
    return 0


def _ask_about_unfinished(settings: "Settings") -> None:
    """Refuse to begin a crawl where the last one is unfinished, before anything is fetched."""
    from manners.crawler.frontier import Frontier
    from manners.crawler.status import RUNNING, status_of
    from manners.evidence.store import EvidenceStore

    try:
        place, timeout = settings.store or inputs.STORE, settings.server_timeout
        store = EvidenceStore(place, readonly=True, timeout=timeout)
    except StoreTimeout:
        raise
    except StoreError:  # there is none yet; what else is wrong with it is said when it is opened
        return
    with store:
        number = Frontier.unfinished(store)
        if not number:
            return
        status = status_of(store, number)
        where = inputs.store_option(store.place)
    if status.ended == RUNNING:
        how, advice = f"is {RUNNING}", "Wait for it"
    else:
        how = f"is unfinished ({status.ended})"
        advice = f"Resume it: manners crawl --resume{where}"
    raise inputs.Unusable(
        f"crawl {number} in {store.place} {how}: {status.fetched:,} fetched, {status.left:,} left;"
        f" nothing was fetched now. {advice}; or begin another beside it: --new"
    )


def _dry_run(starts: list[str], settings: "Settings", json: bool) -> int:
    from manners._portal import portal
    from manners.crawler.discovery import Discovery

    client, code = inputs.open_client(settings.but(store=None)), 0
    try:
        for start in starts:
            discovery, verdict, problem = Discovery(client, "sitemap"), None, ""
            try:
                verdict = portal.run(client.check(start))
                if verdict.allowed:
                    portal.run(_may_begin(client, start))
                if settings.source != "links":
                    portal.run(discovery.run(start))
            except (HostDeferred, PolitenessError, SlotTimeout) as error:
                problem = str(error)
            if problem or verdict is None or verdict.reason is Reason.UNREACHABLE:
                code = UNDECIDED
            elif not verdict.allowed and not discovery.kept:
                code = max(code, 1)
            delay = client.pace_of(host(start))[0]
            if verdict is not None and verdict.crawl_delay:
                delay = max(delay, verdict.crawl_delay)
            read = sum(each.was_read for each in discovery.sitemaps)
            told: dict[str, Any] = {
                "url": start,
                "verdict": verdict.to_dict() if verdict is not None else None,
                "problem": problem,
                "sitemaps": read,
                "found": sum(discovery.found.values()),
                "allowed": len(discovery.kept),
                "delay": round(delay, 3),
                "max_pages": settings.max_pages,
                "max_minutes": settings.max_minutes,
            }
            if json:
                print(render.as_json(told))
                continue
            if verdict is not None:
                print(render.verdict_line(verdict))
            if problem:
                print(f"  {printable(problem)}" if verdict is not None else printable(problem))
            elif settings.source != "links":
                named = f"{count(told['found'], 'URL')}, {told['allowed']:,} of them allowed"
                print(f"  {count(read, 'sitemap')}: {named}" if read else "  no sitemap")
            print(
                f"  {delay:.2f} s between requests, at most"
                f" {count(settings.max_pages, 'page')} in {minutes(settings.max_minutes)}"
            )
    finally:
        portal.run(client.close())
    return code


async def _may_begin(client: "AsyncClient", start: str) -> None:
    """Find out whether a site is to be asked at this time of day; if not, that is raised."""
    from manners.politeness.schedule import opens_at

    if client.settings.respects(host(start)):
        site, now = await client.robots.get(start), time.time()
        opening = opens_at(site.robots.policy(client.agent).visit_time, now)
        if opening > now:
            raise HostDeferred(host(start), opening)
