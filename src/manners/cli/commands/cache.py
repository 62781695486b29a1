"""`manners cache`: the robots.txt files that are cached between runs."""

import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from manners._secrets import is_libpq, without_secrets
from manners._text import printable
from manners.cli import inputs, render
from manners.cli.options import JsonOption, Options, UrlArgument, takes
from manners.urls import origin, with_scheme

if TYPE_CHECKING:
    from manners.cache.backends import CacheBackend
    from manners.cache.entry import Entry

_T = TypeVar("_T")

command = typer.Typer(help="List, show and remove cached robots.txt files.")


@command.command("list")
@takes("cache")
def list_entries(
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """List the cached sites, and how their last retrieval went."""
    backend = _open(options)
    if json:
        for line in _run(_collect(backend, lambda entry: render.as_json(_as_dict(entry)))):
            print(line)
        return 0
    rows = _run(_collect(backend, _row))
    print(render.table(("SITE", "LAST RETRIEVAL", "BYTES", "FRESH UNTIL (UTC)"), rows))
    return 0


@command.command("show")
@takes("cache")
def show(
    url: UrlArgument,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Show the entry of a site: how it was retrieved, and the file.

    Exit code 1 if the site is not cached.
    """
    site = origin(url)
    entry = _run(_load(_open(options), site))
    if entry is None:
        inputs.warn(f"not cached: {site}")
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
@takes("cache")
def forget(
    urls: Annotated[
        list[str], typer.Argument(metavar="URL...", help="Any URL of each site, or its domain.")
    ],
    *,
    options: Options,
) -> int:
    """Remove sites from the cache, so that their robots.txt is retrieved again.

    What they said is still known: see robots --history. Exit code 1 if one of them was not cached.
    """
    sites = [origin(with_scheme(url)) for url in urls]
    known = _run(_forget(_open(options), sites))
    for site, was_known in zip(sites, known, strict=True):
        print(f"{'forgotten' if was_known else 'unknown  '}  {printable(site)}")
    return 0 if all(known) else 1


def _run(work: Coroutine[Any, Any, _T]) -> _T:
    from manners._portal import portal

    return portal.run(work)


def _open(options: Options) -> "CacheBackend":
    from manners.cache.backends import open_backend

    settings = options.load()
    where = settings.cache
    if where is None:
        raise inputs.Unusable("no cache was given; add --cache FILE, or --cache valkey://…")
    path = where.removeprefix("sqlite:///")
    is_file = "://" not in path and not is_libpq(path)
    if is_file and not Path(path).exists():  # looking does not create one
        raise inputs.Unusable(f"there is no cache at {without_secrets(where)!r}")
    return open_backend(where, settings.server_timeout)


async def _collect(backend: "CacheBackend", convert: "Callable[[Entry], _T]") -> list[_T]:
    try:
        found: AsyncIterator[Entry] = backend.entries()
        return [convert(entry) async for entry in found]
    finally:
        await backend.close()


async def _load(backend: "CacheBackend", site: str) -> "Entry | None":
    try:
        return await backend.load(site)
    finally:
        await backend.close()


async def _forget(backend: "CacheBackend", sites: list[str]) -> list[bool]:
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
