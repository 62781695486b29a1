"""Why a run of a crawl ends, and the stages that it begins with."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from manners.crawler.fleet_values import INTERRUPTED
from manners.crawler.frontier.values import FoundUrl
from manners.errors import BudgetExceeded


class Ending:
    """Why a run is to end, and whether it is over."""

    def __init__(self) -> None:
        self.reason = ""
        """Why nothing more starts."""
        self.error: BaseException | None = None
        self.exceeded: BudgetExceeded | None = None
        """Why no page may be fetched now; a request under way may give a page back."""
        self.is_cancelled = False
        """Whether it ends at once, and what is under way is not waited for."""
        self._over = asyncio.Event()

    @property
    def may_start(self) -> bool:
        """Whether requests may be started."""
        return not self.reason and self.exceeded is None

    @property
    def is_over(self) -> bool:
        """Whether the run ends without waiting for what is under way."""
        return self._over.is_set()

    def finish(self, reason: str) -> None:
        """Nothing is under way and nothing will start."""
        self.reason = reason
        self._over.set()

    def cancel(self) -> None:
        """End now; what is under way is cancelled."""
        self.reason, self.is_cancelled = self.reason or INTERRUPTED, True
        self._over.set()

    def fail(self, error: BaseException) -> None:
        """End now, because of an error; the first one counts."""
        self.error = self.error or error
        self.cancel()

    async def wait(self) -> None:
        """Wait until the run is over."""
        await self._over.wait()


class Stages:
    """What a run begins with, stage by stage."""

    def __init__(self, source: AsyncGenerator[Sequence[FoundUrl], None]) -> None:
        self._source = source
        self.is_pending = False
        """Whether the next stage is being found and added."""
        self.is_over = False
        """Whether there is no other stage."""

    async def next(self) -> Sequence[FoundUrl] | None:
        """The URLs of the next stage; None where there is none."""
        found = await anext(self._source, None)
        self.is_over = found is None
        return found

    async def close(self) -> None:
        """Begin no other stage."""
        await self._source.aclose()
