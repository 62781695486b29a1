"""Section 2 of what was found by trying: who we say we are. Who decides is who is sent.

For every way in: what the server saw, what decided, and what evidence, report and terminal say. Who
decided is told by the one page that was not asked for: each name has a page that is closed to it.
"""

import asyncio
import logging
import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

import manners
from manners import AsyncClient, Client, RobotsCache, Settings
from manners.cli import main
from manners.errors import Disallowed
from manners.evidence.chain import GENESIS
from manners.evidence.record import Clerk, Record, engine, parse
from manners.evidence.store import EvidenceStore
from manners.identity import HOME_PAGE, default_user_agent, identity
from manners.report.html.page import page as drawn
from manners.report.reader import report_of
from manners.retrieval import profiles
from tests.cli.running import settle
from tests.client.asking import AT_ONCE, run, site
from tests.compat.callers import CALLERS, Caller
from tests.compat.crawling import crawl as scrapy_crawl
from tests.faults.server import Site, in_thread, page

Named = dict[str, Any]
"""What is said about who asks, by setting."""

NAMES = ("manners", "MyBot", "Other", "WebKillerAI", "Everybody")
PATHS = [f"/{name}" for name in NAMES]
ROBOTS = "\n\n".join(
    f"User-agent: {'*' if name == 'Everybody' else name}\nDisallow: /{name}" for name in NAMES
)
HEADER = "MyBot/1.0 (+https://example.com/bot)"
OWN = default_user_agent()


@pytest.fixture
def server() -> Iterator[Site]:
    """A site that closes one page to each name."""
    with in_thread(Site(site(page(ROBOTS.encode())))) as running:
        yield running


@pytest.fixture(autouse=True)
def _a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run in an empty folder, without waiting, and with nothing else in the environment."""
    for name in [*os.environ]:
        if name.startswith("MANNERS_") or name in ("MAX_PAGES", "USER_AGENT"):
            monkeypatch.delenv(name)
    settings = {name.upper(): str(value).lower() for name, value in AT_ONCE.items()}
    settle(monkeypatch, tmp_path, **settings)


def urls(server: Site) -> list[str]:
    return [server.url(path=path) for path in PATHS]


def seen(server: Site) -> tuple[set[str], list[str]]:
    """The headers that the server saw, and the pages that were not asked for."""
    asked = {visit.path for visit in server.log}
    assert "/robots.txt" in asked
    sent = {visit.headers["user-agent"] for visit in server.log}
    return sent, [path for path in PATHS if path not in asked]


# Ways in. Each asks for every page, with what it is given, and keeps evidence in proof.db.

Way = Callable[[Site, Named], object]


def by_client(server: Site, named: Named) -> None:
    with Client(**AT_ONCE, **named, evidence="proof.db") as client:
        for url in urls(server):
            client.get(url)


def by_async_client(server: Site, named: Named) -> None:
    async def main() -> None:
        async with AsyncClient(**AT_ONCE, **named, evidence="proof.db") as client:
            for url in urls(server):
                await client.get(url)

    asyncio.run(main())


def by_settings(server: Site, named: Named) -> None:
    with Client(settings=Settings(**AT_ONCE, **named, store="proof.db")) as client:
        for url in urls(server):
            client.get(url)


def by_crawl(server: Site, named: Named) -> None:
    list(manners.crawl(urls(server), store="proof.db", source="links", **AT_ONCE, **named))


def options(named: Named) -> list[str]:
    return [part for name, text in named.items() for part in (f"--{name.replace('_', '-')}", text)]


def by_get(server: Site, named: Named) -> None:
    main(["get", *urls(server), *options(named), "--store", "proof.db"])


def by_crawl_command(server: Site, named: Named) -> None:
    main(["crawl", *urls(server), "--source", "links", *options(named), "--store", "proof.db"])


def by_discover(server: Site, named: Named) -> None:
    for url in urls(server):
        main(["discover", url, "--source", "links", *options(named), "--store", "proof.db"])


def by_environment(server: Site, named: Named) -> None:
    with pytest.MonkeyPatch.context() as patched:
        for name, text in named.items():
            patched.setenv(f"MANNERS_{name.upper()}", text)
        by_get(server, {})


def by_file(server: Site, named: Named) -> None:
    Path("manners.toml").write_text("".join(f'{name} = "{each}"\n' for name, each in named.items()))
    by_get(server, {})


WAYS: list[Way] = [
    *(by_client, by_async_client, by_settings, by_crawl, by_get, by_crawl_command, by_discover),
    *(by_environment, by_file),
]


IDENTITIES: dict[str, tuple[Named, str, str]] = {
    "nobody": ({}, OWN, "manners"),
    "agent": ({"agent": HEADER}, HEADER, "MyBot"),
    "user_agent": ({"user_agent": HEADER}, HEADER, "MyBot"),
    "both": ({"agent": "MyBot", "user_agent": "Other/2.0"}, "Other/2.0", "MyBot"),
    "token": ({"agent": "MyBot"}, "MyBot", "MyBot"),
    "like scanner": ({"like": "scanner"}, "WebKillerAI", "WebKillerAI"),
}
"""What is said, what is sent then, and who decides."""
CASES = [
    pytest.param(way, *IDENTITIES[who], id=f"{way.__name__}-{who}")
    for way in WAYS
    for who in [*IDENTITIES][: None if way in (by_client, by_get, by_file) else 4]
]


@pytest.mark.parametrize(("way", "named", "sent", "decides"), CASES)
def test_who_decides_is_who_is_sent(
    server: Site, way: Way, named: Named, sent: str, decides: str
) -> None:
    """The server sees one header, the page closed to its token is not asked for, all on record."""
    way(server, named)
    assert seen(server) == ({sent}, [f"/{decides}"])
    with EvidenceStore("proof.db", create=False) as store:
        records = list(store.records())
        assert {record.metadata["userAgent"] for record in records} == {sent}
        agents = {record.metadata["agent"] for record in records}
        assert [manners.product_token(agent) for agent in agents] == [decides]
        assert list(store.verify()) == []


def test_a_site_that_is_closed_to_manners_is_not_fetched(server: Site) -> None:
    """By whoever names nobody: get, crawl, discover, Client() and crawl([url])."""
    url = server.url(path="/manners")
    assert main(["get", url]) == 1
    assert main(["crawl", url, "--store", "crawl.db"]) == 1
    assert main(["discover", url, "--source", "links"]) == 1
    with Client(**AT_ONCE) as client:
        assert not client.get(url).was_allowed
    assert [page.state for page in manners.crawl([url], **AT_ONCE, source="links")] == ["blocked"]
    assert {visit.path for visit in server.log} == {"/robots.txt", "/sitemap.xml"}


# What is said about it.


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({}, OWN),
        ({"agent": HEADER}, HEADER),
        ({"agent": "MyBot", "user_agent": "Other/2.0"}, "Other/2.0 (robots.txt is read for MyBot)"),
        ({"agent": "My Bot"}, "My Bot (robots.txt is read for My)"),
    ],
    ids=["nobody", "agent", "both", "words"],
)
def test_terminal_evidence_and_report_name_the_header(
    server: Site, capsys: pytest.CaptureFixture[str], named: Named, said: str
) -> None:
    """`crawl` says it when it begins, `evidence show` for a record, the report for all of them."""
    by_crawl_command(server, named)
    assert capsys.readouterr().out.splitlines()[0].endswith(f" as {said}")
    sent = identity(**named).user_agent
    main(["evidence", "show", "1", "--store", "proof.db"])
    assert f"  sent as   {sent}\n" in capsys.readouterr().out
    with EvidenceStore("proof.db", create=False) as store:
        report = report_of(store)
    assert report.user_agents == [sent]
    html = drawn(report)
    assert f"<strong><bdi>{sent}</bdi></strong>" in html
    assert ("read for <strong><bdi>MyBot</bdi></strong>" in html) is (len(named) == 2)


def test_several_pages_by_get_end_with_who_asked(
    server: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    """The summary of `get` names the header; so does that of `discover`."""
    by_get(server, {"agent": HEADER})
    assert f"sent as {HEADER}\n" in capsys.readouterr().err
    main(["discover", server.url(path="/Other"), "--source", "links", "--agent", HEADER])
    assert f"sent as {HEADER}\n" in capsys.readouterr().out


def test_two_different_names_are_a_warning(
    server: Site,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once for each client, by the log; in the command, on standard error."""
    log = logging.getLogger("manners.client")  # as in a program: a command sets it up otherwise
    monkeypatch.setattr(log, "handlers", [])
    monkeypatch.setattr(log, "propagate", True)
    with caplog.at_level(logging.WARNING, "manners.client"):
        with Client("MyBot", user_agent="Other/2.0", **AT_ONCE) as client:
            for url in urls(server):
                client.get(url)
        (record,) = caplog.records
        assert "'MyBot'" in record.getMessage()
        assert "'Other/2.0'" in record.getMessage()
        caplog.clear()
        Client("MyBot", user_agent=HEADER, **AT_ONCE).close()
        assert caplog.records == []
    by_get(server, {"agent": "MyBot", "user_agent": "Other/2.0"})
    assert capsys.readouterr().err.count("robots.txt files are read for 'MyBot'") == 1


def test_records_that_were_written_without_the_header_stay_valid() -> None:
    """A clerk that is not told what is sent writes what version 0.1 wrote, and it holds."""
    for sent in (None, 'odd "one"'):
        clerk = Clerk("MyBot", profiles.get("rfc9309"), "rfc9309", engine(), user_agent=sent)
        verdict = Settings(exclude=("/a",)).overrides.check("https://example.com/a")
        assert verdict is not None
        draft = clerk.draft("https://example.com/a", verdict, None, 0.0)
        content, metadata = parse(draft.content, draft.metadata)
        assert metadata.get("userAgent") == sent
        record = Record(1, draft.type, content, metadata, "", GENESIS)
        assert (record.link.content, record.link.metadata) == (draft.content, draft.metadata)


# Questions that fetch nothing for the user are about everybody, and say so.


@pytest.mark.parametrize(
    "ask",
    [
        lambda url, _: manners.check(url, allow_private=True).allowed,
        lambda url, cache: cache.check(url).allowed,
        lambda url, cache: cache.allowed(url),
        lambda url, _: main(["check", url]) == 0,
        lambda url, _: main(["explain", url]) == 0,
    ],
    ids=["manners.check", "RobotsCache.check", "RobotsCache.allowed", "check", "explain"],
)
def test_a_question_without_an_agent_is_about_everybody(
    server: Site, ask: Callable[[str, RobotsCache], bool]
) -> None:
    """They retrieve as manners, and nothing but robots.txt."""
    with RobotsCache(allow_private=True) as cache:
        answers = [ask(url, cache) for url in urls(server)]
    assert [path for path, answer in zip(PATHS, answers, strict=True) if not answer] == [
        "/Everybody"
    ]
    assert {visit.headers["user-agent"] for visit in server.log} == {OWN}
    assert {visit.path for visit in server.log} == {"/robots.txt"}


def test_a_question_about_somebody_else_does_not_send_their_name(server: Site) -> None:
    """`check --agent` decides for that agent; who asks is manners, or who the settings name."""
    assert main(["check", server.url(path="/MyBot"), "--agent", "MyBot"]) == 1
    assert main(["check", server.url(path="/MyBot"), "--agent", "Other"]) == 0
    assert {visit.headers["user-agent"] for visit in server.log} == {OWN}
    server.log.clear()
    Path("manners.toml").write_text(f'agent = "{HEADER}"\n')
    assert main(["check", server.url(path="/MyBot")]) == 1
    assert main(["robots", server.url()]) == 0
    assert {visit.headers["user-agent"] for visit in server.log} == {HEADER}


def test_a_question_without_an_agent_says_whom_it_is_about(
    server: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To people who watch; scripts find on standard error what has gone wrong, and nothing else."""
    main(["check", server.url()])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    main(["check", server.url()])
    assert "checked for the agent *" in capsys.readouterr().err
    main(["check", server.url(), "--agent", "MyBot"])
    assert "asked for" not in capsys.readouterr().err
    main(["explain", server.url()])
    assert "GROUPS for *" in capsys.readouterr().out


# scan.yml, and the names of the audit.


@pytest.mark.parametrize(
    ("scan", "sent", "decides"),
    [
        ("crawler: {robotsUa: MyBot}", "MyBot", "MyBot"),
        ("crawler: {}", "WebKillerAI", "WebKillerAI"),
    ],
)
def test_robots_ua_decides_and_is_sent(server: Site, scan: str, sent: str, decides: str) -> None:
    """Without it, the scanner's name; whatever a manners.toml below it says."""
    Path("scan.yml").write_text(scan)
    Path("manners.toml").write_text('user_agent = "Other/2.0"\n')
    main(["get", *urls(server), "--config", "scan.yml"])
    assert seen(server) == ({sent}, [f"/{decides}"])


@pytest.mark.parametrize("how", ["option", "environment", "file"])
def test_the_names_of_the_audit_are_read_with_like_audit_only(
    server: Site, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """USER_AGENT, MAX_PAGES and MAX_SCAN_TIME_MINUTES of anybody's environment change nothing."""
    monkeypatch.setenv("USER_AGENT", "MyBot/3.0")
    monkeypatch.setenv("MAX_PAGES", "nonsense")
    monkeypatch.setenv("MAX_SCAN_TIME_MINUTES", "7")
    main(["get", *urls(server)])
    assert seen(server) == ({OWN}, ["/manners"])
    assert (Settings.load().max_pages, Settings.load().max_minutes) == (200, 60.0)
    server.log.clear()
    monkeypatch.setenv("MAX_PAGES", "9")
    if how == "environment":
        monkeypatch.setenv("MANNERS_LIKE", "audit")
    elif how == "file":
        Path("manners.toml").write_text('like = "audit"\n')
    like = ["--like", "audit"] if how == "option" else []
    main(["get", *urls(server), *like])
    assert seen(server) == ({"MyBot/3.0"}, ["/MyBot"])
    given = {"like": "audit"} if how == "option" else {}
    loaded = Settings.load(options=given)
    assert (loaded.max_pages, loaded.max_minutes, loaded.dialect) == (9, 7.0, "audit")


# Drop-ins.

every_caller = pytest.mark.parametrize("make", CALLERS, ids=lambda make: make.library)


@every_caller
@pytest.mark.parametrize(
    ("agent", "own", "sent", "decides"),
    [
        (None, None, OWN, "manners"),
        (HEADER, None, HEADER, "MyBot"),
        (None, "Other/2.0", "Other/2.0", "Other"),
        (HEADER, "Other/2.0", "Other/2.0", "MyBot"),
    ],
    ids=["nobody", "agent", "the library's header", "both"],
)
def test_a_drop_in_sends_who_decides(
    make: type[Caller], agent: str | None, own: str | None, sent: str, decides: str
) -> None:
    """The library's own name is not sent; a header that its user sets is, and counts."""

    async def main() -> Site:
        async with (
            Site(site(page(ROBOTS.encode()))) as server,
            make(agent, **AT_ONCE, evidence="proof.db") as caller,
        ):
            for url in urls(server):
                with suppress(Disallowed):
                    await caller.fetch(url, headers={"User-Agent": own} if own else None)
        return server

    server = run(main)
    pages = {visit.headers["user-agent"] for visit in server.log if visit.path != "/robots.txt"}
    assert (pages, seen(server)[1]) == ({sent}, [f"/{decides}"])
    with EvidenceStore("proof.db", create=False) as store:
        records = list(store.records())
    assert {record.metadata["userAgent"] for record in records} == {sent}
    assert {manners.product_token(record.metadata["agent"]) for record in records} == {decides}


def test_scrapy_sends_who_decides() -> None:
    """The agent of MANNERS, ROBOTSTXT_USER_AGENT, USER_AGENT, or a request's own header."""

    crawls: list[tuple[Named, Named]] = [
        ({"agent": HEADER}, {"USER_AGENT": None}),
        ({}, {"USER_AGENT": HEADER}),
        ({}, {"USER_AGENT": "Other/2.0", "ROBOTSTXT_USER_AGENT": "MyBot"}),
    ]

    async def main() -> list[tuple[set[str], list[str]]]:
        async with AsyncExitStack() as stack:
            every = []
            for ours, settings in crawls:
                server = await stack.enter_async_context(Site(site(page(ROBOTS.encode()))))
                crawl = {"manners": {**AT_ONCE, **ours}, "settings": settings}
                every.append((server, {"urls": urls(server), "at_once": False, **crawl}))
            await scrapy_crawl([crawl for _, crawl in every])
            return [seen(server) for server, _ in every]

    assert run(main) == [
        ({HEADER}, ["/MyBot"]),
        ({HEADER}, ["/MyBot"]),
        ({"Other/2.0"}, ["/MyBot"]),
    ]


def test_the_home_page_is_named_once() -> None:
    """The header and the package's own data name the same address."""
    data = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert data["project"]["urls"]["Homepage"] == HOME_PAGE
    assert f"manners/{data['project']['version']} (+{HOME_PAGE})" == OWN
