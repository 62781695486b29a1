"""Playwright with manners, in a real Chromium: what a site sees decides."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from manners import AsyncClient
from manners.evidence.store import EvidenceStore
from tests.chromium import launched, needs_chromium
from tests.client.asking import asking, rules, site, to, until
from tests.compat.maze import NAVIGATIONS, REQUESTS, UNSEEN, maze
from tests.faults.server import Call, Handler, Site, by_address, page
from tests.sizes import seed, size

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext

    from manners.compat.playwright import PoliteBrowser

pytestmark = needs_chromium
pytest.importorskip("playwright.async_api", reason="Playwright is not installed")

HTML = [("Content-Type", "text/html")]
CLOSED = rules("Disallow: /no")


def html(body: str, *headers: tuple[str, str]) -> Handler:
    return page(body.encode(), 200, [*HTML, *headers])


class Walker(NamedTuple):
    """A polite browser, and the site that it is in."""

    site: Site
    context: "BrowserContext"
    browsing: "PoliteBrowser"
    client: AsyncClient

    @property
    def paths(self) -> list[str]:
        """What was asked for, without what every browser asks for."""
        usual = ("/robots.txt", "/favicon.ico")
        return [visit.path for visit in self.site.log if visit.path not in usual]

    def reasons(self) -> dict[str, str]:
        """Why requests were refused, by path."""
        return {
            "/" + known.url.partition("//")[2].partition("/")[2]: known.reason
            for known in self.browsing.refusals
        }


class Stage:
    """One loop and one browser for all tests here: to start one takes seconds."""

    def __init__(self, runner: asyncio.Runner, browser: "Browser") -> None:
        self._runner, self.browser = runner, browser

    def play(self, work: Callable[[], Coroutine[Any, Any, None]], seconds: float = 120.0) -> None:
        """Run some work, which does not hang."""

        async def timed() -> None:
            async with asyncio.timeout(seconds):
                await work()

        self._runner.run(timed())

    @asynccontextmanager
    async def walking(
        self, handler: Handler, *, subresources: Any = "same-host", **settings: Any
    ) -> AsyncIterator[Walker]:
        from manners.compat.playwright import SEALED, polite

        async with Site(handler) as server, asking(**settings) as client:
            context = await self.browser.new_context(**SEALED)
            async with polite(context, client, subresources=subresources) as browsing:
                yield Walker(server, context, browsing, client)
            await context.close()
            assert server.failures == []


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with asyncio.Runner() as runner:
        browsers = launched()
        yield Stage(runner, runner.run(browsers.__aenter__()))
        runner.run(browsers.__aexit__(None, None, None))


def test_a_redirect_and_a_script_lead_nowhere_that_is_disallowed(stage: Stage) -> None:
    """Each hop of a redirect is decided on before it is requested, and what scripts open, too."""

    async def main() -> None:
        from playwright.async_api import Error

        handler = site(
            CLOSED,
            start=to("/hop"),
            hop=to("/no/redirect", 307),
            script=html("<script>location = '/no/script'</script>"),
            fine=to("/page"),
            page=html("<title>Here</title>"),
        )
        async with stage.walking(handler) as walker:
            shown = await walker.context.new_page()
            reply = await shown.goto(walker.site.url(path="/fine"))
            assert reply is not None
            assert (reply.status, await shown.title()) == (200, "Here")
            assert shown.url == walker.site.url(path="/page")
            with pytest.raises(Error, match="ERR_BLOCKED_BY_CLIENT"):
                await shown.goto(walker.site.url(path="/start"))
            with suppress(Error):  # the window is taken away before it has loaded
                await shown.goto(walker.site.url(path="/script"))
            await until(lambda: "/no/script" in walker.reasons())
            assert walker.reasons() == {
                "/no/redirect": "disallowed: rule-matched, line 2: /no",
                "/no/script": "disallowed: rule-matched, line 2: /no",
            }
            assert walker.paths == ["/fine", "/page", "/start", "/hop", "/script"]

    stage.play(main)


@pytest.mark.long
def test_no_walk_reaches_what_is_disallowed(stage: Stage) -> None:
    """In a site that tries everything, the server's log has no request that robots.txt disallows.

    Each trap was set off, as far as a gate can see it.
    """
    start = seed("TEST_WALK_SEED")

    async def main() -> None:
        chance = random.Random(start)
        async with stage.walking(maze(start)) as walker:
            seen: set[str] = set()
            for number in range(size("WALKS")):
                seen |= await walk(walker, number, chance)
            reached = [path for path in walker.paths if "/no/" in path and path[:3] != "/go"]
            assert [path for path in reached if not path.startswith("/refresh/")] == []
            assert {*NAVIGATIONS, *REQUESTS} - UNSEEN <= seen, f"TEST_WALK_SEED={start}"

    stage.play(main, 120.0 + 20.0 * size("WALKS"))


async def walk(walker: Walker, number: int, chance: random.Random) -> set[str]:
    """Open a page, let it take the window away, sometimes use its links before; the traps seen."""
    from playwright.async_api import Error

    def seen() -> set[str]:
        paths = (path for path in walker.reasons() if path.startswith("/no/"))
        return {path.split("/")[2].partition("?")[0] for path in paths}

    walker.browsing.refusals.clear()
    shown = await walker.context.new_page()
    shown.set_default_timeout(2_000)
    with suppress(Error):
        await shown.goto(walker.site.url(path=f"/page/{number}"), wait_until="commit")
        if chance.random() < 0.2:  # the other page takes it away in its own way
            await shown.locator("a[href^='/page/']").nth(chance.randrange(3)).click()
            await shown.go_back()
    with suppress(TimeoutError):  # it may have lost itself in its own popups
        await until(lambda: seen() & {*NAVIGATIONS}, 5.0)
    for opened in walker.context.pages:
        await opened.close()
    return seen()


def test_the_maze_is_dangerous() -> None:
    """A browser without manners falls into its traps, so that the walks above prove something."""

    async def main() -> None:
        async with Site(maze(1)) as server, launched() as browser:  # the other has a gate for ever
            context = await browser.new_context()
            await context.grant_permissions(["local-network-access"])
            shown = await context.new_page()
            await shown.goto(server.url(path="/page/1"))

            def fallen() -> set[str]:
                paths = (visit.path for visit in server.log if visit.path.startswith("/no/"))
                return {path.split("/")[2].partition("?")[0] for path in paths}

            # The window leaves soon, so that not all others get their chance.
            await until(lambda: len(fallen()) > 10 and "late" in fallen())

    asyncio.run(main())


def test_documents_take_turns_and_have_records(stage: Stage, tmp_path: Path) -> None:
    """A page, what it redirects to, and its frames each have a record and wait for the delay."""

    async def main() -> None:
        handler = site(
            start=to("/page"),
            page=html("<iframe src=/frame></iframe><img src=/image>"),
            frame=html("<title>In a frame</title>"),
        )
        with EvidenceStore(tmp_path / "proof.db") as store:
            async with stage.walking(
                handler, evidence=store, min_delay=0.3, max_delay=0.3
            ) as walker:
                shown = await walker.context.new_page()
                await shown.goto(walker.site.url(path="/start"))
                await until(lambda: {"/frame", "/image"} <= set(walker.paths))
                documents = [
                    visit
                    for visit in walker.site.log
                    if visit.path in ("/start", "/page", "/frame")
                ]
            assert [visit.path for visit in documents] == ["/start", "/page", "/frame"]
            gaps = [after.at - before.at for before, after in pairwise(documents)]
            assert min(gaps) > 0.29
            recorded = {record.url.rpartition("/")[2] for record in store.records()}
            assert {"start", "page", "frame", "image"} <= recorded

    stage.play(main)


POLICIES: Mapping[str, set[str]] = {
    "same-host": {"/page", "/own"},
    "all": {"/page", "/own", "/other"},
    "none": {"/page"},
}


@pytest.mark.parametrize("policy", POLICIES)
def test_sub_resources_are_loaded_by_policy(stage: Stage, policy: str) -> None:
    """Those of the same host, all, or none; robots.txt of other hosts is asked, too."""

    async def main() -> None:
        async def shop(call: Call) -> None:
            other = f"http://127.0.0.2:{call.port}"
            body = f"<img src=/own><img src=/no/own><img src={other}/other><img src={other}/no/x>"
            await site(CLOSED, page=html(body))(call)

        handler = by_address({"127.0.0.1": shop, "127.0.0.2": site(CLOSED)})
        async with stage.walking(handler, subresources=policy) as walker:
            shown = await walker.context.new_page()
            await shown.goto(walker.site.url(path="/page"))
            assert set(walker.paths) == POLICIES[policy]
            reasons = walker.reasons()
            assert "/no/own" in reasons
            assert "/no/x" in reasons
            if policy == "same-host":
                assert reasons["/other"] == "another host: subresources='same-host'"

    stage.play(main)


def test_private_addresses_are_refused(stage: Stage) -> None:
    """The guard stands before every request: of a window, and of a page for something else."""

    async def main() -> None:
        from playwright.async_api import Error

        async with stage.walking(site(), allow_private=False) as walker:
            shown = await walker.context.new_page()
            for url in (walker.site.url(), f"http://localhost:{walker.site.ports[0]}/"):
                with pytest.raises(Error, match="ERR_BLOCKED_BY_CLIENT"):
                    await shown.goto(url)
                refusal = walker.browsing.refusal(url)
                assert refusal is not None
                assert "refused address" in refusal.reason
            assert walker.site.log == []

    stage.play(main)


def test_cookies_forms_and_identity_are_the_browsers_and_ours(stage: Stage) -> None:
    """Cookies stay in the browser, a posted form keeps its body; the client says who asks."""

    async def main() -> None:
        bodies: list[bytes] = []

        async def post(call: Call) -> None:
            visit = await call.request()
            if visit.method == "POST":
                length = int(visit.headers["content-length"])
                bodies.append(await call._reader.readexactly(length))
            await call.reply(200, b"<title>Sent</title>", [*HTML])

        form = "<form method=post action=/post><input name=q value=ü><button>Go</button></form>"
        handler = site(
            page=html(form, ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2; HttpOnly")), post=post
        )
        async with stage.walking(handler) as walker:
            shown = await walker.context.new_page()
            await shown.goto(walker.site.url(path="/page"))
            await shown.click("button")
            await shown.wait_for_url("**/post")
            assert await shown.title() == "Sent"
            assert bodies == [b"q=%C3%BC"]
            sent = next(visit for visit in walker.site.log if visit.path == "/post")
            assert sent.headers["cookie"] == "a=1; b=2"
            assert {visit.headers["user-agent"] for visit in walker.site.log} == {"MyBot"}
            assert not any("headless" in str(visit.headers).lower() for visit in walker.site.log)

    stage.play(main)


def test_after_the_block_nothing_is_requested(stage: Stage) -> None:
    """A page that stays open goes nowhere; the next block opens the gate again."""

    async def main() -> None:
        from playwright.async_api import Error

        from manners.compat.playwright import SEALED, polite

        async with Site(site()) as server, asking() as client:
            context = await stage.browser.new_context(**SEALED)
            async with polite(context, client):
                shown = await context.new_page()
                await shown.goto(server.url(path="/a"))
                with pytest.raises(RuntimeError, match="polite already"):
                    await polite(context, client).__aenter__()
            with pytest.raises(Error):
                await shown.goto(server.url(path="/b"))
            async with polite(context, client):
                await shown.goto(server.url(path="/c"))
            paths = [visit.path for visit in server.log]
            assert {"/a", "/c"} <= set(paths)
            assert "/b" not in paths

    stage.play(main)


def test_a_context_with_connections_of_its_own_is_refused(stage: Stage) -> None:
    """What the gate cannot see, such as speculative loading, would go past it."""

    async def main() -> None:
        from manners.compat.playwright import polite

        async with asking() as client:
            context = await stage.browser.new_context()
            with pytest.raises(ValueError, match="SEALED"):
                async with polite(context, client):
                    raise AssertionError("it was let through")

    stage.play(main)


def test_a_page_that_polls_is_stopped(stage: Stage) -> None:
    """A script may not ask for ever, and a host that asks for a pause is asked for nothing else."""

    async def main() -> None:
        polling = html("<script>setInterval(() => fetch('/poll'), 1)</script>")
        busy = "<script>fetch('/busy').then(() => fetch('/next'))</script>"
        handler = site(polls=polling, asks=html(busy), busy=page(b"", 429, [("Retry-After", "30")]))
        async with stage.walking(handler) as walker:
            shown = await walker.context.new_page()
            await shown.goto(walker.site.url(path="/polls"))
            await until(lambda: "at most 500" in walker.reasons().get("/poll", ""), 60.0)
            assert walker.paths.count("/poll") <= 500
            await shown.close()
            shown = await walker.context.new_page()
            await shown.goto(walker.site.url(path="/asks"))
            await until(lambda: "pause" in walker.reasons().get("/next", ""))
            assert "/next" not in walker.paths

    stage.play(main)
