"""TDMRep: the reservation of text and data mining, in a file, headers and HTML.

In the file the first match decides, not the longest. The closest source counts: a header supersedes
the file, and HTML supersedes both. A value that is neither 0 nor 1 is an error and counts as unset,
and what is unset resets nothing.
"""

import json
from typing import Any, NamedTuple

from manners._text import count, cut
from manners.robots.dialects import get
from manners.signals.claims import Citation, Confidence, Edition, SignalFindings
from manners.signals.material import MAX_FILE, Material, text_of
from manners.signals.robots_lines import UrlPath

EDITIONS = (Edition("CG-FINAL 2024-05-10", "2024-05-10"),)

MAX_RULES = 10_000
"""Rules of one file that are read."""
_MAX_POLICY = 1_000


class Reservation(NamedTuple):
    """What one source says, and the policy it names; None and empty where it says nothing."""

    is_reserved: bool | None = None
    citation: Citation | None = None
    policy: str = ""


def read(material: Material, findings: SignalFindings) -> None:
    """File, then headers, then HTML: the last that says something counts."""
    value, citation, policy = _in_file(material, findings)
    for closer in (_in_headers(material, findings), _in_html(material, findings)):
        if closer.is_reserved is not None:
            value, citation = closer.is_reserved, closer.citation
        policy = closer.policy or policy
    if citation is None:
        return
    if not value:
        findings.claim("tdm", "yes", citation)
        return
    conditions = (f"tdm-policy: {cut(policy, _MAX_POLICY)}",) if policy else ()
    findings.claim("tdm", "no", citation, conditions=conditions)
    # Training is mining.
    findings.claim("ai-train", "no", citation, implied=True, conditions=conditions)


def _in_file(material: Material, findings: SignalFindings) -> Reservation:
    """The first rule whose location matches."""
    if material.tdmrep is None:
        return Reservation()
    url = material.site_url("/.well-known/tdmrep.json")
    document = Citation("file", url, "", where="tdmrep.json")
    path = UrlPath(material.url, _RFC9309)
    for rule in _rules(material.tdmrep, findings, document):
        citation = document._replace(text=_shown(rule))
        location = rule.get("location") if isinstance(rule, dict) else None
        if not isinstance(location, str) or "tdm-reservation" not in rule:
            findings.problem("malformed", citation)
            continue
        if path.length(location) < 0:
            continue
        value = rule["tdm-reservation"]
        if isinstance(value, str) and value.strip() in ("0", "1"):
            findings.problem("repaired", citation)
            value, citation = int(value), citation._replace(confidence="low")
        if isinstance(value, bool) or value not in (0, 1):
            findings.problem("unknown-value", citation)
            return Reservation()
        policy = rule.get("tdm-policy")
        named = policy.strip() if isinstance(policy, str) else ""
        return Reservation(value == 1, citation._replace(path=location), named)
    return Reservation()


def _rules(body: bytes | str, findings: SignalFindings, document: Citation) -> list[Any]:
    if len(body) > MAX_FILE:
        findings.problem("too-large", document, count(len(body), "byte"))
        return []
    text = text_of(body)
    try:
        rules = json.loads(text)
    except (ValueError, RecursionError):
        rules = None
    if not isinstance(rules, list):  # "the brackets are mandatory"
        findings.problem("malformed", document, text[:_MAX_QUOTED])
        return []
    if len(rules) > MAX_RULES:
        findings.problem("too-large", document, count(len(rules), "rule"))
    return rules[:MAX_RULES]


def _in_headers(material: Material, findings: SignalFindings) -> Reservation:
    # A header that was sent twice may have been joined on its way.
    values = [
        part.strip() for value in material.header("tdm-reservation") for part in value.split(",")
    ]
    policies = [value.strip() for value in material.header("tdm-policy") if value.strip()]
    policy = policies[-1] if policies else ""
    citation = material.cite_header("tdm-reservation", ", ".join(values))
    return _agreed(values, findings, citation)._replace(policy=policy)


def _in_html(material: Material, findings: SignalFindings) -> Reservation:
    """The meta elements of the page; they are about the HTML, not about its images."""
    if material.is_image:
        return Reservation()
    # In the body, somebody else may have written it: that cannot grant anything.
    elements = [
        element
        for element in material.meta("tdm-reservation")
        if element.is_in_head or element.attributes["content"].strip() == "1"
    ]
    policies = [
        element.attributes["content"].strip()
        for element in material.meta("tdm-policy")
        if element.is_in_head
    ]
    policy = policies[-1] if policies else ""
    if not elements:
        return Reservation(policy=policy)
    confidence: Confidence = "high" if elements[0].is_in_head else "low"
    citation = material.cite_element(elements[0], "meta tdm-reservation", confidence)
    values = [element.attributes["content"].strip() for element in elements]
    return _agreed(values, findings, citation)._replace(policy=policy)


def _agreed(values: list[str], findings: SignalFindings, citation: Citation) -> Reservation:
    """The value that all agree on; any other than 0 and 1 is an error."""
    if not values:
        return Reservation()
    if len({*values}) == 1 and values[0] in ("0", "1"):
        return Reservation(values[0] == "1", citation)
    findings.problem("unknown-value", citation, ", ".join(values))
    return Reservation()


def _shown(rule: object) -> str:
    """A rule as it may be quoted: its three members, where they are no structures themselves."""
    if not isinstance(rule, dict):
        return f"a rule that is no object, but {type(rule).__name__}"
    members = ("location", "tdm-reservation", "tdm-policy")
    plain = {
        name: rule[name]
        for name in members
        if isinstance(rule.get(name), str | float) or rule.get(name) in (0, 1)
    }
    return cut(json.dumps(plain, ensure_ascii=False), _MAX_QUOTED)


_MAX_QUOTED = 500
_RFC9309 = get("rfc9309")
