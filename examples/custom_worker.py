"""Your own queue and workers; the client decides whether and when each URL is fetched.

    python custom_worker.py --max-pages 10 https://example.com/ https://example.org/

Several workers take URLs from an `asyncio.Queue`. A URL whose host must not be asked for more than
`--patience` seconds goes back to the queue, and the worker takes another. When the budget is used
up, the rest is skipped. The exit code is 0 when no URL was skipped, 1 otherwise.

Settings come from `manners.toml` and the environment: for a site on your own machine, run it with
MANNERS_ALLOW_PRIVATE=true.
"""

import argparse
import asyncio
import sys
import time

import manners
from manners import Budget, BudgetExceeded, HostDeferred, InvalidURL, SlotTimeout

BUSY = 1.0
"""Seconds until the next attempt at a host whose slots are all in use."""


class Workers:
    """Workers, and their queue of URLs."""

    def __init__(self, client: manners.AsyncClient, budget: Budget) -> None:
        self.client, self.budget = client, budget
        self.queue: asyncio.Queue[str] = asyncio.Queue()
        self.skipped = 0

    async def run(self, number: int) -> None:
        """Work until the queue is empty and no URL is to come back to it."""
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(self.work()) for _ in range(number)]
            await self.queue.join()
            for worker in workers:
                worker.cancel()

    async def work(self) -> None:
        """Take URLs, one after the other."""
        while True:
            url = await self.queue.get()
            try:
                self.handle(await self.client.get(url))
            except HostDeferred as error:
                seconds = error.until - time.time()
                if seconds < self.budget.seconds_left(time.time()):
                    print(f"later    {url}  {error}", flush=True)
                    self.retry_later(url, seconds)
                    continue
                self.skip(url, str(error))
            except SlotTimeout:
                self.retry_later(url, BUSY)
                continue
            except BudgetExceeded as error:
                self.skip(url, str(error))
            except InvalidURL as error:
                self.skip(url, error.problem)
            self.queue.task_done()

    def handle(self, page: manners.Page) -> None:
        """Do something with a page: this is the place for your own code."""
        if not page.was_allowed:
            print(f"blocked  {page.url}  {page.verdict}", flush=True)
        elif page.ok:
            print(f"fetched  {page.url}  {len(page.body)} bytes", flush=True)
        else:
            print(f"failed   {page.url}  {page}", flush=True)

    def skip(self, url: str, why: str) -> None:
        """Give a URL up."""
        print(f"skipped  {url}  {why}", flush=True)
        self.skipped += 1

    def retry_later(self, url: str, seconds: float) -> None:
        """Put a URL back into the queue after some seconds."""

        def put_back() -> None:
            self.queue.put_nowait(url)
            self.queue.task_done()  # the queue has counted it twice

        asyncio.get_running_loop().call_later(seconds, put_back)


async def main() -> int:
    """Start the workers, and wait for them."""
    options = argparse.ArgumentParser(description="Fetch URLs with workers of your own.")
    options.add_argument("urls", nargs="+")
    options.add_argument("--agent", default="MyBot", help="sent as User-Agent")
    options.add_argument("--workers", type=int, default=4)
    options.add_argument("--max-pages", type=int, default=200)
    options.add_argument("--patience", type=float, default=10.0, metavar="SECONDS")
    given = options.parse_args()

    settings = manners.Settings.load().but(max_pages=given.max_pages, defer_beyond=given.patience)
    budget = settings.budget
    async with manners.AsyncClient(given.agent, settings, budget=budget) as client:
        workers = Workers(client, budget)
        for url in given.urls:
            workers.queue.put_nowait(url)
        await workers.run(given.workers)
    return 1 if workers.skipped else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
