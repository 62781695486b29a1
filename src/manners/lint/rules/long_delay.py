"""D504: a Crawl-delay of more than a minute."""

from collections.abc import Iterator

from manners.lint.finding import Finding
from manners.lint.rule import LintRule
from manners.lint.source import Source, quoted
from manners.robots.directives import seconds

LONGEST = 60
_DAY = 86_400


class LongDelay(LintRule):
    """A Crawl-delay of more than a minute.

    ## Why it matters
    A crawler that waits two minutes between requests fetches 720 pages a day. It does not see a
    change for months, on a site of any size. Often the number was meant as milliseconds.

    34 of 6,000 real files (0.6 %) ask for more than a minute; some for an hour.

    ## Example
    ```robots
    User-agent: *
    Crawl-delay: 120
    Disallow: /search
    ```

    ## Better
    ```robots
    User-agent: *
    Crawl-delay: 10
    Disallow: /search
    ```
    """

    code = "D504"

    def check(self, source: Source) -> Iterator[Finding]:
        """Crawl-delay lines above the limit."""
        for line in source.lines:
            if line.kind != "crawl-delay":
                continue
            delay = seconds(line.value)
            if delay is not None and delay > LONGEST:
                pages = int(_DAY // delay)
                rate = f"{pages:,} pages a day" if pages > 1 else "one page a day, or less"
                yield self.about_value(
                    line, f"a crawler that waits {quoted(line.value)} seconds fetches {rate}"
                )


RULE = LongDelay()
