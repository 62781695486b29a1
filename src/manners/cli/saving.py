"""Writes files, completely or not at all: a safe file name for each page, whatever its URL is."""

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from manners.cli.inputs import Unusable
from manners.urls import origin, requestable

MANIFEST = "manifest.jsonl"
"""The list of saved pages, in their folder."""
_MAX_NAME, _MAX_FOLDER = 80, 120
_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")
_UNSAFE_IN_HOST = re.compile(r"[^a-z0-9_.-]+")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,8}\Z").search
_is_sha256 = re.compile(r"[0-9a-f]{64}").fullmatch
# Windows reserves these names for devices, whatever follows after a dot.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)").match


_EXTENSIONS = {
    **{
        f"text/{name}": f".{name}" for name in ("html", "css", "csv", "xml", "calendar", "markdown")
    },
    **{f"image/{name}": f".{name}" for name in ("png", "gif", "webp", "avif", "bmp", "tiff")},
    **{f"application/{name}": f".{name}" for name in ("pdf", "json", "xml", "zip", "rtf", "wasm")},
    **{f"audio/{name}": f".{name}" for name in ("ogg", "wav", "flac", "aac", "opus")},
    **{f"video/{name}": f".{name}" for name in ("mp4", "webm", "ogg")},
    **{f"font/{name}": f".{name}" for name in ("woff", "woff2", "ttf", "otf")},
    "text/plain": ".txt",
    "text/calendar": ".ics",
    "text/markdown": ".md",
    "text/javascript": ".js",
    "text/tab-separated-values": ".tsv",
    "application/xhtml+xml": ".html",
    "application/javascript": ".js",
    "application/rss+xml": ".xml",
    "application/atom+xml": ".xml",
    "application/ld+json": ".json",
    "application/x-ndjson": ".jsonl",
    "application/gzip": ".gz",
    "application/x-gzip": ".gz",
    "application/x-tar": ".tar",
    "application/epub+zip": ".epub",
    "application/msword": ".doc",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.ms-powerpoint": ".ppt",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "image/jpeg": ".jpg",
    "image/svg+xml": ".svg",
    "image/x-icon": ".ico",
    "image/vnd.microsoft.icon": ".ico",
    "audio/mpeg": ".mp3",
    "audio/mp4": ".m4a",
    "video/mpeg": ".mpeg",
    "video/quicktime": ".mov",
}
"""The extension of a file, by content type."""
_KNOWN_EXTENSIONS = {*_EXTENSIONS.values(), ".jpeg"}
_UNTYPED = ("", "application/octet-stream", "binary/octet-stream")


def extension_of(content_type: str, written: str = "") -> str:
    """The extension of a file: by its content type, else that of its URL, if it is a known one.

    >>> extension_of("text/html", ".php"), extension_of("image/jpeg"), extension_of("", ".PDF")
    ('.html', '.jpg', '.pdf')
    >>> extension_of("application/x-sh"), extension_of("application/octet-stream", ".exe")
    ('.bin', '.bin')
    """
    kind, own = content_type.partition(";")[0].strip().lower(), written.lower()
    if kind in _UNTYPED and own in _KNOWN_EXTENSIONS:
        return own
    suffix = f".{kind.rpartition('+')[2]}" if "+" in kind else ""  # RFC 6839: +xml, +json, +zip
    return _EXTENSIONS.get(kind) or (suffix if suffix in _KNOWN_EXTENSIONS else ".bin")


def file_of(url: str, content_type: str = "") -> Path:
    """The file that a URL is saved in: a folder for the host, and a name that is unique to the URL.

    The beginning of a name is for people. It is unique by a digest of the URL, as it is requested:
    so names are the same in every run, also on file systems that do not distinguish `A` from `a`.
    The extension is that of the content type, whatever the URL looks like.

    >>> file_of("https://example.com/docs/intro.php?page=2", "text/html").as_posix()
    'example.com/docs-intro-page-2-5ca870c61cf7.html'
    >>> file_of("https://example.com/../../etc/passwd", "text/plain; charset=utf-8").as_posix()
    'example.com/etc-passwd-99164840ea55.txt'
    """
    asked = requestable(url)
    site = origin(asked)
    path, _, query = (unquote(part) for part in asked[len(site) :].partition("?"))
    if path.endswith("/"):
        path += "index.html"
    extension = found[0] if (found := _EXTENSION(path)) else ""
    shown = _UNSAFE.sub("-", f"{path.removesuffix(extension)}-{query}")[: _MAX_NAME + 1].strip("-")
    digest = hashlib.sha256(asked.encode("ascii")).hexdigest()[:12]
    folder = _UNSAFE_IN_HOST.sub("_", site.partition("//")[2])[:_MAX_FOLDER].strip("_.")
    if not folder or folder == MANIFEST or _DEVICE(folder):
        folder = f"_{folder}"
    return Path(folder, f"{shown or 'page'}-{digest}{extension_of(content_type, extension)}")


def make_folder(folder: Path) -> Path:
    """Make a folder to save to, if it does not exist; raise if it is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unusable(f"cannot write to {str(folder)!r}: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise Unusable(f"cannot write to {str(folder)!r}")
    return folder


def save(body: bytes, url: str, root: Path, content_type: str = "") -> Path:
    """Write the body of a page to its file under a folder, completely or not at all."""
    path = root / file_of(url, content_type)
    try:
        path.parent.mkdir(exist_ok=True)
        if path.parent.is_symlink():
            raise Unusable(f"cannot write {str(path)!r}: its folder is a symbolic link")
        _write(body, path)
    except OSError as error:
        raise Unusable(f"cannot write {str(path)!r}: {error.strerror}") from None
    return path


def _write(body: bytes, path: Path) -> None:
    with replace_file(path) as file:
        file.write(body)


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to; it replaces the one at `path` on success, and is deleted otherwise."""
    # A symbolic link at `path` is replaced, not followed.
    unfinished = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with unfinished.open("xb") as file:
            yield file
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


@contextmanager
def new_file(path: Path, force: bool, store: str = "") -> Iterator[BinaryIO]:
    """A file to write to, as `replace_file`; an existing file is replaced with `force` only.

    Never replaced are devices and other things that are not files, and the `store`. Nor are the
    names of its log files used, even if they do not exist: the database would read them as logs.
    """
    try:
        ends = ("", "-wal", "-shm", "-journal") if store else ()
        parts = [Path(store + end) for end in ends]
        if os.path.realpath(path) in map(os.path.realpath, parts):
            raise Unusable(f"{str(path)!r} is the store")
        if path.exists():
            if not path.is_file():
                raise Unusable(f"{str(path)!r} is not a file")
            if any(part.exists() and path.samefile(part) for part in parts):
                raise Unusable(f"{str(path)!r} is the store")
            if not force:
                raise Unusable(f"{str(path)!r} already exists; --force replaces it")
        with replace_file(path) as file:
            yield file
    except OSError as error:
        raise Unusable(f"cannot write {str(path)!r}: {error.strerror}") from None


_MAX_KNOWN = 100_000
"""Files that are remembered as written."""


class Snapshots:
    """Writes the robots.txt files that records refer to into a folder, named by SHA-256."""

    def __init__(self, folder: Path | None, look_up: Callable[[str], bytes | None]) -> None:
        self._folder, self._look_up = folder, look_up
        self._known: set[str] = set()
        self.bad = 0
        """How many are missing or were changed."""

    def add(self, sha256: object) -> None:
        """Write the file that has this hash, unless it exists; None is no file."""
        name = str(sha256)
        if self._folder is None or sha256 is None or name in self._known:
            return
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known.add(name)
        # A record may have been tampered with, and the hash becomes the name of a file.
        body = self._look_up(name) if _is_sha256(name) else None
        if body is None or hashlib.sha256(body).hexdigest() != name:
            self.bad += 1
            return
        path = self._folder / f"{name}.txt"
        try:
            if not (path.is_file() and path.read_bytes() == body):
                _write(body, path)
        except OSError as error:
            raise Unusable(f"cannot write {str(path)!r}: {error.strerror}") from None
