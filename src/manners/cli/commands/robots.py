"""`manners robots`: a site's robots.txt, and how it was retrieved."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manners._text import count, cut, duration, printable
from manners.cli import UNDECIDED, inputs, render, saving
from manners.cli.options import RETRIEVAL, JsonOption, Options, UrlArgument, takes
from manners.settings.fields import STORED, WHAT
from manners.urls import origin

if TYPE_CHECKING:
    from manners.cache.site import Site
    from manners.robots.groups import Directive, Group

_SHOWN = 10
"""Groups, sitemaps, directives and problems that are listed for people; JSON has all."""
_EXIT = {"available": 0, "unavailable": 1, "unreachable": UNDECIDED}


@takes(*RETRIEVAL, "store", "log_level", "log_format")
def command(
    url: UrlArgument,
    history: Annotated[
        bool,
        typer.Option(
            "--history",
            help="List what it was, from when to when, by the cache and the store; no request.",
            rich_help_panel=WHAT,
        ),
    ] = False,
    save: Annotated[
        str | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Write the file as received; - is standard output.",
            rich_help_panel=STORED,
        ),
    ] = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Retrieve a site's robots.txt, and show how that went and what is in it.

    Exit code 0 if there is one, 1 if there is none, 3 if the site is unreachable. With --history, 1
    if nothing is known of the site.
    """
    if history:
        if save is not None:
            raise inputs.Unusable("--history lists versions: leave out --save")
        return _list_versions(url, options, json)
    if "store" in options.values:
        raise inputs.Unusable("--store is for --history: add that, or leave it out")
    if save == "-" and json:
        raise inputs.Unusable("--json and --save - both write to standard output: leave out one")
    settings = options.load()
    from manners._portal import portal

    retrieving = inputs.open_cache(settings)
    try:
        site = portal.run(retrieving.get(url))
    finally:
        portal.run(retrieving.close())
    if json:
        print(render.as_json(site.to_dict()))
    else:
        # If the file goes to standard output, the summary does not.
        print("\n".join(_lines(site)), file=sys.stderr if save == "-" else sys.stdout)
    if save is not None:
        _save(site, save)
    advice = inputs.advice(site.outcome)
    if advice:
        inputs.warn(f"{printable(site.outcome.url)}: {advice}")
    return _EXIT[site.outcome.availability]


def _list_versions(url: str, options: Options, json: bool) -> int:
    """Print the versions of a site's robots.txt that are known."""
    from manners.cli import history, linting

    options.refuse_retrieval("--history", "cache")
    site = origin(url)
    try:
        with history.open_histories(options.load()) as histories:
            versions = histories.of(site)
    except linting.UnreadFile as error:
        linting.complain(error)
        return UNDECIDED
    if not versions:
        inputs.warn(history.explain_nothing(site))
        return 1
    if json:
        for version in versions:
            print(render.as_json(version.to_dict()))
        return 0
    rows = [
        (
            history.utc(version.first),
            history.utc(version.last),
            str(version.outcome),
            "-" if version.body is None else f"{len(version.body):,}",
            version.sha256[:12] or "-",
        )
        for version in versions
    ]
    print(render.table(("FIRST SEEN", "LAST SEEN", "RESULT", "BYTES", "SHA-256"), rows))
    return 0


def _save(site: "Site", place: str) -> None:
    body = site.entry.body if site.entry else None
    if body is None:
        inputs.warn(f"nothing to save: {site.outcome}")
        return
    if place == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return
    try:
        path = Path(place).resolve()
        if path.is_file() or not path.exists():
            with saving.replace_file(path) as file:
                file.write(body)
        else:  # a device, for example
            path.write_bytes(body)
    except OSError as error:
        raise inputs.Unusable(f"cannot write {place!r}: {error.strerror}") from None


def _lines(site: "Site") -> list[str]:
    outcome, robots = site.outcome, site.robots
    rows: list[tuple[str, str]] = [
        ("result", f"{outcome}, {duration(outcome.seconds)}, profile {outcome.profile}")
    ]
    rows += [
        ("hops" if number == 0 else "", f"{hop.status or hop.cause}  {hop.url}")
        for number, hop in enumerate(outcome.hops)
    ]
    rows.append(("fresh", _fresh(site)))
    if outcome.is_plain:
        cut = "" if outcome.complete else ", and that is not all of it"
        charset = outcome.charset or "none named, read as utf-8"
        rows.append(("size", count(outcome.bytes, "byte") + cut))
        rows.append(("charset", charset))
        rows += _listed("groups", list(map(_group, robots.groups)))
        rows += _listed("sitemaps", [sitemap.url for sitemap in robots.sitemaps])
        directives = [item for item in robots.directives if item.name != "sitemap"]
        rows += _listed("directives", list(map(_directive, directives)))
        rows += _listed(
            "problems",
            [
                f"line {line['line']}: {', '.join(line['problems'])}: {line['text']}"
                for line in site.problems()
            ],
        )
    return [
        render.styled(printable(outcome.url), "bold"),
        *(f"  {name:<10} {printable(text)}" for name, text in rows),
    ]


def _group(group: "Group") -> str:
    """Whom a group is for, how many rules it has, and what else it says: Crawl-delay, and so on."""
    directives = [
        cut(f"{item.name} {item.written}", 100) + (" (invalid)" if item.value is None else "")
        for item in group.directives[:_SHOWN]
    ]
    agents = cut(", ".join(group.agents), 200)
    content = ", ".join([count(len(group.rules), "rule"), *directives])
    return f"{agents} (line {group.line}): {content}"


def _directive(directive: "Directive") -> str:
    agents = f" (for {', '.join(directive.agents)})" if directive.agents else ""
    return f"line {directive.line}: {directive.text.strip()[:200]}{agents}"


def _listed(title: str, items: list[str]) -> list[tuple[str, str]]:
    if not items:
        return [(title, "none")]
    shown = [f"{len(items)}"] if len(items) > _SHOWN else []
    shown += items[:_SHOWN]
    if len(items) > _SHOWN:
        shown.append(f"and {len(items) - _SHOWN} more; --json has them all")
    return [(title if number == 0 else "", text) for number, text in enumerate(shown)]


def _fresh(site: "Site") -> str:
    if site.entry is None:
        return ""
    until = site.entry.fresh_until
    clock = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(until))
    return f"for {duration(until - site.outcome.at)}, until {clock} UTC"
