"""G214: a named agent that may fetch everything."""

from collections import defaultdict
from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source, quoted
from manners.robots.agents import WILDCARD, token_key


class UnrestrictedAgent(LintRule):
    """A group of a named agent without any rule that has a value.

    ## Why it matters
    An agent with a group of its own does not get the rules for `*` (RFC 9309, section 2.2.1).
    Without rules it may fetch everything. That is often meant; this rule, which is off unless
    selected, lists the agents for which it is so.

    491 of 6,000 real files (8.2 %) have such an agent.

    ## Example
    ```robots
    User-agent: Mediapartners-Google
    Disallow:

    User-agent: *
    Disallow: /search/
    ```

    ## Better
    ```robots
    User-agent: Mediapartners-Google
    Disallow: /cart/

    User-agent: *
    Disallow: /search/
    Disallow: /cart/
    ```
    """

    code = "G214"
    severity = Severity.INFO
    is_default = False

    def check(self, source: Source) -> Iterator[Finding]:
        """Groups of agents that have no rule with a value in any group."""
        is_restricted: defaultdict[str | None, bool] = defaultdict(bool)
        for group in source.groups:
            has_rule = any(rule.value for rule in group.rules)
            for line in group.agents:
                is_restricted[token_key(line.value)] |= has_rule
        for group in source.groups:
            free = [
                line
                for line in group.agents
                if (key := token_key(line.value)) not in (None, WILDCARD) and not is_restricted[key]
            ]
            if free:
                more = f" and {len(free) - 1} more" if len(free) > 1 else ""
                yield self.about_value(
                    free[0],
                    f"{quoted(free[0].value)}{more} may fetch everything: the rules for `*` are "
                    "not for agents with a group of their own",
                )


RULE = UnrestrictedAgent()
