"""The comparison: what a change of a robots.txt does, to whom; its questions are the tester's."""

from aiohttp import web

from manners.web.pages import PageLink
from manners.web.rendering import page

LINK = PageLink(20, "Compare", "/diff")


async def show(request: web.Request) -> web.Response:
    """The page."""
    return page(request, "diff.html")


ROUTES = (web.get("/diff", show),)
