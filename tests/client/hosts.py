"""What the hosts do that log who came, when and for how long; `apart` runs them."""

import asyncio
import random
from collections import Counter
from email.utils import formatdate
from time import time

from tests.client.asking import rules, silence, site, slow, to
from tests.faults.server import Call, by_address, by_path, page

chance = random.Random(7)

# Mixed latencies.

LATENCIES = (0.0, 0.0, 0.01, 0.05, 0.2, 0.4, 0.9)
PATIENCE = 1.5
"""Seconds after which the client of these hosts closes the connection."""
CLOSED = ("/closed", "/deep/closed")


async def mixed(call: Call) -> None:
    """Quick ones, slow ones, redirects, failures, and requests that the client gives up."""
    visit = await call.request()
    if visit.path == "/robots.txt":
        await call.pause(chance.choice(LATENCIES[:4]))
        await rules("Disallow: /closed", "Disallow: /deep/closed")(call)
        return
    await call.pause(chance.choice(LATENCIES))
    match chance.randrange(20):
        case 0:
            await call.pause()  # until the client has had enough
        case 1:
            await to("/elsewhere")(call)
        case 2:
            await to("/closed")(call)
        case 3:
            await to(f"http://127.0.1.{chance.randint(1, 50)}:{call.port}/from-afar")(call)
        case 4:
            await to(f"http://127.0.1.{chance.randint(1, 50)}:{call.port}/deep/closed")(call)
        case 5:
            await call.reply(500, b"sorry")
        case 6:
            call.reset()
        case _:
            await call.reply(200, b"x" * chance.choice((10, 1000, 100_000)))


quick = site()
"""All is open, and answered at once."""
waiting = by_path({"/robots.txt": rules(), "/quick": page(b"hi")}, silence)
"""Nothing is answered but what is quick."""

# Hosts that say how fast.


async def pair(call: Call) -> None:
    """Two ports, one of which asks for more."""
    is_first = call.port == call.site.ports[0]
    await site(rules("Crawl-delay: 0.4") if is_first else rules("Crawl-delay: 0.2"))(call)


crawl_delay = by_address(
    {
        "127.0.2.1": site(rules("Crawl-delay: 1.5")),
        "127.0.2.2": site(rules("Crawl-delay: 0.5")),
        "127.0.2.3": site(rules("Request-rate: 2/1s")),
        "127.0.2.4": site(rules("Crawl-delay: 0.01")),
        "127.0.2.9": pair,
    },
    site(),
)

# Hosts that say that it is too much.

asked: Counter[str] = Counter()


async def storm(call: Call) -> None:
    """Too much, twice in a row; says for how long: in seconds, as a date, or not at all."""
    visit = await call.request()
    if visit.path == "/robots.txt":
        await rules()(call)
        return
    asked[call.address] += 1
    if asked[call.address] > 2:
        await call.reply(200, b"well")
        return
    await call.pause(0.05)
    last = call.address.rpartition(".")[2]
    match int(last) % 3:
        case 0:
            await call.reply(429, b"", [("Retry-After", "2")])
        case 1:
            await call.reply(503, b"", [("Retry-After", formatdate(time() + 3, usegmt=True))])
        case _:
            await call.reply(503)


BUSY_WAITS = (1, 2, 4, 0, 0, 0, 1, 2, 0, 0, 4)
"""How often the first wait lies behind each page."""
BUSY = (503, 429, 503, 200, 200, 200, 503, 503, 200, 200, 503, 200)


async def busy(call: Call) -> None:
    """Too busy at times."""
    visit = await call.request()
    if visit.path == "/robots.txt":
        await rules()(call)
    else:
        await call.reply(BUSY[int(visit.path[1:])])


served: Counter[str] = Counter()


async def closing(call: Call) -> None:
    """Every second answer ends its connection, so that every second request has to make one."""
    visit = await call.request()
    served[call.address] += 1
    if visit.path == "/robots.txt":
        await rules("Crawl-delay: 0.5")(call)
    else:
        ends = served[call.address] % 2 == 0
        await call.reply(200, b"hi", [("Connection", "close")] * ends)
        call.stays = not ends


async def idle(call: Call) -> None:
    """Answers, and closes the connection a moment later, without saying so."""
    visit = await call.request()
    await call.reply(200, b"" if visit.path == "/robots.txt" else b"hi")
    call.stays = False
    await asyncio.sleep(0.001)


even = by_path({"/robots.txt": slow(0.3)}, slow(0.3))
"""Everything takes the same time."""


async def slamming(call: Call) -> None:
    """Reads the request, and closes the connection without an answer."""
    visit = await call.request()
    if visit.path in ("/robots.txt", "/well"):
        await page(b"")(call)
        return
    if visit.path == "/reset":
        call.reset()
    await asyncio.sleep(0)
