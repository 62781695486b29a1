"""P410: a dollar sign within a path."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._paths import byte_at, paths
from manners.lint.rules.missing_leading_slash import lacks_slash
from manners.lint.rules.regular_expression import find_sign
from manners.lint.rules.template_placeholder import find_placeholder
from manners.lint.source import Source, quoted


class InnerDollar(LintRule):
    """A `$` that is not the last character of a path.

    ## Why it matters
    `$` means the end of a path only where it ends the rule (RFC 9309, section 2.2.3). Before
    anything else it is a dollar sign, so `/*.pdf$/` matches only URLs with `.pdf$/` in them; other
    crawlers take it for the end all the same. Before a letter a dollar sign is probably meant,
    and that is a note: RFC 9309 advises to write it as `%24`, which Google does not read as `$`.
    9 of 6,000 real files have one.

    ## Example
    ```robots
    User-agent: *
    Disallow: /*.pdf$/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /*.pdf$
    ```
    """

    code = "P410"

    def check(self, source: Source) -> Iterator[Finding]:
        """Paths with a dollar sign before their last character."""
        for line, value in paths(source):
            place = value.find("$", 0, -1)
            if place < 0 or find_placeholder(value) or find_sign(value) or lacks_slash(value):
                continue
            follower = value[place + 1]
            at = byte_at(line, value, place)
            yield self.finding(
                line,
                f"`$` is the end only at the end: in {quoted(value)} it is a dollar sign",
                at=at,
                until=at + 1,
                severity=Severity.INFO if follower.isalnum() or follower in "({_" else None,
            )


RULE = InnerDollar()
