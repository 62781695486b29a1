"""Connections: to addresses that the guard accepts, over TLS that trusts the right authorities."""

import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.abc import AbstractResolver

from manners.errors import SettingsError
from manners.net.resolver import GuardedResolver, SystemResolver

if TYPE_CHECKING:
    from aiohttp.connector import AddrInfoType

Tls = ssl.SSLContext | bool
"""What aiohttp takes; True is its own context, with the authorities of the system."""


def guarded_connector(
    open_socket: "Callable[[AddrInfoType], socket.socket]",
    *,
    guarded: bool,
    tls: Tls,
    resolver: AbstractResolver | None = None,
    connections: int = 1,
    keep_alive: bool = False,
) -> aiohttp.TCPConnector:
    """What opens connections; a guarded one looks each name up once, and judges every address."""
    return aiohttp.TCPConnector(
        limit=connections,
        force_close=not keep_alive,
        use_dns_cache=False,  # one lookup for each connection, judged and used
        resolver=GuardedResolver(resolver or SystemResolver(), guarded),
        socket_factory=open_socket,
        ssl=tls,
    )


def tls_trusting(ca_file: str | None) -> Tls:
    """TLS that trusts the authorities of a file; without one, those of the system."""
    if not ca_file:
        return True
    try:
        return ssl.create_default_context(cafile=ca_file)
    except ssl.SSLError:
        problem = f"{ca_file!r} has no certificate in PEM format"
    except OSError as error:
        problem = f"cannot read {ca_file!r}: {error.strerror}"
    raise SettingsError("ca_file", problem)


def tls_with(ca_file: str | None, client_cert: str) -> ssl.SSLContext:
    """The same TLS for an origin that wants a certificate of ours: a file has it, with its key."""
    trusting = tls_trusting(ca_file)
    tls = trusting if isinstance(trusting, ssl.SSLContext) else ssl.create_default_context()
    try:
        tls.load_cert_chain(client_cert, password=_no_password)
    except (ssl.SSLError, ValueError):
        problem = f"{client_cert!r} has no certificate with its key, without a password, as PEM"
    except OSError as error:
        problem = f"cannot read {client_cert!r}: {error.strerror}"
    else:
        return tls
    raise SettingsError("client_certs", problem)


def _no_password() -> str:
    """Otherwise, OpenSSL would ask on the terminal."""
    return ""
