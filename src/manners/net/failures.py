"""Why a request failed, in a few words of ours."""

import ssl

import aiohttp

from manners._text import printable
from manners.net.bodies import Undecodable
from manners.net.departures import ConnectionLost, TurnLost
from manners.net.messages import PROXY_FAILED, REFUSED, TLS
from manners.net.resolver import RefusedAddress


class ProxyFailed(aiohttp.ClientError):
    """A proxy that answered for itself."""


FAILURES = (aiohttp.ClientError, OSError, ValueError, Undecodable)
"""What sending a request and reading its reply may raise."""
# The first that matches; the special before the general.
_CAUSES: tuple[tuple[type[BaseException], str], ...] = (
    (RefusedAddress, REFUSED),
    (TimeoutError, "timeout"),
    (ssl.SSLError, TLS),
    (aiohttp.ClientSSLError, TLS),
    (aiohttp.ClientProxyConnectionError, PROXY_FAILED),
    (aiohttp.ClientHttpProxyError, PROXY_FAILED),
    (ProxyFailed, PROXY_FAILED),
    (TurnLost, "turn lost"),
    (aiohttp.ClientConnectorDNSError, "no such host"),
    (ConnectionRefusedError, "connection refused"),
    (aiohttp.ClientConnectorError, "cannot connect"),
    (aiohttp.ClientPayloadError, "body cut short"),
    (aiohttp.ServerDisconnectedError, "connection lost"),
    (ConnectionLost, "connection lost"),
    (OSError, "connection lost"),
    (aiohttp.ClientResponseError, "not HTTP"),
    (Undecodable, "bad content-encoding"),
)


def cause_of(failure: BaseException, has_proxy: bool) -> str:
    """Why there is no reply, in a few words."""
    if has_proxy and isinstance(failure, aiohttp.ClientConnectorDNSError):
        return PROXY_FAILED  # its name is the only one that is looked up here
    wrapped = getattr(failure, "os_error", failure)  # more specific than aiohttp's wrapper
    for kind, cause in _CAUSES:
        if isinstance(wrapped, kind) or isinstance(failure, kind):
            return cause
    return f"failed ({type(failure).__name__})"


# Codes of OpenSSL's X509_verify_cert, and reasons of its alerts, in words.
_NOT_TRUSTED = {
    18: "certificate not trusted (self-signed)",
    19: "certificate not trusted (self-signed certificate in its chain)",
    20: "certificate not trusted (unknown issuer)",
    21: "certificate not trusted (incomplete chain)",
    9: "certificate not yet valid",
    10: "certificate expired",
    62: "certificate is for another host",
    64: "certificate is for another address",
}
_HANDSHAKE = {
    "WRONG_VERSION_NUMBER": "the server does not speak TLS on this port",
    "HTTP_REQUEST": "the server does not speak TLS on this port",
    "UNSUPPORTED_PROTOCOL": "no TLS version in common",
    "TLSV1_ALERT_PROTOCOL_VERSION": "no TLS version in common",
    "UNEXPECTED_EOF_WHILE_READING": "the server broke off the handshake",
}


def tls_detail(failure: BaseException) -> str:
    """Why a TLS connection failed, in our words or OpenSSL's."""
    wrapped = getattr(failure, "os_error", failure)
    wrapped = getattr(wrapped, "certificate_error", wrapped)
    if isinstance(wrapped, ssl.SSLCertVerificationError):
        known = _NOT_TRUSTED.get(wrapped.verify_code)
        return known or f"certificate not trusted ({printable(wrapped.verify_message)[:100]})"
    reason = getattr(wrapped, "reason", None) or ""
    return _HANDSHAKE.get(reason) or reason.lower().replace("_", " ")[:100]
