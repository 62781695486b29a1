"""Who we say we are: who decides is who is sent.

One rule for the library, the command, the environment and files:

    agent="MyBot/1.0 (+https://…)"   is sent whole as User-Agent, and its product token decides
    user_agent="MyBot/1.0"           alone: its product token decides
    neither                          manners/VERSION (+home page) is sent, and manners decides
    both                             each does its own part; a warning where their tokens differ

Only questions that fetch nothing for the user (`check`, `explain`, `robots`, the engine) are asked
for `*` when nobody is named.
"""

from functools import cache
from typing import NamedTuple

from manners._text import printable
from manners.robots.agents import WILDCARD, product_token

NAME = "manners"
HOME_PAGE = "https://manners.example/"
"""Where site owners read who asks them; `pyproject.toml` names the same address."""


@cache
def default_user_agent() -> str:
    """The User-Agent header of whoever does not say who they are."""
    from importlib.metadata import version

    return f"{NAME}/{version('manners')} (+{HOME_PAGE})"


class Identity(NamedTuple):
    """Who a program says it is.

    >>> print(Identity("MyBot", "MyBot/1.0 (+https://example.com/bot)"))
    MyBot/1.0 (+https://example.com/bot)
    >>> print(Identity("MyBot", "Mozilla/5.0"))
    Mozilla/5.0 (robots.txt is read for MyBot)
    """

    agent: str
    """Who decides: the name for which robots.txt files are read."""
    user_agent: str
    """What is sent: the header User-Agent of every request."""

    @property
    def is_one(self) -> bool:
        """Whether who decides is who is sent."""
        return product_token(self.agent).lower() == product_token(self.user_agent).lower()

    def __str__(self) -> str:
        sent = printable(self.user_agent)
        return sent if self.is_one else f"{sent} (robots.txt is read for {printable(self.agent)})"


def identity(agent: str | None = None, user_agent: str | None = None) -> Identity:
    """Who decides and what is sent, for what somebody has named.

    >>> identity("MyBot/1.0 (+https://example.com/bot)").user_agent
    'MyBot/1.0 (+https://example.com/bot)'
    >>> identity(user_agent="MyBot/1.0").agent
    'MyBot'
    >>> identity().agent
    'manners'
    """
    if user_agent == WILDCARD:  # everybody is nobody's name
        user_agent = None
    if agent is None and user_agent is None:
        return Identity(NAME, default_user_agent())
    if agent is None:
        return Identity(product_token(user_agent or "") or WILDCARD, user_agent or "")
    if user_agent is None:
        user_agent = default_user_agent() if agent == WILDCARD else agent
    return Identity(agent, user_agent)
