"""F002: a byte order mark."""

import codecs
from collections.abc import Iterator

from manners.lint.finding import NO_MARK, Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source


class ByteOrderMark(LintRule):
    """A byte order mark at the beginning of the file.

    ## Why it matters
    The mark is three bytes that some editors put in front of a UTF-8 file. RFC 9309, section 2.2,
    does not mention it. Google and most other engines skip it; those that do not, read it as part
    of the first key, and lose the first line: if that is a User-agent line, its rules belong to
    nobody. 73 of 6,000 real files (1.2 %) have one.

    ## Example
    ```robots
    \ufeffUser-agent: *
    Disallow: /private/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /private/
    ```

    ## Fix
    Removes the mark. Safe. Offered for every such finding in all of 73 real files.
    """

    code = "F002"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """Files that begin with the UTF-8 mark."""
        if source.body.startswith(codecs.BOM_UTF8):
            fix = self.fix("remove the byte order mark", NO_MARK)
            message = "the file begins with a byte order mark: some engines lose its first line"
            yield self.finding(None, message, fix=fix)


RULE = ByteOrderMark()
