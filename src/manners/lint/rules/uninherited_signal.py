"""A813: a group that has no signals, beside one for everybody that has."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._agent_names import enumerated, rfc_reading
from manners.lint.source import Source
from manners.robots.agents import WILDCARD, token_key
from manners.robots.directives import BY_NAME
from manners.signals.robots_lines import RULE_KEYS, signal_lines
from manners.signals.tokens import POLICY_TOKENS

_TOKENS = {token.token.lower() for token in POLICY_TOKENS}


class UninheritedSignal(LintRule):
    """A crawler with a group of its own that has no signals, while the group for `*` has.

    ## Why it matters
    A crawler that is named takes nothing from the group for `*` (RFC 9309, section 2.2.1), and that
    holds for `Content-Usage` and `Content-Signal`, too: the site has told it nothing about usage.
    Whoever adds a group to slow a crawler down takes the reservation away from it. A crawler that
    may fetch nothing is not reported: there is nothing to use.

    The real files that were measured are older than these lines: 1 of 6,000 has such a group.

    ## Example
    ```robots
    User-agent: *
    Content-Signal: ai-train=no
    Disallow: /search

    User-agent: bingbot
    Crawl-delay: 5
    Disallow: /search
    ```

    ## Better
    ```robots
    User-agent: *
    Content-Signal: ai-train=no
    Disallow: /search

    User-agent: bingbot
    Content-Signal: ai-train=no
    Crawl-delay: 5
    Disallow: /search
    ```
    """

    code = "A813"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """The first line that names a crawler, if it has no signal of those for `*`."""
        robots = rfc_reading(source)
        lines = [line for line in signal_lines(robots).lines if line.key in RULE_KEYS]
        kinds_by_agent: dict[str, set[str]] = {}
        for agents, kind in {(line.agents, line.key) for line in lines}:
            for name in agents:
                kinds_by_agent.setdefault(token_key(name) or "", set()).add(kind)
        for_all = kinds_by_agent.get(WILDCARD, set())
        if not for_all:
            return
        names = enumerated(sorted(BY_NAME[kind].spelling for kind in for_all))
        seen: set[str] = set()
        for group in source.groups:
            for line in group.agents:
                key = token_key(line.value)
                if (
                    key is None
                    or key == WILDCARD
                    or key in seen
                    or key in kinds_by_agent
                    or key in _TOKENS
                ):
                    continue
                seen.add(key)
                if any(rule.value == "/" and rule.kind == "disallow" for rule in group.rules):
                    continue
                yield self.about_value(
                    line, f"{names} of the group for `*` is not for this crawler"
                )


RULE = UninheritedSignal()
