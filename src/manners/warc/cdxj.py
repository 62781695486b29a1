"""CDXJ: one line for each capture, sorted, by which replay finds it in a WARC file. Quiet."""

import re
from json.encoder import encode_basestring_ascii as _quoted
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

_PORTS = {"http": 80, "https": 443}
_WWW = re.compile(r"^www\d*\.").sub
_SESSION = re.compile(
    r"(?:jsessionid=[0-9a-z]{32}|phpsessid=[0-9a-z]{32}|sid=[0-9a-z]{32}"
    r"|aspsessionid[a-z]{8}=[a-z]{24}|cfid=[^&]+&cftoken=[^&]+)(?:&|$)"
).sub
_PLAIN = re.compile(
    r"https?://([a-z0-9-]+(?:\.[a-z0-9-]+)*(?::(?!80/|443/)[1-9][0-9]*)?)((?:/[a-z0-9_-][a-z0-9_.-]*)+)"
).fullmatch
"""A URL whose path is in normal form."""
_SAFE = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"


class CdxLine(NamedTuple):
    """Where the record of a page is, and what it is."""

    url: str
    moment: str
    """When: the 14 digits that replay has in its URLs."""
    mime: str
    status: str
    digest: str
    offset: int
    length: int

    def text(self, filename: str) -> str:
        """The line of the index.

        >>> CdxLine("https://www.example.com/B?c", "20261119192400", "text/html", "200", "-", 0, 9
        ...         ).text("a.warc.gz")[:65]
        'com,example)/b?c 20261119192400 {"url": "https://www.example.com/'
        """
        return (
            f'{key(self.url)} {self.moment} {{"url": {_quoted(self.url)},'
            f' "mime": {_quoted(self.mime)}, "status": {_quoted(self.status)},'
            f' "digest": "{self.digest}", "length": "{self.length}", "offset": "{self.offset}",'
            f' "filename": {_quoted(filename)}}}'
        )


def key(url: str) -> str:
    """What a URL is found by: its host backwards, and what tells no two documents apart dropped.

    It is what the `surt` library makes, by which pywb and other replay look up.

    >>> key("https://www.Example.com:443/News/?b=2&A=1#top")
    'com,example)/news?a=1&b=2'
    """
    if (plain := _PLAIN(url)) is not None:  # most are
        name, colon, port = plain[1].partition(":")
        backwards = ",".join(_WWW("", name).split(".")[::-1])
        return f"{backwards}{colon}{port}){plain[2]}"
    try:
        parts = urlsplit(url)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return url.lower().replace(" ", "%20")
    name = _WWW("", name.rstrip("."))
    backwards = name if ":" in name else ",".join(reversed(name.split(".")))
    at = "" if port is None or port == _PORTS.get(parts.scheme) else f":{port}"
    query = _SESSION("", _escaped(parts.query))
    query = "?" + "&".join(sorted(query.split("&"), key=_by_name)) if query else ""
    return f"{backwards}{at}){_path(_escaped(parts.path))}{query}"


def _by_name(argument: str) -> list[str]:
    return argument.split("=", 1)


def _path(path: str) -> str:
    """A path without empty segments, `.` and `..`."""
    kept: list[str] = []
    for segment in path.split("/")[1:]:
        if segment == ".." and kept:  # an empty segment is one until now
            kept.pop()
        elif segment != ".":
            kept.append(segment)
    return "/" + "/".join(filter(None, kept))


def _escaped(text: str) -> str:
    """Text in lower case, with no more escapes than it needs."""
    data = text.encode("utf-8", "surrogateescape")
    for _ in range(8):  # escapes of escapes
        before, data = data, unquote_to_bytes(data)
        if data == before:
            break
    return quote_from_bytes(data, safe=_SAFE).lower()
