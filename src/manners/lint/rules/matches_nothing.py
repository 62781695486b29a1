"""R309: a rule that no URL can match."""

import re
from collections.abc import Iterator

from manners._text import to_bytes
from manners.lint.finding import Finding, Fix, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source, SourceLine, quoted

_NOTHING = frozenset(("0", "false", "n/a", "nil", "no", "none", "nothing", "null", "undefined"))
_EVERYTHING = frozenset(("1", "all", "any", "everything", "true", "yes"))
_STRAY = bytes(range(0x80, 0x100))
_HAS_LETTER = re.compile(r"[\w~]").search


def is_no_path(value: str) -> bool:
    """Whether a value that begins with neither `/` nor `*` is a word, or no text at all."""
    word = value.rstrip(".;,").lower()
    is_word = word in _NOTHING or word in _EVERYTHING
    return is_word or not _HAS_LETTER(value) or _begins_with_byte(value)


def _begins_with_byte(value: str) -> bool:
    return "\udc80" <= value[0] <= "\udcff"


class MatchesNothing(LintRule):
    """A rule that no URL can match, because its value is no path at all.

    ## Why it matters
    The path of a URL begins with a slash, so a rule that begins with anything but `/` or `*` never
    matches (RFC 9309, section 2.2.2). `Disallow: all` disallows nothing. Where a path can be
    recognised and only its beginning is wrong, `missing-leading-slash`, `absolute-url` and other
    rules say so. 3 of 6,000 real files have a value that is no path.

    ## Example
    ```robots
    User-agent: *
    Disallow: all
    ```
    ```robots
    User-agent: *
    Disallow: NULL
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /
    ```
    ```robots
    User-agent: *
    Disallow:
    ```

    ## Fix
    Writes `/` for a word that means everything; unsafe, because URLs are then matched. Leaves the
    value out where the word means nothing; safe. Offered for every such finding in 2 of 3 real
    files.
    """

    code = "R309"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Values that are words or punctuation, or begin with a byte that is no text."""
        for line in source.of_kind("allow", "disallow"):
            value = line.value
            if not value or value[0] in "/*":
                continue
            if not is_no_path(value):
                continue
            if _begins_with_byte(value):
                yield self._stray_byte(line)
            else:
                message = f"{quoted(value)} is no path, so the rule matches no URL"
                yield self.about_value(line, message, fix=self._word_fix(line))

    def _stray_byte(self, line: SourceLine) -> Finding:
        start = line.value_at
        value = to_bytes(line.value)
        path = value.lstrip(_STRAY)
        until = start + len(value) - len(path)
        edit = line.replaced(start, until, b"")
        return self.finding(
            line,
            "the path begins with a byte that is no text, so the rule matches no URL",
            at=start,
            until=until,
            fix=self.fix("drop it", edit, safety="unsafe") if path.startswith(b"/") else None,
        )

    def _word_fix(self, line: SourceLine) -> Fix | None:
        word = line.value.rstrip(".;,").lower()
        if word in _NOTHING:
            return self.fix("leave the value out", line.with_value(b""))
        if word in _EVERYTHING:
            return self.fix("write `/`", line.with_value(b"/"), safety="unsafe")
        return None


RULE = MatchesNothing()
