"""D502: a Crawl-delay for crawlers that take no notice of it."""

from collections.abc import Iterator

from manners.lint.data.crawlers import DELAY_IGNORERS
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source, SourceLine, quoted
from manners.robots.agents import WILDCARD, token_key

_IGNORERS = {name.lower(): owner for name, owner in DELAY_IGNORERS.items()}


class CrawlDelay(LintRule):
    """A Crawl-delay for everybody, or for a crawler that takes no notice of it.

    ## Why it matters
    Crawl-delay is no part of RFC 9309. Bing and many smaller crawlers wait as long as it says;
    Google never did, and Yandex has not since February 2018: it has a setting in its tools for site
    owners. Both slow down when a server answers 429 or 503.

    855 of 6,000 real files (14.3 %) have a Crawl-delay, 629 of them one for everybody, for
    Google or for Yandex. One for a crawler that obeys it is not reported.

    ## Example
    ```robots
    User-agent: *
    Crawl-delay: 10
    Disallow: /search
    ```
    ```robots
    User-agent: Googlebot
    Crawl-delay: 1
    Disallow: /search
    ```

    ## Better
    ```robots
    User-agent: bingbot
    Crawl-delay: 10
    Disallow: /search
    ```
    """

    code = "D502"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """Crawl-delay lines with a value, by the User-agent lines above them."""
        above: list[SourceLine] = []
        ended = False  # a rule or a delay ends a run of User-agent lines
        for line in source.lines:
            if line.kind == "user-agent":
                above = [] if ended else above
                above.append(line)
                ended = False
            elif line.kind == "crawl-delay" or line.is_rule:
                ended = True
                if line.kind == "crawl-delay" and "bad-value" not in line.line.problems:
                    message = _message(above)
                    if message:
                        yield self.finding(line, message)


def _message(above: list[SourceLine]) -> str:
    keys = {key: line for line in above if (key := token_key(line.value)) is not None}
    if WILDCARD in keys:
        return "Google and Yandex ignore Crawl-delay; Bing and others wait that long"
    ignoring = [(line, _IGNORERS[key]) for key, line in keys.items() if key in _IGNORERS]
    if not ignoring:
        return ""
    line, owner = ignoring[0]
    return f"{owner} ignores Crawl-delay: it does not slow down {quoted(line.value)}"


RULE = CrawlDelay()
