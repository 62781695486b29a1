"""F007: more than one kind of line ends, or the kind that not everybody knows."""

from collections import Counter
from collections.abc import Iterator

from manners.lint.finding import Finding, Fix, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import foreign_content
from manners.lint.source import Source, SourceLine

_NAMES = {b"\r\n": "CR LF", b"\n": "LF", b"\r": "CR"}


class MixedLineEndings(LintRule):
    """Lines that end in different ways, or all with CR only.

    ## Why it matters
    RFC 9309, section 2.2, accepts CR, LF and both together, and so do careful engines. A file
    with several kinds was put together from several sources; it is hard to edit, and tools show
    differences where there are none. A lone CR is worse: programs that split at LF take the whole
    file for one line, and if that begins with `#`, for one comment. 207 of 6,000 real files
    (3.5 %) mix line ends, 8 have nothing but CR.

    ## Example
    ```robots
    User-agent: *\r
    Disallow: /private/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /private/
    ```

    ## Fix
    Ends all lines as most lines of the file do, and never with a lone CR. Safe. Offered for every
    such finding in 212 of 215 real files.
    """

    code = "F007"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """The first line that ends as most lines do not."""
        ends = Counter(line.line_end for line in source.lines if line.line_end)
        if not ends or (len(ends) == 1 and b"\r" not in ends) or foreign_content(source):
            return
        wanted = max((b"\n", b"\r\n"), key=lambda end: ends[end])
        odd = [line for line in source.lines if line.line_end not in (wanted, b"")]
        fix = None if source.is_utf16 else self._fix(odd, wanted)
        if len(ends) == 1:
            message = "lines end with CR only: many programs take the file for a single line"
            severity = Severity.WARNING
        else:
            named = _NAMES[odd[0].line_end]
            message = f"the line ends with {named}, others with {_NAMES[wanted]}"
            severity = Severity.INFO
        yield self.finding(odd[0], message, fix=fix, severity=severity)

    def _fix(self, odd: list[SourceLine], wanted: bytes) -> Fix:
        edits = [
            line.replaced(len(line.raw), len(line.raw) + len(line.line_end), wanted) for line in odd
        ]
        return self.fix(f"end all lines with {_NAMES[wanted]}", *edits)


RULE = MixedLineEndings()
