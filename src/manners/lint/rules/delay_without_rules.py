"""D505: a group with a Crawl-delay and no rules."""

from collections.abc import Iterator

from manners.lint.finding import Finding
from manners.lint.rule import LintRule
from manners.lint.source import Source, SourceGroup, SourceLine, quoted
from manners.robots.agents import WILDCARD, token_key


class DelayWithoutRules(LintRule):
    """A Crawl-delay for a named crawler without a rule beside it, or for nobody.

    ## Why it matters
    A crawler that finds a group with its own name takes no notice of the group for `*` (RFC 9309,
    section 2.2.1), whatever else is in its own. So a group that was meant to slow a crawler down
    also opens everything to it that `*` may not fetch. A Crawl-delay above the first User-agent
    line belongs to nobody.

    115 of 6,000 real files (1.9 %) have one of the two. Where another User-agent line follows the
    Crawl-delay, the two groups are one, which `joined-agents` reports.

    ## Example
    ```robots
    User-agent: *
    Disallow: /search

    User-agent: bingbot
    Crawl-delay: 5
    ```
    ```robots
    Crawl-delay: 5

    User-agent: *
    Disallow: /search
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /search

    User-agent: bingbot
    Crawl-delay: 5
    Disallow: /search
    ```
    ```robots
    User-agent: *
    Disallow: /search

    User-agent: bingbot
    Crawl-delay: 5
    Disallow:
    ```
    """

    code = "D505"

    def check(self, source: Source) -> Iterator[Finding]:
        """Crawl-delay lines outside a group, and in groups of named agents without rules."""
        delays = [line for line in source.lines if line.kind == "crawl-delay"]
        if not delays:
            return
        first = source.groups[0].first.number if source.groups else len(source.lines) + 1
        for line in delays:
            if line.number < first:
                yield self.finding(
                    line, "a Crawl-delay above the first User-agent line is for nobody"
                )
        general, ruled = _keys_with_rules(source)
        if not general:
            return
        for group in source.groups:
            opened = _opened(group, ruled)
            delay = next((line for line in group.directives if line.kind == "crawl-delay"), None)
            if delay is not None and opened is not None:
                yield self.finding(
                    delay,
                    f"{quoted(opened.value)} has a group of its own without rules, so it may fetch "
                    f"everything: the rules for `*` (line {general}) do not hold for it",
                )


def _keys_with_rules(source: Source) -> tuple[int, set[str | None]]:
    """The line of the first Disallow for `*`, 0 without one; the agents that have a rule line."""
    general = 0
    keys: set[str | None] = {None, WILDCARD}
    for group in source.groups:
        if not group.rules:
            continue
        own = {token_key(line.value) for line in group.agents}
        keys |= own
        if WILDCARD in own and not general:
            disallows = (rule for rule in group.rules if rule.kind == "disallow" and rule.value)
            general = next((rule.number for rule in disallows), 0)
    return general, keys


def _opened(group: SourceGroup, ruled: set[str | None]) -> SourceLine | None:
    """The first agent of a group that has no rule line anywhere."""
    if group.rules:
        return None
    return next((line for line in group.agents if token_key(line.value) not in ruled), None)


RULE = DelayWithoutRules()
