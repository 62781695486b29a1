"""C702: crawlers that do not obey `*` where everything is disallowed for it."""

from collections.abc import Iterator

from manners.lint.data.crawlers import STAR_IGNORERS
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._agent_names import enumerated, named_agents
from manners.lint.source import Source, SourceLine
from manners.robots.agents import WILDCARD, token_key

_EVERYTHING = ("/", "/*", "*")


class StarIgnorer(LintRule):
    """A file that disallows everything for `*`, and does not name the crawlers that ignore `*`.

    ## Why it matters
    Google's crawlers for advertisements and some of Yandex's obey a group with their own name, and
    take no notice of one for `*`: their owners take it that who books or shows advertisements
    agrees. RFC 9309 says otherwise (section 2.2.1), so a file that should shut out everybody does
    not, unless it names them. On a site that has nothing to do with Google's or Yandex's
    advertising it makes no difference.

    241 of 6,000 real files disallow everything for `*` without naming all of them.

    ## Example
    ```robots
    User-agent: *
    Disallow: /
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /private/
    ```
    """

    code = "C702"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """The line that disallows everything for `*`."""
        line = _shutting(source)
        if line is None:
            return
        named = named_agents(source)
        unnamed = [name for name in STAR_IGNORERS if name.lower() not in named]
        if unnamed:
            yield self.about_value(
                line,
                f"this line does not shut out {enumerated(unnamed)}: "
                "they obey a group with their own name only",
            )


def _shutting(source: Source) -> SourceLine | None:
    for group in source.groups:
        shutting = (
            rule for rule in group.rules if rule.kind == "disallow" and rule.value in _EVERYTHING
        )
        line = next(shutting, None)
        if line is not None and any(token_key(agent.value) == WILDCARD for agent in group.agents):
            return line
    return None


RULE = StarIgnorer()
