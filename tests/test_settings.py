"""Settings: every layer, every mapping, every mistake."""

import dataclasses
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import manners
from manners.errors import BudgetExceeded, MannersError, MissingExtra
from manners.politeness.schedule import Pace
from manners.retrieval import profiles
from manners.settings import HostSettings, Settings, SettingsError, load
from manners.settings.fields import flag_of
from manners.settings.model import types_of
from manners.settings.names import RENAMED
from manners.settings.systems import AUDIT
from tests.shared import SHARED
from tests.sizes import examples

DOCS = Path(__file__).resolve().parents[1] / "docs"

# Each setting with a value that is not its default: as a program writes it, as a variable of the
# environment has it, and as a file does.
VALUES: dict[str, tuple[Any, str, str]] = {
    "agent": ("MyBot", "MyBot", '"MyBot"'),
    "user_agent": ("Me/1 (+http://me)", "Me/1 (+http://me)", '"Me/1 (+http://me)"'),
    "like": ("audit", "audit", '"audit"'),
    "dialect": ("google", "google", '"google"'),
    "profile": ("open", "open", '"open"'),
    "respect_robots": (False, "false", "false"),
    "exclude": (("/a", "*b?", "re:c,d"), '["/a", "*b?", "re:c,d"]', '["/a", "*b?", "re:c,d"]'),
    "include": (("/a", "/b"), "/a, /b", '["/a", "/b"]'),
    "signals": (("tdmrep", "rsl"), "tdmrep, rsl", '["tdmrep", "rsl"]'),
    "purpose": ("ai-train", "ai-train", '"ai-train"'),
    "unknown": ("deny", "deny", '"deny"'),
    "connect_timeout": (1.5, "1.5", "1.5"),
    "read_timeout": (4.0, "4", "4"),
    "total_timeout": (20.0, "2e1", "20"),
    "max_redirects": (0, "0", "0"),
    "fresh_minutes": (90.0, "90", "90"),
    "retry_minutes": (0.5, "0.5", "0.5"),
    "unreachable": ("allow", "allow", '"allow"'),
    "allow_private": (True, "true", "true"),
    "proxy": ("http://proxy.example:3128", "http://proxy.example:3128", '"http://proxy.example:3128"'),
    "ca_file": ("ca.pem", "ca.pem", '"ca.pem"'),
    "cache": ("cache.db", "cache.db", '"cache.db"'),
    "cache_entries": (7, "7", "7"),
    "politeness": ("valkey://fleet.example/0", "valkey://fleet.example/0", '"valkey://fleet.example/0"'),
    "concurrency": (3, "3", "3"),
    "connections": (64, "64", "64"),
    "concurrency_prefix": ("slots:", "slots:", '"slots:"'),
    "lease": (120.0, "120", "120"),
    "min_delay": (0.0, "0", "0"),
    "max_delay": (2.5, "2.5", "2.5"),
    "delay_prefix": ("gaps:", "gaps:", '"gaps:"'),
    "slot_timeout": (0.0, "0", "0"),
    "defer_beyond": (3600.0, "3600", "3600"),
    "requests_per_second": (0.5, "0.5", "0.5"),
    "adaptive_factor": (0.0, "0", "0"),
    "adaptive_weight": (1.0, "1", "1"),
    "max_adaptive_delay": (5.5, "5.5", "5.5"),
    "initial_backoff": (1.0, "1", "1"),
    "max_backoff": (60.0, "6e1", "60"),
    "backoff_jitter": (0.0, "0", "0"),
    "backoff_window": (0.0, "0", "0"),
    "backoff_reset": (1, "1", "1"),
    "hosts": (
        {"intranet.example": HostSettings(delay=0.0, concurrency=9, respect_robots=False)},
        '{"intranet.example": {"delay": 0, "concurrency": 9, "respect_robots": false}}',
        '{"intranet.example" = {delay = 0, concurrency = 9, respect_robots = false}}',
    ),
    "page_max_bytes": (1000, "1000", "1000"),
    "page_connect_timeout": (1.5, "1.5", "1.5"),
    "page_read_timeout": (4.0, "4", "4"),
    "page_total_timeout": (20.0, "2e1", "20"),
    "headers": (("A: b",), '["A: b"]', '["A: b"]'),
    "cookies": (True, "true", "true"),
    "cookie_file": ("cookies.txt", "cookies.txt", '"cookies.txt"'),
    "logins": (
        {"https://a.example": "me:se:cret"},
        '{"https://a.example/": "me:se:cret"}',
        '{"https://A.example:443" = "me:se:cret"}',
    ),
    "client_certs": (
        {"https://a.example": "me.pem"},
        '{"https://a.example": "me.pem"}',
        '{"https://a.example" = "me.pem"}',
    ),
    "page_max_redirects": (0, "0", "0"),
    "max_pages": (50, "50", "50"),
    "max_minutes": (1.5, "1.5", "1.5"),
    "budget_warning": (0.5, "0.5", "0.5"),
    "source": ("links", "links", '"links"'),
    "same_domain": (False, "false", "false"),
    "max_depth": (4, "4", "4"),
    "render": ("auto", "auto", '"auto"'),
    "attempts": (5, "5", "5"),
    "max_urls": (50, "50", "50"),
    "max_discovered": (500, "500", "500"),
    "max_sitemaps": (5, "5", "5"),
    "sitemap_depth": (2, "2", "2"),
    "link_depth": (3, "3", "3"),
    "drop_tracking": (True, "true", "true"),
    "trap_repeats": (5, "5", "5"),
    "trap_length": (4000, "4000", "4000"),
    "trap_segments": (30, "30", "30"),
    "trap_alike": (9, "9", "9"),
    "store": ("proof.db", "proof.db", '"proof.db"'),
    "warc": ("archive", "archive", '"archive"'),
    "warc_size": (10_000, "10000", "10000"),
    "redact_query": (True, "true", "true"),
    "server_timeout": (2.5, "2.5", "2.5"),
    "worker_lease": (12.5, "12.5", "12.5"),
    "log_level": ("debug", "debug", '"debug"'),
    "log_format": ("json", "json", '"json"'),
    "log_matches": (True, "1", "true"),
    "metrics_port": ("0.0.0.0:9464", "0.0.0.0:9464", '"0.0.0.0:9464"'),
}  # fmt: skip
OLD = {
    "max_pages": ("MAX_PAGES", "30", 30),
    "max_minutes": ("MAX_SCAN_TIME_MINUTES", "7.5", 7.5),
    "agent": ("USER_AGENT", "AEO-Audit/1.0", "AEO-Audit/1.0"),
    "user_agent": ("USER_AGENT", "AEO-Audit/1.0", "AEO-Audit/1.0"),
}
OTHERS: dict[str, Any] = {"agent": "Other", "user_agent": "Other", "max_pages": 9, "max_minutes": 9}
"""Another value for each of these, where two have to be told apart."""


@pytest.fixture(autouse=True)
def _an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run where there is no manners.toml and nothing in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith("MANNERS_") or name in AUDIT.names:
            monkeypatch.delenv(name)


def written(text: str, name: str = "manners.toml") -> str:
    """A file with this text, unindented."""
    Path(name).write_text(textwrap.dedent(text), encoding="utf-8")
    return name


def scan(text: str) -> Settings:
    """What a scan.yml comes to."""
    return load(written(text, "scan.yml"), environment={}).settings


def mistake(work: Callable[[], object]) -> str:
    """What is said about a mistake."""
    with pytest.raises(SettingsError) as caught:
        work()
    assert isinstance(caught.value, MannersError)
    assert isinstance(caught.value, ValueError)
    said = str(caught.value)
    assert said.isprintable()
    assert len(said) < 3000
    return said


# Every setting by every layer.


def test_every_setting_has_a_row_in_the_tables_here() -> None:
    """A new setting is tested in every layer."""
    assert list(VALUES) == list(types_of(Settings))
    defaults = Settings().to_dict()
    assert not [name for name, (value, _, _) in VALUES.items() if defaults[name] == value]


@pytest.mark.parametrize("name", VALUES)
def test_a_setting_comes_from_every_layer(name: str) -> None:
    """Option, environment and file say the same, and the source says which it was."""
    value, text, toml = VALUES[name]
    more = {"max_delay": 5.0} if name == "min_delay" else {}
    by_option = load(environment={}, options={name: value, **more})
    by_variable = load(environment={f"MANNERS_{name.upper()}": text}, options=more)
    file = written(f"{name} = {toml}\n", "other.toml")
    by_file = load(file, environment={}, options=more)
    for loaded, source in (
        (by_option, f"option: {flag_of(name)}"),
        (by_variable, f"environment: MANNERS_{name.upper()}"),
        (by_file, "other.toml"),
    ):
        assert getattr(loaded.settings, name) == value
        assert type(getattr(loaded.settings, name)) is type(value)
        assert loaded.sources[name] == source
        mine = (name, *more, *(("dialect", "profile") if name == "like" else ()))
        rest = {each: value for each, value in loaded.sources.items() if each not in mine}
        assert set(rest.values()) == {"default"}
    assert getattr(Settings(**{name: value}), name) == value


def test_defaults_are_the_numbers_of_the_specification() -> None:
    """Two at a time, 300 s, 200 to 500 ms, 10 s for a slot, 200 pages, 60 minutes, and so on."""
    loaded = load(environment={})
    made = loaded.settings
    assert made == Settings()
    assert (made.concurrency, made.lease) == (2, 300.0)
    assert (made.min_delay, made.max_delay) == (0.2, 0.5)
    assert (made.slot_timeout, made.defer_beyond, made.requests_per_second) == (10.0, 60.0, None)
    assert (made.adaptive_factor, made.adaptive_weight, made.max_adaptive_delay) == (1.0, 0.3, 30.0)
    assert (made.initial_backoff, made.max_backoff, made.backoff_jitter) == (5.0, 15 * 60.0, 0.2)
    assert (made.backoff_window, made.backoff_reset, made.budget_warning) == (5.0, 3, 0.8)
    assert (made.max_pages, made.max_minutes, made.cache_entries) == (200, 60.0, 128)
    assert (made.max_urls, made.max_discovered, made.max_sitemaps) == (10_000, 1_000_000, 500)
    assert (made.sitemap_depth, made.link_depth, made.drop_tracking) == (5, 1, False)
    assert (made.source, made.same_domain, made.max_depth, made.attempts) == ("auto", True, None, 3)
    assert (made.render, made.purpose, made.unknown) == ("never", None, "allow")
    assert (made.trap_repeats, made.trap_length) == (3, 2_000)
    assert (made.trap_segments, made.trap_alike) == (20, 1_000)
    assert (made.concurrency_prefix, made.delay_prefix) == ("host_concurrency:", "host_delay:")
    assert (made.dialect, made.profile, made.respect_robots) == ("rfc9309", "rfc9309", True)
    assert made.retrieval == profiles.get("rfc9309")
    assert set(loaded.sources.values()) == {"default"}
    assert list(loaded.sources) == list(VALUES)


# The order.

LAYERS = ("option", "own", "old", "file", "default")


@pytest.mark.parametrize("name", OLD)
@pytest.mark.parametrize(
    ("higher", "lower"),
    [(LAYERS[i], LAYERS[j]) for i in range(len(LAYERS)) for j in range(i + 1, len(LAYERS))],
)
def test_of_two_layers_the_higher_one_counts(name: str, higher: str, lower: str) -> None:
    """Option, MANNERS_…, the older names, the file, the default."""
    value, text, toml = VALUES[name]
    variable, old_text, old_value = OLD[name]
    environment: dict[str, str] = {}
    options = {"like": "audit"}
    expected = {
        "option": (OTHERS[name], f"option: --{name.replace('_', '-')}"),
        "own": (value, f"environment: MANNERS_{name.upper()}"),
        "old": (old_value, f"environment: {variable}"),
        "file": (value, "manners.toml"),
        "default": (getattr(Settings(), name), "default"),
    }
    for layer in (higher, lower):
        if layer == "option":
            options[name] = OTHERS[name]
        elif layer == "own":
            environment[f"MANNERS_{name.upper()}"] = text
        elif layer == "old":
            environment[variable] = old_text
        elif layer == "file":
            written(f"{name} = {toml}\n")
    loaded = load(environment=environment, options=options)
    assert (getattr(loaded.settings, name), loaded.sources[name]) == expected[higher]


@pytest.mark.parametrize("name", sorted(set(VALUES) - set(OLD) - {"hosts"}))
def test_an_option_beats_the_environment_and_that_beats_the_file(name: str) -> None:
    """Whatever lies below is as if it were not there."""
    value, text, toml = VALUES[name]
    default = getattr(Settings(), name)
    other = Settings.load(environment={f"MANNERS_{name.upper()}": text}, options={"max_delay": 5})
    assert getattr(other, name) == (5.0 if name == "max_delay" else value)
    written(f"{name} = {toml}\n" + ("max_delay = 5\n" if name == "min_delay" else ""))
    assert getattr(load(environment={}).settings, name) == value
    if default is not None:
        shown = (
            json.dumps(default)
            if isinstance(default, bool)
            else ",".join(default)
            if isinstance(default, tuple)
            else str(default)
        )
        above = load(environment={f"MANNERS_{name.upper()}": shown})
        assert getattr(above.settings, name) == default
        assert above.sources[name] == f"environment: MANNERS_{name.upper()}"
        top = load(environment={f"MANNERS_{name.upper()}": text}, options={name: default})
        assert getattr(top.settings, name) == default


def test_an_option_that_is_none_was_not_given() -> None:
    """None leaves the layer below as it is."""
    found = load(environment={"MANNERS_MAX_PAGES": "7"}, options={"max_pages": None})
    assert (found.settings.max_pages, found.sources["max_pages"]) == (
        7,
        "environment: MANNERS_MAX_PAGES",
    )


# Who reads what.


def test_only_loading_reads_environment_and_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings() is the defaults, whatever lies around it."""
    written("max_pages = 3\n")
    monkeypatch.setenv("MANNERS_AGENT", "MyBot")
    monkeypatch.setenv("MAX_SCAN_TIME_MINUTES", "5")
    made = Settings()
    assert (made.max_pages, made.agent, made.max_minutes) == (200, None, 60.0)
    found = Settings.load()
    assert (found.max_pages, found.agent, found.max_minutes) == (3, "MyBot", 60.0)


def test_the_environment_that_is_passed_is_the_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `environment`, the real one is not looked at."""
    monkeypatch.setenv("MANNERS_AGENT", "MyBot")
    assert Settings.load(environment={}).agent is None
    assert Settings.load().agent == "MyBot"


def test_other_variables_are_nobodys_business() -> None:
    """Neither other programs' variables nor the engine's own switches are settings."""
    around = {
        "MANNERS_PURE": "1",
        "MANNERS_CFLAGS": "-O0",
        "PATH": "/bin",
        "HTTP_PROXY": "http://x",
    }
    assert Settings.load(environment=around) == Settings()


def test_the_file_is_the_one_named_and_else_manners_toml() -> None:
    """A scan.yml, and a manners.toml beside another that is named, are left alone."""
    written("crawler:\n  respectRobots: false\n", "scan.yml")
    assert Settings.load(environment={}) == Settings()
    written("max_pages = 3\n")
    other = written("max_minutes = 3\n", "other.toml")
    assert Settings.load(environment={}).max_pages == 3
    named = Settings.load(other, environment={})
    assert (named.max_pages, named.max_minutes) == (200, 3.0)
    assert Settings.load(Path(other), environment={}) == named


def test_settings_are_frozen_and_compared_by_value() -> None:
    """What was loaded stays as it is; a change makes another."""
    made = Settings(max_pages=50)
    with pytest.raises(AttributeError):
        made.max_pages = 60  # type: ignore[misc]
    with pytest.raises(AttributeError):
        HostSettings().delay = 1.0  # type: ignore[misc]
    assert made == Settings(max_pages=50) != Settings()
    assert dataclasses.replace(made, max_pages=60).max_pages == 60
    assert manners.Settings is Settings


def test_settings_as_plain_values_go_through_json() -> None:
    """`to_dict` is what `manners settings --json` prints."""
    made = Settings(hosts={"a.example": HostSettings(delay=1)}, exclude=("/a",))
    back = json.loads(json.dumps(made.to_dict()))
    assert back["hosts"] == {
        "a.example": {"delay": 1.0, "concurrency": None, "respect_robots": None}
    }
    assert Settings(**back) == made


def test_the_page_has_every_setting_with_its_default() -> None:
    """A row each; what has no default has a dash."""
    page = (DOCS / "reference" / "settings.md").read_text("utf-8")
    for name, value in Settings().to_dict().items():
        shown = "—" if value is None else f"`{json.dumps(value)}`"
        assert f"\n| `{name}` | {shown} | " in page
    for name in dataclasses.asdict(HostSettings()):
        assert f"| `{name}` | " in page


def test_the_pages_for_other_systems_have_every_name() -> None:
    """Of the worker's variables, and of the keys of a scan.yml."""
    worker, scanner = (
        (DOCS / "coming-from" / name).read_text("utf-8") for name in ("worker.md", "scanner.md")
    )
    for name in AUDIT.names:
        assert f"| `{name}` | " in worker
    for name in (*SCAN_NAMES, "excludePaths"):
        assert f"| `{name}` | " in scanner


def test_headers_are_shown_without_their_values_and_not_stored() -> None:
    """Every header may be a secret; a resumed crawl is given them again."""
    made = Settings(headers=("X-Key: SESAME",), cookie_file="cookies.txt")
    assert made.shown()["headers"] == ("X-Key: ***",)
    assert "SESAME" not in repr(made)
    assert made.changed() == {}
    one = load(environment={"MANNERS_HEADERS": "A: b, c\nD: e"}).settings
    assert one.headers == ("A: b, c", "D: e")
    assert load(environment={"MANNERS_HEADERS": '["A: b"]'}).settings.headers == ("A: b",)
    with pytest.raises(SettingsError) as raised:
        Settings(headers=("SESAME",))
    assert str(raised.value) == "headers: header 1 is not written as 'Name: value'"


# Mistakes.

UNKNOWN = [
    ("dialcet = 'google'", "unknown setting 'dialcet'; did you mean 'dialect'?"),
    ("maxpages = 3", "did you mean 'max_pages'?"),
    ("MAX_PAGES = 3", "did you mean 'max_pages'?"),
    ("qqqq = 3", "unknown setting 'qqqq'; `manners settings` lists them all"),
    ("'' = 3", "unknown setting ''"),
    ("[hosts.'a.example']\ndelya = 1", "'delya' in hosts.a.example; did you mean 'delay'?"),
    ("[hosts.'a.example']\nagent = 'x'", "known: delay, concurrency, respect_robots"),
    (
        "[concurrencyConfig]\nmaxConcurent = 1",
        "'maxConcurent' in concurrencyConfig; did you mean 'maxConcurrent'?",
    ),
    ("[delayConfig]\nminDelay = 1", "'minDelay' in delayConfig; did you mean 'minDelayMs'?"),
    ("[delayConfig]\nttlSeconds = 1", "unknown setting 'ttlSeconds' in delayConfig"),
    ("[delayconfig]\nminDelayMs = 1", "unknown setting 'delayconfig'"),
    ("[crawler]\nrespectRobots = true", "unknown setting 'crawler'"),
]


@pytest.mark.parametrize(("toml", "words"), UNKNOWN, ids=[toml for toml, _ in UNKNOWN])
def test_an_unknown_key_in_a_file_names_the_nearest(toml: str, words: str) -> None:
    """A misspelling is never passed over."""
    said = mistake(lambda: load(written(toml), environment={}))
    assert said.startswith("manners.toml: ")
    assert words in said


@pytest.mark.parametrize(
    ("variable", "near"),
    [
        ("MANNERS_MAXPAGES", "MANNERS_MAX_PAGES"),
        ("MANNERS_DIALCT", "MANNERS_DIALECT"),
        ("MANNERS_MAX_SCAN_TIME_MINUTES", "MANNERS_MAX_MINUTES"),
        ("MANNERS_", "MANNERS_"),
        ("MANNERS_PURE_", "MANNERS_"),
    ],
)
def test_an_unknown_variable_names_the_nearest(variable: str, near: str) -> None:
    """MANNERS_ is for settings; another name after it is a mistake."""
    said = mistake(lambda: load(environment={variable: "1"}))
    assert said.startswith(f"environment: {variable}: unknown setting '{variable}'; ")
    assert near in said.partition(";")[2]


def test_an_unknown_option_names_the_nearest() -> None:
    """A program's options are settings, by name."""
    said = mistake(lambda: load(environment={}, options={"max_page": 3}))
    assert said == "option: --max-page: unknown setting 'max_page'; did you mean 'max_pages'?"
    said = mistake(lambda: Settings(max_page=3))  # type: ignore[call-arg]
    assert said == "keyword: unknown setting 'max_page'; did you mean 'max_pages'?"


def test_an_unknown_key_in_hosts_of_the_environment_names_the_nearest() -> None:
    """A table in JSON is read as carefully as one in a file."""
    said = mistake(lambda: load(environment={"MANNERS_HOSTS": '{"a.example": {"Delay": 1}}'}))
    assert "did you mean 'delay'?" in said


WRONG = [
    *(
        ("max_pages", value)
        for value in ("0", "-1", "1.5", "true", "'5'", "1e400", "[]", "9" * 400)
    ),
    *(
        ("max_minutes", value)
        for value in ("0", "-1", "nan", "inf", "-inf", "true", "'5'", "1e300")
    ),
    *(("min_delay", value) for value in ("-0.1", "nan", "inf", "1979-05-27", "9" * 400)),
    *(("max_delay", value) for value in ("0.1", "nan", "inf")),
    *(("lease", value) for value in ("0", "nan", "inf", "10", "60", "'300'")),
    *(("slot_timeout", value) for value in ("-1", "nan", "inf", "'10'")),
    *(("server_timeout", value) for value in ("0", "-1", "nan", "inf", "'30'")),
    *(("defer_beyond", value) for value in ("-1", "nan", "inf", "1e9")),
    *(("requests_per_second", value) for value in ("0", "-1", "nan", "inf", "1e7", "true")),
    *(("adaptive_factor", value) for value in ("-0.1", "nan", "inf", "1001")),
    *(("adaptive_weight", value) for value in ("-0.1", "1.1", "nan", "30")),
    *(("max_adaptive_delay", value) for value in ("-1", "nan", "inf")),
    *(("initial_backoff", value) for value in ("0", "-5", "nan", "inf")),
    *(("max_backoff", value) for value in ("0", "nan", "inf", "1e9")),
    *(("backoff_jitter", value) for value in ("-0.1", "1.1", "nan", "20")),
    *(("backoff_window", value) for value in ("-1", "nan", "inf")),
    *(("backoff_reset", value) for value in ("0", "-1", "1.5", "true")),
    *(("page_max_bytes", value) for value in ("0", "-1", "1.5", "'10'")),
    *(("page_connect_timeout", value) for value in ("0", "nan", "inf")),
    *(("page_read_timeout", value) for value in ("0", "nan", "inf")),
    *(("page_total_timeout", value) for value in ("0", "nan", "inf", "300", "1000")),
    *(("page_max_redirects", value) for value in ("-1", "101", "1.5")),
    *(("cookies", value) for value in ("1", "'true'")),
    *(("budget_warning", value) for value in ("-0.1", "1.1", "nan", "80")),
    *(("connect_timeout", value) for value in ("0", "-1", "nan", "inf", "1e9", "''")),
    *(("total_timeout", value) for value in ("300", "1000", "nan", "0")),
    *(("fresh_minutes", value) for value in ("0", "nan", "inf", "1e9")),
    *(("max_redirects", value) for value in ("-1", "101", "1.5")),
    *(("cache_entries", value) for value in ("0", "-1")),
    *(("concurrency", value) for value in ("0", "1.5", "true")),
    *(("agent", value) for value in ("1", "true", "['a', 'b']")),
    *(("user_agent", value) for value in ("''", "' '", "'é'", '"a\\nb"', '"a\\u0000"', "1")),
    *(("dialect", value) for value in ("''", "'gogle'", "'RFC9309'", "'../x'", "1")),
    *(("profile", value) for value in ("''", "'scanner'", "1")),
    *(("unreachable", value) for value in ("'ignore'", "true")),
    *(("respect_robots", value) for value in ("1", "'false'", "'no'")),
    *(("exclude", value) for value in ("'/a'", "['']", "['re:']", "['re:(']", "[1]", "{}")),
    *(("include", value) for value in ("'/a'", "['']", "['re:(?=a)']", "[['/a']]")),
    *(("log_level", value) for value in ("'loud'", "'INFO'", "''", "1")),
    *(("log_format", value) for value in ("'xml'", "true")),
    *(("proxy", value) for value in ("''", "'proxy:3128'", "'socks5://a'")),
    *(("concurrencyConfig", value) for value in ("1", "[]", "{maxConcurrent = 0}")),
    *(("concurrencyConfig", value) for value in ("{ttlSeconds = 'x'}", "{keyPrefix = 1}")),
    *(("delayConfig", value) for value in ("{minDelayMs = 'x'}", "{minDelayMs = true}")),
    *(("delayConfig", value) for value in ("{minDelayMs = nan}", "{maxDelayMs = inf}")),
    *(("delayConfig", value) for value in ("{minDelayMs = 501}", "{maxDelayMs = -1}")),
    ("delayConfig", "{maxDelayMs = " + "9" * 400 + "}"),
    *(("hosts", value) for value in ("1", "[]", "{a = 1}", "{a = {delay = -1}}")),
    *(("hosts", value) for value in ("{a = {delay = nan}}", "{a = {delay = inf}}")),
    *(("hosts", value) for value in ("{a = {delay = true}}", "{a = {concurrency = 0}}")),
    *(("hosts", value) for value in ("{a = {respect_robots = 0}}", "{'' = {}}", "{'a b' = {}}")),
    *(("hosts", value) for value in ("{'http://a' = {}}", "{'a:80' = {}}", "{'[::1]:80' = {}}")),
    *(("hosts", value) for value in ("{'a/b' = {}}", "{'u@a' = {}}", "{A = {}, a = {}}")),
]


@pytest.mark.parametrize(("name", "toml"), WRONG, ids=[f"{n} = {v[:30]}" for n, v in WRONG])
def test_what_cannot_be_used_is_an_error_that_names_it(name: str, toml: str) -> None:
    """Types, ranges, and what is no number are noticed when settings are loaded."""
    said = mistake(lambda: load(written(f"{name} = {toml}\n"), environment={}))
    assert said.startswith("manners.toml: ")
    assert name in said


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MANNERS_MAX_PAGES", ""),
        ("MANNERS_MAX_PAGES", "many"),
        ("MANNERS_MAX_PAGES", "9" * 5000),
        ("MANNERS_MAX_MINUTES", "nan"),
        ("MANNERS_LEASE", "inf"),
        ("MANNERS_LEASE", "60"),
        ("MANNERS_PAGE_TOTAL_TIMEOUT", "300"),
        ("MANNERS_REQUESTS_PER_SECOND", "0"),
        ("MANNERS_REQUESTS_PER_SECOND", "none"),
        ("MANNERS_BACKOFF_JITTER", "20%"),
        ("MANNERS_COOKIES", "yes"),
        ("MANNERS_RESPECT_ROBOTS", "no"),
        ("MANNERS_RESPECT_ROBOTS", ""),
        ("MANNERS_HOSTS", ""),
        ("MANNERS_HOSTS", "a.example"),
        ("MANNERS_HOSTS", "[]"),
        ("MANNERS_HOSTS", '{"a": {"delay": NaN}}'),
        ("MANNERS_HOSTS", '{"a": {"delay": "1"}}'),
        ("MANNERS_HOSTS", '{"\\ud800": {}}'),
        ("MANNERS_HOSTS", '{"a":' * 5000),
        ("MANNERS_EXCLUDE", "[1]"),
        ("MANNERS_EXCLUDE", "[" * 100_000),
        ("MANNERS_EXCLUDE", '["\\ud800"]'),
        ("MANNERS_EXCLUDE", "/a\udcff"),
        ("MANNERS_MAX_PAGES", "\udcff"),
        ("MAX_PAGES", "0"),
        ("MAX_PAGES", ""),
        ("MAX_SCAN_TIME_MINUTES", "nan"),
        ("USER_AGENT", ""),
        ("USER_AGENT", "a\x1b[2Jb"),
    ],
    ids=lambda value: value[:20].encode("ascii", "backslashreplace").decode(),
)
def test_what_a_variable_cannot_be_names_the_variable(variable: str, value: str) -> None:
    """Text that does not fit the setting is an error that says where it stands."""
    options = {"like": "audit"} if variable in AUDIT.names else {}
    said = mistake(lambda: load(environment={variable: value}, options=options))
    assert said.startswith(f"environment: {variable}: ")


@pytest.mark.parametrize(
    ("given", "value"), [("", ()), ("/a", ("/a",)), (" /a , ,/b,", ("/a", "/b")), ("[]", ())]
)
def test_lists_in_the_environment_are_json_or_have_commas(given: str, value: Any) -> None:
    """An empty variable is an empty list, which takes back what a file says."""
    written("exclude = ['/admin']\n")
    assert load(environment={"MANNERS_EXCLUDE": given}).settings.exclude == value


@pytest.mark.parametrize("text", ["[::1]", "{x}", "null", "true", "1"])
def test_text_in_the_environment_stays_text(text: str) -> None:
    """Only lists and tables are read as JSON."""
    assert load(environment={"MANNERS_AGENT": text}).settings.agent == text


def test_a_mistake_between_two_settings_names_both_places() -> None:
    """Whoever reads it knows where to look, and is not sent elsewhere."""
    written("min_delay = 0.9\nmax_pages = 7\n")
    environment = {"MANNERS_MAX_DELAY": "0.8", "MANNERS_AGENT": "MyBot"}
    said = mistake(lambda: load(environment=environment))
    assert said.startswith("environment: MANNERS_MAX_DELAY, manners.toml: min_delay, max_delay: ")


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        ({"total_timeout": 300.0}, "total_timeout, lease"),
        ({"total_timeout": 6, "lease": 5}, "total_timeout, lease"),
        ({"lease": 10.0}, "total_timeout, lease"),
        ({"lease": 60.0}, "page_total_timeout, lease"),
        ({"page_total_timeout": 300.0}, "page_total_timeout, lease"),
        ({"page_total_timeout": 9, "lease": 9, "total_timeout": 1}, "page_total_timeout, lease"),
    ],
    ids=str,
)
def test_a_request_ends_before_its_slot_is_free_again(wrong: dict[str, Any], names: str) -> None:
    """The total timeouts, be it the profile's, are shorter than the lease."""
    assert mistake(lambda: Settings(**wrong)).startswith(f"{names}: ")
    assert mistake(lambda: load(environment={}, options=wrong)).endswith(
        f"{names}: the timeout must be shorter than the lease"
    )


def test_a_request_may_take_almost_as_long_as_its_slot() -> None:
    """As long as it is shorter."""
    assert Settings(total_timeout=299.9).retrieval.total == 299.9
    assert Settings(page_total_timeout=299.9).page_total_timeout == 299.9
    assert Settings(lease=60.1).lease == 60.1
    assert Settings(lease=10.1, page_total_timeout=10).lease == 10.1


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_pages": 0},
        {"max_pages": "5"},
        {"min_delay": float("nan")},
        {"exclude": "/a"},
        {"exclude": ["re:("]},
        {"dialect": "x"},
        {"hosts": {"a": 1}},
        {"hosts": {"a:80": HostSettings()}},
    ],
    ids=str,
)
def test_what_a_program_makes_is_checked_alike(wrong: dict[str, Any]) -> None:
    """Settings that exist can be used, whoever made them."""
    (name,) = wrong
    assert mistake(lambda: Settings(**wrong)).startswith(f"{name}: ")
    assert mistake(lambda: dataclasses.replace(Settings(), **wrong)).startswith(f"{name}: ")


def test_a_host_is_checked_alike() -> None:
    """A host that exists can be used, too."""
    assert mistake(lambda: HostSettings(delay=float("inf"))).startswith("delay: ")
    assert mistake(lambda: HostSettings(concurrency=0)).startswith("concurrency: ")


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", b"a = ", b"= 1", b"[" * 100_000, b"a = " + b"[" * 100_000, b"<html>", b"\0"],
    ids=repr,
)
def test_what_is_not_toml_is_an_error(content: bytes) -> None:
    """A file that cannot be read as TOML says so, in one line."""
    Path("manners.toml").write_bytes(content)
    assert mistake(lambda: load(environment={})).startswith("manners.toml: not TOML: ")


def test_a_byte_order_mark_is_no_mistake() -> None:
    """Some editors put one at the beginning."""
    Path("manners.toml").write_bytes(b"\xef\xbb\xbfmax_pages = 3\n")
    assert load(environment={}).settings.max_pages == 3


@pytest.mark.parametrize("name", ["none.toml", "none.yml", ".", "", "a\0b"], ids=repr)
def test_a_file_that_is_named_has_to_be_there(name: str) -> None:
    """Missing files, folders and impossible names are errors."""
    assert "cannot be read: " in mistake(lambda: load(name, environment={}))


def test_a_file_is_not_read_without_end() -> None:
    """A megabyte of settings is enough."""
    Path("manners.toml").write_bytes(b"#" * (1024 * 1024) + b"\n")
    assert "has more than 1,048,576 bytes" in mistake(lambda: load(environment={}))


def test_a_name_without_end_is_cut() -> None:
    """An error stays readable, whatever stands in the file."""
    mistake(lambda: load(written("a" * 500_000 + " = 1\n"), environment={}))
    mistake(lambda: load(written("a" * 500_000 + ": 1\n", "scan.yml"), environment={}))


def test_hostile_names_are_escaped() -> None:
    """What stands in a file does not reach a terminal raw."""
    assert "\\x1b" in mistake(lambda: load(written('"\\u001b[2J" = 1\n'), environment={}))


def test_the_name_of_a_file_does_not_change_how_it_is_read() -> None:
    """Types are those of the file, whatever it is called."""
    name = written("max_pages = 3\nexclude = ['/a']\n", "environment.toml")
    loaded = load(name, environment={})
    assert loaded.settings.max_pages == 3
    assert loaded.sources["max_pages"] == "environment.toml"
    mistake(lambda: load(written("max_pages = '3'\n", "environment.toml"), environment={}))


# The names of an older document: its environment, its two tables.


def test_the_environment_of_the_older_document() -> None:
    """Its own example, word for word."""
    loaded = load(
        environment={
            "MANNERS_LIKE": "audit",
            "MAX_PAGES": "200",
            "MAX_SCAN_TIME_MINUTES": "60",
            "USER_AGENT": "AEO-Audit/1.0",
        }
    )
    made = loaded.settings
    assert (made.max_pages, made.max_minutes) == (200, 60.0)
    assert made.agent == made.user_agent == "AEO-Audit/1.0"
    changed = {name: source for name, source in loaded.sources.items() if source != "default"}
    assert changed == {
        "max_pages": "environment: MAX_PAGES",
        "max_minutes": "environment: MAX_SCAN_TIME_MINUTES",
        "agent": "environment: USER_AGENT",
        "user_agent": "environment: USER_AGENT",
        **dict.fromkeys(("like", "dialect", "profile"), "environment: MANNERS_LIKE"),
    }


def test_the_tables_of_the_older_document() -> None:
    """Milliseconds become seconds, and each prefix belongs to its table."""
    written(
        """
        [concurrencyConfig]
        maxConcurrent = 4
        keyPrefix = "c:"
        ttlSeconds = 120

        [delayConfig]
        minDelayMs = 350
        maxDelayMs = 1200.5
        keyPrefix = "d:"
        """
    )
    loaded = load(environment={})
    made = loaded.settings
    assert (made.concurrency, made.concurrency_prefix, made.lease) == (4, "c:", 120.0)
    assert (made.min_delay, made.max_delay, made.delay_prefix) == (0.35, 1.2005, "d:")
    changed = {name: source for name, source in loaded.sources.items() if source != "default"}
    assert changed == {
        "concurrency": "manners.toml: concurrencyConfig.maxConcurrent",
        "concurrency_prefix": "manners.toml: concurrencyConfig.keyPrefix",
        "lease": "manners.toml: concurrencyConfig.ttlSeconds",
        "min_delay": "manners.toml: delayConfig.minDelayMs",
        "max_delay": "manners.toml: delayConfig.maxDelayMs",
        "delay_prefix": "manners.toml: delayConfig.keyPrefix",
    }


def test_the_tables_of_the_older_document_have_our_defaults() -> None:
    """Its numbers are the defaults here."""
    written(
        """
        concurrencyConfig = {maxConcurrent = 2, keyPrefix = 'host_concurrency:', ttlSeconds = 300}
        delayConfig = {minDelayMs = 200, maxDelayMs = 500, keyPrefix = 'host_delay:'}
        """
    )
    assert load(environment={}).settings == Settings()


# scan.yml.

SEED = """\
crawler:
  respectRobots: true
  robotsTtlMinutes: 30
  robotsFailTtlMinutes: 10
  robotsMaxRedirects: 3
  robotsTimeoutMs: 3000
  robotsUa: "WebKillerAI"
  robotsFallbackAllowAll: true
excludePaths:
  - "/admin"
  - "*/*logout*"
  - "re:\\\\?.*token=.+"
"""


def test_the_example_of_the_scanners_document() -> None:
    """Its own example, word for word, is the dialect `scanner` with the profile `open`."""
    made = scan(SEED)
    assert (made.dialect, made.profile, made.agent) == ("scanner", "open", "WebKillerAI")
    assert made.respect_robots
    assert made.exclude == ("/admin", "*/*logout*", r"re:\?.*token=.+")
    assert made.retrieval == profiles.get("open").but(fresh_least=1800.0, fresh_most=1800.0)
    verdicts = {
        path: made.overrides.check("https://example.com" + path)
        for path in ("/admin/x", "/a/logout.do", "/a?x&token=1", "/", "/a?token=")
    }
    assert [path for path, verdict in verdicts.items() if verdict] == []
    assert [path for path, verdict in verdicts.items() if verdict is not None] == [
        "/admin/x",
        "/a/logout.do",
        "/a?x&token=1",
    ]


def test_the_example_here_is_the_one_of_the_document() -> None:
    """What is tested above is what stands there."""
    (document,) = (SHARED / "seeds").glob("004*.txt") if (SHARED / "seeds").is_dir() else (None,)
    if document is None:
        pytest.skip("the documents are not here")
    assert SEED in document.read_text("utf-8")


def test_where_the_values_of_a_scan_yml_come_from() -> None:
    """What the file decides, be it by being one, has the file for its source."""
    loaded = load(written(SEED, "scan.yml"), environment={})
    changed = {name: source for name, source in loaded.sources.items() if source != "default"}
    assert changed == {
        "like": "scan.yml",
        "dialect": "scan.yml",
        "profile": "scan.yml",
        "agent": "scan.yml: crawler.robotsUa",
        "user_agent": "scan.yml: crawler.robotsUa",
        "respect_robots": "scan.yml: crawler.respectRobots",
        "exclude": "scan.yml: excludePaths",
        "connect_timeout": "scan.yml: crawler.robotsTimeoutMs",
        "read_timeout": "scan.yml: crawler.robotsTimeoutMs",
        "max_redirects": "scan.yml: crawler.robotsMaxRedirects",
        "fresh_minutes": "scan.yml: crawler.robotsTtlMinutes",
        "retry_minutes": "scan.yml: crawler.robotsFailTtlMinutes",
        "unreachable": "scan.yml: crawler.robotsFallbackAllowAll",
    }


@pytest.mark.parametrize("text", ["", "{}", "crawler:\n", "excludePaths:\n", "# nothing\n"])
def test_an_empty_scan_yml_still_is_one(text: str) -> None:
    """Dialect, profile and name are the scanner's."""
    made = scan(text)
    assert (made.dialect, made.profile, made.agent) == ("scanner", "open", "WebKillerAI")
    assert made.retrieval == profiles.get("open")


@pytest.mark.parametrize("name", ["scan.yaml", "SCAN.YML", "mine.yml"])
def test_a_scan_yml_is_known_by_its_ending(name: str) -> None:
    """YAML is a scan.yml, everything else is TOML."""
    assert load(written("", name), environment={}).settings.dialect == "scanner"


def test_options_and_environment_beat_a_scan_yml() -> None:
    """A scan.yml is a file like the other."""
    environment = {"MANNERS_DIALECT": "google", "MANNERS_AGENT": "Me/1"}
    loaded = load(written(SEED, "scan.yml"), environment=environment, options={"profile": "google"})
    made = loaded.settings
    assert (made.dialect, made.profile, made.agent) == ("google", "google", "Me/1")


SCAN_KEYS: list[tuple[str, dict[str, Any]]] = [
    ("respectRobots: false", {"respect_robots": False}),
    ("robotsUa: MyBot", {"agent": "MyBot", "user_agent": "MyBot"}),
    ("robotsMaxRedirects: 0", {"max_redirects": 0}),
    ("robotsTtlMinutes: 45", {"fresh_minutes": 45.0}),
    ("robotsFailTtlMinutes: 2.5", {"retry_minutes": 2.5}),
    ("robotsTimeoutMs: 3000", {"read_timeout": 3.0, "connect_timeout": 2.0}),
    ("robotsTimeoutMs: 2000", {"read_timeout": 2.0, "connect_timeout": 2.0}),
    ("robotsTimeoutMs: 1500", {"read_timeout": 1.5, "connect_timeout": 1.5}),
    ("robotsTimeoutMs: 350", {"read_timeout": 0.35, "connect_timeout": 0.35}),
    ("robotsFallbackAllowAll: true", {"unreachable": "allow"}),
    ("robotsFallbackAllowAll: false", {"unreachable": "disallow"}),
]


@pytest.mark.parametrize(("line", "expected"), SCAN_KEYS, ids=[line for line, _ in SCAN_KEYS])
def test_each_key_of_a_scan_yml_sets_what_it_names(line: str, expected: dict[str, Any]) -> None:
    """And nothing else."""
    plain, made = scan("").to_dict(), scan(f"crawler:\n  {line}\n").to_dict()
    assert {name: made[name] for name in made if made[name] != plain[name]} == expected


def test_times_of_a_scan_yml_reach_the_retrieval() -> None:
    """Files and failures are good for so long, and redirects go so far."""
    made = scan(
        "crawler: {robotsTtlMinutes: 45, robotsFailTtlMinutes: 2, robotsMaxRedirects: 1,"
        " robotsTimeoutMs: 500}"
    ).retrieval
    assert (made.fresh, made.fresh_unavailable, made.retry, made.retry_most) == (
        2700,
        120,
        120,
        120,
    )
    assert (made.max_redirects, made.read, made.connect, made.total) == (1, 0.5, 0.5, 10.0)


def test_without_a_fallback_failures_are_as_in_the_rfc() -> None:
    """What cannot be reached is closed, or as it last was, for 30 days."""
    made, rfc = scan("crawler: {robotsFallbackAllowAll: false}").retrieval, profiles.get("rfc9309")
    assert (made.unreachable, made.stale_for, made.disallow_first) == (
        rfc.unreachable,
        rfc.stale_for,
        rfc.disallow_first,
    )
    assert (made.fresh, made.retry) == (1800, 600)
    assert scan("crawler: {robotsFallbackAllowAll: true}").retrieval == profiles.get("open")


def test_robots_that_are_not_respected_leave_exclusions_in_force() -> None:
    """No robots.txt is asked, every verdict says so, and exclusions hold."""
    overrides = scan("crawler: {respectRobots: false}\nexcludePaths: [/admin]").overrides
    assert str(overrides.check("https://a.example/")) == "allowed: not-respected"
    assert str(overrides.check("https://a.example/admin")) == "disallowed: excluded: /admin"


SCAN_MISTAKES = [
    ("crawlers: {}", "unknown setting 'crawlers'; did you mean 'crawler'?"),
    ("excludepaths: []", "did you mean 'excludePaths'?"),
    ("respectRobots: false", "unknown setting 'respectRobots'"),
    ("crawler: {respectRobot: false}", "'respectRobot' in crawler; did you mean 'respectRobots'?"),
    ("crawler: {robotsTTLMinutes: 1}", "did you mean 'robotsTtlMinutes'?"),
    ("crawler: {1: 2}", "unknown setting '1' in crawler"),
    ("null: 1", "unknown setting 'None'"),
    ("crawler: {2001-01-01: 2}", "unknown setting '2001-01-01' in crawler"),
    ("crawler: 1", "crawler: a table of settings is needed"),
    ("crawler: []", "crawler: a table of settings is needed"),
    ("crawler: ''", "crawler: a table of settings is needed"),
    ("- crawler", "the file: a table of settings is needed"),
    ("crawler", "the file: a table of settings is needed"),
    ("false", "the file: a table of settings is needed"),
    ("crawler: {respectRobots: 'false'}", "respect_robots"),
    ("crawler: {respectRobots: null}", "respect_robots"),
    ("crawler: {robotsUa: 1}", "agent"),
    ("crawler: {robotsUa: null}", "agent"),
    ("crawler: {robotsTtlMinutes: 0}", "fresh_minutes"),
    ("crawler: {robotsTtlMinutes: .nan}", "fresh_minutes"),
    ("crawler: {robotsTtlMinutes: .inf}", "fresh_minutes"),
    ("crawler: {robotsTtlMinutes: '30'}", "fresh_minutes"),
    ("crawler: {robotsFailTtlMinutes: -1}", "retry_minutes"),
    ("crawler: {robotsMaxRedirects: -1}", "max_redirects"),
    ("crawler: {robotsMaxRedirects: 1.5}", "max_redirects"),
    ("crawler: {robotsTimeoutMs: 0}", "read_timeout"),
    ("crawler: {robotsTimeoutMs: .nan}", "read_timeout"),
    ("crawler: {robotsTimeoutMs: '3000'}", "crawler.robotsTimeoutMs: a number is needed"),
    ("crawler: {robotsTimeoutMs: true}", "crawler.robotsTimeoutMs: a number is needed"),
    (f"crawler: {{robotsTimeoutMs: {'9' * 400}}}", "crawler.robotsTimeoutMs: out of range"),
    (f"crawler: {{robotsTimeoutMs: {'9' * 9000}}}", "not YAML"),
    ("crawler: {robotsFallbackAllowAll: 1}", "true or false is needed"),
    ("crawler: {robotsFallbackAllowAll: 'no'}", "true or false is needed"),
    ("excludePaths: /admin", "exclude"),
    ("excludePaths: ''", "exclude"),
    ("excludePaths: false", "exclude"),
    ("excludePaths: [1]", "exclude"),
    ("excludePaths: ['']", "exclude"),
    ("excludePaths: {a: b}", "exclude"),
    ("excludePaths: ['re:(?=a)']", "invalid pattern 're:(?=a)'"),
    ("!!python/object:os.system {}", "not YAML"),
    ("crawler: !!python/object/apply:os.system ['true']", "not YAML"),
    ("crawler: !!python/name:os.system", "not YAML"),
    ("crawler: !own {}", "not YAML"),
    ("crawler: !!int ''", "not YAML"),
    ("crawler: !!bool 'x'", "not YAML"),
    ("crawler: !!timestamp 'x'", "not YAML"),
    ("crawler: 2001-99-99", "not YAML"),
    ("? [a]\n: b", "not YAML"),
    ("a: b: c", "not YAML"),
    ("{", "not YAML"),
    ("[" * 50_000, "not YAML"),
    ("\x07", "not YAML"),
    ("--- {}\n--- {}", "not YAML"),
    ("crawler: &a {respectRobots: true}\nexcludePaths: *a", "aliases are not supported"),
    ("a: &a [*a]", "aliases are not supported"),
]


@pytest.mark.parametrize(
    ("text", "words"), SCAN_MISTAKES, ids=[repr(text[:40]) for text, _ in SCAN_MISTAKES]
)
def test_a_mistake_in_a_scan_yml_is_one_line(text: str, words: str) -> None:
    """Unknown keys, wrong types, and what is no plain YAML."""
    said = mistake(lambda: scan(text))
    assert said.startswith("scan.yml: ")
    assert words in said


@pytest.mark.parametrize(
    "bomb",
    [
        "a0: &a0 [x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30))
        + "crawler: {robotsFallbackAllowAll: *a29}\n",
        "a0: &a0 {x: 1}\n"
        + "".join(
            f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 30)
        ),
    ],
    ids=["lists", "merges"],
)
def test_a_bomb_does_not_go_off(bomb: str) -> None:
    """Aliases of aliases, which would be 10 to the 29th values, are refused unread."""
    assert "aliases are not supported" in mistake(lambda: scan(bomb))


def test_bytes_that_are_no_text_are_not_yaml() -> None:
    """A file in no encoding at all says so."""
    Path("scan.yml").write_bytes(b"\xff\xff\xff")
    assert "not YAML" in mistake(lambda: load("scan.yml", environment={}))


# Single hosts.


def test_a_host_has_its_own_delay_concurrency_and_respect() -> None:
    """What it does not set is as for all."""
    written(
        """
        concurrency = 3

        [hosts."intranet.example"]
        delay = 0
        concurrency = 8
        respect_robots = false

        [hosts."slow.example"]
        delay = 10.5
        """
    )
    loaded = load(environment={})
    made = loaded.settings
    assert loaded.sources["hosts"] == "manners.toml"
    assert made.hosts == {
        "intranet.example": HostSettings(delay=0.0, concurrency=8, respect_robots=False),
        "slow.example": HostSettings(delay=10.5),
    }
    assert [made.respects(name) for name in (*made.hosts, "other.example")] == [False, True, True]
    verdict = made.overrides.check("http://INTRANET.example:8080/x")
    assert str(verdict) == "allowed: not-respected"
    assert made.overrides.check("https://slow.example/") is None


def test_a_host_may_be_respected_where_others_are_not() -> None:
    """The host's own word counts, in both directions."""
    made = Settings(respect_robots=False, hosts={"a.example": HostSettings(respect_robots=True)})
    assert made.overrides.check("https://a.example/") is None
    assert str(made.overrides.check("https://b.example/")) == "allowed: not-respected"


@pytest.mark.parametrize(
    ("written_as", "url"),
    [
        ("INTRANET.Example", "http://intranet.example/"),
        ("bücher.example", "http://xn--bcher-kva.example/"),
        ("xn--bcher-kva.example", "https://BÜCHER.example/"),
        ("127.0.0.1", "http://127.0.0.1:8000/"),
        ("[::1]", "http://[0:0:0:0:0:0:0:1]:8000/"),
    ],
)
def test_a_host_is_found_however_it_is_written(written_as: str, url: str) -> None:
    """Upper case, international names and addresses are the same host."""
    written(f"[hosts.'{written_as}']\nrespect_robots = false\n")
    made = load(environment={}).settings
    assert str(made.overrides.check(url)) == "allowed: not-respected"
    again = Settings(hosts={written_as: HostSettings(respect_robots=False)})
    assert again == made


# What settings make of a profile.


def test_a_profile_is_as_it_is_unless_something_is_set() -> None:
    """Each setting of the retrieval changes its part of the profile."""
    for name in profiles.names():
        assert Settings(profile=name).retrieval == profiles.get(name)
    made = Settings(connect_timeout=1, read_timeout=2, total_timeout=3, max_redirects=4).retrieval
    assert made == profiles.get("rfc9309").but(connect=1.0, read=2.0, total=3.0, max_redirects=4)


def test_a_time_for_files_holds_against_headers_and_leaves_retry_after() -> None:
    """Cache-Control cannot change it; a site that asks for time to recover still gets it."""
    from manners.cache.freshness import fresh_for
    from manners.retrieval.outcome import Availability, Outcome, RobotsHop

    made = Settings(fresh_minutes=2).retrieval
    for header in ("max-age=0", "max-age=86400", "no-store", ""):
        found = Outcome(
            Availability.AVAILABLE, hops=(RobotsHop("", 200),), headers=(("cache-control", header),)
        )
        assert fresh_for(found, made, 0.0, 0.0) == 120.0
    busy = Outcome(Availability.UNREACHABLE, headers=(("retry-after", "7200"),))
    assert fresh_for(busy, made, 0.0, 0.0) == 7200.0
    gone = Outcome(Availability.UNAVAILABLE, hops=(RobotsHop("", 404),))
    assert fresh_for(gone, Settings(retry_minutes=3).retrieval, 0.0, 0.0) == 180.0


# What settings make of a pace and a budget.


def test_every_number_of_a_pace_is_a_setting() -> None:
    """Under the same name, with the same default, and what is set arrives."""
    assert Settings().pace == Pace()
    for name in Pace._fields:
        value = VALUES[name][0]
        more = {"max_delay": 5.0} if name == "min_delay" else {}
        assert Settings(**{name: value, **more}).pace == Pace()._replace(**{name: value, **more})


def test_a_budget_has_the_limits_that_are_set() -> None:
    """Each is a new one, with nothing used."""
    made = Settings()
    assert (made.budget.pages, made.budget.minutes) == (200, 60.0)
    made.budget.reserve(0.0)
    assert made.budget.pages_used == 0
    budget = Settings(max_pages=1, max_minutes=1.5).budget
    assert (budget.pages, budget.minutes) == (1, 1.5)
    budget.reserve(0.0)
    with pytest.raises(BudgetExceeded):
        budget.reserve(0.0)


# Whatever comes.


def quietly(content: bytes, name: str, environment: dict[str, str]) -> None:
    """Load, and let only errors of ours out; whatever loads can be used."""
    Path(name).write_bytes(content)
    said = ""
    try:
        loaded = load(name, environment=environment)
        made = loaded.settings
        _ = made.overrides, made.retrieval, made.pace.gap(1.0), made.budget
    except MissingExtra:
        raise
    except MannersError as error:
        said = str(error)
    assert said.isprintable()


NAMES = st.sampled_from([*VALUES, "concurrencyConfig", "delayConfig", "delya", "hosts.a.delay"])
SCALARS = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.sampled_from([toml for _, _, toml in VALUES.values()]),
)
SLOW = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@SLOW
@given(st.binary(max_size=200), st.sampled_from(["manners.toml", "scan.yml"]))
@example(b"crawler: !!float ''", "scan.yml")
@example(b"crawler: {<<: {respectRobots: true}}", "scan.yml")
@example(b"hosts.a.delay = 1e999", "manners.toml")
def test_no_bytes_of_a_file_make_loading_fail_otherwise(content: bytes, name: str) -> None:
    """A file loads, or is an error of this package."""
    quietly(content, name, {})


@SLOW
@given(st.lists(st.tuples(NAMES, SCALARS), max_size=4))
def test_no_values_in_toml_make_loading_fail_otherwise(pairs: list[tuple[str, Any]]) -> None:
    """Known keys with any value load, or are an error of this package."""
    lines = [
        f"{name} = {value if isinstance(value, str) and value[:1] in '[{' else json.dumps(value)}"
        for name, value in pairs
    ]
    quietly("\n".join(lines).encode(), "manners.toml", {})


YAML = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
SCAN_NAMES = [line.partition(":")[0] for line, _ in SCAN_KEYS]


@SLOW
@given(st.dictionaries(st.sampled_from(SCAN_NAMES), YAML), YAML)
def test_no_values_in_yaml_make_loading_fail_otherwise(crawler: Any, paths: Any) -> None:
    """Known keys with any value load, or are an error of this package."""
    text = json.dumps({"crawler": crawler, "excludePaths": paths})
    quietly(text.encode(), "scan.yml", {})


@SLOW
@given(
    st.dictionaries(
        st.sampled_from([f"MANNERS_{name.upper()}" for name in VALUES])
        | st.sampled_from(["MAX_PAGES", "MAX_SCAN_TIME_MINUTES", "USER_AGENT"])
        | st.text(max_size=5).map("MANNERS_".__add__),
        st.text(max_size=30) | st.sampled_from([text for _, text, _ in VALUES.values()]),
        max_size=3,
    )
)
@example({"MANNERS_HOSTS": '{"a": {"delay": 1' + "0" * 400 + "}}"})
@example({"MANNERS_EXCLUDE": '["\\ud800"]'})
def test_no_strings_of_the_environment_make_loading_fail_otherwise(
    environment: dict[str, str],
) -> None:
    """An environment loads, or is an error of this package."""
    quietly(b"", "manners.toml", environment)


# Without the libraries.


@pytest.mark.parametrize(
    ("library", "statement", "words"),
    [
        ("msgspec", "from manners.settings import load", "'crawl' needs 'msgspec'"),
        ("msgspec", "import manners; manners.Settings", "'crawl' needs 'msgspec'"),
        (
            "yaml",
            "import manners; manners.Settings.load('scan.yml')",
            "'crawl' needs 'pyyaml'",
        ),
        (
            "re2",
            "import manners; manners.Settings(exclude=['*a'])",
            "'crawl' needs 'google-re2'",
        ),
    ],
)
def test_a_library_that_is_not_installed_is_named(library: str, statement: str, words: str) -> None:
    """The error is a MissingExtra with the line to type."""
    written("", "scan.yml")
    script = (
        f"import sys; sys.modules[{library!r}] = None\nfrom manners.errors import MissingExtra\n"
        f"try:\n    {statement}\nexcept MissingExtra as error:\n    print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{words}: pip install 'manners[crawl]'\n"


def test_prefixes_need_no_library() -> None:
    """Only globs and expressions need google-re2."""
    script = (
        "import sys; sys.modules['re2'] = None\nimport manners\n"
        "print(manners.Settings(exclude=['/a']).overrides.check('http://a/a'))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "disallowed: excluded: /a\n"


# Old names.


OLD_NAMES = list(RENAMED.items())


@pytest.mark.parametrize(("old", "new"), OLD_NAMES)
def test_an_old_name_works_with_a_warning_in_every_layer(old: str, new: str) -> None:
    """Keyword, change, attribute, option, variable and file; the warning names the new name."""
    value, text, toml = VALUES[new]
    more: dict[str, Any] = {"max_delay": 5.0} if new == "min_delay" else {}
    file = written(f"{old} = {toml}\n", "old.toml")
    warning = f"{old!r} is now {new!r}; the old name works until 1.0"
    settings = [
        warned(lambda: Settings(**{old: value}, **more), f"keyword: {warning}"),
        warned(lambda: Settings(**more).but(**{old: value}), f"keyword: {warning}"),
        warned(lambda: Settings.load(options={old: value, **more}), warning),
        warned(
            lambda: Settings.load(environment={f"MANNERS_{old.upper()}": text}, options=more),
            f"environment: MANNERS_{old.upper()}: {warning}",
        ),
        warned(lambda: Settings.load(file, options=more), f"old.toml: {warning}"),
    ]
    assert [getattr(made, new) for made in settings] == [value] * 5
    assert warned(lambda: getattr(settings[0], old), f"attribute: {warning}") == value


def warned(work: Callable[[], Any], message: str) -> Any:
    """What comes of some work that warns once, and points at this file."""
    with pytest.warns(DeprecationWarning, match="until 1.0") as caught:
        result = work()
    assert [(str(each.message).endswith(message), each.filename) for each in caught] == [
        (True, __file__)
    ]
    return result


def test_an_old_name_beside_the_new_one_is_an_error() -> None:
    """Nobody has to guess which of the two counts."""
    words = "'delay_least' is the old name of 'min_delay': remove it"
    both: dict[str, Any] = {"delay_least": 0.1, "min_delay": 0.2}
    assert mistake(lambda: Settings(**both)) == f"keyword: {words}"
    file = written("delay_least = 0.1\nmin_delay = 0.2\n")
    assert mistake(lambda: load(file, environment={})) == f"{file}: {words}"


def test_a_value_that_fits_no_old_name_is_refused_as_for_the_new_one() -> None:
    """The old name is another name for the same setting."""
    wrong: dict[str, Any] = {"page_redirects": -1}
    with pytest.warns(DeprecationWarning, match="page_max_redirects"):
        assert mistake(lambda: Settings(**wrong)).startswith("page_max_redirects: ")
    with pytest.raises(AttributeError, match="no attribute 'delay_middle'"):
        _ = Settings().delay_middle  # type: ignore[attr-defined]


def test_the_old_name_of_the_settings_of_a_host_works() -> None:
    """`manners.settings.Host` is deprecated, not gone."""
    import manners.settings

    with pytest.warns(DeprecationWarning, match=r"HostSettings; works until 1\.0"):
        assert manners.settings.Host is HostSettings  # type: ignore[attr-defined]


def test_the_old_name_of_the_overrides() -> None:
    """It works until 1.0, with a warning."""
    with pytest.warns(DeprecationWarning, match="Settings.rulings is now Settings.overrides"):
        overrides = Settings(exclude=("/admin",)).rulings
    assert overrides.check("https://a.example/admin") is not None
