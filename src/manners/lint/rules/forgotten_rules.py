"""G213: a named agent that may fetch what everybody else may not."""

from collections.abc import Iterator

from manners._text import count
from manners.lint.finding import Finding, Severity
from manners.lint.impact import compare_policies
from manners.lint.rule import LintRule
from manners.lint.source import Source, quoted
from manners.robots.agents import WILDCARD
from manners.robots.groups import Rule

_STEPS = 50_000
_MOST = 20
"""Agents of one file that are compared."""


class ForgottenRules(LintRule):
    """A group with rules of its own that leaves out some of those for `*`.

    ## Why it matters
    An agent that has a group of its own does not inherit the rules for `*` (RFC 9309, section
    2.2.1). Many authors believe that it does, and write only what is special. The finding shows the
    shortest URL that the named agent may fetch and everybody else may not. 544 of 6,000 real files
    (9.1 %) have such a group. A group that allows or disallows everything is not reported: it is
    meant.

    ## Example
    ```robots
    User-agent: *
    Disallow: /cart/
    Disallow: /login/

    User-agent: bingbot
    Disallow: /cart/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /cart/
    Disallow: /login/

    User-agent: bingbot
    Disallow: /cart/
    Disallow: /login/
    Disallow: /archive/
    ```
    """

    code = "G213"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """Groups with some, but not all, of the rules for everybody."""
        robots = source.robots[source.engines[0]]
        if robots.too_many_rules:
            return
        everybody = robots.policy(WILDCARD)
        wanted = _disallowed(everybody.rules)
        if not wanted:
            return
        seen: set[str] = set()
        for group in source.groups:
            if len(seen) >= _MOST:
                return
            name = robots.dialect.agent_key(group.first.value)
            if name is None or name == WILDCARD or name in seen:
                continue
            seen.add(name)
            own = robots.policy(name)
            paths = _disallowed(own.rules)
            if not paths or wanted <= paths or paths & {"/", "/*", "*"}:
                continue
            opened = compare_policies(everybody, own, _STEPS).opened
            if opened is None or opened.before is None:
                continue
            name, rules = quoted(group.first.value), count(len(wanted), "rule")
            yield self.about_value(
                group.first,
                f"a group does not inherit from `*`, and has {len(wanted & paths)} of its {rules}:"
                f" so {name} may fetch {quoted(opened.path)}"
                f" (line {opened.before.line} closes it to everybody else)",
            )


def _disallowed(rules: tuple[Rule, ...]) -> set[str]:
    return {rule.pattern for rule in rules if not rule.allow and rule.pattern}


RULE = ForgottenRules()
