"""Listening: connections within limits, and an end that lets running requests finish."""

import asyncio
import resource
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import cast

from aiohttp import web

from manners._interrupts import ENDING, handling
from manners.settings import Settings
from manners.web.application import application
from manners.web.connections import Connections
from manners.web.service import Serving

_SPARE_FILES = 128
"""Files of the process that are not connections of clients."""
_GRACE = 10.0
"""Seconds for running requests to finish."""
_BACKLOG = 128


async def serve(
    settings: Settings, serving: Serving, started: Callable[[str], None] = lambda _: None
) -> None:
    """Serve until SIGTERM or SIGINT; `started` is called with the address."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    with _signals(loop, stopped):
        async with listening(settings, serving) as address:
            started(address)
            await stopped.wait()


@asynccontextmanager
async def listening(settings: Settings, serving: Serving) -> AsyncIterator[str]:
    """Serve, at the address that this yields; at the end, running requests may finish."""
    runner = web.AppRunner(
        application(settings, serving),
        handler_cancellation=True,  # a client that went away gives back what it waited for
        shutdown_timeout=_GRACE,
    )
    await runner.setup()
    most = min(serving.limits.connections, _files_allowed())
    connections = Connections(cast(web.Server, runner.server), serving.limits, most)
    watch = asyncio.create_task(connections.watch())
    try:
        server = await asyncio.get_running_loop().create_server(
            connections, serving.host, serving.port, backlog=_BACKLOG, reuse_address=True
        )
        try:
            yield _address(server, serving)
        finally:
            server.close()
    finally:
        await runner.cleanup()
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)


@contextmanager
def _signals(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> Iterator[None]:
    """Stop at a signal; at a second one, at once."""
    task = asyncio.current_task()

    def stop() -> None:
        if stopped.is_set() and task is not None:
            task.cancel()
        stopped.set()

    with handling(lambda: loop.call_soon_threadsafe(stop), *ENDING):
        yield


def _files_allowed() -> int:
    """Connections that the limit of open files leaves room for."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return 1 << 30
    return max(allowed - _SPARE_FILES, allowed // 2)


def _address(server: asyncio.Server, serving: Serving) -> str:
    port = server.sockets[0].getsockname()[1]
    name = f"[{serving.host}]" if ":" in serving.host else serving.host
    return f"http://{name}:{port}/"
