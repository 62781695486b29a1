"""The sitemaps that were requested."""

from manners._text import count, cut
from manners.report.data import Report, SitemapRead
from manners.report.html.elements import Child, untrusted
from manners.report.html.parts import cut_notice, nothing, small, table

ORDER = 90
TITLE = "Sitemaps"


def content(report: Report) -> Child:
    """The sitemaps, with the number of entries."""
    sitemaps = report.sitemaps
    if not sitemaps.rows:
        return nothing("None was requested.")
    rows = (
        ([untrusted(sitemap.url), small(_facts(sitemap))], f"{sitemap.entries:,}")
        for sitemap in sitemaps.rows
    )
    return [
        table("Sitemaps", ("Sitemap", "Entries>"), rows, hide=True),
        cut_notice(sitemaps, "sitemap", report),
    ]


def _facts(sitemap: SitemapRead) -> str:
    facts = [str(sitemap.status) if sitemap.status else sitemap.state]
    if sitemap.form and sitemap.form != "unknown":
        facts.append(cut(sitemap.form, 40))
    if sitemap.reason:
        facts.append(cut(sitemap.reason, 100))
    if sitemap.problems:
        facts.append(count(len(sitemap.problems), "problem"))
    return ", ".join(facts)
