"""Which sources name each URL, counted without a site."""

from manners.crawler.frontier.values import key_of
from manners.crawler.sources import Sources

SITE = "https://example.com"


def test_a_url_counts_for_each_source_that_names_it() -> None:
    """Once each, whichever comes first."""
    sources = Sources(10)
    for source in ("sitemap", "link", "link", "start"):
        assert sources.name(f"{SITE}/a", source)
    assert sources.name(f"{SITE}/b", "link")
    assert sources.found == {"sitemap": 1, "link": 2, "start": 1}
    assert sources.count([key_of(f"{SITE}/a")]) == {"sitemap": 1, "link": 1, "start": 1}
    assert sources.count(map(key_of, (f"{SITE}/a", f"{SITE}/b"))) == sources.found
    assert sources.count([key_of(f"{SITE}/c")]) == {}


def test_known_urls_count_beyond_the_limit() -> None:
    """A new one does not."""
    sources = Sources(1)
    assert sources.name(f"{SITE}/a", "link")
    assert not sources.name(f"{SITE}/b", "link")
    assert sources.name(f"{SITE}/a", "sitemap")
    assert sources.found == {"link": 1, "sitemap": 1}
