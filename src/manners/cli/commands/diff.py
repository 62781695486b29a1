"""`manners diff`: what a change of robots.txt does, to whom, proved for every URL."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from manners import _family
from manners.cli import UNDECIDED, comparing, inputs, linting
from manners.cli.comparing import ComparedFile, Comparison
from manners.cli.linting import UnreadFile
from manners.cli.options import JsonOption, Options, UrlsColumnOption, takes
from manners.robots import dialects
from manners.settings.fields import OUTPUT, WHAT

if TYPE_CHECKING:
    from manners.lint.difference import RobotsDifference

_FORMATS = "manners.cli.difference_formats"
_SETTINGS = (
    *("dialect", "profile", "allow_private", "user_agent", "cache", "store"),
    *("total_timeout", "log_level", "log_format"),
)

FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="OLD NEW",
        help="Files, URLs of sites, SITE@DATE from the cache or the store, git:REV:path;"
        " - is standard input. With --engines or --agents, one of them.",
    ),
]
UrlsOption = Annotated[
    str | None,
    typer.Option(
        "--urls",
        metavar="PLACE",
        help="Count these URLs: a list, the URL of a sitemap, or a store.",
        rich_help_panel=WHAT,
    ),
]
GuardOption = Annotated[
    list[str] | None,
    typer.Option(
        "--guard",
        metavar="AGENT",
        help="Exit with 1 only if verdicts change for this agent; repeatable.",
        rich_help_panel=OUTPUT,
    ),
]
EnginesOption = Annotated[
    bool,
    typer.Option("--engines", help="Where engines read one file differently; --for names them."),
]
ForOption = Annotated[
    list[str] | None,
    typer.Option(
        "--for",
        metavar="NAMES",
        help="Dialects for --engines, the first against each other (default all).",
    ),
]
AgentsOption = Annotated[
    tuple[str, str] | None,
    typer.Option("--agents", metavar="A B", help="What A may fetch that B may not, in one file."),
]
FormatOption = Annotated[
    str,
    typer.Option(
        "--output-format",
        metavar="FORMAT",
        help="text (default), json or markdown.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]


@takes(*_SETTINGS)
def command(
    files: FilesArgument,
    urls: UrlsOption = None,
    urls_column: UrlsColumnOption = None,
    guard: GuardOption = None,
    engines: EnginesOption = False,
    engine_names: ForOption = None,
    agents: AgentsOption = None,
    output_format: FormatOption = "text",
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Show what a change of robots.txt closes and opens, to whom, with the shortest URLs.

    What is said holds for every URL and every agent: it is proved, not sampled. Exit code 0 if no
    verdict changes, 1 if one does (with --guard, for those agents), 3 if something could not be
    read or decided.
    """
    _refuse(files, engines, agents, engine_names, guard)
    printer = _family.member(_FORMATS, "output format", "json" if json else output_format)
    if engine_names is not None:
        for name in linting.split_names(engine_names):
            dialects.get(name)
    if urls_column is not None and urls is None:
        raise inputs.Unusable("--urls-column needs --urls: the file that has the column")
    try:
        read = [comparing.read(name, options) for name in files]
        if engines:
            found = list(_between_engines(read[0], linting.split_names(engine_names)))
        elif agents is not None:
            found = [_between_agents(read[0], agents, options)]
        else:
            found = [_between_files(read[0], read[1], tuple(guard or ()), options)]
        if urls is not None:
            found = _counted(found, urls, urls_column, options)
    except UnreadFile as error:
        linting.complain(error)
        return UNDECIDED
    for line in printer.report(found):
        print(line)
    return _code([comparison.difference for comparison in found], guard)


def _refuse(
    files: Sequence[str],
    engines: bool,
    agents: tuple[str, str] | None,
    engine_names: list[str] | None,
    guard: list[str] | None,
) -> None:
    """Raise for arguments that do not go together."""
    if engines and agents is not None:
        raise inputs.Unusable("--engines and --agents contradict each other")
    is_one = engines or agents is not None
    if is_one and len(files) != 1:
        option = "--engines" if engines else "--agents A B"
        hint = "; --for names engines" if engines else ""
        raise inputs.Unusable(f"{option} looks at one file, not {len(files)}{hint}")
    if not is_one and len(files) != 2:
        raise inputs.Unusable(f"two files are compared, OLD and NEW, not {len(files)}")
    if engine_names is not None and not engines:
        raise inputs.Unusable("--for goes with --engines; --dialect says how two files are read")
    if guard and is_one:
        raise inputs.Unusable("--guard goes with two files")
    if files.count("-") > 1:
        raise inputs.Unusable("standard input can be read once only")


def _between_files(
    old: ComparedFile, new: ComparedFile, guarded: tuple[str, ...], options: Options
) -> Comparison:
    from manners.lint.difference import difference
    from manners.lint.sentences import sentences

    dialect = _dialect(options)
    names = [_name(name, dialect) for name in guarded]
    found = difference(old.parsed(dialect), new.parsed(dialect), names=names)
    site = comparing.common_site(old, new)
    return Comparison(old.name, new.name, found, sentences, site=site)


def _between_engines(file: ComparedFile, names: tuple[str, ...]) -> Iterator[Comparison]:
    from manners.lint.difference import difference
    from manners.lint.sentences import engine_sentences

    names = names or (dialects.DEFAULT, *(n for n in dialects.names() if n != dialects.DEFAULT))
    if len(names) < 2:
        raise inputs.Unusable("--for needs two engines, such as rfc9309,google")
    first, *further = map(dialects.get, names)
    site = comparing.common_site(file)
    for other in further:
        # Whether /robots.txt itself may be fetched concerns nobody.
        one, two = (file.parsed(dialect.but(robots_txt_allowed=True)) for dialect in (first, other))
        found = difference(one, two)
        labels = f"{other.name} disallows", f"{other.name} allows"
        wording = partial(engine_sentences, first=first.name, other=other.name)
        yield Comparison(first.name, other.name, found, wording, labels, site)


def _between_agents(file: ComparedFile, agents: tuple[str, str], options: Options) -> Comparison:
    from manners.lint.difference import difference_of_agents
    from manners.lint.sentences import agent_sentences

    dialect = _dialect(options)
    one, other = (_name(agent, dialect) for agent in agents)
    found = difference_of_agents(file.parsed(dialect), one, other)
    labels = f"only {one}", f"only {other}"
    wording = partial(agent_sentences, one=one, other=other)
    return Comparison(one, other, found, wording, labels, comparing.common_site(file))


def _dialect(options: Options) -> dialects.Dialect:
    """The dialect of the settings, which need not be installed for two files."""
    if options.has_settings():
        return dialects.get(options.load().dialect)
    return dialects.get(options.values.get("dialect", dialects.DEFAULT))


def _name(agent: str, dialect: dialects.Dialect) -> str:
    """The agent as the dialect compares it: of a User-Agent header its product token."""
    name = dialect.own_name(agent)
    return name if isinstance(name, str) else name[0]


def _counted(
    found: list[Comparison], place: str, column: str | None, options: Options
) -> list[Comparison]:
    """The same, with the user's own URLs counted."""
    from manners.cli import own_urls
    from manners.lint.difference import count_urls

    batches = own_urls.batches(place, column, found[0].site, options)
    counted = count_urls([comparison.difference for comparison in found], batches)
    return [
        replace(comparison, difference=difference)
        for comparison, difference in zip(found, counted, strict=True)
    ]


def _code(found: "Sequence[RobotsDifference]", guard: list[str] | None) -> int:
    """1 if a verdict changes, for the guarded agents if there are any; 3 if it is not decided."""
    changes = [change for difference in found for change in difference.changes]
    if guard:
        guarded = (found[0].change_for(name) for name in guard)
        changes = [change for change in guarded if change is not None]
    if any(change.closed or change.opened for change in changes):
        return 1
    return UNDECIDED if changes else 0
