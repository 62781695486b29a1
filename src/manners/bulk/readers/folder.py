"""A folder of robots.txt files that are named after their sites.

    example.com                    https://example.com
    example.com.txt                the same
    example.com_8443.txt           https://example.com:8443
    http_example.com.txt           http://example.com
    http_example.com_8080.txt      http://example.com:8080
    example.com/robots.txt         in a folder that is named so

Each counts as a reply with status 200, at the time when the file was last changed.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from manners.bulk.records import (
    MAX_BODY,
    BulkError,
    Problems,
    RobotsRecord,
    milliseconds,
    record_batches,
)
from manners.errors import InvalidURL
from manners.urls import robots_url

UNNAMED = "files that are not named after a site"
_NAME = re.compile(r"(?:(https?)_)?([^/\\@?#\s]+?\.[^/\\@?#\s]+?|localhost)(?:_([0-9]{1,5}))?")
_ROBOTS_TXT = "robots.txt"
IS_LAST = True
"""Any folder could be of this form: the other readers look first."""


def recognises(path: Path) -> bool:
    """Whether it is a folder."""
    return path.is_dir()


def files(place: str) -> list[str]:
    """The files of a folder that may be those of sites."""
    return sorted(str(path) for _, path in _files(place))


def read(place: str, problems: Problems | None) -> Iterator[pa.RecordBatch]:
    """The files of a folder, as records."""
    if not Path(place).is_dir():
        raise BulkError(place, "not a folder of robots.txt files")
    problems = Problems() if problems is None else problems
    empty = True
    for batch in record_batches(_records(place, problems), problems):
        empty = False
        yield batch
    if empty:
        raise BulkError(place, "no file in it is named after a site, as example.com.txt is")


def url_of(name: str) -> str | None:
    """The URL of the robots.txt that a file is named after; None if it is named otherwise.

    >>> url_of("example.com.txt"), url_of("http_example.com_8080")
    ('https://example.com/robots.txt', 'http://example.com:8080/robots.txt')
    >>> url_of("README.txt")
    """
    found = _NAME.fullmatch(name.removesuffix(".txt"))
    if found is None:
        return None
    scheme, host, port = found.groups()
    try:
        return robots_url(f"{scheme or 'https'}://{host}" + (f":{port}" if port else ""))
    except InvalidURL:
        return None


def _records(folder: str, problems: Problems) -> Iterator[RobotsRecord]:
    for name, path in _files(folder):
        url = url_of(name)
        if url is None:
            problems[UNNAMED] += 1
            continue
        try:
            with path.open("rb") as file:
                body = file.read(MAX_BODY + 1)
                changed = os.fstat(file.fileno()).st_mtime
        except OSError as error:
            raise BulkError(str(path), error.strerror or str(error)) from None
        complete = len(body) <= MAX_BODY
        time = milliseconds(changed)
        yield RobotsRecord(url, 200, complete=complete, fetched_at=time, body=body[:MAX_BODY])


def _files(folder: str) -> Iterator[tuple[str, Path]]:
    """The name of each site, and its file; in no order, as there may be millions."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            inner = Path(entry.path, _ROBOTS_TXT)
            if entry.is_file():
                yield entry.name, Path(entry.path)
            elif entry.is_dir() and inner.is_file():
                yield entry.name, inner
