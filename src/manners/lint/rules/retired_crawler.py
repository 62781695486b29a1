"""C701: a crawler that no longer exists."""

from collections.abc import Iterator

from manners.lint.data.crawlers import RETIRED, Retirement
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._agent_names import named_agents
from manners.lint.source import Source, quoted

_BY_KEY = {retirement.name.lower(): retirement for retirement in RETIRED}


class RetiredCrawler(LintRule):
    """A User-agent line for a crawler that no longer exists.

    ## Why it matters
    The group is for nobody. That does no harm, except where the crawler has a successor: who
    slowed down or shut out `msnbot` in 2009 and never wrote `bingbot` has no rules for Bing.

    467 of 6,000 real files (7.8 %) name one or more. The list is dated, and has only
    names whose end is known.

    ## Example
    ```robots
    User-agent: msnbot
    Crawl-delay: 10
    Disallow: /search
    ```

    ## Better
    ```robots
    User-agent: bingbot
    Crawl-delay: 10
    Disallow: /search
    ```
    """

    code = "C701"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """The first User-agent line of each crawler that is gone."""
        named = named_agents(source)
        for key, line in named.items():
            retirement = _BY_KEY.get(key)
            if retirement is not None:
                is_missing = retirement.successor.lower() not in named
                message = f"{quoted(line.value)} no longer crawls: {_end(retirement, is_missing)}"
                yield self.about_value(line, message)


def _end(retirement: Retirement, is_missing: bool) -> str:
    year = f" in {retirement.until}" if retirement.until else ""
    if not retirement.successor:
        return f"{retirement.owner} gave it up{year}"
    absent = ", which this file does not name" if is_missing else ""
    return f"{retirement.owner} replaced it with {retirement.successor}{year}{absent}"


RULE = RetiredCrawler()
