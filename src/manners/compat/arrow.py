"""Columns of URLs in Arrow memory: from pyarrow, polars, DuckDB, pandas or any other library.

Data comes in through the Arrow PyCapsule interface, from any object with `__arrow_c_array__` or
`__arrow_c_stream__`, and goes out the same way. The kernel reads the memory in place; without the
kernel, pyarrow reads it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from manners._compiled import kernel
from manners._text import to_text
from manners.errors import InvalidURL, MissingExtra
from manners.robots.dialects import Dialect
from manners.robots.policy import Policy, parse
from manners.urls import origin


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


def allowed(urls: ArrowData, policy: Policy | Mapping[str, Policy]) -> Answers:
    """Whether each URL of a column may be fetched.

    With one policy, it decides for all: URLs, and paths that begin with a slash. With policies by
    origin, each URL's origin decides which. The answer is None where there is no policy, for a null
    and for a string that is not a URL.

    >>> import manners, pyarrow
    >>> policy = manners.parse("User-agent: *\\nDisallow: /private/").policy("MyBot")
    >>> urls = pyarrow.array(["https://example.com/", "https://example.com/private/x", None])
    >>> pyarrow.array(allowed(urls, policy)).to_pylist()
    [True, False, None]
    """
    if not isinstance(policy, Policy):
        policy = _by_origin(policy)
    if kernel is not None:
        return Answers(kernel.arrow_allowed(urls, policy))
    return Answers(bytes(_code(url, policy) for (url,) in _plain_rows(urls)))


def policies(files: ArrowData, agent: str, dialect: str | Dialect = "rfc9309") -> dict[str, Policy]:
    """The policies of many sites, from a table with the columns `origin` and `robots`.

    `origin` is any URL of the site, `robots` the content of its robots.txt, as text or as binary.
    A row without one of them is skipped.

    >>> import pyarrow
    >>> files = pyarrow.table({"origin": ["https://a.example"], "robots": ["User-agent: *"]})
    >>> list(policies(files, agent="MyBot"))
    ['https://a.example']
    """
    found = {}
    for url, body in _rows(files):
        if url is not None and body is not None:
            site = origin(to_text(url))
            found[site] = parse(body, dialect, url=site + "/robots.txt").policy(agent)
    return found


def _by_origin(given: Mapping[str, Policy]) -> dict[str, Policy]:
    if not isinstance(given, Mapping):
        raise TypeError(f"a Policy or a mapping of them is needed, not {type(given).__name__}")
    for policy in given.values():
        if not isinstance(policy, Policy):
            raise TypeError(f"a policy is a manners.Policy, not {type(policy).__name__}")
    return {origin(key): policy for key, policy in given.items()}


def _rows(files: ArrowData) -> Iterable[tuple[bytes | None, ...]]:
    if kernel is not None:
        rows: list[tuple[bytes | None, bytes | None]] = kernel.arrow_rows(files, "origin", "robots")
        return rows
    return _plain_rows(files, "origin", "robots")


# Without the kernel.

_URL_OR_PATH = re.compile(rb"/|https?://[^/?#]", re.IGNORECASE).match
"""What can be answered: a path, or an http or https URL with a host. The kernel has the same."""


def _code(url: bytes | None, policy: Policy | Mapping[str, Policy]) -> int:
    if url is None or not _URL_OR_PATH(url):
        return 2
    text = to_text(url)
    if isinstance(policy, Policy):
        return policy.allowed(text)
    try:
        own = policy.get(origin(text))
    except InvalidURL:
        return 2
    return 2 if own is None else own.allowed(text)


def _plain_rows(data: Any, *names: str) -> Iterator[tuple[bytes | None, ...]]:
    """The named columns of a table, row by row; without names, a column or the only one."""
    pyarrow = _pyarrow()
    if hasattr(data, "__arrow_c_array__"):
        read = pyarrow.chunked_array([pyarrow.array(data)])
    elif hasattr(data, "__arrow_c_stream__"):
        read = pyarrow.chunked_array(data)
    else:
        raise TypeError(
            f"not Arrow data: {type(data).__name__} has neither __arrow_c_array__ nor "
            "__arrow_c_stream__"
        )
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
