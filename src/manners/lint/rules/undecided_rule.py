"""R310: too hard to decide."""

from collections.abc import Iterator

from manners._text import count
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source


class UndecidedRule(LintRule):
    """Rules that could not be examined within the budget.

    ## Why it matters
    Whether a rule can ever matter is a hard problem: with enough stars, no program can decide it in
    reasonable time. The search stops after a number of steps that is the same on every machine.
    What is not decided is not called redundant, and never makes a fix safe. None of 250,264 rules
    in real files needs so many steps by itself; files with very many rules may.
    """

    code = "R310"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """One finding, at the first such rule."""
        numbers = [n for n, status in sorted(source.statuses.items()) if not status.is_decided]
        if numbers:
            rules = count(len(numbers), "rule")
            message = f"{rules} from here on could not be examined within the budget of steps"
            yield self.finding(source.lines[numbers[0] - 1], message)


RULE = UndecidedRule()
