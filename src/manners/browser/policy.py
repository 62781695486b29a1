"""What a browser may load, and how: documents like pages, the rest by a policy.

A document, in a window or a frame, has a verdict, a record, a turn and a slot. Sub-resources, such
as images, scripts and what scripts ask for, have a verdict and a record; as in any browser they
come right after their page, but only as many at a time as the host has slots.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal, get_args

from manners.browser.gate import BrowserRequest, RefusedRequest
from manners.client.async_client import AsyncClient
from manners.client.headers import limit_logins
from manners.client.page import Page
from manners.errors import InvalidURL
from manners.politeness.schedule import TOO_MUCH
from manners.urls import host, origin

Subresources = Literal["same-host", "all", "none"]
"""Which sub-resources are loaded: those of the document's host, all, or none."""
MAX_RESOURCES = 500
"""Sub-resources of one document: scripts may ask for more and more."""
_MAX_FRAMES = 10_000
"""Frames whose documents are remembered; the oldest is forgotten."""


class FrameDocument:
    """The document of a frame: where it came from, and how much it has asked for."""

    __slots__ = ("host", "requests")

    def __init__(self, name: str) -> None:
        self.host = name
        self.requests = 0


class LoadingPolicy:
    """Fetches what a browser asks for, with a client; or refuses it.

    `is_window` says whether a frame is a window or tab, and not a part of another document.
    """

    def __init__(
        self,
        client: AsyncClient,
        subresources: Subresources,
        is_window: Callable[[str], Awaitable[bool]],
    ) -> None:
        if subresources not in get_args(Subresources):
            choices = ", ".join(map(repr, get_args(Subresources)))
            raise ValueError(f"subresources={subresources!r}: choose from {choices}")
        self._client, self._subresources, self._is_window = client, subresources, is_window
        self._documents: dict[str, FrameDocument] = {}
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._pauses: dict[str, float] = {}
        """Hosts that have asked for a pause, and until when."""

    async def answer(self, request: BrowserRequest) -> Page:
        """The reply to a request, as far as there may be one; redirects are not followed."""
        # A browser goes where pages send it: logins of the settings are for the user's own URLs.
        with limit_logins(()):
            page = await (
                self._document(request) if request.is_document else self._resource(request)
            )
        if page.status in TOO_MUCH:
            name = host(request.url)
            self._pauses[name] = self._client.pace_of(name)[1]
        return page

    def opened(self, frame: str, url: str) -> None:
        """A frame has a new document."""
        if len(self._documents) >= _MAX_FRAMES:
            del self._documents[next(iter(self._documents))]
        self._documents.pop(frame, None)
        self._documents[frame] = FrameDocument(host(url))

    async def _document(self, request: BrowserRequest) -> Page:
        if request.frame not in self._documents and not await self._is_window(request.frame):
            self._check(request, None)
        page = await self._client.hop(
            request.url, request.headers, method=request.method, body=request.body
        )
        if page.status is not None and not page.is_redirect:
            self.opened(request.frame, request.url)
        return page

    async def _resource(self, request: BrowserRequest) -> Page:
        document, name = self._documents.get(request.frame), host(request.url)
        self._check(request, document)
        if document is not None:
            document.requests += 1
            if document.requests > MAX_RESOURCES:
                raise RefusedRequest(f"a page loads at most {MAX_RESOURCES} sub-resources")
        if self._client.robots.clock() < self._pauses.get(name, 0.0):
            raise RefusedRequest("the host has asked for a pause")
        if len(self._slots) >= _MAX_FRAMES:
            self._slots.clear()
        slots = self._slots.setdefault(
            name, asyncio.Semaphore(self._client.settings.slots_of(name))
        )
        async with slots:
            return await self._client.hop(
                request.url,
                request.headers,
                method=request.method,
                body=request.body,
                is_page=False,
            )

    def _check(self, request: BrowserRequest, document: FrameDocument | None) -> None:
        """Raise for what the policy does not load."""
        if self._subresources == "none":
            raise RefusedRequest("sub-resources are not loaded: subresources='none'")
        name = host(request.url)
        # A frame without a document of its own, such as about:blank, belongs to any of them.
        hosts = {document.host} if document else {known.host for known in self._documents.values()}
        if self._subresources == "same-host" and name not in hosts:
            raise RefusedRequest("another host: subresources='same-host'")
        if request.method not in ("GET", "HEAD", "OPTIONS") and _is_foreign(request):
            raise RefusedRequest(f"a {request.method} to another origin")


def _is_foreign(request: BrowserRequest) -> bool:
    """Whether a request goes to another origin than it comes from, as far as it says."""
    sender = next(
        (value for name, value in request.headers.items() if name.lower() == "origin"), ""
    )
    with suppress(InvalidURL):
        return origin(request.url) != origin(sender)
    return True
