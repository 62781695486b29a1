"""P409: a star where a slash says the same."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._paths import EVERYTHING, paths
from manners.lint.source import Source, quoted


class StarForEverything(LintRule):
    """A path that matches everything, but is not `/`.

    ## Why it matters
    Every path begins with a slash, so `/` matches everything, for every crawler. `*` and `/*` do so
    only for crawlers that know wildcards (RFC 9309, section 2.2.3); for others, they match nothing.
    `/*` is also longer: it wins over an `Allow: /`, which `/` does not. 91 of 6,000 real files
    (1.5 %) have one.

    ## Example
    ```robots
    User-agent: *
    Disallow: /*
    ```
    ```robots
    User-agent: *
    Disallow: *
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /
    ```

    ## Fix
    Writes `/`, if it is proved that no verdict changes: so in 89 of 90 files. Offered for every
    such finding in 84 of 91 real files, and for some in 3.
    """

    code = "P409"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """Paths made of stars and at most one slash."""
        for line, value in paths(source):
            if value != "/" and EVERYTHING(value):
                yield self.about_value(
                    line,
                    f"{quoted(value)} matches everything, as `/` does for all crawlers",
                    fix=self.fix("write `/`", line.with_value(b"/")),
                )


RULE = StarForEverything()
