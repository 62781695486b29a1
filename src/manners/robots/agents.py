"""Agents: the name of a crawler, and the groups of a file that are for it."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from manners._text import to_bytes, to_text

if TYPE_CHECKING:
    from manners.robots.dialects import Dialect
    from manners.robots.groups import Group

WILDCARD = "*"

_TOKEN = re.compile(r"[A-Za-z0-9_-]+").match
_GOOGLE_TOKEN = re.compile(r"[A-Za-z_-]*").match
_COMPATIBLE = re.compile(r"\bcompatible; *([A-Za-z0-9_-]+)")
_COMMENT = re.compile(r"\(([^()]*)\)?")
_VERSIONED = re.compile(r"([A-Za-z0-9_-]+)/\S*( +\+http\S*)?").fullmatch
_CRAWLER_WORD = re.compile(r"bot|crawl|spider|slurp", re.IGNORECASE).search
_ASCII_SPACE = " \t\n\v\f\r"
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def product_token(agent: str) -> str:
    """The product token of a User-Agent header: the name that robots.txt files use.

    RFC 9309 section 2.2.1: the product token SHOULD be a substring of the identification string.
    Crawlers that pretend to be browsers put it into a comment.

    >>> product_token("MyBot/1.0 (+https://example.com/bot)")
    'MyBot'
    >>> product_token("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")
    'Googlebot'
    """
    if not agent.startswith("Mozilla/"):
        found = _TOKEN(agent)
        return found[0] if found else ""
    # Some publishers write "; compatible; NAME" behind the comment instead of inside it.
    if compatible := _COMPATIBLE.findall(agent):
        return str(compatible[-1])
    for comment in _COMMENT.findall(agent):
        items = [item.strip() for item in comment.split(";")]
        for item, following in zip(items, [*items[1:], ""], strict=True):
            named = _VERSIONED(item)
            if named and (_CRAWLER_WORD(named[1]) or named[2] or following.startswith("+http")):
                return named[1]
    return "Mozilla"


def normalize_user_agent(agent: str) -> str:
    """An agent's name without version and wildcard, in lower case.

    >>> normalize_user_agent("googlebot/1.2"), normalize_user_agent("Bingbot*")
    ('googlebot', 'bingbot')
    """
    return _lower(re.split(r"[/*]", agent, maxsplit=1)[0].strip(_ASCII_SPACE))


def matches_user_agent(rule_agent: str, agent: str) -> bool:
    """Whether a User-agent line is for an agent; `*` is for every agent.

    >>> matches_user_agent("googlebot", "Googlebot/2.1"), matches_user_agent("*", "MyBot")
    (True, True)
    """
    if rule_agent.strip() == WILDCARD:
        return True
    name = normalize_user_agent(rule_agent)
    return name != "" and name == normalize_user_agent(agent)


def specificity(rule_agent: str) -> int:
    """How specific a User-agent line is: 3 a name, 2 a pattern, 1 everybody.

    >>> specificity("googlebot"), specificity("crawler/1.0"), specificity("*")
    (3, 2, 1)
    """
    if rule_agent.strip() == WILDCARD:
        return 1
    return 2 if "*" in rule_agent or "/" in rule_agent else 3


# Keys: how User-agent lines and agents are compared.


def token_key(line: str) -> str | None:
    """RFC 9309: the leading product token; `*` alone or followed by white space is everybody."""
    if _is_everybody(line):
        return WILDCARD
    found = _TOKEN(line)
    return found[0].lower() if found else None


def google_token_key(line: str) -> str | None:
    """Google: as RFC 9309, without digits; the empty name where there is no token."""
    if _is_everybody(line):
        return WILDCARD
    found = _GOOGLE_TOKEN(line)
    return found[0].lower() if found else ""


def verbatim_key(name: str) -> str | None:
    """The name, ignoring case, even an empty one."""
    return _lower(name)


def whole_key(name: str) -> str | None:
    """The name, ignoring case."""
    return _lower(name) or None


def normalised_key(name: str) -> str | None:
    """Without version and wildcard."""
    return WILDCARD if name.strip() == WILDCARD else normalize_user_agent(name) or None


def header_key(agent: str) -> str | None:
    """The product token of the agent passed."""
    return product_token(agent).lower() or None


def first_word_key(agent: str) -> str | None:
    """WWW::RobotRules: the first word, up to a slash."""
    words = agent.split(maxsplit=1)
    return _lower(words[0].partition("/")[0]) or None if words else None


def _is_everybody(line: str) -> bool:
    # "a '*' followed by space and more characters in a user-agent record is still regarded a
    # global rule" (robots.cc); white space as C's isspace() has it.
    return line.startswith(WILDCARD) and (len(line) == 1 or line[1] in " \t\n\v\f\r")


def _lower(text: str) -> str:
    # ASCII only: str.lower() makes a "k" of the Kelvin sign.
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


# Which groups are for an agent.


class Choice(NamedTuple):
    """The groups that are for an agent, and why."""

    groups: tuple["Group", ...] = ()
    keys: frozenset[str] = frozenset()
    """The keys of the User-agent lines that matched."""
    agent: str = ""
    """The first of those lines, as written."""
    specificity: int = 0


Select = Callable[["Sequence[Group]", Iterable[str], "Dialect"], Choice]
"""Chooses the groups for an agent, given the groups of a file and the names of the agent."""


def by_name(groups: "Sequence[Group]", agents: Iterable[str], dialect: "Dialect") -> Choice:
    """Every group that names the agent, else every group for `*`.

    RFC 9309 section 2.2.1: "If there is more than one group matching the user-agent, the matching
    groups' rules MUST be combined into one group"; `*` counts only when no other group matches.
    """
    own = _choose(groups, _own_keys(agents, dialect), 3, dialect)
    if own.groups and not (dialect.empty_section_falls_back and _no_rules(own)):
        return own
    return everybody(groups, dialect)


def by_specificity(groups: "Sequence[Group]", agents: Iterable[str], dialect: "Dialect") -> Choice:
    """As `by_name`, and the choice is as specific as the most specific line that matched."""
    choice = by_name(groups, agents, dialect)
    matched = [name for _, name in _matching(choice.groups, choice.keys, dialect)]
    if not matched:
        return choice
    best = max(matched, key=specificity)
    return choice._replace(agent=best, specificity=specificity(best))


def first_record(groups: "Sequence[Group]", agents: Iterable[str], dialect: "Dialect") -> Choice:
    """WWW::RobotRules: the first group whose name is part of the agent's, else those for `*`."""
    own = _own_keys(agents, dialect)
    for group in groups:
        parts = {key for key in _keys(group, dialect) if any(key in name for name in own)}
        if parts:
            return _choose([group], parts, 3 if parts & own else 2, dialect)
    return everybody(groups, dialect)


def exact_then_partial(
    groups: "Sequence[Group]", agents: Iterable[str], dialect: "Dialect"
) -> Choice:
    """The exact name, else the longest that contains the agent's or is part of it, else `*`."""
    own = _own_keys(agents, dialect)
    exact = _choose(groups, own, 3, dialect)
    if exact.groups:
        return exact
    # A name of one or two letters is a part of nearly every other.
    partial = {
        key
        for group in groups
        for key in _keys(group, dialect)
        if len(key) >= 3 and any(key in name or name in key for name in own)
    }
    longest = max(map(len, partial), default=0)
    choice = _choose(groups, {key for key in partial if len(key) == longest}, 2, dialect)
    return choice if choice.groups else everybody(groups, dialect)


def everybody(groups: "Sequence[Group]", dialect: "Dialect") -> Choice:
    """Every group for `*`."""
    return _choose(groups, {WILDCARD}, 1, dialect)


def timed_for(choice: Choice, dialect: "Dialect") -> tuple[tuple[str, str], ...]:
    """Names and texts of the timed directives for the agent."""
    found: dict[tuple[str, str], None] = {}
    agents: tuple[str, ...] = ()
    matched = False
    for group in choice.groups:
        for directive in group.directives:
            if directive.agents is not agents:  # those below the same lines share one tuple
                agents = directive.agents
                matched = any(dialect.agent_key(name) in choice.keys for name in agents)
            if matched and agents:
                found[directive.name, directive.written] = None
    return tuple(found)


def _own_keys(agents: Iterable[str], dialect: "Dialect") -> set[str]:
    keys = {dialect.own_key(agent) for agent in agents}
    # To bytes and back, so that an agent with escaped bytes compares equal to the file's.
    return {to_text(to_bytes(key)) for key in keys if key is not None and key != WILDCARD}


def _keys(group: "Group", dialect: "Dialect") -> set[str]:
    """The keys of the names in a group, except `*`."""
    keys = {dialect.agent_key(name) for name in group.agents}
    return {key for key in keys if key is not None and key != WILDCARD}


def _matching(
    groups: "Sequence[Group]", keys: "frozenset[str] | set[str]", dialect: "Dialect"
) -> "list[tuple[Group, str]]":
    return [
        (group, name)
        for group in groups
        for name in group.agents
        if dialect.agent_key(name) in keys
    ]


def _choose(groups: "Sequence[Group]", keys: set[str], how: int, dialect: "Dialect") -> Choice:
    matching = _matching(groups, keys, dialect)
    if not matching:
        return Choice()
    found = {id(group): group for group, _ in matching}
    names = frozenset(key for _, name in matching if (key := dialect.agent_key(name)) is not None)
    return Choice(tuple(found.values()), names, matching[0][1], how)


def _no_rules(choice: Choice) -> bool:
    return not any(group.rules for group in choice.groups)
