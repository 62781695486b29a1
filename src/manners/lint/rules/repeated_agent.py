"""G205: the same agent twice in one group."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._names import has_directive
from manners.lint.source import Source, SourceLine, quoted
from manners.robots.agents import normalize_user_agent, token_key
from manners.robots.directives import TIMED


class RepeatedAgent(LintRule):
    """An agent that its group names already.

    ## Why it matters
    The second line has no effect. Often the two lines were meant to name two crawlers and are one
    name only after engines have cut them: `Sogou web spider` and `Sogou inst spider` are both
    `Sogou` (RFC 9309, section 2.2.1: a product token has letters, `_` and `-` only).

    75 of 6,000 real files (1.3 %) repeat an agent, 16 of them only after cutting.

    ## Example
    ```robots
    User-agent: Googlebot
    User-agent: googlebot
    Disallow: /search/
    ```
    ```robots
    User-agent: Sogou web spider
    User-agent: Sogou inst spider
    Disallow: /
    ```

    ## Better
    ```robots
    User-agent: Googlebot
    Disallow: /search/
    ```

    ## Fix
    Removes the line if it has the same name but for case and version; its comment stays. Safe. Of
    names that are equal only after cutting, neither is removed. Offered for every such finding in
    21 of 75 real files, and for some in 13.
    """

    code = "G205"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """User-agent lines whose name the same group has above."""
        for group in source.groups:
            if len(group.agents) < 2:
                continue
            first_lines: dict[str, SourceLine] = {}
            # Delays belong to the User-agent lines directly above them.
            last_agent = group.agents[-1].number
            timed = [line for line in group.directives if line.kind in TIMED]
            is_fixable = not timed or timed[0].number > last_agent
            for line in group.agents:
                key = token_key(line.value)
                if key is None:
                    continue
                first = first_lines.setdefault(key, line)
                if first is not line:
                    yield self._repeated(line, first, is_fixable)

    def _repeated(self, line: SourceLine, first: SourceLine, is_fixable: bool) -> Finding:
        if normalize_user_agent(line.value) != normalize_user_agent(first.value):
            return self.about_value(
                line,
                f"{quoted(line.value)} is the same name as {quoted(first.value)} in line "
                f"{first.number}, once engines have cut both",
            )
        fix = self.fix("remove the repeated User-agent line", line.removed())
        return self.about_value(
            line,
            f"the group names {quoted(line.value)} already, in line {first.number}",
            fix=fix if is_fixable and not has_directive(line.value) else None,
        )


RULE = RepeatedAgent()
