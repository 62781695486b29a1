"""P401: a path without the slash that it begins with."""

import re
from collections.abc import Iterator

from manners._text import to_bytes
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._paths import paths
from manners.lint.rules.absolute_url import split_url
from manners.lint.rules.matches_nothing import is_no_path
from manners.lint.rules.quoted_path import is_quoted
from manners.lint.rules.regular_expression import find_sign
from manners.lint.rules.template_placeholder import find_placeholder
from manners.lint.source import Source, quoted

_PARAMETER = re.compile(r"[?&]|[\w.-]+=").match
_EXTENSION = re.compile(r"\.[A-Za-z0-9]+[$?*]?").fullmatch


def lacks_slash(value: str) -> bool:
    """Whether a value is a path without its slash, and nothing that another rule names."""
    return (
        value[0] not in "/*"
        and not is_no_path(value)
        and not is_quoted(value)
        and split_url(value) is None
        and find_sign(value) is None
        and find_placeholder(value) is None
    )


class MissingLeadingSlash(LintRule):
    """A path that begins with neither `/` nor `*`.

    ## Why it matters
    The path of every URL begins with a slash, and a rule is compared from the first character on
    (RFC 9309, section 2.2.2): the rule matches nothing, whoever reads it. Only engines that
    complete relative URLs, as Perl's WWW::RobotRules does, read `admin` as `/admin`. 94 of 6,000
    real files (1.6 %) have one.

    ## Example
    ```robots
    User-agent: *
    Disallow: admin
    ```
    ```robots
    User-agent: *
    Disallow: ?sort=
    Allow: .js
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /admin
    Disallow: /*?sort=
    Allow: /*.js
    ```

    ## Fix
    Puts a slash in front; before an extension or a parameter, `/*`. Unsafe: the rule then matches
    URLs, as in 98 of 120 files that were fixed so.
    """

    code = "P401"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Values that are paths but for their beginning."""
        for line, value in paths(source):
            if value[0] in "/*" or not lacks_slash(value):
                continue
            path = _completed(value)
            yield self.about_value(
                line,
                f"a path begins with `/` or `*`: {quoted(value)} matches no URL",
                fix=self.fix(
                    f"write {quoted(path, 40)}", line.with_value(to_bytes(path)), safety="unsafe"
                ),
            )


def _completed(value: str) -> str:
    if value[:3].lower() == "%2f":
        return "/" + value[3:]
    if _PARAMETER(value) or _EXTENSION(value):
        return "/*" + value
    return "/" + value.lstrip("\\")


RULE = MissingLeadingSlash()
