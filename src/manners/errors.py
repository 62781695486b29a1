"""What can go wrong, and what to do about it.

A disallowed URL is a verdict, never an error: errors are for what could not be decided.

    MannersError
    ├── InvalidURL      (also a ValueError)   a URL no request can be made from
    ├── UnknownName     (also a LookupError)  a dialect, or another named part, that does not exist
    ├── MissingExtra    (also an ImportError) a part was chosen whose library is not installed
    └── StoreError                            a file or a server that keeps things, and cannot
"""

from collections.abc import Iterable

from manners._text import cut


class MannersError(Exception):
    """Any error this package raises on purpose.

    >>> issubclass(InvalidURL, MannersError)
    True
    """


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


class StoreError(MannersError):
    """A store that cannot be used: a file, or a server that keeps things.

    >>> str(StoreError("cache.db", "a database, but not a cache of this package"))
    "'cache.db': a database, but not a cache of this package"
    """

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(place, problem)
        self.place, self.problem = place, problem

    def __str__(self) -> str:
        return f"{self.place!r}: {self.problem}"
