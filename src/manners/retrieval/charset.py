"""The text of a robots.txt in the charset its server named."""

from encodings.aliases import aliases

# The text encodings that web pages come in (encoding.spec.whatwg.org, those that Python has), by
# every name they have. A charset is what a server says: codecs that are slow, or do something else
# than decode, stay out, and Python, which remembers every name it is asked for, is not asked.
_WEB = frozenset(
    (
        *("utf_16", "utf_16_be", "utf_16_le", "koi8_r", "koi8_u", "mac_roman", "mac_cyrillic"),
        *("latin_1", *(f"iso8859_{part}" for part in range(2, 17) if part != 12)),
        *(f"cp{page}" for page in (866, 874, 932, 949, *range(1250, 1259))),
        *("big5", "big5hkscs", "euc_jp", "euc_kr", "gb18030", "gb2312", "gbk", "iso2022_jp"),
        "shift_jis",
    )
)
_CODECS = {
    **{name: name for name in _WEB},
    **{alias: name for alias, name in aliases.items() if name in _WEB},
    "windows_31j": "cp932",
    "windows_874": "cp874",
}


def in_utf8(body: bytes, charset: str) -> bytes | str:
    """The body for the engine, which reads UTF-8; a wrong charset never raises.

    RFC 9309 section 2.2: the file is UTF-8. A server that names another charset is believed; one
    that names none, or one that nobody knows, is not.

    >>> in_utf8(b"Disallow: /caf\\xe9", "ISO-8859-1")
    'Disallow: /café'
    >>> in_utf8(b"Disallow: /caf\\xe9", "no-such-charset")
    b'Disallow: /caf\\xe9'
    """
    name = charset.lower().replace("-", "_").replace(":", "_").removeprefix("x_")
    codec = _CODECS.get(name)
    if codec is None or (codec.startswith("utf_16") and b"\0" not in body):
        return body  # no key of a robots.txt is without a NUL in UTF-16: the server is mistaken
    return body.decode(codec, "replace")
