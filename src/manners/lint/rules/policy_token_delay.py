"""A814: a pace for a token that fetches nothing."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._agent_names import enumerated
from manners.lint.source import Source
from manners.robots.agents import token_key
from manners.robots.directives import TIMED
from manners.signals.tokens import POLICY_TOKENS

_TOKENS = {token.token.lower(): token for token in POLICY_TOKENS}


class PolicyTokenDelay(LintRule):
    """A group for tokens such as Google-Extended that sets a pace.

    ## Why it matters
    `Google-Extended`, `Applebot-Extended` and `Webzio-Extended` are no crawlers: nothing is
    requested under these names. Their groups say what may be done with what another crawler
    fetched. A delay has no effect there; to slow a crawler down, its own name is needed.

    2 of 6,000 real files have such a group.

    ## Example
    ```robots
    User-agent: Google-Extended
    Crawl-delay: 10
    Disallow: /
    ```

    ## Better
    ```robots
    User-agent: Google-Extended
    Disallow: /

    User-agent: Applebot
    Crawl-delay: 10
    ```
    """

    code = "A814"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """The first delay of a group that is for nothing but policy tokens."""
        for group in source.groups:
            keys = {token_key(line.value) or "" for line in group.agents}
            delay = next((line for line in group.directives if line.kind in TIMED), None)
            if delay is not None and keys <= _TOKENS.keys():
                crawlers = {name for key in keys for name in _TOKENS[key].crawlers}
                message = "nothing is requested under this name, so there is nothing to slow down"
                yield self.finding(
                    delay, f"{message}; the crawler is {enumerated(sorted(crawlers))}"
                )


RULE = PolicyTokenDelay()
