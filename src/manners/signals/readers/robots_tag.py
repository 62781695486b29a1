"""Robots-Tag: a structured field with product tokens and the rules for each.

`*` is for everybody, and for those who are named, too: all refusals add up.
"""

from collections.abc import Iterator

from manners.signals.claims import Citation, Edition, SignalFindings
from manners.signals.material import Material
from manners.signals.robots_words import WrittenWord, refusals
from manners.signals.structured import FieldItem, read_list

EDITIONS = (Edition("draft-illyes-repext-03", "2026-04-18"),)
RULES = ("noindex", "nosnippet")
"""The rules that the draft defines."""


def read(material: Material, findings: SignalFindings) -> None:
    """The rules of every member that names the agent, or everybody."""
    values = material.header("robots-tag")
    if not values:
        return
    citation = material.cite_header("Robots-Tag", ", ".join(values))
    members = read_list(citation.text)
    if members is None:
        findings.problem("malformed", citation)
        return
    for member in members:
        name = member.text.lower()
        if member.kind != "token":
            findings.problem("unknown-value", citation, member.text)
        elif name == "*" or name in material.tokens:
            words = list(_rules(member, findings, citation))
            for refusal in refusals(words, material.tokens, is_image=material.is_image):
                findings.claim(refusal.purpose, "no", citation)


def _rules(
    member: FieldItem, findings: SignalFindings, citation: Citation
) -> Iterator[WrittenWord]:
    """The rules of one member; a parameter that is not simply there is none."""
    for rule, value in member.parameters.items():
        if rule not in RULES:
            findings.problem("unknown-word", citation, rule)
        elif (value.kind, value.text) == ("boolean", "1"):
            yield WrittenWord(rule)
        else:
            findings.problem("unknown-value", citation, f"{rule}={value.text}")
