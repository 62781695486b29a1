"""The text of a robots.txt in the charset its server named."""

import codecs

# The text encodings that web pages come in (encoding.spec.whatwg.org, those that Python has). A
# charset is what a server says: codecs that are slow, or do something else than decode, stay out.
_KNOWN = frozenset(
    codecs.lookup(name).name
    for name in (
        *("ascii", "utf-16", "utf-16-be", "utf-16-le", "koi8-r", "koi8-u", "mac-roman"),
        *(f"iso8859-{part}" for part in range(1, 17) if part != 12),
        *(
            f"cp{page}"
            for page in (866, 874, 949, 1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258)
        ),
        *("big5", "euc-jp", "euc-kr", "gb18030", "gb2312", "gbk", "iso2022_jp", "shift_jis"),
    )
)


def in_utf8(body: bytes, charset: str) -> bytes | str:
    """The body for the engine, which reads UTF-8; a wrong charset never raises.

    RFC 9309 section 2.2: the file is UTF-8. A server that names another charset is believed; one
    that names none, or one that nobody knows, is not.

    >>> in_utf8(b"Disallow: /caf\\xe9", "ISO-8859-1")
    'Disallow: /café'
    >>> in_utf8(b"Disallow: /caf\\xe9", "no-such-charset")
    b'Disallow: /caf\\xe9'
    """
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):  # ValueError: a NUL in the name
        return body
    return body.decode(name, "replace") if name in _KNOWN - {"ascii"} else body
