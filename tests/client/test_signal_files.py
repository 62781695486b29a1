"""Files with usage signals that cost requests: asked for when told, politely, and within limits."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from manners import AsyncClient, Budget, Page
from manners.client import signal_files
from manners.errors import ClientClosed
from manners.evidence.store import EvidenceStore
from manners.signals import Purpose, Usage
from manners.testing import Clock
from tests.client.asking import (
    OPEN,
    asking,
    blocking,
    in_turn,
    rules,
    run,
    settings,
    silence,
    to,
    until,
)
from tests.faults.faults import endless
from tests.faults.server import Call, Handler, Site, by_address, by_path, in_thread, page

A, B = "127.0.0.1", "127.0.0.2"
RESERVED = page(b'[{"location": "/", "tdm-reservation": 1}]')
TEXT = [("Content-Type", "text/plain")]
NO_TRAINING = page(b"datatrainingallowed=no\n", 200, TEXT)
AI_TXT = page(b"User-Agent: *\nDisallow: /\n", 200, TEXT)
ALL = ("tdmrep", "rsl", "trust-txt", "ai-txt")
TDMREP, TRUST, WELL_KNOWN_TRUST = (
    *("/.well-known/tdmrep.json", "/trust.txt"),
    "/.well-known/trust.txt",
)


def rsl(terms: str = '<prohibits type="usage">ai-train</prohibits>', more: str = "") -> bytes:
    return (
        f'<rsl xmlns="https://rslstandard.org/rsl"{more}><content url="/">'
        f"<license>{terms}</license></content></rsl>"
    ).encode()


def linked(*paths: str, address: str = A) -> Handler:
    """A page with a Link header for each of these licences."""

    async def answer(call: Call) -> None:
        urls = (call.site.url(address, path) for path in paths)
        links = [f'<{url}>; rel="license"; type="application/rsl+xml"' for url in urls]
        await call.reply(200, b"page", [("Link", link) for link in links])

    return answer


def ask(
    files: dict[str, Handler],
    work: Callable[[AsyncClient, Site], Awaitable[None]],
    otherwise: Handler | None = None,
    **changes: Any,
) -> list[str]:
    """Let a client ask a site that has these files; the paths that it asked for."""
    handlers = {"/robots.txt": OPEN, "/": page(b"page"), **files}

    async def main() -> list[str]:
        answer = by_address({A: by_path(handlers)}, otherwise)
        async with Site(answer) as server:
            async with asking(**changes) as client:
                await work(client, server)
            assert server.failures == []
            return [visit.path for visit in server.log]

    return run(main)


def usages(
    files: dict[str, Handler], *signals: str, otherwise: Handler | None = None, **changes: Any
) -> tuple[dict[Purpose, Usage], list[str]]:
    """What a page may be used for, and the paths that were asked for after the page."""
    found: dict[Purpose, Usage] = {}

    async def work(client: AsyncClient, server: Site) -> None:
        found.update(await client.usage(await client.get(server.url(A))))

    paths = ask(files, work, otherwise, signals=signals, **changes)
    return found, paths[paths.index("/") + 1 :]


def problems(found: dict[Purpose, Usage]) -> list[tuple[str, str]]:
    return [(problem.code, problem.standard) for problem in found["ai-train"].problems]


# What is asked for.


def test_nothing_is_asked_for_unless_told() -> None:
    """Without the setting, usage is what came with the page, and costs no request."""
    found, paths = usages({TDMREP: RESERVED, TRUST: NO_TRAINING})
    assert paths == []
    assert found["ai-train"].answer == "unknown"


@pytest.mark.parametrize(
    ("source", "path", "handler"),
    [
        ("tdmrep", TDMREP, RESERVED),
        ("trust-txt", TRUST, NO_TRAINING),
        ("ai-txt", "/ai.txt", AI_TXT),
    ],
)
def test_a_file_is_asked_for_when_told(source: str, path: str, handler: Handler) -> None:
    """That one alone, and what it says counts with its standard and its URL."""
    found, paths = usages({path: handler}, source)
    assert paths == [path]
    [claim] = found["ai-train"].claims
    assert (claim.standard, claim.value) == (source, "no")
    assert claim.url.endswith(path)


def test_all_sources_are_asked_for_in_order() -> None:
    """In the order of the setting; licences only where a page or its robots.txt names one."""
    found, paths = usages({TDMREP: RESERVED}, *ALL)
    assert paths == [TDMREP, TRUST, WELL_KNOWN_TRUST, "/ai.txt"]
    assert problems(found) == []


def test_trust_txt_may_stand_in_the_well_known_folder() -> None:
    """If the site has none at its root."""
    found, paths = usages({WELL_KNOWN_TRUST: NO_TRAINING}, "trust-txt")
    assert paths == [TRUST, WELL_KNOWN_TRUST]
    assert found["ai-train"].answer == "no"


def test_an_earlier_trust_txt_that_cannot_be_had_is_not_replaced_by_another() -> None:
    """What it says is unknown, so the other file does not grant anything."""
    yes = page(b"datatrainingallowed=yes\n", 200, TEXT)
    found, paths = usages({TRUST: page(status=503), WELL_KNOWN_TRUST: yes}, "trust-txt")
    assert paths == [TRUST]
    assert found["ai-train"].answer == "unknown"
    assert problems(found) == [("not-had", "trust-txt")]


@pytest.mark.parametrize("source", ["trust-txt", "ai-txt"])
def test_a_page_in_place_of_a_text_file_is_not_read(source: str) -> None:
    """Servers answer unknown paths with pages of their own, and formats share the name."""
    html = page(
        b"User-Agent: *\nDisallow: /\ndatatrainingallowed=no", 200, [("Content-Type", "a/b")]
    )
    found, _ = usages({TRUST: html, "/ai.txt": html}, source)
    assert found["ai-train"].answer == "unknown"
    assert problems(found)[0] == ("wrong-type", source)


# Licences.


def test_a_licence_is_found_by_robots_txt() -> None:
    """The document that its License line names."""

    async def robots(call: Call) -> None:
        line = f"License: {call.site.url(A, '/license.xml')}\n"
        await call.reply(200, line.encode() + b"User-agent: *\nAllow: /\n")

    files = {"/robots.txt": robots, "/license.xml": page(rsl())}
    found, paths = usages(files, "rsl")
    assert paths == ["/license.xml"]
    assert found["ai-train"].answer == "no"
    assert found["search"].answer == "yes"


def test_a_licence_is_found_by_link_and_by_html() -> None:
    """Each place is read, and each document asked for once."""
    html = b'<link rel="license" type="application/rsl+xml" href="%b">'

    async def front(call: Call) -> None:
        one, two = (call.site.url(A, path) for path in ("/one.xml", "/two.xml"))
        link = ("Link", f'<{one}>; rel="license"; type="application/rsl+xml"')
        body = b"".join(html % url.encode() for url in (one, two))
        await call.reply(200, body, [("Content-Type", "text/html"), link])

    permitted = rsl('<permits type="usage">all</permits>')
    found, paths = usages({"/": front, "/one.xml": page(permitted), "/two.xml": page(rsl())}, "rsl")
    assert paths == ["/one.xml", "/two.xml"]
    assert found["ai-train"].answer == "no"
    assert found["ai-train"].conflict


def test_a_licence_on_another_host_is_read_by_the_robots_txt_there() -> None:
    """It is a request like any other: the other host's file is asked first, and allows it."""
    elsewhere = by_path({"/robots.txt": OPEN, "/l.xml": page(rsl())})
    found, paths = usages({"/": linked("/l.xml", address=B)}, "rsl", otherwise=elsewhere)
    assert paths == ["/robots.txt", "/l.xml"]
    assert found["ai-train"].answer == "no"


def test_a_licence_on_another_host_that_disallows_us_is_not_requested() -> None:
    """Then it is unknown, with the reason."""
    closed = by_path({"/robots.txt": rules("Disallow: /"), "/l.xml": page(rsl())})
    found, paths = usages({"/": linked("/l.xml", address=B)}, "rsl", otherwise=closed)
    assert paths == ["/robots.txt"]
    assert found["ai-train"].answer == "unknown"
    assert problems(found) == [("licence-not-had", "rsl"), ("not-had", "rsl")]
    assert "line 2: /" in found["ai-train"].problems[1].text


def test_a_page_cannot_make_the_client_ask_for_many_licences() -> None:
    """No more than a few for all pages of a site together; the others are named as problems."""
    most = signal_files.MAX_LICENCES
    paths = [f"/{number}.xml" for number in range(most + 5)]
    again = {"/again": linked("/further.xml"), "/": linked(*paths)}
    found: dict[Purpose, Usage] = {}

    async def work(client: AsyncClient, server: Site) -> None:
        await client.usage(await client.get(server.url(A)))
        found.update(await client.usage(await client.get(server.url(A, "/again"))))

    asked = ask(again, work, signals=["rsl"])
    assert [path for path in asked if path.endswith(".xml")] == paths[:most]
    assert ("too-large", "rsl") in problems(found)


def test_logins_are_not_sent_to_the_host_of_a_licence() -> None:
    """A page names the host; the headers of the settings are for the page's own."""
    seen: dict[str, bool] = {}

    async def note(call: Call) -> None:
        visit = await call.request()
        seen[call.address] = "authorization" in visit.headers
        await call.reply(200, rsl())

    elsewhere = by_path({"/robots.txt": OPEN, "/l.xml": note})

    async def front(call: Call) -> None:
        urls = (call.site.url(address, "/l.xml") for address in (A, B))
        links = [f'<{url}>; rel="license"; type="application/rsl+xml"' for url in urls]
        await call.reply(200, b"page", [("Link", link) for link in links])

    headers = ("Authorization: Bearer secret",)
    usages({"/": front, "/l.xml": note}, "rsl", otherwise=elsewhere, headers=headers)
    assert seen == {A: True, B: False}


# What cannot be had.


@pytest.mark.parametrize("status", [404, 410])
def test_a_file_that_does_not_exist_says_nothing(status: int) -> None:
    """It is no problem: the site does not use that standard."""
    found, _ = usages({TDMREP: page(status=status), "/ai.txt": page(status=status)}, *ALL)
    assert problems(found) == []
    assert found["tdm"].answer == "unknown"


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_a_file_that_cannot_be_had_is_unknown_and_a_problem(status: int) -> None:
    """Unknown stays unknown, and the problem names the URL and the status."""
    found, _ = usages({TDMREP: page(status=status)}, "tdmrep")
    assert found["tdm"].answer == "unknown"
    [problem] = found["tdm"].problems
    assert (problem.code, problem.standard) == ("not-had", "tdmrep")
    assert problem.text.endswith(f"{TDMREP}: {status}")


def test_a_file_that_is_disallowed_is_not_requested() -> None:
    """robots.txt is respected for these files, too."""
    found, paths = usages({"/robots.txt": rules("Disallow: /.well-known/")}, "tdmrep")
    assert paths == []
    assert problems(found) == [("not-had", "tdmrep")]


def test_a_large_tdmrep_is_not_read() -> None:
    """A part of it could say something else than all of it."""
    rule = b'{"location": "/nowhere", "tdm-reservation": 0}'
    large = b"[" + rule + b"," + b" " * 10_000_000 + rule + b"]"
    found, _ = usages({TDMREP: page(large)}, "tdmrep")
    assert found["tdm"].answer == "unknown"
    assert problems(found) == [("too-large", "tdmrep")]


def test_an_endless_licence_ends_at_the_limit() -> None:
    """The rest is never read."""
    start = b"HTTP/1.1 200 OK\r\n\r\n" + rsl()[:-6]
    files = {"/": linked("/l.xml"), "/l.xml": endless(start, b"<x xmlns='y'/>" * 1000)}
    found, _ = usages(files, "rsl")
    assert found["ai-train"].answer == "unknown"
    assert ("too-large", "rsl") in problems(found)


def test_an_xml_bomb_is_refused() -> None:
    """A document type declaration is not read, so nothing expands."""
    entities = b"".join(b'<!ENTITY e%d "%b">' % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, 10))
    bomb = b'<!DOCTYPE r [<!ENTITY e0 "x">' + entities + b"]>" + rsl("&e9;")
    found, _ = usages({"/": linked("/l.xml"), "/l.xml": page(bomb)}, "rsl")
    assert found["ai-train"].answer == "unknown"
    assert problems(found) == [("not-conformant", "rsl")]


def test_a_slow_file_ends_at_the_timeout_of_a_robots_txt() -> None:
    """However slowly bytes come, the request has an end."""
    drop = endless(b"HTTP/1.1 200 OK\r\n\r\n", b"#", every=0.05)
    changes: dict[str, Any] = {"total_timeout": 1.0, "respect_robots": False}
    found, _ = usages({TRUST: drop}, "trust-txt", **changes)
    assert found["ai-train"].answer == "unknown"
    assert problems(found) == [("not-had", "trust-txt")]
    assert "timeout" in found["ai-train"].problems[0].text


def test_a_redirect_to_a_private_address_is_refused() -> None:
    """Here the server is a proxy, so that public names can be asked for."""

    async def proxy(call: Call) -> None:
        visit = await call.request()
        if visit.path.endswith("tdmrep.json"):
            await to(f"http://127.0.0.1:{call.site.ports[0]}/secret")(call)
        else:
            await OPEN(call)

    async def main() -> None:
        async with Site(proxy) as server:
            changes: dict[str, Any] = {"allow_private": False, "proxy": server.url(path="")}
            async with asking(signals=["tdmrep"], **changes) as client:
                found = await client.usage(await client.get("http://site.example/"))
            assert found["tdm"].answer == "unknown"
            assert "refused address" in found["tdm"].problems[0].text
            assert all("site.example" in visit.path for visit in server.log)

    run(main)


def test_a_redirect_is_followed_as_far_as_robots_txt_allows() -> None:
    """TDMRep allows redirects; each target is judged."""
    found, _ = usages({TDMREP: to("/tdm.json"), "/tdm.json": RESERVED}, "tdmrep")
    assert found["tdm"].answer == "no"
    closed = rules("Disallow: /tdm.json")
    files = {"/robots.txt": closed, TDMREP: to("/tdm.json"), "/tdm.json": RESERVED}
    found, paths = usages(files, "tdmrep")
    assert found["tdm"].answer == "unknown"
    assert "/tdm.json" not in paths


@pytest.mark.parametrize("location", ["http://[", "ftp://a.example/", TDMREP])
def test_a_redirect_that_leads_nowhere_is_a_problem(location: str) -> None:
    """No exception reaches the caller."""
    found, _ = usages({TDMREP: to(location)}, "tdmrep")
    assert problems(found) == [("not-had", "tdmrep")]


def test_a_host_that_is_to_be_asked_later_is_a_problem() -> None:
    """A file on a host with a long delay is not waited for."""
    elsewhere = by_path({"/robots.txt": rules("Crawl-delay: 1000"), "/l.xml": page(rsl())})
    files = {"/": linked("/l.xml", "/m.xml", address=B)}
    found, _ = usages(files, "rsl", otherwise=elsewhere)
    assert problems(found)[-1] == ("not-had", "rsl")


# Cached, and once.


def test_a_file_is_asked_for_once_however_many_ask() -> None:
    """Pages of one site that are read at once share the request."""

    async def slow(call: Call) -> None:
        await call.request()
        await asyncio.sleep(0.1)
        await RESERVED(call)

    async def work(client: AsyncClient, server: Site) -> None:
        pages = [await client.get(server.url(A, "/")) for _ in range(3)]
        found = await asyncio.gather(*map(client.usage, pages))
        assert {usage["tdm"].answer for usage in found} == {"no"}

    assert ask({TDMREP: slow}, work, signals=["tdmrep"]).count(TDMREP) == 1


def test_who_stops_waiting_does_not_stop_the_request_for_others() -> None:
    """A cancelled caller leaves the file to the others."""
    begun, go = asyncio.Event(), asyncio.Event()

    async def waits(call: Call) -> None:
        await call.request()
        begun.set()
        await go.wait()
        await RESERVED(call)

    async def work(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url(A))
        one, two = (asyncio.create_task(client.usage(found)) for _ in range(2))
        await begun.wait()
        one.cancel()
        go.set()
        assert (await two)["tdm"].answer == "no"
        assert one.cancelled()

    assert ask({TDMREP: waits}, work, signals=["tdmrep"]).count(TDMREP) == 1


def test_a_file_stays_fresh_as_long_as_a_robots_txt() -> None:
    """A day by default, then it is asked for again."""
    clock = Clock()

    async def work(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url(A))
        for hours in (0, 23, 2):
            clock.advance(hours * 3600)
            await client.usage(found)

    assert ask({TDMREP: RESERVED}, work, signals=["tdmrep"], clock=clock).count(TDMREP) == 2


@pytest.mark.parametrize(("days", "again"), [("7", 7), ("900", 30), ("0", 1), ("x", 1)])
def test_max_age_of_a_licence_counts_up_to_a_limit(days: str, again: int) -> None:
    """In days, as RSL has it; 30 at most, and a day where it says nothing."""
    clock = Clock()
    document = page(rsl(more=f' max-age="{days}"'))

    async def work(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url(A))
        await client.usage(found)
        clock.advance(again * 86_400 - 60)
        await client.usage(found)
        assert sum(visit.path == "/l.xml" for visit in server.log) == 1
        clock.advance(120)
        await client.usage(found)

    files = {"/": linked("/l.xml"), "/l.xml": document}
    assert ask(files, work, signals=["rsl"], clock=clock).count("/l.xml") == 2


def test_an_earlier_copy_counts_while_a_file_cannot_be_had() -> None:
    """A reservation does not end because a server fails; the problem says so."""
    clock = Clock()

    async def work(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url(A))
        assert (await client.usage(found))["tdm"].answer == "no"
        clock.advance(86_400 + 60)
        usage = (await client.usage(found))["tdm"]
        assert usage.answer == "no"
        assert usage.problems[0].text.endswith("500; an earlier copy counts")
        clock.advance(31 * 86_400)
        assert (await client.usage(found))["tdm"].answer == "unknown"

    files = {TDMREP: in_turn(RESERVED, page(status=500))}
    ask(files, work, signals=["tdmrep"], clock=clock)


def test_memory_is_limited() -> None:
    """The least recently used file gives way."""

    async def work(client: AsyncClient, server: Site) -> None:
        for last in range(1, 7):
            await client.usage(await client.get(server.url(f"127.0.5.{last}")))
        assert client._usages._files is not None
        assert len(client._usages._files._files) == 3

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal_files, "MAX_FILES", 3)
        everywhere = by_path({"/robots.txt": OPEN, "/": page(b"page"), TDMREP: RESERVED})
        ask({}, work, everywhere, signals=["tdmrep"])


# As all other requests.


def test_each_request_is_on_record(tmp_path: Any) -> None:
    """The store has a decision for each of them, before it was sent."""
    place = tmp_path / "manners.db"
    usages({TDMREP: RESERVED, TRUST: NO_TRAINING}, "tdmrep", "trust-txt", evidence=place)
    with EvidenceStore(place) as store:
        urls = [record.url for record in store.records()]
    assert [url.rpartition(":")[2].lstrip("0123456789") for url in urls] == ["/", TDMREP, TRUST]


def test_files_take_nothing_of_the_budget_and_need_no_inclusion() -> None:
    """Like sitemaps: they are no pages."""
    changes: dict[str, Any] = {"budget": Budget(pages=1, minutes=None), "include": ["re:/$"]}
    found, paths = usages({TDMREP: RESERVED}, "tdmrep", **changes)
    assert paths == [TDMREP]
    assert found["tdm"].answer == "no"


def test_a_file_waits_for_its_turn() -> None:
    """A host that asked for a pause is not asked for files during it."""
    busy = page(b"", 503, [("Retry-After", "1000")])
    found, paths = usages({"/": busy, TDMREP: RESERVED}, "tdmrep")
    assert paths == []
    assert problems(found) == [("not-had", "tdmrep")]


def test_a_closed_client_says_so() -> None:
    """Also to those who wait for a file when it is closed."""

    async def work(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url(A))
        task = asyncio.create_task(client.usage(found))
        await until(lambda: any(visit.path == TDMREP for visit in server.log))
        await client.close()
        with pytest.raises(ClientClosed):
            await task

    ask({TDMREP: silence}, work, signals=["tdmrep"])


def test_the_blocking_client_asks_the_same() -> None:
    """By the portal, in the same words."""
    answer = by_path({"/robots.txt": OPEN, "/": page(b"page"), TDMREP: RESERVED})
    with in_thread(Site(answer)) as server, blocking(signals=["tdmrep"]) as client:
        found: Page = client.get(server.url(A))
        assert client.usage(found)["tdm"].answer == "no"
        assert found.usage["tdm"].answer == "unknown"


def test_the_setting_names_its_choices() -> None:
    """A name that there is not is an error with those that there are."""
    assert settings(signals=["tdmrep", "rsl"]).signals == ("tdmrep", "rsl")
    with pytest.raises(ValueError, match="choose from 'tdmrep', 'rsl', 'trust-txt', 'ai-txt'"):
        settings(signals=["llms-txt"])
