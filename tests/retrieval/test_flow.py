"""The flow, with scripted replies: the sentences below the table in semantics part B."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manners.net.messages import Response, Unreachable
from manners.retrieval import profiles
from manners.retrieval.flow import Copy
from manners.retrieval.outcome import Availability, RobotsHop
from tests.retrieval.scripted import HOST, PROFILES, ROBOTS, Played, Reply, moved, redirects

AVAILABLE, UNAVAILABLE, UNREACHABLE = (
    Availability.AVAILABLE,
    Availability.UNAVAILABLE,
    Availability.UNREACHABLE,
)
FILE = Response(200, body=b"User-agent: *\nDisallow: /a")
HOSTILE = "\x1b]0;owned\x07\r\nX: y\u202e<script>"
COPY = Copy(ROBOTS, etag='"1"', last_modified="Sun, 06 Nov 1994 08:49:37 GMT")


# What is asked.


def test_the_first_request_is_for_the_robots_txt_and_nothing_but_it() -> None:
    """One file costs one request, without conditions when there is no copy."""
    played = Played([FILE])
    assert played.urls == [ROBOTS]
    assert dict(played.asked[0].headers) == {}
    assert played.body == FILE.body


def test_the_story_is_kept() -> None:
    """An outcome has every hop, its status, the size and the time."""
    reply = Response(200, {"etag": '"1"'}, b"abc", seconds=0.5)
    outcome = Played([moved("/a"), moved("http://other.example/b", 307), reply]).outcome
    assert outcome.hops == (
        RobotsHop(ROBOTS, 301),
        RobotsHop(HOST + "/a", 307),
        RobotsHop("http://other.example/b", 200),
    )
    assert outcome.url == ROBOTS
    assert (outcome.final_url, outcome.status) == ("http://other.example/b", 200)
    assert (outcome.bytes, outcome.seconds, outcome.profile) == (3, 0.5, "rfc9309")
    assert outcome.header("etag") == '"1"'


def test_no_answer_is_part_of_the_story() -> None:
    """A hop without an answer has a cause and no status."""
    outcome = Played([moved("/a"), Unreachable("timeout", 3.0)]).outcome
    assert outcome.hops[-1] == RobotsHop(HOST + "/a", None, "timeout")
    assert outcome.status is None
    assert str(outcome) == "unreachable (timeout)"


@pytest.mark.parametrize("profile", PROFILES)
def test_total_time_shrinks_with_every_hop(profile: str) -> None:
    """Ten seconds are for all hops together, and never become less than none."""
    slow = [Response(301, {"location": f"/{n}"}, seconds=4.0) for n in range(3)]
    played = Played([*slow, Unreachable("timeout")], profile)
    assert [get.total for get in played.asked] == [10.0, 6.0, 2.0, 0.0]
    assert {(get.connect, get.read) for get in played.asked} == {(2.0, 3.0)}
    assert played.outcome.seconds == pytest.approx(12.0)


# Redirects.


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/elsewhere.txt", HOST + "/elsewhere.txt"),
        ("elsewhere.txt", HOST + "/elsewhere.txt"),
        ("./b/../c.txt", HOST + "/c.txt"),
        ("?lang=en", ROBOTS + "?lang=en"),
        ("//other.example/r.txt", "https://other.example/r.txt"),
        ("http://example.com/robots.txt", "http://example.com/robots.txt"),
        ("https://example.com:8443/robots.txt", "https://example.com:8443/robots.txt"),
        ("https://www.example.com/robots.txt", "https://www.example.com/robots.txt"),
        ("HTTPS://Example.COM:443/R.txt", HOST + "/R.txt"),
        ("  /padded  ", HOST + "/padded"),
        ("https://other.example", "https://other.example/"),
        ("https://user:secret@example.com/r.txt", HOST + "/r.txt"),
        ("/r.txt#part", HOST + "/r.txt"),
        ("/a b.txt", HOST + "/a%20b.txt"),
        ("/caf\u00e9", HOST + "/caf%C3%A9"),
        ("/caf\udce9", HOST + "/caf%E9"),
        ("/caf%C3%A9%20x", HOST + "/caf%C3%A9%20x"),
        ("https://b\u00fccher.example/r", "https://xn--bcher-kva.example/r"),
        ("http://[::1]:8080/r", "http://[::1]:8080/r"),
        ("/a\x00b\x1b", HOST + "/a%00b%1B"),
        ('/"<>\\^`{|}', HOST + "/%22%3C%3E%5C%5E%60%7B%7C%7D"),
    ],
)
def test_a_location_is_followed_to_where_it_leads(location: str, target: str) -> None:
    """A redirect is followed to its target, written as it goes over the wire."""
    played = Played([moved(location), FILE])
    assert played.urls == [ROBOTS, target]
    assert played.outcome.availability is AVAILABLE


UNUSABLE = [
    "",
    "   ",
    "ftp://example.com/robots.txt",
    "javascript:alert(1)",
    "data:text/plain,User-agent:%20*",
    "file:///etc/passwd",
    "mailto:someone@example.com",
    "http://",
    "http:///robots.txt",
    "https:///robots.txt",
    "https://",
    "https://exa mple.com/",
    "https://example.com:99999/",
    "https://example.com:port/",
    "https://[::1/",
    "//[",
    "https://[fe80::1%25eth0]/",
    "https://\x00/",
    "https://" + "a" * 300 + "/",
    "https://good.example\\@evil.example/",
    "http://\u2100.example/",
]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("location", [None, *UNUSABLE])
def test_a_redirect_to_nowhere_is_out_of_reach(location: str | None, profile: str) -> None:
    """A redirect without a usable Location is unreachable, in every profile."""
    headers = {} if location is None else {"location": location}
    outcome = Played([Response(302, headers)], profile).outcome
    assert outcome.availability is UNREACHABLE
    assert str(outcome) == "unreachable (302 without a usable Location)"


@pytest.mark.parametrize("status", [300, 301, 302, 303, 305, 306, 307, 308, 399])
def test_every_redirect_is_followed_alike(status: int) -> None:
    """A status from 300 to 399 with a Location is a redirect; 304 is none."""
    assert Played([moved("/a", status), FILE]).outcome.availability is AVAILABLE
    assert Played([moved("/a", 304)]).outcome.availability is UNREACHABLE


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(["/robots.txt"], id="itself"),
        pytest.param(["#top"], id="itself, by a fragment"),
        pytest.param(["https://user:pw@EXAMPLE.com:443/robots.txt"], id="itself, in disguise"),
        pytest.param(["/a", "/robots.txt"], id="two"),
        pytest.param(["/a", "/b", "/a"], id="a later one"),
        pytest.param(["http://example.com/robots.txt", ROBOTS], id="over schemes"),
    ],
)
def test_a_loop_means_there_is_no_file(path: list[str], profile: str) -> None:
    """A redirect back to where it came from ends the retrieval: unavailable."""
    outcome = Played([moved(location) for location in path], profile).outcome
    assert str(outcome) == "unavailable (redirect loop)"
    assert len(outcome.hops) == len(path)


def test_what_differs_in_the_query_is_no_loop() -> None:
    """Two URLs with different queries are two places."""
    assert Played([moved("?1"), moved("?2"), FILE]).outcome.availability is AVAILABLE


@pytest.mark.parametrize("end", [FILE, Response(404), Response(500), Unreachable("timeout")])
@pytest.mark.parametrize("profile", PROFILES)
def test_what_stands_at_the_end_of_redirects_decides(profile: str, end: Reply) -> None:
    """The last reply means after redirects what it means without."""
    direct, after = Played([end], profile), Played([*redirects(3), end], profile)
    assert after.outcome.availability is direct.outcome.availability
    assert after.outcome.note == direct.outcome.note
    assert after.body == direct.body
    assert after.outcome.confidence == direct.outcome.confidence


@settings(deadline=None)
@given(st.text() | st.builds("http{}//{}".format, st.sampled_from([":", "s:", ""]), st.text()))
def test_whatever_a_location_says_nothing_raises(location: str) -> None:
    """Any Location is followed to an http URL in plain ASCII, or to nowhere."""
    played = Played([moved(location), FILE])
    for url in played.urls:
        assert url.isascii()
        assert url.isprintable()
        assert " " not in url
        assert url.startswith(("http://", "https://"))


# 304.


def test_a_copy_with_marks_is_asked_about() -> None:
    """A conditional request has the marks of the copy (RFC 9110 section 13.1)."""
    played = Played([Response(304)], copy=COPY)
    assert dict(played.asked[0].headers) == {
        "If-None-Match": COPY.etag,
        "If-Modified-Since": COPY.last_modified,
    }
    assert played.outcome.not_modified
    assert played.outcome.availability is AVAILABLE
    assert (played.body, str(played.outcome)) == (b"", "available (304)")


@pytest.mark.parametrize(
    ("copy", "names"),
    [
        (Copy(ROBOTS, etag='"1"'), {"If-None-Match"}),
        (Copy(ROBOTS, last_modified="x"), {"If-Modified-Since"}),
        (Copy(ROBOTS), set()),
        (Copy("https://other.example/robots.txt", etag='"1"'), set()),
        (Copy(ROBOTS, etag='"\udce9"'), set()),
        (Copy(ROBOTS, etag='"\u00e9"', last_modified="x"), {"If-Modified-Since"}),
        (Copy(ROBOTS, etag='"1"\r\nX: y'), set()),
    ],
)
def test_only_marks_that_can_be_sent_are_sent(copy: Copy, names: set[str]) -> None:
    """A mark goes to the URL it came from, and only if it can stand in a header."""
    assert set(Played([FILE], copy=copy).asked[0].headers) == names


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("replies", "copy"),
    [
        pytest.param([Response(304)], None, id="no copy"),
        pytest.param([Response(304)], Copy(ROBOTS), id="a copy without marks"),
        pytest.param([Response(304, {"location": "/a"})], None, id="with a Location"),
        pytest.param([moved("/a"), Response(304)], COPY, id="at another URL"),
    ],
)
def test_304_out_of_place_is_out_of_reach(
    replies: list[Reply], copy: Copy | None, profile: str
) -> None:
    """A 304 that answers no conditional request says nothing about a file."""
    outcome = Played(replies, profile, copy).outcome
    assert str(outcome) == "unreachable (304)"
    assert not outcome.not_modified


def test_conditions_are_not_carried_to_another_url() -> None:
    """Marks belong to one URL: a redirect's target is asked without them."""
    played = Played([moved("/a"), FILE], copy=COPY)
    assert [bool(get.headers) for get in played.asked] == [True, False]
    assert not played.outcome.not_modified


def test_a_new_file_takes_the_place_of_a_copy() -> None:
    """A conditional request that is answered with 200 has a body of its own."""
    played = Played([FILE], copy=COPY)
    assert played.body == FILE.body
    assert not played.outcome.not_modified


# What is kept of a reply.


def test_headers_are_kept_where_they_matter_and_bounded() -> None:
    """An outcome keeps few headers, and not much of each."""
    headers = dict.fromkeys(["etag", "cache-control", "retry-after", "location"], "v" * 100_000)
    headers |= {f"x-{n}": "v" * 1000 for n in range(1000)} | {"set-cookie": "secret"}
    outcome = Played([Response(200, headers, b"")]).outcome
    assert {name for name, _ in outcome.headers} <= {
        "age", "cache-control", "content-encoding", "content-type", "date", "etag", "expires",
        "last-modified", "location", "retry-after",
    }  # fmt: skip
    assert all(len(value) <= 1024 for _, value in outcome.headers)
    assert len(outcome.header("etag")) == 1024


@pytest.mark.parametrize(
    "location",
    [
        "ftp://user:secret@example.com/",
        "https://user:secret@example.com:99999/",
        "  //user:secret@[::1/",
        "https://user:secret@example.com/robots.txt",
        "https://user:" + "secret" * 500 + "@example.com/robots.txt",
    ],
)
def test_credentials_in_a_location_are_kept_nowhere(location: str) -> None:
    """A name and a password are removed before anything is stored (design, part 3)."""
    outcome = Played([moved(location)]).outcome
    assert "secret" not in repr(outcome.to_dict())


@pytest.mark.parametrize("status", [200, 301, 304, 404, 429, 500, 600])
def test_a_note_is_in_our_words(status: int) -> None:
    """No text of a server gets into a note, whatever its headers and its body say."""
    names = ("content-type", "location", "retry-after", "etag", "cache-control")
    reply = Response(status, dict.fromkeys(names, HOSTILE), HOSTILE.encode())
    outcome = Played([reply, Response(418, dict.fromkeys(names, HOSTILE))]).outcome
    assert "owned" not in outcome.note
    assert "owned" not in str(outcome)
    assert str(outcome).isprintable()


@pytest.mark.parametrize(
    ("body", "flagged"),
    [
        (b"<!DOCTYPE html><title>Not found</title>", True),
        (b"\n\t <html>", True),
        (b"\xef\xbb\xbf<html>", True),
        (b"\xef\xbb\xbf\r\n<html>", True),
        (b"User-agent: *\nDisallow: /<b>", False),
        (b"# <html>", False),
        (b"", False),
    ],
)
@pytest.mark.parametrize("status", [200, 206])
def test_html_is_parsed_and_flagged(status: int, body: bytes, flagged: bool) -> None:
    """A page instead of a file is a file all the same, with a note."""
    played = Played([Response(status, {"content-type": "text/html"}, body)])
    assert played.outcome.availability is AVAILABLE
    assert played.outcome.note == (f"{status}, looks like HTML" if flagged else str(status))
    assert played.body == body


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        ("text/plain", ""),
        ("text/plain; charset=utf-8", "utf-8"),
        ("text/plain;charset=UTF-8", "utf-8"),
        ('text/plain; charset="ISO-8859-1"', "iso-8859-1"),
        ("text/plain; format=flowed; Charset = windows-1251 ", "windows-1251"),
        ("text/plain; charset=", ""),
        ("text/plain; charset", ""),
        ("charset=utf-8", ""),
        ("", ""),
    ],
)
def test_the_charset_of_the_header_is_kept(content_type: str, charset: str) -> None:
    """The charset is the one that the Content-Type names."""
    outcome = Played([Response(200, {"content-type": content_type})]).outcome
    assert outcome.charset == charset


def test_a_charset_is_bounded() -> None:
    """A name of any length is kept only in part."""
    header = {"content-type": "text/plain; charset=" + "x" * 10_000}
    assert len(Played([Response(200, header)]).outcome.charset) <= 100


def test_a_body_that_was_cut_is_known_to_be() -> None:
    """An outcome says when there was more to read."""
    assert not Played([Response(200, body=b"x", complete=False)]).outcome.complete
    assert Played([Response(200, body=b"x")]).outcome.complete


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            Response,
            st.integers(0, 999),
            st.dictionaries(st.sampled_from(["location", "content-type", "etag"]), st.text()),
            st.binary(max_size=50),
            st.booleans(),
            st.floats(0, 100),
        )
        | st.builds(Unreachable, st.just("timeout"), st.floats(0, 100)),
        min_size=8,
        max_size=8,
    ),
    st.sampled_from(PROFILES),
)
def test_every_script_comes_to_an_end(replies: list[Reply], profile: str) -> None:
    """Whatever is answered, few requests are made, and the outcome is one of three."""
    played = Played(replies, profile)
    most = profiles.get(profile).max_redirects
    assert len(played.asked) <= most + 1
    assert all(0 <= get.total <= 10 for get in played.asked)
    assert len({get.url for get in played.asked}) == len(played.asked)
    if played.outcome.availability is not AVAILABLE:
        assert played.body == b""
