"""What cannot be retrieved is allowed: for scanners and audits with a mandate."""

from manners.retrieval.profiles import MINUTE
from manners.retrieval.profiles.rfc9309 import PROFILE as RFC9309

PROFILE = RFC9309.but(
    name="open",
    summary="what cannot be retrieved is allowed, with low confidence",
    # At most 3 redirects, within one host name; the scheme and the port may change.
    max_redirects=3,
    redirects_leave_host=False,
    # 512 KB; a longer file allows everything, with a warning.
    max_read=524_288,
    max_parsed=524_288,
    too_large="allow",
    # Every failure allows everything; no copy is needed for that.
    unreachable="allow",
    stale_for=0.0,
    # 30 minutes for a file, 10 for everything else.
    heeds_headers=False,
    fresh=30 * MINUTE,
    fresh_unavailable=10 * MINUTE,
    retry=10 * MINUTE,
    retry_most=10 * MINUTE,
)
