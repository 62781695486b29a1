"""The cookies of a file: which of them a request may carry.

The file is the `cookies.txt` of Netscape, as curl, wget and browser extensions write it: a line for
each cookie, with seven fields between tabs. A line that begins with `#` is a comment, except for
`#HttpOnly_`, which is a cookie that scripts may not read. Messages never have a cookie's value.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from manners._text import header_problem
from manners.errors import InvalidURL, SettingsError
from manners.net import guard
from manners.urls import host, origin

_MAX_BYTES = 4 * 1024 * 1024
_HTTP_ONLY = "#HttpOnly_"
_FIELDS = "domain, subdomains, path, secure, expires, name, value"


class Cookie(NamedTuple):
    """One cookie, and where it may be sent."""

    domain: str
    with_subdomains: bool
    path: str
    secure: bool
    """Whether it is sent over https alone."""
    expires: float
    """Seconds since the epoch; 0 is never."""
    name: str
    value: str

    def __repr__(self) -> str:
        return f"Cookie({self.domain!r}, {self.name!r})"

    def fits(self, path: str, is_https: bool, now: float) -> bool:
        """Whether a request to its domain carries it (RFC 6265 sections 5.1.4 and 5.4)."""
        if (self.secure and not is_https) or (self.expires and self.expires <= now):
            return False
        if not path.startswith(self.path):
            return False
        return path == self.path or self.path.endswith("/") or path[len(self.path)] == "/"


class Cookies:
    """The cookies of a file, by domain.

    >>> cookies = Cookies.parse(b"shop.example\\tFALSE\\t/\\tFALSE\\t0\\tid\\t7\\n", "cookies.txt")
    >>> cookies.header("https://shop.example/cart", 0.0), cookies.header("https://b.example/", 0.0)
    ('id=7', '')
    """

    def __init__(self, cookies: Iterator[Cookie]) -> None:
        self._by_domain: dict[str, list[Cookie]] = {}
        for cookie in cookies:
            self._by_domain.setdefault(cookie.domain, []).append(cookie)

    @classmethod
    def read(cls, file: str) -> "Cookies":
        """The cookies in a file."""
        try:
            with Path(file).open("rb") as opened:
                data = opened.read(_MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            problem = getattr(error, "strerror", None) or error
            raise SettingsError("cookie_file", f"cannot read {file!r}: {problem}") from None
        return cls.parse(data, file)

    @classmethod
    def parse(cls, data: bytes, file: str) -> "Cookies":
        """The cookies in the bytes of a file."""
        if len(data) > _MAX_BYTES:
            raise SettingsError("cookie_file", f"{file!r} has more than {_MAX_BYTES:,} bytes")
        try:
            text = data.decode("utf-8-sig")
        except ValueError:
            raise SettingsError("cookie_file", f"{file!r} is not UTF-8") from None
        return cls(_cookies(text, file))

    def header(self, url: str, now: float) -> str:
        """The value of the Cookie header for a request; empty where there is none to send."""
        name, site = host(url), origin(url)
        path = url[len(site) :].partition("?")[0] or "/"
        is_https = site.startswith("https:")
        found = [cookie for cookie in self._of(name) if cookie.fits(path, is_https, now)]
        found.sort(key=lambda cookie: -len(cookie.path))  # RFC 6265 section 5.4, step 2
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in found)

    def _of(self, name: str) -> Iterator[Cookie]:
        """The cookies of a host: its own, and those of domains that it is a part of."""
        yield from self._by_domain.get(name, ())
        if guard.literal(name) is not None:
            return
        while name := name.partition(".")[2]:
            for cookie in self._by_domain.get(name, ()):
                if cookie.with_subdomains:
                    yield cookie


def _cookies(text: str, file: str) -> Iterator[Cookie]:
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r").removeprefix(_HTTP_ONLY)
        if not line.strip() or line.startswith("#"):
            continue
        try:
            yield _cookie(line)
        except ValueError as error:
            raise SettingsError("cookie_file", f"{file!r}, line {number}: {error}") from None


def _cookie(line: str) -> Cookie:
    fields = line.split("\t")
    if len(fields) == 6:
        fields.append("")  # an empty value, whose tab an editor has removed
    if len(fields) != 7:
        raise ValueError(f"7 fields with tabs between them are needed: {_FIELDS}")
    domain, subdomains, path, secure, expires, name, value = fields
    try:
        domain = host(f"http://{domain.removeprefix('.')}/")
    except InvalidURL:
        raise ValueError("the domain is not a host name") from None
    if not expires.removeprefix("-").split(".")[0].isdecimal():
        raise ValueError("expires is not a number of seconds")
    if not name or set(name) & set("=; ") or ";" in value:
        raise ValueError("the name or the value has a character that a cookie cannot have")
    if problem := header_problem(name + value):
        raise ValueError(f"the name or the value {problem}")
    is_whole, is_secure = subdomains.upper() == "TRUE", secure.upper() == "TRUE"
    return Cookie(
        domain,
        is_whole,
        path if path.startswith("/") else "/",
        is_secure,
        max(float(expires), 0.0),
        name,
        value,
    )
