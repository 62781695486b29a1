"""Where a store is: a path, or the URL of a database."""

from pathlib import Path

import sqlalchemy
from sqlalchemy import make_url

from manners._secrets import LIBPQ, is_libpq, without_secrets
from manners.errors import StoreError


def check_access(path: Path) -> None:
    """Raise PermissionError for a file in a folder that may not be entered.

    Since Python 3.14, `is_file` and its like say no in this case, as if there were no file.
    """
    try:
        path.stat()
    except PermissionError:
        raise
    except (OSError, ValueError):
        pass


def parse_place(place: str | Path) -> tuple[str, sqlalchemy.URL]:
    """A place as it may be shown, and its URL."""
    text = str(place)
    if isinstance(place, str) and is_libpq(text):
        raise StoreError(without_secrets(text), LIBPQ)
    try:
        # A path is not a URL: "?" and "%" in it have no special meaning.
        url = make_url(text) if "://" in text else sqlalchemy.URL.create("sqlite", database=text)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        raise StoreError("…", "not a path, and not the URL of a database") from None
    if "@" in (url.host or ""):
        raise StoreError("…", "an @ in a password is written as %40")
    shown = without_secrets(text)
    match url.get_backend_name():
        case "sqlite":
            if url.host or url.query:
                raise StoreError(shown, "a file has no host and no options: sqlite:///path")
            if not url.database or url.database == ":memory:":
                raise StoreError(shown, "a store needs a file: memory proves nothing")
            return url.database, url.set(drivername="sqlite")
        case "postgresql":
            return shown, url.set(drivername="postgresql+psycopg")
    raise StoreError(shown, "not a store: a path, sqlite:///… or postgresql://… is needed")
