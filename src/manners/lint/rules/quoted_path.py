"""P418: quotation marks around a path."""

import re
from collections.abc import Iterator

from manners._text import to_bytes
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._paths import byte_at, paths
from manners.lint.source import Source, quoted

_QUOTES = "\"'`“”„‘’‚«»"
_OPENED = re.compile(f"[{_QUOTES}]+").match
# A mark behind `*` or `=` is looked for on purpose: `/*?*'` keeps crawlers from attacks on a form.
_CLOSED = re.compile(f"/[^{_QUOTES}]*[^{_QUOTES}*=]([\"'”’])").fullmatch


def is_quoted(value: str) -> bool:
    """Whether a path has a quotation mark before it."""
    return _OPENED(value) is not None


class QuotedPath(LintRule):
    """A path in quotation marks.

    ## Why it matters
    Quotation marks are characters like any other (RFC 9309, section 2.2.2). A rule that begins with
    one matches no URL, because the path of every URL begins with a slash; a mark at the end has to
    be part of the URL. A mark at the end may be meant and is a warning: 1 of 6,000 real files.

    ## Example
    ```robots
    User-agent: *
    Disallow: "/private/"
    ```
    ```robots
    User-agent: *
    Disallow: /default.aspx'
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /private/
    ```
    ```robots
    User-agent: *
    Disallow: /*?*'
    Disallow: /it's-here/
    ```

    ## Fix
    Drops the quotation marks. Unsafe: the rule then matches what it was written for.
    """

    code = "P418"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Values that begin or end with a quotation mark."""
        for line, value in paths(source):
            if value[0] in _QUOTES:
                path = value.strip(_QUOTES)
                edit = line.with_value(to_bytes(path))
                fix = self.fix("drop the quotation marks", edit, safety="unsafe") if path else None
                message = f"quotation marks are part of the path: {quoted(value)} matches no URL"
                yield self.about_value(line, message, fix=fix)
            elif value[-1] in _QUOTES and (found := _CLOSED(value)):
                start = byte_at(line, value, found.start(1))
                end = byte_at(line, value, found.end(1))
                yield self.finding(
                    line,
                    f"the quotation mark is part of the path: {quoted(value)} matches only URLs"
                    " that have it",
                    at=start,
                    until=end,
                    fix=self.fix(
                        "drop the quotation mark", line.replaced(start, end, b""), safety="unsafe"
                    ),
                    severity=Severity.WARNING,
                )


RULE = QuotedPath()
