"""The text of a robots.txt in the charset its server named."""

from manners.charset import byte_order_mark, legacy_codec


def in_utf8(body: bytes, charset: str) -> bytes | str:
    """The body for the engine, which reads UTF-8; a wrong charset never raises.

    RFC 9309 section 2.2: the file is UTF-8. A server that names another charset is believed; one
    that names none, or an unknown one, is not.

    >>> in_utf8(b"Disallow: /caf\\xe9", "ISO-8859-1")
    'Disallow: /café'
    >>> in_utf8(b"Disallow: /caf\\xe9", "no-such-charset")
    b'Disallow: /caf\\xe9'
    """
    codec = legacy_codec(charset)
    if codec is None:
        return body
    if codec.startswith("utf-16"):
        if b"\0" not in body:
            return body  # no key of a robots.txt is without a NUL in UTF-16: the server is mistaken
        marked, size = byte_order_mark(body)
        if marked.startswith("utf-16"):
            codec, body = marked, body[size:]
    return body.decode(codec, "replace")
