"""What has to be so in the store of any crawl, at any time."""

from collections import Counter

from sqlalchemy import func, select

from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.queries import Queries
from manners.crawler.frontier.tables import hosts, pages, retries, urls
from manners.crawler.frontier.ways import never_queued
from manners.crawler.reasons import NO_ROOM


def check(frontier: Frontier, *, is_awake: bool = True) -> None:
    """The numbers of a crawl are those of its rows; with `is_awake`, no host is forgotten."""
    with frontier.store.reading() as connection:
        found = connection.execute(urls.select().where(urls.c.crawl == frontier.crawl)).all()
        counted = Queries(connection, frontier.crawl).counted()
        known = connection.execute(hosts.select().where(hosts.c.crawl == frontier.crawl)).all()
        kinds = {(row.host, row.digest): row.kind for row in found}
        expected: Counter[tuple[str, str]] = Counter()
        for row in found:
            expected[row.kind, row.state] += 1
            is_blocked = row.state == "blocked"
            if is_blocked and row.reason == NO_ROOM:
                expected[row.kind, "dropped"] += 1
            elif is_blocked and never_queued(row.reason):
                expected[row.kind, "refused"] += 1
            else:
                expected[row.kind, "open"] += 1
            expected[row.kind, "attempts"] += row.attempts
        for table in (pages, retries):
            query = select(table.c.host, table.c.digest, func.sum(table.c.bytes))
            query = query.where(table.c.crawl == frontier.crawl)
            for name, digest, number in connection.execute(
                query.group_by(table.c.host, table.c.digest)
            ):
                expected[kinds[name, digest], "bytes"] += int(number)
    assert +counted == +expected
    assert min(counted.values(), default=0) >= 0
    if is_awake:
        queued = {row.host for row in found if row.state == "queued"}
        awake = {row.host for row in known if row.owner is not None or row.ready is not None}
        assert queued <= awake, "a host has something queued, and nobody will ever take it"
