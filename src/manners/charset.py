"""Character encodings of web pages: labels, the `<meta>` prescan, decoding. Quiet.

The order is the HTML Standard's (13.2.3.2, "Determining the character encoding"): a byte order
mark, the Content-Type header, a `<meta>` element in the first 1024 bytes of an HTML page, UTF-8.
`decode` is the only place that decides; nothing here raises on content.
"""

import codecs
import re
from functools import cache
from typing import Final

PRESCAN: Final = 1024
"""Bytes in which a `<meta>` element is looked for: "the first 1024 bytes"."""
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
_REPLACEMENT = "replacement"
_USER_DEFINED = "x-user-defined"

# Encoding Standard, section 4.2 "Names and labels": each Python codec with the labels it decodes.
# Several differ from what Python calls by the same name: ISO-8859-1 is windows-1252, GBK and GB2312
# are gb18030, Shift_JIS is windows-31j (cp932), EUC-KR is windows-949, Big5 includes HKSCS.
_LABELS_BY_CODEC = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2"
    " iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3"
    " iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4"
    " iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595"
    " iso_8859-5 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6"
    " iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7"
    " iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8"
    " iso88598 iso_8859-8 iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100"
    " iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252"
    " latin-1",  # the last is not in the standard, but common
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9"
    " iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "gb18030": "gb18030 chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58"
    " x-gbk",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022-jp-ext": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601"
    " ksc_5601 windows-949",
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    _REPLACEMENT: "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement",
    _USER_DEFINED: "x-user-defined",
}
_ASCII = ("ansi_x3.4-1968", "ascii", "us-ascii")
_CODECS = {label: codec for codec, labels in _LABELS_BY_CODEC.items() for label in labels.split()}


def decode(body: bytes, content_type: str) -> str:
    r"""The text of a body, by its byte order mark, Content-Type or, in HTML, its `<meta>` element.

    >>> decode(b"<meta charset=latin1><p>caf\xe9", "text/html")
    '<meta charset=latin1><p>café'
    """
    marked, size = byte_order_mark(body)
    if marked:
        return body[size:].decode(marked, "replace")
    name = codec_of(charset_of(content_type))
    # A text in UTF-16 without a single NUL hardly exists: the server is mistaken.
    if name is not None and name.startswith("utf-16") and b"\0" not in body:
        name = None
    if name is None and is_html(body, content_type):
        name = prescan(body)
    return _decoded(body, name or "utf-8")


def is_html(body: bytes, content_type: str) -> bool:
    """Whether a body is HTML: by its type, or by its first character where no type is named.

    >>> is_html(b"", "Text/HTML; charset=utf-8"), is_html(b"<p>", ""), is_html(b"<p>", "text/plain")
    (True, True, False)
    """
    kind = content_type.partition(";")[0].strip().lower()
    return kind in _HTML_TYPES if kind else body[:512].lstrip().startswith(b"<")


def codec_of(label: str) -> str | None:
    """The Python codec for a label, as the Encoding Standard's "get an encoding"; None: unknown.

    >>> codec_of(" ISO-8859-1 "), codec_of("Shift_JIS"), codec_of("zlib")
    ('cp1252', 'cp932', None)
    """
    return _CODECS.get(label.strip("\t\n\f\r ").lower())


def byte_order_mark(body: bytes) -> tuple[str, int]:
    r"""The codec that a byte order mark names, and the size of the mark; `""` and 0 without one.

    >>> byte_order_mark(b"\xff\xfea\0"), byte_order_mark(b"a")
    (('utf-16-le', 2), ('', 0))
    """
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return codec, len(mark)
    return "", 0


def legacy_codec(label: str) -> str | None:
    """The codec for a file that should be UTF-8 and says it is not; None where UTF-8 will do.

    ASCII is UTF-8, too, and a file that says it is ASCII and is not is most likely UTF-8.

    >>> legacy_codec("windows-1251"), legacy_codec("us-ascii"), legacy_codec("no-such-charset")
    ('cp1251', None, None)
    """
    name = label.lower()
    codec = _CODECS.get(name)
    return None if name in _ASCII or codec in ("utf-8", _REPLACEMENT, _USER_DEFINED) else codec


def charset_of(content_type: str) -> str:
    """The charset that a Content-Type names.

    >>> charset_of("text/plain; Charset='ISO-8859-1'")
    'iso-8859-1'
    """
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'").lower()[:40]
    return ""


def _decoded(body: bytes, codec: str) -> str:
    if codec == _REPLACEMENT:  # encodings that hide markup: "a single U+FFFD"
        return "\N{REPLACEMENT CHARACTER}" if body else ""
    if codec.startswith(("cp12", "cp874")) or codec == _USER_DEFINED:
        return codecs.charmap_decode(body, "strict", _table(codec))[0]
    return body.decode(codec, "replace")


@cache
def _table(codec: str) -> str:
    """The character of each byte. Where Windows has none in C1, the control character stands."""
    if codec == _USER_DEFINED:
        return "".join(chr(byte if byte < 0x80 else 0xF700 + byte) for byte in range(256))
    characters = [bytes([byte]).decode(codec, "replace") for byte in range(256)]
    for byte in range(0x80, 0xA0):
        if characters[byte] == "\N{REPLACEMENT CHARACTER}":
            characters[byte] = chr(byte)
    # charmap_decode takes U+FFFE for "undefined"; U+FFFD is a character like any other.
    return "".join(characters)


# HTML Standard, 13.2.3.2: "prescan a byte stream to determine its encoding".

_META = re.compile(rb"<meta(?=[\t\n\f\r /])", re.IGNORECASE).match
_TAG = re.compile(rb"</?[A-Za-z][^\t\n\f\r >]*+").match
_ATTRIBUTE = re.compile(
    # Either the end of the tag, or a name; a name may begin with "=".
    rb"[\t\n\f\r /]*+(?:(?P<end>>)|(?P<name>[^\t\n\f\r />][^\t\n\f\r />=]*+)"
    # With a value, quoted or not, or without one. What is cut off by the end of the bytes matches
    # neither: there the prescan stops.
    rb"(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'"
    rb"|(?P<bare>[^\t\n\f\r >\"'][^\t\n\f\r >]*+)(?=[\t\n\f\r >])|(?=>))"
    rb"|[\t\n\f\r ]*+(?!=)(?=.)))",
    re.DOTALL,
).match
_XML = re.compile(
    rb"<\?xml[^>]*?encoding[\x00-\x20]*+=[\x00-\x20]*+(?:\"([^\">]*+)\"|'([^'>]*+)')"
).match
_CONTENT = re.compile(
    # A quote that is not closed: "return nothing".
    r"charset[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:\"([^\"]*+)\"|'([^']*+)'|[\"']|([^\t\n\f\r ;]*+))"
).search


def prescan(body: bytes) -> str | None:
    """The codec that the first bytes of an HTML page declare; None when they declare none.

    >>> prescan(b'<!-- <meta charset=koi8-r> --><meta charset="euc-kr">')
    'cp949'
    """
    data = body[:PRESCAN]
    if data.startswith(b"<\0?\0x\0"):
        return "utf-16-le"
    if data.startswith(b"\0<\0?\0x"):
        return "utf-16-be"
    lower = data.lower()
    found = _from_meta(data) if b"charset" in lower and b"<meta" in lower else None
    if found is None and (xml := _XML(data)):  # "get an XML encoding"
        label = (xml[1] or xml[2] or b"").decode("latin-1")
        found = codec_of(label)
    if found is not None and found.startswith("utf-16"):
        return "utf-8"  # a label that could be read is not in UTF-16
    return "cp1252" if found == _USER_DEFINED else found


def _from_meta(data: bytes) -> str | None:
    position = data.find(b"<")
    while position >= 0:
        if data.startswith(b"<!--", position):
            end = data.find(b"-->", position + 2)
            if end < 0:
                return None
            position = end + 2
        elif (tag := _META(data, position)) or (tag := _TAG(data, position)):
            read = _attributes(data, tag.end())
            if read is None:
                return None
            attributes, position = read
            if _META(data, tag.start()) and (found := _declared(attributes)):
                return found
        elif data[position + 1 : position + 2] in (b"!", b"/", b"?"):
            position = data.find(b">", position)
            if position < 0:
                return None
        position = data.find(b"<", position + 1)
    return None


def _attributes(data: bytes, position: int) -> tuple[dict[bytes, bytes], int] | None:
    """The attributes of a tag, the first of each name, and where it ends; None: it does not."""
    attributes: dict[bytes, bytes] = {}
    while attribute := _ATTRIBUTE(data, position):
        if attribute["end"]:
            return attributes, attribute.end("end") - 1
        position = attribute.end()
        value = attribute["double"] or attribute["single"] or attribute["bare"] or b""
        attributes.setdefault(attribute["name"].lower(), value)
    return None


def _declared(attributes: dict[bytes, bytes]) -> str | None:
    """The codec that a meta element declares, if any."""
    charset = attributes.get(b"charset")
    if charset is not None:  # it counts without a pragma, and whatever `content` says
        return codec_of(charset.decode("latin-1"))
    if attributes.get(b"http-equiv", b"").lower() != b"content-type":
        return None
    found = _CONTENT(attributes.get(b"content", b"").decode("latin-1").lower())
    return codec_of(found[1] or found[2] or found[3] or "") if found else None
