"""The crawls of a store: begin one, find one, and what each was told to do."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from manners.errors import MissingExtra, StoreError

try:
    from sqlalchemy import Connection, func, select
except ModuleNotFoundError as error:
    if error.name != "sqlalchemy":
        raise
    raise MissingExtra("sqlalchemy", "crawl") from None

from manners.crawler.frontier.queries import Queries, insert_crawl
from manners.crawler.frontier.tables import FIRST_VERSION, crawls, pages, urls
from manners.crawler.frontier.values import clean
from manners.crawler.reasons import NO_ROOM, NOT_NAMED, OTHER_HOST, USAGE
from manners.store.database import Store

CRAWL, LIST, DISCOVERY = "crawl", "get", "discover"
"""The command that a crawl was begun by; `manners get` begins one for a list of URLs."""
_IS_CRAWL = crawls.c.command == CRAWL


_VERDICTS = ("excluded", "rule-matched", "stale-copy")
_REASONS_BY_SETTING = {
    "source": (NOT_NAMED,),
    "same_domain": (OTHER_HOST,),
    "max_discovered": (NO_ROOM,),
    "max_sitemaps": (NO_ROOM,),
    **dict.fromkeys(
        ("agent", "dialect", "profile", "respect_robots", "hosts", "exclude", "include"), _VERDICTS
    ),
    **dict.fromkeys(("purpose", "unknown", "signals"), (USAGE,)),
}
"""Settings, and what is blocked for which reasons because of them."""


class NoCrawl(StoreError):
    """The crawl is not in the store."""


def begin(
    store: Store,
    starts: Sequence[str],
    settings: Mapping[str, Any] | None = None,
    *,
    now: float,
    command: str = CRAWL,
) -> int:
    """Begin a crawl, a discovery, or a list, which starts with its name; returns its number."""

    def job(connection: Connection, items: Sequence[None]) -> list[int]:
        start = clean(" ".join(starts))
        number = insert_crawl(connection, start, now, settings or {}, command)
        return [number] * len(items)

    number: int = store.write_blocking(job, None)
    return number


def reopen(
    queries: Queries, settings: Mapping[str, Any], max_depth: int | None, now: float
) -> None:
    """Queue what may be fetched now in a crawl that nobody works on; it runs from now on.

    That is what could not be decided; what was too deep, if the limit has changed; and what was
    blocked because of settings that have changed.
    """
    before, after = queries.settings(), json.loads(json.dumps(settings))
    reasons = {"unreachable"}
    for name, blocked_for in _REASONS_BY_SETTING.items():
        if before.get(name) != after.get(name):
            reasons.update(blocked_for)
    queries.requeue(reasons, max_depth)
    queries.resume(after)
    queries.recount()
    queries.add_queued_hosts(now)
    queries.wake_all(now)


def starts(store: Store, number: int) -> list[tuple[str, bool]]:
    """The URLs that a crawl started with, and where those redirect to: False for these."""
    with store.reading() as connection:
        return list(Queries(connection, number).starts())


def latest_list(store: Store, name: str) -> int:
    """The number of the last list of this name; 0 where there is none."""
    if store.version < FIRST_VERSION:
        return 0
    is_it = (crawls.c.command == LIST) & (crawls.c.start == clean(name))
    with store.reading() as connection:
        return int(connection.execute(select(func.max(crawls.c.id)).where(is_it)).scalar() or 0)


def is_list(store: Store, number: int) -> bool:
    """Whether it is a list of URLs, and not a crawl that follows links."""
    with store.reading() as connection:
        query = select(crawls.c.command).where(crawls.c.id == number)
        return connection.execute(query).scalar() == LIST


def latest(store: Store) -> int:
    """The number of the last crawl; 0 where there is none."""
    if store.version < FIRST_VERSION:
        return 0
    with store.reading() as connection:
        query = select(func.max(crawls.c.id)).where(_IS_CRAWL)
        return int(connection.execute(query).scalar() or 0)


def latest_of_all(store: Store) -> int:
    """The number of the last crawl or discovery; 0 where there is none."""
    with store.reading() as connection:
        return int(connection.execute(select(func.max(crawls.c.id))).scalar() or 0)


def find(store: Store, number: int | None = None) -> int:
    """The number of a crawl, the last one by default; `NoCrawl` where there is no such crawl.

    A list of URLs is found by its number only.
    """
    check_version(store)
    with store.reading() as connection:
        rows = connection.execute(select(crawls.c.id, crawls.c.command).order_by(crawls.c.id))
        commands = {row.id: row.command for row in rows}
    if number is not None and commands.get(number) == LIST:
        return number
    numbers = [known for known, command in commands.items() if command == CRAWL]
    if not numbers:
        only = ", only what `manners discover` found" if commands else ""
        if LIST in commands.values():
            only = ", only lists of `manners get`"
        raise NoCrawl(store.place, f"there is no crawl in it{only}; `manners crawl` makes one")
    if number is None:
        return int(numbers[-1])
    if number not in numbers:
        problem = f"there is no crawl {number} in it"
        if number in commands:
            problem = f"crawl {number} is a discovery"
        last = ", ".join(map(str, numbers[-10:]))
        raise NoCrawl(store.place, f"{problem}; the latest are: {last}")
    return number


def find_open(store: Store, number: int | None = None) -> int:
    """The number of a crawl to work on: the last one that has not ended, by default."""
    if number is not None:
        return find(store, number)
    check_version(store)
    with store.reading() as connection:
        is_open = crawls.c.ended.is_(None) & crawls.c.command.in_((CRAWL, LIST))
        found = connection.execute(select(func.max(crawls.c.id)).where(is_open)).scalar()
    return int(found) if found else find(store)


def check_version(store: Store) -> None:
    """Raise `NoCrawl` where a store was made by a version that had no crawls."""
    if store.version < FIRST_VERSION:
        raise NoCrawl(store.place, "there is no crawl in it: it was made by an older version")


def stored_settings(store: Store, number: int | None = None) -> dict[str, Any]:
    """The settings that a crawl was given, without defaults."""
    found = latest(store) if number is None else find(store, number)
    with store.reading() as connection:
        return Queries(connection, found).settings()


def unfinished(store: Store) -> int:
    """The number of the last crawl, if it has fetched pages and has more to fetch; else 0."""
    number = latest(store)
    with store.reading() as connection:
        fetched = select(pages.c.digest).where(pages.c.crawl == number).limit(1)
        if not number or not connection.execute(fetched).first():
            return 0
        waiting = (urls.c.crawl == number) & (urls.c.state == "queued")
        if connection.execute(select(urls.c.digest).where(waiting).limit(1)).first():
            return number
    return 0
