"""D501: a Noindex line."""

from collections.abc import Iterator

from manners.lint.finding import Finding
from manners.lint.rule import LintRule
from manners.lint.source import Source, quoted


class NoindexRule(LintRule):
    """A Noindex line.

    ## Why it matters
    Noindex was never part of the protocol. Google obeyed it unofficially and stopped on 1 September
    2019; RFC 9309 knows Allow and Disallow only, and no search engine documents anything else. The
    author believes that a page stays out of search results, and it does not.

    156 of 6,000 real files (2.6 %) have such a line. What keeps a page out of an index is
    `noindex` in the page itself, as a robots meta tag, or in the X-Robots-Tag header; a crawler
    must be allowed to fetch the page to see it.

    ## Example
    ```robots
    User-agent: *
    Noindex: /drafts/
    Disallow: /admin/
    ```

    ## Better
    ```robots
    # The pages below /drafts/ send "X-Robots-Tag: noindex".
    User-agent: *
    Disallow: /admin/
    ```
    """

    code = "D501"

    def check(self, source: Source) -> Iterator[Finding]:
        """Every Noindex line."""
        for line in source.lines:
            if line.kind == "noindex":
                yield self.finding(
                    line,
                    "no search engine reads Noindex in robots.txt (Google since 2019): "
                    f"{quoted(line.value)} may be indexed",
                )


RULE = NoindexRule()
