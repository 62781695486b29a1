r"""P411: a regular expression where a path belongs."""

import re
from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._paths import byte_at, paths
from manners.lint.source import Source, quoted

# `name.*` is no sign: a dot and a star are also "whatever the file's extension". What is in `{}`
# may be a placeholder, and `[]` occurs in names of parameters: a sign is only what neither has.
_SIGN = re.compile(
    r"""
      ^\^                            # ^/path
    | \\(?:[.?+$()\[\]-]|[dDwWsS][*+?{])   # \. and \d+
    | \([^()|]*+\|[^()]*+\)          # (a|b)
    | \]\+                           # [abc]+
    | \(\.[*+]                       # (.*
    | \[\^?[^\]\[]{0,30}?(?:a-z|A-Z|[0-9]-[0-9])[^\]\[]{0,30}\]   # [a-z]
    | ^\.\*                          # .*/path
    | (?<=[^*/])/\.\*                # /path/.*; but /.* are hidden files
    | (?<=[^*])\.\*/                 # /path.*/
    | (?<=\w)=\.[*+]                 # ?key=.*
    | \{[0-9]{1,9},[0-9]{0,9}\}      # {0,3}
    """,
    re.VERBOSE,
).search
_MAY_HAVE = re.compile(r"[\\(\[^{]|\.[*+]").search


def find_sign(value: str) -> "re.Match[str] | None":
    """What shows that a value is a regular expression."""
    return _SIGN(value) if _MAY_HAVE(value) else None


class RegularExpression(LintRule):
    r"""A path that is written as a regular expression.

    ## Why it matters
    Only `*` and a `$` at the end are operators (RFC 9309, section 2.2.3). All else is compared as
    it is written: `/shop/.*` needs a dot, `(a|b)` needs parentheses, and `^/login` matches no URL
    at all, because every path begins with a slash. 19 of 6,000 real files have one. A path such as
    `/index.*`, in about 40 others, is not taken for one: it matches any extension.

    ## Example
    ```robots
    User-agent: *
    Disallow: ^/login$
    ```
    ```robots
    User-agent: *
    Disallow: /search\?
    Disallow: /photo/[0-9]+/edit
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /login$
    Disallow: /search?
    Disallow: /photo/*/edit
    Disallow: /index.*
    Disallow: /.*
    ```
    """

    code = "P411"
    severity = Severity.WARNING

    def check(self, source: Source) -> Iterator[Finding]:
        """Values with a sign of a regular expression; an error if no URL can match."""
        for line, value in paths(source):
            found = find_sign(value)
            if found is None:
                continue
            sign = quoted(found[0])
            if value[0] in "/*":
                severity = Severity.WARNING
                message = f"a path is no regular expression: {sign} is compared as it is written"
            else:
                severity = Severity.ERROR
                message = f"a path is no regular expression: {quoted(value)} matches no URL"
            at, until = (byte_at(line, value, place) for place in found.span())
            yield self.finding(line, message, at=at, until=until, severity=severity)


RULE = RegularExpression()
