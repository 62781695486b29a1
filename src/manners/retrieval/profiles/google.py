"""Google's handling, as its documentation for site owners describes it."""

from manners.retrieval.profiles import DAY, HOUR
from manners.retrieval.profiles.rfc9309 import PROFILE as RFC9309

PROFILE = RFC9309.but(
    name="google",
    summary="as Google does: unreachable is disallowed for 12 hours, then the last copy counts",
    # "Google follows at least five redirect hops".
    max_redirects=5,
    # "Google enforces a robots.txt file size limit of 500 kibibytes".
    max_parsed=512_000,
    # "For the first 12 hours, Google stops crawling"; then the last good version is used.
    disallow_first=12 * HOUR,
    # "Google generally caches the contents of robots.txt file for up to 24 hours".
    heeds_headers=False,
    fresh=DAY,
)
