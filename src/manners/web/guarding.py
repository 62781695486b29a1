"""The guard in front of every page and of the API.

Whoever can make a browser on this machine send a request could otherwise use this service to reach
what only this machine can reach, or read what it says:

- A page of another site whose name suddenly means 127.0.0.1 (DNS rebinding) sends its own name as
  Host. Only names that belong to this service are answered.
- A page of another site may send a request without reading the reply. Browsers say so
  (Sec-Fetch-Site, Origin), and such requests are refused, except that a link may lead to a page
  that neither changes nor fetches anything.
- Nothing from a site becomes markup (`rendering.py`). If it did, the content security policy would
  still stop scripts.
"""

import asyncio
import base64
import binascii
import hmac
import logging
import time
from collections.abc import Awaitable, Callable
from functools import lru_cache
from urllib.parse import urlsplit

from aiohttp import web

from manners.net import guard
from manners.web import pages, rendering
from manners.web.api import PREFIX
from manners.web.limits import client_of
from manners.web.problems import ServiceProblem, problem_of
from manners.web.service import DEADLINE, SERVICE, Service

MIN_TOKEN = 16
"""Characters: what is shorter can be guessed."""
_NO_TOKEN = ("/healthz", "/readyz", "/static/")
"""What needs no token: it says nothing."""
_SAFE = ("GET", "HEAD")
_OWN = (None, "same-origin", "none")
"""Sec-Fetch-Site of requests that no other site has caused; programs do not send it."""

_PAGE_HEADERS = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "same-origin"),  # with no-referrer, a form would send the Origin `null`
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Cache-Control", "no-store"),
)
_DATA_HEADERS = (
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def stand_guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Let a request through if it may, and turn errors into replies."""
    service, begun = request.app[SERVICE], time.perf_counter()
    client, is_counted = client_of(request.remote), False
    reply: web.StreamResponse
    try:
        _admit(request, service)
        service.traffic.begin(client)
        is_counted = True
        async with asyncio.timeout(None) as deadline:
            request[DEADLINE] = deadline
            service.deadlines.begin(deadline, asyncio.get_running_loop().time())
            try:
                reply = await handler(request)
            finally:
                service.deadlines.end(deadline)
    except Exception as error:
        if isinstance(error, ConnectionError):
            raise
        reply = _reply_to(request, error)
    finally:
        if is_counted:
            service.traffic.end(client)
    _count(service, request, reply.status, time.perf_counter() - begun)
    return reply


async def add_headers(_: web.Request, reply: web.StreamResponse) -> None:
    """Add what keeps a browser from doing more with a reply than showing it."""
    headers = reply.headers
    for name, value in _PAGE_HEADERS if reply.content_type == "text/html" else _DATA_HEADERS:
        headers.setdefault(name, value)  # a report has a policy of its own, and a file is kept


def _admit(request: web.Request, service: Service) -> None:
    """Raise the problem of a request that may not be answered."""
    headers = request.headers
    host = headers.get("Host", "")
    if not _is_own_name(host, service.serving.names):
        raise ServiceProblem(
            421,
            f"This service is not called {host!r}.",
            "Use its address, or start it with --name NAME for each name that it has.",
        )
    token, path = service.serving.token, request.path
    if token is not None and not path.startswith(_NO_TOKEN):
        _check_token(headers.get("Authorization", ""), token)
    origin = headers.get("Origin")
    if origin is not None and not _is_same_host(origin, host):
        raise _cross_site()
    if headers.get("Sec-Fetch-Site") in _OWN:
        return
    is_link = request.method in _SAFE and headers.get("Sec-Fetch-Mode") == "navigate"
    if not is_link or path.startswith((f"{PREFIX}/", *_fetching_paths())):
        raise _cross_site()


@lru_cache(maxsize=256)
def _is_own_name(host: str, names: tuple[str, ...]) -> bool:
    """Whether a Host header names this service: addresses cannot be rebound, names can."""
    try:
        parts = urlsplit(f"//{host}")
        name = (parts.hostname or "").rstrip(".").lower()
        _ = parts.port  # raises for what is not a port
    except ValueError:
        return False
    if not name or parts.path or parts.query or parts.username is not None:
        return False
    return name == "localhost" or name in names or guard.literal(name) is not None


@lru_cache(maxsize=256)
def _is_same_host(origin: str, host: str) -> bool:
    """Whether an Origin is this service; a proxy in front may have added TLS."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _fetching_paths() -> tuple[str, ...]:
    return tuple(
        route.path.partition("{")[0]
        for member in pages.members()
        if getattr(member, "FETCHES", False)
        for route in member.ROUTES
    )


def _check_token(authorization: str, token: str) -> None:
    """Raise unless the token is there: as Bearer, or as the password of a browser."""
    scheme, _, given = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            given = base64.b64decode(given, validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            given = ""
    elif scheme.lower() != "bearer":
        given = ""
    # It takes as long for a token that is nearly right as for any other.
    if not hmac.compare_digest(given.encode(errors="replace"), token.encode()):
        raise ServiceProblem(
            401,
            "This service wants its token.",
            "Send it as 'Authorization: Bearer TOKEN'; in a browser, as the password.",
        )


def _cross_site() -> ServiceProblem:
    return ServiceProblem(
        403,
        "Another site has sent you here, and this address does something.",
        "Go to the first page of this service, and on from there.",
    )


def _reply_to(request: web.Request, error: Exception) -> web.Response:
    """The reply for an error: a page for people, a problem for programs."""
    problem = problem_of(error, time.time())
    if problem is None:
        logging.getLogger("manners.web").error(
            "%s %s failed", request.method, request.match_info.route.resource, exc_info=error
        )
        problem = ServiceProblem(500, "Something is wrong with this service.", "Its log says more.")
    accepts_page = "text/html" in request.headers.get("Accept", "")
    if not accepts_page or request.path.startswith(f"{PREFIX}/"):
        return problem.reply()
    reply = rendering.page(request, "problem.html", status=problem.status, problem=problem)
    reply.headers.update(problem.headers)
    return reply


def _count(service: Service, request: web.Request, status: int, seconds: float) -> None:
    resource = request.match_info.route.resource
    route = "" if resource is None else resource.canonical
    key = route, status
    service.replies[key] = service.replies.get(key, 0) + 1
    service.seconds[route] = service.seconds.get(route, 0.0) + seconds
