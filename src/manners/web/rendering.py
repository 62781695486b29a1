"""Templates: pages as HTML. Whatever is not a template's own is text.

Text is escaped as in the report: markup is shown, and so are control characters, direction
overrides and lone surrogates. `{{ url | untrusted }}` also cuts it and isolates its writing
direction; use it for everything that a site has sent. `{{ robots | source }}` keeps the lines of a
file, for `<textarea>` and `<pre>`.
"""

import re
from functools import cache
from typing import Any

from aiohttp import web

from manners import __version__
from manners._text import count, duration
from manners.errors import MissingExtra
from manners.report.html import words
from manners.report.html.elements import escaped, untrusted
from manners.report.html.page import ICON
from manners.web import assets
from manners.web.pages import navigation

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
except ModuleNotFoundError:
    raise MissingExtra("jinja2", "serve") from None

_SPACE = re.compile("(\t|\r\n|\r|\n)").split
"""The parts of a text, with what is between its lines and cells."""


def page(request: web.Request, template: str, *, status: int = 200, **values: Any) -> web.Response:
    """A template as the reply to a request; `base.html` gets what every page needs."""
    html = (
        _environment()
        .get_template(template)
        .render(
            path=request.path, navigation=navigation(), version=__version__, icon=ICON, **values
        )
    )
    return web.Response(status=status, text=html, content_type="text/html")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("manners.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
    )
    environment.globals |= {"asset": assets.address}
    environment.filters |= {
        "untrusted": lambda text, most=160: Markup(untrusted(str(text), most)),  # noqa: S704
        "source": _source,
        "count": count,
        "duration": duration,
        "moment": words.moment,
        "size": words.size,
        "thousands": "{:,}".format,
    }
    return environment


def _finalize(value: Any) -> Any:
    """What is put into a page: escaped, unless it is markup that an element or a template made."""
    if isinstance(value, Markup) or hasattr(value, "__html__"):
        return value
    return Markup(escaped(str(value)))  # noqa: S704 (escaped)


def _source(text: str) -> Markup:
    """The lines of a file, as they are; only what could control a screen is shown instead."""
    parts = _SPACE(text)
    parts[::2] = map(escaped, parts[::2])
    return Markup("".join(parts))  # noqa: S704 (escaped)
