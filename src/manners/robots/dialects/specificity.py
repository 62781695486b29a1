"""A C++ crawler's reading: agents by specificity, Allow before Disallow, plain prefixes."""

from manners.robots import agents, patterns
from manners.robots.dialects.rfc9309 import DIALECT as RFC9309

DIALECT = RFC9309.but(
    name="specificity",
    summary="agents by specificity, any Allow wins, prefixes only",
    # "User-Agent Normalization: version suffixes are automatically removed".
    agent_key=agents.normalised_key,
    own_key=agents.normalised_key,
    # "User-Agent Specificity Rules": exact 3, pattern 2, wildcard 1.
    select=agents.by_specificity,
    # "Path matching is prefix-based": `*` and `$` are characters like any other, on both sides.
    normalise_pattern=patterns.literal_pattern,
    normalise_path=patterns.literal_path,
    wildcards=False,
    # "Allow Precedence: the Allow directive takes precedence over Disallow".
    rank="allow-first",
)
