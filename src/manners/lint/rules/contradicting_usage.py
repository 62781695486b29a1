"""A815: lines about usage that contradict each other."""

from collections.abc import Iterator
from typing import NamedTuple

from manners.lint.finding import Finding
from manners.lint.rule import LintRule
from manners.lint.rules._agent_names import rfc_reading
from manners.lint.rules._content_signals import signals_of
from manners.lint.source import Source, SourceLine, quoted
from manners.robots.agents import token_key
from manners.signals.readers.content_usage import usage_rule
from manners.signals.robots_lines import signal_lines
from manners.signals.structured import read_dictionary

_LABELS = {"train-ai": "ai-train", "ai-use": "ai-input", "search": "search"}
"""The labels of AIPREF as the keys of Content-Signal."""


class UsageStatement(NamedTuple):
    """What a line says of a use, for the paths that it is about."""

    use: str
    path: str
    is_yes: bool
    text: str


class ContradictingUsage(LintRule):
    """A Content-Usage line that contradicts another one, or a Content-Signal line.

    ## Why it matters
    Content-Usage lines of an agent with the same path are combined: a refusal wins
    (draft-ietf-aipref-attach, section 3.1). Between Content-Usage and Content-Signal no text
    decides, and careful readers take the refusal as well. A longer path is no contradiction: only
    the longest that matches counts. Two Content-Signal lines are the matter of
    `contradicting-signal`.

    The real files that were measured are older than Content-Usage: none of 6,000 has one.

    ## Example
    ```robots
    User-agent: *
    Content-Usage: train-ai=n
    Content-Usage: train-ai=y
    Disallow: /search
    ```
    ```robots
    User-agent: *
    Content-Signal: ai-train=yes
    Content-Usage: train-ai=n
    Disallow: /search
    ```

    ## Better
    ```robots
    User-agent: *
    Content-Signal: ai-train=no
    Content-Usage: train-ai=n
    Content-Usage: /press/ train-ai=y
    Disallow: /search
    ```
    """

    code = "A815"

    def check(self, source: Source) -> Iterator[Finding]:
        """Lines that say the opposite of an earlier one, for one of their agents."""
        if not any(line.kind == "content-usage" for line in source.lines):
            return
        earlier: dict[tuple[str, str, str, bool], tuple[str, SourceLine]] = {}
        for found in signal_lines(rfc_reading(source)).lines:
            if found.key not in ("content-usage", "content-signal"):
                continue
            line = source.lines[found.number - 1]
            agents = sorted({key for name in found.agents if (key := token_key(name))})
            message = ""
            for statement in _statements(line):
                for agent in agents[:_MAX_AGENTS]:
                    other = earlier.get(
                        (agent, statement.use, statement.path, not statement.is_yes)
                    )
                    if other and {line.kind, other[1].kind} != {"content-signal"}:
                        message = message or (
                            f"`{statement.text}` contradicts `{other[0]}` in line "
                            f"{other[1].number} for {quoted(agent)}: the refusal counts"
                        )
                    earlier.setdefault(
                        (agent, statement.use, statement.path, statement.is_yes),
                        (statement.text, line),
                    )
            if message:
                yield self.about_value(line, message)


_MAX_AGENTS = 200


def _statements(line: SourceLine) -> Iterator[UsageStatement]:
    if line.kind == "content-signal":
        for signal in signals_of(line)[:_MAX_PARTS]:
            if signal.value in ("yes", "no"):
                text = f"{signal.key}={signal.value}"
                yield UsageStatement(signal.key, "", signal.value == "yes", text)
        return
    path, preference = usage_rule(line.value)
    members = read_dictionary(preference) or {}
    for label, use in _LABELS.items():
        item = members.get(label)
        if item is not None and item.kind == "token" and item.text in ("y", "n"):
            yield UsageStatement(use, path, item.text == "y", f"{label}={item.text}")


_MAX_PARTS = 20
RULE = ContradictingUsage()
