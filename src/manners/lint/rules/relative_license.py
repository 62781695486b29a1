"""A809: a licence without scheme and host."""

from collections.abc import Iterator
from urllib.parse import urljoin

from manners._text import to_bytes
from manners.lint.finding import Finding, Fix
from manners.lint.rule import LintRule
from manners.lint.rules._sitemap_urls import host_of, is_web_url
from manners.lint.source import Source, SourceLine, quoted


class RelativeLicense(LintRule):
    """A License line with a path, or with nothing, instead of a URL.

    ## Why it matters
    RSL 1.0, section 4.4, wants an absolute URI. A path is no announcement of a licence: readers
    that keep to the text ignore the line, and know of no licence.

    The real files that were measured are older than RSL: none of 6,000 has such a line.

    ## Example
    ```robots
    License: /license.xml
    User-agent: *
    Disallow: /search
    ```

    ## Better
    ```robots
    License: https://www.example.com/license.xml
    User-agent: *
    Disallow: /search
    ```

    ## Fix
    Writes the whole URL, if the URL of the robots.txt is known. Unsafe: no verdict changes, but
    readers find a licence that they ignored.
    """

    code = "A809"

    def check(self, source: Source) -> Iterator[Finding]:
        """License lines whose value is no web URL."""
        for line in source.lines:
            if line.kind == "license" and not is_web_url(line.value):
                value = quoted(line.value) if line.value else "nothing"
                yield self.about_value(
                    line,
                    f"a licence needs a URL with https:// and a host: {value} announces none",
                    fix=self._whole_url(source, line),
                )

    def _whole_url(self, source: Source, line: SourceLine) -> Fix | None:
        if source.url is None or not host_of(source.url) or not line.value.startswith("/"):
            return None
        try:
            resolved = urljoin(source.url, line.value)
        except ValueError:  # brackets without an IPv6 address
            return None
        if host_of(resolved) != host_of(source.url):
            return None
        return self.fix("write the whole URL", line.with_value(to_bytes(resolved)), safety="unsafe")


RULE = RelativeLicense()
