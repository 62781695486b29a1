"""What a fetched page says about its use: the sources for signals. Quiet."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from manners.charset import is_html
from manners.client.page import LazyVerdict, Page
from manners.robots.policy import Robots
from manners.signals.claims import Purpose, Usage
from manners.signals.material import Material, pairs
from manners.signals.merge import answers
from manners.signals.tokens import POLICY_TOKENS


def usage_of(page: Page) -> Mapping[Purpose, Usage]:
    """What a page may be used for, by what was fetched with it."""
    return MappingProxyType(answers(material_of(page)))


def material_of(page: Page) -> Material:
    """The sources of a page that was fetched; with `dataclasses.replace`, other files join them.

    >>> from manners.client.page import Hop
    >>> from manners.robots.verdict import Reason, Verdict
    >>> hop = Hop("https://example.com/", True, Verdict(True, Reason.NO_GROUP), 200)
    >>> page = Page("https://example.com/", (hop,), {"x-robots-tag": "noai\\nnoindex"})
    >>> material_of(page).headers
    (('x-robots-tag', 'noai'), ('x-robots-tag', 'noindex'))
    """
    last = page.hops[-1]
    agent: str | Sequence[str] = "*"
    robots: Robots | None = None
    if isinstance(last.lazy_verdict, LazyVerdict):
        agent, site = last.lazy_verdict.agent, last.lazy_verdict.site
        robots = None if site is None else site.robots_for_usage
    return Material(
        url=last.url,
        agent=agent,
        robots_txt=robots,
        # Lines of one header are joined by commas: one list (RFC 9110 section 5.3), as these
        # standards read them. X-Robots-Tag is not one, and its lines stay apart.
        headers=pairs(page.headers),
        html=page.body if is_html(page.body, page.headers.get("content-type", "")) else None,
        licences={},
        now=datetime.fromtimestamp(last.started, UTC) if last.started else None,
        policy_tokens=POLICY_TOKENS,
    )
