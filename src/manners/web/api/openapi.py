"""`/v1/openapi.json`: the API for programs that read about it, made of its types."""

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec

from manners import __version__
from manners.web.api import Parameters, Resource, resources
from manners.web.service import Call

_JSON, _PROBLEM = "application/json", "application/problem+json"
_REF = "#/components/schemas/{name}"


class DocumentQuery(Parameters, frozen=True):
    """Nothing."""


class ProblemReply(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong (RFC 9457), and what to do next."""

    type: str
    title: str
    status: int
    detail: str
    advice: str


async def show_document(_: Call, __: DocumentQuery) -> dict[str, Any]:
    """The document."""
    return document()


@cache
def document() -> dict[str, Any]:
    """The API as OpenAPI 3.1."""
    members = resources()
    types = {item.request for item in members} | {item.reply for item in members}
    structs = sorted(types - {dict}, key=lambda kind: kind.__name__)
    _, components = msgspec.json.schema_components([*structs, ProblemReply], ref_template=_REF)
    _describe(components)
    paths: dict[str, dict[str, Any]] = {}
    for item in members:
        paths.setdefault(item.address, {})[item.method.lower()] = _operation(item, components)
    for item in members:
        if item.method == "GET":
            components.pop(item.request.__name__, None)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "manners",
            "version": __version__,
            "description": "What may be fetched, how fast, and why: robots.txt for any language.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(item: Resource, components: dict[str, Any]) -> dict[str, Any]:
    reply = {"type": "object"} if item.reply is dict else _schema(item.reply)
    operation: dict[str, Any] = {
        "operationId": f"{item.method.lower()}_{item.path.partition('.')[0]}",
        "summary": item.summary,
        "description": item.description or inspect.cleandoc(item.answer.__doc__ or ""),
        "responses": {
            "200": {"description": "The answer.", "content": {_JSON: {"schema": reply}}},
            "default": {
                "description": "A problem, and what to do next.",
                "content": {_PROBLEM: {"schema": _schema(ProblemReply)}},
            },
        },
    }
    if item.method == "GET":
        operation["parameters"] = _parameters(components[item.request.__name__])
    else:
        content: dict[str, Any] = {_JSON: {"schema": _schema(item.request)}}
        operation["requestBody"] = {"required": True, "content": content}
        if item.content_type:
            binary = {"schema": {"type": "string", "format": "binary"}}
            content[item.content_type] = binary
            operation["responses"]["200"]["content"][item.content_type] = binary
    return operation


def _parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The members of a request, as parameters of a query."""
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "schema": member,
            **({"description": text} if (text := member.get("description")) else {}),
        }
        for name, member in schema["properties"].items()
    ]


def _schema(kind: type) -> dict[str, str]:
    return {"$ref": _REF.format(name=kind.__name__)}


def _describe(components: dict[str, Any]) -> None:
    """Add what the types say about their members, which msgspec does not read."""
    modules = {inspect.getmodule(item.request) for item in resources()}
    kinds = {name: kind for module in modules for name, kind in vars(module).items()}
    for name, schema in components.items():
        for member, text in _member_docs(kinds[name]).items():
            schema["properties"][member].setdefault("description", text)


def _member_docs(kind: type) -> dict[str, str]:
    """The docstrings below the members of a class."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    found: dict[str, str] = {}
    statements = tree.body if isinstance(tree, ast.ClassDef) else []
    for member, text in pairwise(statements):
        match member, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(value=str(docs))):
                found[name] = " ".join(docs.split())
    return found


RESOURCES = (Resource("GET", "openapi.json", "This document", DocumentQuery, dict, show_document),)
