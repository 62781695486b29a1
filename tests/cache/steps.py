"""A site's entry, step by step: each step is a reply at a time, and asks as the cache asks."""

from manners.cache.entry import Entry, next_entry
from manners.net.messages import Response, Unreachable
from manners.retrieval import profiles
from tests.retrieval.scripted import HOST, Played, Reply

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
START = 1_800_000_000.0
BODY = b"User-agent: *\nDisallow: /a\n"
FILE = Response(200, {"etag": '"1"', "content-type": "text/plain; charset=utf-8"}, BODY)
SAME = Response(304, {"etag": '"1"'})
GONE = Response(404)
DOWN = Response(503)
TIMEOUT = Unreachable("timeout")

Step = tuple[float, Reply | list[Reply]]


def after(*steps: Step, profile: str = "rfc9309", before: Entry | None = None) -> Entry:
    """The entry after these replies, each at its time, counted from the start."""
    entry, chosen = before, profiles.get(profile)
    for at, reply in steps:
        replies = reply if isinstance(reply, list) else [reply]
        played = Played(replies, profile, entry.copy if entry else None)
        entry = next_entry(entry, HOST, played.outcome, played.body, chosen, START + at)
    assert entry is not None
    return entry
