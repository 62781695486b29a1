"""Thousands of sites at once cost no more than a few hundred, some of them misbehaving."""

import asyncio
from pathlib import Path

import pytest

from manners.cache.robots import ENTRIES, AsyncRobotsCache
from manners.retrieval.profiles import get
from tests.faults.faults import FILE, raw
from tests.faults.memory import anew, peak
from tests.faults.play import descriptors, run
from tests.faults.server import Call, Site, page
from tests.sizes import size

AT_A_TIME = 256
"""Connections that a client may have open."""
PROFILE = get("rfc9309").but(connect=5.0, read=2.0, total=5.0)
OTHERS = (page(status=404), page(status=503), raw(after="reset"), raw(b"garbage"))
"""What every tenth site does instead, in turn."""


async def answer(call: Call) -> None:
    """A file after a moment, so that many are waiting at a time; every tenth site is at fault."""
    _, _, high, low = map(int, call.address.split("."))
    place = high * 250 + low
    await call.request()
    await asyncio.sleep(0.02)
    if place % 10:
        await call.reply(200, FILE)
    else:
        await OTHERS[place // 10 % len(OTHERS)](call)


@pytest.mark.long
def test_many_origins_share_a_bounded_client() -> None:
    """However many sites are asked for, connections, descriptors and entries stay within bounds."""
    count = size("ORIGINS")
    weighs = Path("/proc/self/clear_refs").exists()

    async def work() -> list[str]:
        complaints: list[str] = []
        most = 0
        async with Site(answer) as site:
            async with AsyncRobotsCache(allow_private=True, profile=PROFILE) as cache:
                urls = [site.url(f"127.7.{n // 250}.{n % 250 + 1}") for n in range(count)]
                before, memory = descriptors(), anew() if weighs else 0.0
                asking = asyncio.create_task(cache.prefetch(urls))
                while not asking.done():
                    most = max(most, descriptors() - before)
                    await asyncio.sleep(0.01)
                await asking
                counts = cache.statistics()
                grown = peak() - memory if weighs else 0.0
                left = descriptors() - before
            if site.most > AT_A_TIME or site.accepted.total() != count or len(site.log) > count:
                complaints.append(
                    f"{site.most} connections at once, {site.accepted.total()} in all"
                )
            if most > 2 * AT_A_TIME + 16 or left > 16:  # both ends of a connection are ours
                complaints.append(f"{most} descriptors, {left} left")
            # A task and a line of the log for each site, and no more than that.
            if grown > 50 + count * 0.01:
                complaints.append(f"{grown:.0f} MB")
            if counts.entries != ENTRIES or counts.retrievals != count:
                complaints.append(str(counts))
            if counts.unreachable != 3 * (count // 40) + (count % 40) // 10:
                complaints.append(f"{counts.unreachable} unreachable")
            complaints.extend(map(repr, site.failures))
        return complaints

    run(work)
