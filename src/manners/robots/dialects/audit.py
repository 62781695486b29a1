"""A site audit's reading: agents compared exactly, then in part, then `*`."""

from manners.robots import agents
from manners.robots.dialects.rfc9309 import DIALECT as RFC9309

DIALECT = RFC9309.but(
    name="audit",
    summary="agent names exactly, then in part",
    # "Exact match: User-agent exactly matches configured USER_AGENT", which has a version.
    agent_key=agents.whole_key,
    own_key=agents.whole_key,
    # "Partial match: User-agent contains rule or rule contains user-agent".
    select=agents.exact_then_partial,
    # "If robots.txt check fails: Defaults to allowed (fail open)".
    profile="open",
)
