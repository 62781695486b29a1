"""A805: a label of an earlier draft of AIPREF."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._content_usage import KNOWN, OLD, preference_at, usage_lines
from manners.lint.source import Source, quoted
from manners.signals.readers.content_usage import EDITIONS, usage_rule
from manners.signals.structured import read_dictionary


class OutdatedUsageLabel(LintRule):
    """A Content-Usage line with a label that the current draft does not have.

    ## Why it matters
    The labels changed with nearly every draft of draft-ietf-aipref-vocab. Those of the eighth
    (September 2026) are `train-ai`, `ai-use` and `search`; they stand beside each other, none
    implies another. `bots`, `all`, `tdm`, `ai`, `genai`, `train-genai`, `ai-output` and
    `inference` are gone. Readers have to ignore labels they do not know, so a site that refuses
    `genai` refuses nothing. A label that no draft had is reported as information: it may be newer.

    The real files that were measured are older than Content-Usage: none of 6,000 has one.

    ## Example
    ```robots
    User-agent: *
    Content-Usage: genai=n
    Disallow: /search
    ```
    ```robots
    User-agent: *
    Content-Usage: train-ai=n, ai-train=n
    Disallow: /search
    ```

    ## Better
    ```robots
    User-agent: *
    Content-Usage: train-ai=n, ai-use=n
    Disallow: /search
    ```
    """

    code = "A805"

    def check(self, source: Source) -> Iterator[Finding]:
        """Content-Usage lines with an unknown label: those that were known first."""
        for line in usage_lines(source):
            members = read_dictionary(usage_rule(line.value).preference) or {}
            unknown = sorted(
                (label not in OLD, label)
                for label in members
                if label.replace("_", "-") not in KNOWN  # else a mistake of spelling: another rule
            )
            if unknown:
                is_new, label = unknown[0]
                yield self.finding(
                    line,
                    _message(label),
                    at=preference_at(line),
                    until=line.value_end,
                    severity=Severity.INFO if is_new else Severity.WARNING,
                )


def _message(label: str) -> str:
    text = f"{quoted(label)} is no label of {EDITIONS[-1].name}, and says nothing"
    return f"{text}; `{OLD[label]}` comes closest" if OLD.get(label) else text


RULE = OutdatedUsageLabel()
