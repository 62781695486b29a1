"""What a client sends its requests with: `manners.net.http.Http`, or a scripted sender in tests."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from manners.net.http import Http
from manners.net.messages import Get, Response, Unreachable
from manners.settings import Settings

if TYPE_CHECKING:
    from manners.net.departures import Departure


class ReplyStream(Protocol):
    """A reply whose body is read piece by piece."""

    @property
    def head(self) -> Response:
        """The reply without its body."""

    @property
    def complete(self) -> bool:
        """False when the body was longer than the limit; known at its end."""

    def chunks(self) -> AsyncIterator[bytes]:
        """The body, decompressed; raises `Broken` when it breaks off."""

    def close(self) -> None:
        """Stop reading at once."""


def check_captures(http: "Transport | None", settings: Settings) -> None:
    """Raise for a transport that cannot say what was on the wire, where that is to be archived."""
    if settings.warc is not None and http is not None and not getattr(http, "captures", False):
        raise ValueError("warc= archives what connections of our own receive: leave out http=")


def archive_settings(settings: Settings, http: "Transport | None") -> Settings:
    """The settings with the whole path of an archive: who resumes may be in another folder."""
    check_captures(http, settings)
    place = settings.warc
    return settings if place is None else settings.but(warc=str(Path(place).absolute()))


class Transport(Protocol):
    """Sends the requests of a client.

    It calls `departure.departed()` when a request has been sent, and `departure.may_depart()` first
    if `departure.is_late`. `stream` is needed for streams only.
    """

    async def send(self, get: Get, departure: "Departure | None" = None) -> Response | Unreachable:
        """Send a request and read the reply; failures are values."""

    def stream(
        self, get: Get, departure: "Departure | None" = None
    ) -> AbstractAsyncContextManager[ReplyStream | Unreachable]:
        """Send a request; the body of the reply is read piece by piece."""

    async def close(self) -> None:
        """Close the connections."""


def open_http(settings: Settings, *, keep_alive: bool = True) -> Http:
    """The connections that the settings describe."""
    return Http(
        user_agent=settings.identity.user_agent,
        allow_private=settings.allow_private,
        proxy=settings.proxy,
        ca_file=settings.ca_file,
        cookies=settings.cookies,
        cookie_file=settings.cookie_file,
        auth={place: _login(text) for place, text in settings.logins.items()},
        client_certs=settings.client_certs,
        connections=settings.connections,
        keep_alive=keep_alive,
        captures=settings.warc is not None,
    )


def _login(text: str) -> tuple[str, str]:
    name, _, password = text.partition(":")
    return name, password
