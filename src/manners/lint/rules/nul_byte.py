"""F006: NUL bytes."""

from collections.abc import Iterator

from manners.lint.finding import Edit, Finding, Fix, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import foreign_content, is_undeclared_utf16
from manners.lint.source import Source, SourceLine


class NulByte(LintRule):
    """A line with a NUL byte.

    ## Why it matters
    In C a NUL byte ends a text, so Google's parser, and this package, read the line up to it.
    Engines in other languages read on, and get a path that no URL has. Such bytes come from
    programs that write a file in blocks, or into a buffer that is too large. 1 of 6,000 real
    files has them, and 12 that are no robots.txt at all.

    ## Example
    ```robots
    User-agent: *
    Disallow: /action/\0\0\0
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /action/
    ```

    ## Fix
    Removes NUL bytes at the end of a line. Safe: engines that know NUL bytes read the same line
    as before. If text follows them, removing them is unsafe, for that text comes to life.
    """

    code = "F006"
    severity = Severity.WARNING

    def check(self, source: Source) -> Iterator[Finding]:
        """Lines with NUL bytes, where they are not due to something worse."""
        if b"\0" not in source.data or is_undeclared_utf16(source) or foreign_content(source):
            return
        for line in source.lines:
            start = line.raw.find(b"\0")
            if start < 0:
                continue
            message = "for Google the line ends at this NUL byte; others read on"
            until = start + 1
            fix = None if source.is_utf16 else self._fix(line, start)
            yield self.finding(line, message, at=start, until=until, fix=fix)

    def _fix(self, line: SourceLine, start: int) -> Fix:
        rest = line.raw[start:]
        kept = rest.replace(b"\0", b"")
        edit: Edit = line.replaced(start, len(line.raw), kept.rstrip())
        return self.fix("remove NUL bytes", edit, safety="unsafe" if kept.strip() else "safe")


RULE = NulByte()
