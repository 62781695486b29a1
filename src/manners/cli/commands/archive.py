"""`manners archive`: robots.txt of many sites over time, in one folder of Parquet files."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manners._text import count, printable
from manners.cli import inputs, render
from manners.cli.options import JsonOption

if TYPE_CHECKING:
    from datetime import datetime

    from manners.bulk.archive import ArchivedReply, ArchivedSite
    from manners.bulk.records import Problems

command = typer.Typer(help="Keep robots.txt of many sites over time: add, list and pack.")

ArchiveArgument = Annotated[
    str, typer.Argument(metavar="ARCHIVE", help="The folder of the archive.")
]
_SITE_WIDTH = 40


@command.command("add")
def add(
    archive: ArchiveArgument,
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="PLACE...",
            help="Where records are: WARC or Parquet files, folders, caches, evidence stores.",
        ),
    ],
    *,
    json: JsonOption = False,
) -> int:
    """Add robots.txt files and failures, with their times; a new archive is created.

    What is damaged is skipped, with a warning. A place is a path, a glob in quotes, or the URL of
    a cache or an evidence store; `warc:PLACE` and the like say what it is.
    """
    _need_bulk()
    from manners.bulk import archive as archives
    from manners.bulk.records import Problems

    problems, progress = Problems(), render.Progress()
    try:
        added = archives.add(
            archive, places, problems=problems, on_progress=_say(progress, "added")
        )
    finally:
        progress.clear()
    _warn(problems)
    if json:
        print(render.as_json({**added._asdict(), "problems": dict(problems)}))
    else:
        print(f"added {count(added.records, 'record')} ({_size(added.bytes)}) to {archive!r}")
    return 0


@command.command("list")
def list_sites(
    archive: ArchiveArgument,
    site: Annotated[
        str | None,
        typer.Argument(metavar="[SITE]", help="Any URL of a site: show its records over time."),
    ] = None,
    *,
    json: JsonOption = False,
) -> int:
    """List the sites of an archive, or the records of one of them over time.

    Exit code 1 if the archive has no record of the site.
    """
    _need_bulk()
    from manners.bulk import archive as archives

    if site is not None:
        return _show_history(archives.history(archive, site), site, json)
    if json:
        for found in archives.listing(archive):
            print(render.as_json(_as_dict(found)))
        return 0
    files, size = archives.size_of(archive)
    print(render.styled(_line("SITE", "RECORDS", "FIRST (UTC)", "LAST (UTC)"), "bold"))
    sites = records = 0
    for found in archives.listing(archive):
        first, last = _clock(found.first), _clock(found.last)
        print(_line(printable(found.origin), f"{found.records:,}", first, last))
        sites, records = sites + 1, records + found.records
    print(
        f"{count(sites, 'site')}, {count(records, 'record')},"
        f" {count(files, 'file')} ({_size(size)})"
    )
    return 0


@command.command("pack")
def pack(archive: ArchiveArgument, *, json: JsonOption = False) -> int:
    """Sort an archive by site and time, and drop duplicates, so that it is small and quick to read.

    Of replies that say the same, one after the other, the first and the last are kept.
    """
    _need_bulk()
    from manners.bulk import archive as archives

    progress = render.Progress()
    try:
        packed = archives.pack(archive, on_progress=_say(progress, "packing"))
    finally:
        progress.clear()
    if json:
        print(render.as_json(packed._asdict()))
        return 0
    print(
        f"packed {count(packed.records_before, 'record')} ({_size(packed.bytes_before)})"
        f" into {packed.records:,} ({_size(packed.bytes)})"
    )
    return 0


def _need_bulk() -> None:
    """Say which extra is missing, before anything else fails."""
    import manners.bulk.records  # noqa: F401


def _say(progress: render.Progress, what: str) -> Callable[[int], None]:
    return lambda records: progress.say(f"{what} {count(records, 'record')}")


def _warn(problems: "Problems") -> None:
    for problem, number in problems.items():
        inputs.warn(printable(problem if number == 1 else f"{problem}: {number:,}"))


def _show_history(replies: "list[ArchivedReply]", site: str, json: bool) -> int:
    if not replies:
        inputs.warn(f"not in the archive: {printable(site)}")
        return 1
    if json:
        for reply in replies:
            print(render.as_json(_as_dict(reply)))
        return 0
    rows = [
        (
            _clock(reply.fetched_at),
            "-" if reply.status is None else str(reply.status),
            "-" if reply.bytes is None else f"{reply.bytes:,}{'' if reply.complete else '+'}",
            (reply.sha256 or "-")[:12],
            reply.url + (f" -> {reply.location}" if reply.location else ""),
        )
        for reply in replies
    ]
    print(render.table(("FETCHED (UTC)", "STATUS", "BYTES", "SHA-256", "URL"), rows))
    return 0


def _as_dict(found: "ArchivedSite | ArchivedReply") -> dict[str, Any]:
    values = found._asdict()
    for name in ("first", "last", "fetched_at"):
        if values.get(name) is not None:
            values[name] = values[name].isoformat().replace("+00:00", "Z")
    return values


def _line(*cells: str) -> str:
    widths: Iterable[int] = (_SITE_WIDTH, 8, 19, 19)
    site, records, *times = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join((site, records.strip().rjust(8), *times)).rstrip()


def _clock(moment: "datetime | None") -> str:
    return "-" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
