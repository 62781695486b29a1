"""The ledger of a discovery: what is counted, overruled and kept, without a site."""

from manners.crawler.frontier.values import FoundUrl
from manners.crawler.ledger import Ledger

SITE = "https://example.com"


def found(path: str, source: str = "link", priority: float = 0.5, reason: str = "") -> FoundUrl:
    return FoundUrl(SITE + path, source, "", 1, priority, reason=reason)


def settle(ledger: Ledger, item: FoundUrl) -> None:
    standing = ledger.name(item.url, item.source)
    assert standing is not None
    ledger.settle(item, standing.key)


def test_a_url_counts_for_each_source_that_names_it() -> None:
    """Once each; as allowed, too, whichever comes first."""
    ledger = Ledger(10, 10, lambda _: None)
    settle(ledger, found("/a", "sitemap"))
    for source in ("link", "link", "start"):
        standing = ledger.name(f"{SITE}/a", source)
        assert standing is not None
        assert (standing.is_new, standing.is_open, standing.rank) == (False, True, -1)
    assert dict(ledger.found) == dict(ledger.allowed) == {"sitemap": 1, "link": 1, "start": 1}
    assert [item.url for item in ledger.kept] == [f"{SITE}/a"]


def test_a_better_way_overrules_a_reason() -> None:
    """The earlier one is no longer counted; a verdict stays."""
    kept: list[FoundUrl] = []
    ledger = Ledger(10, 10, kept.append)
    settle(ledger, found("/a", reason="nofollow"))
    standing = ledger.name(f"{SITE}/a", "sitemap")
    assert standing is not None
    assert standing.rank > 0
    assert ledger.filtered == {("nofollow", "", 0): 1}
    ledger.settle(found("/a", "sitemap"), standing.key)
    settle(ledger, found("/b", reason="rule-matched"))
    standing = ledger.name(f"{SITE}/b", "link")
    assert standing is not None
    assert (standing.is_open, standing.rank) == (False, -1)
    assert dict(ledger.filtered) == {("rule-matched", "", 0): 1}
    assert dict(ledger.allowed) == {"link": 1, "sitemap": 1}
    ledger.close()
    assert [item.reason for item in kept] == ["nofollow", "rule-matched", ""]


def test_limits() -> None:
    """So many are looked at, and the best so many are kept."""
    kept: list[FoundUrl] = []
    ledger = Ledger(4, 2, kept.append)
    for path, priority in (("/a", 0.5), ("/low", 0.1), ("/b", 0.5), ("/high", 0.9)):
        settle(ledger, found(path, priority=priority))
    assert ledger.name(f"{SITE}/more", "link") is None
    assert [item.url.removeprefix(SITE) for item in ledger.kept] == ["/high", "/a"]
    assert [(item.url.removeprefix(SITE), item.reason, item.rule) for item in kept] == [
        ("/low", "over-cap", "max_urls = 2"),
        ("/b", "over-cap", "max_urls = 2"),
    ]
