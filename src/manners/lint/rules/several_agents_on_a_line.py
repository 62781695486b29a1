"""G209: a User-agent line with several names."""

from collections.abc import Iterator

from manners.lint.finding import Edit, Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._names import names_of
from manners.lint.source import Source, SourceLine, quoted


class SeveralAgentsOnALine(LintRule):
    """A User-agent line with more than one name.

    ## Why it matters
    A line has one name, which ends at the first character that no name has (RFC 9309, section
    2.2.1): only the first agent gets the rules. A line that begins with `*` and a space is for
    everybody.

    None of 6,000 real files has such a line. Names with spaces, such as `Sogou web spider`, are
    another matter: see `shortened-agent`.

    ## Example
    ```robots
    User-agent: GPTBot, ClaudeBot, CCBot
    Disallow: /
    ```
    ```robots
    User-agent: Googlebot Bingbot
    Disallow: /search/
    ```

    ## Better
    ```robots
    User-agent: GPTBot
    User-agent: ClaudeBot
    User-agent: CCBot
    Disallow: /
    ```
    ```robots
    User-agent: Sogou web spider
    Disallow: /
    ```

    ## Fix
    Writes a line for each name. Unsafe: the rules are then for all of them.
    """

    code = "G209"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """User-agent lines that list names."""
        for line in source.of_kind("user-agent"):
            names = names_of(line.value)
            if not names:
                continue
            yield self.about_value(
                line,
                f"a User-agent line has one name: this one is for {quoted(names[0])} only, not for "
                f"{quoted(names[1])}",
                fix=self.fix(
                    "write a line for each name",
                    _one_line_each(line, names, source),
                    safety="unsafe",
                ),
            )


def _one_line_each(line: SourceLine, names: list[str], source: Source) -> Edit:
    line_end = line.line_end or source.line_end
    separator = line_end + line.raw[: line.value_at]
    return line.with_value(separator.join(name.encode() for name in names))


RULE = SeveralAgentsOnALine()
