"""S103: a key that is nearly one that crawlers know."""

from collections.abc import Iterator

from manners._text import to_text
from manners.lint.finding import Edit, Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import (
    GOOGLE_KEYS,
    SPELLINGS,
    foreign_content,
    intended,
    unread,
)
from manners.lint.source import Source, SourceLine, quoted


class MisspeltKey(LintRule):
    """A key that is misspelt, or has something in front of it or another sign than a colon.

    ## Why it matters
    RFC 9309, section 2.2, has three keys, and says nothing about slips. Google's parser accepts
    some misspellings, such as `Disalow` and `Useragent`, and any key that begins with a known one,
    such as `Sitemaps`; this package accepts the former; others accept none. What nobody knows
    is ignored, and a rule or a whole group with it: that is an error. Slips are rare: 13 of 6,000
    real files have them.

    ## Example
    ```robots
    User-agent: *
    Disalow: /private/
    ```
    ```robots
    User-agen: *
    Disallow; /private/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /private/
    ```

    ## Fix
    Corrects the key. Safe where all engines asked for accept the slip; otherwise unsafe, for the
    line comes to life. Offered for every such finding in 5 of 13 real files.
    """

    code = "S103"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Misspellings that some engines accept, and those that none does."""
        accepted = [
            line
            for line in source.lines
            if "misspelt-key" in line.line.problems and line.kind in SPELLINGS
        ]
        if accepted and foreign_content(source):
            return
        ignored = [line for line, role in unread(source) if role == "misspelt"]
        for line in sorted(accepted + ignored, key=lambda line: line.number):
            if line.kind in SPELLINGS:
                yield self._accepted(source, line)
            else:
                yield from self._ignored(source, line)

    def _accepted(self, source: Source, line: SourceLine) -> Finding:
        name = SPELLINGS[line.kind]
        end = line.key_at + len(line.line.key.encode("utf-8", "surrogateescape"))
        fix = None
        if not source.is_utf16:
            fix = self.fix(f"write {name}", line.replaced(line.key_at, end, name.encode()))
        who = "Google accepts it" if line.kind in GOOGLE_KEYS else "some engines accept it"
        message = f"{quoted(line.line.key)} should be `{name}`: {who}, others skip the line"
        return self.finding(
            line, message, at=line.key_at, until=end, fix=fix, severity=Severity.WARNING
        )

    def _ignored(self, source: Source, line: SourceLine) -> Iterator[Finding]:
        meant = intended(line)
        if meant is None:
            return
        name, end = SPELLINGS[meant.name], meant.key_end
        written = quoted(to_text(line.raw[line.key_at : end]).rstrip(": "))
        edit: Edit = line.replaced(line.key_at, end, name.encode() + b":")
        fix = None if source.is_utf16 else self.fix(f"write {name}", edit, safety="unsafe")
        who = "only Google reads it so" if meant.is_read_by_google else "nobody reads the line"
        yield self.finding(
            line,
            f"{written} should probably be `{name}`: {who}",
            at=line.key_at,
            until=end,
            fix=fix,
            severity=Severity.WARNING if meant.is_read_by_google else Severity.ERROR,
        )


RULE = MisspeltKey()
