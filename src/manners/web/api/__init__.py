"""The API: one file for each resource, found by name.

A module has `RESOURCES`. Requests and replies are Structs of msgspec, from which the OpenAPI
document is made, too: what a member means is said once, in its type. Unknown members are refused,
so that a misspelt one is not silently ignored.
"""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

import msgspec

from manners import _family
from manners.web.problems import ServiceProblem
from manners.web.service import Call

_API = "manners.web.api"
PREFIX = "/v1"
_MAX_PARAMETERS = 101
"""Of a query: as many agents as a request may have, and one more."""


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request says: the base class of all requests."""


class Resource(NamedTuple):
    """One method of one address."""

    method: str
    path: str
    """Below `/v1`; with `GET`, parameters are in the query."""
    summary: str
    request: type[Parameters]
    reply: Any
    """The type of the reply: a Struct."""
    answer: Callable[[Call, Any], Awaitable[object]]
    """Called with the request; what it returns is encoded as JSON."""
    description: str = ""
    answer_bytes: Callable[[Call, bytes, str], Awaitable[tuple[bytes, str]]] | None = None
    """Called with a body of another content type, and its query; returns the body of the reply."""
    content_type: str = ""
    """The other content type, of request and reply."""

    @property
    def address(self) -> str:
        """The whole path."""
        return f"{PREFIX}/{self.path}"


def query_values(query: str) -> list[tuple[str, str]]:
    """The parameters of a query, in their order.

    >>> query_values("agent=My+Bot&url=%2Fa&x")
    [('agent', 'My Bot'), ('url', '/a'), ('x', '')]
    """
    parts = query.split("&", _MAX_PARAMETERS)
    if len(parts) > _MAX_PARAMETERS:
        raise ServiceProblem(
            422, f"The query has more than {_MAX_PARAMETERS} parameters.", "Send fewer."
        )
    pairs = (part.partition("=") for part in parts if part)
    return [(_unquoted(name), _unquoted(value)) for name, _, value in pairs]


def _unquoted(text: str) -> str:
    return unquote_plus(text) if "%" in text or "+" in text else text


@cache
def resources() -> tuple[Resource, ...]:
    """Every resource, in the order of its address."""
    modules = (_family.member(_API, "resource", name) for name in _family.names(_API))
    found = [resource for module in modules for resource in module.RESOURCES]
    return tuple(sorted(found, key=lambda resource: (resource.path, resource.method)))
