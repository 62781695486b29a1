"""F004: a file in UTF-16."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import is_undeclared_utf16
from manners.lint.source import Source


class Utf16(LintRule):
    """A file in UTF-16 instead of UTF-8.

    ## Why it matters
    RFC 9309, section 2.3: the file "MUST be UTF-8 encoded". In UTF-16 every other byte of ASCII
    text is a NUL byte. This package decodes such a file if it begins with a byte order mark;
    Google's parser does not, and finds no directive in it: everything is allowed. It is what some
    Windows programs save as "Unicode". 2 of 6,000 real files are.

    ## Example
    ```robots
    U\0s\0e\0r\0-\0a\0g\0e\0n\0t\0:\0 \0*\0
    ```

    ## Better
    ```robots
    User-agent: *
    ```
    """

    code = "F004"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Files with the mark of UTF-16, or with its NUL bytes."""
        if source.is_utf16:
            message = "the file is UTF-16: Google and most other engines find no directive in it"
            yield self.finding(None, message)
        elif is_undeclared_utf16(source):
            message = "the file is UTF-16 without a byte order mark: nobody reads a line of it"
            yield self.finding(None, message)


RULE = Utf16()
