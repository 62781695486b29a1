"""A801: an AI crawler that is blocked under a name it no longer has."""

from collections.abc import Iterator

from manners.lint.data.ai_crawlers import BY_KEY
from manners.lint.finding import Finding
from manners.lint.rule import LintRule
from manners.lint.rules._agent_names import HOME, named_agents, rfc_reading
from manners.lint.source import Source, quoted


class OutdatedAiToken(LintRule):
    """An AI crawler that is blocked by an old name, while the new one may fetch everything.

    ## Why it matters
    Lists of AI crawlers are copied and go stale. Who blocks `anthropic-ai` or `Claude-Web` only
    blocks nobody: Anthropic's crawler has been ClaudeBot since 2024. Meta documents
    `meta-externalagent` as its crawler for training; `FacebookBot` came before it.

    110 of 6,000 real files (1.8 %) block an old name and not the new one. A file that
    names the new one is not reported, whatever it says about it.

    ## Example
    ```robots
    User-agent: anthropic-ai
    Disallow: /
    ```

    ## Better
    ```robots
    User-agent: ClaudeBot
    User-agent: anthropic-ai
    Disallow: /
    ```
    """

    code = "A801"

    def check(self, source: Source) -> Iterator[Finding]:
        """Old names whose home page is disallowed, where it is not for the new ones."""
        named = named_agents(source)
        for key, line in named.items():
            crawler = BY_KEY.get(key)
            if crawler is None or not crawler.successor or crawler.successor.lower() in named:
                continue
            robots = rfc_reading(source)
            if robots.allowed(HOME, crawler.name) or not robots.allowed(HOME, crawler.successor):
                continue
            yield self.about_value(
                line,
                f"{crawler.company}'s crawler for training is {crawler.successor} now, which this "
                f"file does not block: {quoted(line.value)} is an old name",
            )


RULE = OutdatedAiToken()
