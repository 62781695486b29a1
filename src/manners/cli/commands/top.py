"""`manners top`: a crawl or a fleet that runs elsewhere, live."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from manners.cli import UNDECIDED, inputs, render
from manners.cli.options import LOGS, JsonOption, Options, takes
from manners.settings.names import SERVE_TOKEN

if TYPE_CHECKING:
    from manners.cli.snapshots import ServiceSource, SourceReader, StoreSource

_GLANCE = 0.25
"""Seconds after which the screen is drawn again, and signals are looked for."""
_WIDTH = 160
"""Of what is printed into a file or a pipe."""


@takes("store", "redact_query", *LOGS)
def command(
    place: Annotated[
        str | None,
        typer.Argument(
            metavar="[STORE|URL]",
            help="A store, or the address of a `manners serve` (default manners.db).",
        ),
    ] = None,
    crawl: Annotated[
        int | None,
        typer.Option("--crawl", metavar="N", min=1, help="Which crawl (default the last)."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Print it once, and end.")] = False,
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="T", help=f"What the service wants; or {SERVE_TOKEN}."),
    ] = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Show a crawl that runs elsewhere, live: hosts, workers, rates, answers, the slowest pages.

    It only reads. Keys: s sorts hosts, f shows those of one state, / those with a text in their
    name, q quits. Without a terminal it prints once. Exit code 3 if nothing can be read now.
    """
    if place == "":
        raise inputs.Unusable("it is empty: pass a store, or the address of a `manners serve`")
    from manners.cli.snapshots import SourceReader

    source = _source(place, crawl, token, options)
    reader = SourceReader(source)
    if sys.stdin.isatty() and sys.stdout.isatty() and not (once or json):
        return _show(reader, source.place)
    reader.look()
    source.close()
    if reader.failure is not None:
        raise reader.failure
    return _print(reader, json)


def _source(
    place: str | None, crawl: int | None, token: str | None, options: Options
) -> "StoreSource | ServiceSource":
    from manners.cli.snapshots import ServiceSource, StoreSource

    if place is not None and place.lower().startswith(("http://", "https://")):
        token = os.environ.get(SERVE_TOKEN) if token is None else token
        return ServiceSource(place, crawl, token, options.load())
    if token is not None:
        raise inputs.Unusable("--token is for the address of a service, not for a store")
    settings = options.plus(**({} if place is None else {"store": place})).load()
    return StoreSource(settings.store or inputs.STORE, crawl, settings)


def _print(reader: "SourceReader", json: bool) -> int:
    """Print the crawl as it is now."""
    from rich.console import Console

    from manners.cli.overview import Screen
    from manners.cli.overview import render as rendered

    if reader.snapshot is None:
        print(f"manners: {reader.problem}", file=sys.stderr)
        return UNDECIDED
    if json:
        print(render.as_json(reader.values))
        return 0
    width = None if sys.stdout.isatty() else _WIDTH
    Console(width=width, highlight=False).print(rendered(reader.snapshot, reader.rate, Screen()))
    return 0


def _show(reader: "SourceReader", place: str) -> int:
    """Show it until somebody wants no more."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from manners._text import printable
    from manners.cli.keyboard import Keyboard
    from manners.cli.overview import Screen
    from manners.cli.overview import render as rendered

    console, screen = Console(highlight=False), Screen()
    live = Live(Text(), console=console, screen=True, auto_refresh=False)
    keyboard = Keyboard(live)
    with reader.reading(), keyboard.open():
        while not (screen.is_over or keyboard.is_over) and reader.failure is None:
            if reader.snapshot is None:
                text = reader.problem or f"reading {place}"
                live.update(Text(printable(text)), refresh=True)
            else:
                height = console.size.height
                view = rendered(reader.snapshot, reader.rate, screen, reader.problem, height)
                live.update(view, refresh=True)
            for key in keyboard.keys(_GLANCE):
                screen = screen.press(key)
    if reader.failure is not None:
        raise reader.failure
    return 0
