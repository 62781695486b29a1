"""F010: a line of which the end is not read."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import foreign_content
from manners.lint.source import MAX_LINE, Source


class OverlongLine(LintRule):
    """A directive of more than 16,663 bytes.

    ## Why it matters
    Google's parser, and this package, read so much of a line and drop the rest: a path that is cut
    matches more URLs than it should. The number is eight times the longest URL that Internet
    Explorer knew. Usually line ends were lost, and the line is many. None of 6,000 real files has
    such a directive; only pages of HTML have such lines.

    ## Example
    ```text
    User-agent: *
    Disallow: /search?ids=1,2,3,4,5 … and so on for 20,000 characters
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /search?ids=
    ```
    """

    code = "F010"
    severity = Severity.WARNING

    def check(self, source: Source) -> Iterator[Finding]:
        """Directives that are cut; of a comment nothing is lost."""
        if len(source.data) <= MAX_LINE:
            return
        for line in source.lines:
            if len(line.raw) <= MAX_LINE or line.comment_at <= MAX_LINE:
                continue
            if foreign_content(source):
                return
            message = f"only the first {MAX_LINE:,} of {len(line.raw):,} bytes are read"
            yield self.finding(line, message)


RULE = OverlongLine()
