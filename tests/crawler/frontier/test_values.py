"""Values of a frontier: keys of URLs, where pages lead to, and times by another's clock."""

from hypothesis import given
from hypothesis import strategies as st

from manners.crawler.frontier.clock import StoreTime
from manners.crawler.frontier.values import digest_of, pack, place_of, unpack

HOSTS = st.one_of(
    st.sampled_from(["example.com", "[::1]", "192.0.2.1", "xn--bcher-kva.example", ""]),
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=30),
)
KEYS = st.tuples(HOSTS, st.binary(min_size=16, max_size=16).map(bytes.hex))


@given(st.lists(KEYS, max_size=50))
def test_what_is_packed_is_unpacked(keys: list[tuple[str, str]]) -> None:
    """Every key, as often as it was there; those of one host in their order."""
    found = list(unpack(pack(keys)))
    assert sorted(found) == sorted(keys)
    for host in {name for name, _ in keys}:
        assert [each for each in found if each[0] == host] == [
            each for each in keys if each[0] == host
        ]


def test_a_host_is_packed_once() -> None:
    """Most pages lead to their own site: a target takes 16 bytes."""
    packed = pack(("example.com", f"{number:032x}") for number in range(1_000))
    assert len(packed) == len("example.com\n") + 4 + 16 * 1_000
    assert pack([]) == b""
    assert list(unpack(b"")) == []


def test_a_url_is_known_by_its_host_and_a_digest() -> None:
    """Ports and schemes of one host are one host, and different URLs."""
    urls = [
        *("https://example.com/a", "http://example.com/a", "https://example.com:8443/a"),
        *("https://example.com/a?", "https://example.com", "https://example.com/"),
    ]
    places = [place_of(url) for url in urls]
    assert {name for name, _ in places} == {"example.com"}
    assert len(set(places)) == len(urls)
    assert place_of("https://example.com/nul\0") == place_of("https://example.com/nul\ufffd")
    assert place_of(urls[0]) == ("example.com", digest_of(urls[0]))
    assert place_of("https://other.example/a")[0] == "other.example"


MILLISECONDS = st.integers(-(10**12), 10**12).map(float)
SPANS = st.integers(0, 10**6).map(float)


@given(MILLISECONDS, MILLISECONDS, SPANS, SPANS, MILLISECONDS)
def test_a_time_never_gets_earlier(
    offset: float, asked: float, before: float, after: float, at: float
) -> None:
    """To the store, from it, and there and back, however long the store took to answer."""
    time = StoreTime()
    time.set(asked + before + offset, asked, asked + before + after)
    if at:
        assert time.to_store(at) >= at + offset
        assert time.from_store(at) >= at - offset
        assert time.from_store(at) - (at - offset) <= before + after
    assert time.from_store(time.to_store(at)) >= at or time.to_store(at) == 0


def test_any_time_stays_any_time() -> None:
    """0 is no time of a clock; and without a comparison, clocks are the same."""
    time = StoreTime()
    assert (time.to_store(5.0), time.from_store(5.0)) == (5.0, 5.0)
    time.set(100.0, 10.0, 11.0)
    assert (time.to_store(0.0), time.from_store(0.0)) == (0.0, 0.0)
    assert (time.to_store(20.0), time.from_store(110.0)) == (110.0, 21.0)
