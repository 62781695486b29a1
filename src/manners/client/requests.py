"""The next request of a chain: for a page, or for a file about pages."""

from manners.client.redirects import RedirectChain
from manners.net.messages import Get
from manners.retrieval.profiles import Profile
from manners.settings import Settings


def next_request(
    settings: Settings,
    method: str,
    chain: RedirectChain,
    *,
    max_bytes: int | None = None,
    body: bytes = b"",
    limits: Profile | None = None,
) -> Get:
    """The request for the next URL of a chain; with limits, for a file that is no page."""
    if limits is not None:
        return _file_request(chain, limits)
    return Get(
        chain.target.url,
        chain.headers,
        max_bytes or settings.page_max_bytes,
        settings.page_connect_timeout,
        settings.page_read_timeout,
        settings.page_total_timeout,
        method,
        True,
        # Nobody knows whether one that was lost on a kept connection was carried out.
        chain.needs_fresh_connection or method not in ("GET", "HEAD"),
        body,
        all_encodings=True,
    )


def _file_request(chain: RedirectChain, limits: Profile) -> Get:
    """The request for a file, in the time and size that a robots.txt may have."""
    return Get(
        chain.target.url,
        chain.headers,
        limits.max_read,
        limits.connect,
        limits.read,
        limits.total,
        fresh=chain.needs_fresh_connection,
    )
