"""Stopping a crawl from outside: from another process, or another machine.

The request is the end of the crawl, written to its store. Every worker reads it with its next beat
(once a second; a worker on SQLite whose hosts all wait beats every ten), starts nothing more, and
finishes what is under way. A worker that would join after that is refused, and a resume begins the
crawl again: the same as if somebody had pressed Ctrl-C at each worker.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, update

from manners.crawler.fleet_values import INTERRUPTED
from manners.crawler.frontier.crawls import find
from manners.crawler.frontier.summary import crawl_row
from manners.crawler.frontier.tables import crawls
from manners.crawler.status import RUNNING, end_of
from manners.store.database import TIMEOUT, Store, first


def stop_crawl(
    place: str, number: int | None = None, *, timeout: float = TIMEOUT
) -> tuple[int, bool]:
    """Stop a crawl, by default the last of a store; its number, and whether it was running.

        number, was_running = stop_crawl("manners.db")

    Requests that are under way are finished; `status_of` says when no worker is left.
    """
    with Store(place, create=False, timeout=timeout) as store:
        found = find(store, number)
        with store.reading() as connection:
            ended = crawl_row(connection, found).ended
        if ended or end_of(store, found) != RUNNING:
            return found, False
        was_running: bool = store.write_blocking(_end, found)
        return found, was_running


@first
def _end(connection: Connection, items: Sequence[int]) -> list[bool]:
    """End crawls that have not ended; what ended one by itself meanwhile stays its reason."""
    found = []
    for number in items:
        is_it = (crawls.c.id == number) & crawls.c.ended.is_(None)
        result = connection.execute(update(crawls).where(is_it).values(ended=INTERRUPTED))
        found.append(result.rowcount > 0)
    return found
