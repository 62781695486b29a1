"""`manners usage`: what pages may be used for, and who says so."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from manners.cli import UNDECIDED, inputs, render, usages
from manners.cli.options import (
    LOGS,
    PAGES,
    JsonOption,
    Options,
    RobotsOption,
    UrlsArgument,
    UrlsColumnOption,
    UrlsOption,
    takes,
)
from manners.cli.usages import PageUsage
from manners.errors import HostDeferred, InvalidURL, SlotTimeout, UnknownName
from manners.robots.agents import WILDCARD
from manners.robots.dialects import DEFAULT
from manners.settings.fields import OUTPUT, WHAT, flag_of

if TYPE_CHECKING:
    from manners.robots.policy import Robots
    from manners.settings import Settings
    from manners.signals import Purpose

_OF_A_FILE = ("dialect", "like", "agent", "user_agent", *LOGS)
"""Settings that have a meaning if nothing is fetched."""


@takes("signals", *PAGES, *LOGS)
def command(
    urls: UrlsArgument = None,
    purpose: Annotated[
        list[str] | None,
        typer.Option(
            "--purpose",
            metavar="NAME",
            help="Ask about this purpose, such as search or ai-train; repeatable (default all).",
            rich_help_panel=WHAT,
        ),
    ] = None,
    robots: RobotsOption = None,
    urls_from: UrlsOption = None,
    urls_column: UrlsColumnOption = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Show every claim and every problem.", rich_help_panel=OUTPUT
        ),
    ] = False,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Show what pages may be used for: search, AI answers, training, and who says so.

    Pages are fetched politely; with --robots, a file is read and nothing is fetched: then it is
    also shown which AI crawlers it shuts out. Exit code 0 if every purpose asked about is yes, 1 if
    one is no, 3 if one is unknown. Without --purpose: 1 if anything is no, 3 if a page could not be
    read.
    """
    from manners.signals import PURPOSES

    for name in purpose or ():
        if name not in PURPOSES:
            raise UnknownName("purpose", name, PURPOSES)
    asked = tuple(known for known in PURPOSES if known in (purpose or PURPOSES))
    listed = inputs.UrlList.of(urls, urls_from, urls_column)
    if robots is not None:
        if not urls and urls_from is None:
            listed = listed._replace(given=[])
        found, file = _by_file(listed, robots, options)
    else:
        found, file = _live(listed.read(), options), None
    code = _print(found, asked, explain, json, is_chosen=purpose is not None)
    if file is not None and robots is not None:
        usages.print_crawlers(robots, file, json)
    return code


def _by_file(
    listed: inputs.UrlList, robots: str, options: Options
) -> "tuple[Iterator[PageUsage], Robots]":
    """What a file says about URLs, or about the home page; and the file."""
    from manners.signals import usage

    if robots == "-" and listed.reads_input:
        raise inputs.Unusable("standard input cannot hold both the robots.txt and the URLs")
    for name in options.values:
        if name not in _OF_A_FILE:
            raise inputs.Unusable(f"nothing is fetched with --robots: leave out {flag_of(name)}")
    agent, dialect = WILDCARD, options.values.get("dialect", DEFAULT)
    if options.has_settings():  # else msgspec is not needed either
        settings = options.load()
        agent, dialect = inputs.asked_agent(settings), settings.dialect
    inputs.say_whom([agent])
    urls = listed.read() if listed.given or listed.source else iter(["/"])
    read = inputs.read_robots(robots, dialect)
    return (PageUsage(url, usage(url, agent=agent, robots_txt=read)) for url in urls), read


def _live(urls: Iterable[str], options: Options) -> Iterator[PageUsage]:
    """What each page may be used for; pages are fetched one after the other."""
    settings = options.load()
    # Every page is asked about, whatever the settings want pages for.
    return _fetched(urls, settings.but(store=settings.store or inputs.STORE, purpose=None))


def _fetched(urls: Iterable[str], settings: "Settings") -> Iterator[PageUsage]:
    from manners._portal import portal

    client, warnings = inputs.open_client(settings), inputs.Warnings()

    async def ask(url: str) -> PageUsage:
        page = await client.get(url)
        return PageUsage(page.url, await client.usage(page), page)

    try:
        for url in urls:
            try:
                found = portal.run(ask(url))
            except (InvalidURL, HostDeferred, SlotTimeout) as error:
                found = PageUsage(url, error=error)
            if found.page is not None:
                warnings.about(found.page.verdict)
            yield found
    finally:
        portal.run(client.close())


def _print(
    found: Iterable[PageUsage],
    asked: "Sequence[Purpose]",
    explain: bool,
    json: bool,
    *,
    is_chosen: bool,
) -> int:
    codes = {0}
    for number, item in enumerate(found):
        if json:
            print(render.as_json(usages.as_dict(item, asked)), flush=True)
        else:
            print("\n" * bool(number) + "\n".join(usages.lines(item, asked, explain)), flush=True)
        codes.add(_code(item, asked, is_chosen))
    return UNDECIDED if UNDECIDED in codes else max(codes)


def _code(item: PageUsage, asked: "Sequence[Purpose]", is_chosen: bool) -> int:
    """0 for yes, 1 for no, 3 for undecided: a yes of a page that was not read is none."""
    answers = {item.usage[name].answer for name in asked} if item.usage is not None else set()
    if is_chosen and "unknown" in answers:
        return UNDECIDED
    if "no" in answers:
        return 1
    return 0 if item.is_read else UNDECIDED
