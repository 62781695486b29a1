"""A folder of saved pages: a file for each page, and `manifest.jsonl`, the list of them."""

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from manners.cli import render, saving
from manners.cli.inputs import Unusable
from manners.errors import InvalidURL
from manners.urls import requestable

if TYPE_CHECKING:
    from manners.client.page import Page

_OLD_NAME = "pages.jsonl"
"""What the manifest was called before 0.2; such a file is renamed."""
_MAX_LINE = 1_000_000
"""Bytes of the longest line of a manifest."""
_OF_ONE_REQUEST = ("fetched_at", "evidence_id")
"""Members that differ each time a page is fetched, even if the page has not changed."""


class PageFolder:
    """Saves pages, and adds each to the manifest when its file is written.

    The manifest has one line for each page, appended at once, so that a process that is killed
    loses nothing. A page that was saved before and has changed is appended again; its older line
    is dropped when the folder is closed, or next opened. Which pages are saved is kept in a
    temporary database, not in memory, because a list may be very long.

        with PageFolder(Path("pages")) as folder:
            if not folder.has(url):
                path = folder.save(page)
    """

    def __init__(self, root: Path) -> None:
        self.root = saving.make_folder(root)
        self._path = self.root / saving.MANIFEST
        # URLs are looked up in one thread, and pages saved in another.
        self._lock = threading.Lock()
        self._known = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._known.execute("PRAGMA journal_mode = OFF")
        self._known.execute(
            "CREATE TABLE known (url BLOB PRIMARY KEY, entry BLOB, line INTEGER) WITHOUT ROWID"
        )
        self._lines = self._outdated = 0
        try:
            self._adopt()
            self._load()
            if self._compact():
                self._load()
            self._file: int | None = self._open()
        except BaseException as error:
            self._known.close()
            if isinstance(error, OSError):
                raise self._unusable(error.strerror or str(error)) from None
            raise

    def has(self, url: str) -> bool:
        """Whether the page of a URL was saved."""
        try:
            key = _key(url)
        except InvalidURL:
            return False
        with self._lock:
            return self._entry(key) is not None

    def save(self, page: "Page") -> Path:
        """Write the body of a page to its file, and add it to the manifest."""
        kind = page.headers.get("content-type", "").partition(";")[0].strip().lower()[:200]
        body = getattr(page, "rendered", "").encode("utf-8", "replace") or page.body
        path = saving.save(body, page.url, self.root, kind)
        began = datetime.fromtimestamp(page.hops[-1].started, UTC)
        entry = {
            "url": page.url,
            "final_url": page.final_url,
            "file": path.relative_to(self.root).as_posix(),
            "status": page.status,
            "type": kind,
            "bytes": len(body),
            "sha256": hashlib.sha256(body).hexdigest(),
        }
        digest = _digest(entry)
        key = _key(page.url)
        at = began.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with self._lock:
            if self._entry(key) != digest:
                entry |= {"fetched_at": at, "evidence_id": page.evidence_id}
                self._append(render.as_json(entry).encode() + b"\n")
                self._note(key, digest)
        return path

    def close(self) -> None:
        """Drop the lines of the manifest that newer ones replace, and close it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
            with suppress(OSError, Unusable):  # it is done next time
                if self._outdated:
                    self._load()  # another process may have added lines
                self._compact()
            self._known.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        return os.open(self._path, flags, 0o666)

    def _is_current(self, file: int) -> bool:
        """Whether an open file is the manifest: another process may have replaced it."""
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except FileNotFoundError:
            return False

    def _append(self, line: bytes) -> None:
        if self._file is None:
            raise ValueError("the folder is closed")
        try:
            if not self._is_current(self._file):
                os.close(self._file)
                self._file = self._open()
            size = os.fstat(self._file).st_size
            try:
                if os.write(self._file, line) != len(line):
                    raise OSError(0, "no space left")
            except OSError:
                os.ftruncate(self._file, size)  # no half line
                raise
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None

    def _entry(self, key: bytes) -> bytes | None:
        """A digest of the line of a page; None: it has none."""
        found = self._known.execute("SELECT entry FROM known WHERE url = ?", (key,)).fetchone()
        return None if found is None else bytes(found[0])

    def _note(self, key: bytes, digest: bytes) -> None:
        self._lines += 1
        self._outdated += self._entry(key) is not None
        row = (key, digest, self._lines)
        self._known.execute("INSERT OR REPLACE INTO known VALUES (?, ?, ?)", row)

    def _adopt(self) -> None:
        """Take over the list of an earlier version, if there is no manifest yet."""
        manifest, old = self._path, self.root / _OLD_NAME
        if manifest.exists() or manifest.is_symlink() or not old.is_file():
            return
        self._path = old
        self._load()
        old.rename(manifest)
        self._path = manifest

    def _load(self) -> None:
        """Read the manifest of an earlier run; an incomplete last line is cut off."""
        if self._path.is_symlink():
            raise self._unusable("it is a symbolic link")
        if not self._path.exists():
            return
        size = self._lines = self._outdated = 0
        self._known.execute("DELETE FROM known")
        self._known.execute("BEGIN")
        with self._path.open("rb") as file:
            for line in _lines(file):
                if not line.endswith(b"\n") and len(line) <= _MAX_LINE:
                    break
                try:
                    entry = json.loads(line)
                    for name in _OF_ONE_REQUEST:
                        entry.pop(name, None)
                    key = _key(entry["url"])
                    Path(entry["file"])
                except (AttributeError, InvalidURL, KeyError, TypeError, ValueError):
                    raise self._unusable(
                        f"line {self._lines + 1} is not a saved page; use another folder"
                    ) from None
                self._note(key, _digest(entry))
                size += len(line)
        self._known.execute("COMMIT")
        if size != self._path.stat().st_size:
            os.truncate(self._path, size)

    def _compact(self) -> bool:
        """Keep the last line of each page; return whether there was anything to drop."""
        if not self._outdated:
            return False
        kept = self._known.execute("SELECT line FROM known ORDER BY line")
        (wanted,) = kept.fetchone()
        with self._path.open("rb") as file, saving.replace_file(self._path) as new:
            for number, line in enumerate(_lines(file), 1):
                if number == wanted:
                    new.write(line)
                    (wanted,) = kept.fetchone() or (0,)
        return True

    def _unusable(self, problem: str) -> Unusable:
        return Unusable(f"cannot use {str(self._path)!r}: {problem}")


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_MAX_LINE + 1):
        yield line


def _key(url: str) -> bytes:
    """The key of a page: a digest of its URL, as it is requested."""
    return hashlib.sha256(requestable(url).encode("ascii")).digest()[:16]


def _digest(entry: Mapping[str, object]) -> bytes:
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).digest()[:16]
