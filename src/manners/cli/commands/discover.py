"""`manners discover`: what there is on a site, and what of it may be fetched."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manners._text import count, cut, printable
from manners.cli import INTERRUPTED, UNDECIDED, inputs, render
from manners.cli.options import LOGS, PAGES, JsonOption, Options, UrlArgument, takes
from manners.errors import HostDeferred, SlotTimeout
from manners.robots.verdict import Reason
from manners.urls import page_url

if TYPE_CHECKING:
    from manners.crawler.discovery import Discovery
    from manners.settings import Settings

_MAX_LINES = 20
"""Lines of a kind that are listed for people; JSON has all."""
_LIMITS = "max_discovered, max_sitemaps, sitemap_depth, max_pages, page_max_bytes"
_NOTABLE = (Reason.UNREACHABLE, Reason.UNAVAILABLE, Reason.STALE_COPY, Reason.TOO_LARGE)
"""Reasons of a verdict that say something about the robots.txt itself."""


@takes("source", "max_urls", "link_depth", "exclude", "include", *PAGES, *LOGS, "metrics_port")
def command(
    url: UrlArgument,
    urls: Annotated[
        bool, typer.Option("--urls", help="Print the URLs to fetch, one per line.")
    ] = False,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Find the URLs of a site, in its sitemaps and links, and which of them may be fetched.

    Exit code 0 if there is something to fetch, 1 if there is nothing, 3 if the site could not be
    asked, 130 if interrupted: then the URLs found so far are printed.
    """
    url = page_url(url)  # first: an invalid URL leaves no file behind, and no password is kept
    settings = options.load()
    if urls and json:
        raise inputs.Unusable("--urls and --json contradict each other")
    return _discover(url, settings, "json" if json else "urls" if urls else "text")


def _discover(url: str, settings: "Settings", output: str) -> int:
    from manners._portal import portal
    from manners.cli.measures import Measures
    from manners.crawler.discovery import Discovery

    place, progress = settings.store or inputs.STORE, render.Progress()
    measures = Measures(settings)
    client = inputs.open_client(settings.but(store=place), measures.listener)
    shown_place = client.evidence.place if client.evidence else place
    client.budget = settings.budget  # pages whose links are read are pages
    discovery = Discovery(client, settings.source, progress=_shown_by(progress))
    try:
        was_interrupted = _run(discovery, url)
    except (HostDeferred, SlotTimeout) as error:
        inputs.warn(str(error))
        return UNDECIDED
    finally:
        progress.clear()
        portal.run(client.close())
        measures.close()
    if was_interrupted:
        print("manners: interrupted: this is what was found so far", file=sys.stderr)
    if discovery.robots is not None:
        inputs.Warnings().about(discovery.robots)
    if output == "json":
        print(render.as_json(_as_dict(url, discovery)))
    elif output == "urls":
        for found_url in discovery.kept:
            print(printable(found_url.url))
    else:
        print("\n".join([*_lines(discovery, shown_place), f"sent as {settings.identity}"]))
    return INTERRUPTED if was_interrupted else _code(discovery)


def _run(discovery: "Discovery", url: str) -> bool:
    """Run a discovery to its end; whether it was interrupted. What it has found counts then."""
    import asyncio

    from manners._portal import portal

    tasks: list[asyncio.Task[None]] = []

    async def work() -> None:
        tasks.append(asyncio.create_task(discovery.run(url)))
        await tasks[0]

    try:
        portal.run(work())
    except KeyboardInterrupt:
        discovery.is_cut = True
        return True
    finally:
        if tasks:
            portal.run(asyncio.wait(tasks))
    return False


def _shown_by(progress: render.Progress) -> "Callable[[Discovery], None]":
    def show(discovery: "Discovery") -> None:
        found, sitemaps = sum(discovery.found.values()), len(discovery.sitemaps)
        progress.say(f"{count(found, 'URL')} found, {count(sitemaps, 'sitemap')} read")

    return show


def _code(discovery: "Discovery") -> int:
    if discovery.kept:
        return 0
    verdict = discovery.robots
    is_unreachable = verdict is not None and verdict.reason is Reason.UNREACHABLE
    return UNDECIDED if is_unreachable or discovery.is_undecided else 1


# For people.


def _lines(discovery: "Discovery", place: str) -> list[str]:
    kept = discovery.kept
    rows = [
        (source, f"{number:,}", f"{discovery.allowed[source]:,}")
        for source, number in discovery.found.items()
    ]
    lines = [render.table(("SOURCE", "FOUND", "ALLOWED"), rows)] if rows else ["nothing was found"]
    if discovery.robots is not None and discovery.robots.reason in _NOTABLE:
        lines += ["", f"robots.txt: {printable(str(discovery.robots.retrieval))}"]
    lines += _sitemap_lines(discovery) + _page_lines(discovery) + _blocked_lines(discovery)
    lines += ["", render.styled(f"{count(len(kept), 'URL')} to fetch", "bold")]
    lines += [f"  {printable(found.url)}" for found in kept[:_MAX_LINES]]
    if len(kept) > _MAX_LINES:
        lines.append(f"  and {len(kept) - _MAX_LINES:,} more; --urls prints them all")
    if discovery.is_cut:
        lines.append(f"there is more than was looked at: see {_LIMITS}")
    lines.append(f"kept in {printable(place)}")
    return lines


def _sitemap_lines(discovery: "Discovery") -> list[str]:
    lines = []
    for sitemap in discovery.sitemaps[:_MAX_LINES]:
        is_read, problems = sitemap.form != "unknown" or sitemap.problems, sitemap.problems
        content = f", {_entries(sitemap.entries)}, {sitemap.form}" if is_read else ""
        lines.append(f"  {printable(sitemap.url)}  {printable(sitemap.status)}{content}")
        lines += [f"    {printable(str(problem))}" for problem in problems[:3]]
        if len(problems) > 3:
            lines.append(f"    and {count(len(problems) - 3, 'more problem')}; --json has them")
    return _section("sitemaps", lines, len(discovery.sitemaps))


def _page_lines(discovery: "Discovery") -> list[str]:
    lines = []
    for page in discovery.pages[:_MAX_LINES]:
        nofollow = f", nofollow: {page.nofollow}" if page.nofollow else ""
        links = f", {count(page.links, 'link')}" if page.links else ""
        lines.append(f"  {printable(page.url)}  {printable(page.status)}{links}{nofollow}")
    return _section("pages", lines, len(discovery.pages))


def _section(title: str, lines: list[str], number: int) -> list[str]:
    if not lines:
        return []
    if number > _MAX_LINES:
        lines.append(f"  and {number - _MAX_LINES} more; --json has them all")
    return ["", render.styled(title, "bold"), *lines]


def _blocked_lines(discovery: "Discovery") -> list[str]:
    filtered = discovery.filtered
    if not filtered:
        return []
    lines = ["", render.styled("blocked", "bold")]
    for (reason, rule, line), number in filtered.most_common(_MAX_LINES):
        why = f"line {line}: {rule}" if line else f"{reason}: {rule}" if rule else reason
        lines.append(f"  {number:>7,}  {printable(cut(why, 200))}")
    if len(filtered) > _MAX_LINES:
        lines.append(f"  and {count(len(filtered) - _MAX_LINES, 'more reason')}; --json has them")
    return lines


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number:,} entries"


# For programs.


def _as_dict(url: str, discovery: "Discovery") -> dict[str, Any]:
    from manners.crawler.inventory import FIELDS

    verdict = discovery.robots
    return {
        "url": url,
        "robots": verdict.to_dict() if verdict is not None else None,
        "found": dict(discovery.found),
        "allowed": dict(discovery.allowed),
        "sitemaps": [
            {**sitemap._asdict(), "problems": [problem._asdict() for problem in sitemap.problems]}
            for sitemap in discovery.sitemaps
        ],
        "pages": [page._asdict() for page in discovery.pages],
        "filtered": [
            {"reason": reason, "rule": rule, "line": line, "count": number}
            for (reason, rule, line), number in discovery.filtered.most_common()
        ],
        "complete": not discovery.is_cut,
        "urls": [{name: getattr(found, name) for name in FIELDS} for found in discovery.kept],
    }
