"""X901: engines that read the file differently."""

from collections.abc import Iterator
from itertools import pairwise

from manners.lint.finding import Finding, Severity
from manners.lint.impact import AgentImpact, Witness, compare_agents
from manners.lint.impact.searching import StepBudget
from manners.lint.rule import LintRule
from manners.lint.source import ENGINES, Source, quoted
from manners.robots.policy import Robots

_STEPS = 20_000
"""Steps of automata for each class of agents."""
_ALL_STEPS = 200_000
"""Steps for all classes of two engines."""


class EngineDependent(LintRule):
    """A path that two engines decide differently.

    ## Why it matters
    RFC 9309 leaves room, and engines use it: what is closed to one crawler is open to another. The
    finding shows the shortest such URL, and the line that each engine follows. Google's parser, for
    example, cuts a name at its first digit, and compares percent-encoded bytes as they are written.
    Of 6,000 real files, one in ten means something else to Google than to RFC 9309. With `--for`,
    the engines that you name are compared, and it is a warning.

    ## Example
    ```robots
    User-agent: *
    Disallow: /caf%65/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /cafe/
    ```
    """

    code = "X901"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """The first class of agents that differs, for each engine and the next."""
        severity = Severity.INFO if source.engines == ENGINES else Severity.WARNING
        for one, other in pairwise(source.engines):
            budget = StepBudget(_ALL_STEPS)
            files = _read_as(source, one), _read_as(source, other)
            impacts = compare_agents(*files, _STEPS, budget)
            found = [impact for impact in impacts if impact.impact.is_equal is False]
            if found:
                yield self._differing(source, one, other, found, severity)

    def _differing(
        self,
        source: Source,
        one: str,
        other: str,
        found: list[AgentImpact],
        severity: Severity,
    ) -> Finding:
        agents, impact = min(found, key=lambda found: "*" not in found.agents)
        witness = impact.closed or impact.opened
        assert witness is not None  # noqa: S101 (it is not equal)
        verdicts = ("allows", "disallows") if impact.closed else ("disallows", "allows")
        more = f", and {len(found) - 1} more kinds of agents" if len(found) > 1 else ""
        message = (
            f"for {quoted(agents[0])}, {one} {verdicts[0]} {quoted(witness.path)}"
            f" ({_line(witness.before)}) and {other} {verdicts[1]} it ({_line(witness.after)})"
            f"{more}"
        )
        return self.finding(source.lines[_number(witness) - 1], message, severity=severity)


def _read_as(source: Source, engine: str) -> Robots:
    """The file as an engine reads it, with /robots.txt allowed: whether it is concerns nobody."""
    return source.read_as(source.robots[engine].dialect.but(robots_txt_allowed=True))


def _line(rule: object) -> str:
    number = getattr(rule, "line", 0)
    return f"line {number}" if number else "no rule"


def _number(witness: Witness) -> int:
    rule = witness.after or witness.before
    return rule.line if rule is not None else 1


RULE = EngineDependent()
