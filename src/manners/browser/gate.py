"""The gate of a browser: every request it makes is answered by us, or refused.

Chromium pauses each request, each hop of a redirect included, before it would connect (the domain
Fetch of its protocol, on the browser itself: pages, frames, popups and workers alike). Nothing is
let through to the network: what a browser gets is what a client has fetched, so the guard,
robots.txt and the pace hold for it as for any other request.

A few requests cannot be paused: speculative loading, WebSockets, WebTransport. A browser that is
SEALED cannot send those either.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, NamedTuple

from manners.client.page import Page
from manners.errors import MannersError

SEALED: Mapping[str, Any] = {
    # Nothing listens there. Without the bypass, Chromium would not use a proxy for loopback.
    "proxy": {"server": "http://127.0.0.1:9", "bypass": "<-loopback>"},
    "service_workers": "block",
}
"""What a context is created with, so that Chromium has no connections of its own."""
PROBE = "http://sealed.invalid/"
"""What the gate lets through: a browser that is sealed fails with the error of its proxy."""
_NOT_SENT = (
    *("accept-encoding", "connection", "content-length", "cookie2", "expect", "host", "te"),
    *("trailer", "transfer-encoding", "upgrade", "user-agent"),
)
"""Headers that are the client's: it says who asks, and what it can read."""
_NOT_ANSWERED = (
    *("alt-svc", "connection", "content-encoding", "content-length", "keep-alive"),
    *("speculation-rules", "transfer-encoding"),
)
"""Headers of a reply that are about the connection; and one that asks for requests in advance."""
_MAX_PENDING = 1_000
"""Requests of a browser that are under way; further ones are refused."""


class RefusedRequest(Exception):
    """A request of a browser that is not sent; the message says why."""


class BrowserRequest(NamedTuple):
    """A request that a browser is about to make."""

    url: str
    kind: str
    """What it is for, as Chromium says it: `Document`, `Image`, `XHR`."""
    frame: str
    """The frame that it is for; empty where there is none."""
    method: str = "GET"
    headers: Mapping[str, str] = {}
    """Without those that are the client's."""
    body: bytes = b""

    @property
    def is_document(self) -> bool:
        """Whether a frame navigates to it."""
        return self.kind == "Document"

    @property
    def is_service_worker(self) -> bool:
        """Whether it is the script of a service worker, which would answer later requests."""
        return any(name.lower() == "service-worker" for name in self.headers)


Answer = Callable[[BrowserRequest], Awaitable[Page]]
"""Fetches what a browser asks for; raises `RefusedRequest`, or an error of ours, if it may not."""


class BrowserGate:
    """Answers the requests of a browser; while it is shut, it refuses them all."""

    def __init__(self, session: Any) -> None:
        self._session = session
        """A session of the browser's protocol, as Playwright has it."""
        self._answer: Answer | None = None
        self._refused: Callable[[BrowserRequest, str], object] = lambda *_: None
        self._tasks: set[asyncio.Task[None]] = set()
        self._navigations: dict[str, asyncio.Task[None]] = {}
        """The navigation of each frame that is under way: a new one takes its place."""

    @property
    def is_open(self) -> bool:
        """Whether somebody answers."""
        return self._answer is not None

    async def enable(self) -> None:
        """Pause every request of the browser from now on."""
        self._session.on("Fetch.requestPaused", self._paused)
        await self._session.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})

    def open(self, answer: Answer, refused: Callable[[BrowserRequest, str], object]) -> None:
        """Answer requests; `refused` is called with each that is not, and the reason."""
        self._answer, self._refused = answer, refused

    async def shut(self) -> None:
        """Refuse all requests, those under way included."""
        self._answer = None
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _paused(self, event: Mapping[str, Any]) -> None:
        task = asyncio.get_running_loop().create_task(self._handle(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        frame = event.get("frameId", "")
        if event["resourceType"] == "Document" and frame:
            before = self._navigations.get(frame)
            if before is not None:
                before.cancel()
            self._navigations[frame] = task
            task.add_done_callback(lambda _: self._forget(frame, task))

    def _forget(self, frame: str, task: asyncio.Task[None]) -> None:
        if self._navigations.get(frame) is task:
            del self._navigations[frame]

    async def _handle(self, event: Mapping[str, Any]) -> None:
        number, url = event["requestId"], event["request"]["url"]
        if url.partition(":")[0].lower() not in ("http", "https", "ws", "wss") or url == PROBE:
            await self._send("Fetch.continueRequest", requestId=number)  # data:, blob:, about:
            return
        request = _request(event)
        try:
            if self._answer is None:
                raise RefusedRequest("the browser is no longer polite")
            if len(self._tasks) > _MAX_PENDING:
                raise RefusedRequest("too many requests at once")
            if request.is_service_worker:
                raise RefusedRequest("a service worker")
            page = await self._answer(request)
        except (RefusedRequest, MannersError, ValueError) as error:
            await self._refuse(number, request, str(error))
        except asyncio.CancelledError:
            await self._refuse(number, request, "given up by the page")
            raise
        else:
            await self._fulfil(number, request, page)

    async def _fulfil(self, number: str, request: BrowserRequest, page: Page) -> None:
        """Hand a reply to the browser; or say why there is none."""
        if not page.was_allowed:
            await self._refuse(number, request, str(page.verdict))
        elif page.status is None:
            await self._refuse(number, request, str(page), "ConnectionFailed")
        elif not await self._send(
            "Fetch.fulfillRequest",
            requestId=number,
            responseCode=page.status,
            responseHeaders=list(_lines(page.headers)),
            body=base64.b64encode(page.body).decode("ascii"),
        ):
            await self._refuse(number, request, "the browser does not take the reply")

    async def _refuse(
        self, number: str, request: BrowserRequest, reason: str, error: str = "BlockedByClient"
    ) -> None:
        self._refused(request, reason)
        await self._send("Fetch.failRequest", requestId=number, errorReason=error)

    async def _send(self, command: str, **arguments: Any) -> bool:
        """Send a command; False when the request, or the browser, is gone."""
        from playwright.async_api import Error

        try:
            await self._session.send(command, arguments)
        except Error:
            return False
        return True


async def is_window(session: Any, frame: str) -> bool:
    """Whether a frame is a window or tab, and not a part of another document."""
    found = await session.send("Target.getTargets")
    return any(
        target["targetId"] == frame and target["type"] == "page" for target in found["targetInfos"]
    )


def _request(event: Mapping[str, Any]) -> BrowserRequest:
    asked = event["request"]
    pieces = (piece.get("bytes", "") for piece in asked.get("postDataEntries", ()))
    return BrowserRequest(
        asked["url"],
        event["resourceType"],
        event.get("frameId", ""),
        asked["method"],
        {
            name: value
            for name, value in asked["headers"].items()
            if name.lower() not in _NOT_SENT and not name.lower().startswith("sec-ch-")
        },
        b"".join(map(base64.b64decode, pieces)),
    )


def _lines(headers: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The headers of a reply as a browser takes them, one line each."""
    for name, value in headers.items():
        if name not in _NOT_ANSWERED:
            for line in value.split("\n"):
                yield {"name": name, "value": line}
