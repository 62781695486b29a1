"""Options of commands, made from the fields of `Settings`.

A command names the settings it takes and gets those that were given:

    @takes("max_pages", *RETRIEVAL, *LOGS)
    def command(url: UrlArgument, *, options: Options, json: JsonOption = False) -> int:
        settings = options.load()
"""

import inspect
import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

import typer

from manners.cli.inputs import Unusable, typed_url, warn
from manners.settings.fields import OUTPUT, ROBOTS, STORED, WHAT, Fields, flag_of, option_of
from manners.settings.names import FILE, NOT_SETTINGS, PREFIX

if TYPE_CHECKING:
    from manners.settings import Settings

_FETCHING = ("dialect", "profile", "like", "allow_private", "user_agent", "cache")
RETRIEVAL = (*_FETCHING, "total_timeout")
"""The settings of commands that retrieve robots.txt only."""
PAGES = (
    *("min_delay", "concurrency", "politeness", "agent", "user_agent", "headers", "cookie_file"),
    *("proxy", "allow_private", "page_total_timeout", "dialect", "profile", "like"),
    *("store", "cache"),
)
"""The settings of commands that fetch pages."""
ARCHIVES = ("warc", "warc_size")
"""The settings of commands that archive what they fetch."""
LOGS = ("log_level", "log_format", "log_matches")

UrlsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[URL]...", help="URLs or domains; - or none reads standard input."),
]


def _typed_url(context: typer.Context, text: str) -> str:
    has_file = any(parameter.name == "robots" for parameter in context.command.params)
    return typed_url(text, *(["--robots"] if has_file else []))


UrlArgument = Annotated[
    str,
    typer.Argument(metavar="URL", help="Any URL of the site, or its domain.", callback=_typed_url),
]
UrlsOption = Annotated[
    str | None,
    typer.Option(
        "--urls",
        metavar="FILE",
        help="A list of URLs, one per line; - is standard input.",
        rich_help_panel=WHAT,
    ),
]
UrlsColumnOption = Annotated[
    str | None,
    typer.Option(
        "--urls-column",
        metavar="NAME",
        help="The list is CSV: take this column.",
        rich_help_panel=WHAT,
    ),
]
RobotsOption = Annotated[
    str | None,
    typer.Option(
        "--robots",
        metavar="FILE",
        help="Use this robots.txt, not the site's; - is standard input.",
        rich_help_panel=ROBOTS,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        help="Save each page to a file in DIR.",
        rich_help_panel=STORED,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print JSON, one object per line.", rich_help_panel=OUTPUT),
]
ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings: TOML (default manners.toml), or a scan.yml.",
        rich_help_panel=OUTPUT,
    ),
]


class Options(NamedTuple):
    """The settings that a command was given as options."""

    config: str | None
    values: dict[str, Any]

    def load(
        self, stored: Mapping[str, Any] | None = None, defaults: Mapping[str, Any] | None = None
    ) -> "Settings":
        """The settings in force; logs are set up by them. Options win over stored settings.

        `defaults` count instead of the settings' own.
        """
        from manners import logs
        from manners.settings import load

        # A resumed crawl loads settings a second time, and has had the warnings.
        tell = warn if stored is None else _ignore
        given = {**(stored or {}), **self.values}
        settings, sources = load(self.config, options=given, warn=tell)
        unset = {
            name: value for name, value in (defaults or {}).items() if sources[name] == "default"
        }
        settings = settings.but(**unset) if unset else settings
        logs.configure(settings.log_level, settings.log_format, settings.log_matches)
        return settings

    def plus(self, **values: Any) -> "Options":
        """The same options, and some that were given in another way; None was not given."""
        return self._replace(values=self.values | values)

    def refuse_retrieval(self, option: str, *used: str) -> None:
        """Raise for an option about retrieving that an option makes no use of."""
        for name in self.values:
            if name in RETRIEVAL and name not in used:
                raise Unusable(f"nothing is retrieved with {option}: leave out {flag_of(name)}")

    def has_settings(self) -> bool:
        """Whether there is more to load than a dialect: an option, a file or a variable."""
        return (
            self.config is not None
            or bool(self.values.keys() - {"dialect"})
            or Path(FILE).is_file()
            or any(name.startswith(PREFIX) for name in os.environ.keys() - {*NOT_SETTINGS})
        )


def _ignore(_: str) -> None:
    pass


Command = Callable[..., int]


def takes(*settings: str) -> Callable[[Command], Command]:
    """Give a command `--config` and an option for each of these settings.

    They replace its parameter `options`, which gets those that were given.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> int:
            values: dict[str, Any] = {}
            for name in settings:
                value, option = given.pop(name, None), option_of(name)
                if value is not None:
                    values |= dict.fromkeys((name, *(option.also if option else ())), value)
            options = Options(given.pop("config", None), values)
            return command(**given, options=options)

        signature = inspect.signature(command)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            if parameter.name == "options":
                parameters += map(_parameter, settings)
                parameters.append(_keyword("config", ConfigOption))
            else:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {item.name: item.annotation for item in parameters}
        return run

    return decorate


def _keyword(name: str, annotation: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=None, annotation=annotation)


def _parameter(name: str) -> inspect.Parameter:
    """The option of a setting, as a parameter of a command."""
    option = option_of(name)
    if option is None:
        raise LookupError(f"no option for the setting {name!r}")
    kind = _type(Fields.__annotations__[name])
    written = typer.Option(
        option.name or flag_of(name),
        metavar=option.metavar or None,
        help=option.help,
        rich_help_panel=option.panel,
    )
    return _keyword(name, Annotated[kind | None, written])


def _type(annotation: Any) -> Any:
    """The type that an option is parsed as; choices and ranges are checked by `Settings`."""
    origin = get_origin(annotation)
    if origin is None:
        return annotation
    if origin is tuple:
        return list[str]
    parts = [part for part in get_args(annotation) if part is not type(None)]
    return str if isinstance(parts[0], str) else _type(parts[0])
