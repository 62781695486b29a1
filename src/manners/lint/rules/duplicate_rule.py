"""R301: the same rule twice."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source, quoted


class DuplicateRule(LintRule):
    """A rule that the same agents have twice.

    ## Why it matters
    The second one changes nothing. Who edits one of them later may not see the other, and wonders
    why nothing happens. 585 of 6,000 real files (9.8 %) have such rules.

    ## Example
    ```robots
    User-agent: *
    Disallow: /cart/
    Disallow: /login/
    Disallow: /cart/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /cart/
    Disallow: /login/
    ```

    ## Fix
    Removes the later line, if it is proved that no verdict changes. Offered for every such finding
    in 324 of 580 real files, and for some in 54.
    """

    code = "R301"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """Rules that everybody who has them has once more, further up."""
        for number, first in sorted(source.duplicates.items()):
            line = source.lines[number - 1]
            yield self.about_value(
                line,
                f"{quoted(line.value)} is already on line {first}",
                fix=self.fix("remove the line", line.removed()),
            )


RULE = DuplicateRule()
