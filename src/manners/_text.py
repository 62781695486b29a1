"""Text: to bytes and back without loss, counts and time spans for people, safe on a terminal."""

import re
import sys

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]").search
_ESCAPED_BYTE = re.compile(rb"\xed([\xb2\xb3])([\x80-\xbf])")


def possessive(pattern: str, quantifier: str) -> str:
    """A group in a regular expression that is repeated, and never gives back what it took.

    Before Python 3.11.5, a possessive quantifier of a group goes on at the wrong place after an
    attempt that fails (CPython issue 106052). An atomic group means the same, and is slower.

    >>> re.match(possessive("//(?<=://)", "?") + "(.*)", "//x")[1]
    '//x'
    """
    if sys.version_info >= (3, 11, 5):
        return f"(?:{pattern}){quantifier}+"
    return f"(?>(?:{pattern}){quantifier})"


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
    """The characters of UTF-8 bytes; an invalid byte becomes a surrogate, as in PEP 383.

    >>> to_text(b"caf\\xc3\\xa9")
    'café'
    """
    return data.decode("utf-8", "surrogateescape")


def without_surrogates(text: str) -> str:
    r"""Text that UTF-8 and JSON can hold: bytes that are not UTF-8 are replaced.

    >>> without_surrogates("caf\udce9")
    'caf\ufffd'
    """
    return text if text.isascii() else to_bytes(text).decode("utf-8", "replace")


def cut(text: str, most: int) -> str:
    """The text, or its beginning with `…` where it is longer than `most`.

    >>> cut("abcdef", 3)
    'abc…'
    """
    return text if len(text) <= most else text[:most] + "…"


def count(number: int, thing: str) -> str:
    """A number of things.

    >>> count(1, "byte"), count(1200, "byte")
    ('1 byte', '1,200 bytes')
    """
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def minutes(number: float) -> str:
    """A number of minutes.

    >>> minutes(1), minutes(0.5), minutes(60)
    ('1 minute', '0.5 minutes', '60 minutes')
    """
    return f"{number:g} minute" + ("" if number == 1 else "s")


def duration(seconds: float) -> str:
    """A time span for people, in at most two units.

    >>> duration(0.0042), duration(0.35), duration(1.234), duration(75), duration(2e5)
    ('4 ms', '0.35 s', '1.2 s', '1 min 15 s', '2 d 7 h')
    """
    if seconds < 59.5:
        return _short(seconds)
    rounded = round(seconds)
    if rounded < 3_600:
        return _both(rounded // 60, "min", rounded % 60, "s")
    if rounded < 86_400:
        return _both(rounded // 3_600, "h", rounded % 3_600 // 60, "min")
    return _both(rounded // 86_400, "d", rounded % 86_400 // 3_600, "h")


def _short(seconds: float) -> str:
    if seconds <= 0:
        return "0 s"
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    digits = 2 if seconds < 0.995 else 1 if seconds < 9.95 else 0
    text = f"{seconds:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if digits else text) + " s"


def _both(number: int, unit: str, rest: int, part: str) -> str:
    return f"{number} {unit}" + (f" {rest} {part}" if rest else "")


def printable(text: str) -> str:
    r"""The text with everything that could control a terminal escaped.

    Control characters, line separators, direction overrides and lone surrogates: text from a site
    is untrusted, and ends up on people's screens.

    >>> print(printable("/a\x1b[2J"))
    /a\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def header_problem(text: str) -> str:
    r"""Why a header cannot contain a text; empty when it can.

    A line break begins another header, and other control characters are read differently by
    different servers.

    >>> header_problem("MyBot/1.0"), header_problem("a\r\nX: y")
    ('', "has a control character ('\\r'), which a header cannot contain")
    """
    found = _CONTROL(text)
    return f"has a control character ({found[0]!a}), which a header cannot contain" if found else ""
