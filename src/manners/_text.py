"""Between characters and bytes, without loss, and safely onto a screen."""

import re

_ESCAPED_BYTE = re.compile(rb"\xed([\xb2\xb3])([\x80-\xbf])")


def to_bytes(text: str) -> bytes:
    r"""UTF-8, for any string at all.

    The surrogates U+DC80 to U+DCFF are the byte they escape (PEP 383), so what `to_text` made
    comes back as it was; any other lone surrogate is its three WTF-8 bytes.

    >>> to_bytes("é\udcff")
    b'\xc3\xa9\xff'
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        # U+DC80 is ED B2 80 in WTF-8, U+DCFF is ED B3 BF; no valid UTF-8 contains these bytes.
        return _ESCAPED_BYTE.sub(
            lambda found: bytes([(found[1][0] & 3) << 6 | found[2][0] & 63]),
            text.encode("utf-8", "surrogatepass"),
        )


def to_text(data: bytes) -> str:
    """The characters of UTF-8 bytes; a byte that is none becomes a surrogate, as in PEP 383.

    >>> to_text(b"caf\\xc3\\xa9")
    'café'
    """
    return data.decode("utf-8", "surrogateescape")


def cut(text: str, most: int) -> str:
    """The text, or its beginning with a sign that there is more: what is shown is not endless.

    >>> cut("abcdef", 3)
    'abc…'
    """
    return text if len(text) <= most else text[:most] + "…"


def count(number: int, thing: str) -> str:
    """So many things.

    >>> count(1, "byte"), count(1200, "byte")
    ('1 byte', '1,200 bytes')
    """
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def printable(text: str) -> str:
    r"""The text with everything a terminal might obey written as an escape.

    Control characters, line separators, direction overrides and lone surrogates: what comes from
    a site is untrusted, and it ends up on people's screens.

    >>> print(printable("/a\x1b[2J"))
    /a\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
