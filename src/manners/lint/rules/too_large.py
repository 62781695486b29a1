"""F008: more bytes than crawlers read."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import foreign_content
from manners.lint.source import MAX_BYTES, Source


class TooLarge(LintRule):
    """A file of more than 500 KiB.

    ## Why it matters
    RFC 9309, section 2.5: crawlers should impose a limit, which "MUST be at least 500 kibibytes".
    Google reads 500 KiB and ignores the rest; Yandex takes a larger file for one without
    rules. 2 of 6,000 real files are larger, one with 31,847 rules; most such files list
    single URLs that a few patterns, or a `noindex`, would cover.

    ## Example
    ```text
    User-agent: *
    Disallow: /article-1
    Disallow: /article-2
    … and 30,000 more
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /article-
    ```
    """

    code = "F008"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """The first line beyond the limit."""
        size = len(source.data)
        if size <= MAX_BYTES or foreign_content(source):
            return
        beyond = next((line for line in source.lines if line.start >= MAX_BYTES), None)
        limit = MAX_BYTES // 1024
        message = f"the file has {size:,} bytes: crawlers may ignore what is beyond {limit} KiB"
        yield self.finding(beyond, message)


RULE = TooLarge()
