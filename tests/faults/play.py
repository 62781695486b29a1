"""Playing faults: a cache against a server that misbehaves, and what is wrong with the answers."""

import asyncio
import gc
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from manners.cache.robots import AsyncRobotsCache
from manners.cache.site import Site as Known
from manners.retrieval.outcome import Availability
from manners.retrieval.profiles import Profile, get
from manners.robots.verdict import Reason
from tests.client.apart import judged
from tests.faults.faults import Fault, Means
from tests.faults.server import Site, by_address

TOTAL = 0.8
LATE = 1.0
"""Seconds that an answer may be late."""
AT_ONCE = 16
"""Faults played side by side: more of them would wait for each other, not for the server."""


def hurried(profile: str) -> Profile:
    return get(profile).but(connect=0.4, read=0.6, total=TOTAL)


# What is left behind.


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").glob("*")))  # none where there is no /proc


def settled(count: Callable[[], int], most: int) -> bool:
    """Whether a count comes back to what it was, soon."""
    until = time.monotonic() + 30
    while count() > most and time.monotonic() < until:
        gc.collect()
        time.sleep(0.02)
    return count() <= most


def run(work: Callable[[], Awaitable[list[str]]]) -> None:
    """Run some work; it has no complaints, and leaves no task, socket or thread behind.

    Server and client share a loop, and the client has less than a second.
    """
    complaints: list[str] = []

    async def watched() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(f"loop: {context}"))
        complaints.extend(await judged(work))
        for _ in range(3):  # what is closed is gone a few turns later
            await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        complaints.extend(f"left behind: {task}" for task in left)
        gc.collect()  # an exception that nobody has seen is reported now

    gc.collect()
    before, threads = descriptors(), threading.active_count()
    asyncio.run(watched())
    assert not complaints, "\n".join(complaints)
    assert settled(descriptors, before), "descriptors left behind"
    assert settled(threading.active_count, threads), threading.enumerate()


# What is expected.


def meant(profile: Profile, known: Known) -> Means | None:
    """What an answer says that the server meant; None when it contradicts itself."""
    outcome = known.outcome
    url = outcome.url.removesuffix("/robots.txt")
    verdicts = [known.check(f"{url}/{path}", agent="MyBot") for path in ("public", "private")]
    closed, reasons = profile.unreachable == "disallow", {each.reason for each in verdicts}
    match outcome.availability, [verdict.allowed for verdict in verdicts]:
        case Availability.AVAILABLE, [True, allowed] if not outcome.complete:
            right = outcome.bytes == profile.max_read and allowed == (profile.too_large == "allow")
            return Means.LONG if right else None
        case Availability.AVAILABLE, [True, allowed]:
            return Means.EMPTY if allowed else Means.FILE
        case Availability.UNAVAILABLE, [True, True]:
            return Means.UNAVAILABLE if reasons == {Reason.UNAVAILABLE} else None
        case Availability.UNREACHABLE, allowed:
            right = allowed == [not closed] * 2 and (outcome.confidence == "high") == closed
            return Means.UNREACHABLE if right and reasons == {Reason.UNREACHABLE} else None
    return None


def complaint(fault: Fault, profile: Profile, known: Known) -> str | None:
    """What is wrong with an answer, by part B of the semantics."""
    outcome = known.outcome
    expected, found = fault.meanings(profile.name), meant(profile, known)
    if found not in expected:
        return f"{fault.name}: {outcome}: {found}, not {expected}"
    if not outcome.note.isprintable() or len(outcome.note) > 100:
        return f"{fault.name}: {outcome.note!r}"
    return None


async def ask(cache: AsyncRobotsCache, fault: Fault, url: str) -> str | None:
    """Ask for the robots.txt of a site that misbehaves; what is wrong with the answer."""
    start = time.monotonic()
    try:
        known = await cache.get(url)
    except Exception as failure:
        return f"{fault.name}: raised {failure!r}"
    took = time.monotonic() - start
    if took > TOTAL + LATE:
        return f"{fault.name}: took {took:.2f} s"
    return complaint(fault, cache.profile, known)


async def play(profile: Profile, family: list[Fault], times: int = 1) -> list[str]:
    """Play faults side by side, each on addresses of its own; what is wrong with the answers."""
    blocks = {f"127.{20 + n // 250}.{n % 250}.": fault for n, fault in enumerate(family)}
    answer = by_address({block: fault.answer for block, fault in blocks.items()})
    complaints: list[str] = []
    turn = asyncio.Semaphore(AT_ONCE)
    async with Site(answer, ports=2) as site:

        async def one(block: str, fault: Fault) -> None:
            async with turn:
                wrong = await ask(cache, fault, site.url(block + "1"))
            if wrong is not None:
                complaints.append(wrong)

        for _ in range(times):
            async with AsyncRobotsCache(allow_private=True, profile=profile) as cache:
                await asyncio.gather(*(one(block, fault) for block, fault in blocks.items()))
        if not await site.emptied():
            complaints.append(f"{site.open} connections left open")
        for block, fault in blocks.items():
            home, *elsewhere = (site.accepted[f"{block}{host}"] for host in range(1, 10))
            if home + sum(elsewhere) > min(fault.requests, profile.max_redirects + 1) * times:
                complaints.append(f"{fault.name}: {home} + {elsewhere} connections")
            if any(elsewhere) and not profile.redirects_leave_host:
                complaints.append(f"{fault.name}: other hosts were asked")
        complaints.extend(map(repr, site.failures))
    return complaints
