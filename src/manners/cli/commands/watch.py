"""`manners watch`: what changes in the robots.txt of sites, and what that does."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manners._text import count, duration, printable
from manners.cli import INTERRUPTED, UNDECIDED, inputs
from manners.cli.options import (
    LOGS,
    JsonOption,
    Options,
    UrlsArgument,
    UrlsColumnOption,
    UrlsOption,
    takes,
)
from manners.errors import InvalidURL
from manners.settings.fields import OUTPUT, SPEED, WHAT
from manners.settings.names import WEBHOOK, WEBHOOK_SECRET
from manners.urls import host, is_this_machine, origin

if TYPE_CHECKING:
    from manners.settings import Settings
    from manners.watch.delivering import Channel, Webhook
    from manners.watch.opening import OpenWatch

CACHE = "manners-watch.db"
"""The default cache file."""
EVERY = "6h"
_MAX_SITES = 100_000
_MAX_SECRET = 4_096
"""Bytes of a file with a secret."""


@takes(
    *("dialect", "profile", "like", "agent", "user_agent", "min_delay", "politeness", "proxy"),
    *("allow_private", "total_timeout", "cache"),
    *LOGS,
)
def command(
    sites: UrlsArgument = None,
    urls: UrlsOption = None,
    urls_column: UrlsColumnOption = None,
    every: Annotated[
        str | None,
        typer.Option(
            "--every",
            metavar="TIME",
            help=f"How often to look: 30m, 6h, 1d (default {EVERY}, at least 5m).",
            rich_help_panel=SPEED,
        ),
    ] = None,
    once: Annotated[
        bool,
        typer.Option("--once", help="Look once and end, as for cron.", rich_help_panel=WHAT),
    ] = False,
    exec_: Annotated[
        str | None,
        typer.Option(
            "--exec",
            metavar="COMMAND",
            help="Call a command for each event, which it reads as JSON.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    webhook: Annotated[
        str | None,
        typer.Option(
            "--webhook",
            metavar="URL",
            help=f"Post each event as signed JSON; or {WEBHOOK}.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    webhook_secret_file: Annotated[
        str | None,
        typer.Option(
            "--webhook-secret-file",
            metavar="FILE",
            help=f"The secret that signs them; or {WEBHOOK_SECRET}.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Watch the robots.txt of sites: report what changes, and what that does to whom.

    With --once, exit code 0 if nothing changed, 1 if something did, 3 if a site could not be
    reached or somebody not be told.
    """
    if once and every is not None:
        raise inputs.Unusable("--once looks once, --every again and again: leave out one")
    settings = options.load(defaults={"cache": CACHE})
    watched = _sites(inputs.UrlList.of(sites, urls, urls_column), settings)
    interval = None if once else _interval(every or EVERY, watched)
    from manners.cli.events import Printer
    from manners.store.locks import InUse
    from manners.watch.opening import OpenWatch, cache_path, only_watch

    printer = Printer(json)
    channels = [printer, *_channels(exec_, webhook, webhook_secret_file, settings)]
    path = cache_path(settings.cache or CACHE)
    watch = OpenWatch(watched, settings, path, channels, inputs.warn, every=interval)
    running = _Run(watch)
    try:
        with only_watch(path):
            _announce(watched, settings, interval)
            running.run()
    except InUse as error:  # as when cron starts the next run before the last one has ended
        inputs.warn(str(error))
        return UNDECIDED
    if interval is not None:
        return 0
    if running.was_stopped:
        return INTERRUPTED
    if watch.watcher.unreachable or watch.watcher.undelivered:
        return UNDECIDED
    return 1 if printer.changes else 0


class _Run:
    """A watch in the portal: the first signal stops it, and the second ends it at once."""

    def __init__(self, watch: "OpenWatch") -> None:
        self._watch = watch
        self.was_stopped = False

    def stop(self) -> None:
        """Start nothing more, and end."""
        from manners._portal import portal

        self.was_stopped = True
        portal.call(self._watch.watcher.stop)

    def abort(self) -> None:
        """End at once."""
        from manners._portal import portal

        self.was_stopped = True
        portal.call(self._watch.watcher.abort)

    def run(self) -> None:
        """Run it to its end."""
        from concurrent.futures import wait

        from manners._portal import portal
        from manners.cli.crawling import interruptible

        with interruptible(self, is_quiet=True):
            running = portal.submit(self._watch.run())
            # A signal that another thread takes wakes nobody: this one has to look for it.
            while not running.done():
                wait([running], _GLANCE)
            running.result()


_GLANCE = 0.5
"""Seconds."""


def _announce(sites: list[str], settings: "Settings", interval: float | None) -> None:
    """Tell a person at a terminal what goes on."""
    if sys.stderr.isatty() and interval is not None:
        print(
            f"watching {count(len(sites), 'site')} every {duration(interval)}"
            f" as {printable(str(settings.identity))}; Ctrl-C ends it",
            file=sys.stderr,
        )


def _sites(urls: inputs.UrlList, settings: "Settings") -> list[str]:
    """The sites to watch, each once."""
    from manners.net import guard

    sites: dict[str, None] = {}
    for url in urls.read(is_needed=True):
        try:
            site = origin(url)
        except InvalidURL as error:
            raise inputs.Unusable(f"cannot watch {error}") from None
        if not settings.allow_private and settings.proxy is None and guard.refuses(host(site)):
            raise inputs.Unusable(f"cannot watch {site}: {inputs.REFUSED}")
        sites[site] = None
        if len(sites) > _MAX_SITES:
            raise inputs.Unusable(f"more than {_MAX_SITES:,} sites: watch them in several runs")
    return list(sites)


def _interval(text: str, sites: list[str]) -> float:
    from manners.watch import pace

    is_here = all(is_this_machine(host(site)) for site in sites)
    try:
        return pace.read_interval(text, pace.MIN_EVERY_HERE if is_here else pace.MIN_EVERY)
    except ValueError as error:
        raise inputs.Unusable(f"--every {error}") from None


def _channels(
    exec_: str | None, webhook: str | None, secret_file: str | None, settings: "Settings"
) -> "list[Channel]":
    """Who is told, besides whoever reads what is printed."""
    from manners.watch.delivering import Command

    channels: list[Channel] = []
    if exec_ is not None:
        channels.append(Command(_words(exec_)))
    webhook = os.environ.get(WEBHOOK) if webhook is None else webhook
    if webhook:
        channels.append(_webhook(webhook, secret_file, settings))
    elif secret_file is not None:
        raise inputs.Unusable("--webhook-secret-file signs what is posted: add --webhook URL")
    return channels


def _words(text: str) -> list[str]:
    """The words of a command, as a shell splits them; no shell is involved later."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise inputs.Unusable(f"--exec {text!r}: {error}") from None
    if not words:
        raise inputs.Unusable("--exec needs a command")
    if shutil.which(words[0]) is None:
        raise inputs.Unusable(f"--exec: there is no command {words[0]!r}")
    return words


def _webhook(url: str, secret_file: str | None, settings: "Settings") -> "Webhook":
    from manners.net.posting import Poster
    from manners.watch.delivering import Webhook, webhook_problem

    problem = webhook_problem(url, settings.allow_private)
    if problem:  # without the URL, which may be a secret
        raise inputs.Unusable(f"the address of the webhook cannot be used: {problem}")
    poster = Poster(
        user_agent=settings.identity.user_agent,
        allow_private=settings.allow_private,
        proxy=settings.proxy,
        ca_file=settings.ca_file,
    )
    return Webhook(url, _secret(secret_file), poster)


def _secret(file: str | None) -> bytes:
    """The secret that a webhook shares with us; messages do not show it."""
    from manners.watch.signing import read_secret

    if file is not None:
        try:
            with Path(file).open("rb") as opened:
                data, place = opened.read(_MAX_SECRET + 1), repr(file)
        except OSError as error:
            raise inputs.Unusable(f"cannot read {file!r}: {error.strerror}") from None
    elif WEBHOOK_SECRET in os.environ:
        data, place = os.fsencode(os.environ[WEBHOOK_SECRET]), WEBHOOK_SECRET
    else:
        raise inputs.Unusable(
            "a webhook needs a secret, which signs what is posted: --webhook-secret-file FILE"
            f" or {WEBHOOK_SECRET}"
        )
    if len(data) > _MAX_SECRET:
        raise inputs.Unusable(f"{place} is no secret: it has more than {_MAX_SECRET:,} bytes")
    try:
        return read_secret(data)
    except ValueError as error:
        raise inputs.Unusable(f"{place} {error}") from None
