"""Who is let in: names, tokens, and browsers that other sites have sent."""

import base64

import pytest

from tests.client.asking import run
from tests.faults.server import Call, Site, by_path, page
from tests.web.service import TOKEN, Asker, service

CHECK = {"urls": ["https://a.example/"], "robots": ""}


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:9309", "127.0.0.1.evil.example", "localhost.evil.example", ""],
)
def test_a_name_that_was_bound_to_this_machine_gets_nothing(host: str) -> None:
    """Another name in the Host header is refused, whatever is asked for."""

    async def ask() -> None:
        async with service() as asker:
            for path in ("/healthz", "/v1/openapi.json", "/nothing"):
                answer = await asker.get(path, {"Host": host})
                assert answer.status in (400, 421), path
                assert b"openapi" not in answer.body

    run(ask)


def test_own_names_are_answered() -> None:
    """localhost, any address, and the names that were given."""

    async def ask() -> None:
        async with service(names=("crawl.example",)) as asker:
            for host in ("localhost", "localhost:1", "127.0.0.1", "[::1]:80", "crawl.example"):
                assert (await asker.get("/healthz", {"Host": host})).status == 200, host

    run(ask)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
        {"Sec-Fetch-Site": "anything"},
    ],
)
def test_other_sites_cannot_make_a_browser_use_it(headers: dict[str, str]) -> None:
    """The API answers no request that another site has caused, and asks nobody for it."""

    async def ask() -> None:
        async with Site(by_path({"/robots.txt": page()})) as site, service() as asker:
            assert (await asker.post("/v1/check", CHECK, headers)).status == 403
            answer = await asker.get("/v1/robots", headers, url=site.url())
            assert answer.status == 403
            assert answer.json["advice"]
            assert site.log == []

    run(ask)


def test_own_pages_may_use_it() -> None:
    """Its own origin, also behind a proxy that adds TLS."""

    async def ask() -> None:
        async with service(names=("crawl.example",)) as asker:
            own = asker.address.rstrip("/")
            assert (await asker.post("/v1/check", CHECK, {"Origin": own})).status == 200
            proxied = {"Host": "crawl.example", "Origin": "https://crawl.example"}
            assert (await asker.post("/v1/check", CHECK, proxied)).status == 200
            same = {"Sec-Fetch-Site": "same-origin"}
            assert (await asker.post("/v1/check", CHECK, same)).status == 200

    run(ask)


def test_a_form_of_another_site_cannot_be_a_request() -> None:
    """What a form can send without asking first is no JSON, so it is refused."""

    async def ask() -> None:
        async with service() as asker:
            for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
                body = {"data": b'{"urls": ["https://a.example/"], "robots": ""}'}
                answer = await asker.ask("POST", "/v1/check", {"Content-Type": kind}, **body)
                assert answer.status == 415

    run(ask)


def test_without_the_token_there_is_nothing() -> None:
    """Every way to leave it out or to get it wrong is refused; only health needs none."""

    def basic(password: str) -> str:
        return "Basic " + base64.b64encode(f"me:{password}".encode()).decode()

    wrong = ["", "Bearer", "Bearer x", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", TOKEN, "Basic !"]
    wrong += [basic(""), basic("x"), "Bearer \udcff", f"Digest {TOKEN}"]

    async def ask() -> None:
        async with service(token=TOKEN) as asker:
            for given in wrong:
                for path in ("/", "/metrics", "/v1/openapi.json", "/v1/check"):
                    answer = await asker.get(path, {"Authorization": given} if given else {})
                    assert answer.status == 401, (given, path)
                    assert answer.headers["WWW-Authenticate"].startswith("Basic ")
            for given in (f"Bearer {TOKEN}", f"bearer {TOKEN}", basic(TOKEN)):
                answer = await asker.get("/v1/openapi.json", {"Authorization": given})
                assert answer.status == 200
            assert (await asker.get("/healthz")).status == 200

    run(ask)


def test_browsers_do_no_more_with_a_reply_than_show_it() -> None:
    """No inline script, no frame, no guessing of types, nothing kept, no referrer."""

    async def pages(asker: Asker) -> None:
        answer = await asker.get("/nothing", {"Accept": "text/html"})
        policy = answer.headers["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["Referrer-Policy"] == "same-origin"
        for path in ("/nothing", "/v1/openapi.json", "/healthz", "/metrics"):
            answer = await asker.get(path)
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cache-Control"] == "no-store"
            assert "Access-Control-Allow-Origin" not in answer.headers

    async def ask() -> None:
        async with service() as asker:
            await pages(asker)

    run(ask)


def test_nothing_that_was_sent_becomes_markup() -> None:
    """An error page shows a hostile name as text."""

    async def ask() -> None:
        async with service() as asker:
            headers = {"Accept": "text/html", "Host": "<script>alert(1)</script>"}
            answer = await asker.get("/", headers)
            assert b"<script>" not in answer.body

    run(ask)


def test_private_addresses_are_not_asked() -> None:
    """However an address of this machine is written, nobody asks it."""

    async def ask() -> None:
        async with Site(by_path({"/robots.txt": page(b"secret")})) as site:
            async with service(allow_private=False) as asker:
                port = site.ports[0]
                for host in ("127.0.0.1", "localhost", "127.1", "2130706433", "[::1]", "0.0.0.0"):
                    url = f"http://{host}:{port}/"
                    for path in ("/v1/robots", "/v1/check", "/v1/usage"):
                        answer = await asker.get(path, url=url)
                        assert b"secret" not in answer.body
                    reserved = await asker.post("/v1/reserve", {"url": url})
                    assert reserved.json["state"] == "disallowed"
            assert site.log == []

    run(ask)


def test_a_request_that_takes_too_long_ends() -> None:
    """With a problem, and others are answered; what it waited for is given up."""

    async def ask() -> None:
        async def never(call: Call) -> None:
            await call.pause()

        async with Site(never) as site, service(request_seconds=0.2) as asker:
            answer = await asker.get("/v1/robots", url=site.url())
            assert (answer.status, "took too long" in answer.json["detail"]) == (503, True)
            assert (await asker.get("/healthz")).status == 200
            assert await site.emptied()

    run(ask)


def test_files_of_pages_are_kept_by_browsers() -> None:
    """At the address of now for ever; at an old one not at all."""

    async def ask() -> None:
        from manners.web.assets import address

        async with service() as asker:
            answer = await asker.get(address("style.css"))
            assert "immutable" in answer.headers["Cache-Control"]
            assert b"--paper" in answer.body
            assert b".site" in answer.body
            old = await asker.get("/static/0/style.css")
            assert old.headers["Cache-Control"] == "no-cache"
            for name in ("/static/0/nothing", "/static/0/../service.py", "/static/0/%2e%2e/x.py"):
                assert (await asker.get(name)).status == 404

    run(ask)
