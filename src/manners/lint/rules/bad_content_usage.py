"""A806: a Content-Usage line that says nothing, or not what it seems to."""

from collections.abc import Iterator

from manners._text import to_bytes
from manners.lint.finding import Finding, Fix
from manners.lint.rule import LintRule
from manners.lint.rules._content_usage import (
    KNOWN,
    OLD,
    corrected,
    parts_of,
    preference_at,
    usage_lines,
)
from manners.lint.source import Source, SourceLine, quoted
from manners.signals.readers.content_usage import usage_rule
from manners.signals.structured import FieldItem, read_dictionary


class BadContentUsage(LintRule):
    """A Content-Usage line with a part that is not read as it is meant.

    ## Why it matters
    The preference of a Content-Usage line is a structured field (RFC 9651): labels in lower case, a
    value of `y` or `n`, no space around `=`, commas between. Readers must not guess. One mistake in
    the syntax makes the whole line say nothing; `train-ai=no` is well formed and says nothing
    either; behind a semicolon stands a parameter, which is ignored; and of a label that is given
    twice the last counts (draft-ietf-aipref-vocab, section 6).

    The real files that were measured are older than Content-Usage: none of 6,000 has one.

    ## Example
    ```robots
    User-agent: *
    Content-Usage: train-ai=no
    Disallow: /search
    ```
    ```robots
    User-agent: *
    Content-Usage: Train-AI=n
    Disallow: /search
    ```
    ```robots
    User-agent: *
    Content-Usage: train-ai=n; search=y
    Disallow: /search
    ```
    ```robots
    User-agent: *
    Content-Usage: train-ai=n, train-ai=y
    Disallow: /search
    ```
    ```robots
    User-agent: *
    Content-Usage: /essays/
    Disallow: /search
    ```

    ## Better
    ```robots
    User-agent: *
    Content-Usage: train-ai=n, search=y
    Content-Usage: /essays/ train-ai=y
    Disallow: /search
    ```

    ## Fix
    Writes the labels and values as the draft has them, where it is clear what is meant. Unsafe: no
    verdict changes, but readers are told what the line did not say.
    """

    code = "A806"

    def check(self, source: Source) -> Iterator[Finding]:
        """Content-Usage lines with a mistake, each with its first."""
        for line in usage_lines(source):
            if line.value.startswith("*"):
                continue  # another rule
            preference = usage_rule(line.value).preference
            message = _mistake(preference)
            if message:
                yield self.finding(
                    line,
                    message,
                    at=preference_at(line) if preference else line.value_at,
                    until=line.value_end,
                    fix=_fix(self, line, preference),
                )


def _fix(rule: LintRule, line: SourceLine, preference: str) -> Fix | None:
    text = corrected(preference)
    if not text:
        return None
    edit = line.replaced(preference_at(line), line.value_end, to_bytes(text))
    return rule.fix(f"write `{text}`", edit, safety="unsafe")


def _mistake(preference: str) -> str:
    """What is wrong with a preference; empty for nothing, and for labels that are only unknown."""
    if not preference:
        return "a Content-Usage line without a preference like `train-ai=n` says nothing"
    members = read_dictionary(preference)
    if members is None:
        return (
            f"nothing of {quoted(preference)} is read: it is no structured field{_hint(preference)}"
        )
    for label, item in members.items():
        plain = label.replace("_", "-")
        if plain in KNOWN and label != plain:
            return f"no label is called {quoted(label)}, so it says nothing; `{plain}` is one"
        if label in KNOWN:
            message = _wrong_value(label, item) or _in_parameters(label, item)
            if message:
                return message
    labels = [part.label for part in parts_of(preference)]
    twice = next((label for label in labels if labels.count(label) > 1), "")
    if twice in members:
        return f"{quoted(twice)} is given twice: the last value, `{members[twice].text}`, counts"
    return ""


def _hint(preference: str) -> str:
    text = corrected(preference)
    return f"; `{text}` is" if text else ""


def _wrong_value(label: str, item: FieldItem) -> str:
    if item.kind == "token" and item.text in ("y", "n"):
        return ""
    value = quoted(item.text) if item.kind == "token" else f"a value that is a {item.kind}"
    return f"`{label}` is `y` or `n`: {value} says nothing"


def _in_parameters(label: str, item: FieldItem) -> str:
    for name in item.parameters:
        if name in KNOWN or name in OLD:
            return (
                f"a comma has to stand before {quoted(name)}: behind a semicolon it is a parameter "
                f"of `{label}`, and says nothing"
            )
    return ""


RULE = BadContentUsage()
