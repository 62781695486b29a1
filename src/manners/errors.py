"""What can go wrong, and what to do about it.

A disallowed URL is a verdict, not an error: errors are for what could not be decided. Only the
drop-ins raise `Disallowed`, to stop a request of the library they stand in for.

    MannersError
    ├── InvalidURL      (also a ValueError)   a URL that cannot be requested
    ├── UnknownName     (also a LookupError)  an unknown dialect, profile or backend
    ├── MissingExtra    (also an ImportError) an optional library is not installed
    ├── SettingsError   (also a ValueError)   an invalid setting
    ├── StoreError                            a database or a server that cannot be used
    │   └── StoreTimeout (also a TimeoutError) it did not answer within server_timeout
    ├── PolitenessError                       the shared politeness server is unreachable
    ├── SlotTimeout     (also a TimeoutError) all slots of a host were in use for too long
    ├── HostDeferred                          no request to a host for a while
    ├── Disallowed                            a drop-in was about to send a disallowed request
    ├── BudgetExceeded                        the limit of pages or minutes is reached
    ├── BulkError                             data for a bulk run that cannot be used
    ├── ClientClosed                          the client was closed before the request was sent
    ├── Broken                                the connection failed while a body was read
    └── SlotLost                              the slot of a stream could not be renewed
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from manners._text import cut, printable

if TYPE_CHECKING:
    from manners.robots.verdict import Verdict


class MannersError(Exception):
    """Any error this package raises on purpose.

    >>> issubclass(InvalidURL, MannersError)
    True
    """

    def __init__(self, *args: object) -> None:
        # Not super(): in a class from `both`, that is the other library's error.
        Exception.__init__(self, *args)


def _shown(place: str) -> str:
    """A place as an error may show it."""
    from manners._secrets import without_secrets

    return without_secrets(place)


class InvalidURL(MannersError, ValueError):
    """A URL that cannot be requested.

    >>> from manners import urls
    >>> urls.origin("mailto:someone@example.com")
    Traceback (most recent call last):
    manners.errors.InvalidURL: 'mailto:someone@example.com': not an http or https URL
    """

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(url, problem)
        self.url, self.problem = url, problem

    def __str__(self) -> str:
        # A URL may be hostile and very long: repr() escapes it, `cut` limits it.
        return f"{cut(self.url, 200)!r}: {self.problem}"


class UnknownName(MannersError, LookupError):
    """An unknown name: of a dialect, a profile, a backend.

    >>> str(UnknownName("dialect", "gogle", ["google", "rfc9309"]))
    "unknown dialect 'gogle'; choose from: google, rfc9309"
    """

    def __init__(self, family: str, name: str, known: Iterable[str]) -> None:
        name = _shown(name)
        super().__init__(family, name, tuple(known))
        self.family, self.name, self.known = family, name, tuple(known)

    def __str__(self) -> str:
        return f"unknown {self.family} {self.name!r}; choose from: {', '.join(self.known)}"


class MissingExtra(MannersError, ImportError):
    """An optional library is not installed.

    >>> str(MissingExtra("typer", "cli"))
    "'cli' needs 'typer': pip install 'manners[cli]'"
    """

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(library, extra)
        self.library, self.extra = library, extra

    def __str__(self) -> str:
        return f"{self.extra!r} needs {self.library!r}: pip install 'manners[{self.extra}]'"


class Extra:
    """A context manager for optional imports: turns a missing library into `MissingExtra`.

    Only the library named like the extra counts. One that is installed, but lacks a dependency of
    its own, raises its own error: installing the extra would not help.
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


class SettingsError(MannersError, ValueError):
    """An invalid setting, and where it is set.

    >>> str(SettingsError("manners.toml", "unknown setting 'delya'; did you mean 'delay'?"))
    "manners.toml: unknown setting 'delya'; did you mean 'delay'?"
    """

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(source, problem)
        self.source, self.problem = source, problem

    def __str__(self) -> str:
        problem = " ".join(self.problem.split())
        return f"{printable(self.source)}: {printable(cut(problem, 2000))}"


class StoreError(MannersError):
    """A store that cannot be used: a database file, or a server.

    >>> str(StoreError("cache.db", "a database, but not a cache of this package"))
    "'cache.db': a database, but not a cache of this package"
    """

    def __init__(self, place: str, problem: str) -> None:
        place = _shown(place)
        super().__init__(place, problem)
        self.place, self.problem = place, problem

    def __str__(self) -> str:
        return f"{self.place!r}: {self.problem}"


class StoreConflict(StoreError):
    """A write that another process got in the way of; the same again may succeed."""


class StoreAway(StoreError):
    """A server that cannot be reached, or has ended the connection.

    `is_unknown` is whether a commit was under way: it may have been made, or not.
    """

    is_unknown = False


class StrandClosed(StoreError):
    """A strand of evidence that was closed: its worker may write nothing more.

    >>> str(StrandClosed("postgresql://db/crawl", "strand 3 was closed"))
    "'postgresql://db/crawl': strand 3 was closed"
    """


class LeaseOver(MannersError):
    """A worker whose lease is over: it may send no request until it has renewed it.

    >>> print(LeaseOver())
    the lease of this worker is over: no request may leave until it is renewed
    """

    def __init__(self) -> None:
        super().__init__(
            "the lease of this worker is over: no request may leave until it is renewed"
        )


class StoreTimeout(StoreError, TimeoutError):
    """A store that did not answer in time: the server hangs, or another process holds the lock.

    >>> str(StoreTimeout("proof.db", "Timeout: database is locked"))
    "'proof.db': Timeout: database is locked"
    """

    is_away = False
    """Whether it is the server that did not answer, and no lock that was in the way."""
    is_unknown = False
    """Whether a commit was under way: it may have been made, or not."""

    def __str__(self) -> str:
        return StoreError.__str__(self)


class PolitenessError(MannersError):
    """Shared politeness server unreachable; no request may start.

    >>> str(PolitenessError("valkey://localhost:6379/0", "Connection refused"))
    "'valkey://localhost:6379/0': Connection refused; no request may start until it answers again"
    """

    def __init__(self, place: str, problem: str) -> None:
        place = _shown(place)
        super().__init__(place, problem)
        self.place, self.problem = place, problem

    def __str__(self) -> str:
        return f"{self.place!r}: {self.problem}; no request may start until it answers again"


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
    """No request to a host before a time, by its Crawl-delay, Visit-time or Retry-After.

    >>> str(HostDeferred("example.com", 0.0))
    'example.com is deferred until 1970-01-01 00:00:00 UTC'
    """

    def __init__(self, host: str, until: float) -> None:
        super().__init__(host, until)
        self.host, self.until = host, until

    def __str__(self) -> str:
        from datetime import UTC, datetime

        moment = datetime.fromtimestamp(min(self.until, 32_503_680_000), UTC)
        return f"{self.host} is deferred until {moment:%Y-%m-%d %H:%M:%S} UTC"


class Disallowed(MannersError):
    """A request that a drop-in stopped, because the URL is disallowed or excluded.

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
    """The limit of pages or minutes is reached.

    >>> str(BudgetExceeded("page", "200 pages"))
    'page limit reached: 200 pages'
    """

    def __init__(self, limit: str, allowance: str) -> None:
        super().__init__(limit, allowance)
        self.limit, self.allowance = limit, allowance

    def __str__(self) -> str:
        return f"{self.limit} limit reached: {self.allowance}"


class ClientClosed(MannersError):
    """The client was closed before the request was sent.

    >>> str(ClientClosed())
    'the client is closed'
    """

    def __str__(self) -> str:
        return "the client is closed"


class Broken(MannersError):
    """The connection failed while a body was streamed; the message says why.

    >>> str(Broken("timeout"))
    'timeout'
    """


class SlotLost(MannersError):
    """A stream was stopped, because its slot could not be renewed.

    >>> str(SlotLost("https://example.com/"))
    'slot lost, stream stopped: https://example.com/'
    """

    def __str__(self) -> str:
        return f"slot lost, stream stopped: {self.args[0]}"


_Error = TypeVar("_Error", bound=MannersError)
_both: dict[tuple[type, type], type[Any]] = {}


def both(own: type[_Error], kind: type[Exception]) -> type[_Error]:
    """A class that is both: our error, and an error of another library. Either `except` catches it.

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
    """A context manager that raises our errors as errors of another library, too.

    `theirs` are arguments of that library's error, the request for example. `MissingExtra` is
    raised unchanged: it is not about a request.
    """

    __slots__ = ("_kind", "_theirs")

    def __init__(self, kind: type[Exception], **theirs: Any) -> None:
        self._kind, self._theirs = kind, theirs

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, MannersError) or isinstance(error, (self._kind, MissingExtra)):
            return
        combined: Any = both(type(error), self._kind)
        raised: MannersError = combined(*error.args, **self._theirs)
        raise raised.with_traceback(error.__traceback__) from error.__cause__
