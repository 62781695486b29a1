"""The keys of an index are those of the library by which replay looks up."""

import surt
from hypothesis import given, settings
from hypothesis import strategies as st

from manners.warc.cdxj import CdxLine, key
from tests.sizes import examples

KNOWN = [
    "http://127.0.0.1:8080/a",
    "https://www2.Example.com:443/A/b/?B=2&a=1#f",
    "http://example.com:80/a/",
    "http://example.com:8080/a.html",
    "http://www.example.com/a_b/c.d",
    "http://example.com//a//b/../c/./d/",
    "http://example.com/?a=1&PHPSESSID=0123456789abcdef0123456789abcdef&b=2",
    "http://example.com/?z&a&a=&=a",
    "http://[::1]:80/x",
    "http://xn--bcher-kva.example/%C3%BC?%E4",
    "http://example.com/a%2525b%20c",
]
PARTS = ["a", "B", "/", "//", "..", ".", "?", "&", "=", "%2F", "%41", "%e4", "%20", "%25", "~", "-"]
URLS = st.builds(
    lambda host, port, rest: f"http://{host}{port}/{''.join(rest)}",
    st.sampled_from(["example.com", "www.example.com", "WWW3.Example.com", "127.0.0.1"]),
    st.sampled_from(["", ":80", ":81"]),
    st.lists(st.sampled_from(PARTS), max_size=12),
)


def test_known_urls_have_the_keys_of_surt() -> None:
    """Ports, `www`, sessions, escapes, order of arguments."""
    assert [key(url) for url in KNOWN] == [surt.surt(url) for url in KNOWN]


@settings(max_examples=examples(1_000), deadline=None)
@given(URLS)
def test_any_url_has_the_key_of_surt(url: str) -> None:
    """Whatever its path and query are made of."""
    assert key(url) == surt.surt(url)


def test_a_line_is_one_line() -> None:
    """What a site has sent makes no second one."""
    line = CdxLine('http://a/"\n', "20260101000000", 'te"xt\n', "200", "-", 0, 1).text("a.warc.gz")
    assert "\n" not in line
    assert 'te\\"xt\\n' in line


def test_an_impossible_url_has_a_key() -> None:
    """Nothing in an archive keeps its index from being written."""
    assert key("http://[::1/ x") == "http://[::1/%20x"
