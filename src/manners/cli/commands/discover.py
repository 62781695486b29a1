"""`manners discover`: what there is on a site, and what of it may be fetched."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manners._text import count, cut, printable
from manners.cli import UNDECIDED, inputs, render
from manners.errors import HostDeferred, SlotTimeout
from manners.robots.verdict import Reason
from manners.urls import page_url

if TYPE_CHECKING:
    from manners.crawler.discovery import Discovery

_SHOWN = 20
"""How many lines of a kind are listed for people; JSON has all."""
_LIMITS = "max_found, max_sitemaps, sitemap_depth, max_pages, page_bytes"
_TOLD = (Reason.UNREACHABLE, Reason.UNAVAILABLE, Reason.STALE_COPY, Reason.TOO_LARGE)


def command(
    url: inputs.UrlArgument,
    source: inputs.SourceOption = None,
    max_urls: Annotated[
        int | None,
        typer.Option("--max-urls", metavar="N", help="How many URLs are kept (default 10000)."),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option("--depth", metavar="N", min=1, help="How far links are followed (default 1)."),
    ] = None,
    exclude: inputs.ExcludeOption = None,
    include: inputs.IncludeOption = None,
    urls: Annotated[bool, typer.Option("--urls", help="Print the URLs to fetch, one a line.")] = (
        False
    ),
    agent: inputs.AgentOption = None,
    dialect: inputs.LiveDialectOption = None,
    profile: inputs.ProfileOption = None,
    like: inputs.LikeOption = None,
    store: inputs.StoreOption = None,
    allow_private: inputs.AllowPrivateOption = None,
    timeout: inputs.PageTimeoutOption = None,
    user_agent: inputs.UserAgentOption = None,
    cache: inputs.CacheOption = None,
    config: inputs.ConfigOption = None,
    log_level: inputs.LogLevelOption = None,
    log_format: inputs.LogFormatOption = None,
    log_matches: inputs.LogMatchesOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """Find what a site has, in its sitemaps and links, and what of it may be fetched.

    Exit code 0 when there is something to fetch, 1 when there is nothing, 3 when the site could
    not be asked.
    """
    url = page_url(url)  # now: nothing is made for what is no URL, and no password is kept
    settings = inputs.load_settings(
        config,
        like,
        page_timeout=timeout,
        source=source,
        agent=agent,
        dialect=dialect,
        profile=profile,
        max_urls=max_urls,
        link_depth=depth,
        exclude=exclude,
        include=include,
        store=store,
        allow_private=allow_private,
        user_agent=user_agent,
        cache=cache,
        log_level=log_level,
        log_format=log_format,
        log_matches=log_matches,
    )
    from manners._portal import portal
    from manners.crawler.discovery import Discovery
    from manners.crawler.found import FoundUrls

    if urls and json:
        raise inputs.Unusable("--urls and --json contradict each other")
    place = settings.store or inputs.STORE
    client, progress = inputs.open_client(settings.but(store=place)), render.Progress()
    client.budget = settings.budget  # pages whose links are read are pages
    try:
        with FoundUrls(place, timeout=settings.server_timeout) as found:
            keep = found.begin(url).add
            discovery = Discovery(client, settings.source, keep=keep, progress=_shown_by(progress))
            _run(discovery, url)
    except (HostDeferred, SlotTimeout) as error:
        inputs.warn(str(error))
        return UNDECIDED
    finally:
        progress.clear()
        portal.run(client.close())
    if discovery.robots is not None:
        inputs.Warnings().about(discovery.robots)
    if json:
        print(render.as_json(_as_dict(url, discovery)))
    elif urls:
        for each in discovery.kept:
            print(printable(each.url))
    else:
        sent = f"sent as {settings.identity}"
        print("\n".join([*_lines(discovery, found.place), sent]))
    return _code(discovery)


def _run(discovery: "Discovery", url: str) -> None:
    """Run a discovery to its end; one that is interrupted still writes down what it has found."""
    import asyncio

    from manners._portal import portal

    tasks: list[asyncio.Task[None]] = []

    async def work() -> None:
        tasks.append(asyncio.create_task(discovery.run(url)))
        await tasks[0]

    try:
        portal.run(work())
    finally:
        if tasks:
            portal.run(asyncio.wait(tasks))


def _shown_by(progress: render.Progress) -> "Callable[[Discovery], None]":
    def show(discovery: "Discovery") -> None:
        found, sitemaps = sum(discovery.found.values()), len(discovery.sitemaps)
        progress.say(f"{count(found, 'URL')} found, {count(sitemaps, 'sitemap')} read")

    return show


def _code(discovery: "Discovery") -> int:
    if discovery.kept:
        return 0
    verdict = discovery.robots
    is_away = verdict is not None and verdict.reason is Reason.UNREACHABLE
    return UNDECIDED if is_away or discovery.is_undecided else 1


def _lines(discovery: "Discovery", place: str) -> list[str]:
    kept = discovery.kept
    rows = [
        (source, f"{number:,}", f"{discovery.allowed[source]:,}")
        for source, number in discovery.found.items()
    ]
    lines = [render.table(("SOURCE", "FOUND", "ALLOWED"), rows)] if rows else ["nothing was found"]
    if discovery.robots is not None and discovery.robots.reason in _TOLD:
        lines += ["", f"robots.txt: {printable(str(discovery.robots.retrieval))}"]
    lines += _sitemaps(discovery) + _pages(discovery)
    if discovery.filtered:
        lines += ["", render.styled("not to be fetched", "bold")]
        for (reason, rule, line), number in discovery.filtered.most_common(_SHOWN):
            said = f"line {line}: {rule}" if line else f"{reason}: {rule}" if rule else reason
            lines.append(f"  {number:>7,}  {printable(cut(said, 200))}")
        if len(discovery.filtered) > _SHOWN:
            lines.append(
                f"  and {count(len(discovery.filtered) - _SHOWN, 'more reason')}; --json has them"
            )
    lines += ["", render.styled(f"{count(len(kept), 'URL')} to fetch", "bold")]
    lines += [f"  {printable(each.url)}" for each in kept[:_SHOWN]]
    if len(kept) > _SHOWN:
        lines.append(f"  and {len(kept) - _SHOWN:,} more; --urls prints them all")
    if discovery.is_cut:
        lines.append(f"there is more than was looked at: see {_LIMITS}")
    lines.append(f"kept in {printable(place)}")
    return lines


def _sitemaps(discovery: "Discovery") -> list[str]:
    lines = []
    for each in discovery.sitemaps[:_SHOWN]:
        is_read = each.form != "unknown" or each.problems
        said = f", {_entries(each.entries)}, {each.form}" if is_read else ""
        lines.append(f"  {printable(each.url)}  {printable(each.status)}{said}")
        lines += [f"    {printable(str(problem))}" for problem in each.problems[:3]]
        if len(each.problems) > 3:
            lines.append(
                f"    and {count(len(each.problems) - 3, 'more problem')}; --json has them"
            )
    if len(discovery.sitemaps) > _SHOWN:
        lines.append(f"  and {len(discovery.sitemaps) - _SHOWN} more; --json has them all")
    return ["", render.styled("sitemaps", "bold"), *lines] if lines else []


def _pages(discovery: "Discovery") -> list[str]:
    lines = []
    for each in discovery.pages[:_SHOWN]:
        said = f", nofollow: {each.nofollow}" if each.nofollow else ""
        links = f", {count(each.links, 'link')}" if each.links else ""
        lines.append(f"  {printable(each.url)}  {printable(each.status)}{links}{said}")
    if len(discovery.pages) > _SHOWN:
        lines.append(f"  and {len(discovery.pages) - _SHOWN} more; --json has them all")
    return ["", render.styled("pages", "bold"), *lines] if lines else []


def _as_dict(url: str, discovery: "Discovery") -> dict[str, Any]:
    verdict = discovery.robots
    return {
        "url": url,
        "robots": verdict.to_dict() if verdict is not None else None,
        "found": dict(discovery.found),
        "allowed": dict(discovery.allowed),
        "sitemaps": [
            {**each._asdict(), "problems": [problem._asdict() for problem in each.problems]}
            for each in discovery.sitemaps
        ],
        "pages": [each._asdict() for each in discovery.pages],
        "filtered": [
            {"reason": reason, "rule": rule, "line": line, "count": number}
            for (reason, rule, line), number in discovery.filtered.most_common()
        ],
        "complete": not discovery.is_cut,
        "urls": [each._asdict() for each in discovery.kept],
    }


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number:,} entries"
