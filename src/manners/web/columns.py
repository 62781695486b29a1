"""Columns of URLs in requests: a stream of Arrow IPC comes in, and one of answers goes out.

What arrives is from strangers, and is read in place. So everything is checked before it is used:
each buffer, that nothing is compressed, and that a column is plain strings, whose rows cannot be
more than its bytes.
"""

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from manners._arrow import Answers, plain_codes
from manners._compiled import kernel
from manners.errors import MissingExtra
from manners.robots.policy import Policy
from manners.web.problems import ServiceProblem

if TYPE_CHECKING:
    import pyarrow as pa

CONTENT_TYPE = "application/vnd.apache.arrow.stream"
COLUMN = "url"
_TYPES = ("string", "large_string")
_ROBOTS, _MAX_ROBOTS = b"robots", 1_000_000
_HEADER, _COMPRESSION = 2, 3
"""Numbers of fields: the header of a `Message`, and the compression of a `RecordBatch`, in
Message.fbs of Arrow."""


class UrlColumn(NamedTuple):
    """The URLs of a request, and the robots.txt in the metadata of its schema."""

    urls: "pa.ChunkedArray"
    robots: bytes | None


def read_column(body: bytes) -> UrlColumn:
    """The URLs in a stream of Arrow IPC; a problem for anything that cannot be read safely.

    >>> import pyarrow as pa
    >>> batch = pa.record_batch({"url": ["/a", None]}).replace_schema_metadata({"robots": ""})
    >>> sink = pa.BufferOutputStream()
    >>> with pa.ipc.new_stream(sink, batch.schema) as writer: writer.write(batch)
    >>> read_column(sink.getvalue().to_pybytes()).urls.to_pylist()
    ['/a', None]
    """
    pyarrow = _pyarrow()
    try:
        return _read(pyarrow, body)
    # What Arrow raises for damaged streams has several bases.
    except (pyarrow.ArrowException, OSError, ValueError, struct.error) as error:
        raise _problem(f"The body cannot be read as a stream of Arrow: {error}") from None


def _read(pyarrow: Any, body: bytes) -> UrlColumn:
    reader = pyarrow.ipc.MessageReader.open_stream(pyarrow.py_buffer(body))
    first = next(iter(reader), None)
    if first is None:
        raise _problem("The body is empty.")
    schema = pyarrow.ipc.read_schema(first)
    names = schema.names
    if names.count(COLUMN) != 1 or str(schema.field(COLUMN).type) not in _TYPES:
        raise _problem(f"There is no column {COLUMN!r} of strings.")
    robots = (schema.metadata or {}).get(_ROBOTS)
    if robots is not None and len(robots) > _MAX_ROBOTS:
        raise ServiceProblem(413, f"The robots.txt has more than {_MAX_ROBOTS:,} bytes.")
    chunks = []
    for message in reader:
        if message.type != "record batch" or _is_compressed(message.metadata.to_pybytes()):
            raise _problem(f"A {message.type} is encoded or compressed, which is not read.")
        chunk = pyarrow.ipc.read_record_batch(message, schema).column(COLUMN)
        chunk.validate(full=True)
        chunks.append(chunk)
    return UrlColumn(pyarrow.chunked_array(chunks, schema.field(COLUMN).type), robots)


def _is_compressed(message: bytes) -> bool:
    """Whether a batch says that it is compressed: a small one may become as large as it likes."""
    (root,) = struct.unpack_from("<I", message)
    place = _field(message, root, _HEADER)
    batch = place + struct.unpack_from("<I", message, place)[0] if place else 0
    return not batch or _field(message, batch, _COMPRESSION) > 0


def _field(message: bytes, table: int, number: int) -> int:
    """Where a field of a table in a flatbuffer is; 0 if it is left out."""
    vtable = table - struct.unpack_from("<i", message, table)[0]
    (size,) = struct.unpack_from("<H", message, vtable)
    place = 4 + 2 * number
    offset = struct.unpack_from("<H", message, vtable + place)[0] if place < size else 0
    return table + offset if offset else 0


def answers(urls: "pa.ChunkedArray", policy: Policy) -> Answers:
    """Whether each URL may be fetched; None for a null, and for what is not a URL or a path."""
    if kernel is not None:
        return Answers(kernel.arrow_allowed(urls, policy))
    return Answers(plain_codes(urls, policy.allowed))


def write_columns(columns: Mapping[str, Any]) -> bytes:
    """A stream of Arrow IPC with a column of booleans for each agent."""
    pyarrow = _pyarrow()
    batch = pyarrow.record_batch(
        [pyarrow.array(values, pyarrow.bool_()) for values in columns.values()], list(columns)
    )
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _problem(detail: str) -> ServiceProblem:
    return ServiceProblem(
        400, detail, f"Send a stream of Arrow IPC, not compressed, with a column {COLUMN!r}."
    )


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise MissingExtra("pyarrow", "arrow") from None
    return pyarrow
