"""S102: a key and a value without a colon between them."""

import re
from collections.abc import Iterator

from manners.lint.finding import Finding, Safety, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import GOOGLE_KEYS, SPELLINGS, foreign_content, unread
from manners.lint.source import Source, SourceLine, quoted

_KEY = re.compile(rb"[ \t\v\f]*([^ \t\v\f]+)").match


class MissingColon(LintRule):
    """A key and a value with white space but no colon between them.

    ## Why it matters
    RFC 9309, section 2.2, has a colon in every line. Google's parser reads two words without one
    as key and value, and so does this package; other engines skip the line. If there are
    more than two words, or a colon in the value, nobody reads it as it was meant. 8 of 6,000 real
    files have such lines.

    ## Example
    ```robots
    User-agent: *
    Disallow /private/
    ```
    ```robots
    User-agent: *
    Disallow https://example.com/private/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /private/
    ```

    ## Fix
    Inserts the colon. Safe for two words; unsafe where nobody reads the line, which is an error.
    Offered for every such finding in 6 of 8 real files, and for some in 1.
    """

    code = "S102"
    severity = Severity.WARNING

    def check(self, source: Source) -> Iterator[Finding]:
        """Lines that are read without a colon, and those that are not read for lack of it."""
        read = [
            line
            for line in source.lines
            if "missing-colon" in line.line.problems and line.kind in SPELLINGS
        ]
        if read and foreign_content(source):
            return
        lost = [line for line, role in unread(source) if role == "colon"]
        for line in sorted(read + lost, key=lambda line: line.number):
            yield self._finding(source, line, is_read=line.kind in SPELLINGS)

    def _finding(self, source: Source, line: SourceLine, *, is_read: bool) -> Finding:
        key = _KEY(line.raw)
        end = key.end() if key else 0
        name = quoted(line.raw[line.key_at : end].decode("utf-8", "replace"))
        reader = "Google reads" if line.kind in GOOGLE_KEYS else "some engines read"
        who = f"{reader} the line, others do not" if is_read else "nobody reads the line as meant"
        fix = None
        if not source.is_utf16:
            safety: Safety = "safe" if is_read else "unsafe"
            fix = self.fix("insert a colon", line.replaced(end, end, b":"), safety=safety)
        return self.finding(
            line,
            f"there is no colon behind {name}: {who}",
            fix=fix,
            severity=Severity.WARNING if is_read else Severity.ERROR,
        )


RULE = MissingColon()
