"""M605: a sitemap that the file itself disallows."""

from collections.abc import Iterator

from manners.lint.finding import Finding
from manners.lint.rule import LintRule
from manners.lint.rules._agent_names import HOME, rfc_reading
from manners.lint.rules._sitemap_urls import host_of, host_of_file, sitemap_lines
from manners.lint.source import Source, SourceLine, quoted
from manners.robots.agents import WILDCARD
from manners.robots.policy import Policy

MOST_SITEMAPS = 1_000
"""A file with more is a list; what is wrong with it shows in the first ones."""


class DisallowedSitemap(LintRule):
    """A sitemap that the rules of the same file disallow.

    ## Why it matters
    A sitemap is fetched like any other file, and a crawler that may not fetch it does not: Google's
    Search Console reports it as blocked. Mostly a rule is broader than its author thought:
    `Disallow: /news` also matches `/news_sitemap.xml`.

    35 of 6,000 real files (0.6 %) disallow a sitemap on their own host. Where the host is
    not known, it is the one that most sitemaps of the file share. A file that shuts everybody out
    and lets Googlebot in by name is not reported, if Googlebot may fetch the sitemap.

    ## Example
    ```robots
    User-agent: *
    Disallow: /news
    Sitemap: https://www.example.com/news_sitemap.xml
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /news/
    Sitemap: https://www.example.com/news_sitemap.xml
    ```
    ```robots
    User-agent: *
    Disallow: /news
    Allow: /news_sitemap.xml
    Sitemap: https://www.example.com/news_sitemap.xml
    ```
    """

    code = "M605"

    def check(self, source: Source) -> Iterator[Finding]:
        """Sitemaps on the file's own host that Googlebot, or everybody, may not fetch."""
        if not source.groups:
            return
        host = host_of_file(source)
        lines = [line for line in sitemap_lines(source) if host and host_of(line.value) == host]
        if not lines:
            return
        robots = rfc_reading(source)
        googlebot, everybody = robots.policy("Googlebot"), robots.policy(WILDCARD)
        asked = [("Googlebot", googlebot)]
        if everybody.allowed(HOME):
            asked = [("every crawler without a group of its own", everybody), *asked]
        for line in lines[:MOST_SITEMAPS]:
            for name, policy in asked:
                if not policy.allowed(line.value):
                    yield self.about_value(line, _message(name, policy, line))
                    break


def _message(name: str, policy: Policy, line: SourceLine) -> str:
    rule = policy.check(line.value).rule
    cause = f"{quoted(rule.text.strip())} in line {rule.line}" if rule else "this file"
    return f"{cause} disallows this sitemap for {name}"


RULE = DisallowedSitemap()
