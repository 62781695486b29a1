"""Content Signals (Cloudflare): a line of robots.txt, a header, and a meta element seen in use.

A list of `key=value`, no structured field: one bad member spoils no other. A key that is absent is
neither granted nor refused. Nothing says what several lines or repeated keys mean, so all count,
and any no is no. `use` is a ceiling: it refuses what is above and grants nothing.
"""

from manners.signals.claims import Citation, Edition, Purpose, SignalFindings
from manners.signals.material import Material

EDITIONS = (Edition("2026-07-01", "2026-08-31"),)
"""The policy with the key `use`, and when Cloudflare's documentation last changed."""

KEYS: dict[str, Purpose] = {"search": "search", "ai-input": "ai-input", "ai-train": "ai-train"}
CEILINGS: dict[str, tuple[Purpose, ...]] = {
    "immediate": ("ai-train", "search", "archive", "ai-index"),
    "reference": ("ai-train",),
    "full": (),
}
"""What each level of `use` refuses."""


def read(material: Material, findings: SignalFindings) -> None:
    """All places, each on its own."""
    if material.lines is not None:
        robots_url = material.robots_url
        for line in material.lines.of("content-signal"):
            _read_list(line.value, findings, line.citation(robots_url))
        # Not specified, and seen in use: the owner speaks to everybody.
        for line in material.lines.outside("content-signal"):
            citation = line.citation(robots_url, confidence="low")
            findings.problem("outside-group", citation)
            _read_list(line.value, findings, citation)
    for value in material.header("content-signal"):
        _read_list(value, findings, material.cite_header("Content-Signal", value))
    for element in material.meta("content-signal"):
        citation = material.cite_element(element, "meta content-signal", "low")
        _read_list(element.attributes["content"], findings, citation, element.is_in_head)


def _read_list(
    value: str, findings: SignalFindings, citation: Citation, may_grant: bool = True
) -> None:
    """The members of one list. In the body of a page, somebody else may have written it: that
    grants nothing."""
    for member in value.split(","):
        key, equals, word = (part.strip(" \t").lower() for part in member.partition("="))
        if not (key or equals):
            continue
        if key == "use" and word in CEILINGS:
            for purpose in CEILINGS[word]:
                findings.claim(purpose, "no", citation, implied=True)
        elif key in KEYS and word == "no":
            findings.claim(KEYS[key], "no", citation)
        elif key in KEYS and word == "yes":
            if may_grant:
                findings.claim(KEYS[key], "yes", citation)
        else:
            code = "unknown-value" if key in KEYS or key == "use" else "unknown-label"
            findings.problem(code, citation, member.strip())
