"""F003: a byte order mark that was converted as if it were text."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Safety, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import GARBLED_MARK, SPELLINGS
from manners.lint.source import Source, quoted
from manners.robots.dialects import get
from manners.robots.lines import known_keys, read_line


class GarbledByteOrderMark(LintRule):
    """Characters such as `ï»¿` at the beginning of the file: a byte order mark that was garbled.

    ## Why it matters
    A program read the three bytes of the mark as three letters, and wrote those. No engine skips
    letters, so `ï»¿User-agent` is an unknown key, and the rules below it belong to nobody: RFC
    9309, section 2.1, knows rules only in groups. Of 6,000 real files 58 (1.0 %) begin so; in 42
    of them a directive is lost, in the others a comment, which harms nobody.

    ## Example
    ```robots
    ï»¿User-agent: *
    Disallow: /private/
    ```
    ```robots
    п»їSitemap: https://example.com/sitemap.xml
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /private/
    ```

    ## Fix
    Removes the characters. Unsafe if a directive comes to life by it, which is the purpose; safe in
    front of a comment. Offered for every such finding in 16 of 58 real files.
    """

    code = "F003"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Files whose first line begins with a garbled mark."""
        line = source.lines[0] if source.lines else None
        mark = GARBLED_MARK(line.raw) if line is not None else None
        if line is None or mark is None:
            return
        dialect = get("rfc9309")
        rest = read_line(1, line.raw[mark.end() :], dialect, known_keys(dialect), source.url)
        lost = rest.kind in SPELLINGS
        effect = f"{quoted(rest.key)} is not read" if lost else "the line is no directive anyway"
        edit = line.replaced(0, mark.end(), b"")
        safety: Safety = "unsafe" if lost else "safe"
        fix = None if source.is_utf16 else self.fix("remove them", edit, safety=safety)
        yield self.finding(
            line,
            f"the file begins with a garbled byte order mark: {effect}",
            at=0,
            until=mark.end(),
            fix=fix,
            severity=Severity.ERROR if lost else Severity.INFO,
        )


RULE = GarbledByteOrderMark()
