"""RFC 9309, the Robots Exclusion Protocol: the default, and what the other dialects differ from.

Where the RFC is silent, Google's parser decides; where both are, the reading that respects what
the owner evidently meant.
"""

from manners.robots import agents, patterns
from manners.robots.dialects import Dialect

DIALECT = Dialect(
    name="rfc9309",
    summary="RFC 9309; the default",
    # Not in the RFC: Google's accepted misspellings. The owner's intention is plain.
    keys="misspelt",
    # Section 2.2.2, "The Allow and Disallow Lines".
    rules=("allow", "disallow"),
    # Not in the RFC: as Google reads it.
    colon_optional=True,
    # Section 2.3 asks for UTF-8; a file that says by its first bytes that it is not is read.
    utf16=True,
    # Section 2.5: "Crawlers SHOULD impose a parsing limit", at least 500 kibibytes.
    size_limit=True,
    # Section 2.1: a group is one or more User-agent lines followed by rules; blank lines are
    # nothing.
    record_end="rule",
    # Section 2.1: rules are part of a group.
    rules_without_agent="nobody",
    # Section 2.2.1. Its grammar has no digits in a product token; ignoring a name with digits
    # would open what the owner closed.
    agent_key=agents.token_key,
    own_key=agents.header_key,
    # Section 2.2.1: matching groups are combined, `*` is for the others.
    select=agents.by_name,
    # Section 2.2.1: a group that names the crawler is its group, empty or not.
    empty_section_falls_back=False,
    token_from_header=False,
    # Section 2.2.2 grammar: an empty pattern is legal; it matches no path.
    empty_rule="no-rule",
    # Section 2.2.2, percent-encoding; section 2.2.3, special characters.
    normalise_pattern=patterns.rfc_pattern,
    normalise_path=patterns.rfc_path,
    # Section 2.2.3.
    wildcards=True,
    # Section 2.2.2: "The most specific match found MUST be used. The most specific match is the
    # match that has the most octets", and Allow on a tie.
    rank="longest",
    index_html=False,
    # Section 2.2.2: "The /robots.txt URI is implicitly allowed."
    robots_txt_allowed=True,
    # Whether a file is the right one for a URL is for the caller to know.
    own_server_only=False,
    max_rules=None,
    # Section 2.3, "Access Method", and section 2.4, "Caching".
    profile="rfc9309",
)
