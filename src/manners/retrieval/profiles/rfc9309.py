"""RFC 9309, section 2.3 and 2.4: the default."""

from manners.retrieval.profiles import DAY, MINUTE, Profile

PROFILE = Profile(
    name="rfc9309",
    summary="as RFC 9309 says: unreachable is disallowed, or the last copy counts",
    # 2.3.1.2: "crawlers SHOULD follow at least five consecutive redirects, even across
    # authorities".
    max_redirects=5,
    redirects_leave_host=True,
    connect=2.0,
    read=3.0,
    total=10.0,
    # 2.5: "The parsing limit MUST be at least 500 kibibytes".
    max_read=1_048_576,
    max_parsed=512_000,
    too_large="cut",
    # 2.3.1.4: "the crawler MUST assume complete disallow"; a copy may be used meanwhile, and
    # "after a reasonably long period of time (for example, 30 days)" no longer.
    unreachable="disallow",
    stale_for=30 * DAY,
    disallow_first=0.0,
    # 2.4: "Crawlers MAY use standard cache control"; "SHOULD NOT use the cached version for more
    # than 24 hours".
    heeds_headers=True,
    fresh=DAY,
    fresh_least=5 * MINUTE,
    fresh_most=DAY,
    fresh_unavailable=DAY,
    retry=5 * MINUTE,
    retry_most=DAY,
)
