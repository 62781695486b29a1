"""What the rules about Content-Usage share: the parts of a line, and what people write for them.

`Content-Usage: [path] label=y|n[, label=y|n]` in a group: draft-ietf-aipref-attach has the line,
draft-ietf-aipref-vocab the labels. The preference is a structured field (RFC 9651).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from manners.lint.source import Source, SourceLine
from manners.signals.readers.content_usage import EDITIONS, LABELS, usage_rule

KNOWN = LABELS[EDITIONS[-1].name]
"""The labels of the latest draft."""
OLD = {
    "bots": "",
    "all": "",
    "tdm": "",
    "ai": "train-ai and ai-use",
    "genai": "train-ai",
    "train-genai": "train-ai",
    "ai-output": "ai-use",
    "inference": "ai-use",
    "ai-train": "train-ai",
    "ai-input": "ai-use",
}
"""Labels of earlier drafts and of Content-Signal, with what comes closest now."""
MEANT = {
    "y": "y", "yes": "y", "allow": "y", "allowed": "y", "true": "y", "?1": "y", "1": "y",
    "n": "n", "no": "n", "deny": "n", "disallow": "n", "disallowed": "n", "false": "n", "?0": "n",
    "0": "n",
}  # fmt: skip
"""What people write for `y` and `n`, in lower case."""

_PART = re.compile(r"([A-Za-z][A-Za-z_-]*)\s*+[=:]\s*+[\"']?([A-Za-z]++|\?[01]|[01])[\"']?")
_ONLY_PARTS = re.compile(rf"(?:{_PART.pattern}[\s,;]*+){{1,20}}").fullmatch


class UsagePart(NamedTuple):
    """A label and a value, however they are written."""

    label: str
    """In lower case, with hyphens."""
    value: str
    """In lower case."""


def usage_lines(source: Source) -> Iterator[SourceLine]:
    """The Content-Usage lines of a file."""
    return (line for line in source.lines if line.kind == "content-usage")


def preference_at(line: SourceLine) -> int:
    """Where the preference of a line begins: behind the path and white space."""
    preference = usage_rule(line.value).preference
    return line.value_end - len(preference.encode("utf-8", "surrogateescape"))


def parts_of(preference: str) -> list[UsagePart]:
    """What a preference means to say, by a generous reading; empty if it is anything else.

    >>> parts_of("Train_AI = no; search:yes")
    [UsagePart(label='train-ai', value='no'), UsagePart(label='search', value='yes')]
    >>> parts_of("train-ai=(n)")
    []
    """
    if len(preference) > 500 or _ONLY_PARTS(preference) is None:
        return []
    return [
        UsagePart(label.lower().replace("_", "-"), value.lower())
        for label, value in _PART.findall(preference)
    ]


def corrected(preference: str) -> str:
    """The preference as the draft has it; empty if that is a guess.

    >>> corrected("Train-AI=no, search=y"), corrected("bots=n")
    ('train-ai=n, search=y', '')
    """
    parts = parts_of(preference)
    labels = [part.label for part in parts]
    is_clear = len(set(labels)) == len(labels) and all(
        part.label in KNOWN and part.value in MEANT for part in parts
    )
    return ", ".join(f"{label}={MEANT[value]}" for label, value in parts) if is_clear else ""
