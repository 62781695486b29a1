"""Section 10 of what was found by trying: a secret in an address is shown nowhere."""

import asyncio
import logging
from pathlib import Path

import pytest

from manners import AsyncClient, Settings
from manners._secrets import without_secrets
from manners.cache.backends import open_backend as open_cache
from manners.cli import main
from manners.errors import MannersError, StoreError
from manners.evidence.store import EvidenceStore
from manners.politeness.backends import open_backend as open_politeness
from tests.cli.running import AT_ONCE, runner, settle
from tests.client.asking import site
from tests.contracts.postgres import Postgres
from tests.faults.server import Site, in_thread

SECRET = "sesame"
POSTGRES = [
    "postgresql://me:sesame@127.0.0.1:1/db",
    "postgresql://127.0.0.1:1/db?password=sesame",
    "postgresql://127.0.0.1:1/db?sslmode=require&sslpassword=sesame&connect_timeout=1",
    "postgresql://me:sesame@127.0.0.1:1/db?password=sesame",
    "postgresql://127.0.0.1:1/db?p%61ssword=sesame",
    "postgresql://127.0.0.1:1/db?nosuch=sesame",
    "postgresql://me:se/sesame@127.0.0.1:1/db",
    "postgresql://me:se@sesame@127.0.0.1:1/db",
]
VALKEY = [
    "valkey://:sesame@127.0.0.1:1/0",
    "valkey://127.0.0.1:1/0?password=sesame",
    "valkeys://me:sesame@127.0.0.1:1/0?ssl_password=sesame",
    "redis://127.0.0.1:1/0?token=sesame",
]
PROXIES = ["http://me:sesame@127.0.0.1:1/", "http://sesame@127.0.0.1:1/"]
LIBPQ = [
    "host=127.0.0.1 port=1 password=sesame dbname=db",
    "dbname=db password='open sesame'",
    "password = sesame host = 127.0.0.1",
    "host=127.0.0.1 sslpassword=sesame",
    "user=me password=open sesame",
]
MISTYPED = [
    "postgresql:me:sesame@127.0.0.1:1/db",
    "postgresql:/me:sesame@127.0.0.1:1/db",
    "valkey:127.0.0.1?password=sesame",
    "valkey://127.0.0.1:sesame",
    "redis://127.0.0.1:sesame/0",
    "postgresql://127.0.0.1:5432,me:sesame/db",
    "me:sesame@127.0.0.1:1",
]


@pytest.fixture(autouse=True)
def _a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch, tmp_path, **AT_ONCE)


@pytest.mark.parametrize("place", [*POSTGRES, *VALKEY, *PROXIES, *LIBPQ, *MISTYPED])
def test_one_function_knows_every_place_a_secret_can_stand(place: str) -> None:
    """What is left is of use still: host, database and harmless parameters."""
    shown = without_secrets(place)
    assert SECRET not in shown
    assert "***" in shown
    assert ("127.0.0.1" in place) == ("127.0.0.1" in shown)
    assert ("sslmode=require" in place) == ("sslmode=require" in shown)
    assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    "place",
    [
        "manners.db",
        "a=b.db",
        "sqlite:///a b.db",
        "/x/host=1/y@z.db",
        "postgresql://me@h/db",
        "C:\\x@y.db",
        "C:/x@y.db",
        "run:1.db",
        "valkey://[::1]:6379/0",
        "valkey://h:6379/0",
        "postgresql://h:5432,i:5433/db",
        "postgresql:///db?host=/run/x:y",
        "redis.db",
        "https.db",
    ],
)
def test_what_has_no_secret_is_shown_as_it_is(place: str) -> None:
    """Names of files and of users are none."""
    assert without_secrets(place) == place


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize(
    ("name", "place"),
    [
        *(("STORE", place) for place in [*POSTGRES, *LIBPQ]),
        *((name, place) for name in ("CACHE", "POLITENESS") for place in VALKEY),
        *(("PROXY", place) for place in PROXIES),
    ],
)
def test_settings_show_no_secret(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    place: str,
    form: list[str],
) -> None:
    """`manners settings`, in text and in JSON; nor does the repr of settings."""
    monkeypatch.setenv(f"MANNERS_{name}", place)
    ran = runner(capsys, "settings")(*form)
    assert ran.code == 0
    assert SECRET not in ran.out + ran.err + repr(Settings.load())
    if form:
        values = {each["name"]: each["value"] for each in ran.objects}
        assert values[name.lower()] == without_secrets(place)
    else:
        assert without_secrets(place) in ran.out


@pytest.mark.parametrize(
    "command",
    [
        ["crawl", "http://127.0.0.1:1/", "--store"],
        ["crawl", "resume", "--store"],
        ["crawl", "status", "--store"],
        ["get", "http://127.0.0.1:1/", "--store"],
        ["discover", "http://127.0.0.1:1/", "--store"],
        ["evidence", "verify", "--store"],
        ["report"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("place", [POSTGRES[0], POSTGRES[1], POSTGRES[6], *LIBPQ[:3]])
def test_no_command_shows_a_secret_of_its_store(
    capsys: pytest.CaptureFixture[str], command: list[str], place: str
) -> None:
    """What cannot be opened is one line, with the place and without the secret."""
    ran = runner(capsys, *command)(place)
    assert ran.code in (2, 3)
    assert SECRET not in ran.out + ran.err
    assert "Traceback" not in ran.err
    assert not list(Path().iterdir())


@pytest.mark.parametrize("place", LIBPQ)
def test_a_libpq_string_is_not_taken_for_a_file(place: str) -> None:
    """It is an error that says so and what to write, for evidence and for the cache."""
    for opened in (EvidenceStore, open_cache):
        with pytest.raises(StoreError, match="postgresql://user@host") as caught:
            opened(place)
        assert "libpq connection string" in str(caught.value)
        assert SECRET not in str(caught.value) + repr(caught.value) + caught.value.place
    assert not list(Path().iterdir())


@pytest.mark.parametrize("place", [*VALKEY, *LIBPQ])
def test_no_command_shows_a_secret_of_its_cache(
    capsys: pytest.CaptureFixture[str], place: str
) -> None:
    """`manners cache` says what is wrong about the place, and takes no libpq string for a file."""
    ran = runner(capsys, "cache", "list", "--cache")(place)
    assert ran.code == 2
    assert SECRET not in ran.out + ran.err
    assert ("libpq connection string" in ran.err) == (place in LIBPQ)


@pytest.mark.parametrize("place", [*VALKEY, *LIBPQ])
def test_errors_about_servers_show_no_secret(place: str) -> None:
    """Neither do those about what is no server."""
    for opened in (open_cache, open_politeness):
        try:
            backend = opened(place)
        except MannersError as error:
            said = str(error) + repr(error)
        else:
            said = str(getattr(backend, "place", ""))
        assert SECRET not in said


def test_logs_show_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    """A cache that does not answer is named without it."""

    async def ask() -> None:
        async with AsyncClient("MyBot", cache=VALKEY[1], allow_private=True) as client:
            await client.check("http://127.0.0.1:1/")

    with caplog.at_level(logging.DEBUG):
        asyncio.run(ask())
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "valkey://127.0.0.1:1/0" in said
    assert SECRET not in said


def test_crawl_and_status_suggest_commands_without_the_secret(
    capsys: pytest.CaptureFixture[str], postgres: Postgres
) -> None:
    """In a real database, whose password stands in a parameter: kept in …, go on with …"""
    database = postgres.database()
    place = f"{database}{'&' if '?' in database else '?'}password=sesame"
    with in_thread(Site(site())) as server:
        ran = runner(capsys, "crawl")(server.url(), "--max-pages", "1", "--store", place)
    status = runner(capsys, "crawl", "status", "--store")(place)
    assert (ran.code, status.code) == (0, 0)
    for said in (ran.out + ran.err, status.out + status.err):
        assert SECRET not in said
        assert "password=***" in said
    assert main(["report", place, "-o", "report.html"]) == 0
    assert SECRET not in Path("report.html").read_text("utf-8")


def test_what_a_crawl_keeps_has_no_secret() -> None:
    """The address by which politeness is shared is kept to go on with, without its password."""
    for place in VALKEY:
        kept = Settings(politeness=place).changed()["politeness"]
        assert SECRET not in kept
        assert kept.partition("//")[2] == "127.0.0.1:1/0"
