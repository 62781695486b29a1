"""URLs as the rest of the package sees them: origin, robots.txt address, path to match.

`match_path` takes any string, because a check never raises; `origin` and `robots_url` raise
`InvalidURL`, because requests go there.
"""

import re
from typing import NamedTuple

from manners._compiled import kernel
from manners._text import possessive, to_bytes, to_text
from manners.errors import InvalidURL

_DEFAULT_PORTS = {"http": "80", "https": "443"}

# Google's extraction (GetPathParamsQuery of google/robotstxt) as one pattern: two leading slashes
# are skipped, "://" counts as the end of a scheme only when none of "/?;" stands before it, and a
# "#" before the path means there is no path. Every quantifier is possessive: without that, an
# authority with no path behind it would be read again as a path.
_PATH = re.compile(
    possessive("//", "?") + possessive(r"[^/?;#]*+//(?<=://)", "?") + r"[^/?;#]*+([/?;][^#]*+)",
).match

_AUTHORITY = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*+)://([^/?#]*+)").match
_HOST_AND_PORT = re.compile(r"(\[[^\]]*+\]|[^:\[\]]*+)(?::(.*))?", re.DOTALL).fullmatch
_FORBIDDEN_IN_HOST = re.compile(r"[\x00-\x20\"#%/:<>?@\[\\\]^`{|}\x7f]").search
_MAX_HOST = 253  # RFC 1035 section 2.3.4: 255 octets on the wire is 253 characters of text


def match_path(url: str) -> str:
    """The part of a URL that rules are matched against: raw path and query.

    Every string has one. Decoding and escaping is up to the dialect.

    >>> match_path("https://example.com/a/b?c=d#e")
    '/a/b?c=d'
    >>> match_path("example.com?a"), match_path("")
    ('/?a', '/')
    """
    found = _PATH(url)
    if found is None:
        return "/"
    path = found[1]
    return path if path[0] == "/" else "/" + path


def origin(url: str) -> str:
    """The scheme, host and port of a URL, in canonical form.

    Host in lower-case ASCII (UTS 46), default port and credentials dropped.

    >>> origin("HTTPS://user:secret@Example.COM:443/path")
    'https://example.com'
    >>> origin("http://bücher.example:8080/")
    'http://xn--bcher-kva.example:8080'
    """
    found = _AUTHORITY(url)
    scheme = found[1].lower() if found else ""
    if found is None or scheme not in _DEFAULT_PORTS:
        raise InvalidURL(without_credentials(url), "not an http or https URL")
    # Browsers read a backslash as a slash, RFC 3986 does not: what stands before it would be the
    # host for one and credentials for the other.
    if "\\" in found[2]:
        raise InvalidURL(without_credentials(url), "backslash in the host name")
    written = _HOST_AND_PORT(found[2].rpartition("@")[2])
    if written is None:
        raise InvalidURL(without_credentials(url), "invalid host or port")
    host = _host(written[1], url)
    port = _port(written[2] or _DEFAULT_PORTS[scheme], url)
    return f"{scheme}://{host}" if port == _DEFAULT_PORTS[scheme] else f"{scheme}://{host}:{port}"


def with_scheme(text: str) -> str:
    """A URL as people type it, with a scheme: `https://`, and `http://` for this machine.

    A bare domain is a host with a dot in it, `localhost` or an address, perhaps with a port, a path
    or a query. Anything else is returned unchanged: it has a scheme, or `origin` rejects it.

    >>> with_scheme("example.com/a"), with_scheme("localhost:8000"), with_scheme("mailto:a@b.c")
    ('https://example.com/a', 'http://localhost:8000', 'mailto:a@b.c')
    """
    found = _BARE(text)
    if found is None:
        return text
    return ("http://" if is_this_machine(found[1].lower()) else "https://") + text


_BARE = re.compile(
    r"(\[[0-9A-Fa-f:.]+\]|(?i:localhost)|(?![.\-])[^\x00-\x20/?#@:\[\]\\]+\.[^\x00-\x20/?#@:\[\]\\]+)"
    r"(?::[0-9]{1,5})?(?:[/?#].*)?",
    re.DOTALL,
).fullmatch


def is_this_machine(host: str) -> bool:
    """Whether a host is this machine, by its name (RFC 6761 section 6.3) or its address."""
    from ipaddress import ip_address

    if host.rstrip(".").rpartition(".")[2] == "localhost":
        return True
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def robots_url(url: str) -> str:
    """The URL of the robots.txt for a URL (RFC 9309 section 2.3).

    >>> robots_url("http://example.com:8080/a?b")
    'http://example.com:8080/robots.txt'
    """
    return origin(url) + "/robots.txt"


def host(url: str) -> str:
    """The host of a URL, as `origin` writes it. Slots and delays are per host.

    >>> host("https://Example.COM:8443/a"), host("http://[::1]:80/")
    ('example.com', '[::1]')
    """
    name = origin(url).partition("//")[2]
    return name.partition("]")[0] + "]" if name.startswith("[") else name.partition(":")[0]


def requestable(url: str) -> str:
    """A URL as it is requested: origin, path and query in ASCII, nothing else.

    Characters that a request may not contain are percent-encoded; existing escapes are kept.

    >>> requestable("http://user:secret@Example.com/a b?ü=%20#top")
    'http://example.com/a%20b?%C3%BC=%20'
    """
    site = origin(url)
    if _REQUESTABLE(url, len(site)) and url.startswith(site):
        return url
    # Behind the authority as `origin` reads it. `match_path` ends it at a ";", too, which may stand
    # in a password.
    path = url[_AUTHORITY(url).end() :].partition("#")[0]  # type: ignore[union-attr]
    safe = _UNSAFE.sub(lambda found: b"%%%02X" % found[0][0], to_bytes(path)).decode("ascii")
    return site + (safe if safe.startswith("/") else "/" + safe)


_REQUESTABLE = re.compile(r"/[!$&-;=?-\[\]_a-z~%]*+").fullmatch
_UNSAFE = re.compile(rb"[^!$&-;=?-\[\]_a-z~%]")


class Target(NamedTuple):
    """A URL that a request can go to, parsed once: `target` makes one.

    Rules go by the origin, delays and slots by the host.

    >>> target("HTTP://user:secret@Example.com:81/a b#top")
    Target(url='http://example.com:81/a%20b', origin='http://example.com:81', host='example.com')
    """

    url: str
    """As `requestable` writes it."""
    origin: str
    host: str


def target(url: str) -> Target:
    """Parse a URL for a request. Raises InvalidURL as `origin` does.

    >>> target("https://example.com").host
    'example.com'
    """
    sent = requestable(url)
    return Target(sent, origin(sent), host(sent))


def redirect_target(url: str, location: str) -> tuple[str, str]:
    """The target of a redirect, or else the problem with it; the other one is empty.

    `location` is the header as received. The target is in requestable form: fragment and
    credentials are dropped.

    >>> redirect_target("http://example.com/a/b", "../c#top")
    ('http://example.com/c', '')
    >>> redirect_target("http://example.com/a/b", "javascript:alert(1)")
    ('', 'invalid redirect target')
    """
    from urllib.parse import urljoin

    location = location.strip(_SPACE)
    if not location:
        return "", "redirect without Location"
    # Clients disagree on `http:/x`, `http:x` and `http:///x`: the same host, or the host "x".
    # urljoin takes the host of the base URL, and drops tabs and line breaks.
    if not (_NO_HOST(location) or _BREAK(location)):
        try:
            target = requestable(urljoin(url, location))
        except ValueError:  # InvalidURL, and what urljoin makes of brackets
            target = ""
        if 0 < len(target) <= _MAX_TARGET:
            return target, ""
    return "", "invalid redirect target"


_SPACE = " \t\r\n\v\f"
_NO_HOST = re.compile(r"https?:(?!//)|(?:https?:)?//(?:[/?#]|$)", re.IGNORECASE).match
_BREAK = re.compile(r"[\t\r\n]").search
_MAX_TARGET = 8_000
"""Characters: the length that senders and recipients should support (RFC 9110 section 4.1)."""


def page_url(url: str, *, without_tracking: bool = False) -> str:
    """A URL in normal form, so that one page has one URL.

    Scheme and host in lower case, no default port, no fragment, no dot segments (RFC 3986 section
    5.2.4), unreserved characters unescaped and hex digits in upper case (section 6.2.2), no empty
    query. Tracking parameters can be dropped, too.

    >>> page_url("HTTP://Example.com:80/a/./b/../%7euser?#top")
    'http://example.com/a/~user'
    >>> page_url("https://example.com/?id=1&utm_source=x", without_tracking=True)
    'https://example.com/?id=1'
    """
    sent = requestable(url)
    if not without_tracking and "%" not in sent and "/." not in sent and sent[-1] != "?":
        return sent
    site = origin(sent)
    path, _, query = sent[len(site) :].partition("?")
    if "%" in sent:
        path, query = _ESCAPE.sub(_unescaped, path), _ESCAPE.sub(_unescaped, query)
    if "/." in path:
        path = _without_dots(path)
    if without_tracking and query:
        kept = [part for part in query.split("&") if not _TRACKING(part)]
        query = "&".join(kept)
    return f"{site}{path}?{query}" if query else site + path


# An escape behind a bare "%" stays: "%%341" would become "%41", which is "A".
_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_TRACKING = re.compile(
    r"(?:utm_[a-z_]+|gclid|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|igshid|mc_cid|mc_eid"
    r"|_ga|_gl|_hsenc|_hsmi|mkt_tok)(?:=.*)?",
    re.IGNORECASE | re.DOTALL,
).fullmatch


def _unescaped(found: "re.Match[str]") -> str:
    character = chr(int(found[1], 16))
    return character if character in _UNRESERVED else found[0].upper()


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _port(text: str, url: str) -> str:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65535):
        raise InvalidURL(without_credentials(url), "invalid port")
    return str(int(text))


def _host(text: str, url: str) -> str:
    if text.startswith("["):
        return _ipv6(text, url)
    if len(text) > _MAX_HOST + 1:  # the final dot of a fully qualified name
        raise InvalidURL(without_credentials(url), "host name too long")
    host = text.lower() if text.isascii() else _ascii_host(text, url)
    if not host:
        raise InvalidURL(without_credentials(url), "no host")
    if _FORBIDDEN_IN_HOST(host):
        raise InvalidURL(without_credentials(url), "invalid character in the host name")
    return host


def _ipv6(text: str, url: str) -> str:
    from ipaddress import AddressValueError, IPv6Address

    try:
        address = IPv6Address(text[1:-1])
    except AddressValueError:
        raise InvalidURL(without_credentials(url), "invalid IPv6 address") from None
    if address.scope_id is not None:
        raise InvalidURL(without_credentials(url), "IPv6 zone in a URL")
    return f"[{address.compressed}]"


def _ascii_host(text: str, url: str) -> str:
    import idna  # 10 ms to import, and few hosts need it

    try:
        return idna.encode(text, uts46=True).decode("ascii")
    except UnicodeError:
        raise InvalidURL(without_credentials(url), "invalid international host name") from None


def without_credentials(url: str) -> str:
    """The URL without user name and password, so that it may be stored, logged and shown.

    >>> without_credentials("https://user:secret@example.com/a@b")
    'https://…@example.com/a@b'
    """
    start = _AUTHORITY_START(url)
    if start is None:
        return url
    begin = start.end()
    end = _AUTHORITY_END(url, begin)
    authority = url[begin : end.start()] if end else url[begin:]
    _, at, host = authority.rpartition("@")
    return f"{url[:begin]}…@{host}{url[begin + len(authority) :]}" if at else url


# With two slashes there is an authority; in an http URL something is meant to be one. A bare path
# has none, and may well have an `@`.
_AUTHORITY_START = re.compile(
    possessive(r"[A-Za-z][A-Za-z0-9+.-]*+:", "?") + r"//|(?i:https?):/?"
).match
_AUTHORITY_END = re.compile(r"[/?#]").search


plain_match_path, plain_origin = match_path, origin
plain_host, plain_requestable = host, requestable

if kernel is not None:
    kernel.connect(
        match_path=plain_match_path,
        origin=plain_origin,
        host=plain_host,
        requestable=plain_requestable,
        to_bytes=to_bytes,
        to_text=to_text,
    )
    globals().update(
        match_path=kernel.match_path,
        origin=kernel.origin,
        host=kernel.host,
        requestable=kernel.requestable,
    )
