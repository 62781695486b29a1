"""`manners settings`, and commands that do as settings say."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from manners.cli import main
from manners.settings import Settings, load
from manners.settings.systems import AUDIT
from tests.cli.running import PlainSite, serving

ROBOTS = """\
User-agent: *
Disallow: /private/

User-agent: MyBot
User-agent: WebKillerAI
Disallow: /bots/
"""
SCAN = """\
crawler:
  respectRobots: true
  robotsUa: "WebKillerAI"
excludePaths:
  - "/admin"
"""


@pytest.fixture(autouse=True)
def _a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run in a folder with a robots.txt, and with nothing in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith("MANNERS_") or name in AUDIT.names:
            monkeypatch.delenv(name)
    Path("robots.txt").write_text(ROBOTS)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command: its exit code, what it prints, and what it complains about."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def write(text: str, name: str = "manners.toml") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


# What is in force.


def rows(out: str) -> dict[str, tuple[str, str]]:
    """The table by setting: value and source."""
    header, *lines = out.splitlines()
    value, source = header.index("VALUE"), header.index("FROM")
    return {
        line[:value].strip(): (line[value:source].strip(), line[source:].strip()) for line in lines
    }


def test_settings_are_shown_with_where_each_came_from(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every setting has a row: name, value, source."""
    write("max_pages = 7\nexclude = ['/a', '/b']\n[hosts.'A.example']\ndelay = 2\n")
    monkeypatch.setenv("MANNERS_AGENT", "MyBot")
    monkeypatch.setenv("MANNERS_USER_AGENT", "Other/1.0")
    code, out, err = run("settings")
    assert (code, err) == (0, "")
    found = rows(out)
    assert list(found) == list(Settings().to_dict())
    assert found["max_pages"] == ("7", "manners.toml")
    assert found["exclude"] == ('["/a", "/b"]', "manners.toml")
    assert found["hosts"] == (
        '{"a.example": {"delay": 2.0, "concurrency": null, "respect_robots": null}}',
        "manners.toml",
    )
    assert found["agent"] == ("MyBot", "environment: MANNERS_AGENT")
    assert found["user_agent"] == ("Other/1.0", "environment: MANNERS_USER_AGENT")
    assert found["dialect"] == ("rfc9309", "default")
    assert found["proxy"] == ("-", "default")
    assert found["respect_robots"] == ("true", "default")


def test_settings_are_shown_in_json(run: Any) -> None:
    """An object a line: name, value, from."""
    write("max_pages = 7\n")
    code, out, _ = run("settings", "--json")
    read = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {tuple(each) for each in read} == {("name", "value", "from")}
    found = load(environment={})
    values = json.loads(json.dumps(found.settings.to_dict() | found.settings.identity._asdict()))
    assert {each["name"]: each["value"] for each in read} == values
    assert {each["name"]: each["from"] for each in read} == found.sources


def test_another_file_can_be_named(run: Any) -> None:
    """`--config` takes the place of manners.toml; a scan.yml counts only so."""
    write("max_pages = 7\n")
    write("max_pages = 8\n", "other.toml")
    write(SCAN, "scan.yml")
    assert rows(run("settings")[1])["max_pages"] == ("7", "manners.toml")
    assert rows(run("settings")[1])["dialect"] == ("rfc9309", "default")
    assert rows(run("settings", "--config", "other.toml")[1])["max_pages"] == ("8", "other.toml")
    found = rows(run("settings", "--config", "scan.yml")[1])
    assert found["max_pages"] == ("7", "manners.toml")  # below the scan.yml
    assert found["dialect"] == ("scanner", "scan.yml")
    assert found["agent"] == ("WebKillerAI", "scan.yml: crawler.robotsUa")
    assert found["exclude"] == ('["/admin"]', "scan.yml: excludePaths")


def test_passwords_are_not_shown(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of a store or a proxy is shown without credentials."""
    monkeypatch.setenv("MANNERS_CACHE", "valkey://user:secret@store.example/0")
    monkeypatch.setenv("MANNERS_POLITENESS", "valkeys://:secret@fleet.example/0")
    monkeypatch.setenv("MANNERS_PROXY", "http://user:secret@proxy.example:3128")
    for options in ([], ["--json"]):
        _, out, _ = run("settings", *options)
        assert "secret" not in out
        assert "store.example" in out
        assert "fleet.example" in out
        assert "proxy.example" in out


def test_hostile_values_are_escaped(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in a file or in the environment does not reach a terminal raw."""
    monkeypatch.setenv("MANNERS_AGENT", "a\x1b[2J\u202e")
    for options in ([], ["--json"]):
        _, out, _ = run("settings", *options)
        assert "\x1b" not in out
        assert "\u202e" not in out


MISTAKES: list[tuple[dict[str, str], dict[str, str], str]] = [
    (
        {"manners.toml": "dialcet = 'x'"},
        {},
        "manners.toml: unknown setting 'dialcet'; did you",
    ),
    ({"manners.toml": "a = "}, {}, "manners.toml: not TOML: "),
    (
        {"manners.toml": "dialect = 'x'"},
        {},
        "manners.toml: dialect: unknown dialect 'x'; choose from",
    ),
    ({"scan.yml": "- a"}, {}, "scan.yml: the file: a table"),
    ({"scan.yml": "{"}, {}, "scan.yml: not YAML: "),
    ({"none.toml": ""}, {}, "none.toml: cannot be read: No such file"),
    ({}, {"MANNERS_DIALCT": "x"}, "did you mean 'MANNERS_DIALECT'?"),
    (
        {"manners.toml": "like = 'audit'"},
        {"USER_AGENT": "é"},
        "environment: USER_AGENT: user_agent: ",
    ),
]


@pytest.mark.parametrize(
    "command",
    [["settings"], ["check", "http://a.example/"], ["check", "--robots", "robots.txt", "/"]],
    ids=["settings", "check", "check --robots"],
)
@pytest.mark.parametrize("mistake", MISTAKES, ids=[words for _, _, words in MISTAKES])
def test_a_mistake_in_the_settings_is_one_line(
    run: Any, monkeypatch: pytest.MonkeyPatch, mistake: Any, command: list[str]
) -> None:
    """Exit code 2, and the place is named."""
    files, variables, words = mistake
    for name, text in files.items():
        if text:
            write(text, name)
        if name != "manners.toml":
            command = [*command, "--config", name]
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    code, out, err = run(*command)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("manners: ")
    assert words in err


# A file at hand.


def test_a_file_at_hand_is_read_as_settings_say(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Agent and dialect come from the settings, unless options say otherwise."""
    command = ["check", "--robots", "robots.txt", "/bots/x"]
    assert run(*command)[0] == 0
    write("agent = 'MyBot'\n")
    assert run(*command)[:2] == (1, "disallowed  /bots/x  line 6: Disallow: /bots/\n")
    assert run(*command, "--agent", "Other")[0] == 0
    write("agent = 'MyBot'\ndialect = 'scanner'\n")  # there, the rule is the last agent's
    assert run(*command)[0] == 0
    assert run(*command, "--dialect", "rfc9309")[0] == 1
    monkeypatch.setenv("MANNERS_DIALECT", "rfc9309")
    assert run(*command)[0] == 1
    monkeypatch.setenv("MANNERS_AGENT", "Other")
    assert run(*command)[0] == 0


def test_the_older_name_of_the_agent_counts(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `like = "audit"`, USER_AGENT decides verdicts."""
    monkeypatch.setenv("USER_AGENT", "MyBot/1.0")
    assert run("check", "--robots", "robots.txt", "/bots/x")[0] == 0
    write("like = 'audit'\n")
    assert run("check", "--robots", "robots.txt", "/bots/x")[0] == 1


def test_exclusions_hold_for_a_file_at_hand(run: Any) -> None:
    """Exclusions and inclusions win, and say so."""
    write("exclude = ['/admin', 're:token=']\ninclude = ['/']\n")
    code, out, _ = run("check", "--robots", "robots.txt", "/admin/x", "/a?token=1", "/a")
    assert code == 1
    assert out.splitlines() == [
        "disallowed  /admin/x  excluded: /admin",
        "disallowed  /a?token=1  excluded: re:token=",
        "allowed     /a  no-rule-matched",
    ]
    write("include = ['/docs/']\n")
    code, out, _ = run("check", "--robots", "robots.txt", "--json", "/docs/a", "/b")
    inside, outside = map(json.loads, out.splitlines())
    assert (code, inside["allowed"], outside["allowed"]) == (1, True, False)
    assert (outside["reason"], outside["line_text"]) == ("excluded", "include: no pattern matches")


def test_exclusions_are_the_same_for_every_agent(run: Any) -> None:
    """In a table of agents, each has the verdict."""
    write("exclude = ['/admin']\n")
    agents = ["--agent", "MyBot", "--agent", "Other"]
    _, out, _ = run("check", "--robots", "robots.txt", "/admin", *agents)
    assert out.splitlines()[1].split() == ["disallowed", "disallowed", "/admin"]


def test_a_scan_yml_for_a_file_at_hand(run: Any) -> None:
    """Dialect, agent and exclusions are the scanner's."""
    write(SCAN, "scan.yml")
    command = ["check", "--robots", "robots.txt", "--config", "scan.yml"]
    code, out, _ = run(*command, "/bots/x", "/admin", "/private/x")
    assert code == 1
    assert out.splitlines() == [
        "disallowed  /bots/x  line 6: Disallow: /bots/",
        "disallowed  /admin  excluded: /admin",
        "allowed     /private/x  no-rule-matched",
    ]


# Sites.


class Site(PlainSite):
    """A site with one file, and with trouble at another address."""

    asked: list[tuple[str, str]]

    def visit(self) -> None:
        self.asked.append((self.headers["Host"].partition(":")[0], self.headers["User-Agent"]))
        broken = self.headers["Host"].startswith("127.0.0.2")
        self.answer(500, b"") if broken else self.answer(200, ROBOTS.encode())


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadingHTTPServer]:
    Site.asked = []
    with serving(Site) as server:
        yield server


@pytest.fixture
def port(server: ThreadingHTTPServer) -> int:
    Site.asked.clear()
    return server.server_port


def test_sites_are_asked_as_settings_say(
    run: Any, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Addresses, introduction, agent and profile come from the settings."""
    write("allow_private = true\nuser_agent = 'Me/1'\nagent = 'MyBot'\nprofile = 'open'\n")
    urls = [f"http://127.0.0.1:{port}/bots/x", f"http://127.0.0.2:{port}/"]
    code, out, err = run("check", *urls)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        f"disallowed  {urls[0]}  line 6: Disallow: /bots/",
        f"allowed     {urls[1]}  unreachable (500)",
    ]
    assert {sent for _, sent in Site.asked} == {"Me/1"}
    monkeypatch.setenv("MANNERS_PROFILE", "rfc9309")
    assert "disallowed" in run("check", urls[1])[1]
    assert run("check", urls[1], "--profile", "open")[0] == 0
    assert run("robots", urls[0], "--user-agent", "You/2")[0] == 0
    assert Site.asked[-1] == ("127.0.0.1", "You/2")


def test_what_is_excluded_is_not_asked(run: Any, port: int) -> None:
    """Exclusions cost no request."""
    write("allow_private = true\nexclude = ['/admin']\n")
    url = f"http://127.0.0.1:{port}/admin"
    code, out, _ = run("check", url)
    assert (code, out) == (1, f"disallowed  {url}  excluded: /admin\n")
    assert Site.asked == []


def test_who_is_not_respected_is_not_asked(run: Any, port: int) -> None:
    """Every verdict says so, exclusions hold, and nobody gets a request."""
    write("allow_private = true\nrespect_robots = false\nexclude = ['/admin']\n")
    urls = [f"http://127.0.0.1:{port}/private/x", f"http://127.0.0.1:{port}/admin"]
    code, out, _ = run("check", "--json", *urls)
    first, second = map(json.loads, out.splitlines())
    assert (code, first["allowed"], first["reason"]) == (1, True, "not-respected")
    assert (second["allowed"], second["reason"]) == (False, "excluded")
    assert Site.asked == []


def test_single_hosts_are_not_respected(run: Any, port: int) -> None:
    """One host is not asked, the others are."""
    write("allow_private = true\n[hosts.'127.0.0.1']\nrespect_robots = false\n")
    urls = [f"http://127.0.0.1:{port}/private/x", f"http://127.0.0.3:{port}/private/x"]
    code, out, _ = run("check", *urls)
    assert code == 1
    assert out.splitlines() == [
        f"allowed     {urls[0]}  not-respected",
        f"disallowed  {urls[1]}  line 2: Disallow: /private/",
    ]
    assert [host for host, _ in Site.asked] == ["127.0.0.3"]


def test_a_bad_url_is_a_result_whoever_is_respected(run: Any) -> None:
    """What is no URL is answered as such."""
    write("respect_robots = false\n")
    code, out, _ = run("check", "mailto:x", "http://a.example/")
    assert code == 3
    assert [line.split()[0] for line in out.splitlines()] == ["invalid-url", "allowed"]


def test_a_scan_yml_for_sites(run: Any, port: int) -> None:
    """Failures are open, unless the file says otherwise."""
    url = f"http://127.0.0.2:{port}/"
    command = ["check", "--allow-private", "--json", url, "--config"]
    code, out, _ = run(*command, write(SCAN, "scan.yml"))
    found = json.loads(out)
    assert (code, found["reason"], found["dialect"]) == (0, "unreachable", "scanner")
    assert found["retrieval"]["confidence"] == "low"
    closed = write("crawler: {robotsFallbackAllowAll: false}", "closed.yml")
    code, out, _ = run(*command, closed)
    assert (code, json.loads(out)["retrieval"]["confidence"]) == (1, "high")
    ignored = write("crawler: {respectRobots: false}", "ignored.yml")
    code, out, _ = run(*command, ignored)
    assert (code, json.loads(out)["reason"]) == (0, "not-respected")


def test_like_and_timeout_are_options(run: Any, port: int) -> None:
    """`--like` beats a file, and what is said outright beats `--like`."""
    write("allow_private = true\ndialect = 'google'\nprofile = 'google'\n")
    url = f"http://127.0.0.2:{port}/"
    found = json.loads(run("check", "--json", url, "--like", "audit")[1])
    assert (found["dialect"], found["allowed"]) == ("audit", True)
    found = json.loads(run("check", "--json", url, "--like", "audit", "--profile", "rfc9309")[1])
    assert (found["dialect"], found["allowed"]) == ("audit", False)
    code, _, err = run("check", url, "--timeout", "300")
    assert code == 2
    assert "manners: --timeout: total_timeout, lease: " in err


# Without the library.


def without_msgspec(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command, where msgspec is not installed."""
    script = (
        "import sys; sys.modules['msgspec'] = None; from manners.cli import main; sys.exit(main())"
    )
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )


def test_a_file_at_hand_needs_no_settings() -> None:
    """Without msgspec, `check --robots` works as long as there is nothing to load."""
    ran = without_msgspec("check", "--robots", "robots.txt", "/private/x", MANNERS_PURE="0")
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout == "disallowed  /private/x  line 2: Disallow: /private/\n"


@pytest.mark.parametrize(
    ("arguments", "variables", "toml"),
    [
        (["--config", "x.toml"], {}, None),
        (["--log-matches"], {}, None),
        (["--log-level", "info"], {}, None),
        ([], {"MANNERS_AGENT": "MyBot"}, None),
        ([], {"MANNERS_LIKE": "audit"}, None),
        ([], {}, "agent = 'MyBot'"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_read_are_not_passed_over(
    arguments: list[str], variables: dict[str, str], toml: str | None
) -> None:
    """Where there are settings and no msgspec, the line to type is printed."""
    if toml is not None:
        write(toml)
    ran = without_msgspec("check", "--robots", "robots.txt", "/", *arguments, **variables)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "manners: 'crawl' needs 'msgspec': pip install 'manners[crawl]'\n"


@pytest.mark.parametrize("command", [["settings"], ["check", "http://a.example/"]], ids=str)
def test_commands_that_need_settings_say_what_is_missing(command: list[str]) -> None:
    """The line to type, and exit code 2."""
    ran = without_msgspec(*command)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "manners: 'crawl' needs 'msgspec': pip install 'manners[crawl]'\n"


def test_an_old_name_of_a_setting_is_one_warning(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the place and the new name, and the command goes on."""
    Path("manners.toml").write_text("delay_least = 0.1\n", encoding="utf-8")
    monkeypatch.setenv("MANNERS_SLOT_WAIT", "3")
    words = "the old name works until 1.0"
    lines = [
        f"manners: warning: manners.toml: 'delay_least' is now 'min_delay'; {words}",
        "manners: warning: environment: MANNERS_SLOT_WAIT:"
        f" 'slot_wait' is now 'slot_timeout'; {words}",
    ]
    for arguments in (["settings"], ["check", "--robots", "robots.txt", "/"]):
        code, _, err = run(*arguments)
        assert (code, err.splitlines()) == (0, lines)
