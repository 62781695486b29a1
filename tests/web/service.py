"""A service on loopback, and whoever asks it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import aiohttp
import msgspec

from manners.web.limits import ServiceLimits
from manners.web.service import Serving
from manners.web.serving import listening
from tests.client.asking import settings

TOKEN = "a-token-that-nobody-guesses"


class Answer(NamedTuple):
    """A reply."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Asker:
    """Sends requests to one service."""

    address: str
    session: aiohttp.ClientSession
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, **given: Any
    ) -> Answer:
        async with self.session.request(
            method,
            self.address.rstrip("/") + path,
            headers={**self.headers, **(headers or {})},
            allow_redirects=False,
            **given,
        ) as reply:
            return Answer(reply.status, reply.headers, await reply.read())

    async def get(
        self, path: str, headers: Mapping[str, str] | None = None, **query: Any
    ) -> Answer:
        return await self.ask("GET", path, headers, params=query or None)

    async def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
        return await self.ask("POST", path, headers, json=body)


@asynccontextmanager
async def service(
    *, token: str | None = None, names: tuple[str, ...] = (), control: bool = False, **changes: Any
) -> AsyncIterator[Asker]:
    """A service that may go to loopback addresses at once; keywords are settings and limits."""
    fields = ServiceLimits.__dataclass_fields__
    limits = ServiceLimits(**{name: changes.pop(name) for name in list(changes) if name in fields})
    serving = Serving(port=0, token=token, names=names, control=control, limits=limits)
    async with (
        listening(settings(**changes), serving) as address,
        aiohttp.ClientSession() as session,
    ):
        yield Asker(address, session)
