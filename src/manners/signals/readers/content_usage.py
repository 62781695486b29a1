"""AIPREF Content-Usage: a header, and a rule of robots.txt.

Several header lines are one dictionary, in which the last value of a label counts. In robots.txt
only the rules with the longest matching path count, and those of the same length are statements of
their own (attach section 3.1). The label `search` overrides the others for search, and nothing else
does: each label is its own claim.
"""

import re
from typing import NamedTuple

from manners.signals.claims import Citation, Edition, Purpose, SignalFindings
from manners.signals.material import Material
from manners.signals.robots_lines import SignalLine, UrlPath
from manners.signals.structured import read_dictionary

EDITIONS = (Edition("attach-05, vocab-08", "2026-09-13"),)
"""draft-ietf-aipref-attach has the forms, draft-ietf-aipref-vocab the labels."""

LABELS: dict[str, dict[str, Purpose]] = {
    "attach-05, vocab-08": {"train-ai": "ai-train", "ai-use": "ai-input", "search": "search"},
}
"""The labels of each edition. Those of earlier drafts (bots, ai, genai, train-genai, …) are unknown
labels now and say nothing."""


class UsageRule(NamedTuple):
    """One Content-Usage line: a path pattern, empty for none, and the preference.

    >>> usage_rule("/lessons/ train-ai=y").path, usage_rule("*.pdf train-ai=n").path
    ('/lessons/', '')
    """

    path: str
    preference: str


def usage_rule(value: str) -> UsageRule:
    """The parts of a line's value: a path begins with `/` and ends at a space or tab."""
    if not value.startswith("/"):
        return UsageRule("", value)
    path, *preference = re.split(r"[ \t]+", value, maxsplit=1)
    return UsageRule(path, "".join(preference))


def read(material: Material, findings: SignalFindings) -> None:
    """Both places; any no is no (vocab section 5.1), which is how all claims are combined."""
    values = material.header("content-usage")
    if values:
        _read_dictionary(findings, material.cite_header("Content-Usage", ", ".join(values)))
    if material.lines is None or material.policy is None:
        return
    for line in material.lines.outside("content-usage"):
        findings.problem("outside-group", line.citation(material.robots_url))
    # "Preferences exist only for what may be crawled" (attach section 3.1).
    if material.policy.allowed(material.url):
        for line, rule in _longest(material.path, material.lines.of("content-usage")):
            citation = line.citation(material.robots_url, rule.path)
            _read_dictionary(findings, citation, rule.preference)


def _longest(path: UrlPath, lines: list[SignalLine]) -> list[tuple[SignalLine, UsageRule]]:
    """The lines whose path matches and is the longest; a line without a path is the shortest."""
    matching = []
    for line in lines:
        rule = usage_rule(line.value)
        length = path.length(rule.path) if rule.path else 0
        if length >= 0:
            matching.append((length, line, rule))
    most = max((length for length, _, _ in matching), default=0)
    return [(line, rule) for length, line, rule in matching if length == most]


def _read_dictionary(
    findings: SignalFindings, citation: Citation, preference: str | None = None
) -> None:
    """The labels of one dictionary; a malformed one says nothing, also where one key is bad."""
    members = read_dictionary(citation.text if preference is None else preference)
    if members is None:
        findings.problem("malformed", citation)
        return
    labels = LABELS[EDITIONS[-1].name]
    for label, item in members.items():
        if label not in labels:
            findings.problem("unknown-label", citation, label)
        elif item.kind == "token" and item.text in ("y", "n"):
            findings.claim(labels[label], "yes" if item.text == "y" else "no", citation)
        else:
            findings.problem("unknown-value", citation, f"{label}={item.text}")
