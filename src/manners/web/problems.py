"""Problems: what went wrong with a request, and what to do next (RFC 9457)."""

from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

from manners._text import cut, printable
from manners.errors import (
    BudgetExceeded,
    ClientClosed,
    HostDeferred,
    InvalidURL,
    MannersError,
    MissingExtra,
    PolitenessError,
    SlotTimeout,
    StoreError,
    StoreTimeout,
    UnknownName,
)

CONTENT_TYPE = "application/problem+json"
_MOST = 600
"""Characters of a message: it may quote what was sent."""

_STATUS: dict[type[Exception], tuple[int, str]] = {
    InvalidURL: (422, "Send an absolute http or https URL."),
    UnknownName: (422, "Choose one of the names that the message lists."),
    msgspec.ValidationError: (422, "/v1/openapi.json says what is expected."),
    msgspec.DecodeError: (400, "Send one JSON object, in UTF-8."),
    MissingExtra: (501, "Install it where the service runs, and start the service again."),
    HostDeferred: (503, "Ask again after Retry-After."),
    SlotTimeout: (503, "Ask again later: all slots of this host are in use."),
    StoreTimeout: (503, "Ask again later."),
    StoreError: (503, "See that the store is there and can be read."),
    PolitenessError: (503, "Ask again when the shared politeness server answers."),
    BudgetExceeded: (403, "Start the service with a higher limit."),
    ClientClosed: (503, "The service is stopping; ask again when it runs."),
}
"""The status of each error, and what to do about it; the nearest class counts."""


class ServiceProblem(Exception):
    """A request that is answered with a problem.

    >>> ServiceProblem(413, "The body has more than 9 bytes.", "Send less.").to_dict()["title"]
    'Content Too Large'
    """

    def __init__(
        self,
        status: int,
        detail: str,
        advice: str = "",
        *,
        retry_after: float | None = None,
        allowed: str | None = None,
    ) -> None:
        super().__init__(status, detail)
        self.status, self.detail, self.advice = status, detail, advice
        self.retry_after = retry_after
        """Seconds."""
        self.allowed = allowed
        """The methods of the address, if another one was used."""

    @property
    def title(self) -> str:
        """The name of the status."""
        return _TITLES.get(self.status) or HTTPStatus(self.status).phrase

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the reply."""
        if self.status == HTTPStatus.UNAUTHORIZED:
            return {"WWW-Authenticate": 'Basic realm="manners", charset="UTF-8"'}
        if self.allowed is not None:
            return {"Allow": self.allowed}
        if self.retry_after is not None:
            return {"Retry-After": str(max(round(self.retry_after + 0.5), 1))}
        return {}

    def to_dict(self) -> dict[str, Any]:
        """The members of RFC 9457, and `advice`: what to do next."""
        return {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": printable(cut(self.detail, _MOST)),
            "advice": self.advice,
        }

    def reply(self) -> web.Response:
        """The reply to a program."""
        return web.Response(
            status=self.status,
            body=msgspec.json.encode(self.to_dict()),
            content_type=CONTENT_TYPE,
            headers=self.headers,
        )


_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}  # as RFC 9110 names them


def problem_of(error: Exception, now: float) -> ServiceProblem | None:
    """The problem that an error is for whoever sent the request; None for a bug."""
    if isinstance(error, ServiceProblem):
        return error
    if isinstance(error, web.HTTPException):
        return _of_status(error)
    if isinstance(error, TimeoutError) and not isinstance(error, MannersError):
        return ServiceProblem(503, "This took too long.", "Ask for less at a time, or again later.")
    for kind in type(error).__mro__:
        if kind in _STATUS:
            status, advice = _STATUS[kind]
            until = error.until - now if isinstance(error, HostDeferred) else None
            return ServiceProblem(status, str(error), advice, retry_after=until)
    if isinstance(error, MannersError):
        return ServiceProblem(422, str(error), "/v1/openapi.json says what is expected.")
    return None


def _of_status(error: web.HTTPException) -> ServiceProblem:
    """What aiohttp itself refuses."""
    match error.status:
        case 404:
            return ServiceProblem(404, "There is nothing at this address.", "/ has the pages.")
        case 405:
            allowed = ", ".join(sorted(getattr(error, "allowed_methods", ())))
            return ServiceProblem(
                405, "This address takes other methods.", f"Use {allowed}.", allowed=allowed
            )
        case 413:
            return ServiceProblem(413, "The body is too large.", "Send less at a time.")
    return ServiceProblem(error.status, error.reason, "See /v1/openapi.json.")
