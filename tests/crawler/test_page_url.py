"""One page is one URL: what `page_url` makes of all the ways to write it."""

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from manners import InvalidURL
from manners.urls import host, origin, page_url, requestable
from tests.sizes import examples

H = "https://example.com"


@pytest.mark.parametrize(
    ("item", "url", "page"),
    [
        ("scheme", "HTTPS://example.com/a", f"{H}/a"),
        ("host", "https://Example.COM/a", f"{H}/a"),
        ("the path has case", "https://example.com/A", f"{H}/A"),
        ("default port", "https://example.com:443/a", f"{H}/a"),
        ("default port", "http://example.com:80/a", "http://example.com/a"),
        ("empty port", "https://example.com:/a", f"{H}/a"),
        ("port", "https://example.com:8443/a", f"{H}:8443/a"),
        ("the default of another scheme", "http://example.com:443/a", "http://example.com:443/a"),
        ("empty path", "https://example.com", f"{H}/"),
        ("empty path", "https://example.com?a", f"{H}/?a"),
        ("empty path", "https://example.com#a", f"{H}/"),
        ("fragment", "https://example.com/a#b?c", f"{H}/a"),
        ("fragment", "https://example.com/a?b#c#d", f"{H}/a?b"),
        ("empty query", "https://example.com/a?", f"{H}/a"),
        ("empty query", "https://example.com/a?#b", f"{H}/a"),
        ("query", "https://example.com/a?b=&c", f"{H}/a?b=&c"),
        ("a question mark in a query", "https://example.com/a??", f"{H}/a??"),
        ("order of parameters", "https://example.com/a?c=1&b=2", f"{H}/a?c=1&b=2"),
        ("final slash", "https://example.com/a/", f"{H}/a/"),
        ("empty segments", "https://example.com//a//b", f"{H}//a//b"),
        ("credentials", "https://user:pass@example.com/a", f"{H}/a"),
        ("international host", "https://BÜCHER.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
        ("international host", "https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ("IPv6", "http://[::0001]:80/a", "http://[::1]/a"),
        ("unreserved", "https://example.com/%41%7a%30%2d%2E%5F%7e", f"{H}/Az0-._~"),
        ("reserved", "https://example.com/%2f%3f%23%5B%40%21", f"{H}/%2F%3F%23%5B%40%21"),
        ("upper case of hex", "https://example.com/%c3%bc?%e2%82%ac", f"{H}/%C3%BC?%E2%82%AC"),
        ("unreserved in a query", "https://example.com/?%61=%7E&b=%26", f"{H}/?a=~&b=%26"),
        ("an escaped escape", "https://example.com/%2541", f"{H}/%2541"),
        ("half an escape", "https://example.com/%4", f"{H}/%4"),
        ("half an escape", "https://example.com/%zz%", f"{H}/%zz%"),
        ("no new escapes", "https://example.com/%%34%31", f"{H}/%%341"),
        ("no new escapes", "https://example.com/%%341", f"{H}/%%341"),
        ("no new escapes", "https://example.com/%4%31", f"{H}/%4%31"),
        ("characters", "https://example.com/ü b|c\"<>", f"{H}/%C3%BC%20b%7Cc%22%3C%3E"),
        ("a plus is a plus", "https://example.com/a+b?c+d", f"{H}/a+b?c+d"),
        ("dots in a query", "https://example.com/a?b=/../c", f"{H}/a?b=/../c"),
        ("dots in a fragment", "https://example.com/a#/../c", f"{H}/a"),
        ("escaped dots", "https://example.com/a/%2e%2E/b/%2e", f"{H}/b/"),
        ("dots that are names", "https://example.com/.a/b../...", f"{H}/.a/b../..."),
    ],
)  # fmt: skip
def test_one_page_is_one_url(item: str, url: str, page: str) -> None:
    """Design 7, "One page is one URL", item by item."""
    assert page_url(url) == page, item


@pytest.mark.parametrize(
    ("path", "without"),
    [
        # RFC 3986 section 5.2.4 and the results of section 5.4
        ("/a/b/c/./../../g", "/a/g"),
        ("/b/c/g", "/b/c/g"),
        ("/b/c/./g", "/b/c/g"),
        ("/b/c/g/", "/b/c/g/"),
        ("/b/c/.", "/b/c/"),
        ("/b/c/./", "/b/c/"),
        ("/b/c/..", "/b/"),
        ("/b/c/../", "/b/"),
        ("/b/c/../g", "/b/g"),
        ("/b/c/../..", "/"),
        ("/b/c/../../", "/"),
        ("/b/c/../../g", "/g"),
        ("/b/c/../../../g", "/g"),
        ("/b/c/../../../../g", "/g"),
        ("/./g", "/g"),
        ("/../g", "/g"),
        ("/b/c/g.", "/b/c/g."),
        ("/b/c/.g", "/b/c/.g"),
        ("/b/c/g..", "/b/c/g.."),
        ("/b/c/..g", "/b/c/..g"),
        ("/b/c/./../g", "/b/g"),
        ("/b/c/./g/.", "/b/c/g/"),
        ("/b/c/g/./h", "/b/c/g/h"),
        ("/b/c/g/../h", "/b/c/h"),
        ("/b/c/g;x=1/./y", "/b/c/g;x=1/y"),
        ("/b/c/g;x=1/../y", "/b/c/y"),
        # What is not there
        ("/.", "/"),
        ("/..", "/"),
        ("/../..", "/"),
        ("//..", "/"),
        ("//../a", "/a"),
        ("/a//../b", "/a/b"),
        ("/a//./b", "/a//b"),
    ],
)
def test_rfc3986_5_2_4_dot_segments(path: str, without: str) -> None:
    """Dot segments are removed as in the pseudocode of the RFC."""
    assert page_url(H + path) == H + without


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("utm_source=a&utm_medium=b&utm_campaign=c&utm_term=d&utm_content=e", ""),
        ("a=1&utm_source=x&b=2", "a=1&b=2"),
        ("UTM_Source=x&a", "a"),
        *[(f"{name}=x&a=1", "a=1") for name in ("gclid", "fbclid", "msclkid", "dclid", "yclid")],
        *[(f"a=1&{name}=x", "a=1") for name in ("mc_cid", "mc_eid", "_ga", "_gl", "igshid")],
        ("gclid", ""),
        ("%75tm_source=x", ""),
        ("b&a&&c", "b&a&&c"),
        # What only looks like it
        *[(query, query) for query in ("utm=1&gclid2=1&xutm_source=1", "ga=1&q=utm_source")],
        *[(query, query) for query in ("ref=x&source=y&id=1", "q=a%26utm_source=b")],
    ],
)  # fmt: skip
def test_tracking_parameters_are_left_out_on_request(query: str, kept: str) -> None:
    """Only then, and only those."""
    url = f"{H}/a?{query}"
    assert page_url(url, without_tracking=True) == (f"{H}/a?{kept}" if kept else f"{H}/a")
    assert page_url(url) == f"{H}/a?{query.replace('%75', 'u')}"


@pytest.mark.parametrize(
    "url", ["", "/a", "mailto:a@b", "javascript:x", "http://", "http:///a", "a"]
)
def test_what_is_no_url_has_no_page(url: str) -> None:
    """It raises what `origin` raises."""
    with pytest.raises(InvalidURL):
        page_url(url)


paths = st.text(st.sampled_from("/.%2eE5f7aA0zZ~é ?#&=;:@+\\\ud800\udcff"), max_size=30)
urls = st.builds("http{}://{}{}{}".format, st.sampled_from(["", "s"]), st.sampled_from(
    ["h", "Example.COM", "h:80", "h:443", "h:8", "u:p@h", "[::1]", "bücher.example", "h."]
), st.sampled_from(["", "/", "?"]), paths)  # fmt: skip


@settings(max_examples=examples(300))
@given(urls, st.booleans())
@example("http://h/%%34%31", False)
@example("http://h/%2%35%34%31", False)
@example("http://h/?utm_a&?", True)
def test_it_changes_nothing_twice(url: str, without_tracking: bool) -> None:
    """What it makes of a URL is a URL, goes over the wire as it is, and stays as it is."""
    try:
        page = page_url(url, without_tracking=without_tracking)
    except InvalidURL:
        assume(False)
    assert page_url(page, without_tracking=without_tracking) == page
    assert requestable(page) == page
    assert page.isascii()
    assert origin(page) == origin(url)
    assert host(page) == host(url)
    assert "#" not in page


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_has_a_page_or_is_invalid(text: str) -> None:
    """Nothing else is raised."""
    for url in (text, f"http://{text}", f"http://h/{text}"):
        try:
            assert page_url(url)
        except InvalidURL:
            assert url is not None


segments = st.text(st.sampled_from("abc.é~-"), min_size=1, max_size=4)


@given(st.lists(segments, max_size=5), st.data())
def test_ways_to_write_a_page_are_one(parts: list[str], data: st.DataObject) -> None:
    """Case of scheme and host, ports, escapes, dots and fragments make no other page."""
    path = "/" + "/".join(part for part in parts if part.strip("."))
    plain = f"http://example.com{path}"
    scheme = data.draw(st.sampled_from(["http", "HTTP", "Http"]))
    site = data.draw(st.sampled_from(["example.com", "EXAMPLE.com:80", "u@example.com:"]))
    written = "".join(
        "".join(f"%{octet:02x}" for octet in each.encode())
        if each != "/" and data.draw(st.booleans())
        else each
        for each in path
    ).replace("/", data.draw(st.sampled_from(["/", "/./", "/x/../"])))
    fragment = data.draw(st.sampled_from(["", "#", "#a/../b"]))
    assert page_url(f"{scheme}://{site}{written}{fragment}") == page_url(plain)
