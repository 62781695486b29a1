"""The application: pages, API and files, behind the guard."""

import json
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from manners.settings import Settings
from manners.web import pages
from manners.web.api import Resource, query_values, resources
from manners.web.assets import serve_asset
from manners.web.guarding import Handler, add_headers, stand_guard
from manners.web.problems import ServiceProblem
from manners.web.service import SERVICE, Call, Service, Serving

_JSON = "application/json"
_JSON_HEADERS = CIMultiDict({"Content-Type": _JSON})


def application(settings: Settings, serving: Serving | None = None) -> web.Application:
    """The service as an application of aiohttp."""
    service = Service(settings, serving or Serving())
    limits = service.serving.limits
    # Bodies are read by `Call.body`, which knows the limit of each address.
    app = web.Application(middlewares=[stand_guard], client_max_size=limits.bulk_body)
    app[SERVICE] = service
    app.on_response_prepare.append(add_headers)
    app.cleanup_ctx.append(_run_service)
    app.on_shutdown.append(_stop_streams)
    app.router.add_get("/static/{digest}/{name:.+}", serve_asset)
    for page in pages.members():
        app.router.add_routes(page.ROUTES)
    for resource in resources():
        app.router.add_route(resource.method, resource.address, _handler(resource))
    return app


async def _run_service(app: web.Application) -> AsyncIterator[None]:
    service = app[SERVICE]
    await service.open()
    async with service.deadlines.watched():
        yield
    await service.close()


async def _stop_streams(app: web.Application) -> None:
    app[SERVICE].stopping.set()
    await app[SERVICE].crawls.end_watches()


def _handler(resource: Resource) -> Handler:
    """The handler of a resource: reads the request, and encodes the reply."""
    decode = msgspec.json.Decoder(resource.request).decode

    def read(body: bytes) -> Any:
        try:
            return decode(body)
        except UnicodeDecodeError as error:
            raise msgspec.DecodeError(f"JSON is not UTF-8: {error.reason}") from None

    async def answer_query(request: web.Request) -> web.Response:
        parameters = _of_query(request.rel_url.raw_query_string, resource)
        reply = await resource.answer(Call.of(request), parameters)
        return web.Response(body=_encode(reply), headers=_JSON_HEADERS)

    async def answer_body(request: web.Request) -> web.Response:
        call, kind = Call.of(request), request.content_type
        if kind == _JSON:
            reply = await resource.answer(call, read(await call.body()))
            return web.Response(body=_encode(reply), headers=_JSON_HEADERS)
        if resource.answer_bytes is None or kind != resource.content_type:
            kinds = " or ".join(filter(None, (_JSON, resource.content_type)))
            raise ServiceProblem(415, f"The content type is {kind!r}.", f"Send {kinds}.")
        traffic = call.service.traffic
        async with traffic.table(call.client):
            body = await call.body(traffic.limits.bulk_body)
            query = request.rel_url.raw_query_string
            answer, kind = await resource.answer_bytes(call, body, query)
        return web.Response(body=answer, content_type=kind)

    return answer_query if resource.method == "GET" else answer_body


_encode_plain = msgspec.json.Encoder().encode


def _encode(reply: object) -> bytes:
    """A reply as JSON; a byte of a site that is not UTF-8 is a lone surrogate, as elsewhere."""
    try:
        return _encode_plain(reply)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(reply)).encode()


def _of_query(query: str, resource: Resource) -> Any:
    """The parameters in a query; one that may occur several times becomes a list."""
    values: dict[str, Any] = {}
    lists = _lists(resource.request)
    for name, value in query_values(query):
        if name in lists:
            values.setdefault(name, []).append(value)
        elif name in values:
            raise ServiceProblem(422, f"{name!r} is there twice.", "Send it once.")
        else:
            values[name] = value
    return msgspec.convert(values, resource.request, strict=False)


@cache
def _lists(kind: type[msgspec.Struct]) -> frozenset[str]:
    """The members that are lists."""
    fields = msgspec.inspect.type_info(kind)
    assert isinstance(fields, msgspec.inspect.StructType)  # noqa: S101 (as `kind` says)
    return frozenset(
        field.encode_name
        for field in fields.fields
        if isinstance(field.type, msgspec.inspect.VarTupleType | msgspec.inspect.ListType)
    )
