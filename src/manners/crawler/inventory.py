"""The inventory of a site: the URLs that a discovery found, as its store has them."""

from collections.abc import Iterator

from manners.crawler.frontier.crawls import latest_of_all
from manners.crawler.frontier.queries import Queries
from manners.crawler.frontier.values import FoundUrl
from manners.store.database import Store

FIELDS = FoundUrl._fields[:9]
"""What there is to say of a URL that was found: not how a crawl would fetch it."""


def found_urls(store: Store, number: int | None = None) -> Iterator[FoundUrl]:
    """What a discovery found, in the order of URLs; by default the last crawl of any kind.

    with Store("manners.db", readonly=True) as store:
        for found in found_urls(store):
            print(found.url, found.reason)
    """
    number = latest_of_all(store) if number is None else number
    with store.reading() as connection:
        for values in Queries(connection, number).found(FIELDS):
            yield FoundUrl(*values)
