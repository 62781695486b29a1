"""A802: some AI crawlers are blocked, and some are not."""

from collections.abc import Iterator

from manners.lint.data.ai_crawlers import TRAINERS
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._agent_names import HOME, enumerated, named_agents, rfc_reading
from manners.lint.source import Source


class PartlyBlockedAi(LintRule):
    """A file that blocks some of the well-known crawlers for AI training, and not the others.

    ## Why it matters
    It may be a choice. More often it is a list that was right when somebody copied it, and has
    missed the crawlers that came later. Eight names are compared: those of OpenAI, Anthropic,
    Google, Apple, Meta, Amazon, ByteDance and Common Crawl.

    455 of 6,000 real files block one of the eight by name, and not all. Not in the default
    set.

    ## Example
    ```robots
    User-agent: GPTBot
    User-agent: CCBot
    Disallow: /
    ```

    ## Better
    ```robots
    User-agent: GPTBot
    User-agent: ClaudeBot
    User-agent: Google-Extended
    User-agent: Applebot-Extended
    User-agent: meta-externalagent
    User-agent: Amazonbot
    User-agent: Bytespider
    User-agent: CCBot
    Disallow: /
    ```
    """

    code = "A802"
    severity = Severity.INFO
    is_default = False

    def check(self, source: Source) -> Iterator[Finding]:
        """The first line that blocks one of the names, if another is open."""
        named = named_agents(source)
        if not any(name.lower() in named for name in TRAINERS):
            return
        robots = rfc_reading(source)
        is_open = {name: robots.allowed(HOME, name) for name in TRAINERS}
        blocked = [name for name in TRAINERS if name.lower() in named and not is_open[name]]
        opened = [name for name in TRAINERS if is_open[name]]
        if blocked and opened:
            line = min((named[name.lower()] for name in blocked), key=lambda line: line.number)
            yield self.about_value(
                line,
                f"this file blocks {enumerated(blocked)} by name, but not {enumerated(opened, 8)}",
            )


RULE = PartlyBlockedAi()
