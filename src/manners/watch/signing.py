"""The signature of a message, by which a receiver knows who sent it. Quiet.

The header is `Manners-Signature: t=TIME,v1=SIGNATURE`: TIME is in seconds since the epoch, and
SIGNATURE the HMAC-SHA-256, in hexadecimal, of TIME, a full stop and the body, with the shared
secret.
"""

import hmac

from manners._text import count

HEADER = "Manners-Signature"
MIN_SECRET = 16
"""Bytes: a shorter secret can be guessed."""


def signature(secret: bytes, at: int, body: bytes) -> str:
    """The value of the header.

    >>> signature(b"sesame", 1700000000, b"{}")
    't=1700000000,v1=d3abd3f5600670832b9e0ff7116224a4ba4b043d1ef3a02836e89810336ec0cc'
    """
    digest = hmac.new(secret, b"%d." % at + body, "sha256").hexdigest()
    return f"t={at},v1={digest}"


def read_secret(data: bytes) -> bytes:
    r"""The secret in a file or a variable; raises ValueError for one that is too short.

    >>> read_secret(b"0123456789abcdef\n")
    b'0123456789abcdef'
    """
    secret = data.strip()
    if len(secret) < MIN_SECRET:
        raise ValueError(f"has {count(len(secret), 'byte')}; a secret needs at least {MIN_SECRET}")
    return secret
