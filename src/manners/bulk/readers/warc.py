"""WARC files, such as the `robotstxt` files of Common Crawl, compressed or not.

Every HTTP response is a record, whatever its status: a redirect is one, and what it leads to is
another. Common Crawl stores bodies decompressed and renames the headers that said otherwise
(`X-Crawl-Content-Encoding`), so they are not decompressed again; other programs store them as they
were sent.

Our own archives (`--warc`) have the robots.txt that decided as a resource, and where there was none
or no answer, a metadata record that says so.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from manners._inflate import DEFLATE, GZIP, Inflater
from manners._unpack import HAS_BROTLI, HAS_ZSTD, Unbrotli, UnpackError, Unzstd
from manners.bulk.readers import damaged, files_below, has_files, magic
from manners.bulk.records import (
    MAX_BODY,
    BulkError,
    Problems,
    RecordBuffer,
    RobotsRecord,
    location_text,
    milliseconds,
)
from manners.charset import charset_of
from manners.errors import MissingExtra

NOT_HTTP = "responses without a status line or an end of their headers"
UNDECODABLE = "bodies that cannot be decompressed"
_SUFFIXES = (".warc", ".warc.gz", ".warc.zst", ".warc.lz4")
_MAX_HEAD = 262_144
"""Bytes of HTTP headers that are read; a response with more is skipped."""
_MAX_SENT = MAX_BODY + 65_536
"""Bytes of a body as it was sent, with the lengths of its chunks."""
_PIECE = 16_384
_MEMBERS = 100
_LENGTH = re.compile(rb"(?im)^content-length[ \t]*:[ \t]*([0-9]{1,18})").search
_STATUS = re.compile(rb"HTTP/[0-9](?:\.[0-9])?[ \t]+([0-9]{3})(?![0-9])", re.IGNORECASE).match
_HEADER = re.compile(
    rb"^(content-type|location|content-encoding|transfer-encoding)[ \t]*:[ \t]*([^\r\n]*)",
    re.IGNORECASE | re.MULTILINE,
).findall
_OUTCOME_STATUS = re.compile(rb"(?m)^robots-status: ([1-9][0-9]{2})\r?$").search
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,8})[^\r\n]{0,1000}\r?\n").match


def recognises(path: Path) -> bool:
    """Whether it is a WARC file, or a folder with some."""
    if path.is_dir():
        return has_files(str(path), _SUFFIXES)
    return path.name.lower().endswith(_SUFFIXES) or magic(path, 5) == b"WARC/"


def files(place: str) -> list[str]:
    """The WARC files at a place."""
    return files_below(place, _SUFFIXES) if Path(place).is_dir() else [place]


def read(place: str, problems: Problems | None) -> Iterator[pa.RecordBatch]:
    """The responses of all files at a place, as records."""
    paths = files(place)
    if not paths:
        raise BulkError(place, "no WARC files in it")
    buffer = RecordBuffer(problems)
    for path in paths:
        for record in _responses(path, problems):
            buffer.add(record)
            yield from buffer.full()
    yield from buffer.rest()


def _responses(path: str, problems: Problems | None) -> Iterator[RobotsRecord]:
    try:
        from fastwarc.warc import ArchiveIterator, WarcRecordType
    except ModuleNotFoundError:
        raise MissingExtra("fastwarc", "bulk") from None
    counts = Problems() if problems is None else problems
    position = 0
    try:
        with Path(path).open("rb") as file:
            kinds = WarcRecordType.response | WarcRecordType.resource | WarcRecordType.metadata
            for found in ArchiveIterator(file, record_types=kinds, parse_http=False):
                position = found.stream_pos
                is_response = found.record_type == WarcRecordType.response
                is_resource = found.record_type == WarcRecordType.resource
                if is_response:
                    record = _record(found, counts)
                else:
                    record = _archived(found) if is_resource else _absence(found)
                if record is not None:
                    yield record
            _check_end(file, position)
    except (OSError, EOFError, ValueError) as error:
        damaged(path, f"after byte {position:,}", error, problems)


def _check_end(file: BinaryIO, position: int) -> None:
    """Raise if a file was cut after the beginning of its last response.

    To the library, such a file is one that ends there.
    """
    file.seek(position)
    start = file.read(_PIECE)
    if start.startswith(b"\x1f\x8b"):
        _check_members(file, start)
    elif start.startswith(b"WARC/"):
        _check_records(file, position)


def _check_members(file: BinaryIO, data: bytes) -> None:
    """Raise if the last member of a compressed file has no end."""
    inflater = Inflater(GZIP, max_members=1_000_000)
    while data and not inflater.is_over:
        for _ in inflater.feed(data):  # what comes out is not needed, and may be much
            pass
        data = file.read(_PIECE)
    if not inflater.problem and not inflater.is_complete:  # others the library has read over
        raise EOFError("the file ends within a compressed record")


def _check_records(file: BinaryIO, position: int) -> None:
    """Raise if the last record of a file that is not compressed has no end."""
    size = file.seek(0, 2)
    while position < size:
        file.seek(position)
        start = file.read(_PIECE)
        head = start.lstrip()
        if not head:
            return
        position += len(start) - len(head)
        (end, begin), length = _end_of_head(head), _LENGTH(head)
        if end < 0 or length is None:
            if head.startswith(b"WARC/") and end < 0 and len(head) < _PIECE // 2:
                raise EOFError("the file ends within the header of a record")
            return
        position += begin + int(length[1])
    if position > size:
        raise EOFError("the file ends within a record")


def _record(response: Any, problems: Problems) -> RobotsRecord | None:
    """The record of one response; None if it is not one."""
    url = (response.headers.get("WARC-Target-URI") or "").strip().strip("<>")
    if url[:4].lower() != "http":  # names that were looked up, for example
        return None
    size = response.content_length
    block = response.reader.read(min(size, _MAX_HEAD + _MAX_SENT))
    if len(block) < min(size, _MAX_HEAD + _MAX_SENT):
        raise EOFError(f"the file ends within a record of {size:,} bytes")
    status = _STATUS(block)
    end, begin = _end_of_head(block)
    if status is None or end < 0:
        problems[NOT_HTTP] += 1
        return None
    headers: dict[bytes, bytes] = {}
    for name, value in _HEADER(block, 0, end):
        name = name.lower()  # several are one list, as for a live reply
        headers[name] = headers[name] + b", " + value if name in headers else value.strip()
    location = headers.get(b"location")
    is_cut = len(block) < size or bool(response.headers.get("WARC-Truncated"))
    body, complete = _decoded(block[begin:], headers)
    if body is None or not (complete or is_cut or len(body) > MAX_BODY):
        problems[UNDECODABLE] += 1  # live, such a site is unreachable
        return None
    complete = complete and not is_cut and len(body) <= MAX_BODY
    return RobotsRecord(
        url,
        int(status[1]),
        None if location is None else location_text(location),
        charset_of(headers.get(b"content-type", b"").decode("latin-1")) or None,
        complete,
        _time(response),
        body[:MAX_BODY],
    )


def _archived(resource: Any) -> RobotsRecord | None:
    """The record of a robots.txt that was archived by itself; None for any other resource."""
    url = _robots_url(resource)
    if url is None:
        return None
    size = resource.content_length
    body = resource.reader.read(min(size, MAX_BODY + 1))
    if len(body) < min(size, MAX_BODY + 1):
        raise EOFError(f"the file ends within a record of {size:,} bytes")
    is_cut = len(body) > MAX_BODY or bool(resource.headers.get("WARC-Truncated"))
    charset = charset_of(resource.headers.get("Content-Type") or "") or None
    return RobotsRecord(
        url,
        200,
        charset=charset,
        complete=not is_cut,
        fetched_at=_time(resource),
        body=body[:MAX_BODY],
    )


def _absence(metadata: Any) -> RobotsRecord | None:
    """The record of a site that had no robots.txt, or did not answer; None for other metadata."""
    url = _robots_url(metadata)
    if url is None:
        return None
    fields = metadata.reader.read(_MAX_HEAD)
    if not fields.startswith(b"robots-outcome:"):
        return None
    status = _OUTCOME_STATUS(fields)
    return RobotsRecord(url, int(status[1]) if status else None, fetched_at=_time(metadata))


def _robots_url(record: Any) -> str | None:
    """The URL of a record, if it is that of a robots.txt."""
    url = (record.headers.get("WARC-Target-URI") or "").strip().strip("<>")
    is_robots = url[:4].lower() == "http" and url.endswith("/robots.txt") and url.count("/") == 3
    return url if is_robots else None


def _end_of_head(block: bytes) -> tuple[int, int]:
    """Where the headers end and the body begins; -1 if they do not end."""
    end = block.find(b"\r\n\r\n", 0, _MAX_HEAD)
    bare = block.find(b"\n\n", 0, _MAX_HEAD if end < 0 else end)
    if bare >= 0:  # line breaks without carriage returns, as some servers send them
        return bare, bare + 2
    return end, end + 4


def _time(response: Any) -> int | None:
    written = response.headers.get("WARC-Date")
    if written is None:
        return None
    try:
        time = datetime.fromisoformat(written.strip())
        return milliseconds((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError, OSError):
        return None


# Bodies as they were sent.


def _decoded(body: bytes, headers: dict[bytes, bytes]) -> tuple[bytes | None, bool]:
    """A body without chunks and compression, and whether it is complete; None if that fails."""
    complete = True
    if b"chunked" in headers.get(b"transfer-encoding", b"").lower():
        body, complete = _without_chunks(body)
    encoding = headers.get(b"content-encoding", b"").strip().lower()
    if encoding in (b"", b"identity"):
        return body, complete
    if encoding in (b"gzip", b"x-gzip"):
        if not body.startswith(b"\x1f\x8b"):  # as in old files of Common Crawl
            return body, complete
        return _inflated(body, GZIP)
    if _is_text(body):
        return body, complete
    return _decompressed(body, encoding)


def _decompressed(body: bytes, encoding: bytes) -> tuple[bytes | None, bool]:
    match encoding:
        case b"deflate":
            return _inflated(body, DEFLATE)
        case b"br" if HAS_BROTLI:
            return _unpacked(body, Unbrotli())
        case b"zstd" if HAS_ZSTD:
            return _unpacked(body, Unzstd(_MEMBERS))
    return None, False


def _inflated(body: bytes, window: int) -> tuple[bytes | None, bool]:
    inflater, out = Inflater(window, max_members=_MEMBERS), bytearray()
    for piece in inflater.feed(body, MAX_BODY + 1):
        out += piece
        if len(out) > MAX_BODY:
            return bytes(out), False
    if inflater.problem:
        return None, False
    return bytes(out), inflater.is_complete


def _unpacked(body: bytes, stream: Unbrotli | Unzstd) -> tuple[bytes | None, bool]:
    out = bytearray()
    try:
        for piece in stream.feed(body, _PIECE):
            out += piece
            if len(out) > MAX_BODY:
                return bytes(out[: MAX_BODY + 1]), False
    except UnpackError:
        return None, False
    return bytes(out), stream.is_complete


def _is_text(body: bytes) -> bool:
    try:
        body[:1024].decode()
    except UnicodeDecodeError as error:
        return error.start > min(len(body), 1024) - 4  # a character that was cut
    return b"\0" not in body[:1024]


def _without_chunks(body: bytes) -> tuple[bytes, bool]:
    """A body without the lengths of its chunks; unchanged if there are none."""
    out, at = bytearray(), 0
    while found := _CHUNK(body, at):
        size = int(found[1], 16)
        if size == 0:
            return bytes(out), True
        out += body[found.end() : found.end() + size]
        at = found.end() + size
        at += 2 if body[at : at + 2] == b"\r\n" else 1
    return (bytes(out), False) if at else (body, True)
