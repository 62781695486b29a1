"""Pages: one file each, found by name.

A page is a module with `ROUTES`, which aiohttp takes (`web.get("/diff", show)`). It may have
`LINK`, by which the navigation of all pages shows it, and `FETCHES = True` if looking at it makes
this service ask a site: no other site may send somebody there.
"""

from functools import cache
from types import ModuleType
from typing import NamedTuple

from manners import _family

_PAGES = "manners.web.pages"


class PageLink(NamedTuple):
    """A page in the navigation."""

    place: int
    title: str
    address: str


@cache
def members() -> tuple[ModuleType, ...]:
    """Every page."""
    names = _family.names(_PAGES)
    return tuple(_family.member(_PAGES, "page", name) for name in names)


@cache
def navigation() -> tuple[PageLink, ...]:
    """The links that every page has, in their order."""
    links = (getattr(member, "LINK", None) for member in members())
    return tuple(sorted(link for link in links if link is not None))
