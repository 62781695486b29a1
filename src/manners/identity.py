"""Identity: the name robots.txt is read for, and the User-Agent header that is sent.

The same rule for the library, the command, the environment and settings files:

    agent="MyBot/1.0 (+https://…)"   sent as User-Agent; robots.txt is read for its product token
    user_agent="MyBot/1.0"           the same
    neither                          manners/VERSION (+home page) is sent, and read for manners
    both                             as given; a warning where the product tokens differ

`check`, `explain`, `robots` and the engine fetch no page: without an agent they answer for `*`.
"""

import re
from functools import cache
from typing import NamedTuple

from manners._text import printable
from manners.robots.agents import WILDCARD, product_token

NAME = "manners"
HOME_PAGE = "https://manners.example/"
"""The page for site owners; `pyproject.toml` names the same address."""


@cache
def default_user_agent() -> str:
    """The User-Agent header of a program that sets none."""
    from importlib.metadata import version

    return f"{NAME}/{version('manners')} (+{HOME_PAGE})"


class Identity(NamedTuple):
    """The agent a program is, and the User-Agent it sends.

    >>> print(Identity("MyBot", "MyBot/1.0 (+https://example.com/bot)"))
    MyBot/1.0 (+https://example.com/bot)
    >>> print(Identity("MyBot", "Mozilla/5.0"))
    Mozilla/5.0 (robots.txt is read for MyBot)
    """

    agent: str
    """The name that robots.txt is read for."""
    user_agent: str
    """The User-Agent header of every request."""

    @property
    def is_one(self) -> bool:
        """Whether both have the same product token."""
        return product_token(self.agent).lower() == product_token(self.user_agent).lower()

    def __str__(self) -> str:
        sent = printable(self.user_agent)
        decides = self.agent if not self.is_one else _first_word(self.agent)
        return f"{sent} (robots.txt is read for {printable(decides)})" if decides else sent


def _first_word(agent: str) -> str:
    """What decides of a name that is several words; empty if the agent is written as it should be.

    >>> _first_word("My Bot"), _first_word("MyBot/1.0 (+https://example.com/bot)")
    ('My', '')
    """
    found = _WORDS(agent)
    return product_token(found[1]) if found else ""


_WORDS = re.compile(r"\s*([^\s/(]+)\s+[^\s(+]").match


def identity(agent: str | None = None, user_agent: str | None = None) -> Identity:
    """The identity for the agent and the User-Agent that were set, if any.

    >>> identity("MyBot/1.0 (+https://example.com/bot)").user_agent
    'MyBot/1.0 (+https://example.com/bot)'
    >>> identity(user_agent="MyBot/1.0").agent
    'MyBot'
    >>> identity().agent
    'manners'
    """
    if user_agent == WILDCARD:  # `*` is not a name
        user_agent = None
    if agent is None and user_agent is None:
        return Identity(NAME, default_user_agent())
    if agent is None:
        return Identity(product_token(user_agent or "") or WILDCARD, user_agent or "")
    if user_agent is None:
        user_agent = default_user_agent() if agent == WILDCARD else agent
    return Identity(agent, user_agent)
