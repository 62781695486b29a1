"""How the text of a page is decoded: the HTML Standard's order, the Encoding Standard's labels."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manners.charset import _CODECS, PRESCAN, codec_of, decode, prescan

HTML = "text/html"


@pytest.mark.parametrize(
    ("markup", "codec"),
    [
        # The element.
        (b"<meta charset=koi8-r>", "koi8-r"),
        (b"<META CHARSET='KOI8-R' >", "koi8-r"),
        (b'<meta charset = " koi8-r "/>', "koi8-r"),
        (b"<meta/charset=koi8-r/>", None),  # the slash belongs to the value
        (b"<meta\n\tname=x charset=koi8-r>", "koi8-r"),
        (b"<html><head><title>a</title><meta charset=koi8-r>", "koi8-r"),
        (b"<metadata charset=koi8-r>", None),
        (b"<meta charset=koi8-r", None),  # cut off
        (b"<meta charset='koi8-r>", None),
        (b"<meta charset=koi8-r charset=big5>", "koi8-r"),
        (b"<meta charset>", None),
        (b"<meta charset=>", None),
        (b"<meta =charset=koi8-r>", None),
        # Content-Type.
        (b'<meta http-equiv=Content-Type content="text/html; charset=koi8-r">', "koi8-r"),
        (b'<meta content="text/html; charset=koi8-r" http-equiv=content-type>', "koi8-r"),
        (b'<meta content="text/html; charset=koi8-r">', None),  # no pragma
        (b'<meta http-equiv=refresh content="0; charset=koi8-r">', None),
        (b"<meta http-equiv=content-type content=\"charset = 'koi8-r'\">", "koi8-r"),
        (b'<meta http-equiv=content-type content="charset=\'koi8-r">', None),
        (b'<meta http-equiv=content-type content="charset charset=koi8-r;x">', "koi8-r"),
        (b'<meta charset=big5 http-equiv=content-type content="charset=koi8-r">', "big5hkscs"),
        (b'<meta charset=unheard-of http-equiv=content-type content="charset=koi8-r">', None),
        # What is passed over.
        (b"<!-- <meta charset=koi8-r> --><meta charset=big5>", "big5hkscs"),
        (b"<!--><meta charset=koi8-r>", "koi8-r"),
        (b"<!-- <meta charset=koi8-r>", None),
        (b"<!doctype html><meta charset=koi8-r>", "koi8-r"),
        (b"<p title='<meta charset=big5>'><meta charset=koi8-r>", "koi8-r"),
        (b'</p title="<meta charset=big5>"><meta charset=koi8-r>', "koi8-r"),
        (b"a < b <meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=unheard-of><meta charset=koi8-r>", "koi8-r"),
        (b" " * (PRESCAN - 21) + b"<meta charset=koi8-r>", "koi8-r"),
        (b" " * (PRESCAN - 20) + b"<meta charset=koi8-r>", None),
        # What a label may not mean here.
        (b"<meta charset=utf-16>", "utf-8"),
        (b"<meta charset=utf-16be>", "utf-8"),
        (b"<meta charset=x-user-defined>", "cp1252"),
        # XML.
        (b'<?xml version="1.0" encoding="koi8-r"?><html>', "koi8-r"),
        (b"<?xml encoding='utf-16'?>", "utf-8"),
        (b'<?xml version="1.0" encoding="koi8-r"?><meta charset=big5>', "big5hkscs"),
        (b' <?xml encoding="koi8-r"?>', None),
        ('<?xml version="1.0"?>'.encode("utf-16-le"), "utf-16-le"),
        ('<?xml version="1.0"?>'.encode("utf-16-be"), "utf-16-be"),
        (b"", None),
        (b"<", None),
    ],
)
def test_the_prescan_reads_what_the_standard_reads(markup: bytes, codec: str | None) -> None:
    """Attributes, comments and declarations are read as HTML's prescan reads them."""
    assert prescan(markup) == codec


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"\xef\xbb\xbf\xc3\xbc", "text/html; charset=latin1", "ü"),  # the mark comes first
        ("\ufeffü".encode("utf-16-le"), "text/html", "ü"),
        ("\ufeffü".encode("utf-16-be"), "text/html; charset=utf-8", "ü"),
        (b"<meta charset=koi8-r>\xfc", "text/html; charset=latin1", "<meta charset=koi8-r>ü"),
        (b"<meta charset=latin1>\xfc", "text/html; charset=unheard-of", "<meta charset=latin1>ü"),
        (b"<meta charset=latin1>\xfc", "application/xhtml+xml", "<meta charset=latin1>ü"),
        (b"<meta charset=latin1>\xfc", "", "<meta charset=latin1>ü"),
        (b"<meta charset=latin1>\xfc", "text/plain", "<meta charset=latin1>\ufffd"),
        (b"\xfc", "text/plain; charset=latin1", "ü"),
        (b"\x93\x81\x80", "text/html; charset=iso-8859-1", "“\x81€"),  # windows-1252
        (b"\xaa", "text/html; charset=windows-1253", "\ufffd"),
        (b"\xa1\xfe", "text/html; charset=x-user-defined", "\uf7a1\uf7fe"),
        ("한글똠".encode("cp949"), "text/html; charset=euc-kr", "한글똠"),
        ("①髙".encode("cp932"), "text/html; charset=shift_jis", "①髙"),
        ("€镕".encode("gb18030"), "text/html; charset=gb2312", "€镕"),
        (b"\x1b$B$3\x1b(B", "text/html; charset=iso-2022-jp", "こ"),
        (b"+ADw-script+AD4-", "text/html; charset=utf-7", "+ADw-script+AD4-"),
        (b"a~{bc", "text/html; charset=hz-gb-2312", "\ufffd"),
        (b"", "text/html; charset=replacement", ""),
        (b"abc", "text/html; charset=utf-16", "abc"),  # mistaken
        ("a".encode("utf-16-le"), "text/html; charset=utf-16", "a"),
    ],
)
def test_text_is_decoded_in_the_order_of_the_standard(
    body: bytes, content_type: str, text: str
) -> None:
    """Byte order mark, header, `<meta>` in HTML, UTF-8; labels mean what browsers make of them."""
    assert decode(body, content_type) == text


@pytest.mark.parametrize("label", ["", "rot13", "zlib", "hex", "utf-7", "idna", "mbcs", "a" * 9999])
def test_what_is_no_label_is_unknown(label: str) -> None:
    """Codecs of Python that no web page has are not reachable by name."""
    assert codec_of(label) is None


def test_every_label_is_decoded() -> None:
    """Every codec of the table exists, and every label reads ASCII as ASCII, UTF-16 aside."""
    for label, codec in _CODECS.items():
        if codec not in ("replacement", "x-user-defined"):
            codecs.lookup(codec)
        read = decode(b"a", f"text/plain; charset={label}")
        assert read == ("\ufffd" if codec == "replacement" else "a"), label


PIECES = st.sampled_from(
    [b"<meta ", b"<META/", b"charset", b"=", b'"', b"'", b">", b"<!--", b"-->", b"<", b"content=",
     b"http-equiv=content-type", b"koi8-r", b"utf-16", b"\0", b" ", b"/", b"\xff\xfe", b"<?xml ",
     b"encoding=", b"\xef\xbb\xbf", b"\xe9", b"iso-2022-kr", b";"]
)  # fmt: skip


@given(
    st.lists(PIECES | st.binary(max_size=5), max_size=300).map(b"".join),
    st.sampled_from(["", HTML, "text/plain", *(f"text/html; charset={each}" for each in _CODECS)]),
)
def test_nothing_in_a_page_raises(body: bytes, content_type: str) -> None:
    """Whatever the bytes and the header are, there is a text."""
    assert isinstance(decode(body, content_type), str)
    assert prescan(body) in {*_CODECS.values(), None}


@given(st.lists(PIECES, max_size=60).map(b"".join))
def test_the_prescan_looks_at_no_more_than_its_bytes(start: bytes) -> None:
    """What stands behind the first 1024 bytes changes nothing."""
    filled = start.ljust(PRESCAN, b" ")[:PRESCAN]
    assert prescan(filled) == prescan(filled + b"<meta charset=big5>'\">")
