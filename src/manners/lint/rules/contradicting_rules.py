"""R305: the same path with both verdicts."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source, quoted


class ContradictingRules(LintRule):
    """An Allow and a Disallow for the same path and the same agents.

    ## Why it matters
    On a tie the Allow decides (RFC 9309, section 2.2.2), but some engines take the first rule, or
    the last. One of the two lines is not meant.

    ## Example
    ```robots
    User-agent: *
    Disallow: /login/
    Allow: /login/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /login/
    ```
    """

    code = "R305"
    severity = Severity.WARNING

    def check(self, source: Source) -> Iterator[Finding]:
        """Allow rules that have a Disallow of the same pattern beside them."""
        opposites: dict[int, int] = {}
        for rules in source.rule_lists:
            disallowed = {rule.pattern: rule.line for rule in rules if not rule.allow}
            for rule in rules:
                if rule.allow and rule.pattern in disallowed:
                    opposites.setdefault(rule.line, disallowed[rule.pattern])
        for number, opposite in sorted(opposites.items()):
            line = source.lines[number - 1]
            yield self.about_value(
                line, f"{quoted(line.value)} is also disallowed, on line {opposite}"
            )


RULE = ContradictingRules()
