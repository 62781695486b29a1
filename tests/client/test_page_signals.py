"""What a page that was fetched says about its use, without another request."""

import dataclasses
import pickle

import pytest

from manners import Page, signals
from manners.client.page import _ReadLater
from manners.client.page_signals import material_of
from tests.client.asking import asking, run, site, to
from tests.client.test_page import fetched
from tests.faults.server import Handler, Site, page

HTML = b'<head><meta name="robots" content="noai"><title>x</title></head><p>text'
HTML_TYPE = ("Content-Type", "text/html; charset=utf-8")


def fetched_with(robots_txt: str, handler: Handler, path: str = "/page") -> Page:
    """The page that a handler gives, on a site with a robots.txt."""

    async def main() -> Page:
        async with Site(site(robots=page(robots_txt.encode()), page=handler)) as server:
            async with asking() as client:
                found = await client.get(server.url(path=path))
            assert [seen.path for seen in server.log] in (["/robots.txt", path], ["/robots.txt"])
            return found

    return run(main)


def test_robots_txt_headers_and_html_are_read_together() -> None:
    """The sources that came with the page are those of `signals.usage`."""
    text = "User-agent: *\nContent-Signal: search=yes, ai-train=yes\n"
    found = fetched_with(text, page(HTML, 200, [HTML_TYPE, ("Content-Usage", "ai-use=n")]))
    answers = {purpose: usage.answer for purpose, usage in found.usage.items()}
    assert answers["search"] == "yes"
    assert answers["ai-train"] == answers["ai-input"] == "no"
    assert answers["crawl"] == "yes"
    assert answers["archive"] == "unknown"
    assert found.usage["ai-train"].conflict
    assert {claim.source for claim in found.usage["ai-train"].claims} == {"robots.txt", "html"}
    expected = signals.usage(
        found.url, agent="MyBot", robots_txt=text, headers=found.headers, html=found.body
    )
    assert dict(found.usage) == expected


def test_the_agent_is_the_one_that_asked() -> None:
    """Groups and words for others do not count."""
    text = "User-agent: OtherBot\nContent-Usage: train-ai=n\n\nUser-agent: MyBot\nAllow: /\n"
    headers = [("X-Robots-Tag", "otherbot: noindex"), ("X-Robots-Tag", "mybot: noarchive")]
    found = fetched_with(text, page(b"hi", 200, headers))
    assert found.usage["ai-train"].answer == found.usage["search"].answer == "unknown"
    assert found.usage["archive"].answer == "no"


def test_header_lines_of_one_name_are_read_by_their_standard() -> None:
    """Content-Usage is one dictionary, tdm-reservation has to agree, X-Robots-Tag stays apart."""
    headers = [
        *(("Content-Usage", "train-ai=n"), ("Content-Usage", "train-ai=y")),
        *(("TDM-Reservation", "1"), ("tdm-reservation", "1")),
        *(("X-Robots-Tag", "otherbot: noindex"), ("X-Robots-Tag", "nosnippet")),
        *(("Content-Signal", "ai-input=yes"), ("Content-Signal", "ai-input=no")),
    ]
    usage = fetched(page(b"hi", 200, headers))[0].usage
    assert [claim.value for claim in usage["ai-train"].claims] == ["yes", "no"]  # tdm refuses
    assert usage["tdm"].answer == usage["snippet"].answer == usage["ai-input"].answer == "no"
    assert usage["search"].answer == "unknown"


@pytest.mark.parametrize("type_", ["application/json", "text/plain", "image/png"])
def test_only_html_is_read_as_html(type_: str) -> None:
    """What looks like an element in another kind of file is none."""
    found, _ = fetched(page(HTML, 200, [("Content-Type", type_)]))
    assert found.usage["ai-train"].answer == "unknown"


def test_a_disallowed_page_may_not_be_crawled() -> None:
    """Nothing was fetched, and robots.txt is known all the same."""
    found = fetched_with("User-agent: *\nContent-Signal: ai-train=no\nDisallow: /page", page(b""))
    assert not found.was_allowed
    assert found.usage["crawl"].answer == found.usage["ai-train"].answer == "no"


def test_what_is_not_known_of_robots_txt_says_nothing() -> None:
    """A robots.txt that is not reachable, or not respected, is no permission."""

    async def main() -> tuple[Page, Page]:
        async with Site(site(robots=page(b"", 500), page=page(b"hi"))) as server:
            async with asking() as client:
                away = await client.get(server.url(path="/page"))
            headers = [("X-Robots-Tag", "mybot: noindex")]
            async with (
                Site(site(page=page(b"hi", 200, headers))) as other,
                asking(respect_robots=False) as client,
            ):
                return away, await client.get(other.url(path="/page"))

    away, ignored = run(main)
    assert away.usage["crawl"].answer == ignored.usage["crawl"].answer == "unknown"
    assert ignored.usage["search"].answer == "no"  # still by its own name


def test_a_site_without_robots_txt_may_be_crawled() -> None:
    """No file, no refusal."""
    found, _ = fetched(page(b"hi"))
    assert found.usage["crawl"].answer == "yes"
    assert found.usage["ai-train"].answer == "unknown"


def test_the_robots_txt_of_the_last_hop_decides() -> None:
    """Where a page redirects to another site, that site speaks for it."""

    async def main() -> Page:
        refusing = page(b"User-agent: *\nContent-Usage: train-ai=n")
        async with (
            Site(site(robots=refusing, page=page(b"hi"))) as second,
            Site(site(page=to(second.url(path="/page")))) as first,
            asking() as client,
        ):
            return await client.get(first.url(path="/page"))

    found = run(main)
    assert len(found.hops) == 2
    assert found.usage["ai-train"].answer == "no"
    assert found.usage["ai-train"].claims[0].url.startswith(found.final_url.removesuffix("/page"))


def test_dates_are_compared_with_the_time_of_the_request() -> None:
    """`unavailable_after` counts for a page that was fetched later."""
    old, new = (f"unavailable_after: {year}-01-01T00:00:00Z" for year in ("2001", "2999"))
    assert fetched(page(b"", 200, [("X-Robots-Tag", old)]))[0].usage["search"].answer == "no"
    assert fetched(page(b"", 200, [("X-Robots-Tag", new)]))[0].usage["search"].answer == "unknown"


def test_a_stream_knows_what_came_before_its_body() -> None:
    """Headers and robots.txt; the HTML is still to be read."""

    async def main() -> Page:
        handler = page(HTML, 200, [HTML_TYPE, ("X-Robots-Tag", "noarchive")])
        async with (
            Site(site(page=handler)) as server,
            asking() as client,
            client.stream(server.url(path="/page")) as stream,
        ):
            async for _ in stream.chunks():
                pass
            return stream.page

    usage = run(main).usage
    assert usage["archive"].answer == "no"
    assert usage["ai-train"].answer == "unknown"


def test_usage_is_read_once_and_is_no_part_of_the_page() -> None:
    """Pages compare, copy and pickle as before, whether anybody has read it or not."""
    found, _ = fetched(page(b"hi", 200, [("X-Robots-Tag", "noai")]))
    twin = dataclasses.replace(found)
    assert found.usage is found.usage
    assert found == twin
    assert hash(found) == hash(twin)
    assert repr(found) == repr(twin)
    assert pickle.dumps(found) == pickle.dumps(twin)
    kept: Page = pickle.loads(pickle.dumps(found))
    assert kept == found
    assert kept.usage == found.usage
    with pytest.raises(TypeError):
        found.usage["ai-train"] = found.usage["search"]  # type: ignore[index]
    with pytest.raises((AttributeError, TypeError)):
        found.usage = {}  # type: ignore[misc]
    assert _ReadLater.__slots__ == ("_exchanges", "_usage")


def test_other_files_join_the_sources_of_a_page() -> None:
    """A caller that has a site's tdmrep.json reads it with everything else."""
    found, _ = fetched(page(b"hi", 200, [("tdm-reservation", "0")]))
    tdmrep = '[{"location": "/", "tdm-reservation": 1}]'
    material = dataclasses.replace(material_of(found), tdmrep=tdmrep)
    assert signals.merge.answers(material)["tdm"].answer == "yes"  # a header comes before the file
    found, _ = fetched(page(b"hi"))
    material = dataclasses.replace(material_of(found), tdmrep=tdmrep)
    assert signals.merge.answers(material)["tdm"].answer == "no"
