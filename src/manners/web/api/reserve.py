"""`/v1/reserve`, `/v1/renew`, `/v1/release`: politeness for crawlers in any language.

A crawler asks for its turn, sends its request, and gives the slot back. Everything that this
package promises to hosts holds across all crawlers that ask the same service, and across services
that share a Valkey.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from manners.client.visit import Visit
from manners.errors import Disallowed, HostDeferred, SlotTimeout
from manners.urls import host, with_scheme
from manners.web.api import Parameters, Resource
from manners.web.api.check import Agent, Url, VerdictReply, verdict_reply
from manners.web.problems import ServiceProblem
from manners.web.service import START_WITHIN, Call

_LEASE = 60.0
_LEAST_WAIT = 0.1
"""Seconds: a turn that is there takes no time, but asking for it does."""

LeaseName = Annotated[str, Meta(min_length=1, max_length=200)]
State = Literal["granted", "disallowed", "later"]


class ReserveRequest(Parameters, frozen=True, kw_only=True):
    """A request that a crawler wants to send."""

    url: Url
    agent: Agent | UnsetType = UNSET
    """The User-Agent that is sent; robots.txt is read for its product token, unless the service
    was started with `--agent`."""
    wait: Annotated[float, Meta(ge=0, le=60)] = 30.0
    """Seconds to wait for the turn; the reply comes as soon as it is there."""
    lease: Annotated[float, Meta(ge=1, le=3600)] = _LEASE
    """Seconds until the slot is given back by itself."""


class ReserveReply(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the request may be sent now."""

    state: State
    """`granted`: send it now. `disallowed`: never. `later`: ask again after `retry_after`."""
    host: str
    verdict: VerdictReply | None = None
    lease: str | None = None
    """The name of the slot: renew it while the request runs, release it afterwards."""
    expires_in: float | None = None
    """Seconds until the slot is given back by itself."""
    start_within: float | None = None
    """Seconds in which the request has to leave; one that is later releases and reserves anew."""
    delay: float | None = None
    """Seconds between requests that the host's robots.txt asks for."""
    retry_after: float | None = None
    """Seconds."""


class RenewRequest(Parameters, frozen=True, kw_only=True):
    """A slot that is still needed."""

    lease: LeaseName
    departed: bool = True
    """Whether the request has left: the delay to the next one counts from here, and it need not
    wait for the slot to be released."""


class RenewReply(msgspec.Struct, frozen=True, kw_only=True):
    """The slot as it is now."""

    expires_in: float


class ReleaseRequest(Parameters, frozen=True, kw_only=True):
    """A slot that is not needed any more, and what the host replied."""

    lease: LeaseName
    status: Annotated[int, Meta(ge=100, le=599)] | UnsetType = UNSET
    """The HTTP status; 429 and 503 make everybody back off from the host."""
    retry_after: Annotated[str, Meta(max_length=200)] | UnsetType = UNSET
    """The header Retry-After, as it is."""
    seconds: Annotated[float, Meta(ge=0, le=86_400)] | UnsetType = UNSET
    """How long the host took to reply: slow ones are asked less often."""


class ReleaseReply(msgspec.Struct, frozen=True, kw_only=True):
    """That the slot is free."""

    released: bool
    backed_off_for: float | None = None
    """Seconds for which nobody asks this host."""


async def reserve(call: Call, request: ReserveRequest) -> ReserveReply:
    """Wait for the turn of a request."""
    service, url = call.service, with_scheme(request.url)
    name, lease = host(url), min(request.lease, service.settings.lease)
    agent = None if request.agent is UNSET else request.agent
    call.may_retrieve(url)
    service.traffic.take_lease(call.client)
    granted = False
    try:
        async with asyncio.timeout(max(request.wait, _LEAST_WAIT)):
            visit = await service.client.visit(url, tells=True, user_agent=agent)
        granted = True
    except Disallowed as error:
        return ReserveReply(state="disallowed", host=name, verdict=verdict_reply(error.verdict))
    except HostDeferred as error:
        return _later(name, error.until - time.time())
    except (TimeoutError, SlotTimeout):
        return _later(name, service.client.pace_of(name)[1] - time.time())
    finally:
        if not granted:
            service.traffic.end_lease(call.client)
    return ReserveReply(
        state="granted",
        host=name,
        verdict=verdict_reply(visit.verdict),
        lease=service.leases.add(visit, lease, lambda: service.traffic.end_lease(call.client)),
        expires_in=lease,
        start_within=START_WITHIN if service.is_shared else lease,
        delay=visit.delay or None,
    )


def _later(name: str, seconds: float) -> ReserveReply:
    return ReserveReply(state="later", host=name, retry_after=round(max(seconds, _LEAST_WAIT), 3))


async def renew(call: Call, request: RenewRequest) -> RenewReply:
    """Keep a slot."""
    seconds = await call.service.leases.renew(request.lease, departed=request.departed)
    if seconds is None:
        raise _no_lease()
    return RenewReply(expires_in=seconds)


async def release(call: Call, request: ReleaseRequest) -> ReleaseReply:
    """Give a slot back."""
    visit = call.service.leases.take(request.lease)
    if visit is None:
        raise _no_lease()
    backed_off = None
    try:
        if request.status is not UNSET:
            backed_off = await _note(visit, request, request.status)
    finally:
        await visit.leave()
    return ReleaseReply(released=True, backed_off_for=backed_off)


async def _note(visit: Visit, request: ReleaseRequest, status: int) -> float | None:
    headers: Mapping[str, Any] = {}
    if request.retry_after is not UNSET:
        headers = {"retry-after": request.retry_after}
    seconds = visit.seconds if request.seconds is UNSET else request.seconds
    if not visit.departed_at:
        visit.departed()
    until = visit.note(status, headers, seconds)
    if until is None:
        return None
    await visit.penalise(until)
    return max(until - time.time(), 0.0)


def _no_lease() -> ServiceProblem:
    return ServiceProblem(
        404,
        "There is no such lease: it has expired, or was released.",
        "Reserve again before the next request.",
    )


RESOURCES = (
    Resource(
        "POST", "reserve", "Wait for the turn of a request", ReserveRequest, ReserveReply, reserve
    ),
    Resource("POST", "renew", "Keep a slot while a request runs", RenewRequest, RenewReply, renew),
    Resource("POST", "release", "Give a slot back", ReleaseRequest, ReleaseReply, release),
)
