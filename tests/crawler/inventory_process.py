"""A process that writes a discovery: a place, a number of URLs, a name to tell them apart.

It prints the number of its discovery, how many URLs it reads again, and how many kilobytes of
memory all that took.
"""

import resource
import sys

from manners.crawler.frontier.values import FoundUrl
from manners.crawler.inventory import found_urls
from manners.store.database import Store
from tests.crawler.discoveries import begin, write


def main(place: str, number: str, name: str) -> None:
    def named(last: int) -> FoundUrl:
        return FoundUrl(f"https://{name}.example/{last}", "sitemap", "", 1, 0.5)

    with Store(place) as store:
        sys.stdin.readline()  # begin together
        frontier = begin(store, f"https://{name}.example/")
        write(frontier, [named(0)])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        write(frontier, map(named, range(int(number))))
        count = sum(1 for _ in found_urls(store, frontier.crawl))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(frontier.crawl, count, after - before)


if __name__ == "__main__":
    main(*sys.argv[1:])
