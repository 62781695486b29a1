"""Who is told of an event: a command, or a webhook. Both deliver one event at a time."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from manners._text import cut, duration, printable
from manners.errors import InvalidURL
from manners.net import guard
from manners.net.messages import REFUSED, Response, Unreachable
from manners.net.posting import Poster
from manners.settings.names import WEBHOOK, WEBHOOK_SECRET
from manners.urls import host, origin
from manners.watch import signing
from manners.watch.journal import Delivery

COMMAND_TIMEOUT = 60.0
"""Seconds that a command has for one event."""


class Channel(Protocol):
    """A way to tell somebody of an event."""

    name: str
    """By which the journal knows it."""
    is_retried: bool
    """Whether a delivery that failed is tried again."""
    has_all: bool
    """Whether it gets the first look at each site, too."""

    async def deliver(self, delivery: Delivery) -> str:
        """Deliver an event; returns the problem, in a few words, or nothing."""


class Command:
    """Calls a command for each event: the JSON on its standard input, facts in its environment.

    No shell is involved. What it prints goes to standard error, so that standard output has events
    only. It is not called again when it fails: it has been told.
    """

    name, is_retried, has_all = "exec", False, False

    def __init__(self, words: Sequence[str], timeout: float = COMMAND_TIMEOUT) -> None:
        self._words, self._timeout = list(words), timeout

    async def deliver(self, delivery: Delivery) -> str:
        """Call the command, and wait until it ends."""
        shown = printable(cut(self._words[0], 100))
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words,
                stdin=asyncio.subprocess.PIPE,
                stdout=2,
                env=_environment(json.loads(delivery.text)),
                start_new_session=True,  # Ctrl-C is for the watch, which lets the command finish
            )
        except OSError as error:
            return f"cannot start {shown}: {error.strerror or error}"
        try:
            async with asyncio.timeout(self._timeout):
                await process.communicate(delivery.text.encode() + b"\n")
        except TimeoutError:
            return f"{shown} did not end within {duration(self._timeout)}, and was killed"
        finally:
            await _end(process)
        return f"{shown} ended with exit code {process.returncode}" if process.returncode else ""


def _environment(values: Mapping[str, Any]) -> dict[str, str]:
    """The environment of a command: ours without secrets, and the facts of an event."""
    secrets = (WEBHOOK, WEBHOOK_SECRET)
    ours = {name: value for name, value in os.environ.items() if name not in secrets}
    facts = {"ID": values["id"], "EVENT": values["event"], "SITE": values["site"]}
    facts |= {"URL": values["url"], "TEXT": printable(cut(values["text"], _MAX_TEXT))}
    return ours | {f"WATCH_{name}": fact for name, fact in facts.items()}


_MAX_TEXT = 10_000
"""Characters: an environment has little room."""


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill a command that still runs, with all that it has started."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:  # Windows
                process.kill()
        await process.wait()


class Webhook:
    """Posts each event as JSON, signed with a shared secret, until the receiver accepts it.

    Only the origin of the URL is shown: what follows may be a secret.
    """

    name, is_retried, has_all = "webhook", True, False

    def __init__(
        self, url: str, secret: bytes, poster: Poster, clock: Callable[[], float] = time.time
    ) -> None:
        self._url, self._secret, self._poster, self._clock = url, secret, poster, clock
        self.place = origin(url)
        """Where it is, as it may be shown."""

    async def deliver(self, delivery: Delivery) -> str:
        """Post the event once."""
        body, values = delivery.text.encode(), json.loads(delivery.text)
        headers = {
            "Content-Type": "application/json",
            "Manners-Event": values["event"],
            "Manners-Event-Id": values["id"],
            signing.HEADER: signing.signature(self._secret, int(self._clock()), body),
        }
        reply = await self._poster.post(self._url, body, headers)
        problem = _problem(reply)
        return f"{printable(self.place)}: {problem}" if problem else ""


def _problem(reply: Response | Unreachable) -> str:
    match reply:
        case Unreachable(cause) if cause == REFUSED:
            return f"{REFUSED}: private or local; --allow-private allows it"
        case Unreachable():
            return reply.full
        case Response(status) if 200 <= status < 300:
            return ""
        case Response(status) if 300 <= status < 400:
            return f"replied {status}, and redirects are not followed: give the final address"
        case Response(status):
            return f"replied {status}"


def webhook_problem(url: str, allow_private: bool) -> str:
    """What is wrong with the address of a webhook, without showing it; empty if nothing.

    >>> webhook_problem("https://hooks.example/tea", allow_private=False)
    ''
    >>> webhook_problem("http://127.0.0.1/tea", allow_private=False)
    'is a private or local address; --allow-private allows it'
    """
    try:
        name, site = host(url), origin(url)
    except InvalidURL as error:
        return error.problem
    authority = url.partition("//")[2].partition("/")[0].partition("?")[0]
    if "@" in authority:
        return "has a user name or password, which is not sent: the signature says who you are"
    if not allow_private and guard.refuses(name):
        return "is a private or local address; --allow-private allows it"
    return "" if site else "has no host"
