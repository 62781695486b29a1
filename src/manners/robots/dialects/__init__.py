"""Dialects: the ways in which a robots.txt is read, as data, one file each.

Where implementations disagree, RFC 9309 is the default and another reading is a dialect. The
engine never asks which dialect it has; it does what the fields below say.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from manners import _family
from manners.robots.agents import WILDCARD, Select, product_token

DEFAULT = "rfc9309"

_KNOWN_VALUES = {
    "keys": ("misspelt", "exact", "prefix"),
    "record_end": ("rule", "blank", "agent"),
    "rules_without_agent": ("nobody", "everybody"),
    "empty_rule": ("no-rule", "allows"),
    "rank": ("longest", "allow-first", "first"),
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Dialect:
    """One way to read a robots.txt, as data.

    >>> get("google").wildcards
    True
    >>> own = get("rfc9309").but(name="own", index_html=True)
    """

    name: str
    summary: str
    """One line for people choosing a dialect."""

    # How a line is read.
    keys: Literal["misspelt", "exact", "prefix"]
    """Which keys are known: names and common misspellings, names only, or (Google) any key that
    begins with one of them."""
    rules: tuple[str, ...]
    """The keys that make rules; an Allow line means nothing where only Disallow is listed."""
    colon_optional: bool
    """Two words with white space between them are a key and a value."""
    utf16: bool
    """A file that begins with a UTF-16 byte order mark is decoded."""
    size_limit: bool
    """The limit given to `parse` holds."""

    # How lines become groups.
    record_end: Literal["rule", "blank", "agent"]
    """What ends a group: a User-agent line after a rule, also a blank line, or also any User-agent
    line."""
    rules_without_agent: Literal["nobody", "everybody"]
    """Who the rules before the first User-agent line are for."""

    # Whose group it is.
    agent_key: Callable[[str], str | None]
    """The key of a User-agent line: `*` for everybody, None when it names nobody."""
    own_key: Callable[[str], str | None]
    """The key of the agent passed; None when it has no name."""
    select: Select
    """Chooses the groups for an agent."""
    empty_section_falls_back: bool
    """An agent's own groups count as absent when they have no rule."""
    token_from_header: bool
    """The command and the client reduce a User-Agent header to its product token first."""

    # How a rule is matched.
    empty_rule: Literal["no-rule", "allows"]
    """An Allow or Disallow without a value is no rule, or a rule that allows everything."""
    normalise_pattern: Callable[[bytes, str | None], bytes | None]
    """Makes the pattern from a rule's value and the URL of the file; None drops the rule."""
    normalise_path: Callable[[str], str]
    """Makes the path to match from raw path and query: one character for each byte."""
    wildcards: bool
    """`*` and a final `$` are operators."""
    rank: Literal["longest", "allow-first", "first"]
    """Which of several matching rules decides."""
    index_html: bool
    """`Allow: /dir/index.html` also allows `/dir/`."""
    robots_txt_allowed: bool
    """/robots.txt itself is always allowed."""
    own_server_only: bool
    """A file whose URL is known does not apply to URLs of another server."""
    max_rules: int | None
    """A file with more rules than this allows everything."""

    # How files are retrieved.
    profile: str
    """The profile that `--like` sets with this dialect."""

    def __post_init__(self) -> None:
        for name, known in _KNOWN_VALUES.items():
            if getattr(self, name) not in known:
                raise ValueError(
                    f"a dialect's {name} is one of {', '.join(known)}, not {getattr(self, name)!r}"
                )
        if not isinstance(self.rules, tuple):
            raise ValueError("a dialect's rules are a tuple of keys")

    def but(self, **changes: Any) -> "Dialect":
        """The same dialect with some fields changed."""
        return replace(self, **changes)

    def own_name(self, agent: str | Sequence[str]) -> str | Sequence[str]:
        """The agent for this dialect: as given, or the product token of a header.

        >>> get("google").own_name("MyBot/1.0 (+https://example.com/bot)")
        'MyBot'
        """
        if not self.token_from_header:
            return agent
        if isinstance(agent, str):
            return product_token(agent) or WILDCARD
        return [product_token(name) or WILDCARD for name in agent]

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<dialect {self.name}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        # A dialect of this package travels as its name, so that a pickle survives a release that
        # adds a field; a user's own travels field by field.
        if self.name in names() and get(self.name) == self:
            return get, (self.name,)
        return _restore, ({name: getattr(self, name) for name in self.__slots__},)


def names() -> tuple[str, ...]:
    """The names of all dialects.

    >>> names()
    ('audit', 'google', 'rfc9309', 'robotrules', 'scanner', 'specificity')
    """
    return _family.names(__name__)


def get(dialect: str | Dialect) -> Dialect:
    """The dialect of this name; a `Dialect` is returned as it is.

    >>> get("rfc9309").rank
    'longest'
    """
    if isinstance(dialect, Dialect):
        return dialect
    found = _loaded.get(dialect)
    if found is None:
        found = _loaded[dialect] = _family.member(__name__, "dialect", dialect).DIALECT
    return found


_loaded: dict[str, Dialect] = {}


def describe(dialect: Dialect) -> dict[str, str]:
    """Every field of a dialect in words.

    >>> describe(get("google"))["normalise_path"]
    'raw_path'
    """
    return {field.name: _in_words(getattr(dialect, field.name)) for field in fields(dialect)}


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(value)
    return "none" if value is None else str(getattr(value, "__name__", value))


def _restore(fields: dict[str, Any]) -> Dialect:
    return Dialect(**fields)
