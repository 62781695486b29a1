"""G201: User-agent lines that look like two groups and are one."""

from collections import Counter
from collections.abc import Iterator

from manners.lint.finding import Edit, Finding
from manners.lint.rule import LintRule
from manners.lint.source import Source, SourceGroup, SourceLine, quoted
from manners.robots.agents import token_key
from manners.robots.directives import BY_NAME


class JoinedAgents(LintRule):
    """User-agent lines with a blank line or another directive between them, but no rule.

    ## Why it matters
    Only a rule ends the list of names that begins a group (RFC 9309, section 2.1): the next
    User-agent line after a blank line, a Crawl-delay or a Sitemap still belongs to the same group.
    So the agents above get the rules below, for RFC 9309 and for Google. Other engines end the
    group at the blank line or at every User-agent line, and give them no rules at all.

    132 of 6,000 real files (2.2 %) have such a group. In 91 more nothing happens, because no rule
    with a value follows or because the same agents are named below; these are not reported.

    ## Example
    ```robots
    User-agent: dotbot
    Crawl-delay: 10

    User-agent: *
    Disallow: /events.html
    ```
    ```robots
    User-agent: Googlebot

    User-agent: BadBot
    Disallow: /
    ```

    ## Better
    ```robots
    User-agent: dotbot
    Crawl-delay: 10
    Disallow:

    User-agent: *
    Disallow: /events.html
    ```
    ```robots
    User-agent: Googlebot
    User-agent: BadBot
    Disallow: /
    ```

    ## Fix
    Inserts `Disallow:`, which ends the group above and disallows nothing. Unsafe: the agents above
    no longer get the rules below.
    """

    code = "G201"

    def check(self, source: Source) -> Iterator[Finding]:
        """Breaks between the User-agent lines of a group that has rules."""
        for group in source.groups:
            if len(group.agents) > 1 and any(rule.value for rule in group.rules):
                yield from self._check_group(source, group)

    def _check_group(self, source: Source, group: SourceGroup) -> Iterator[Finding]:
        keys = [token_key(line.value) for line in group.agents]
        below = Counter(keys)
        above: SourceLine | None = None  # the last agent that is not named again below
        for index, line in enumerate(group.agents[1:]):
            before = group.agents[index]
            below[keys[index]] -= 1
            # An agent that is named on both sides gets the rules below in any case.
            if keys[index] is not None and below[keys[index]] == 0:
                above = before
            between = source.lines[before.number : line.number - 1]
            sign = _sign(between)
            if sign is None or above is None:
                continue
            yield self.about_value(
                line,
                f"{sign} does not end a group: {quoted(above.value)} in line {above.number} "
                f"gets the rules of {quoted(line.value)}, too",
                fix=self.fix(
                    "end the group above with an empty Disallow",
                    _end_of_group(before, between),
                    safety="unsafe",
                ),
            )


def _sign(between: list[SourceLine]) -> str | None:
    """What makes two User-agent lines look like two groups; None for comments and nothing."""
    for line in between:
        if line.line.key:
            return quoted(line.line.key)
        if line.kind == "invalid":
            return quoted(line.line.text.strip())
    return "a blank line" if any(line.kind == "blank" for line in between) else None


def _end_of_group(agent: SourceLine, between: list[SourceLine]) -> Edit:
    """An empty Disallow below a User-agent line and the directives that belong to it."""
    place = agent
    for line in between:
        if line.line.key and (line.kind not in BY_NAME or BY_NAME[line.kind].scope == "group"):
            place = line
    return Edit(place.end, place.end, b"Disallow:" + place.line_end)


RULE = JoinedAgents()
