"""Style sheets, scripts and pictures of the pages: read once, and kept by browsers for ever.

They are found by a hash of all of them, `/static/HASH/NAME`. So whatever a browser has kept is what
it needs, and a module can import another by its relative name.
"""

import hashlib
import mimetypes
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from aiohttp import web

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
STYLE = "style.css"
"""The one style sheet: what the report and the pages share, and what is the pages' own."""


class Asset(NamedTuple):
    """A file that pages load."""

    body: bytes
    content_type: str


@cache
def assets() -> dict[str, Asset]:
    """Every file, by its name; those in folders have a slash in it."""
    found = dict(_walk(files("manners.web") / "static", ""))
    shared = (files("manners.report.html") / "base.css").read_bytes()
    own = found[STYLE]
    found[STYLE] = own._replace(body=shared + b"\n" + own.body)
    return found


@cache
def digest() -> str:
    """The hash of all files, which is a part of their addresses."""
    total = hashlib.sha256()
    for name, asset in sorted(assets().items()):
        total.update(f"{name} {len(asset.body)}\n".encode())
        total.update(asset.body)
    return total.hexdigest()[:16]


def address(name: str) -> str:
    """Where a browser finds a file.

    >>> address("style.css").endswith("/style.css")
    True
    """
    if name not in assets():
        raise LookupError(f"no such asset: {name!r}")
    return f"/static/{digest()}/{name}"


async def serve_asset(request: web.Request) -> web.Response:
    """A file, for a year; an address with another hash gets the present file, but does not keep it.

    A page that was loaded before an upgrade goes on working that way.
    """
    asset = assets().get(request.match_info["name"])
    if asset is None:
        raise web.HTTPNotFound
    is_current = request.match_info["digest"] == digest()
    keep = "public, max-age=31536000, immutable" if is_current else "no-cache"
    return web.Response(
        body=asset.body,
        headers={"Content-Type": asset.content_type, "Cache-Control": keep},
    )


def _walk(folder: Traversable, prefix: str) -> "list[tuple[str, Asset]]":
    found = []
    for entry in folder.iterdir():
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            found += _walk(entry, f"{name}/")
        else:
            found.append((name, Asset(entry.read_bytes(), _type(name))))
    return found


def _type(name: str) -> str:
    suffix = name[name.rfind(".") :]
    known = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return f"{known}; charset=utf-8" if known.startswith("text/") else known
