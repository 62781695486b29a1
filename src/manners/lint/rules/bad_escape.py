"""P405: a percent sign that begins no escape."""

import re
from collections.abc import Iterator

from manners.lint.finding import Finding
from manners.lint.rule import LintRule
from manners.lint.rules._paths import byte_at, paths
from manners.lint.rules.missing_leading_slash import lacks_slash
from manners.lint.rules.template_placeholder import find_placeholder
from manners.lint.source import Source, quoted

_BAD = re.compile(r"%(?![0-9A-Fa-f]{2})[0-9A-Fa-f]?").search


class BadEscape(LintRule):
    """A `%` that two hexadecimal digits do not follow.

    ## Why it matters
    In a URL, `%` begins an escape of two hexadecimal digits (RFC 3986, section 2.1), and a percent
    sign itself is `%25`. Google compares bytes, so `/jobs*%` matches every URL with an escape;
    RFC 9309 leaves open what it is, and this package takes it for a percent sign. Others ignore the
    line. 20 of 6,000 real files have one.

    ## Example
    ```robots
    User-agent: *
    Disallow: /jobs*%
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /jobs*%20
    Disallow: /save-10%25
    ```
    """

    code = "P405"

    def check(self, source: Source) -> Iterator[Finding]:
        """Paths with such a percent sign."""
        for line, value in paths(source):
            found = _BAD(value) if "%" in value else None
            if found is None or find_placeholder(value) or lacks_slash(value):
                continue
            at, until = (byte_at(line, value, place) for place in found.span())
            yield self.finding(
                line,
                f"{quoted(found[0])} is no escape: Google compares it as it is written, others read"
                " the `%` as `%25`",
                at=at,
                until=until,
            )


RULE = BadEscape()
