"""trust.txt (JournalList): `datatrainingallowed=yes` or `no`, for the document site."""

from manners.signals.claims import Citation, Edition, SignalFindings
from manners.signals.material import Material, text_of

EDITIONS = (Edition("JournalList trust.txt", "2026-11-16"),)


def read(material: Material, findings: SignalFindings) -> None:
    """Lines of `name=value`; `#` begins a comment. Of several values, any no is no."""
    if material.trust_txt is None:
        return
    text = text_of(material.trust_txt)
    document = Citation("file", material.site_url("/trust.txt"), text[:100], where="trust.txt")
    if text.lstrip()[:1] == "<":
        findings.problem("wrong-type", document)
        return
    for number, line in enumerate(text.splitlines(), 1):
        name, _, value = line.partition("#")[0].partition("=")
        if name.strip().lower() != "datatrainingallowed":
            continue
        word = value.strip().lower()
        citation = document._replace(text=line, line=number)
        if word in ("yes", "no"):
            findings.claim("ai-train", "yes" if word == "yes" else "no", citation)
        else:
            findings.problem("unknown-value", citation)
