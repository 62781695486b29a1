"""ai.txt as Spawning has it: the grammar of robots.txt, for training.

At least five formats share the name, and servers answer with pages of their own. It is read only
where it looks like this one: a User-agent line, no `[section]`, no markup.
"""

import re

from manners.robots.policy import parse
from manners.signals.claims import Citation, Edition, SignalFindings
from manners.signals.material import Material, text_of

EDITIONS = (Edition("Spawning 2023", "2023-05"),)

_AGENT = re.compile(r"^[ \t]*user-agent[ \t]*:", re.IGNORECASE | re.MULTILINE).search
_SECTION = re.compile(r"^[ \t]*\[[^\]\n]*\]", re.MULTILINE).search


def read(material: Material, findings: SignalFindings) -> None:
    """The rule that matches; a path without one is neither refused nor granted."""
    if material.ai_txt is None:
        return
    text = text_of(material.ai_txt)
    document = Citation("file", material.site_url("/ai.txt"), text[:100], where="ai.txt")
    if text.lstrip()[:1] == "<" or _SECTION(text) or not _AGENT(text):
        findings.problem("wrong-type", document)
        return
    rule = parse(text).check(material.url, agent=material.agent).rule
    if rule is not None:
        citation = document._replace(
            text=rule.text, line=rule.line, path=rule.pattern, confidence="low"
        )
        findings.claim("ai-train", "yes" if rule.allow else "no", citation)
