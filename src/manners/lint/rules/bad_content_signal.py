"""A803: a Content-Signal that says nothing."""

import re
from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._agent_names import enumerated
from manners.lint.rules._content_signals import VALUES, Signal, signals_of
from manners.lint.source import Source, SourceLine, quoted

# What people write for the keys, without hyphens and underscores.
_MEANT = {
    "aitrain": "ai-train",
    "aitraining": "ai-train",
    "train": "ai-train",
    "training": "ai-train",
    "trainai": "ai-train",
    "aiinput": "ai-input",
    "aiuse": "ai-input",
    "input": "ai-input",
    "aisearch": "search",
}
_SEVERAL = re.compile(r"[;|\s][\w-]++\s*+=").search


class BadContentSignal(LintRule):
    """A Content-Signal line with a part that is no signal.

    ## Why it matters
    A signal is `search`, `ai-input` or `ai-train` with `yes` or `no`, or `use` with `immediate`,
    `reference` or `full`, and there are commas between signals. Anything else neither grants nor
    reserves anything: a site that writes `ai-train=disallow` has said nothing about training. A key
    that is unknown may be a newer one; it is reported as information only.

    The real files that were measured are older than Content-Signal: 2 of 6,000 have one.

    ## Example
    ```robots
    User-agent: *
    Content-Signal: search=yes, ai-train=disallow
    Disallow: /search
    ```
    ```robots
    User-agent: *
    Content-Signal: ai_train=no
    Disallow: /search
    ```
    ```robots
    User-agent: *
    Content-Signal: search=yes; ai-train=no
    Disallow: /search
    ```

    ## Better
    ```robots
    User-agent: *
    Content-Signal: search=yes, ai-train=no, use=reference
    Disallow: /search
    ```
    """

    code = "A803"

    def check(self, source: Source) -> Iterator[Finding]:
        """Content-Signal lines with a part that is wrong: the first, and the worst."""
        for line in source.lines:
            if line.kind != "content-signal":
                continue
            signals = signals_of(line)
            if not signals:
                yield self.finding(line, "a Content-Signal without a signal says nothing")
            bad = [signal for signal in signals if not signal.is_valid]
            if bad:
                # A line is reported once: a mistake rather than a key that may be new.
                yield self._report(line, min(bad, key=_is_unknown))

    def _report(self, line: SourceLine, signal: Signal) -> Finding:
        severity = Severity.INFO if _is_unknown(signal) else Severity.WARNING
        return self.finding(
            line, _message(signal), at=signal.at, until=signal.until, severity=severity
        )


def _is_unknown(signal: Signal) -> bool:
    """Whether a key is unknown, and nothing better was evidently meant."""
    return signal.key not in VALUES and _meant(signal.key) is None and signal.value != ""


def _meant(key: str) -> str | None:
    return _MEANT.get(key.replace("-", "").replace("_", "").replace(" ", ""))


def _message(signal: Signal) -> str:
    if _SEVERAL(signal.value):
        return f"signals have commas between them: {quoted(signal.value)} is no value"
    if signal.key in VALUES:
        values = enumerated([f"`{value}`" for value in VALUES[signal.key]])
        value = quoted(signal.value) if signal.value else "nothing"
        return f"`{signal.key}` is {values.replace(' and ', ' or ')}: {value} says nothing"
    if not signal.value:
        return f"a signal is a key and a value like `ai-train=no`: {quoted(signal.key)} is none"
    meant = _meant(signal.key)
    if meant is not None:
        return f"no signal is called {quoted(signal.key)}; perhaps `{meant}` is meant"
    return f"{quoted(signal.key)} is none of the known signals: {enumerated(list(VALUES))}"


RULE = BadContentSignal()
