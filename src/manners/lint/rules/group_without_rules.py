"""G203: a group that says nothing."""

from collections.abc import Iterator

from manners.lint.finding import Edit, Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source, SourceLine, quoted
from manners.robots.directives import TIMED


class GroupWithoutRules(LintRule):
    """User-agent lines at the end of the file, with neither a rule nor a delay below them.

    ## Why it matters
    The agents of such a group may fetch everything, and those with a name of their own do not get
    the rules for `*` either (RFC 9309, section 2.2.1). That may be meant, or the file was not
    finished. Whoever appends a group later finds that it joins this one, because no rule stands
    between them. `Disallow:` says the same and is complete.

    87 of 6,000 real files (1.5 %) have one, often `User-agent: *` above a Sitemap line.

    ## Example
    ```robots
    User-agent: *

    Sitemap: https://example.com/sitemap.xml
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow:

    Sitemap: https://example.com/sitemap.xml
    ```

    ## Fix
    Adds `Disallow:`. Safe: an empty Disallow disallows nothing. Offered for every such finding in
    all of 87 real files.
    """

    code = "G203"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """The last group, if it has no rule: any other would go on with the next User-agent."""
        for group in source.groups[-1:]:
            # A group of delays only is worth a finding of another rule: delay-without-rules.
            if group.rules or any(line.kind in TIMED for line in group.directives):
                continue
            last = max([*group.agents, *group.directives], key=lambda line: line.number)
            yield self.about_value(
                group.first,
                f"the group of {quoted(group.first.value)} has no rules, so it disallows nothing, "
                "and a group appended below would join it",
                fix=self.fix("add an empty Disallow", _disallow_below(last, source)),
            )


def _disallow_below(line: SourceLine, source: Source) -> Edit:
    if line.line_end:
        return Edit(line.end, line.end, b"Disallow:" + line.line_end)
    return Edit(line.end, line.end, source.line_end + b"Disallow:")


RULE = GroupWithoutRules()
