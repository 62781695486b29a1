"""Section 11 of what was found by trying: what becomes a header, and what is a number."""

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from manners import AsyncClient, Client, RobotsCache, Settings
from manners.politeness.budget import Budget
from manners.settings import SettingsError, load
from manners.settings.model import types_of
from tests.cli.running import AT_ONCE, runner, settle

CONTROLS = ["\r\n", "\r", "\n", "\0", "\t", "\x1b", "\x7f", "\x85", "\u2028"]
every_control = pytest.mark.parametrize("control", CONTROLS, ids=ascii)
ENDLESS = ["nan", "inf", "-inf", "NaN", "Infinity"]


@pytest.fixture(autouse=True)
def _a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch, tmp_path, **AT_ONCE)


def made(**given: Any) -> Settings:
    return Settings(**given)


@every_control
@pytest.mark.parametrize("name", ["agent", "user_agent"])
def test_settings_refuse_control_characters_in_names(name: str, control: str) -> None:
    """As a keyword, as an option, in the environment and in a file; also with a user_agent."""
    text = f"a{control}X: y"
    for make in (
        lambda: made(**{name: text}),
        lambda: made(**{"user_agent": "Me/1", name: text}),
        lambda: load(environment={}, options={name: text}),
        lambda: load(environment={f"MANNERS_{name.upper()}": text}),
        lambda: Client(**dict[str, Any]({name: text})),
    ):
        with pytest.raises(SettingsError, match="control character") as caught:
            make()
        assert str(caught.value).isprintable()
        assert name in str(caught.value)


def test_robots_ua_with_a_line_break_is_refused() -> None:
    """A scan.yml cannot add a header."""
    Path("scan.yml").write_text('crawler: {robotsUa: "a\\r\\nX: y"}')
    with pytest.raises(SettingsError, match=r"scan.yml: crawler.robotsUa: .* control character"):
        load("scan.yml", environment={})


@every_control
def test_the_library_refuses_control_characters_in_headers(control: str) -> None:
    """In the headers of a page, their names too, and in the user_agent of a cache."""

    async def ask(headers: dict[str, str]) -> None:
        async with AsyncClient("MyBot", allow_private=True) as client:
            await client.get("http://127.0.0.1:1/", headers)

    for headers in ({"X-Mine": f"a{control}b"}, {f"X{control}Y": "a"}):
        with pytest.raises(ValueError, match="control character"):
            asyncio.run(ask(headers))
    with pytest.raises(ValueError, match="control character"):
        RobotsCache(user_agent=f"a{control}b")


@every_control
@pytest.mark.parametrize("option", ["--agent", "--user-agent", "--header"])
def test_no_option_takes_a_control_character(
    capsys: pytest.CaptureFixture[str], option: str, control: str
) -> None:
    """One line that says so, exit code 2, and nothing is asked."""
    text = f"X: a{control}" if option == "--header" else f"a{control}b"
    ran = runner(capsys, "get")("http://127.0.0.1:1/", option, text)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert not list(Path().iterdir())


NUMBERS = [
    name
    for name, kind in types_of(Settings).items()
    if isinstance(getattr(Settings(), name), float) or "float" in str(kind)
]


@pytest.mark.parametrize("name", NUMBERS)
def test_no_setting_takes_what_is_not_a_finite_number(name: str) -> None:
    """As a keyword, in the environment and in a file, with a message that says so."""
    for text in ENDLESS:
        with pytest.raises(SettingsError, match="finite number") as caught:
            made(**{name: float(text)})
        assert str(caught.value).startswith(name)
        with pytest.raises(SettingsError, match="finite number"):
            load(environment={f"MANNERS_{name.upper()}": text})
    Path("odd.toml").write_text(f"{name} = nan\n")
    with pytest.raises(SettingsError, match=r"odd.toml: .*finite number"):
        load("odd.toml", environment={})


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_no_host_has_an_endless_delay(value: float) -> None:
    """What is different for a host is checked as everything is."""
    with pytest.raises(SettingsError, match="finite number"):
        load(environment={}, options={"hosts": {"a.example": {"delay": value}}})


@pytest.mark.parametrize("text", ENDLESS)
@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["crawl", "http://127.0.0.1:1/"], "--max-minutes"),
        (["crawl", "http://127.0.0.1:1/"], "--timeout"),
        (["crawl", "http://127.0.0.1:1/"], "--max-pages"),
        (["get", "http://127.0.0.1:1/"], "--timeout"),
        (["check", "http://127.0.0.1:1/"], "--timeout"),
        (["robots", "http://127.0.0.1:1/"], "--timeout"),
        (["discover", "http://127.0.0.1:1/"], "--timeout"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_no_option_takes_what_is_not_a_finite_number(
    capsys: pytest.CaptureFixture[str], command: list[str], option: str, text: str
) -> None:
    """One line that names the option, exit code 2."""
    ran = runner(capsys, *command)(f"{option}={text}")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert option in ran.err
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    "numbers", [{"minutes": math.nan}, {"minutes": math.inf}, {"warn_at": math.nan}]
)
def test_a_budget_is_of_numbers(numbers: dict[str, Any]) -> None:
    """A limit that nothing is ever above would be none."""
    with pytest.raises(ValueError, match="finite number"):
        Budget(**numbers)
