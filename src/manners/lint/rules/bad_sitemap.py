"""M602: a sitemap that no crawler can fetch."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._sitemap_urls import host_of, sitemap_lines, url_problem
from manners.lint.source import Source, quoted


class BadSitemap(LintRule):
    """A Sitemap line without a URL that could be fetched.

    ## Why it matters
    The line is ignored, and crawlers find the site's pages by its links only. Most such lines come
    from a template whose variables were empty, or from a development machine: a host without a dot
    in it (then a warning) exists in a private network only.

    16 of 6,000 real files (0.3 %) have such a line.

    ## Example
    ```robots
    User-agent: *
    Disallow: /search
    Sitemap: https:///sitemap.xml
    ```
    ```robots
    User-agent: *
    Disallow: /search
    Sitemap:
    ```
    ```robots
    User-agent: *
    Disallow: /search
    Sitemap: {{ site.url }}/sitemap.xml
    ```
    ```robots
    User-agent: *
    Disallow: /search
    Sitemap: https://www.example.com/a.xml https://www.example.com/b.xml
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /search
    Sitemap: https://www.example.com/a.xml
    Sitemap: https://www.example.com/b.xml
    ```
    """

    code = "M602"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Sitemap lines with a problem, and those of private hosts."""
        is_private = source.url is not None and _is_private(host_of(source.url))
        for line in sitemap_lines(source):
            problem = url_problem(line.value)
            if problem:
                yield self.about_value(line, f"this sitemap {problem}: crawlers ignore the line")
            elif not is_private and _is_private(host := host_of(line.value)):
                yield self.about_value(
                    line,
                    f"this sitemap cannot be fetched: no public host is called {quoted(host)}",
                    severity=Severity.WARNING,
                )


def _is_private(host: str) -> bool:
    name = host.partition(":")[0]
    return name != "" and "." not in name and not host.startswith("[")


RULE = BadSitemap()
