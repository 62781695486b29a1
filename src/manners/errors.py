"""What can go wrong, and what to do about it.

A disallowed URL is a verdict, not an error: errors are for what could not be decided. `Disallowed`
is for requests of other programs, which have to be stopped.

    MannersError
    ├── InvalidURL      (also a ValueError)   a URL no request can be made from
    ├── UnknownName     (also a LookupError)  a dialect, or another named part, that does not exist
    ├── MissingExtra    (also an ImportError) a part was chosen whose library is not installed
    ├── StoreError                            a file or a server that keeps things, and cannot
    │   └── StoreTimeout (also a TimeoutError) it did not answer within server_timeout
    ├── PolitenessError                       nobody knows whether a host may be asked
    ├── SlotTimeout     (also a TimeoutError) all slots of a host were in use for too long
    ├── HostDeferred                          a host that is not to be asked for a while
    ├── Disallowed                            a request of another program that is not allowed
    ├── BudgetExceeded                        no pages, or no minutes, are left
    ├── ClientClosed                          a request that waited when its client was closed
    ├── Broken                                a body that broke off while it was read
    └── SlotLost                              a stream that could not keep its slot
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from manners._text import cut

if TYPE_CHECKING:
    from manners.robots.verdict import Verdict


class MannersError(Exception):
    """Any error this package raises on purpose.

    >>> issubclass(InvalidURL, MannersError)
    True
    """

    def __init__(self, *args: object) -> None:
        # Not super(): in a class that `both` made, that would be the other library's.
        Exception.__init__(self, *args)


def _shown(place: str) -> str:
    """A place as an error may show it."""
    from manners._secrets import without_secrets

    return without_secrets(place)


class InvalidURL(MannersError, ValueError):
    """A URL that has no origin a request could go to.

    >>> from manners import urls
    >>> urls.origin("mailto:someone@example.com")
    Traceback (most recent call last):
    manners.errors.InvalidURL: 'mailto:someone@example.com': not an http or https URL
    """

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(url, problem)
        self.url, self.problem = url, problem

    def __str__(self) -> str:
        # A URL may be hostile and endless: repr() escapes it, the cut bounds it.
        return f"{cut(self.url, 200)!r}: {self.problem}"


class UnknownName(MannersError, LookupError):
    """A name that no member of a family has.

    >>> str(UnknownName("dialect", "gogle", ["google", "rfc9309"]))
    "no dialect 'gogle'; there are: google, rfc9309"
    """

    def __init__(self, family: str, name: str, known: Iterable[str]) -> None:
        name = _shown(name)
        super().__init__(family, name, tuple(known))
        self.family, self.name, self.known = family, name, tuple(known)

    def __str__(self) -> str:
        return f"no {self.family} {self.name!r}; there are: {', '.join(self.known)}"


class MissingExtra(MannersError, ImportError):
    """A part was chosen whose library is not installed.

    >>> str(MissingExtra("typer", "cli"))
    "'cli' needs 'typer': pip install 'manners[cli]'"
    """

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(library, extra)
        self.library, self.extra = library, extra

    def __str__(self) -> str:
        return f"{self.extra!r} needs {self.library!r}: pip install 'manners[{self.extra}]'"


class Extra:
    """A context manager for the imports of a part: what is missing is in the extra of this name.

    Only the library of that name, and what this package needs itself, is looked for: where a
    library is broken because something of its own is missing, installing the extra does not help.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, MissingExtra):
            raise MissingExtra(error.library, self._name) from None
        if isinstance(error, ModuleNotFoundError) and error.name is not None:
            library = error.name.partition(".")[0]
            if library == self._name:
                raise MissingExtra(library, self._name) from None


class StoreError(MannersError):
    """A store that cannot be used: a file, or a server that keeps things.

    >>> str(StoreError("cache.db", "a database, but not a cache of this package"))
    "'cache.db': a database, but not a cache of this package"
    """

    def __init__(self, place: str, problem: str) -> None:
        place = _shown(place)
        super().__init__(place, problem)
        self.place, self.problem = place, problem

    def __str__(self) -> str:
        return f"{self.place!r}: {self.problem}"


class StoreTimeout(StoreError, TimeoutError):
    """A store that did not answer in time: a server that stands still, or somebody's lock.

    >>> str(StoreTimeout("proof.db", "Timeout: database is locked"))
    "'proof.db': Timeout: database is locked"
    """

    def __str__(self) -> str:
        return StoreError.__str__(self)


class PolitenessError(MannersError):
    """The server that several processes share their politeness by cannot be asked: nobody starts.

    >>> str(PolitenessError("valkey://localhost:6379/0", "Connection refused"))
    "'valkey://localhost:6379/0': Connection refused; no host is asked until it answers again"
    """

    def __init__(self, place: str, problem: str) -> None:
        place = _shown(place)
        super().__init__(place, problem)
        self.place, self.problem = place, problem

    def __str__(self) -> str:
        return f"{self.place!r}: {self.problem}; no host is asked until it answers again"


class SlotTimeout(MannersError, TimeoutError):
    """All slots of a host were in use for too long.

    >>> str(SlotTimeout("example.com"))
    'Timeout waiting for host concurrency slot: example.com'
    """

    def __init__(self, host: str) -> None:
        super().__init__(host)
        self.host = host

    def __str__(self) -> str:
        return f"Timeout waiting for host concurrency slot: {self.host}"


class HostDeferred(MannersError):
    """A host that is not to be asked before a time: by its Crawl-delay, hours or Retry-After.

    >>> str(HostDeferred("example.com", 0.0))
    'example.com is not to be asked before 1970-01-01 00:00:00 UTC'
    """

    def __init__(self, host: str, until: float) -> None:
        super().__init__(host, until)
        self.host, self.until = host, until

    def __str__(self) -> str:
        from datetime import UTC, datetime

        moment = datetime.fromtimestamp(min(self.until, 32_503_680_000), UTC)
        return f"{self.host} is not to be asked before {moment:%Y-%m-%d %H:%M:%S} UTC"


class Disallowed(MannersError):
    """A request that another program was about to send, and that is not allowed.

    >>> import manners
    >>> robots = manners.parse("User-agent: *\\nDisallow: /a")
    >>> str(Disallowed(robots.check("https://example.com/a", agent="MyBot")))
    "'https://example.com/a': disallowed: rule-matched, line 2: /a"
    """

    def __init__(self, verdict: "Verdict") -> None:
        super().__init__(verdict)
        self.verdict = verdict
        """Which URL, and why."""

    def __str__(self) -> str:
        advice = getattr(self.verdict.retrieval, "advice", "")
        return f"{cut(self.verdict.url, 200)!r}: {self.verdict}" + (f"; {advice}" if advice else "")


class BudgetExceeded(MannersError):
    """No pages, or no minutes, are left.

    >>> str(BudgetExceeded("page", "200 pages"))
    'page limit reached: 200 pages'
    """

    def __init__(self, limit: str, allowance: str) -> None:
        super().__init__(limit, allowance)
        self.limit, self.allowance = limit, allowance

    def __str__(self) -> str:
        return f"{self.limit} limit reached: {self.allowance}"


class ClientClosed(MannersError):
    """A request that was waiting for its turn, or was asked for, when its client was closed.

    >>> str(ClientClosed())
    'the client is closed'
    """

    def __str__(self) -> str:
        return "the client is closed"


class Broken(MannersError):
    """A body that broke off while it was read piece by piece, and why.

    >>> str(Broken("timeout"))
    'timeout'
    """


class SlotLost(MannersError):
    """A stream that had to end, because its slot could not be renewed.

    >>> str(SlotLost("https://example.com/"))
    'the slot is lost, and the stream has to end: https://example.com/'
    """

    def __str__(self) -> str:
        return f"the slot is lost, and the stream has to end: {self.args[0]}"


_Error = TypeVar("_Error", bound=MannersError)
_both: dict[tuple[type, type], type[Any]] = {}


def both(own: type[_Error], kind: type[Exception]) -> type[_Error]:
    """An error class of ours that is also one of another library's, so that both are caught.

    >>> issubclass(both(SlotTimeout, OSError), OSError)
    True
    """
    if (own, kind) not in _both:
        _both[own, kind] = _joined(own, kind)
    return _both[own, kind]


def _joined(own: type[_Error], kind: type[Exception]) -> type[_Error]:
    def __init__(self: Any, *args: object, **theirs: Any) -> None:  # noqa: N807
        kind.__init__(self, "", **theirs)
        own.__init__(self, *args)

    def __reduce__(self: Any) -> tuple[Any, ...]:  # noqa: N807
        return _unpickled, (own, kind, self.args), self.__dict__

    parts = {
        "__doc__": own.__doc__,
        "__init__": __init__,
        "__module__": own.__module__,
        "__qualname__": own.__qualname__,
        "__reduce__": __reduce__,
    }
    return type(own.__name__, (own, kind), parts)


def _unpickled(
    own: type[MannersError], kind: type[Exception], args: tuple[object, ...]
) -> MannersError:
    return both(own, kind)(*args)


class RaisedAs:
    """A context manager: errors of ours that leave it are also errors of another library's kind.

    `theirs` is what that library's errors are made with, the request for example. A part that is
    not installed is no error of a request, and stays what it is.
    """

    __slots__ = ("_kind", "_theirs")

    def __init__(self, kind: type[Exception], **theirs: Any) -> None:
        self._kind, self._theirs = kind, theirs

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, MannersError) or isinstance(error, (self._kind, MissingExtra)):
            return
        made: Any = both(type(error), self._kind)
        raised: MannersError = made(*error.args, **self._theirs)
        raise raised.with_traceback(error.__traceback__) from error.__cause__
