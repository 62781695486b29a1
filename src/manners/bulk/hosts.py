"""In which part of a large job a host is: the same on every machine, and for ever.

A part holds all URLs of its hosts and all their robots.txt files, so it can be worked on by itself,
anywhere. `www.` in front of a host does not count, because most redirects of a robots.txt only add
or remove it.
"""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from manners._arrow import ArrowData, plain_rows
from manners._compiled import kernel
from manners._text import to_text
from manners.bulk.columns import column_of, distinct
from manners.errors import InvalidURL
from manners.urls import host

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MASK = 0xFFFFFFFFFFFFFFFF


def host_hash(name: str) -> int:
    """64 bits of a host: FNV-1a, mixed once more so that its upper bits are good, too.

    >>> host_hash("www.example.com") == host_hash("example.com")
    True
    """
    mixed = 0xCBF29CE484222325
    for octet in name.removeprefix("www.").encode():
        mixed = (mixed ^ octet) * 0x100000001B3 & _MASK
    mixed = (mixed ^ mixed >> 32) * 0x9E3779B97F4A7C15 & _MASK
    return mixed ^ mixed >> 29


def bucket(url: str, parts: int) -> int:
    """The part that a URL is in; 0 for what is not a URL.

    >>> bucket("https://example.com/a", 256) == bucket("http://example.com:8080/", 256)
    True
    """
    try:
        return (host_hash(host(url)) >> 32) * parts >> 32
    except InvalidURL:
        return 0


def buckets(urls: ArrowData, parts: int) -> "NDArray[np.int32]":
    """The part of each row of a column of URLs; 0 for a null and for what is not a URL.

    >>> buckets(pa.array(["https://example.com/a", None]), 1).tolist()
    [0, 0]
    """
    if not 0 < parts <= 1 << 20:
        raise ValueError(f"a job has 1 to {1 << 20:,} parts, not {parts}")
    found = [np.empty(0, np.int32)]
    for values, rows in distinct(column_of(urls)):
        part = _buckets(values, parts)
        found.append(part if rows is None else part[rows])
    return np.concatenate(found)


def _buckets(urls: pa.Array, parts: int) -> "NDArray[np.int32]":
    if kernel is not None:
        return np.frombuffer(kernel.arrow_buckets(urls, parts), np.int32)
    found = (0 if url is None else bucket(to_text(url), parts) for (url,) in plain_rows(urls))
    return np.fromiter(found, np.int32)
