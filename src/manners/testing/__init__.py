"""For your tests: assertions about a robots.txt, and crawlers that run without network or waiting.

Assertions need no test framework: pytest, unittest and plain scripts call them alike.

>>> verdict = assert_allowed("User-agent: *\\nDisallow: /private/", "/about", agent="GPTBot")
>>> verdict.reason.value
'no-rule-matched'

A crawler is tested with a scripted sender instead of a network, a clock, and an event loop that
skips waiting, so that hours pass in milliseconds.

>>> from manners import AsyncClient
>>> clock = Clock()
>>> http = ScriptedSender({
...     "https://example.com/robots.txt": "User-agent: *\\nCrawl-delay: 3600",
...     "https://example.com/a": "hello",
... }, clock)
>>> async def crawl():
...     async with AsyncClient("MyBot/1.0", http=http, clock=clock, defer_beyond=7200) as client:
...         return await client.get("https://example.com/a")
>>> run(crawl(), clock).text
'hello'
>>> [(request.url, request.at - clock.start) for request in http.requests]
[('https://example.com/robots.txt', 0.0), ('https://example.com/a', 3600.0)]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from manners.testing.assertions import assert_allowed, assert_disallowed

if TYPE_CHECKING:
    from manners.net.messages import Get, Response, Unreachable
    from manners.testing.clock import Clock
    from manners.testing.loop import Deadlock, SkippingLoop, run, skip_waiting
    from manners.testing.sender import ScriptedSender, SentRequest

__all__ = [
    "Clock",
    "Deadlock",
    "Get",
    "Response",
    "ScriptedSender",
    "SentRequest",
    "SkippingLoop",
    "Unreachable",
    "assert_allowed",
    "assert_disallowed",
    "run",
    "skip_waiting",
]

_HOME = {
    "Clock": "manners.testing.clock",
    "Deadlock": "manners.testing.loop",
    "Get": "manners.net.messages",
    "Response": "manners.net.messages",
    "ScriptedSender": "manners.testing.sender",
    "SentRequest": "manners.testing.sender",
    "SkippingLoop": "manners.testing.loop",
    "Unreachable": "manners.net.messages",
    "run": "manners.testing.loop",
    "skip_waiting": "manners.testing.loop",
}
"""Loaded when first used: assertions alone need no event loop."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
