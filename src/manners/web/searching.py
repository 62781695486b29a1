"""What somebody searches for: short texts from the query of a request."""

from collections.abc import Iterable

from aiohttp import web

from manners.web.problems import ServiceProblem

_MAX_LENGTH = 2_000
"""Characters."""


def searched(request: web.Request, names: Iterable[str]) -> dict[str, str]:
    """The texts of some fields; empty where one is not given."""
    found = {name: request.query.get(name, "").strip() for name in names}
    for name, text in found.items():
        if len(text) > _MAX_LENGTH or "\0" in text:
            raise ServiceProblem(422, f"{name!r} cannot be searched for.", "Send a shorter text.")
    return found
