"""Results that tests make up: what a site answered, as a crawl hands it to its store."""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from manners.client.page import Hop
from manners.crawler.frontier.values import FetchResult, FoundUrl, LeasedUrl
from manners.crawler.links import Link
from manners.crawler.page import CrawledPage
from manners.robots.verdict import Reason, Verdict

VERDICT = Verdict(True, Reason.NO_RULE_MATCHED)


class Answer(NamedTuple):
    """What a site answered."""

    status: int | None = 200
    cause: str = ""
    type: str = "text/html"
    body: bytes = b"hello"
    title: str = "A title"
    links: tuple[Link, ...] = (Link("https://example.com/1"), Link("https://example.com/2"))
    location: str = ""
    started: float = 1.5
    waited: float = 0.25
    seconds: float = 0.5
    delay: float = 0.3


def result(
    url: LeasedUrl,
    state: str = "done",
    reason: str = "",
    rule: str = "",
    line: int = 0,
    *,
    evidence: int | None = None,
    answer: Answer | None = None,
    found: Sequence[FoundUrl] = (),
    targets: Sequence[str] = (),
    joined_host: str = "",
    pace: tuple[float, float] | None = None,
    **more: Any,
) -> FetchResult:
    """A result; without an answer the URL was not allowed to be fetched."""
    given = answer or Answer(None, started=0.0, waited=0.0, seconds=0.0)
    hop = Hop(
        *(url.url, answer is not None, VERDICT, given.status, given.cause),
        *(given.started, given.waited, given.seconds, evidence),
    )
    page = CrawledPage(
        url.url,
        (hop,),
        {"content-type": given.type},
        given.body,
        kind=url.kind,
        depth=url.depth,
        found_in=url.found_in,
        state=state,
        reason=reason,
        rule=rule,
        line=line,
        title=given.title,
        links=given.links,
        location=given.location,
        sha256=hashlib.sha256(given.body).hexdigest(),
        delay=given.delay,
        **more,
    )
    return FetchResult(url, page, found, targets, joined_host, pace)
