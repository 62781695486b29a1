"""The encoding: UTF-8 as the protocol wants it, what a file says of itself, and what is wrong."""

import pytest

from manners.sitemaps.charset import ToUtf8
from tests.sitemaps.reading import read

TEXT = "<urlset><url><loc>https://example.com/{}</loc></url></urlset>"


def sitemap(word: str, codec: str, declared: str | None = None, before: str = "") -> bytes:
    declaration = f'<?xml version="1.0" encoding="{declared}"?>\n' if declared else ""
    return (before + declaration + TEXT.format(word)).encode(codec)


@pytest.mark.parametrize(
    ("codec", "declared", "word"),
    [
        ("utf-8", None, "grüße-日本-😀"),
        ("utf-8", "UTF-8", "grüße-日本-😀"),
        ("utf-8", "utf8", "grüße"),
        ("utf-8-sig", "UTF-8", "grüße-日本-😀"),
        ("utf-8-sig", None, "grüße"),
        ("utf-8-sig", "ISO-8859-1", "the mark is right: ü"),
        ("utf-16", "UTF-16", "grüße-日本-😀"),
        ("utf-16", None, "grüße"),
        ("utf-16", "UTF-8", "grüße"),
        ("utf-16-le", "UTF-16", "grüße-日本-😀"),
        ("utf-16-be", "UTF-16", "grüße-日本-😀"),
        ("iso-8859-1", "ISO-8859-1", "grüße"),
        ("iso-8859-1", "latin1", "grüße"),
        ("windows-1252", "windows-1252", "grüße–€"),
        ("windows-1251", "Windows-1251", "привет"),
        ("koi8-r", "KOI8-R", "привет"),
        ("iso-8859-15", "ISO-8859-15", "€"),
        ("gb2312", "GB2312", "中文"),
        ("gbk", "gbk", "中文"),
        ("big5", "Big5", "中文"),
        ("shift_jis", "Shift_JIS", "日本"),
        ("euc-jp", "EUC-JP", "日本"),
        ("euc-kr", "EUC-KR", "한국"),
        ("ascii", "US-ASCII", "a"),
    ],
)
def test_what_a_file_says_of_itself_is_believed(codec: str, declared: str, word: str) -> None:
    """A mark first, then how it begins, then what it declares."""
    body = sitemap(word.replace(" ", "-"), codec, declared)
    found = read(body)
    assert found.urls == ["https://example.com/" + word.replace(" ", "-")]
    assert found.problems == []
    assert read(body[i : i + 1] for i in range(len(body))) == found


@pytest.mark.parametrize(
    "declared",
    [
        "UTF-16", "UTF-32", "ucs-2", "utf-7", "idna", "punycode", "rot13", "base64", "zlib", "hex",
        "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "cp65001", "no-such", "_" * 40,
        "y" * 41, "", " ", "é", "../../etc/passwd", "utf-8\x00", "&amp;", "EBCDIC-CP-US", "cp037",
    ],
)  # fmt: skip
def test_what_cannot_be_is_not_believed(declared: str) -> None:
    """A declaration that nobody knows, or that the file itself refutes, is UTF-8."""
    found = read(sitemap("grüße", "utf-8", declared))
    assert found.urls == ["https://example.com/grüße"]


def test_bytes_that_are_no_utf8_go_over_the_wire_as_they_are() -> None:
    """A file in windows-1252 that says it is UTF-8 loses no entry."""
    body = (
        b"<urlset>" + b"<url><loc>https://example.com/caf\xe9</loc></url>\n" * 2_000 + b"</urlset>"
    )
    found = read(body)
    assert found.urls == ["https://example.com/caf%E9"] * 2_000
    assert found.words == ["bad-encoding"]


def test_text_may_be_utf16_or_worse() -> None:
    """Text files know the same encodings by their mark."""
    assert read("https://example.com/ü\r\n".encode("utf-16")).urls == ["https://example.com/ü"]
    assert read("\ufeffhttps://example.com/ü".encode()).urls == ["https://example.com/ü"]
    found = read(b"https://example.com/\xfc\nhttps://example.com/b")
    assert found.urls == ["https://example.com/%FC", "https://example.com/b"]
    assert found.words == ["bad-encoding"]


def test_lone_surrogates_and_half_characters_do_no_harm() -> None:
    """What UTF-16 has no right to is replaced."""
    body = (TEXT.format("X") + "\n").encode("utf-16-le").replace(b"X\0", b"\x00\xd8")
    found = read(b"\xff\xfe" + body)
    assert found.urls == ["https://example.com/\ufffd"]
    assert read(b"\xff\xfe" + body[:-1]).urls == found.urls
    assert read(b"\xff\xfe").words == ["empty"]
    assert read(b"\xfe\xff\x00").urls == []


def test_pieces_of_characters_are_put_together() -> None:
    """A character may come in two pieces."""
    convert = ToUtf8(b"").convert
    assert convert(b"a\xc3") + convert(b"\xbc") + convert(b"\xc3", True) == "aü%C3".encode()
