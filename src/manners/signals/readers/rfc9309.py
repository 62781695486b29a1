"""robots.txt itself: whether a page may be fetched. No usage signal changes that."""

from manners.signals.claims import Citation, Edition, SignalFindings
from manners.signals.material import Material

EDITIONS = (Edition("RFC 9309", "2022-09"),)


def read(material: Material, findings: SignalFindings) -> None:
    """The verdict of the engine; nothing where robots.txt is not known."""
    if material.policy is None:
        return
    verdict = material.policy.check(material.url)
    rule = verdict.rule
    citation = Citation("robots.txt", material.robots_url, "", where=verdict.reason.value)
    if rule is not None:
        citation = citation._replace(
            text=rule.text, line=rule.line, where=verdict.agent, path=rule.pattern
        )
    findings.claim("crawl", "yes" if verdict.allowed else "no", citation, implied=rule is None)
