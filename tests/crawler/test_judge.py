"""The judge: what becomes of a found URL, without a site."""

import pytest

from manners import Settings, parse
from manners.crawler.frontier.values import FoundUrl
from manners.crawler.judge import OPEN, Judge, Ruling, by_verdict
from manners.crawler.traps import form_of

SITE = "https://example.com"


def judge(hosts: tuple[str, ...] | None = ("example.com",), **changes: object) -> Judge:
    return Judge(Settings(**changes), hosts)  # type: ignore[arg-type]


def test_a_url_has_one_form() -> None:
    """Tracking parameters are dropped from pages where that is set, and what is no URL is none."""
    assert judge().url("HTTPS://Example.com:443/a/../b#c") == f"{SITE}/b"
    tracked = f"{SITE}/?utm_source=x&id=1"
    assert judge().url(tracked) == tracked
    assert judge(drop_tracking=True).url(tracked) == f"{SITE}/?id=1"
    assert judge(drop_tracking=True).url(tracked, "sitemap") == tracked
    assert judge().url("mailto:x") is None


def test_links() -> None:
    """nofollow comes first, then whose host it is; without hosts, every host belongs to it."""
    assert judge().by_link(f"{SITE}/a") == OPEN
    assert judge().by_link("https://other.example/") == ("other-host", "other.example", 0)
    assert judge().by_link("https://other.example/", "meta robots") == (
        "nofollow",
        "meta robots",
        0,
    )
    assert judge(None).by_link("https://other.example/") == OPEN


def test_a_host_that_joins_belongs_to_it() -> None:
    """Once; where all do, none joins."""
    one = judge()
    assert one.join("www.example.com")
    assert not one.join("www.example.com")
    assert one.by_link("https://www.example.com/") == OPEN
    assert not judge(None).join("www.example.com")


def test_sitemaps_may_speak_for_hosts_that_name_them() -> None:
    """sitemaps.org, "Sitemaps & Cross Submits"."""
    sitemap, other = f"{SITE}/s.xml", "https://other.example/"
    assert judge().by_sitemap(f"{SITE}/a", (), (sitemap,)) == OPEN
    assert judge().by_sitemap(other, (), (sitemap,)) == ("not-named", "other.example", 0)
    assert judge().by_sitemap(other, (sitemap,), (f"{SITE}/i.xml", sitemap)) == OPEN


def test_fifty_origins_are_asked() -> None:
    """Each once; a known one may be asked again."""
    one = judge()
    rulings = [one.by_origin(f"https://{number}.example/") for number in range(51)]
    assert rulings == [OPEN] * 50 + [Ruling("too-many-origins", "50.example")]
    assert one.by_origin("https://49.example/other") == OPEN


@pytest.mark.parametrize(
    ("source", "kind", "reason", "trap"),
    [
        ("link", "page", "", True),
        ("link", "page", "nofollow", True),
        ("sitemap", "page", "", True),
        ("redirect", "page", "", True),
        ("link", "page", "other-host", False),
        ("start", "page", "", False),
        ("sitemap", "sitemap", "", False),
    ],
)
def test_who_may_be_a_trap(source: str, kind: str, reason: str, trap: bool) -> None:
    """Not what a crawl starts with, no sitemap, and nothing of another host."""
    found = FoundUrl(f"{SITE}/a/b/a/b/a", source, "", 1, kind=kind)
    expected = ("trap: repeated-segment", "trap_repeats = 3") if trap else ("", "")
    assert judge().by_form(found, reason) == (*expected, None)


def test_only_links_that_may_be_followed_are_counted() -> None:
    """What a site lists, and what nobody follows, is no trap by its number."""
    one = judge(trap_alike=2)
    for number in range(9):
        for source, reason in (("sitemap", ""), ("link", "nofollow"), ("link", "depth")):
            found = FoundUrl(f"{SITE}/{number}", source, "", 1)
            assert one.by_form(found, reason) == ("", "", None)
    links = [FoundUrl(f"{SITE}/{number}", "link", "", 1) for number in range(2)]
    forms = {one.by_form(found, "") for found in links}
    assert forms == {("", "", form_of(f"{SITE}/7"))}
    assert one.by_form(FoundUrl(f"{SITE}/about", "link", "", 1), "") == ("", "", None)
    assert one.alike == (2, "trap: too-many-alike", "trap_alike = 2")


def test_verdicts() -> None:
    """The line of robots.txt as it stands there, not without end."""
    robots = parse("User-agent: *\nDisallow: /x  # mine\nDisallow: /" + "y" * 900)
    assert by_verdict(robots.check(f"{SITE}/a", agent="b")) == OPEN
    assert by_verdict(robots.check(f"{SITE}/x", agent="b")) == (
        *("rule-matched", "Disallow: /x  # mine", 2),
    )
    assert len(by_verdict(robots.check(f"{SITE}/{'y' * 900}", agent="b")).rule) <= 501
