"""P408: a star that changes nothing within a path."""

import re
from collections.abc import Iterator

from manners._text import to_bytes
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._paths import EVERYTHING, byte_at, paths
from manners.lint.source import Source, quoted

_SEVERAL = re.compile(r"\*{2,}+(?!\$?$)").search
_STARS = re.compile(r"\*{2,}").sub


class UselessStar(LintRule):
    """Two stars in a row, or a star before the `$` at the end.

    ## Why it matters
    `*` matches any number of any characters, slashes too (RFC 9309, section 2.2.3), so `**` is `*`:
    it does not mean "at any depth", as in other tools. `*$` takes back what `$` says: the path may
    end with anything. Both count in the length of the rule, and the longest rule decides. 22 of
    6,000 real files have one.

    ## Example
    ```robots
    User-agent: *
    Disallow: /files/**/*.jpg
    ```
    ```robots
    User-agent: *
    Disallow: /api*$
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /files/*/*.jpg
    Disallow: /api
    Disallow: /*.pdf$
    ```

    ## Fix
    Makes one star of several, and drops `*$`, if it is proved that no verdict changes. Offered for
    every such finding in 19 of 22 real files.
    """

    code = "P408"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """Stars behind a star, and before a final `$`; `trailing-star` has those at the end."""
        for line, value in paths(source):
            if "*" not in value or EVERYTHING(value):
                continue
            several = _SEVERAL(value) if "**" in value else None
            if value.endswith("*$"):
                shorter, end = value[:-1].rstrip("*"), len(value)
                message = f"`*$` matches whatever follows, as {quoted(shorter)} does"
            elif several:
                shorter = value.rstrip("*")
                end = len(shorter)
                message = f"two stars match what one does, slashes too: {quoted(value)}"
            else:
                continue
            start = several.start() if several else len(shorter)
            at, until = byte_at(line, value, start), byte_at(line, value, end)
            kept = to_bytes(_STARS("*", shorter[start:]))
            fix = self.fix("drop what has no effect", line.replaced(at, until, kept))
            until = byte_at(line, value, several.end()) if several else until
            yield self.finding(line, message, at=at, until=until, fix=fix)


RULE = UselessStar()
