"""`manners cache`: what is kept of sites' robots.txt files between runs."""

import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from manners._secrets import is_libpq, without_secrets
from manners._text import printable
from manners.cli import inputs, render
from manners.urls import origin, with_scheme

if TYPE_CHECKING:
    from manners.cache.backends import Backend
    from manners.cache.entry import Entry

_T = TypeVar("_T")

command = typer.Typer(help="Show and change what is kept of sites' robots.txt files.")


@command.command("list")
def list_entries(
    cache: inputs.CacheOption = None,
    config: inputs.ConfigOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """List the sites, and how their last retrieval went."""
    backend = _open(cache, config)
    if json:
        for line in _run(_each(backend, lambda entry: render.as_json(_as_dict(entry)))):
            print(line)
        return 0
    rows = _run(_each(backend, _row))
    print(render.table(("SITE", "LAST RETRIEVAL", "BYTES", "FRESH UNTIL (UTC)"), rows))
    return 0


@command.command("show")
def show(
    url: inputs.UrlArgument,
    cache: inputs.CacheOption = None,
    config: inputs.ConfigOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """Show what is kept of a site: how it was retrieved, and the file.

    Exit code 1 when nothing is kept of it.
    """
    site = origin(url)
    entry = _run(_load(_open(cache, config), site))
    if entry is None:
        inputs.warn(f"nothing is kept of {site}")
        return 1
    body = (entry.body or b"").decode("utf-8", "backslashreplace")
    if json:
        print(render.as_json({**_as_dict(entry), "body": body}))
        return 0
    print(render.styled(printable(entry.origin), "bold"))
    for name, value in (
        ("retrieval", str(entry.outcome)),
        ("fetched", _clock(entry.fetched_at)),
        ("confirmed", _clock(entry.validated_at)),
        ("fresh", f"until {_clock(entry.fresh_until)}"),
    ):
        print(f"  {name:<10} {printable(value)}")
    for line in body.splitlines():
        print(f"  | {printable(line)}".rstrip())
    return 0


@command.command("forget")
def forget(
    urls: Annotated[
        list[str], typer.Argument(metavar="URL...", help="Any URL of each site, or its domain.")
    ],
    cache: inputs.CacheOption = None,
    config: inputs.ConfigOption = None,
) -> int:
    """Drop what is kept of sites, so that they are asked again.

    Exit code 1 when nothing was kept of one of them.
    """
    sites = [origin(with_scheme(url)) for url in urls]
    known = _run(_forget(_open(cache, config), sites))
    for site, was_known in zip(sites, known, strict=True):
        print(f"{'forgotten' if was_known else 'unknown  '}  {printable(site)}")
    return 0 if all(known) else 1


def _run(work: Coroutine[Any, Any, _T]) -> _T:
    from manners._portal import portal

    return portal.run(work)


def _open(cache: str | None, config: str | None) -> "Backend":
    from manners.cache.backends import open_backend
    from manners.settings import load

    settings = load(config, options={"cache": cache}).settings
    where = settings.cache
    if where is None:
        raise inputs.Unusable("no cache is named; add --cache FILE, or --cache valkey://…")
    path = where.removeprefix("sqlite:///")
    is_file = "://" not in path and not is_libpq(path)
    if is_file and not Path(path).exists():  # to look at it is no reason to make it
        raise inputs.Unusable(f"there is no cache at {without_secrets(where)!r}")
    return open_backend(where, settings.server_timeout)


async def _each(backend: "Backend", shown: "Callable[[Entry], _T]") -> list[_T]:
    try:
        found: AsyncIterator[Entry] = backend.entries()
        return [shown(entry) async for entry in found]
    finally:
        await backend.close()


async def _load(backend: "Backend", site: str) -> "Entry | None":
    try:
        return await backend.load(site)
    finally:
        await backend.close()


async def _forget(backend: "Backend", sites: list[str]) -> list[bool]:
    try:
        return [await backend.forget(site) for site in sites]
    finally:
        await backend.close()


def _as_dict(entry: "Entry") -> dict[str, Any]:
    return {**entry.to_dict(), "bytes": None if entry.body is None else len(entry.body)}


def _row(entry: "Entry") -> tuple[str, ...]:
    return entry.origin, str(entry.outcome), _size(entry), _clock(entry.fresh_until)


def _size(entry: "Entry") -> str:
    return "-" if entry.body is None else f"{len(entry.body):,}"


def _clock(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(moment))
