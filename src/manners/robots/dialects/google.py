"""google/robotstxt, the parser and matcher Google published, bit for bit."""

from manners.robots import agents, patterns
from manners.robots.dialects.rfc9309 import DIALECT as RFC9309

DIALECT = RFC9309.but(
    name="google",
    summary="google/robotstxt, bit for bit",
    # StartsWithIgnoreCase in ParsedRobotsKey: "disallowed: /x" is a Disallow.
    keys="prefix",
    # The parser knows only the UTF-8 byte order mark.
    utf16=False,
    # The parser reads what it is given; the 500 KiB limit is the fetcher's.
    size_limit=False,
    # ExtractUserAgent: "Allowed characters in user-agent are [a-zA-Z_-]."
    agent_key=agents.google_token_key,
    # EqualsIgnoreCase with the agent passed, which callers cut to its token themselves.
    own_key=agents.verbatim_key,
    # IsValidUserAgentToObey: only a token can be obeyed, so the command passes one.
    token_from_header=True,
    # Matches() is true for an empty pattern, with priority 0: the line is reported, and allows.
    empty_rule="allows",
    # MaybeEscapePattern: escapes what is not ASCII, upper-cases %xx, decodes nothing.
    normalise_pattern=patterns.google_pattern,
    # "The url is not normalized (escaped, percent encoded) here" (AllowedByRobots).
    normalise_path=patterns.raw_path,
    # HandleAllow: "'index.htm' and 'index.html' are normalized to '/'".
    index_html=True,
    # Nothing in the matcher treats /robots.txt apart.
    robots_txt_allowed=False,
    # Google's documentation for site owners says how it retrieves.
    profile="google",
)
