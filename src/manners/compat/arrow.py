"""Columns of URLs in Arrow memory: from pyarrow, polars, DuckDB, pandas or any other library.

Data comes in through the Arrow PyCapsule interface, from any object with `__arrow_c_array__` or
`__arrow_c_stream__`, and goes out the same way. The kernel reads the memory in place; without the
kernel, pyarrow reads it.
"""

from collections.abc import Iterable, Mapping
from functools import partial

from manners._arrow import Answers, ArrowData, plain_codes, plain_rows
from manners._compiled import kernel
from manners._text import to_text
from manners.errors import InvalidURL
from manners.robots.dialects import Dialect
from manners.robots.policy import Policy, parse
from manners.urls import origin

__all__ = ["Answers", "allowed", "policies"]


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
    return Answers(plain_codes(urls, partial(_code, policy)))


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
    return plain_rows(files, "origin", "robots")


# Without the kernel.


def _code(policy: Policy | Mapping[str, Policy], url: str) -> int:
    if isinstance(policy, Policy):
        return policy.allowed(url)
    try:
        own = policy.get(origin(url))
    except InvalidURL:
        return 2
    return 2 if own is None else own.allowed(url)
