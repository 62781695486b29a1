"""A browser whose requests a client makes, as long as a block lasts."""

from collections import deque
from typing import Any, NamedTuple, Self
from weakref import WeakKeyDictionary

from playwright.async_api import Browser, BrowserContext, Error

from manners.browser.gate import PROBE, BrowserGate, BrowserRequest, is_window
from manners.browser.policy import LoadingPolicy, Subresources
from manners.client.async_client import AsyncClient

_REMEMBERED = 1_000
"""Refusals that are kept; the oldest is forgotten."""


class RequestRefusal(NamedTuple):
    """A request of the browser that was not sent, or failed, and why."""

    url: str
    kind: str
    """What it was for, as Chromium says it: `Document`, `Image`, `XHR`."""
    reason: str


class PoliteBrowser:
    """A browser whose requests a client makes: documents like pages, the rest by a policy."""

    def __init__(
        self, context: BrowserContext, client: AsyncClient, subresources: Subresources
    ) -> None:
        self._context = context
        self._policy = LoadingPolicy(client, subresources, self._is_window)
        self._session: Any = None
        self._gate: BrowserGate | None = None
        self.refusals: deque[RequestRefusal] = deque(maxlen=_REMEMBERED)
        """What was refused last, the latest at the end."""

    def refusal(self, url: str) -> RequestRefusal | None:
        """Why the latest request for a URL was refused; None if it was not."""
        return next((known for known in reversed(self.refusals) if known.url == url), None)

    async def __aenter__(self) -> Self:
        browser = self._context.browser
        if browser is None or browser.browser_type.name != "chromium":
            raise ValueError("only Chromium can be polite: other browsers follow redirects unasked")
        gate, session = _GATES.get(browser, (None, None))
        if gate is None:
            session = await browser.new_browser_cdp_session()
            gate = BrowserGate(session)
            await gate.enable()
            _GATES[browser] = gate, session
        if gate.is_open:
            raise RuntimeError("the browser is polite already: one block is for all its contexts")
        self._gate, self._session = gate, session
        await _check_sealed(self._context)
        gate.open(self._policy.answer, self._note)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._gate is not None:
            await self._gate.shut()

    async def _is_window(self, frame: str) -> bool:
        return await is_window(self._session, frame)

    def _note(self, request: BrowserRequest, reason: str) -> None:
        self.refusals.append(RequestRefusal(request.url, request.kind, reason))


_GATES: "WeakKeyDictionary[Browser, tuple[BrowserGate, Any]]" = WeakKeyDictionary()
"""The gate of each browser. It is never taken away: pages that are open could go anywhere."""


async def _check_sealed(context: BrowserContext) -> None:
    """Raise if the browser could connect by itself, past the gate."""
    page = await context.new_page()
    try:
        await page.goto(PROBE)
        problem = "an answer came"
    except Error as error:
        problem = str(error)
    finally:
        await page.close()
    if "ERR_PROXY_CONNECTION_FAILED" not in problem:
        raise ValueError(
            "the context has connections of its own: create it with browser.new_context(**SEALED)"
        )
