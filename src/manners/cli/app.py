"""The commands, put together."""

import platform
from typing import Annotated

import typer

import manners
from manners import _family

_COMMANDS = "manners.cli.commands"


def build(name: str | None = None) -> typer.Typer:
    """The command with its subcommands: one for each file in `commands`, or the one named only."""
    app = typer.Typer(
        help="Know what you may fetch, how fast, and prove it.",
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,  # boxes leave little room for text; see `help`
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
