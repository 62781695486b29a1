"""`manners serve`: a tester, an API for programs in any language, and crawls to look at."""

import asyncio
import os
from typing import Annotated

import typer

from manners.cli import inputs
from manners.cli.options import LOGS, Options, takes
from manners.settings.fields import OUTPUT, REQUESTS
from manners.settings.names import SERVE_TOKEN

PORT = 9309
_HERE = "127.0.0.1"
_MAX_PORT = 65_535


@takes(
    *("dialect", "profile", "like", "agent", "user_agent", "min_delay", "concurrency"),
    *("politeness", "proxy", "allow_private", "total_timeout", "store", "cache"),
    *LOGS,
)
def command(
    host: Annotated[
        str,
        typer.Option("--host", metavar="ADDRESS", help="Listen on this address of the machine."),
    ] = _HERE,
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="N", min=0, max=_MAX_PORT, help="The port; 0 takes any free one."
        ),
    ] = PORT,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            metavar="TOKEN",
            help=f"What every request has to bring; or {SERVE_TOKEN}.",
            show_default=False,
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="A name that it is reached by, as behind a proxy; repeatable.",
            rich_help_panel=REQUESTS,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            metavar="N",
            min=0.1,
            help="Requests a second for each client (default: 200, or no limit on 127.0.0.1).",
            rich_help_panel=REQUESTS,
        ),
    ] = None,
    control: Annotated[
        bool,
        typer.Option("--control", help="Allow to stop and resume crawls.", rich_help_panel=OUTPUT),
    ] = False,
    *,
    options: Options,
) -> int:
    """Serve a tester for robots.txt, an API, and the crawls of a store, to this machine.

    On another address than 127.0.0.1 it needs a token. Private addresses are not asked for
    anything, unless --allow-private.
    """
    settings = options.load()
    settings = settings.but(store=settings.store or inputs.STORE)
    from dataclasses import replace
    from importlib import import_module

    from manners.net.guard import literal
    from manners.web.limits import ServiceLimits
    from manners.web.service import Serving
    from manners.web.serving import serve

    token = os.environ.get(SERVE_TOKEN) if token is None else token
    address = literal("127.0.0.1" if host == "localhost" else host)
    is_here = address is not None and address.is_loopback
    _check_token(token, host, is_here)
    limits = ServiceLimits(rate=rate if rate is not None else None if is_here else _RATE)
    metrics = import_module("manners.compat.prometheus").Metrics()
    serving = Serving(
        registry=metrics.registry,
        on_event=metrics,
        host=host,
        port=port,
        token=token,
        names=tuple(name.rstrip(".").lower() for name in names or ()),
        control=control,
    )
    asyncio.run(serve(settings, replace(serving, limits=limits), _announce))
    return 0


_RATE = 200.0


def _check_token(token: str | None, host: str, is_here: bool) -> None:
    from manners.web.guarding import MIN_TOKEN

    if token is None:
        if not is_here:
            raise inputs.Unusable(
                f"--host {host} is open to other machines: anyone there could send requests"
                f" through this one; add --token, or set {SERVE_TOKEN}"
            )
    elif len(token) < MIN_TOKEN:
        raise inputs.Unusable(
            f"--token is too short to be a secret: {MIN_TOKEN} characters or more"
        )


def _announce(address: str) -> None:
    print(f"serving {address}; Ctrl-C ends it", flush=True)
