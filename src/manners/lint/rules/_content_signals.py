"""What the rules about Content-Signal share: its parts.

`Content-Signal: key=value, key=value` in a group (contentsignals.org): whether content may be
collected for search, as input of models, or to train them; and a ceiling for all uses.
"""

from typing import NamedTuple

from manners.lint.source import SourceLine

VALUES = {
    "search": ("yes", "no"),
    "ai-input": ("yes", "no"),
    "ai-train": ("yes", "no"),
    "use": ("immediate", "reference", "full"),
}
"""The keys, with the values that each may have. `use` was added on 1 July 2026."""


class Signal(NamedTuple):
    """One `key=value` of a line, in lower case; nothing says that case matters."""

    key: str
    value: str
    """Empty if there is none."""
    at: int
    """Where it begins in the line."""
    until: int

    @property
    def is_valid(self) -> bool:
        """Whether key and value are known."""
        return self.value in VALUES.get(self.key, ())


def signals_of(line: SourceLine) -> list[Signal]:
    """The signals of a Content-Signal line; empty parts between commas are none."""
    found: list[Signal] = []
    at = line.value_at
    for part in line.raw[at : line.value_end].split(b","):
        text = part.strip()
        if text:
            start = at + len(part) - len(part.lstrip())
            key, _, value = text.decode("utf-8", "replace").partition("=")
            end = start + len(text)
            found.append(Signal(key.strip().lower(), value.strip().lower(), start, end))
        at += len(part) + 1
    return found
