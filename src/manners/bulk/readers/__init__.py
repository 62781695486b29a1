"""Readers of records of robots.txt, one file for each form that people have them in.

A place is a path, a glob or a URL; its reader is found by looking at it. `parquet:PLACE`,
`warc:PLACE`, `folder:PLACE`, `cache:PLACE` and `evidence:PLACE` name the reader instead.

Damaged data: without `problems`, it is a `BulkError` that names the file, and where in it. With
`problems`, what can be read counts, the rest of the damaged file is skipped, and that is counted;
a place in which nothing can be read is an error all the same.
"""

import glob
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from manners import _family
from manners.bulk.records import BulkError, Problems

Place = str | PathLike[str]
_LOOK = 1_000
"""Files of a folder that are looked at, to see what it has."""


class Reader(Protocol):
    """What a module of this folder has."""

    def recognises(self, path: Path) -> bool:
        """Whether a file or a folder is of this form; the first that says so reads it."""

    def read(self, place: str, problems: Problems | None) -> Iterator[Any]:
        """The records at a place, as batches with the schema `RECORDS`."""


def open(place: Place, problems: Problems | None = None) -> Iterator[Any]:  # noqa: A001
    """The records at a place, as batches with the schema `RECORDS`, of bounded size.

    >>> next(open("nosuch.parquet"))
    Traceback (most recent call last):
    manners.bulk.records.BulkError: nosuch.parquet: no such file or folder
    """
    for reader, path in _found(fspath(place)):
        known, is_empty = len(problems.damage) if problems is not None else 0, True
        for batch in reader.read(path, problems):
            is_empty = False
            yield batch
        if problems is not None and is_empty and len(problems.damage) > known:
            raise problems.damage[known]


def open_places(places: Place | Sequence[Place], problems: Problems | None = None) -> Iterator[Any]:
    """The records at one place after the other."""
    for place in [places] if isinstance(places, str | PathLike) else places:
        yield from open(place, problems)


def damaged(place: str, where: str, problem: object, problems: Problems | None) -> None:
    """Raise for damaged data, or count it."""
    error = BulkError(place, f"damaged {where}: {' '.join(str(problem).split())}")
    if problems is None:
        raise error from None
    problems.add_damage(error)


def files_at(place: Place) -> Iterator[str]:
    """The files that a place has its records in; none of a store on a server."""
    for reader, path in _found(fspath(place)):
        if "://" not in path:
            yield from reader.files(path) if hasattr(reader, "files") else (path,)


def files_below(folder: str, suffixes: tuple[str, ...]) -> list[str]:
    """The files below a folder whose names end so, sorted; hidden ones and `_…` are not data."""
    return sorted(path for path in _walk(folder) if path.lower().endswith(suffixes))


def has_files(folder: str, suffixes: tuple[str, ...]) -> bool:
    """Whether a folder has such files, by the first ones in it."""
    return any(path.lower().endswith(suffixes) for path in islice(_walk(folder), _LOOK))


def _walk(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        # A run that writes its output beside its input has a work folder there.
        folders[:] = [n for n in folders if not (n.startswith((".", "_")) or n.endswith(".work"))]
        for name in names:
            if not name.startswith((".", "_")):
                yield os.path.join(parent, name)  # noqa: PTH118 (there may be millions)


def _found(place: str) -> Iterator[tuple[Any, str]]:
    """The reader of each place that a user named, which may be a glob."""
    name, colon, rest = place.partition(":")
    reader: ModuleType | None = None
    if colon and name in _family.names(__name__) and not rest.startswith("//"):
        reader, place = _family.member(__name__, "reader", name), rest
    scheme, separator, _ = place.partition("://")
    if separator:
        yield reader or _by_scheme(scheme.lower(), place), place
        return
    paths = [place]
    if glob.has_magic(place) and not Path(place).exists():
        paths = sorted(glob.glob(place, recursive=True))  # noqa: PTH207 (it may be absolute)
        if not paths:
            raise BulkError(place, "no file matches")
    for path in paths:
        if not Path(path).exists():
            raise BulkError(path, "no such file or folder")
        yield reader or _recognised(path), path


def _by_scheme(scheme: str, place: str) -> ModuleType:
    if scheme == "sqlite":
        return _recognised(place.partition("://")[2].removeprefix("/"))
    for name in _family.names(__name__):
        module = _family.member(__name__, "reader", name)
        if scheme in getattr(module, "SCHEMES", ()):
            return module
    raise BulkError(place, "not a place here: copy it to a file, or mount it as a folder")


def _recognised(path: str) -> ModuleType:
    names = _family.names(__name__)
    modules = [_family.member(__name__, "reader", name) for name in names]
    for module in sorted(modules, key=lambda module: getattr(module, "IS_LAST", False)):
        if module.recognises(Path(path)):
            return module
    listed = ", ".join(f"{name}:" for name in names)
    raise BulkError(path, f"cannot tell what it is; put one of these before it: {listed}")


def is_sqlite(path: str) -> bool:
    """Whether a file is a database of SQLite."""
    return magic(Path(path), 16) == b"SQLite format 3\0"


def magic(path: Path, size: int = 128) -> bytes:
    """The first bytes of a file; none of a folder."""
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise BulkError(str(path), error.strerror or str(error)) from None
