"""A808: a signal that no group has."""

from collections.abc import Iterator

from manners.lint.finding import Finding
from manners.lint.rule import LintRule
from manners.lint.source import Source
from manners.signals.robots_lines import RULE_KEYS


class SignalOutsideGroup(LintRule):
    """A line about usage above the first User-agent line.

    ## Why it matters
    `Content-Usage`, `Content-Signal`, `DisallowAITraining` and `AllowAITraining` belong to the
    User-agent lines above them, as rules do. Above the first User-agent line, `Content-Usage` is
    for nobody (draft-ietf-aipref-attach, section 3). For the others no text says what it means, so
    some readers take it for everybody and others for nobody. Only `License` may stand there.

    The real files that were measured are older than these lines: none of 6,000 has one there.

    ## Example
    ```robots
    Content-Signal: ai-train=no
    User-agent: *
    Disallow: /search
    ```
    ```robots
    Content-Usage: train-ai=n
    Sitemap: https://www.example.com/sitemap.xml
    ```

    ## Better
    ```robots
    License: https://www.example.com/license.xml

    User-agent: *
    Content-Signal: ai-train=no
    Disallow: /search
    ```
    """

    code = "A808"

    def check(self, source: Source) -> Iterator[Finding]:
        """Lines about usage before the first User-agent line."""
        for line in source.lines:
            if line.kind == "user-agent":
                return
            if line.kind in RULE_KEYS:
                is_known = line.kind == "content-usage"
                whom = "this is for nobody" if is_known else "no text says whom this is for"
                message = f"above the first User-agent line, {whom}: put it into a group"
                yield self.finding(line, message)


RULE = SignalOutsideGroup()
