"""One polite request: what is sent, where it goes, and what never happens."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest

from manners import AsyncClient, Client, Page, Verdict
from manners.errors import BudgetExceeded, HostDeferred, InvalidURL, SlotTimeout
from manners.politeness.budget import Budget
from manners.settings import SettingsError
from tests.client.asking import (
    OPEN,
    asking,
    blocking,
    in_turn,
    rules,
    run,
    settings,
    silence,
    site,
    slow,
    statuses,
    to,
    until,
)
from tests.faults.server import Call, Handler, Site, by_address, by_path, page

A, B = "127.0.0.1", "127.0.0.2"
CLOSED = rules("Disallow: /closed")


def exchange(
    answer: Handler,
    ask: Callable[[AsyncClient, Site], Awaitable[Any]],
    ports: int = 1,
    **changes: Any,
) -> Site:
    """Let a client ask a server; what the server has seen."""

    async def main() -> Site:
        async with Site(answer, ports=ports) as server:
            async with asking(**changes) as client:
                await ask(client, server)
            assert server.failures == []
        return server

    return run(main)


def paths(server: Site, address: str = "") -> list[str]:
    return [visit.path for visit in server.log if address in ("", visit.address)]


# What may be fetched.


def test_a_closed_path_costs_no_request() -> None:
    """A blocked page is a page; the verdict says why."""

    async def ask(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url(path="/closed/a"))
        assert not found.was_allowed
        assert (found.status, found.body, found.final_url) == (None, b"", found.url)
        assert found.verdict.line_text == "Disallow: /closed"
        assert not (await client.head(server.url(path="/closed/a"))).was_allowed
        async with client.stream(server.url(path="/closed/a")) as stream:
            assert not stream.page.was_allowed
        assert not await client.allowed(server.url(path="/closed/a"))
        assert await client.allowed(server.url(path="/open"))
        assert (await client.check(server.url(path="/closed/a"))).line == 2
        assert (await client.get(server.url(path="/open"))).body == b"hi"

    assert paths(exchange(site(CLOSED), ask)) == ["/robots.txt", "/open"]


@pytest.mark.parametrize("verb", ["get", "head", "stream"])
@pytest.mark.parametrize(
    ("location", "asked", "blocked"),
    [
        ("/closed", [], "/closed"),
        ("/hop", ["/hop"], "/closed"),
        ("http://127.0.0.2:{0}/closed", [], "/closed"),
        ("http://127.0.0.1:{1}/closed", [], "/closed"),
        ("http://127.0.0.2:{1}/hop", ["/hop"], "/closed"),
        ("//127.0.0.2:{0}/closed", [], "/closed"),
        ("/closed?a#b", [], "/closed?a"),
        ("/%63losed", [], "/%63losed"),
        ("HTTP://127.0.0.2:{0}/closed", [], "/closed"),
        ("http://me:secret@127.0.0.2:{0}/closed", [], "/closed"),
    ],
)
def test_no_redirect_leads_to_a_closed_path(
    verb: str, location: str, asked: list[str], blocked: str
) -> None:
    """Every hop has its own verdict, by the robots.txt of its own origin."""

    async def start(call: Call) -> None:
        await to(location.format(*call.site.ports))(call)

    async def ask(client: AsyncClient, server: Site) -> None:
        found = await fetch(client, verb, server.url(A, "/start"))
        assert not found.was_allowed
        assert found.final_url.endswith(blocked)
        assert "secret" not in str(found.to_dict())
        assert statuses(found) == [302] * (1 + len(asked)) + [None]
        assert [hop.verdict.allowed for hop in found.hops] == [True] * (1 + len(asked)) + [False]
        assert all(hop.verdict.url == hop.url for hop in found.hops)

    server = exchange(site(CLOSED, start=start, hop=to("/closed")), ask, ports=2)
    pages = [path for path in paths(server) if path != "/robots.txt"]
    assert pages == ["/start", *asked]


def test_a_path_may_be_closed_on_one_host_and_open_on_another() -> None:
    """What one robots.txt says counts for its origin alone: another port has its own."""

    async def home(call: Call) -> None:
        is_first = call.port == call.site.ports[0]
        away = to(call.site.url(A, "/there", port=1))
        await site(rules("Disallow: /there") if is_first else OPEN, start=away)(call)

    async def ask(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url(A, "/start"))
        assert (found.ok, found.final_url) == (True, server.url(A, "/there", port=1))
        assert not (await client.get(server.url(A, "/there"))).was_allowed

    server = exchange(home, ask, ports=2)
    assert paths(server) == ["/robots.txt", "/start", "/robots.txt", "/there"]


async def fetch(
    client: AsyncClient, verb: str, url: str, headers: Mapping[str, str] | None = None
) -> Page:
    """Get a page in one of three ways."""
    if verb != "stream":
        found: Page = await getattr(client, verb)(url, headers or {})
        return found
    async with client.stream(url, headers or {}) as stream:
        async for _ in stream.chunks():
            pass
        return stream.page


def test_exclusions_win_over_every_rule() -> None:
    """What is excluded is not asked for, nor is its robots.txt; on a redirect, too."""

    async def ask(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url(A, "/private/x"))
        assert (found.was_allowed, str(found.verdict.reason)) == (False, "excluded")
        assert server.log == []
        found = await client.get(server.url(A, "/start"))
        assert (found.was_allowed, str(found.verdict.reason)) == (False, "excluded")
        assert statuses(found) == [302, None]
        assert not await client.allowed(server.url(A, "/private/x"))

    handler = site(rules("Allow: /private"), start=to("http://127.0.0.2:1/private"))
    server = exchange(handler, ask, exclude=("/private",))
    assert paths(server) == ["/robots.txt", "/start"]


def test_a_host_whose_robots_txt_is_not_respected_is_not_asked_for_it() -> None:
    """One host is another's business: where it redirects to is asked again."""
    own = {A: {"respect_robots": False}}

    async def start(call: Call) -> None:
        await to(call.site.url(B, "/closed"))(call)

    async def ask(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url(A, "/closed"))
        assert (found.ok, str(found.verdict.reason)) == (True, "not-respected")
        found = await client.get(server.url(A, "/start"))
        assert not found.was_allowed

    server = exchange(site(CLOSED, start=start), ask, hosts=own)
    assert paths(server, A) == ["/closed", "/start"]
    assert paths(server, B) == ["/robots.txt"]


@pytest.mark.parametrize("robots", [page(status=500), page(status=429), silence])
def test_a_site_that_cannot_be_reached_is_closed(robots: Handler) -> None:
    """By RFC 9309, section 2.3.1.4; and the failure is remembered."""

    async def ask(client: AsyncClient, server: Site) -> None:
        for _ in range(2):
            found = await client.get(server.url(path="/a"))
            assert (found.was_allowed, str(found.verdict.reason)) == (False, "unreachable")

    server = exchange(site(robots), ask, read_timeout=0.2, initial_backoff=0.01)
    assert paths(server) == ["/robots.txt"]


@pytest.mark.parametrize("robots", [page(status=500), page(status=429), silence])
def test_a_site_that_cannot_be_reached_is_open_in_the_open_profile(robots: Handler) -> None:
    """With low confidence, which the verdict tells."""

    async def ask(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url(path="/a"))
        assert (found.ok, str(found.verdict.reason)) == (True, "unreachable")
        assert found.verdict.to_dict()["retrieval"]["confidence"] == "low"

    changes: dict[str, Any] = {"read_timeout": 0.2, "initial_backoff": 0.01, "profile": "open"}
    assert paths(exchange(site(robots), ask, **changes)) == ["/robots.txt", "/a"]


def test_a_site_without_a_robots_txt_is_open() -> None:
    """Not there is an answer."""

    async def ask(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url(path="/a"))
        assert (found.ok, str(found.verdict.reason)) == (True, "unavailable")

    assert paths(exchange(site(page(status=404)), ask)) == ["/robots.txt", "/a"]


def test_a_verdict_that_expired_while_waiting_is_made_again() -> None:
    """What the site said when the line was long does not count when the turn has come."""
    robots = in_turn(OPEN, rules("Disallow: /second"))
    told: list[Verdict] = []

    async def ask(client: AsyncClient, server: Site) -> None:
        first = asyncio.create_task(client.get(server.url(path="/first")))
        await until(lambda: "/first" in paths(server))
        second = await client.get(server.url(path="/second"))
        assert (await first).ok
        assert not second.was_allowed
        assert second.verdict.line_text == "Disallow: /second"
        assert not told[-1].allowed
        assert [each.allowed for each in told if each.path == "/second"] == [True, False]

    server = exchange(
        site(robots, first=slow(1.2)),
        ask,
        concurrency=1,
        fresh_minutes=0.01,
        on_decision=told.append,
    )
    assert paths(server) == ["/robots.txt", "/first", "/robots.txt"]


def test_a_verdict_that_expired_and_still_holds_lets_the_page_through() -> None:
    """The site is asked again, and then the page."""

    async def ask(client: AsyncClient, server: Site) -> None:
        first = asyncio.create_task(client.get(server.url(path="/first")))
        await until(lambda: "/first" in paths(server))
        assert (await client.get(server.url(path="/second"))).ok
        assert (await first).ok

    server = exchange(site(first=slow(1.2)), ask, concurrency=1, fresh_minutes=0.01)
    assert paths(server) == ["/robots.txt", "/first", "/robots.txt", "/second"]


# What is told.


def test_every_decision_is_told_before_the_request() -> None:
    """One verdict for each hop, and none for robots.txt files, which nobody decides about."""
    told: list[tuple[bool, str, int]] = []

    async def main() -> None:
        async with Site(site(CLOSED, start=to("/hop"), hop=to("/closed"))) as server:

            def on_decision(verdict: Verdict) -> None:
                pages = [path for path in paths(server) if path != "/robots.txt"]
                told.append((verdict.allowed, verdict.path, len(pages)))

            async with asking(on_decision=on_decision) as client:
                await client.get(server.url(path="/start"))

    run(main)
    assert told == [(True, "/start", 0), (True, "/hop", 1), (False, "/closed", 2)]


def test_a_listener_that_fails_stops_the_request() -> None:
    """Whoever has to know, and cannot be told, is not passed over; and no slot stays taken."""

    def fail(_: Verdict) -> None:
        raise LookupError("full")

    async def ask(client: AsyncClient, server: Site) -> None:
        for _ in range(3):
            with pytest.raises(LookupError):
                await client.get(server.url(path="/a"))

    assert paths(exchange(site(), ask, on_decision=fail)) == ["/robots.txt"]


# What is sent.


def test_requests_introduce_themselves() -> None:
    """Robots.txt and pages alike, as what the verdict is made for."""

    async def ask(client: AsyncClient, server: Site) -> None:
        await client.get(server.url(path="/a"), {"Accept-Language": "ko", "X-Own": "1"})

    server = exchange(site(), ask, agent="MyBot/1.0 (+https://example.com/bot)")
    sent = [visit.headers for visit in server.log]
    assert {each["user-agent"] for each in sent} == {"MyBot/1.0 (+https://example.com/bot)"}
    assert (sent[1]["accept-language"], sent[1]["x-own"]) == ("ko", "1")
    assert "x-own" not in sent[0]


def test_user_agent_is_what_is_sent_and_agent_what_is_looked_up() -> None:
    """The two may differ."""
    robots = page(b"User-agent: MyBot\nDisallow: /\n\nUser-agent: *\nAllow: /")

    async def ask(client: AsyncClient, server: Site) -> None:
        assert not (await client.get(server.url())).was_allowed

    server = exchange(site(robots), ask, agent="MyBot", user_agent="Other/2")
    assert server.log[0].headers["user-agent"] == "Other/2"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "other.example"},
        {"host": "other.example"},
        {"HOST ": "other.example"},
        {"X-A": "a\r\nHost: other.example"},
        {"X-A": "a\nb"},
        {"X-A": "a\rb"},
        {"X-A": "a\0b"},
        {"X-A\r\nX-B": "a"},
        {"X-A: b\nX-C": "a"},
    ],
)
@pytest.mark.parametrize("verb", ["get", "head", "stream"])
def test_headers_that_would_ask_for_something_else_are_refused(
    headers: dict[str, str], verb: str
) -> None:
    """Nothing is sent, and nothing is reserved."""
    budget = Budget(pages=1)

    async def ask(client: AsyncClient, server: Site) -> None:
        with pytest.raises(ValueError, match="header"):
            await fetch(client, verb, server.url(), headers)

    assert exchange(site(), ask, budget=budget).log == []
    assert budget.pages_used == 0


SECRETS = {"Authorization": "Basic x", "cookie": "a=b", "PROXY-Authorization": "y", "X-Own": "1"}


@pytest.mark.parametrize(
    ("location", "is_kept"),
    [
        ("/there", True),
        ("http://127.0.0.1:{0}/there", True),
        ("http://127.0.0.2:{0}/there", False),
        ("http://127.0.0.1:{1}/there", False),
        ("http://127.0.0.2:{0}/back", False),
    ],
)
def test_secrets_stay_with_the_origin_they_are_for(location: str, is_kept: bool) -> None:
    """Another host, another port: it does not get them, whatever it was redirected from."""

    async def start(call: Call) -> None:
        await to(location.format(*call.site.ports))(call)

    async def back(call: Call) -> None:
        await to(call.site.url(A, "/there"))(call)

    async def ask(client: AsyncClient, server: Site) -> None:
        assert (await client.get(server.url(A, "/start"), SECRETS)).ok

    server = exchange(site(start=start, back=back), ask, ports=2)
    names = ("authorization", "cookie", "proxy-authorization")
    for visit in server.log:
        has = [name in visit.headers for name in names]
        if visit.path == "/start" or (visit.path == "/there" and is_kept):
            assert all(has), visit
        else:
            assert not any(has), visit
        assert ("x-own" in visit.headers) == (visit.path != "/robots.txt")


def test_a_secret_with_a_space_behind_its_name_is_a_secret() -> None:
    """Or it is not sent at all."""

    async def start(call: Call) -> None:
        await to(call.site.url(B, "/there"))(call)

    async def ask(client: AsyncClient, server: Site) -> None:
        with suppress(ValueError):
            await client.get(server.url(A, "/start"), {"Authorization ": "Basic x"})

    server = exchange(site(start=start), ask)
    assert [visit for visit in server.log if "Basic x" in visit.headers.values()][1:] == []


def test_credentials_in_a_url_are_not_sent_and_not_shown() -> None:
    """They are nobody's business, the server's included."""

    async def ask(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url().replace("//", "//me:secret@"))
        assert found.ok
        assert found.final_url == server.url()
        assert "secret" not in str(found.to_dict())
        assert "secret" not in str(found)

    server = exchange(site(), ask)
    assert all("authorization" not in visit.headers for visit in server.log)


SET = page(b"set", headers=[("Set-Cookie", "session=1"), ("Set-Cookie", "more=2; Path=/")])


@pytest.mark.parametrize("cookies", [False, True])
def test_cookies_are_sent_back_only_when_asked_for(cookies: bool) -> None:
    """And never to another host, nor with another client."""
    away = page(status=302, headers=[("Set-Cookie", "session=1"), ("Location", "/a")])

    async def main() -> Site:
        async with Site(site(set=SET, away=away)) as server:
            for _ in range(2):
                async with asking(cookies=cookies) as client:
                    for path in ("/set", "/a", "/away"):
                        await client.get(server.url(A, path))
                    await client.get(server.url(B, "/b"))
        return server

    log = run(main).log
    assert "cookie" not in next(visit for visit in log if visit.path == "/set").headers
    for visit in log:
        if visit.path == "/a":
            assert ("session=1" in visit.headers.get("cookie", "")) == cookies
        if visit.address == B or visit.path == "/set":
            assert "cookie" not in visit.headers


def test_only_get_and_head_are_there() -> None:
    """Anything else is an error that says so, in both clients."""
    with blocking() as client:
        for each in (client, AsyncClient("MyBot")):
            for verb in ("post", "put", "patch", "delete", "options", "request"):
                with pytest.raises(AttributeError, match="get, head and stream only"):
                    getattr(each, verb)
            with pytest.raises(AttributeError, match="'nothing'"):
                _ = each.nothing
            assert not hasattr(each, "post")


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "mailto:a@b", "", "/a", "http://"])
def test_what_is_no_url_is_an_error(url: str) -> None:
    """Nothing is reserved for it."""
    budget = Budget(pages=1)

    async def ask(client: AsyncClient, _: Site) -> None:
        for verb in ("get", "head", "check"):
            with pytest.raises(InvalidURL):
                await getattr(client, verb)(url)
        with pytest.raises(InvalidURL):
            async with client.stream(url):
                pass

    assert exchange(site(), ask, budget=budget).log == []
    assert budget.pages_used == 0


# Where a request may go.


def test_a_private_address_is_refused() -> None:
    """Neither its robots.txt nor its pages are asked for, whatever the profile."""

    async def main() -> None:
        async with Site(site()) as server:
            different: list[dict[str, Any]] = [{}, {"profile": "open"}, {"respect_robots": False}]
            for changes in different:
                async with asking(**{"allow_private": False, **changes}) as client:
                    found = await client.get(server.url())
                    assert found.status is None
                    assert "refused address" in str(found)
            assert server.log == []
            assert server.accepted.total() == 0

    run(main)


@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:{0}/", "http://[::1]:{0}/", "http://0x7f.1:{0}/"]
)
@pytest.mark.parametrize("changes", [{}, {"profile": "open"}, {"respect_robots": False}])
def test_a_redirect_does_not_lead_to_a_private_address(
    location: str, changes: dict[str, Any]
) -> None:
    """Here the server is a proxy, so that public names can be asked for."""

    async def proxy(call: Call) -> None:
        visit = await call.request()
        if visit.path == "http://site.example/start":
            await to(location.format(*call.site.ports))(call)
        else:
            await OPEN(call)

    async def main() -> None:
        async with Site(proxy) as server:
            changed = {"allow_private": False, "proxy": server.url(path=""), **changes}
            async with asking(**changed) as client:
                found = await client.get("http://site.example/start")
                assert statuses(found) == [302, None]
                assert "refused address" in str(found)
            asked = [visit.path for visit in server.log if "site.example" not in visit.path]
            assert asked == []

    run(main)


# How much.


def test_a_budget_is_kept_to_by_many_tasks() -> None:
    """50 tasks, 20 pages: no more than that is ever in the server's log."""
    budget = Budget(pages=20, minutes=None)

    async def ask(client: AsyncClient, server: Site) -> None:
        urls = [server.url(f"127.0.3.{number % 5 + 1}", f"/{number}") for number in range(50)]
        found = await asyncio.gather(*map(client.get, urls), return_exceptions=True)
        assert sum(isinstance(each, Page) for each in found) == 20
        errors = [each for each in found if not isinstance(each, Page)]
        assert all(isinstance(each, BudgetExceeded) for each in errors)
        assert {str(each) for each in errors} == {"page limit reached: 20 pages"}

    server = exchange(site(), ask, budget=budget)
    assert len([path for path in paths(server) if path != "/robots.txt"]) == 20
    assert budget.pages_used == 20


def test_a_page_that_was_blocked_is_given_back() -> None:
    """Directly, by an exclusion, and behind a redirect."""
    budget = Budget(pages=1, minutes=None)

    async def ask(client: AsyncClient, server: Site) -> None:
        for path in ("/closed", "/private", "/start", "/closed"):
            assert not (await client.get(server.url(path=path))).was_allowed
            async with client.stream(server.url(path=path)) as stream:
                assert not stream.page.was_allowed
        assert budget.pages_used == 0
        assert (await client.get(server.url(path="/a"))).ok
        with pytest.raises(BudgetExceeded):
            await client.get(server.url(path="/closed"))

    exchange(site(CLOSED, start=to("/closed")), ask, budget=budget, exclude=("/private",))
    assert budget.pages_used == 1


def test_redirects_and_robots_txt_files_are_no_pages() -> None:
    """A page is what comes at the end."""
    budget = Budget(pages=2, minutes=None)

    async def ask(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url(path="/start"))
        assert statuses(found) == [302, 302, 200]
        assert budget.pages_used == 1
        async with client.stream(server.url(path="/start")) as stream:
            assert stream.page.ok
        assert budget.pages_used == 2
        with pytest.raises(BudgetExceeded):
            async with client.stream(server.url(path="/start")):
                pass

    exchange(site(start=to("/hop"), hop=to("/end")), ask, budget=budget)


@pytest.mark.parametrize(
    "handler", [silence, page(status=404), page(status=500), to("/bad", 301), to("", 301)]
)
def test_a_failed_attempt_is_a_page(handler: Handler) -> None:
    """It has cost the site something, so it counts."""
    budget = Budget(pages=1, minutes=None)

    async def ask(client: AsyncClient, server: Site) -> None:
        assert not (await client.get(server.url(path="/bad"))).ok
        assert budget.pages_used == 1

    exchange(site(bad=handler), ask, budget=budget, page_read_timeout=0.2)


def test_a_page_that_was_not_asked_for_in_the_end_is_given_back() -> None:
    """By whoever stops waiting, or is told to come back later."""
    budget = Budget(pages=5, minutes=None)

    async def ask(client: AsyncClient, server: Site) -> None:
        running = [asyncio.create_task(client.get(server.url(path="/slow"))) for _ in range(2)]
        await until(lambda: paths(server).count("/slow") == 2)
        waiting = asyncio.create_task(client.get(server.url(path="/a")))
        await asyncio.sleep(0.05)
        assert budget.pages_used == 3
        waiting.cancel()
        await asyncio.wait([waiting])
        assert budget.pages_used == 2
        with pytest.raises(SlotTimeout):
            await client.get(server.url(path="/a"))
        assert budget.pages_used == 2
        for task in running:
            task.cancel()
        await asyncio.wait(running)
        assert budget.pages_used == 2  # the site has seen them

    exchange(site(slow=silence), ask, budget=budget, slot_timeout=0.3)


def test_minutes_run_out() -> None:
    """The error says which limit it was."""
    budget = Budget(pages=None, minutes=1.0, minutes_before=1.0)

    async def ask(client: AsyncClient, server: Site) -> None:
        with pytest.raises(BudgetExceeded, match="time limit"):
            await client.get(server.url())

    assert exchange(site(), ask, budget=budget).log == []


def test_limits_of_pages_belong_to_the_budget() -> None:
    """A client that was told a number of pages, and does not keep to it, would be worse."""
    for kind in (AsyncClient, Client):
        with pytest.raises(TypeError, match="budget"):
            kind("MyBot", max_pages=3)


# How fast: what does not need a clock of its own. The rest is seen from the server.


def test_all_slots_in_use_for_too_long_is_an_error() -> None:
    """It says so, in the words of seed 002; and whoever comes later gets in."""

    async def ask(client: AsyncClient, server: Site) -> None:
        running = [asyncio.create_task(client.get(server.url(path="/slow"))) for _ in range(2)]
        await until(lambda: paths(server).count("/slow") == 2)
        with pytest.raises(SlotTimeout, match="Timeout waiting for host concurrency slot"):
            await client.get(server.url(path="/a"))
        assert (await client.get(server.url(B, "/a"))).ok  # no other host is held up
        for task in running:
            task.cancel()
        await asyncio.wait(running)
        assert (await client.get(server.url(path="/a"))).ok

    exchange(site(slow=silence), ask, slot_timeout=0.3)


def test_a_long_crawl_delay_defers_the_host() -> None:
    """The first page comes; for the second the caller is told when to come back, each time."""

    async def ask(client: AsyncClient, server: Site) -> None:
        before = time.time()
        assert (await client.get(server.url(path="/1"))).ok
        after = time.time()
        for verb in ("get", "head"):
            with pytest.raises(HostDeferred) as caught:
                await getattr(client, verb)(server.url(path="/2"))
            assert before + 61 <= caught.value.until <= after + 61
            assert caught.value.host == A
        with pytest.raises(HostDeferred):
            async with client.stream(server.url(path="/2")):
                pass
        assert not (await client.get(server.url(path="/closed"))).was_allowed  # costs nothing
        with pytest.raises(HostDeferred):  # another port is the same host
            await client.get(server.url(path="/3", port=1))
        assert (await client.get(server.url(B, "/1"))).ok

    server = exchange(site(rules("Crawl-delay: 61", "Disallow: /closed")), ask, ports=2)
    assert paths(server, A) == ["/robots.txt", "/1"]


def test_many_who_come_at_once_are_deferred_all_but_one() -> None:
    """Nobody slips through a Crawl-delay that is too long to wait for."""

    async def ask(client: AsyncClient, server: Site) -> None:
        urls = [server.url(path=f"/{number}") for number in range(20)]
        found = await asyncio.gather(*map(client.get, urls), return_exceptions=True)
        assert sum(isinstance(each, Page) for each in found) == 1
        assert sum(isinstance(each, HostDeferred) for each in found) == 19

    assert len(exchange(site(rules("Crawl-delay: 3600")), ask).log) == 2


def test_how_long_is_too_long_is_a_setting() -> None:
    """Crawl-delays are never cut short: they are waited for, or the host is deferred."""

    async def ask(client: AsyncClient, server: Site) -> None:
        assert (await client.get(server.url(path="/1"))).ok
        with pytest.raises(HostDeferred):
            await client.get(server.url(path="/2"))

    server = exchange(site(rules("Crawl-delay: 2")), ask, defer_beyond=1.0)
    assert paths(server) == ["/robots.txt", "/1"]


def test_retry_after_too_long_to_wait_for_defers_the_host() -> None:
    """Those who wait already are told so, too."""
    too_much = page(status=429, headers=[("Retry-After", "3600")])

    async def ask(client: AsyncClient, server: Site) -> None:
        before = time.time()
        urls = [server.url(path="/much") for _ in range(10)]
        found = await asyncio.gather(*map(client.get, urls), return_exceptions=True)
        assert 1 <= sum(isinstance(each, Page) for each in found) <= 2
        deferred = [each for each in found if isinstance(each, HostDeferred)]
        assert len(deferred) >= 8
        assert all(before + 3600 <= each.until <= time.time() + 3600 for each in deferred)

    server = exchange(site(much=too_much), ask, min_delay=0.1, max_delay=0.1)
    assert 2 <= len(server.log) <= 3


def _closed_now() -> str:
    """Two hours of the day, in UTC, that are far from now."""
    hour = time.gmtime().tm_hour
    return f"{(hour + 10) % 24:02}00-{(hour + 12) % 24:02}00"


def test_a_site_that_is_closed_at_this_hour_is_deferred() -> None:
    """Until it opens; what it does not allow at any hour is simply blocked."""

    async def ask(client: AsyncClient, server: Site) -> None:
        with pytest.raises(HostDeferred) as caught:
            await client.get(server.url())
        assert 8 * 3600 <= caught.value.until - time.time() <= 12 * 3600
        assert caught.value.until % 3600 == 0
        assert not (await client.get(server.url(path="/closed"))).was_allowed

    robots = rules(f"Visit-time: {_closed_now()}", "Disallow: /closed")
    assert paths(exchange(site(robots), ask)) == ["/robots.txt"]


def test_a_site_that_is_open_at_this_hour_is_asked() -> None:
    """Its hours are in UTC."""
    hour = time.gmtime().tm_hour

    async def ask(client: AsyncClient, server: Site) -> None:
        assert (await client.get(server.url())).ok

    exchange(site(rules(f"Visit-time: {(hour - 2) % 24:02}00-{(hour + 3) % 24:02}00")), ask)


def test_settings_may_come_as_a_whole_and_one_by_one() -> None:
    """Keywords win."""
    client = AsyncClient(
        "MyBot", settings(page_max_redirects=3, cookies=True), page_max_redirects=4
    )
    assert (client.settings.page_max_redirects, client.settings.cookies) == (4, True)
    assert client.agent == "MyBot"
    with pytest.raises(SettingsError, match="did you mean 'min_delay'"):
        AsyncClient("MyBot", min_deley=1)


def test_robots_txt_requests_use_the_slots_of_the_host() -> None:
    """With one slot, the robots.txt of another port waits for the page of the first."""

    async def ask(client: AsyncClient, server: Site) -> None:
        first = asyncio.create_task(client.get(server.url(path="/slow")))
        await until(lambda: "/slow" in paths(server))
        assert (await client.get(server.url(path="/a", port=1))).ok
        assert (await first).ok

    server = exchange(site(slow=slow(0.3)), ask, ports=2, concurrency=1)
    assert paths(server) == ["/robots.txt", "/slow", "/robots.txt", "/a"]
    for before, after in zip(server.log, server.log[1:], strict=False):
        assert before.left is not None
        assert before.left <= after.at


def test_a_redirect_gives_its_slot_back_before_it_takes_another() -> None:
    """Two hosts that redirect to each other do not wait for each other."""

    async def cross(call: Call) -> None:
        await call.request()
        await call.pause(0.1)
        await to(call.site.url(B if call.address == A else A, "/end"))(call)

    async def ask(client: AsyncClient, server: Site) -> None:
        found = await asyncio.gather(
            *(client.get(server.url(host, "/start")) for host in (A, B) * 5)
        )
        assert [each.status for each in found] == [200] * 10

    exchange(site(start=cross), ask, concurrency=1)
    exchange(by_address({}, by_path({"/start": to("/end")}, page(b"hi"))), ask, concurrency=1)
