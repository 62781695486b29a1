"""X-Robots-Tag and robots meta: refusals only, and those of all places add up.

A tag that names the agent cannot lift what another says to everybody. In a header, a name holds for
the words behind it; a meta element is for everybody (`robots`) or for the agent it is named after.
"""

from typing import NamedTuple

from manners.signals import robots_words
from manners.signals.claims import Citation, SignalFindings
from manners.signals.material import Material
from manners.signals.robots_words import WrittenWord, is_known, listed, refusals, tagged

EDITIONS = robots_words.EDITIONS


class RobotsTag(NamedTuple):
    """The words of one header or element that are for the agent."""

    citation: Citation
    words: list[WrittenWord]


def read(material: Material, findings: SignalFindings) -> None:
    """The words for the agent, from headers and from meta elements anywhere in the page."""
    tags = [
        RobotsTag(material.cite_header("X-Robots-Tag", value), tagged(value, material.tokens))
        for value in material.header("x-robots-tag")
    ]
    for element in material.meta("robots", *material.tokens):
        where = f"meta {element.attributes['name'].strip().lower()}"
        words = listed(element.attributes["content"])
        tags.append(RobotsTag(material.cite_element(element, where), words))
    present = {word.word for tag in tags for word in tag.words}
    for tag in tags:
        _report(tag, material, findings)
        found = refusals(
            tag.words,
            material.tokens,
            is_image=material.is_image,
            also=present,
            now=material.now,
        )
        for refusal in found:
            citation = tag.citation._replace(confidence=refusal.confidence)
            findings.claim(refusal.purpose, "no", citation)


def _report(tag: RobotsTag, material: Material, findings: SignalFindings) -> None:
    """The words without a meaning, and dates that nobody can compare."""
    for written in tag.words:
        shown = f"{written.word}: {written.value}" if written.value else written.word
        if not is_known(written):
            findings.problem("unknown-word", tag.citation, shown)
        elif written.word == "unavailable_after" and material.now is None:
            findings.problem("no-time", tag.citation, shown)
        elif written.is_repaired:
            findings.problem("repaired", tag.citation)
