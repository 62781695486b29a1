"""The tester: who may fetch what by a robots.txt that somebody types; and what its page asks."""

import asyncio
import time
from typing import Any

import msgspec
from aiohttp import web

from manners import tester
from manners._text import duration
from manners.cache.site import Site
from manners.retrieval.charset import in_utf8
from manners.tester.question import MAX_BYTES
from manners.urls import origin, with_scheme
from manners.web.pages import PageLink
from manners.web.problems import ServiceProblem
from manners.web.rendering import page
from manners.web.service import SERVICE, Call

LINK = PageLink(10, "Test", "/")
_QUICK = "verdicts"
"""What is asked after every keystroke; whatever takes longer waits its turn."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


async def show(request: web.Request) -> web.Response:
    """The page."""
    return page(request, "tester.html")


async def reply_to(request: web.Request) -> web.Response:
    """The answer to a question of the page."""
    name, values = request.match_info["question"], await _values(request)
    if name not in tester.names():
        raise web.HTTPNotFound
    if name == _QUICK:
        found = await asyncio.to_thread(tester.answer, name, values)
    else:
        found = await request.app[SERVICE].compute(tester.answer, name, values)
    return web.json_response(body=_encode(found))


async def reply_with_site(request: web.Request) -> web.Response:
    """The robots.txt of a site, and how it was retrieved."""
    call, values = Call.of(request), await _values(request)
    url = values.get("url")
    if not isinstance(url, str):
        raise ServiceProblem(422, "'url' is a text.", "Send the URL of a site.")
    url = with_scheme(url.strip())
    site = await call.site(url)
    return web.json_response(body=_encode(_story(site, origin(url), time.time())))


async def _values(request: web.Request) -> dict[str, Any]:
    """The JSON object in a request; browsers send none for another site without asking first."""
    if request.content_type != "application/json":
        raise ServiceProblem(415, "A question is JSON.", "Send application/json.")
    return _decode(await Call.of(request).body())


def _story(site: Site, place: str, now: float) -> dict[str, Any]:
    """A file and how it came here, in words."""
    outcome, entry = site.outcome, site.entry
    text = None if entry is None or entry.body is None else _text(entry.body, entry.charset)
    notes = [outcome.advice] if outcome.advice else []
    if site.everything is not None:
        verdict = "allowed" if site.everything else "disallowed"
        notes.append(f"Until it is retrieved again, every URL of this site is {verdict}.")
    if not outcome.complete:
        notes.append("Only the beginning was read: the file is larger than crawlers read.")
    if text is not None and len(text) > MAX_BYTES:
        text = text[:MAX_BYTES]
        notes.append("Only its beginning is shown.")
    if text is not None and "\ufffd" in text:
        notes.append("Some bytes are no text, and are shown as \ufffd.")
    return {
        "origin": place,
        "url": outcome.url,
        "robots": text,
        "sentence": f"{outcome.url}: {outcome}.",
        "freshness": _freshness(site, now),
        "hops": [hop._asdict() for hop in outcome.hops],
        "notes": notes,
    }


def _text(body: bytes, charset: str) -> str:
    text = in_utf8(body, charset)
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def _freshness(site: Site, now: float) -> str:
    if site.entry is None:
        return ""
    age, rest = site.outcome.age, site.entry.fresh_until - now
    when = "Retrieved just now" if age < 1.0 else f"Retrieved {duration(age)} ago"
    return (
        f"{when}, in {duration(site.outcome.seconds)}; used for another {duration(max(rest, 0))}."
    )


ROUTES = (
    web.get("/", show),
    web.post("/tester/site", reply_with_site),
    web.post("/tester/{question}", reply_to),
)
