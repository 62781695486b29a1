"""A process that writes what it found: a place, a number of URLs, a name to tell them apart.

It prints the number of its discovery, how many URLs it reads again, and how many kilobytes of
memory all that took.
"""

import resource
import sys

from manners.crawler.frontier.values import FoundUrl
from manners.crawler.inventory import FoundUrls


def main(place: str, number: str, name: str) -> None:
    with FoundUrls(place) as found:
        sys.stdin.readline()  # begin together
        found.begin(f"https://{name}.example/")
        found.add(FoundUrl(f"https://{name}.example/0", "sitemap", "", 1, 0.5))
        found.flush()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for each in range(int(number)):
            found.add(FoundUrl(f"https://{name}.example/{each}", "sitemap", "", 1, 0.5))
        found.flush()
        count = sum(1 for _ in found.read(found.crawl))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(found.crawl, count, after - before)


if __name__ == "__main__":
    main(*sys.argv[1:])
