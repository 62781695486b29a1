"""DisallowAITraining and AllowAITraining: lines of robots.txt, and words of robots meta.

Paths match as those of Allow and Disallow: the longest decides, and of equal ones the permission.
The draft has expired; its first names are still in use.
"""

from manners.signals.claims import Edition, SignalFindings, Value
from manners.signals.material import Material
from manners.signals.robots_lines import SignalLine

EDITIONS = (Edition("draft-canel-robots-ai-control-00", "2024-10"),)
_KEYS = ("disallowaitraining", "allowaitraining")


def read(material: Material, findings: SignalFindings) -> None:
    """Lines in robots.txt, then meta elements."""
    if material.lines is not None:
        for line in material.lines.outside(*_KEYS):
            findings.problem("outside-group", line.citation(material.robots_url))
        deciding = _deciding(material, material.lines.of(*_KEYS))
        if deciding is not None:
            citation = deciding.citation(material.robots_url, deciding.value, "low")
            findings.claim("ai-train", _answer(deciding.key), citation)
    for element in material.meta("robots", *material.tokens):
        words = {word.strip().lower() for word in element.attributes["content"].split(",")}
        # In the body, somebody else may have written it: that cannot grant anything.
        for word in sorted(words & ({*_KEYS} if element.is_in_head else {_KEYS[0]})):
            citation = material.cite_element(element, "meta robots", "low")
            findings.claim("ai-train", _answer(word), citation)


def _answer(key: str) -> Value:
    return "yes" if key == "allowaitraining" else "no"


def _deciding(material: Material, lines: list[SignalLine]) -> SignalLine | None:
    """The line with the longest matching path."""
    matching = [(material.path.length(line.value), line) for line in lines if line.value]
    matching = [(length, line) for length, line in matching if length >= 0]
    if not matching:
        return None
    return max(matching, key=lambda found: (found[0], found[1].key == "allowaitraining"))[1]
