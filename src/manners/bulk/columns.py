"""Columns of URLs, of any library that speaks Arrow."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from manners._arrow import chunked

if TYPE_CHECKING:
    from numpy.typing import NDArray


def column_of(data: Any) -> pa.ChunkedArray:
    """A column, or a table that has just one, in chunks.

    >>> column_of(pa.table({"url": ["https://example.com/"]})).to_pylist()
    ['https://example.com/']
    """
    column = chunked(data)
    if pa.types.is_null(column.type):  # nothing but nulls: what it would be is not known
        return column.cast(pa.string())
    if not pa.types.is_struct(column.type):
        return column
    if column.type.num_fields != 1:
        number = column.type.num_fields
        raise TypeError(f"a table with {number} columns: pass the column with the URLs")
    return column_of(column.flatten()[0])


def distinct(column: pa.ChunkedArray) -> "Iterator[tuple[pa.Array, NDArray[np.int64] | None]]":
    """The chunks of a column. Of a dictionary-encoded one, the values, and which each row has.

    >>> column = pa.chunked_array([pa.array(["a", "b", "a", None]).dictionary_encode()])
    >>> [(values.to_pylist(), rows.tolist()) for values, rows in distinct(column)]
    [(['a', 'b', None], [0, 1, 0, 2])]
    """
    for chunk in column.chunks:
        if not pa.types.is_dictionary(column.type):
            yield chunk, None
            continue
        values = chunk.dictionary
        rows = chunk.indices.cast(pa.int64()).fill_null(len(values)).to_numpy()
        yield pa.concat_arrays([values, pa.nulls(1, values.type)]), rows
