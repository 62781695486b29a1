"""The commands, put together."""

import os
import platform
from contextlib import suppress
from typing import Annotated, Any

import typer

import manners
from manners import _family


def build() -> typer.Typer:
    """The command with one subcommand for each file in `commands`."""
    app = typer.Typer(
        help="Know what you may fetch, how fast, and prove it.",
        add_completion=False,
        # Boxes cut the names of options where there is no room for them; plain text wraps.
        rich_markup_mode="rich" if _columns() >= _ROOM else None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for name in _family.names("manners.cli.commands"):
        module = _family.member("manners.cli.commands", "command", name)
        if isinstance(module.command, typer.Typer):
            app.add_typer(module.command, name=name)
        else:
            app.command(name)(module.command)
    return app


def show_whole_summaries(command: Any) -> None:
    """Have each list of commands wrap their summaries, where click would cut them."""
    for each in getattr(command, "commands", {}).values():
        each.short_help = (each.help or "").partition("\n\n")[0]
        show_whole_summaries(each)


_ROOM = 80
"""Columns from which on no help in boxes cuts anything; a test looks."""


def _columns() -> int:
    """The width of the terminal, as rich finds it: of any of the three streams, else 80."""
    for name in ("TERMINAL_WIDTH", "COLUMNS"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    for stream in range(3):
        with suppress(OSError):
            return os.get_terminal_size(stream).columns
    return _ROOM


def _version(asked: bool) -> None:
    if asked:
        typer.echo(
            f"manners {manners.__version__} ({manners.KERNEL} kernel,"
            f" {platform.python_implementation()} {platform.python_version()})"
        )
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Know what you may fetch, how fast, and prove it."""
