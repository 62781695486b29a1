"""`manners mcp`: polite web access for AI agents."""

from importlib import import_module
from typing import Annotated, Literal

import typer

from manners.cli import inputs
from manners.cli.options import LOGS, PAGES, Options, takes
from manners.politeness.budget import Budget
from manners.settings.fields import ROBOTS, STORED

_PATIENCE = {"defer_beyond": 20.0, "page_total_timeout": 30.0}
"""Defaults of this command: hosts of agents give up on a call after a minute."""

Purpose = Literal["search", "snippet", "archive", "ai-input", "ai-index", "ai-train", "tdm"]


@takes("max_pages", "max_minutes", "exclude", "include", "signals", *PAGES, "redact_query", *LOGS)
def command(
    purpose: Annotated[
        Purpose | None,
        typer.Option(
            "--purpose",
            metavar="NAME",
            help="Do not show pages whose site refuses this use, such as ai-input.",
            rich_help_panel=ROBOTS,
        ),
    ] = None,
    no_evidence: Annotated[
        bool, typer.Option("--no-evidence", help="Keep no evidence.", rich_help_panel=STORED)
    ] = False,
    *,
    options: Options,
) -> int:
    """Give an AI agent polite web access: a server of the Model Context Protocol.

    The host of the agent starts it, and speaks with it over standard input and output. Its tools
    are fetch, may_fetch, usage and lint_robots. --max-pages and --max-minutes limit the session.
    Exit code 0 when the host leaves.
    """
    if no_evidence and "store" in options.values:
        raise inputs.Unusable("--store and --no-evidence contradict each other")
    settings = options.load(defaults=_PATIENCE)
    place = None if no_evidence else settings.store or inputs.STORE
    limits = [options.values.get(name) for name in ("max_pages", "max_minutes")]
    budget = None if limits == [None, None] else Budget(*limits)
    # A command does not know the drop-ins; this one is a program of its own.
    server = import_module("manners.compat.mcp")
    return int(server.serve(settings.but(store=place), budget, purpose))
