"""URLs: the origin a file belongs to, where it lies, and the path its rules are matched with."""

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from manners import InvalidURL, urls

any_text = st.text(st.characters(exclude_categories=()))
"""Any string Python can hold, lone surrogates included."""

url_text = st.text(st.sampled_from("htp:/?#;@[]\\%.*$ 80aÜ。％\t\n\x00\ud800\udc80"), max_size=30)
"""Short strings of the characters that have a meaning in a URL, or should have none."""


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://example.com", "http://example.com"),
        ("http://example.com/", "http://example.com"),
        ("https://example.com/a/b?c=d#e", "https://example.com"),
        # Case of scheme and host
        ("HTTP://EXAMPLE.COM/Path", "http://example.com"),
        ("hTTpS://Example.Com", "https://example.com"),
        # Ports
        ("http://example.com:80/", "http://example.com"),
        ("https://example.com:443/", "https://example.com"),
        ("http://example.com:443/", "http://example.com:443"),
        ("https://example.com:80/", "https://example.com:80"),
        ("https://example.com:8443/", "https://example.com:8443"),
        ("http://example.com:65535/", "http://example.com:65535"),
        ("http://example.com:1", "http://example.com:1"),
        ("http://a:/", "http://a"),
        ("https://a:", "https://a"),
        ("http://example.com:080/", "http://example.com"),
        ("http://example.com:08080/", "http://example.com:8080"),
        # Where the authority ends
        ("http://example.com?a=b", "http://example.com"),
        ("http://example.com#a", "http://example.com"),
        ("http://example.com:8080?a", "http://example.com:8080"),
        ("http://example.com/@other.example/", "http://example.com"),
        ("http://example.com?@other.example/", "http://example.com"),
        ("http://example.com#@other.example/", "http://example.com"),
        ("http://example.com/a b\\c%", "http://example.com"),
        ("http://example.com/?q=http://other.example:99/", "http://example.com"),
        # Credentials
        ("http://user@example.com/", "http://example.com"),
        ("http://user:secret@example.com:8080/", "http://example.com:8080"),
        ("https://user:@example.com:443/", "https://example.com"),
        ("http://:secret@example.com/", "http://example.com"),
        ("http://@example.com/", "http://example.com"),
        ("http://user:se:cr:et@example.com/", "http://example.com"),
        ("http://one@two@example.com/", "http://example.com"),
        # IP addresses
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("http://[::1]/", "http://[::1]"),
        ("http://[::1]:80/", "http://[::1]"),
        ("http://[::1]:8080/a", "http://[::1]:8080"),
        ("http://[::1]:/", "http://[::1]"),
        ("https://[2001:DB8::A]/", "https://[2001:db8::a]"),
        ("https://user:secret@[2001:db8::a]:443/", "https://[2001:db8::a]"),
        # Names beyond ASCII, by UTS 46
        ("http://BÜCHER.example/", "http://xn--bcher-kva.example"),
        ("http://bücher.example:80/", "http://xn--bcher-kva.example"),
        ("http://bu\u0308cher.example/", "http://xn--bcher-kva.example"),
        ("http://XN--BCHER-KVA.example/", "http://xn--bcher-kva.example"),
        ("http://user:ü@bücher.example:8080/ü", "http://xn--bcher-kva.example:8080"),
        ("http://faß.example/", "http://xn--fa-hia.example"),
        ("http://例え.テスト/", "http://xn--r8jz45g.xn--zckzah"),
        ("http://例え。テスト/", "http://xn--r8jz45g.xn--zckzah"),
        ("http://ＥＸＡＭＰＬＥ.com/", "http://example.com"),
    ],
)
def test_origin(url: str, origin: str) -> None:
    """An origin is scheme, ASCII host and port, each in one spelling, and nothing else."""
    assert urls.origin(url) == origin


SCHEME, HOST, PORT = "scheme|http or https", "host|address", "port"
"""Words of a message, by the part of the URL it is about."""


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        # Schemes
        ("ftp://example.com/", SCHEME),
        ("file:///etc/passwd", SCHEME),
        ("mailto:someone@example.com", SCHEME),
        ("javascript:alert(1)", SCHEME),
        ("ws://example.com/", SCHEME),
        ("httpx://example.com/", SCHEME),
        ("", SCHEME),
        ("/path", SCHEME),
        ("example.com", SCHEME),
        ("example.com/path", SCHEME),
        ("//example.com/path", SCHEME),
        ("://example.com/", SCHEME),
        # No host
        ("http:", f"{SCHEME}|{HOST}"),
        ("http:/example.com", f"{SCHEME}|{HOST}"),
        ("http:example.com", f"{SCHEME}|{HOST}"),
        ("http://", HOST),
        ("https:///path", HOST),
        ("https://?query", HOST),
        ("https://#fragment", HOST),
        ("http://:80/", HOST),
        ("http://user:secret@/", HOST),
        ("http://user:secret@:80/", HOST),
        # Characters that no host has
        ("http://example.com\\@other.example/", HOST),
        ("http://exa\\mple.com/", HOST),
        ("http://exa mple.com/", HOST),
        ("http://exa\tmple.com/", HOST),
        ("http://exa\nmple.com/", HOST),
        ("http://exa\rmple.com/", HOST),
        ("http://exa\x00mple.com/", HOST),
        ("http://exa\x1bmple.com/", HOST),
        ("http://exa\x7fmple.com/", HOST),
        ("http://exa%6Dple.com/", HOST),
        ("http://example.com%2F@other.example%/", HOST),
        ("http://%/", HOST),
        # IPv6
        ("http://[::1/", HOST),
        ("http://::1]/", HOST),
        ("http://[]/", HOST),
        ("http://[g::1]/", HOST),
        ("http://[1:2]/", HOST),
        ("http://[example.com]/", HOST),
        ("http://a[::1]/", HOST),
        # Names that have no ASCII form, or another meaning once they have
        ("http://a\u200db.example/", HOST),
        ("http://\u0301a.example/", HOST),
        ("http://a／b.example/", HOST),
        ("http://a？b.example/", HOST),
        ("http://a＃b.example/", HOST),
        ("http://a＠b.example/", HOST),
        ("http://a％b.example/", HOST),
        ("http://a\u3000b.example/", HOST),
        ("http://\ud800.example/", HOST),
        # Ports
        ("http://example.com:65536/", PORT),
        ("http://example.com:100000/", PORT),
        ("http://example.com:-1/", PORT),
        ("http://example.com:+80/", PORT),
        ("http://example.com:8_0/", PORT),
        ("http://example.com: 80/", PORT),
        ("http://example.com:80 /", PORT),
        ("http://example.com:http/", PORT),
        ("http://example.com:0x50/", PORT),
        ("http://example.com:８０/", PORT),
        ("http://example.com:٨٠/", PORT),
        ("http://[::1]:x/", PORT),
        (f"http://example.com:{'9' * 5_000}/", PORT),
    ],
    ids=lambda value: repr(value[:40]),
)
@pytest.mark.parametrize("function", [urls.origin, urls.robots_url], ids=["origin", "robots_url"])
def test_what_has_no_origin(function: Callable[[str], str], url: str, problem: str) -> None:
    """A URL without a usable origin is refused with what is wrong about it."""
    with pytest.raises(InvalidURL, match=f"(?i){problem}"):
        function(url)


@pytest.mark.parametrize("url", ["http://::1/", "http://a:b:80/", "http://example.com:80:80/"])
def test_several_colons_are_neither_host_nor_port(url: str) -> None:
    """An authority with colons outside brackets is refused rather than guessed at."""
    with pytest.raises(InvalidURL):
        urls.origin(url)


@pytest.mark.parametrize("authority", ["example.com:99999", "exa mple.com", "a％b", "[::1", ""])
def test_a_refusal_keeps_credentials_to_itself(authority: str) -> None:
    """A message about a URL never repeats its password."""
    with pytest.raises(InvalidURL) as refusal:
        urls.origin(f"http://user:hunter2@{authority}/")
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("character", ["\n", "\x00", "\x1b", "\x9b", "\u2028", "\u202e", "\ud800"])
def test_a_refusal_is_one_printable_line(character: str) -> None:
    """A message about a URL shows its strange characters without sending them on."""
    with pytest.raises(InvalidURL) as refusal:
        urls.origin(f"http://exa{character}mple.com/")
    assert str(refusal.value).isprintable()


@settings(deadline=None)  # the first name beyond ASCII loads the tables of idna
@given(st.sampled_from(["http://", "https://", "HTTP://u:p@", "http://[", ""]), any_text | url_text)
@example("http://", "[v1.a]/")
@example("http://", "\u2488.example")
@example("http://", "xn--a.ü")
@example("http://", "." * 300 + "ü")
def test_an_origin_is_a_value_or_a_refusal(start: str, rest: str) -> None:
    """Any string either has an origin, which is its own origin, or is refused by InvalidURL."""
    try:
        origin = urls.origin(start + rest)
    except InvalidURL:
        return
    assert origin.isascii()
    assert origin.isprintable()
    assert origin == origin.lower()
    assert not set(origin.partition("://")[2]) & set("/?#@\\ %")
    assert urls.origin(origin) == origin
    assert urls.origin(origin + "/path?query#fragment") == origin
    assert urls.robots_url(start + rest) == origin + "/robots.txt"


@pytest.mark.parametrize(
    ("url", "robots_url"),
    [
        ("http://example.com", "http://example.com/robots.txt"),
        ("http://example.com/", "http://example.com/robots.txt"),
        ("https://example.com/a/b/c", "https://example.com/robots.txt"),
        ("https://example.com/robots.txt", "https://example.com/robots.txt"),
        ("http://user@example.com:80/path;params?query#fragment", "http://example.com/robots.txt"),
        ("https://user@example.com:443/path;params?query", "https://example.com/robots.txt"),
        ("http://user:pass@example.com:8080/path", "http://example.com:8080/robots.txt"),
        ("http://example.com:/path", "http://example.com/robots.txt"),
        ("http://example.com?query=/x", "http://example.com/robots.txt"),
        ("http://[::1]:8080/x", "http://[::1]:8080/robots.txt"),
        ("HTTP://BÜCHER.example/Ü", "http://xn--bcher-kva.example/robots.txt"),
    ],
)
def test_robots_url(url: str, robots_url: str) -> None:
    """The file lies at `/robots.txt` of the page's origin."""
    assert urls.robots_url(url) == robots_url


@pytest.mark.parametrize(
    ("url", "path"),
    [
        # Nothing is the root
        ("", "/"),
        ("/", "/"),
        ("//", "/"),
        ("#", "/"),
        ("a", "/"),
        ("example.com", "/"),
        ("http://example.com", "/"),
        ("http://", "/"),
        ("mailto:someone@example.com", "/"),
        # Scheme and authority are removed
        ("http://example.com/", "/"),
        ("http://example.com/a/b", "/a/b"),
        ("https://user:pass@example.com:8443/a", "/a"),
        ("ftp://example.com/a", "/a"),
        ("HTTP://EXAMPLE.COM/A", "/A"),
        ("http://[::1]:80/a", "/a"),
        ("http:///a", "/a"),
        ("example.com/", "/"),
        ("example.com/a/", "/a/"),
        ("a/b", "/b"),
        ("a:b/c", "/c"),
        ("//a/b", "/b"),
        ("//a", "/"),
        ("//a/b/c", "/b/c"),
        ("///a", "/a"),
        ("//http://a/b", "/b"),
        # A colon after a slash, a question mark or a semicolon is no protocol
        ("/a://b/c", "/a://b/c"),
        ("/http://example.com/", "/http://example.com/"),
        ("a/b://c/d", "/b://c/d"),
        ("?a://b/c", "/?a://b/c"),
        (";a://b/c", "/;a://b/c"),
        ("example.com?u=http://a/b", "/?u=http://a/b"),
        ("http://example.com/a?c=http://d.e/", "/a?c=http://d.e/"),
        # Query and parameters start a path too
        ("example.com?a", "/?a"),
        ("http://example.com?a=/b", "/?a=/b"),
        ("?a", "/?a"),
        ("/?a", "/?a"),
        ("example.com;a", "/;a"),
        ("http://example.com;a?b", "/;a?b"),
        (";", "/;"),
        ("example.com/a;b#c", "/a;b"),
        ("/a;b?c", "/a;b?c"),
        # The fragment is removed
        ("/path#fragment", "/path"),
        ("/path?query#fragment", "/path?query"),
        ("/path#fragment?query", "/path"),
        ("/path#one#two", "/path"),
        ("http://example.com#fragment", "/"),
        ("http://example.com#/path", "/"),
        ("example.com#?query", "/"),
        ("/#", "/"),
        # Everything else stays as it is
        ("/a//b/../c/./", "/a//b/../c/./"),
        ("/a b\tc", "/a b\tc"),
        ("/%7e%2f%", "/%7e%2f%"),
        ("/ü*$\\", "/ü*$\\"),
        ("/\udcff", "/\udcff"),
        (" /a", "/a"),
        ("/a ", "/a "),
    ],
)
def test_match_path(url: str, path: str) -> None:
    """Every string has a path: what Google's GetPathParamsQuery takes from it."""
    assert urls.match_path(url) == path


def google_path(url: str) -> str:
    """Google's GetPathParamsQuery, line by line."""

    def find(characters: str, start: int) -> int:
        found = [at for at in (url.find(one, start) for one in characters) if at >= 0]
        return min(found, default=len(url) + 1)

    search_start = 2 if url.startswith("//") else 0
    protocol_end = url.find("://", search_start)
    if protocol_end < 0 or find("/?;", search_start) < protocol_end:
        protocol_end = search_start
    else:
        protocol_end += 3
    path_start, path_end = find("/?;", protocol_end), find("#", search_start)
    if path_start > len(url) or path_end < path_start:
        return "/"
    path = url[path_start:path_end]
    return path if path.startswith("/") else "/" + path


@given(any_text | url_text)
def test_match_path_is_total(url: str) -> None:
    """No string is without a path, and the path starts with a slash and has no fragment."""
    path = urls.match_path(url)
    assert path.startswith("/")
    assert "#" not in path
    assert path == google_path(url)


@given(any_text)
def test_match_path_keeps_a_path_as_it_is(rest: str) -> None:
    """What follows an origin's slash is the path, up to a fragment, unchanged."""
    path = "/" + rest.partition("#")[0]
    assert urls.match_path("https://example.com:8443" + path) == path
    assert urls.match_path("https://example.com" + path + "#fragment") == path


TARGETS = {
    # As RFC 3986 section 5.4 has them, without a fragment
    "c": "https://example.com/a/c",
    "./c": "https://example.com/a/c",
    "../c": "https://example.com/c",
    "/c?d=e#f": "https://example.com/c?d=e",
    "?d": "https://example.com/a/b?d",
    "#top": "https://example.com/a/b?q",
    "//other.example": "https://other.example/",
    "//other.example/c": "https://other.example/c",
    "http://other.example": "http://other.example/",
    "HTTP://Other.Example:80/c": "http://other.example/c",
    # White space around it
    " \t/c \r\n": "https://example.com/c",
    # What a request does not have
    "https://user:secret@other.example/c": "https://other.example/c",
    "//user@other.example/c": "https://other.example/c",
    # What has to be encoded
    "/a b": "https://example.com/a%20b",
    "/a\x00b\x1f": "https://example.com/a%00b%1F",
    "/a\x7fb": "https://example.com/a%7Fb",
    "/\u00fc": "https://example.com/%C3%BC",
    "/\udcff": "https://example.com/%FF",
    "\\\\other.example/c": "https://example.com/a/%5C%5Cother.example/c",
    "/\\other.example/c": "https://example.com/%5Cother.example/c",
    "http://b\u00fccher.example/": "http://xn--bcher-kva.example/",
    "/" + "c" * 7_980: "https://example.com/" + "c" * 7_980,
}
NO_TARGETS = [
    *(
        "http:///x",
        "https:///x",
        "HTTP:///x",
        "///x",
        "//",
        "//?x",
        "//#x",
        "http://",
        "https://?x",
    ),
    *("http:", "http:x", "http:/x", "https:/other.example/c", "https:x"),
    *("javascript:alert(1)", "ftp://example.com/x", "file:///etc/passwd", "mailto:a@b", "data:,x"),
    *("localhost:8080/x", "example.com:443", "//[", "http://[::1", "//exa mple.com/", "//a:99999/"),
    *("//good.example\\@evil.example/", "//%41.example/", "//\udcff.example/", "//" + "a" * 300),
    *("/a\tb", "/a\r\nb", "//a\x00b/", "java\tscript:x", "//exam\nple.com/"),
    *("/" + "c" * 8_000, "/" + "\u00fc" * 2_000),
]


@pytest.mark.parametrize("location", TARGETS, ids=range(len(TARGETS)))
def test_a_redirect_leads_to_a_url_that_can_be_asked_for(location: str) -> None:
    """It is resolved against the URL before it, without fragment and credentials."""
    target, problem = urls.redirect_target("https://example.com/a/b?q", location)
    assert (target, problem) == (TARGETS[location], "")
    assert urls.requestable(target) == target


@pytest.mark.parametrize("location", NO_TARGETS, ids=range(len(NO_TARGETS)))
def test_a_redirect_that_programs_read_differently_leads_nowhere(location: str) -> None:
    """Nor does one that no request can be made for."""
    found = urls.redirect_target("https://example.com/a/b?q", location)
    assert found == ("", "invalid redirect target")


@pytest.mark.parametrize("location", ["", "  ", "\t\r\n"])
def test_a_redirect_without_a_location_says_so(location: str) -> None:
    """White space is nothing."""
    found = urls.redirect_target("https://example.com/a/b?q", location)
    assert found == ("", "redirect without Location")


@given(url_text)
def test_a_redirect_target_is_a_url_or_a_problem(location: str) -> None:
    """Whatever the header says, nothing is raised."""
    target, problem = urls.redirect_target("https://example.com/a/b?q", location)
    assert bool(target) != bool(problem)
    assert not target or urls.requestable(target) == target


@given(any_text | url_text.map("http://".__add__))
def test_a_target_is_a_url_parsed_once(url: str) -> None:
    """A target has what `requestable`, `origin` and `host` say; it raises what they raise."""
    try:
        sent = urls.requestable(url)
    except InvalidURL:
        with pytest.raises(InvalidURL):
            urls.target(url)
        return
    target = urls.target(url)
    assert target == urls.Target(sent, urls.origin(url), urls.host(url))
    assert hash(target) == hash(urls.target(target.url))
