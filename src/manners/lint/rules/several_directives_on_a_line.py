"""S109: two directives on one line."""

import re
from collections.abc import Iterator
from itertools import pairwise

from manners.lint.finding import Finding, Fix, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import SPELLINGS, foreign_content
from manners.lint.source import Source, SourceLine, quoted

_KEYS = rb"user-?agent|disallow|allow|sitemap|crawl-?delay"
_ANOTHER = re.compile(
    # Behind white space in any spelling; within a word only with a capital: "/aDisallow: /b".
    rb"(?:(?<=[ \t])(?i:" + _KEYS + rb")"
    rb"|User-?[Aa]gent|Disallow|(?<!Dis)Allow|Sitemap|Crawl-?[Dd]elay)[ \t]*:"
)
_BREAK = re.compile(rb"<br ?/?>", re.IGNORECASE)


class SeveralDirectivesOnALine(LintRule):
    """A line with a second directive behind the first.

    ## Why it matters
    A directive ends with its line (RFC 9309, section 2.2), so everything behind the first colon is
    one value: `User-agent: * Disallow: /` names an agent and closes nothing, and `Disallow: /a
    Disallow: /b` closes a path that does not exist. Line ends that were lost in an editor or in a
    form cause it, and lists copied from web pages. 18 of 6,000 real files have such lines.

    ## Example
    ```robots
    User-agent: * Disallow: /private/
    ```
    ```robots
    User-agent: *
    Disallow: Disallow: /private/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /private/
    ```

    ## Fix
    Puts every directive on a line of its own; a key without a value in front of another key is
    dropped. Unsafe.
    """

    code = "S109"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Directives whose value contains a key and a colon."""
        is_checked = False
        for line in source.lines:
            if line.raw.count(b":") < 2 or line.kind not in SPELLINGS:
                continue
            found = list(_ANOTHER.finditer(line.raw[line.value_at : line.value_end]))
            if not found:
                continue
            if not is_checked and foreign_content(source):
                return
            is_checked = True
            second = found[0][0].decode().rstrip(": \t")
            yield self.finding(
                line,
                f"{quoted(second)} is read as part of the value: one directive a line",
                at=line.value_at + found[0].start(),
                until=line.value_end,
                fix=None if source.is_utf16 else self._fix(source, line, found),
            )

    def _fix(self, source: Source, line: SourceLine, found: list[re.Match[bytes]]) -> Fix:
        value_at = line.value_at
        starts = [value_at + match.start() for match in found]
        bounds = [line.key_at, *starts, line.value_end]
        pieces = [
            _BREAK.sub(b"", line.raw[start:end]).rstrip(b" \t:,;|")
            for start, end in pairwise(bounds)
        ]
        # A value may end with such a sign where no key follows.
        pieces[-1] = _BREAK.sub(b"", line.raw[bounds[-2] : bounds[-1]])
        kept = [piece for piece in pieces[:-1] if piece.partition(b":")[2].strip()]
        split = (line.line_end or source.line_end).join([*kept, pieces[-1]])
        edit = line.replaced(line.key_at, line.value_end, split)
        return self.fix("split the line", edit, safety="unsafe")


RULE = SeveralDirectivesOnALine()
