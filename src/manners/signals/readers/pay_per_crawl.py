"""Prices and tokens that a reply asks for: conditions of the request, no statement about a use."""

from manners._text import cut
from manners.signals.claims import Edition, SignalFindings
from manners.signals.material import Material

EDITIONS = (Edition("Cloudflare Pay Per Crawl; RSL 1.0 CAP", "2026-11-16"),)
_MAX_PRICE = 100


def read(material: Material, findings: SignalFindings) -> None:
    """`crawler-price`, and `WWW-Authenticate: License`."""
    for value in material.header("crawler-price"):
        findings.ask("crawl", [f"payment: crawl, {cut(value, _MAX_PRICE)}"])
    for value in material.header("www-authenticate"):
        if value.split(maxsplit=1)[:1] and value.split(maxsplit=1)[0].lower() == "license":
            findings.ask("crawl", ["token of an RSL licence"])
