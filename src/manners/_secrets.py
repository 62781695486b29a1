"""Secrets in the addresses of stores, servers and proxies, and how to hide them.

Everything that shows or stores such an address goes through here. A secret can stand before the
host (`user:password@host`), in a parameter (`?password=…`, `?sslpassword=…`, `?token=…`), and in a
libpq connection string (`host=… password=…`).
"""

import re
from urllib.parse import unquote

from manners._text import possessive

HIDDEN = "***"
LIBPQ = (
    "a libpq connection string, not a file name; write it as postgresql://user@host:port/database"
)
"""The problem with one where a file or a URL is needed."""

_LONGEST = 10_000
"""Characters: anything longer is not an address, and is hidden altogether."""

# People forget one or both slashes of a server's address, and the scheme of a proxy's.
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
_QUOTED = possessive(r"[^'\\]|\\.", "*")
_LIBPQ = re.compile(
    rf"(?<!\S)([A-Za-z_]\w*+)(\s*=\s*)('{_QUOTED}'(?=\s|$)|.*?)(?=\s+[A-Za-z_]\w*+\s*=|\s*$)",
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
"""Parameters whose values are not secret. Any other may be: `passwrod=…` is one, too."""

_URL_LOGIN = re.compile(r"(?<=http)(s?)://[^/?#\s]*@", re.IGNORECASE)
_URL_SECRET = re.compile(
    r"(?<=[?&;])([\w.-]*(?:token|secret|passw(?:or)?d|pwd|signature|credential|session_?id)"
    r"|auth|authorization|api_?key|access_?key|key|sig|sid|jwt|awsaccesskeyid|phpsessid)"
    r"=[^&;#\s]+?(?=:?(?:[&;#\s]|$))",
    re.IGNORECASE,
)
"""A parameter of a URL that is named like a secret, with its value. Addresses that are signed for
a storage service end in `X-Amz-Signature=…`, `sig=…` or `X-Goog-Signature=…`."""


def without_secrets(place: str) -> str:
    """An address that may be shown and logged: every secret is replaced by `***`.

    >>> without_secrets("postgresql://me:secret@example.com/db?sslpassword=secret&sslmode=require")
    'postgresql://me:***@example.com/db?sslpassword=***&sslmode=require'
    >>> without_secrets("host=example.com password='my secret' dbname=db")
    'host=example.com password=*** dbname=db'
    >>> without_secrets("manners.db")
    'manners.db'
    """
    return _replaced(place)


def secrets_of(place: str) -> list[str]:
    """The secrets in an address, as written and decoded; the longest first.

    >>> secrets_of("valkey://:s%20t@example.com/0")
    ['s%20t', 's t']
    """
    found: list[str] = []
    _replaced(place, found)
    meant = {form for text in found for form in (text, unquote(text), _unquoted(text)) if form}
    return sorted(meant, key=lambda form: (-len(form), form))


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
    """An address without user name, password and parameters, so that it may be stored.

    >>> without_login("valkey://name:secret@example.com:6379/0?password=secret")
    'valkey://example.com:6379/0'
    """
    scheme = _SCHEME(place)
    if scheme is None:
        return without_secrets(place)
    rest = re.split(r"[?#]", place[scheme.end() :], maxsplit=1)[0]
    return without_secrets(scheme[0].lower() + rest.rpartition("@")[2])


def is_libpq(place: str) -> bool:
    """Whether this is a libpq connection string rather than a file name.

    >>> is_libpq("host=example.com dbname=db"), is_libpq("runs/host=a/manners.db")
    (True, False)
    """
    if "://" in place or "=" not in place:
        return False
    return any(found[1].lower() in _LIBPQ_WORDS for found in _KEYWORD(place[:_LONGEST]))


def without_url_secrets(text: str) -> str:
    """A text for a log in which URLs of sites stand, without passwords, tokens and signatures.

    Parameters of pages are mostly no secrets, other than those of an address of a server: only
    what is named like one is hidden.

    >>> without_url_secrets("https://me:secret@a.example/?q=shoes&access_token=secret: timeout")
    'https://***@a.example/?q=shoes&access_token=***: timeout'
    """
    if "@" in text:
        text = _URL_LOGIN.sub(rf"\1://{HIDDEN}@", text)
    if "=" in text:
        text = _URL_SECRET.sub(rf"\1={HIDDEN}", text)
    return text


def _replaced(place: str, found: list[str] | None = None) -> str:
    """The address with `***` in place of each secret, which is added to `found`."""
    secrets = [] if found is None else found

    def hidden(secret: str) -> str:
        secrets.append(secret)
        return HIDDEN

    def parameter(match: "re.Match[str]") -> str:
        is_harmless = unquote(match[1]).lower() in _HARMLESS or not match[2]
        return match[0] if is_harmless else f"{match[1]}={hidden(match[2])}"

    def pair(match: "re.Match[str]") -> str:
        is_harmless = match[1].lower() in _HARMLESS or not match[3]
        return match[0] if is_harmless else f"{match[1]}{match[2]}{hidden(match[3])}"

    def port(match: "re.Match[str]") -> str:
        return match[0] if match[1].isdecimal() else f":{hidden(match[1])}"

    if len(place) > _LONGEST:
        return hidden(place)
    if is_libpq(place):
        return _LIBPQ.sub(pair, place)
    found_scheme = _SCHEME(place)
    if found_scheme is None and not _LOGIN_ALONE(place):
        return place
    scheme = "" if found_scheme is None else found_scheme[0]
    rest = _PARAMETER.sub(parameter, place[len(scheme) :])
    # Up to the last "@": a password may contain one, or a "/", that should have been escaped.
    login, at, address = rest.rpartition("@")
    if at:
        name, colon, password = login.partition(":")
        if colon and password:
            login = f"{name}:{hidden(password)}"
        elif not colon and scheme.lower().startswith("http"):  # a token, before a proxy
            login = hidden(login)
    elif not address.startswith("["):  # name:password without a host: a port is a number
        hosts, *tail = re.split(r"(?=[/?#])", address, maxsplit=1)
        address = "".join((_PORT.sub(port, hosts), *tail))
    return scheme + login + at + address


def _unquoted(value: str) -> str:
    """The value that a libpq string means."""
    is_quoted = value.startswith("'")
    inner = value[1:].removesuffix("'") if is_quoted else value
    return re.sub(r"\\(.)", r"\1", inner)
