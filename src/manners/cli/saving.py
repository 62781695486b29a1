"""Files that are written: one for each page, whatever its URL looks like; all of it or nothing."""

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

_MAX_NAME, _MAX_FOLDER = 80, 120
_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")
_UNSAFE_IN_HOST = re.compile(r"[^a-z0-9_.-]+")
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,8}\Z").search
_is_sha256 = re.compile(r"[0-9a-f]{64}").fullmatch
# Windows keeps these names for devices, whatever comes behind a dot.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)").match


_ENDINGS = {
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
"""The ending of a file, by the type that the server names."""
_KNOWN_ENDINGS = {*_ENDINGS.values(), ".jpeg"}
_UNTYPED = ("", "application/octet-stream", "binary/octet-stream")


def ending_of(content_type: str, written: str = "") -> str:
    """The ending of a file: by its type, else as its URL has it, if it is a known one.

    >>> ending_of("text/html", ".php"), ending_of("image/jpeg"), ending_of("", ".PDF")
    ('.html', '.jpg', '.pdf')
    >>> ending_of("application/x-sh"), ending_of("application/octet-stream", ".exe")
    ('.bin', '.bin')
    """
    kind, own = content_type.partition(";")[0].strip().lower(), written.lower()
    if kind in _UNTYPED and own in _KNOWN_ENDINGS:
        return own
    suffix = f".{kind.rpartition('+')[2]}" if "+" in kind else ""  # RFC 6839: +xml, +json, +zip
    return _ENDINGS.get(kind) or (suffix if suffix in _KNOWN_ENDINGS else ".bin")


def file_of(url: str, content_type: str = "") -> Path:
    """The file that a URL is saved in: a folder for the host, a name that only this URL has.

    The beginning of a name is for people. What tells it from all others is a digest of the URL, as
    it is requested: so names are the same in every run, and where file systems do not tell `A` from
    `a`. The ending is that of the type, whatever the URL looks like.

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
    ending = found[0] if (found := _ENDING(path)) else ""
    shown = _UNSAFE.sub("-", f"{path.removesuffix(ending)}-{query}")[: _MAX_NAME + 1].strip("-")
    digest = hashlib.sha256(asked.encode("ascii")).hexdigest()[:12]
    folder = _UNSAFE_IN_HOST.sub("_", site.partition("//")[2])[:_MAX_FOLDER].strip("_.")
    if not folder or _DEVICE(folder):
        folder = f"_{folder}"
    return Path(folder, f"{shown or 'page'}-{digest}{ending_of(content_type, ending)}")


def made(folder: Path) -> Path:
    """A folder that can be saved to, made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unusable(f"cannot write to {str(folder)!r}: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise Unusable(f"cannot write to {str(folder)!r}")
    return folder


def save(body: bytes, url: str, root: Path, content_type: str = "") -> Path:
    """Write the body of a page to its file under a folder, all of it or nothing."""
    path = root / file_of(url, content_type)
    try:
        path.parent.mkdir(exist_ok=True)
        if path.parent.is_symlink():
            raise Unusable(f"cannot write {str(path)!r}: its folder is a link to another place")
        _write(body, path)
    except OSError as error:
        raise Unusable(f"cannot write {str(path)!r}: {error.strerror}") from None
    return path


def _write(body: bytes, path: Path) -> None:
    with replacing(path) as file:
        file.write(body)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which is in its place when all went well, and nowhere otherwise."""
    # A link that has the name of the file is replaced, and not followed.
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
def new(path: Path, force: bool, precious: str) -> Iterator[BinaryIO]:
    """A file to write to, as `replacing` has it, which replaces nothing unless it is forced to.

    What is no file, a device for example, is never replaced; nor is the `precious` database. Its
    log has its place beside it, also while there is none: what stands there would be taken for one.
    """
    try:
        parts = [Path(precious + end) for end in ("", "-wal", "-shm", "-journal")]
        if os.path.realpath(path) in map(os.path.realpath, parts):
            raise Unusable(f"{str(path)!r} is the store")
        if path.exists():
            if not path.is_file():
                raise Unusable(f"{str(path)!r} is not a file")
            if any(part.exists() and path.samefile(part) for part in parts):
                raise Unusable(f"{str(path)!r} is the store")
            if not force:
                raise Unusable(f"{str(path)!r} is there already; --force replaces it")
        with replacing(path) as file:
            yield file
    except OSError as error:
        raise Unusable(f"cannot write {str(path)!r}: {error.strerror}") from None


_KNOWN = 100_000
"""Files of which it is remembered that they are written."""


class Snapshots:
    """The robots.txt files that records rest on, in a folder, by their SHA-256."""

    def __init__(self, folder: Path | None, look_up: Callable[[str], bytes | None]) -> None:
        self._folder, self._look_up = folder, look_up
        self._known: set[str] = set()
        self.bad = 0
        """How many are missing, or are not what they were."""

    def add(self, sha256: object) -> None:
        """Write the file that has this hash, if it is not there yet; None is no file."""
        name = str(sha256)
        if self._folder is None or sha256 is None or name in self._known:
            return
        if len(self._known) >= _KNOWN:
            self._known.clear()
        self._known.add(name)
        # Somebody may have changed the record, and it becomes the name of a file.
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
