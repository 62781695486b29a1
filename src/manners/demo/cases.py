"""The cases of the demo: what a crawl has to handle, and what is expected to come of it."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

from manners._text import duration
from manners.demo.site import (
    ALIKE,
    CRAWL_DELAY,
    LIBRARY,
    RETRY_AFTER,
    ROBOTS,
    SHOP,
    SLOW,
    DemoSite,
)

_NOT_PAGES = (
    *("/robots.txt", "/sitemap.xml", "/sitemap-archive.xml.gz"),
    *("localhost/robots.txt", "localhost/sitemap.xml"),
)
"""What is requested besides pages; the last one does not exist."""


class PageOutcome(NamedTuple):
    """What came of a page, as the store has it."""

    result: str
    """A status, or why the page is blocked or failed."""
    seconds: float = 0.0
    """The response time."""
    delay: float = 0.0
    """Seconds between requests to its host from then on."""


PageOutcomes = Mapping[str, PageOutcome]
"""By URL."""


class Measurement(NamedTuple):
    """A measured result, and whether it is as expected."""

    ok: bool
    text: str


class Case(NamedTuple):
    """One thing that a crawl has to handle."""

    name: str
    explanation: str
    at: str
    """The URL with which the explanation is printed; empty for what is only known at the end."""
    expected: tuple[tuple[str, str], ...]
    """URLs, and the result expected for each."""
    measure: Callable[[DemoSite, PageOutcomes], Measurement] | None = None


def _blocked_by(rule: str) -> str:
    lines = ROBOTS[SHOP].splitlines()
    return f"line {lines.index(rule) + 1}: {rule}"


def _crawl_delay(site: DemoSite, _: PageOutcomes) -> Measurement:
    times = [request.at for request in site.requests(LIBRARY)]
    shortest = min((after - before for before, after in pairwise(times)), default=0.0)
    # A busy server notices requests late.
    ok = len(times) > 1 and shortest >= 0.8 * CRAWL_DELAY
    return Measurement(ok, f"{len(times)} requests, at least {duration(shortest)} apart")


def _backed_off(site: DemoSite, _: PageOutcomes) -> Measurement:
    refused = [request.at for request in site.log if request.status == 429]
    if not refused:
        return Measurement(False, "never answered 429")
    # Requests in flight at that moment may still arrive.
    later = [request.at for request in site.requests(SHOP) if request.at > refused[-1] + 0.1]
    seconds = min(later, default=refused[-1]) - refused[-1]
    return Measurement(seconds >= 0.95 * RETRY_AFTER, f"no request for {duration(seconds)}")


def _slowed_down(site: DemoSite, outcomes: PageOutcomes) -> Measurement:
    outcome = outcomes.get(site.url("/slow"), PageOutcome("not found"))
    ok = outcome.seconds >= 0.95 * SLOW and outcome.delay > 0.5
    delay = f"from then on {duration(outcome.delay)} between requests"
    return Measurement(ok, f"answered after {duration(outcome.seconds)}; {delay}")


def _only_allowed(site: DemoSite, _: PageOutcomes) -> Measurement:
    """Whether everything that may be fetched was requested once, and nothing else."""
    expected = Counter(site.url(short) for short in _NOT_PAGES)
    for case in CASES:
        for short, result in case.expected:
            expected[site.url(short)] = 2 if short == "/busy" else int(result[:1].isdigit())
    seen = Counter(request.url for request in site.log)
    wrong = sorted(site.short(url) for url in {*expected, *seen} if expected[url] != seen[url])
    if wrong:
        return Measurement(False, f"requested too often, or not at all: {', '.join(wrong)}")
    return Measurement(True, f"{len(site.log)} requests, none for a blocked URL, and none too many")


_PRIVATE = _blocked_by("Disallow: /private/")

CASES: tuple[Case, ...] = (
    Case(
        "allowed",
        "No rule matches these, so they are fetched.",
        "/",
        (("/", "200"), ("/tea/green", "200"), ("/tea/black", "200")),
    ),
    Case(
        "disallowed",
        "The rule covers every path that begins with it. No request is sent.",
        "/private/plans",
        (("/private/plans", _PRIVATE),),
    ),
    Case(
        "longest rule",
        "An Allow rule matches, too. It is longer, so it wins.",
        "/private/open-day",
        (("/private/open-day", "200"),),
    ),
    Case(
        "wildcard",
        "`*` matches any characters, and the query is part of the match.",
        "/tea?sort=price",
        (("/tea?sort=price", _blocked_by("Disallow: /*?sort=")),),
    ),
    Case(
        "anchor",
        "`$` is the end of the path: the other URL continues after .pdf, and is fetched.",
        "/manual.pdf",
        (("/manual.pdf", _blocked_by("Disallow: /*.pdf$")), ("/manual.pdf.html", "200")),
    ),
    Case(
        "sitemap",
        "Nothing links to it. robots.txt names an index, the index a gzip file, and that lists it.",
        "/archive/first",
        (("/archive/first", "200"), ("/archive/second", "200"), ("/private/ledger", _PRIVATE)),
    ),
    Case(
        "redirect",
        "It redirects to a disallowed URL, so the redirect is not followed.",
        "/invitation",
        (("/invitation", "302 to /private/party"), ("/private/party", _PRIVATE)),
    ),
    Case(
        "crawl-delay",
        f"This host asks for {CRAWL_DELAY} s between requests, and gets it. The other goes on.",
        "localhost/",
        (
            ("localhost/", "200"),
            ("localhost/letters/one", "200"),
            ("localhost/letters/two", "200"),
        ),
        _crawl_delay,
    ),
    Case(
        "slow page",
        "It is slow. Other pages go on meanwhile, but the host is now asked less often.",
        "/slow",
        (("/slow", "200"),),
        _slowed_down,
    ),
    Case(
        "429",
        f"Too many requests: the crawl backs off for {RETRY_AFTER} s, then retries the page.",
        "/busy",
        (("/busy", "200 on attempt 2"),),
        _backed_off,
    ),
    Case(
        "trap: a loop",
        "Its link adds to its own path, again and again. The third time counts as a trap.",
        "/loop/loop/",
        (
            ("/loop/", "200"),
            ("/loop/loop/", "200"),
            ("/loop/loop/loop/", "trap: repeated-segment (trap_repeats = 3)"),
        ),
    ),
    Case(
        "trap: a calendar",
        f"There is always a next month. After {ALIKE} alike it is a trap (by default after 1,000).",
        f"/calendar/2026/{ALIKE}",
        (
            *((f"/calendar/2026/{n}", "200") for n in range(1, ALIKE + 1)),
            (f"/calendar/2026/{ALIKE + 1}", f"trap: too-many-alike (trap_alike = {ALIKE})"),
        ),
    ),
    Case(
        "nofollow: a link",
        "One of its links has rel=nofollow and is not followed.",
        "/",
        (("/cart", "nofollow (rel=nofollow)"),),
    ),
    Case(
        "nofollow: a page",
        "A meta element says nofollow: none of its links is followed.",
        "/members",
        (("/members", "200"), ("/members/list", "nofollow (meta robots)")),
    ),
    Case(
        "nofollow: a header",
        "The header X-Robots-Tag says nofollow: none of its links is followed.",
        "/feed",
        (("/feed", "200"), ("/feed/item", "nofollow (X-Robots-Tag)")),
    ),
    Case(
        "another site",
        "One of its links leads to another host: a crawl stays on the hosts it started with.",
        "/",
        (("https://elsewhere.example/", "other-host (elsewhere.example)"),),
    ),
    Case(
        "the server's log",
        "The server saw a request for everything allowed, and for nothing else.",
        "",
        (),
        _only_allowed,
    ),
)
