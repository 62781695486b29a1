"""Section 8 of what was found by trying: drop-ins, and the two faces of a client."""

import pickle
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, packages_distributions
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
import requests
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import manners
from manners import errors
from manners.client.blocking import BlockingVisit
from manners.politeness.budget import Budget
from tests.client.asking import AT_ONCE, blocking, rules, run, site
from tests.client.test_streams import trickle
from tests.compat.callers import CALLERS, Aiohttp, AsyncHttpx, Caller, Httpx, Requests
from tests.faults.server import Site, in_thread, page

ROOT = Path(__file__).parents[2]
KINDS: dict[type[Caller], type[Exception]] = {
    Httpx: httpx.RequestError,
    AsyncHttpx: httpx.RequestError,
    Requests: requests.RequestException,
    Aiohttp: aiohttp.ClientError,
}
"""What a program catches that uses the library."""
RETRIED = (
    *(httpx.TransportError, httpx.HTTPStatusError, httpx.InvalidURL),
    *(requests.ConnectionError, requests.Timeout, requests.HTTPError),
    *(aiohttp.ClientConnectionError, aiohttp.ClientResponseError, aiohttp.ClientPayloadError),
)
"""What programs, and the libraries themselves, try again."""

every_caller = pytest.mark.parametrize("make", CALLERS, ids=lambda make: make.library)


# `except requests.RequestException` / `httpx.HTTPError` catches a disallowed URL.


@every_caller
def test_a_disallowed_url_is_an_error_of_the_library_and_of_ours(make: type[Caller]) -> None:
    """Whoever catches what the library raises catches it, with verdict and request."""

    async def main() -> Exception:
        async with Site(site(rules("Disallow: /closed"))) as server, make("Me", **AT_ONCE) as own:
            with pytest.raises(KINDS[make]) as found:
                await own.fetch(server.url(path="/closed"))
            assert [visit.path for visit in server.log] == ["/robots.txt"]
        return found.value

    error: Any = run(main)
    assert isinstance(error, manners.Disallowed)
    assert not isinstance(error, RETRIED)
    assert error.verdict.line_text == "Disallow: /closed"
    assert str(error).endswith("/closed': disallowed: rule-matched, line 2: /closed")
    request: Any = getattr(error, "request", None)
    if make is not Aiohttp:  # whose errors have none
        assert str(request.url).endswith("/closed")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.verdict) == (str(error), error.verdict)


@every_caller
def test_whatever_stops_a_request_is_an_error_of_the_library(make: type[Caller]) -> None:
    """Deferred hosts, slots in use, budgets, invalid URLs, closed clients: one rule for all."""

    async def main() -> None:
        given: dict[str, Any] = {**AT_ONCE, "concurrency": 1, "slot_timeout": 0.05}
        busy = page(b"", 503, [("Retry-After", "3600")])
        async with Site(site(busy=busy, page=trickle)) as server:
            budget = Budget(pages=3, minutes=None)
            async with make("Me", budget=budget, **given) as own:
                opened = await own.open(server.url(path="/page"))
                await stopped(own, errors.SlotTimeout, server.url())
                await opened.close()
                await own.fetch(server.url(path="/busy"))
                await stopped(own, errors.HostDeferred, server.url(path="/next"))
                await own.fetch(server.url("127.0.0.2"))
                await stopped(own, errors.BudgetExceeded, server.url("127.0.0.2"))
                await stopped(own, errors.InvalidURL, "http://a_b..example/")
            async with make("Me", **given) as own:
                closing = own.client.close()
                if closing is not None:
                    await closing
                await stopped(own, errors.ClientClosed, server.url())

    async def stopped(own: Caller, ours: type[Exception], url: str) -> None:
        with pytest.raises(KINDS[make]) as found:
            await own.fetch(url)
        if ours is errors.InvalidURL and not isinstance(found.value, ours):
            return  # the library has refused it before we were asked
        assert isinstance(found.value, ours)
        assert type(pickle.loads(pickle.dumps(found.value))) is type(found.value)

    run(main)


@pytest.mark.parametrize(("library", "kind"), [
    ("requests", requests.RequestException),
    ("httpx", httpx.HTTPError),
    ("aiohttp", aiohttp.ClientError),
])  # fmt: skip
def test_a_drop_in_names_its_own_disallowed(library: str, kind: type[Exception]) -> None:
    """For programs that would rather import it from there."""
    from importlib import import_module

    found = import_module(f"manners.compat.{library}").Disallowed
    assert issubclass(found, errors.Disallowed)
    assert issubclass(found, kind)
    verdict = manners.parse("User-agent: *\nDisallow: /").check("https://example.com/", agent="Me")
    assert found(verdict).verdict is verdict


def test_every_error_of_ours_can_be_one_of_each_library() -> None:
    """With its own words, its own values, and what the library expects of its errors."""
    made = [
        errors.InvalidURL("x:", "not an http or https URL"),
        errors.StoreError("proof.db", "locked"),
        errors.PolitenessError("valkey://h", "Connection refused"),
        errors.SlotTimeout("h"),
        errors.HostDeferred("h", 5.0),
        errors.BudgetExceeded("page", "200 pages"),
        errors.ClientClosed(),
        errors.SlotLost("https://example.com/"),
    ]
    for error in made:
        for kind in (requests.RequestException, httpx.RequestError, aiohttp.ClientError):
            with pytest.raises(kind) as found, errors.RaisedAs(kind):
                raise error
            assert isinstance(found.value, type(error))
            assert (str(found.value), found.value.args) == (str(error), error.args)
            assert error.__dict__.items() <= found.value.__dict__.items()
            assert str(pickle.loads(pickle.dumps(found.value))) == str(error)


# `Client` does what `AsyncClient` does: tests/client/test_signatures.py has the parameters.


def test_a_blocking_client_does_with_them_what_the_other_does() -> None:
    """Inclusions that do not count, a limit of a stream, a visit without a slot, a shut gate."""
    with in_thread(Site(site(page=page(b"x" * 1000)))) as server:
        budget = Budget(pages=3, minutes=None)
        given: dict[str, Any] = {"include": ("/in/",), "concurrency": 1, "budget": budget}
        with blocking(draw=lambda: 0.5, **given) as client:
            url = server.url(path="/page")
            assert not client.get(url).was_allowed
            assert client.get(url, must_include=False).status == 200
            with client.stream(url, max_bytes=100, is_page=False) as stream:
                assert len(b"".join(stream.chunks())) == 100
                assert not stream.complete
            assert budget.pages_used == 1
            visit = client.visit(server.url(path="/in/"), slot=False)
            assert isinstance(visit, BlockingVisit)
            assert (visit.name, visit.delay) == ("127.0.0.1", 0.0)
            assert client.pace_of("127.0.0.1")[0] == pytest.approx(0.0)
            client.shut()
            with pytest.raises(errors.ClientClosed):
                client.visit(server.url(path="/in/"))


# A drop-in brings the client, not the command or the store.

EXTRAS = {
    "aiohttp": {"aiohttp", "msgspec"},
    "httpx": {"aiohttp", "msgspec", "httpx"},
    "requests": {"aiohttp", "msgspec", "requests"},
    "scrapy": {"aiohttp", "msgspec", "scrapy"},
}
ABSENT = ("sqlalchemy", "alembic", "typer", "rich", "selectolax", "yaml", "re2", "redis", "psycopg")
"""Modules of the command, the store and what else a drop-in needs only when told to."""


def named_by(extra: str) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found: set[str] = set()
    for line in project["optional-dependencies"][extra]:
        each = Requirement(line)
        found |= set().union(*map(named_by, each.extras)) if each.name == "manners" else {each.name}
    return found


def needed_by(name: str, seen: set[str]) -> set[str]:
    """All that a distribution brings, itself included."""
    if name not in seen:
        seen.add(name)
        for line in distribution(name).requires or ():
            each = Requirement(line)
            if each.marker is None or each.marker.evaluate({"extra": ""}):
                needed_by(each.name.lower(), seen)
    return seen


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_extra_of_a_drop_in_installs_no_command_and_no_store(extra: str) -> None:
    """Nor does anything that it needs in turn."""
    assert named_by(extra) == EXTRAS[extra]
    brought: set[str] = set()
    for name in EXTRAS[extra]:
        needed_by(name, brought)
    assert brought.isdisjoint({*ABSENT, "pyyaml", "google-re2", "pygments", "click", "greenlet"})


ABSENT_HERE = """
import sys
site, *absent = sys.argv[1:]
for name in absent:
    sys.modules[name] = None
import manners
given = {"allow_private": True, "min_delay": 0.0, "max_delay": 0.0}
found = []
"""

USES = {
    "aiohttp": """
import aiohttp, asyncio
from manners.compat.aiohttp import PoliteMiddleware as Polite

async def main():
    async with Polite("Me", **given) as polite, aiohttp.ClientSession(middlewares=[polite]) as http:
        found.append((await http.get(site)).status)
        try:
            await http.get(site + "closed")
        except aiohttp.ClientError as error:
            found.append(error.verdict.line)
asyncio.run(main())
""",
    "httpx": """
import asyncio, httpx
from manners.compat.httpx import AsyncPoliteTransport, PoliteTransport as Polite

async def main():
    async with httpx.AsyncClient(transport=AsyncPoliteTransport("Me", **given)) as http:
        found.append((await http.get(site)).status_code)
asyncio.run(main())
with httpx.Client(transport=Polite("Me", **given)) as http:
    try:
        http.get(site + "closed")
    except httpx.HTTPError as error:
        found.append(error.verdict.line)
""",
    "requests": """
import requests
from manners.compat.requests import PoliteAdapter as Polite
with requests.Session() as http:
    http.mount("http://", Polite("Me", **given))
    found.append(http.get(site).status_code)
    try:
        http.get(site + "closed")
    except requests.RequestException as error:
        found.append(error.verdict.line)
""",
    "scrapy": """
import scrapy
from scrapy.crawler import CrawlerProcess
from manners.client.blocking import Client as Polite

class One(scrapy.Spider):
    name = "one"
    start_urls = [site]

    def parse(self, response):
        found.append(response.status)
        yield scrapy.Request(site + "closed", errback=self.ignored)

    def ignored(self, failure):
        found.append(failure.value.verdict.line)

process = CrawlerProcess({
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
        "manners.compat.scrapy.MannersMiddleware": 100,
    },
    "MANNERS": given, "LOG_LEVEL": "CRITICAL", "TELNETCONSOLE_ENABLED": False,
    "USER_AGENT": "Me",
})
process.crawl(One)
process.start()
""",
}

EVIDENCE = """
try:
    Polite("Me", evidence="proof.db")
except manners.MissingExtra as error:
    found.append(str(error))
print(found)
"""


def not_brought(extra: str) -> list[str]:
    """Every module here that an environment with one extra, and nothing else, would not have."""
    brought = {"manners"}
    for name in ("idna", *EXTRAS[extra]):
        needed_by(name, brought)
    brought = {canonicalize_name(name) for name in brought}
    return [
        module
        for module, owners in packages_distributions().items()
        if brought.isdisjoint(map(canonicalize_name, owners)) and module.isidentifier()
    ]


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_drop_in_needs_what_its_extra_installs_and_no_more(extra: str, tmp_path: Path) -> None:
    """It fetches where every other library is absent; evidence says what to install."""
    absent = not_brought(extra)
    assert {"sqlalchemy", "typer", "pytest"} <= set(absent)
    script = ABSENT_HERE + USES[extra] + EVIDENCE
    with in_thread(Site(site(rules("Disallow: /closed")))) as server:
        ran = subprocess.run(
            [sys.executable, "-c", script, server.url(), *absent],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=tmp_path,
        )
    assert ran.returncode == 0, ran.stderr
    missing = "'crawl' needs 'sqlalchemy': pip install 'manners[crawl]'"
    assert ran.stdout.strip() == str([200, 2, missing])
