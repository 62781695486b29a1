"""WARC files on disk: written record by record, complete under their names, recovered if not.

A file is `NAME.warc.gz.open` while it is written, and locked. Whoever finds one that nobody has
locked is looking at what a process left that was killed: it is cut after its last complete record,
and gets its name.
"""

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from manners import logs
from manners._text import count
from manners.errors import MissingExtra, StoreError
from manners.warc.cdxj import CdxLine
from manners.warc.records import WarcDraft, digest, mime_of, record_head

try:
    from fastwarc.warc import ArchiveIterator, WarcRecordType
    from isal import isal_zlib
except ModuleNotFoundError as error:
    raise MissingExtra(str(error.name), "warc") from None
try:
    import fcntl
except ModuleNotFoundError:  # not on this system: then nobody may share the folder
    fcntl = None  # type: ignore[assignment]

OPEN = ".open"
"""Behind the name of a file that is not complete."""
SUFFIX = ".warc.gz"
INDEX = ".cdxj"
_LEVEL = 1
"""Of ISA-L, which compresses as well as level 6 of zlib in a sixth of its time."""
_CHUNK = 65_536
_END = b"\r\n\r\n"


class WarcFile:
    """A file that is being written. Raises OSError when it cannot be."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name + SUFFIX
        self._final = folder / self.name
        self._place = folder / (self.name + OPEN)
        if self._final.exists():
            raise FileExistsError(self._final)
        self._file = self._place.open("xb", buffering=0)
        try:
            _lock(self._file.fileno())
            if not _is_same(self._place, self._file.fileno()):  # taken for a remnant, and removed
                raise FileExistsError(self._place)
            self._index = (folder / (name + INDEX + OPEN)).open("w", encoding="utf-8")
        except BaseException:
            self._file.close()
            raise
        _sync_folder(folder)
        self._pieces: list[bytes] = []
        self.size = 0
        """Bytes, those included that are not written yet."""

    def add(self, record: WarcDraft) -> None:
        """Add a record; it is durable after `sync`."""
        begin = self.size
        payload = "-" if record.payload is None else digest(record.payload)
        data = b"".join((record_head(record, payload), record.block, _END))
        # A member for each record (WARC 1.1, annex D). In one call: each may wait for the thread
        # of the crawl.
        member = isal_zlib.compress(data, _LEVEL, zlib.MAX_WBITS | 16)
        self._pieces.append(member)
        self.size += len(member)
        if record.mime:
            capture = CdxLine(
                *(record.url, record.moment, record.mime, record.status, payload),
                *(begin, self.size - begin),
            )
            self._index.write(capture.text(self.name) + "\n")

    def sync(self) -> None:
        """Write what was added, durably."""
        data = memoryview(b"".join(self._pieces))
        self._pieces.clear()
        while data:
            data = data[self._file.write(data) :]
        os.fsync(self._file.fileno())

    def complete(self) -> None:
        """Write the index, and give the file its name."""
        self.sync()
        self._index.close()
        draft = Path(self._index.name)
        lines = draft.read_text(encoding="utf-8").splitlines(keepends=True)
        _finish(self._place, lines)
        draft.unlink(missing_ok=True)
        self._file.close()

    def abandon(self) -> None:
        """Leave the file as it is, to be recovered."""
        self._index.close()
        self._file.close()


def recover(folder: Path) -> int:
    """Complete what killed processes left in a folder; returns how many files that were."""
    recovered = 0
    for place in sorted(folder.glob(f"*{SUFFIX}{OPEN}")):
        try:
            with place.open("r+b") as file:
                if not _lock(file.fileno(), is_tried=True) or not _is_same(place, file.fileno()):
                    continue  # somebody writes it, or has just recovered it
                size = file.seek(0, os.SEEK_END)
                end = _end_of_members(file)
                if end < size:
                    file.truncate(end)
                    os.fsync(file.fileno())
                _restore(place, end, size - end)
        except FileNotFoundError:  # another process was faster
            continue
        except OSError as error:
            raise StoreError(str(place), f"cannot be recovered: {error.strerror}") from None
        recovered += 1
    for draft in folder.glob(f"*{INDEX}{OPEN}"):
        if not draft.with_name(draft.name.removesuffix(INDEX + OPEN) + SUFFIX + OPEN).exists():
            draft.unlink(missing_ok=True)  # its file is complete
    return recovered


def _restore(place: Path, end: int, dropped: int) -> None:
    """Name a file that was cut, with its index; an empty one is removed."""
    draft = place.with_name(place.name.removesuffix(SUFFIX + OPEN) + INDEX + OPEN)
    if end:
        name = place.name.removesuffix(OPEN)
        _finish(place, [capture.text(name) + "\n" for capture in captures(place)])
        rest = f", without {count(dropped, 'byte')} of an incomplete record" if dropped else ""
        logs.warned(f"recovered {name!r}, which a process left that was killed{rest}")
    else:
        place.unlink()
    draft.unlink(missing_ok=True)


def _finish(place: Path, lines: list[str]) -> None:
    """Write the index of a file, and give the file its name, in this order."""
    final = place.with_name(place.name.removesuffix(OPEN))
    index = place.with_name(final.name.removesuffix(SUFFIX) + INDEX)
    draft = index.with_name(index.name + ".new")
    with draft.open("w", encoding="utf-8") as file:
        file.writelines(sorted(lines))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(index)
    place.rename(final)
    _sync_folder(final.parent)


def _end_of_members(file: Any) -> int:
    """Where the last complete member of a compressed file ends."""
    file.seek(0)
    end, at, stream, data = 0, 0, zlib.decompressobj(zlib.MAX_WBITS | 16), b""
    while data or (data := file.read(_CHUNK)):
        try:
            stream.decompress(data, _CHUNK)
        except zlib.error:
            break
        rest = stream.unused_data if stream.eof else stream.unconsumed_tail
        at += len(data) - len(rest)
        data = rest
        if stream.eof:
            end, stream = at, zlib.decompressobj(zlib.MAX_WBITS | 16)
    return end


def captures(place: Path) -> Iterator[CdxLine]:
    """What the index of a file says, read from the file."""
    is_head = False
    found: CdxLine | None = None
    with place.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        for record in ArchiveIterator(file, parse_http=False):
            if found is not None:
                yield found._replace(length=record.stream_pos - found.offset)
            found = None
            headers, kind = record.headers, record.record_type
            if kind == WarcRecordType.request:
                is_head = record.reader.read(5) == b"HEAD "
                continue
            fields = _index_fields(record, kind, is_head)
            if fields is not None:
                moment = "".join(filter(str.isdigit, headers["WARC-Date"]))[:14]
                payload = headers.get("WARC-Payload-Digest") or "-"
                url, begin = headers["WARC-Target-URI"], record.stream_pos
                found = CdxLine(url, moment, *fields, payload, begin, 0)
        if found is not None:
            yield found._replace(length=size - found.offset)


def _index_fields(record: Any, kind: Any, is_head: bool) -> tuple[str, str] | None:
    """Media type and status of a record that replay may look for."""
    if kind == WarcRecordType.resource:
        return "text/plain", "200"
    if is_head or kind not in (WarcRecordType.response, WarcRecordType.revisit):
        return None
    block = record.reader.read(262_144)
    status = block.split(b" ", 2)[1].decode("ascii", "replace")
    if kind == WarcRecordType.revisit:
        return "warc/revisit", status
    end = block.find(b"\r\n\r\n")
    return mime_of(block[: end + 4]), status


def _lock(descriptor: int, *, is_tried: bool = False) -> bool:
    """Lock a file as long as it is open; whether that worked."""
    if fcntl is None:
        return not is_tried
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if is_tried:
            return False
        raise
    return True


def _is_same(place: Path, descriptor: int) -> bool:
    """Whether a path still leads to an open file."""
    try:
        opened, there = os.fstat(descriptor), place.stat()
    except FileNotFoundError:
        return False
    return (opened.st_dev, opened.st_ino) == (there.st_dev, there.st_ino)


def _sync_folder(folder: Path) -> None:
    """Make names in a folder durable, where the system can."""
    with suppress(OSError, AttributeError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
