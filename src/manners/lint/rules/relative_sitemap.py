"""M601: a sitemap without scheme and host."""

import re
from collections.abc import Iterator
from urllib.parse import urljoin

from manners._text import to_bytes
from manners.lint.finding import Finding, Fix, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._sitemap_urls import (
    host_of,
    is_web_url,
    sitemap_lines,
    url_problem,
)
from manners.lint.source import Source, SourceLine, quoted

_BEGINS_WITH_HOST = re.compile(r"([a-z0-9-]+(?:\.[a-z0-9-]+)+)/", re.IGNORECASE).match


class RelativeSitemap(LintRule):
    """A Sitemap line with a path instead of a URL.

    ## Why it matters
    A sitemap may be on any host, so its line needs the whole URL: sitemaps.org and Google's
    documentation say so, and Yandex reports an error. Some crawlers resolve a path against the URL
    of the robots.txt; the others ignore the line.

    45 of 6,000 real files (0.8 %) have such a line.

    ## Example
    ```robots
    User-agent: *
    Disallow: /search
    Sitemap: /sitemap.xml
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /search
    Sitemap: https://www.example.com/sitemap.xml
    ```

    ## Fix
    Writes the whole URL, if the URL of the robots.txt is known. Unsafe: no verdict changes, but
    crawlers read a sitemap that they ignored.
    """

    code = "M601"
    severity = Severity.WARNING

    def check(self, source: Source) -> Iterator[Finding]:
        """Sitemap lines whose value has no scheme."""
        for line in sitemap_lines(source):
            value = line.value
            if is_web_url(value) or url_problem(value):
                continue
            yield self.about_value(
                line,
                f"a sitemap needs a URL with https:// and a host: {quoted(value)} is ignored",
                fix=self._whole_url(source, line),
            )

    def _whole_url(self, source: Source, line: SourceLine) -> Fix | None:
        if source.url is None or not host_of(source.url):
            return None
        url = line.value
        host = _BEGINS_WITH_HOST(url)
        if host is not None:  # written without scheme; any other host is a guess
            if host[1].lower() != host_of(source.url):
                return None
            url = "//" + url
        try:
            resolved = urljoin(source.url, url)
        except ValueError:  # brackets without an IPv6 address
            return None
        if not host_of(resolved):
            return None
        edit = line.with_value(to_bytes(resolved))
        return self.fix("write the whole URL", edit, safety="unsafe")


RULE = RelativeSitemap()
