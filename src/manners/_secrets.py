"""Secrets in the addresses of stores, servers and proxies: where they stand, and how to hide them.

Everything that shows or keeps such an address asks here. A secret can stand before the host
(`user:password@host`), in a parameter (`?password=…`, `?sslpassword=…`, `?token=…`), and in a
connection string of libpq (`host=… password=…`).
"""

import re
from urllib.parse import unquote

HIDDEN = "***"
LIBPQ = (
    "a connection string of libpq, and not the name of a file; write it as"
    " postgresql://user@host:port/database"
)
"""What is wrong about one that is given where a file or a URL is needed."""

_LONGEST = 10_000
"""Characters: what is longer is no address, and is hidden altogether."""

# Somebody may forget a slash of a server's address, or both, and the scheme of a proxy's.
_SCHEME = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*+://|(?i:postgres\w*+|rediss?|valkeys?|https?)(?:\+\w++)?:/?"
).match
_LOGIN_ALONE = re.compile(r"[^/\\@:\s]*+:[^/\\]*@").match
_PORT = re.compile(r":([^,]++)")
_PARAMETER = re.compile(r"(?<=[?&#])([^=&#]*+)=([^&]*+)")

# libpq-connect, 34.1.1.1: "keyword = value. Spaces around the equal sign are optional. To write an
# empty value, or a value containing spaces, surround it with single quotes … Single quotes and
# backslashes within a value must be escaped with a backslash". Somebody may forget the quotes: a
# value without them goes on to the next keyword.
_LIBPQ = re.compile(
    r"(?<!\S)([A-Za-z_]\w*+)(\s*=\s*)('(?:[^'\\]|\\.)*+'(?=\s|$)|.*?)(?=\s+[A-Za-z_]\w*+\s*=|\s*$)",
    re.DOTALL,
)
_KEYWORD = re.compile(r"(?<!\S)([A-Za-z_]\w*+)\s*=").finditer
_LIBPQ_WORDS = frozenset(
    (
        *("host", "hostaddr", "port", "dbname", "user", "password", "passfile", "service"),
        *("connect_timeout", "application_name", "target_session_attrs", "options"),
        *("sslmode", "sslcert", "sslkey", "sslpassword", "sslrootcert"),
    )
)
_HARMLESS = _LIBPQ_WORDS - {"password", "sslpassword"} | {
    *("channel_binding", "client_encoding", "gssencmode", "load_balance_hosts", "sslcrl"),
    *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"),
    *("tcp_user_timeout", "sslnegotiation", "ssl_min_protocol_version", "requirepeer"),
    *("db", "protocol", "ssl_cert_reqs", "ssl_ca_certs", "ssl_check_hostname", "client_name"),
}
"""Parameters whose values are no secrets. All others may be: `passwrod=…` is one, too."""


def without_secrets(place: str) -> str:
    """An address as it may be shown and logged: `***` stands in the place of a secret.

    >>> without_secrets("postgresql://me:secret@example.com/db?sslpassword=secret&sslmode=require")
    'postgresql://me:***@example.com/db?sslpassword=***&sslmode=require'
    >>> without_secrets("host=example.com password='my secret' dbname=db")
    'host=example.com password=*** dbname=db'
    >>> without_secrets("manners.db")
    'manners.db'
    """
    return _replaced(place, HIDDEN)


def secrets_of(place: str) -> list[str]:
    """The secrets in an address, as they are written and as they are meant; the longest first.

    >>> secrets_of("valkey://:s%20t@example.com/0")
    ['s%20t', 's t']
    """
    found: list[str] = []
    _replaced(place, HIDDEN, found)
    meant = {each for one in found for each in (one, unquote(one), _unquoted(one)) if each}
    return sorted(meant, key=lambda each: (-len(each), each))


def hidden_in(message: str, place: str) -> str:
    """A message about an address, without the secrets of the address.

    >>> hidden_in('no option "sesame"', "postgresql://h/db?password=sesame")
    'no option "***"'
    """
    for secret in secrets_of(place):
        if len(secret) > 2:  # a shorter one is a part of too many words
            message = message.replace(secret, HIDDEN)
    return message


def without_login(place: str) -> str:
    """An address without name, password and parameters: as it may be kept to be used again.

    >>> without_login("valkey://name:secret@example.com:6379/0?password=secret")
    'valkey://example.com:6379/0'
    """
    scheme = _SCHEME(place)
    if scheme is None:
        return without_secrets(place)
    rest = re.split(r"[?#]", place[scheme.end() :], maxsplit=1)[0]
    return without_secrets(scheme[0].lower() + rest.rpartition("@")[2])


def is_libpq(place: str) -> bool:
    """Whether this is a connection string of libpq rather than the name of a file.

    >>> is_libpq("host=example.com dbname=db"), is_libpq("runs/host=a/manners.db")
    (True, False)
    """
    if "://" in place or "=" not in place:
        return False
    return any(found[1].lower() in _LIBPQ_WORDS for found in _KEYWORD(place[:_LONGEST]))


def _replaced(place: str, by: str, found: list[str] | None = None) -> str:
    """The address with `by` in place of each secret, which is added to `found`."""
    secrets = [] if found is None else found
    if len(place) > _LONGEST:
        secrets.append(place)
        return by

    def parameter(match: "re.Match[str]") -> str:
        if unquote(match[1]).lower() in _HARMLESS or not match[2]:
            return match[0]
        secrets.append(match[2])
        return f"{match[1]}={by}"

    def pair(match: "re.Match[str]") -> str:
        if match[1].lower() in _HARMLESS or not match[3]:
            return match[0]
        secrets.append(match[3])
        return f"{match[1]}{match[2]}{by}"

    def port(match: "re.Match[str]") -> str:
        if match[1].isdecimal():
            return match[0]
        secrets.append(match[1])
        return f":{by}"

    if is_libpq(place):
        return _LIBPQ.sub(pair, place)
    found_scheme = _SCHEME(place)
    if found_scheme is None and not _LOGIN_ALONE(place):
        return place
    scheme = "" if found_scheme is None else found_scheme[0]
    rest = _PARAMETER.sub(parameter, place[len(scheme) :])
    # Up to the last "@": a password may hold one, or a "/", that should have been escaped.
    login, at, address = rest.rpartition("@")
    if at:
        name, colon, password = login.partition(":")
        if colon and password:
            secrets.append(password)
            login = f"{name}:{by}"
        elif not colon and scheme.lower().startswith("http"):  # a token, before a proxy
            secrets.append(login)
            login = by
    elif not address.startswith("["):  # name:password, and the host is forgotten: no port is a word
        hosts, *others = re.split(r"(?=[/?#])", address, maxsplit=1)
        address = "".join((_PORT.sub(port, hosts), *others))
    return scheme + login + at + address


def _unquoted(value: str) -> str:
    """The value that a libpq string means."""
    is_quoted = value.startswith("'")
    inner = value[1:].removesuffix("'") if is_quoted else value
    return re.sub(r"\\(.)", r"\1", inner)
