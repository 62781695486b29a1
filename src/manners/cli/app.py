"""The commands, put together."""

import platform
from typing import Annotated

import typer

import manners
from manners import _family


def build() -> typer.Typer:
    """The command with one subcommand for each file in `commands`."""
    app = typer.Typer(
        help="Know what you may fetch, how fast, and prove it.",
        add_completion=False,
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
