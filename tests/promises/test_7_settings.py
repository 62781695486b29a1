"""Section 7 of what was found by trying, as far as it is about settings."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import manners
from manners import AsyncClient, Client, Settings
from manners.cli import main
from manners.compat.requests import PoliteAdapter
from manners.settings import HostSettings, SettingsError, load
from tests.cli.running import AT_ONCE, runner, settle
from tests.client.asking import rules, site
from tests.faults.server import Site, in_thread

URL = "http://127.0.0.1:1/"


@pytest.fixture(autouse=True)
def _a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch, tmp_path, **AT_ONCE)


@pytest.mark.parametrize(
    "make",
    [
        Settings,
        lambda **given: Settings().but(**given),
        Client,
        AsyncClient,
        lambda **given: manners.crawl([URL], **given),
        PoliteAdapter,
    ],
    ids=["Settings", "but", "Client", "AsyncClient", "crawl", "PoliteAdapter"],
)
def test_an_unknown_keyword_names_the_nearest_setting(make: Callable[..., Any]) -> None:
    """As an unknown key of a file does."""
    with pytest.raises(SettingsError) as caught:
        make(dialcet="google")
    assert str(caught.value) == "keyword: unknown setting 'dialcet'; did you mean 'dialect'?"


def test_an_unknown_keyword_of_a_host_names_the_nearest() -> None:
    """What is different for a host is made of settings, too."""
    with pytest.raises(SettingsError, match="did you mean 'delay'"):
        HostSettings(delya=1.0)  # type: ignore[call-arg]


def by_keyword(**given: Any) -> Settings:
    return Settings(**given)


def by_change(**given: Any) -> Settings:
    return Settings().but(**given)


def by_option(**given: Any) -> Settings:
    return load(environment={}, options=given).settings


def by_environment(**given: Any) -> Settings:
    return load(
        environment={f"MANNERS_{name.upper()}": text for name, text in given.items()}
    ).settings


def by_file(**given: Any) -> Settings:
    text = "".join(f'{name} = "{value}"\n' for name, value in given.items())
    Path("manners.toml").write_text(text)
    return load(environment={}).settings


def by_client(**given: Any) -> Settings:
    with Client(**given) as client:
        return client.settings


def by_async_client(**given: Any) -> Settings:
    async def main() -> Settings:
        async with AsyncClient(**given) as client:
            return client.settings

    return asyncio.run(main())


def by_crawl(**given: Any) -> Settings:
    return manners.crawl([URL], **given).settings


WAYS = [by_keyword, by_change, by_option, by_environment, by_file]
WAYS += [by_client, by_async_client, by_crawl]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


@every_way
def test_like_is_a_setting_everywhere(way: Callable[..., Settings]) -> None:
    """It sets dialect, profile and agent of the system; what is said beside it counts more."""
    scanner = way(like="scanner")
    assert (scanner.dialect, scanner.profile, scanner.agent) == ("scanner", "open", "WebKillerAI")
    audit = way(like="audit")
    assert (audit.dialect, audit.profile, audit.agent) == ("audit", "open", None)
    google = way(like="google", profile="rfc9309")
    assert (google.dialect, google.profile) == ("google", "rfc9309")
    named = way(like="scanner", agent="MyBot")
    assert named.identity == ("MyBot", "MyBot")
    other = way(like="scanner", user_agent="MyBot/1.0")
    assert other.identity == ("MyBot", "MyBot/1.0")
    with pytest.raises(SettingsError, match="like: unknown dialect 'scaner'"):
        way(like="scaner")


def test_like_beats_what_comes_below_it() -> None:
    """As an option it is stronger than a dialect in the file; an agent stays who it is."""
    Path("manners.toml").write_text('dialect = "google"\nagent = "MyBot"\n')
    made = load(environment={}, options={"like": "scanner"})
    assert (made.settings.dialect, made.settings.agent) == ("scanner", "MyBot")
    assert made.sources["dialect"] == "option: --like"


def test_like_goes_on_with_a_crawl() -> None:
    """What a crawl was told is what it goes on with."""
    told = Settings(like="scanner").changed()
    assert Settings(**told) == Settings(like="scanner")


@pytest.mark.parametrize("command", ["check", "get", "crawl", "discover"])
def test_every_command_that_decides_logs_matches(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """`--log-matches` tells path, decision and pattern."""
    with in_thread(Site(site(rules("Disallow: /closed")))) as server:
        ran = runner(capsys, command)(server.url(path="/closed"), "--log-matches")
    assert ran.code == 1
    assert "path=/closed decision=DISALLOW winnerPattern=/closed matchLen=7" in ran.err


def test_a_manners_toml_beside_a_scan_yml_is_read_below_it() -> None:
    """Beside it, wherever it is; what the scan.yml says beats it, and options beat both."""
    Path("elsewhere").mkdir()
    Path("manners.toml").write_text("max_pages = 1\n")
    Path("elsewhere/manners.toml").write_text(
        'max_pages = 7\ndialect = "google"\nmax_minutes = 5\n'
    )
    Path("elsewhere/scan.yml").write_text("crawler: {robotsMaxRedirects: 2}")
    made = load("elsewhere/scan.yml", environment={}, options={"max_minutes": 6.0})
    found = made.settings
    assert (found.max_pages, found.dialect, found.max_redirects) == (7, "scanner", 2)
    assert found.max_minutes == 6.0
    assert made.sources["max_pages"] == str(Path("elsewhere/manners.toml"))
    assert made.sources["dialect"] == str(Path("elsewhere/scan.yml"))
    Path("elsewhere/manners.toml").write_text("max_page = 7\n")
    assert main(["settings", "--config", "elsewhere/scan.yml"]) == 2
