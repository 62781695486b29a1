"""M606: a sitemap on another host."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._sitemap_urls import host_of, host_of_file, sitemap_lines
from manners.lint.source import Source, quoted


class ForeignSitemap(LintRule):
    """A sitemap on another host than the file.

    ## Why it matters
    A sitemap may be elsewhere: the line in robots.txt is the proof that the site wants it
    (sitemaps.org, "Cross Submits"). It is then a list of URLs of *this* host; what it says about
    others counts only where their robots.txt names it, too. Many such lines are mistakes: the
    address of a staging host, of a supplier, or of a site that was copied.

    370 of 6,000 real files (6.2 %) have such a line. Where the host of the file is not known, it is
    the one that more than half of its sitemaps share. `www.` makes no difference. Not in the
    default set.

    ## Example
    ```robots
    User-agent: *
    Disallow: /search
    Sitemap: https://www.example.com/sitemap.xml
    Sitemap: https://www.example.com/news.xml
    Sitemap: https://staging.example.net/sitemap.xml
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /search
    Sitemap: https://www.example.com/sitemap.xml
    Sitemap: https://example.com/news.xml
    ```
    """

    code = "M606"
    severity = Severity.INFO
    is_default = False

    def check(self, source: Source) -> Iterator[Finding]:
        """Sitemaps on a host that is not the file's."""
        own = host_of_file(source).removeprefix("www.")
        if not own:
            return
        hosts = [(line, host_of(line.value)) for line in sitemap_lines(source)]
        foreign = [
            (line, host) for line, host in hosts if host and host.removeprefix("www.") != own
        ]
        if source.url is None and len(foreign) * 2 >= len(hosts):
            return  # which host is the file's own would be a guess
        for line, host in foreign:
            yield self.about_value(
                line,
                f"this sitemap is on {quoted(host)}, not on {quoted(own)}: "
                "crawlers take from it URLs of this site only",
            )


RULE = ForeignSitemap()
