"""The commands, put together."""

import os
import platform
from contextlib import suppress
from typing import Annotated, Any

import typer

import manners
from manners import _family

_COMMANDS = "manners.cli.commands"


def build(name: str | None = None) -> typer.Typer:
    """The command with its subcommands: one for each file in `commands`, or the one named only."""
    app = typer.Typer(
        help="Know what you may fetch, how fast, and prove it.",
        context_settings={"help_option_names": ["-h", "--help"]},
        # Boxes cut the names of options in a narrow terminal; plain text wraps.
        rich_markup_mode="rich" if _columns() >= _ROOM else None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    names = _family.names(_COMMANDS)
    for member in (name,) if name in names else names:
        module = _family.member(_COMMANDS, "command", member)
        if isinstance(module.command, typer.Typer):
            app.add_typer(module.command, name=member)
        else:
            app.command(member)(module.command)
    return app


def show_whole_summaries(command: Any) -> None:
    """Have lists of commands wrap their summaries, which click would cut."""
    for subcommand in getattr(command, "commands", {}).values():
        # Lines of a paragraph are one line: help wraps it to the terminal.
        paragraphs = (subcommand.help or "").split("\n\n")
        subcommand.help = "\n\n".join(" ".join(part.split()) for part in paragraphs)
        subcommand.short_help = subcommand.help.partition("\n\n")[0]
        show_whole_summaries(subcommand)


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
