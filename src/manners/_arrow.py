"""Arrow data of any library: what is taken, what is given back, how it is read without the kernel.

Data comes in through the Arrow PyCapsule interface, from any object with `__arrow_c_array__` or
`__arrow_c_stream__`, and goes out the same way. The kernel reads the memory in place; without the
kernel, pyarrow reads it.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from manners._compiled import kernel
from manners._text import to_text
from manners.errors import MissingExtra


class ArrowArray(Protocol):
    """An object that exports one array, or one batch of a table."""

    def __arrow_c_array__(self, requested_schema: object = None, /) -> tuple[object, object]:
        """Schema and array, in capsules."""


class ArrowStream(Protocol):
    """An object that exports a column or a table, chunk by chunk."""

    def __arrow_c_stream__(self, requested_schema: object = None, /) -> object:
        """A stream, in a capsule."""


ArrowData = ArrowArray | ArrowStream
_MEANING = (False, True, None)
_TEXT_TYPES = {
    *("string", "large_string", "string_view", "binary", "large_binary", "binary_view"),
}


class Answers:
    """An answer for each row of a column: True, False, or None where there is none.

    It exports an Arrow array of booleans, and can be iterated over.

    >>> answers = Answers(bytes([1, 0, 2]))
    >>> list(answers), len(answers)
    ([True, False, None], 3)
    """

    __slots__ = ("_codes",)

    def __init__(self, codes: bytes) -> None:
        self._codes = codes

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[bool | None]:
        return (_MEANING[code] for code in self._codes)

    def __repr__(self) -> str:
        counts = (self._codes.count(code) for code in (1, 0, 2))
        return "Answers({} allowed, {} disallowed, {} unknown)".format(*counts)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """An Arrow array of booleans, null where there is no answer."""
        if kernel is not None:
            schema, array = kernel.arrow_booleans(self._codes)
            return schema, array
        pyarrow = _pyarrow()
        array = pyarrow.array(list(self), pyarrow.bool_())
        exported: tuple[object, object] = array.__arrow_c_array__()
        return exported


def chunked(data: Any) -> Any:
    """Arrow data of any library, as a chunked array of pyarrow; a table is one of structs."""
    pyarrow = _pyarrow()
    if isinstance(data, pyarrow.ChunkedArray):
        return data
    if hasattr(data, "__arrow_c_array__"):
        return pyarrow.chunked_array([pyarrow.array(data)])
    if hasattr(data, "__arrow_c_stream__"):
        return pyarrow.chunked_array(data)
    raise TypeError(
        f"not Arrow data: {type(data).__name__} has neither __arrow_c_array__ nor "
        "__arrow_c_stream__"
    )


def plain_rows(data: Any, *names: str) -> Iterator[tuple[bytes | None, ...]]:
    """The named columns of a table, row by row; without names, a column or the only one."""
    pyarrow, read = _pyarrow(), chunked(data)
    if not pyarrow.types.is_struct(read.type):
        if names:
            raise TypeError(f"a column, not a table with the columns {' and '.join(names)}")
        return zip(_texts(read, "the column"), strict=True)
    if read.null_count:
        raise TypeError("a column of structs with nulls, not a table")
    titles = [field.name for field in read.type]
    if not names and len(titles) != 1:
        raise TypeError(f"a table with {len(titles)} columns: pass the column with the URLs")
    for name in names or titles:
        if titles.count(name) != 1:
            existing = ", ".join(titles)
            raise TypeError(f"a table with one column {name!r} is needed; it has: {existing}")
    columns = dict(zip(titles, read.flatten(), strict=True))
    return zip(*(_texts(columns[name], name) for name in names or titles), strict=True)


_URL_OR_PATH = re.compile(rb"/|https?://[^/?#]", re.IGNORECASE).match
"""What can be answered: a path, or an http or https URL with a host. The kernel has the same."""


def plain_codes(urls: ArrowData, answer: Callable[[str], int]) -> bytes:
    """The codes of `Answers` for a column: by a function for what can be answered, 2 otherwise."""
    return bytes(
        answer(to_text(url)) if url is not None and _URL_OR_PATH(url) else 2
        for (url,) in plain_rows(urls)
    )


def _texts(column: Any, name: str) -> list[bytes | None]:
    pyarrow = _pyarrow()
    if pyarrow.types.is_dictionary(column.type):
        raise TypeError(f"{name}: dictionary-encoded; cast it to a string column first")
    if str(column.type) not in _TEXT_TYPES:
        raise TypeError(f"{name}: not a column of strings (Arrow type {column.type})")
    values: list[bytes | None] = column.cast(pyarrow.large_binary()).to_pylist()
    return values


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise MissingExtra("pyarrow", "arrow") from None
    return pyarrow
