"""Perl's WWW::RobotRules: the 1994 standard, with records, prefixes and Disallow only."""

from manners.robots import agents, patterns
from manners.robots.dialects.rfc9309 import DIALECT as RFC9309

DIALECT = RFC9309.but(
    name="robotrules",
    summary="WWW::RobotRules: records, Disallow only, first match",
    # /^\s*User-Agent\s*:/i and /^\s*Disallow\s*:/i in RobotRules.pm: spelt so, with the colon.
    keys="exact",
    colon_optional=False,
    # "Unrecognized records are ignored", and Allow is one.
    rules=("disallow",),
    # "one or more records separated by one or more blank lines"; a User-Agent after a Disallow:
    # "This parser will assume that a blank line should have been placed before".
    record_end="blank",
    # "assume that User-agent: * was intended" (RobotRules.pm, a Disallow without preceding
    # User-agent).
    rules_without_agent="everybody",
    # is_me() in RobotRules.pm: the line is looked for in our name, so an empty line is for us.
    agent_key=agents.verbatim_key,
    # agent() in RobotRules.pm: "Strip it so that it's just the short name".
    own_key=agents.first_word_key,
    # "That was our record. No need to read the rest." (RobotRules.pm)
    select=agents.first_record,
    # allowed() in RobotRules.pm: "return 1 unless length $rule".
    empty_rule="allows",
    # URI->new_abs in RobotRules.pm: a rule may be a URL, and counts only for this server.
    normalise_pattern=patterns.resolved_pattern,
    # URI's path_query: what no URL may contain is escaped, nothing else is changed.
    normalise_path=patterns.escaped_path,
    # "any URL that starts with this value will not be retrieved".
    wildcards=False,
    # allowed() in RobotRules.pm goes through the rules in file order.
    rank="first",
    # Nothing in RobotRules.pm treats /robots.txt apart.
    robots_txt_allowed=False,
    # allowed() in RobotRules.pm looks rules up by host and port, and has none for another.
    own_server_only=True,
)
