"""M603: a sitemap that is fetched without encryption."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Fix, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._sitemap_urls import sitemap_lines, url_problem
from manners.lint.source import Source, SourceLine


class InsecureSitemap(LintRule):
    """A Sitemap line with an http URL.

    ## Why it matters
    Most sites answer http with a redirect to https, so crawlers need one request more; and they
    expect a sitemap to list URLs of its own scheme and host. A line with http is usually left over
    from the time before the site had a certificate.

    313 of 6,000 real files (5.2 %) have such a line. A file that is known to come from an
    http URL itself is not reported.

    ## Example
    ```robots
    User-agent: *
    Disallow: /search
    Sitemap: http://www.example.com/sitemap.xml
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /search
    Sitemap: https://www.example.com/sitemap.xml
    ```

    ## Fix
    Writes https. Unsafe: no verdict changes, but whether the host answers https is not known.
    """

    code = "M603"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """Sitemap lines that begin with http://."""
        if source.url is not None and source.url[:7].lower() == "http://":
            return
        for line in sitemap_lines(source):
            if line.value[:7].lower() == "http://" and not url_problem(line.value):
                yield self.about_value(
                    line,
                    "crawlers fetch this sitemap without encryption, or are redirected to https",
                    fix=self._with_https(line),
                )

    def _with_https(self, line: SourceLine) -> Fix | None:
        if ":" in line.value[7:].partition("/")[0]:  # a port of its own: not that of https
            return None
        edit = line.replaced(line.value_at, line.value_at + 4, b"https")
        return self.fix("use https", edit, safety="unsafe")


RULE = InsecureSitemap()
