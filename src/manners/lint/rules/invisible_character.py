"""S108: characters that nobody sees."""

import unicodedata
from collections.abc import Iterator

from manners._text import to_bytes, to_text
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import (
    SPELLINGS,
    foreign_content,
    invisible,
    may_have_invisible,
    unread,
    without_invisible,
)
from manners.lint.source import Source, SourceLine


class InvisibleCharacter(LintRule):
    """A character that nobody sees in a directive: a no-break space, a direction mark, a control.

    ## Why it matters
    Such characters come with text that is copied from web pages and documents. To an engine they
    are part of the key or the value: RFC 9309, section 2.2, has only space and tab for white space.
    A path that ends with one matches no URL, so the rule is lost; a key with one is unknown.
    13 of 6,000 real files have some.

    ## Example
    ```robots
    User-agent: *
    Disallow: /downloads/\u200e
    ```
    ```robots
    User-agent: *
    Disallow:\u00a0/downloads/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /downloads/
    ```

    ## Fix
    Removes the characters. Unsafe: the rule comes to life.
    """

    code = "S108"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Directives with such characters, and lines that would be directives without them."""
        if not may_have_invisible(source.data) or foreign_content(source):
            return
        broken = {line.number for line, role in unread(source) if role == "invisible"}
        for line in source.lines:
            content = line.raw[: line.comment_at]
            if (line.kind in SPELLINGS or line.number in broken) and may_have_invisible(content):
                yield from self._findings(source, line, content, is_broken=line.number in broken)

    def _findings(
        self, source: Source, line: SourceLine, content: bytes, *, is_broken: bool
    ) -> Iterator[Finding]:
        found = invisible(content)
        if not found:
            return
        text, first = to_text(content), found[0]
        at = len(to_bytes(text[: first.start()]))
        cleaned = to_bytes(without_invisible(content))
        is_last = len(content) == len(line.raw)
        edit = line.replaced(0, len(content), cleaned.rstrip() if is_last else cleaned)
        fix = self.fix("remove invisible characters", edit, safety="unsafe")
        effect, severity = _effect(line, is_broken, without_invisible(content))
        yield self.finding(
            line,
            f"the line has {_named(first[0])}: {effect}",
            at=at,
            until=at + len(to_bytes(first[0])),
            fix=None if source.is_utf16 else fix,
            severity=severity,
        )


def _named(found: str) -> str:
    if len(found) > 1:
        return "an invisible character that was garbled"
    name = unicodedata.name(found, "control character").lower()
    return f"an invisible character, U+{ord(found):04X} {name}"


def _effect(line: SourceLine, is_broken: bool, text: str) -> tuple[str, Severity]:
    if is_broken and not text.strip():
        return "it only looks blank", Severity.INFO
    if is_broken:
        return "its key is unknown", Severity.ERROR
    if line.is_rule:
        return "the path matches no URL that was meant", Severity.ERROR
    return "it is part of the value", Severity.WARNING


RULE = InvisibleCharacter()
