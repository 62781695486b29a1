"""A812: a line of an expired draft, which Google takes for a rule."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source


class AiTrainingLine(LintRule):
    """A `DisallowAITraining` or `AllowAITraining` line.

    ## Why it matters
    The draft that had these lines expired in April 2025, and no crawler documents that it reads
    them. What is worse: google/robotstxt compares only the beginning of a key
    (`StartsWithIgnoreCase`), so to Google `DisallowAITraining: /` is `Disallow: /`, and closes the
    site for Googlebot. `Content-Usage: train-ai=n` and `Content-Signal: ai-train=no` say the same
    and harm nothing.

    The real files that were measured are older: none of 6,000 has such a line.

    ## Example
    ```robots
    User-agent: *
    DisallowAITraining: /
    ```
    ```robots
    User-agent: *
    Disallow: /private/
    AllowAITraining: /private/open/
    ```

    ## Better
    ```robots
    User-agent: *
    Content-Usage: train-ai=n
    Disallow: /private/
    ```
    """

    code = "A812"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Lines of the draft: an error where Google makes a rule of them."""
        for line in source.lines:
            if line.kind in ("disallowaitraining", "allowaitraining"):
                rule = line.kind.removesuffix("aitraining").capitalize()
                if line.value:
                    message = f"to Google this is `{rule}`: the rest of the key does not count"
                    yield self.finding(line, message)
                else:
                    message = "no crawler documents that it reads this line"
                    yield self.finding(line, message, severity=Severity.INFO)


RULE = AiTrainingLine()
