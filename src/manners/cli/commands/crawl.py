"""`manners crawl`: fetch whole sites, politely; list crawls, show their status, resume them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from manners._text import count, cut, printable
from manners.cli import inputs, render
from manners.cli.options import (
    ARCHIVES,
    LOGS,
    PAGES,
    JsonOption,
    Options,
    OutputOption,
    UrlsColumnOption,
    UrlsOption,
    takes,
)
from manners.settings.fields import WHAT, flag_of
from manners.urls import page_url

if TYPE_CHECKING:
    from manners.settings import Settings

_SETTINGS = (
    *("max_pages", "max_minutes", "max_depth", "source", "same_domain", "include", "exclude"),
    *("render", "purpose", "unknown", "signals", *PAGES, *ARCHIVES, "redact_query", *LOGS),
    "metrics_port",
)
_STATE = ("store", *LOGS)
"""The settings of subcommands that read a store."""


_SUBCOMMANDS = ("start", "work", "stop", "resume", "status", "list")


def _subcommands(incomplete: str) -> list[str]:
    return [name for name in _SUBCOMMANDS if name.startswith(incomplete)]


_StartArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[URL]...",
        help="Where to start; a host named status is https://status.",
        autocompletion=_subcommands,
    ),
]
_NewOption = Annotated[
    bool,
    typer.Option(
        "--new", help="Begin anew, even if the last crawl is unfinished.", rich_help_panel=WHAT
    ),
]
_WorkersOption = Annotated[
    int,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        max=256,
        help="Processes to crawl with; more than one needs --store postgresql://…",
        rich_help_panel=WHAT,
    ),
]
_DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Show what would be done; fetch no page.", rich_help_panel=WHAT),
]


class _DefaultGroup(TyperGroup):
    """A group that is a command itself: without a subcommand's name, it starts a crawl."""

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        if args and args[0] in self.commands:
            self.params = []  # the subcommand has its own
        else:
            context.allow_interspersed_args = True
        return super().parse_args(context, args)


command = typer.Typer(
    cls=_DefaultGroup, invoke_without_command=True, subcommand_metavar="| COMMAND [ARGS]..."
)


@command.callback()
@takes(*_SETTINGS)
def start(
    context: typer.Context,
    urls: _StartArgument = None,
    new: _NewOption = False,
    dry_run: _DryRunOption = False,
    output: OutputOption = None,
    urls_from: UrlsOption = None,
    urls_column: UrlsColumnOption = None,
    workers: _WorkersOption = 1,
    resumes: Annotated[bool, typer.Option("--resume", hidden=True)] = False,
    number: Annotated[int | None, typer.Option("--crawl", hidden=True, min=1)] = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Fetch whole sites, politely and as far as robots.txt allows.

    Pages are found in sitemaps and links. Ctrl-C finishes the running requests and saves; a second
    Ctrl-C aborts. Exit code 0 if pages were fetched, 1 if nothing may be fetched, 3 if nothing
    could be fetched, 130 if interrupted.
    """
    if context.invoked_subcommand is not None:
        return 0
    if urls and urls[0] in ("status", "list"):
        return _subcommand_last(urls, number, options, json)
    if resumes:
        if new or dry_run:
            raise inputs.Unusable(f"--resume does not take {'--new' if new else '--dry-run'}")
        _warn_old("crawl --resume", "crawl resume [N]")
        return _resume(number, urls or [], options, output, json)
    if number is not None:
        raise inputs.Unusable("--crawl needs a subcommand: crawl resume N, or crawl status N")
    if not urls and urls_from is None:
        raise inputs.Unusable("no start URL: pass one, or --urls FILE; or `manners crawl resume`")
    _refuse_misspelt(urls or [])
    from manners.cli import planning
    from manners.cli.crawling import run_crawl

    settings, starts = _read_starts(urls, urls_from, urls_column, options)
    if dry_run:
        return planning.dry_run(starts, settings, json)
    if not new:
        planning.refuse_if_unfinished(settings)
    if workers > 1:
        from manners.cli.workers import run_workers

        return run_workers(starts, settings, workers, output, json)
    return run_crawl(starts, settings, False, output, json)


def _read_starts(
    urls: list[str] | None, urls_from: Any, urls_column: Any, options: Options
) -> "tuple[Settings, list[str]]":
    """The settings of a new crawl, and the URLs that it begins with."""
    settings = options.load()
    settings = settings.but(store=settings.store or inputs.STORE)
    listed = inputs.UrlList.of(urls, urls_from, urls_column)
    return settings, [page_url(url) for url in listed.read(is_needed=True)]


@command.command("start")
@takes(*_SETTINGS)
def start_only(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="[URL]...", help="Where to start.")
    ] = None,
    urls_from: UrlsOption = None,
    urls_column: UrlsColumnOption = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Write a new crawl to the store, and fetch nothing: `crawl work` does.

    Its settings are stored with it, for all workers. Not stored, because they may hold secrets, are
    --header, --cookie-file and --proxy: each worker is given its own.
    """
    if not urls and urls_from is None:
        raise inputs.Unusable("no start URL: pass one, or --urls FILE")
    from manners.crawler.crawl import Crawl

    settings, starts = _read_starts(urls, urls_from, urls_column, options)
    number = Crawl(starts, settings).start()
    place = str(settings.store)
    if json:
        print(render.as_json({"crawl": number, "urls": len(starts)}))
        return 0
    from manners._secrets import without_secrets

    where = printable(inputs.store_option(without_secrets(place)))
    print(f"crawl {number} begins with {count(len(starts), 'URL')}; nothing was fetched")
    print(f"fetch it, with any number of these: manners crawl work{where} --crawl {number}")
    return 0


@command.command("work")
@takes(*_SETTINGS)
def work(
    number: Annotated[
        int | None,
        typer.Option(
            "--crawl", metavar="N", min=1, help="Which crawl (default the last that runs)."
        ),
    ] = None,
    output: OutputOption = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Join a crawl as one more worker, from this or any other machine.

    The settings are those of the crawl; one that differs is refused. Ctrl-C, or SIGTERM, finishes
    the running requests and hands everything back to the other workers. Exit code 0 if the crawl
    has ended, 130 if interrupted.
    """
    from manners.cli.crawling import run_crawl
    from manners.crawler.crawl import open_settings

    settings = options.load()
    place = settings.store or inputs.STORE
    crawl, stored = open_settings(place, number, timeout=settings.server_timeout)
    settings = options.load(stored).but(store=place)
    return run_crawl([], settings, False, output, json, work=crawl)


@command.command("stop")
@takes(*_STATE)
def stop(
    number: Annotated[
        int | None, typer.Argument(metavar="[N]", min=1, help="Which crawl (default the last).")
    ] = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Stop a crawl that runs in other processes, on this or any other machine.

    Every worker finishes its running requests and ends, as after Ctrl-C; `crawl resume` goes on.
    Exit code 1 if the crawl is not running.
    """
    from manners.crawler.stopping import stop_crawl

    settings = options.load()
    place = settings.store or inputs.STORE
    found, was_running = stop_crawl(place, number, timeout=settings.server_timeout)
    if json:
        print(render.as_json({"crawl": found, "stopped": was_running}))
    elif was_running:
        print(f"crawl {found} is stopping: its workers finish the running requests")
    else:
        print(f"crawl {found} is not running")
    return 0 if was_running else 1


def _refuse_misspelt(urls: list[str]) -> None:
    """Raise for a word that looks like the name of a subcommand, and not like a URL."""
    from difflib import get_close_matches  # few need it

    near = get_close_matches(urls[0], _SUBCOMMANDS, 1) if urls and urls[0].isalpha() else []
    if near:
        raise inputs.Unusable(f"{urls[0]!r} is not a URL; did you mean `crawl {near[0]}`?")


@command.command("resume")
@takes(*_SETTINGS)
def resume(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[N] [URL]...", help="Which crawl (default the last); URLs to add to it."
        ),
    ] = None,
    output: OutputOption = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Resume a crawl with the settings it had; options change them.

    Exit codes are those of `manners crawl`.
    """
    urls = arguments or []
    if urls and urls[0].isdecimal():
        return _resume(int(urls[0]), urls[1:], options, output, json)
    return _resume(None, urls, options, output, json)


@command.command("status")
@takes(*_STATE)
def status(
    number: Annotated[
        str | None, typer.Argument(metavar="[N]", help="Which crawl (default the last).")
    ] = None,
    old_number: Annotated[int | None, typer.Option("--crawl", hidden=True, min=1)] = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Show the status of a crawl, also while it runs."""
    if old_number is not None:
        _warn_old("crawl status --crawl N", "crawl status N")
    if number is not None and number.isdecimal():
        return _show_status(int(number), _load(options, None, "status"), json)
    return _show_status(old_number, _load(options, number, "status"), json)


def _show_status(crawl: int | None, settings: "Settings", json: bool) -> int:
    from manners.cli import watching
    from manners.cli.crawling import read_status

    found, place = read_status(settings, settings.store or inputs.STORE, crawl)
    if json:
        print(render.as_json(found.to_dict()))
    else:
        print("\n".join(watching.summary(found, place)))
    return 0


@command.command("list", context_settings={"allow_extra_args": True})
@takes(*_STATE)
def list_crawls(
    context: typer.Context,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """List the crawls in a store."""
    if len(context.args) > 1:
        raise inputs.Unusable("`crawl list` takes one store")
    return _show_list(_load(options, next(iter(context.args), None), "list"), json)


def _show_list(settings: "Settings", json: bool) -> int:
    from manners.crawler.status import crawls_of
    from manners.store.database import Store

    place, timeout = settings.store or inputs.STORE, settings.server_timeout
    with Store(place, readonly=True, timeout=timeout) as opened:
        crawls, place = crawls_of(opened), opened.place
    if json:
        for crawl in crawls:
            print(render.as_json(crawl.to_dict()))
        return 0
    if not crawls:
        print(f"no crawl in {printable(place)}")
        return 0
    header = ("crawl", "began (UTC)", "fetched", "failed", "blocked", "left", "ended", "start")
    rows = [
        (
            str(crawl.crawl),
            crawl.began.replace("T", " ").partition("+")[0],
            *(f"{n:,}" for n in (crawl.fetched, crawl.failed, crawl.blocked, crawl.remaining)),
            cut(crawl.ended, 60),
            cut(crawl.start, 100),
        )
        for crawl in crawls
    ]
    print(render.table(header, rows))
    return 0


def _resume(number: int | None, urls: list[str], options: Options, output: Any, json: bool) -> int:
    from manners.cli.crawling import run_crawl
    from manners.crawler.crawl import stored_settings

    settings = options.load()
    place = settings.store or inputs.STORE
    stored = stored_settings(place, number, timeout=settings.server_timeout)
    settings = options.load(stored).but(store=place)
    starts = [page_url(inputs.typed_url(url, "--store")) for url in urls]
    return run_crawl(starts, settings, number or True, output, json)


def _subcommand_last(words: list[str], number: int | None, options: Options, json: bool) -> int:
    """The old form of a subcommand: behind options, with its store as an argument."""
    subcommand = words[0]
    for name in options.values.keys() - set(_STATE):
        raise inputs.Unusable(f"`crawl {subcommand}` does not take {flag_of(name)}")
    if len(words) > 2:
        raise inputs.Unusable(f"`crawl {subcommand}` takes one store")
    _warn_old(f"crawl [OPTIONS] {subcommand}", f"crawl {subcommand} [OPTIONS]")
    settings = _load(options, words[1] if len(words) > 1 else None, subcommand)
    return (
        _show_list(settings, json) if subcommand == "list" else _show_status(number, settings, json)
    )


def _load(options: Options, place: str | None, subcommand: str) -> "Settings":
    """The settings, with a store that was named without --store, as in the old form."""
    if place is None:
        return options.load()
    if "store" in options.values:
        raise inputs.Unusable(f"`crawl {subcommand}` takes one store")
    _warn_old(f"crawl {subcommand} STORE", f"crawl {subcommand} --store STORE")
    return options.plus(store=place).load()


def _warn_old(old: str, new: str) -> None:
    inputs.warn(f"`{old}` is now `{new}`; the old form works until 1.0")
