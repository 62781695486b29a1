"""The charset: the header's, else UTF-8; a wrong one never raises (semantics part B)."""

import encodings
import encodings.aliases

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manners.retrieval.charset import in_utf8

ROBOTS = "User-agent: *\nDisallow: /café"

NOT_TEXT = [
    "zlib", "zlib_codec", "zip", "bz2", "bz2_codec", "base64", "base64_codec", "hex", "hex_codec",
    "quopri", "quopri_codec", "uu", "uu_codec", "rot13", "rot_13", "idna", "punycode", "undefined",
    "unicode_escape", "raw_unicode_escape", "unicode-escape", "utf-7", "utf_7", "mbcs", "oem",
    "ansi", "dbcs", "charmap", "palmos", "string_escape",
]  # fmt: skip
NOT_NAMES = [
    "", " ", "\x00", "utf-16\x00", "\x00utf-16", "latin-1\x00.txt", "a" * 10_000, "-" * 10_000,
    "utf-16" + " " * 10_000, "../../etc/passwd", "encodings", "aliases", "os", "os.path", ".", "..",
    "__init__", "manners", "latin-1\nX: y", "\udcff", "\ud800", "\u212a\u014di8-r", "no-such",
    "'; DROP TABLE", "%s", "{0}", "\u0000" * 100, "x-user-defined", "ISO-8859-12", "replacement",
]  # fmt: skip


def text(body: bytes | str) -> str:
    """What the engine reads."""
    return body if isinstance(body, str) else body.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        ("iso-8859-1", "latin-1"),
        ("ISO-8859-1", "latin-1"),
        ("latin1", "latin-1"),
        ("ISO_8859-15", "iso8859-15"),
        ("windows-1252", "cp1252"),
        ("Windows-1254", "cp1254"),
        ("utf-16", "utf-16"),
        ("UTF-16LE", "utf-16-le"),
        ("utf-16be", "utf-16-be"),
        ("gb18030", "gb18030"),
        ("", "utf-8"),
        ("utf-8", "utf-8"),
        ("UTF8", "utf-8"),
    ],
)
def test_the_charset_of_the_header_is_believed(charset: str, codec: str) -> None:
    """A file is read in the charset that its server names, in UTF-8 when it names none."""
    assert text(in_utf8(ROBOTS.encode(codec), charset)) == ROBOTS


@pytest.mark.parametrize(
    ("charset", "codec", "word"),
    [
        ("windows-1251", "cp1251", "/привет"),
        ("koi8-r", "koi8-r", "/привет"),
        ("koi8-u", "koi8-u", "/привіт"),
        ("ibm866", "cp866", "/привет"),
        ("iso-8859-5", "iso8859-5", "/привет"),
        ("x-mac-cyrillic", "mac-cyrillic", "/привет"),
        ("iso-8859-7", "iso8859-7", "/καλό"),
        ("windows-1255", "cp1255", "/שלום"),
        ("windows-1256", "cp1256", "/سلام"),
        ("windows-874", "cp874", "/ไทย"),
        ("shift_jis", "shift_jis", "/日本"),
        ("windows-31j", "cp932", "/日本①"),
        ("euc-jp", "euc-jp", "/日本"),
        ("iso-2022-jp", "iso2022_jp", "/日本"),
        ("big5", "big5", "/中文"),
        ("gbk", "gbk", "/中文"),
        ("gb2312", "gb2312", "/中文"),
        ("euc-kr", "euc-kr", "/한국"),
        ("ks_c_5601-1987", "euc-kr", "/한국"),
    ],
)
def test_the_charsets_of_the_web_are_known(charset: str, codec: str, word: str) -> None:
    """The legacy encodings that web pages come in are decoded."""
    assert text(in_utf8(word.encode(codec), charset)) == word


@pytest.mark.parametrize("charset", [*NOT_TEXT, *NOT_NAMES], ids=lambda name: ascii(name)[:40])
@pytest.mark.parametrize(
    "body",
    [ROBOTS.encode(), b"", b"\xff\xfe\x00", b"\\x41\\N{DIGIT ONE}", b"xn--bcher-kva", b"4142"],
)
def test_an_unknown_or_hostile_charset_leaves_the_bytes(body: bytes, charset: str) -> None:
    """A name that is no text encoding of the web does nothing at all: the file is UTF-8."""
    assert in_utf8(body, charset) == body


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        (b"Disallow: /\x81\x8d", "windows-1252"),
        (b"Disallow: /\xff", "ascii"),
        (b"Disallow: /\xff", "us-ascii"),
        (b"odd", "utf-16"),
        (b"\x00\xd8\x00", "utf-16-le"),
        (b"\x1b$B\xff\xff", "iso-2022-jp"),
        (b"\x81", "shift_jis"),
        (b"\x81\x30\x81", "gb18030"),
    ],
)
def test_a_wrong_charset_never_raises(body: bytes, charset: str) -> None:
    """Bytes that are not in the charset named are replaced, or left as they are."""
    assert in_utf8(body, charset) is not None


def test_names_made_up_by_servers_leave_no_trace() -> None:
    """Python remembers every codec it was ever asked for; ours are not asked for."""
    before = len(encodings._cache)
    for number in range(100):
        in_utf8(b"x", f"made-up-{number}")
    assert len(encodings._cache) == before


names = (
    st.text(max_size=30)
    | st.sampled_from([*encodings.aliases.aliases, *encodings.aliases.aliases.values()])
    | st.sampled_from(NOT_TEXT)
)


@settings(deadline=None)
@given(st.binary(max_size=200), names)
def test_any_bytes_in_any_charset_are_some_text(body: bytes, charset: str) -> None:
    """Whatever the bytes and the name, there is a text no longer than the bytes allow."""
    made = in_utf8(body, charset)
    if isinstance(made, bytes):
        assert made == body
    else:
        assert len(made) <= 2 * len(body)  # a shift_jisx0213 pair, at most
