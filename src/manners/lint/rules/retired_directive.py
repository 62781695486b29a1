"""D506: a directive that hardly anybody reads any more."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source

_RETIRED = {
    "host": "Yandex, for which Host was made, has ignored it since 2018: redirect to the main site",
    "request-rate": "hardly any crawler reads Request-rate; Crawl-delay is better known",
    "visit-time": "hardly any crawler reads Visit-time",
}


class RetiredDirective(LintRule):
    """A Host, Request-rate or Visit-time line.

    ## Why it matters
    Host named the main one of several mirrors of a site to Yandex, which has ignored it since March
    2018 and asks for a redirect instead. Request-rate and Visit-time come from a proposal of 1996
    and were never part of the protocol; no large search engine documents them.

    211 of 6,000 real files have one: Host 175, Request-rate 34, Visit-time 16.

    ## Example
    ```robots
    User-agent: *
    Disallow: /search
    Host: www.example.com
    ```
    ```robots
    User-agent: *
    Request-rate: 1/10
    Disallow: /search
    ```

    ## Better
    ```robots
    User-agent: *
    Crawl-delay: 10
    Disallow: /search
    ```
    """

    code = "D506"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """Lines of such directives that have a value."""
        for line in source.lines:
            message = _RETIRED.get(line.kind)
            if message and "bad-value" not in line.line.problems:
                yield self.finding(line, message)


RULE = RetiredDirective()
