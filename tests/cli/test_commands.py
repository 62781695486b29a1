"""The command: check, explain, dialects and --version, from arguments to exit codes."""

import io
import json
import os
import platform
import queue
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import IO

import pytest

import manners
from manners.cli import main
from manners.cli.render import styled
from tests.cli import running
from tests.test_values import FIELDS

SAMPLE = """\
# a sample
User-agent: MyBot
Disallow: /private/
Allow: /private/open

User-agent: *
Disallow: /
"""

DIALECTS = ["rfc9309", "google", "specificity", "robotrules", "scanner", "audit"]

KEYS = set(FIELDS["Verdict"])

HOSTILE = "\x1b]0;x\x07\x9b31m\x85\u202e"
"""Sets a terminal's title, starts a colour by a C1 control, breaks the line, turns text around."""


class Ran(running.Ran):
    """What one run of the command left behind; only a line feed ends a line."""

    @property
    def lines(self) -> list[str]:
        return self.out.split("\n")[:-1] if self.out else []


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def plain_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours and widths are the command's own choice."""
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "PYTHONUNBUFFERED", "PYTHONIOENCODING"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in this process, with `stdin` as its standard input."""

    def run(*arguments: str | Path, stdin: bytes | str = b"") -> Ran:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Ran(code, *capsys.readouterr())

    return run


def run_outside(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> Ran:
    """Run the command as its users do, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "manners", *map(str, arguments)],
        check=False,
        input=stdin,
        capture_output=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "robots.txt"
    path.write_text(SAMPLE, encoding="utf-8")
    return path


def answers(line: str) -> list[str]:
    """The words "allowed" and "disallowed" of a line, in order."""
    return re.findall(r"\b(?:dis)?allowed\b", line)


def assert_refused(ran: Ran, *words: str) -> None:
    """Assert that a run ended as a usage error does: one line on standard error, code 2."""
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("manners: ")
    assert ran.err.endswith("\n")
    assert len(ran.err.splitlines()) == 1
    for word in words:
        assert word in ran.err


def assert_nothing_raw(text: str) -> None:
    """Assert that no control character but the line ending, and no override, is in a text."""
    raw = {character for character in text if re.match(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", character)}
    assert not raw
    assert "\u202e" not in text


# check: verdict lines and exit codes


def test_a_disallowed_url(run: Run, sample: Path) -> None:
    """A verdict line names answer, URL, line number and rule, and the exit code is 1."""
    ran = run("check", "--robots", sample, "--agent", "MyBot", "https://example.com/private/x")
    assert (ran.code, ran.err, len(ran.lines)) == (1, "", 1)
    (line,) = ran.lines
    assert answers(line.replace("https://example.com/private/x", "")) == ["disallowed"]
    assert "https://example.com/private/x" in line
    assert re.search(r"\b3\b", line)
    assert "/private/" in line.replace("https://example.com/private/x", "")


def test_an_allowed_url(run: Run, sample: Path) -> None:
    """An allowing rule is named as a disallowing one is, and the exit code is 0."""
    ran = run("check", "--robots", sample, "--agent", "MyBot", "https://example.com/private/open")
    assert (ran.code, ran.err, len(ran.lines)) == (0, "", 1)
    assert answers(ran.out) == ["allowed"]
    assert re.search(r"\b4\b", ran.out)


def test_a_url_no_rule_matches(run: Run, sample: Path) -> None:
    """An answer without a rule is one line too."""
    ran = run("check", "--robots", sample, "--agent", "MyBot", "/elsewhere")
    assert (ran.code, len(ran.lines), answers(ran.out)) == (0, 1, ["allowed"])
    assert "/elsewhere" in ran.out


def test_several_urls(run: Run, sample: Path) -> None:
    """Each URL gets its line, in the order asked, and one disallowed URL makes the code 1."""
    paths = ["/a", "/private/x", "/private/open"]
    ran = run("check", "--robots", sample, "--agent", "MyBot", *paths)
    assert ran.code == 1
    assert [answers(line) for line in ran.lines] == [["allowed"], ["disallowed"], ["allowed"]]
    for path, line in zip(paths, ran.lines, strict=True):
        assert path in line


def test_all_allowed(run: Run, sample: Path) -> None:
    """The exit code is 0 when every URL is allowed."""
    assert run("check", "--robots", sample, "--agent", "MyBot", "/a", "/b", "/c").code == 0


def test_the_default_agent_is_everyone(run: Run, sample: Path) -> None:
    """Without --agent the answer is the wildcard group's."""
    ran = run("check", "--robots", sample, "/a")
    assert (ran.code, answers(ran.out)) == (1, ["disallowed"])
    assert re.search(r"\b7\b", ran.out)


@pytest.mark.parametrize(
    ("agent", "code"), [("MyBot", 0), ("mybot/2.0 (+https://example.com/)", 0), ("Other", 1)]
)
def test_an_agent_may_be_a_whole_header(run: Run, sample: Path, agent: str, code: int) -> None:
    """The agent's product token finds its group."""
    assert run("check", "--robots", sample, "--agent", agent, "/a").code == code


def test_any_string_is_a_url(run: Run, sample: Path) -> None:
    """With a file at hand nothing has to be fetched, so nothing is an invalid URL."""
    strings = ["", "/", "http://[", "http://a:99999/private/", "mailto:x", "a b", "%", "::", "\\"]
    ran = run("check", "--robots", sample, "--agent", "MyBot", "--json", *strings)
    assert [record["url"] for record in ran.objects] == strings
    assert [record["path"] for record in ran.objects if not record["allowed"]] == ["/private/"]


def test_long_urls_are_not_wrapped(run: Run, sample: Path) -> None:
    """A line is as long as its URL asks, whatever the width of a terminal."""
    url = "https://example.com/" + "a-" * 200
    ran = run("check", "--robots", sample, "--agent", "MyBot", url)
    assert (ran.code, len(ran.lines)) == (0, 1)
    assert url in ran.out


def test_nothing_is_coloured_away_from_a_terminal(run: Run, sample: Path) -> None:
    """Captured output has no escape sequence."""
    for command in (["check", "/a"], ["explain", "/a"]):
        assert "\x1b" not in run(*command, "--robots", sample).out


# check: dialects


@pytest.mark.parametrize(
    ("dialect", "allowed"),
    [
        ("rfc9309", True),
        ("google", True),
        ("specificity", True),
        ("robotrules", False),
        ("scanner", True),
        ("audit", True),
    ],
)
def test_check_in_a_dialect(run: Run, sample: Path, dialect: str, allowed: bool) -> None:
    """The dialect decides how the file is read: the one of 1994 knows no Allow."""
    ran = run(
        *("check", "--robots", sample, "--agent", "MyBot", "--dialect", dialect, "--json"),
        "/private/open",
    )
    assert ran.code == (0 if allowed else 1)
    (record,) = ran.objects
    assert (record["allowed"], record["dialect"]) == (allowed, dialect)


def test_google_is_passed_a_product_token(run: Run, sample: Path) -> None:
    """Google compares the agent as it is passed, so the command passes its product token."""
    ran = run(
        *("check", "--robots", sample, "--dialect", "google", "--agent", "MyBot/2.1 (+http://x)"),
        "/a",
    )
    assert ran.code == 0


def test_audit_is_passed_the_whole_agent(run: Run, tmp_path: Path) -> None:
    """The exact match of dialect audit is with the whole agent string."""
    path = tmp_path / "robots.txt"
    path.write_text(
        "User-agent: AEO-Audit\nDisallow: /\n\nUser-agent: AEO-Audit/1.0\nDisallow: /a\n"
    )
    arguments = ("check", "--robots", path, "--dialect", "audit", "--agent", "AEO-Audit/1.0")
    assert run(*arguments, "/b").code == 0
    assert run(*arguments, "/a").code == 1


# check: several agents


def test_several_agents_make_a_table(run: Run, sample: Path) -> None:
    """Two agents give a row for each URL and a column for each agent."""
    ran = run(
        *("check", "--robots", sample, "--agent", "MyBot", "--agent", "OtherBot"),
        *("/one", "/private/two", "/private/open/three"),
    )
    assert ran.code == 1
    head = next(line for line in ran.lines if "MyBot" in line)
    assert head.index("MyBot") < head.index("OtherBot")
    rows = {
        path: [line for line in ran.lines if path in line and line is not head]
        for path in ("/one", "/private/two", "/private/open/three")
    }
    assert {path: len(lines) for path, lines in rows.items()} == dict.fromkeys(rows, 1)
    assert {path: answers(lines[0]) for path, lines in rows.items()} == {
        "/one": ["allowed", "disallowed"],
        "/private/two": ["disallowed", "disallowed"],
        "/private/open/three": ["allowed", "disallowed"],
    }


def test_several_agents_all_allowed(run: Run, tmp_path: Path) -> None:
    """The exit code is 0 when every agent may fetch every URL."""
    path = tmp_path / "robots.txt"
    path.write_text("User-agent: *\nDisallow: /a\n")
    arguments = ("check", "--robots", path, "--agent", "One", "--agent", "Two")
    assert run(*arguments, "/b", "/c").code == 0
    assert run(*arguments, "/b", "/a").code == 1


def test_a_table_of_long_urls_has_one_row_each(run: Run, sample: Path) -> None:
    """A row is as long as its URL asks."""
    urls = [f"https://example.com/{'a-' * 100}{number}" for number in range(3)]
    ran = run("check", "--robots", sample, "--agent", "MyBot", "--agent", "Other", *urls)
    for url in urls:
        assert [answers(line) for line in ran.lines if url in line] == [["allowed", "disallowed"]]


# check: JSON


def test_json(run: Run, sample: Path) -> None:
    """Each URL is one object on one line: what `to_dict()` returns."""
    urls = ["https://example.com/private/x", "/private/open", "/elsewhere"]
    ran = run("check", "--robots", sample, "--agent", "MyBot", "--json", *urls)
    robots = manners.parse(SAMPLE)
    expected = [robots.check(url, agent="MyBot").to_dict() for url in urls]
    assert ran.code == 1
    assert ran.objects == json.loads(json.dumps(expected))
    assert [set(record) for record in ran.objects] == [KEYS] * 3
    assert [record["line"] for record in ran.objects] == [3, 4, 0]


def test_json_of_several_agents(run: Run, sample: Path) -> None:
    """Several agents give an object for each URL and agent, URL by URL."""
    urls, agents = ["/one", "/private/two"], ["MyBot", "OtherBot"]
    ran = run(
        "check", "--robots", sample, "--json", *urls, *(f"--agent={agent}" for agent in agents)
    )
    robots = manners.parse(SAMPLE)
    expected = [robots.check(url, agent=agent).to_dict() for url in urls for agent in agents]
    assert ran.objects == json.loads(json.dumps(expected))


# check: where the URLs and the file come from


@pytest.mark.parametrize("arguments", [[], ["-"], ["--urls", "-"]], ids=["none", "-", "--urls -"])
def test_urls_from_standard_input(run: Run, sample: Path, arguments: list[str]) -> None:
    """Without a URL, or with a dash for one, URLs are read line by line, blank ones skipped."""
    ran = run(
        *("check", "--robots", sample, "--agent", "MyBot", "--json", *arguments),
        stdin="/a\n\n/private/x\r\n   \nhttps://example.com/b",
    )
    assert ran.code == 1
    assert [record["url"] for record in ran.objects] == [
        "/a",
        "/private/x",
        "https://example.com/b",
    ]


def test_urls_from_a_file(run: Run, sample: Path, tmp_path: Path) -> None:
    """`--urls` names a file with one URL a line."""
    listed = tmp_path / "urls.txt"
    listed.write_bytes(b"/a\n\r\n/private/x\r\n/b\n")
    ran = run("check", "--robots", sample, "--agent", "MyBot", "--json", "--urls", listed)
    assert ran.code == 1
    assert [record["url"] for record in ran.objects] == ["/a", "/private/x", "/b"]


def test_no_urls_at_all(run: Run, sample: Path) -> None:
    """An empty list of URLs has nothing disallowed in it; a warning says that it is empty."""
    ran = run("check", "--robots", sample, stdin=b"")
    assert (ran.code, ran.err) == (0, "manners: warning: no URL in standard input\n")


def test_urls_end_at_line_endings_only(run: Run, sample: Path) -> None:
    """Characters that other software takes for a line ending are part of the URL."""
    url = "/a\x0bb\x0cc\x1cd\x85e\u2028f"
    ran = run("check", "--robots", sample, "--json", stdin=f"{url}\n")
    assert [record["url"] for record in ran.objects] == [url]


def test_a_file_from_standard_input(run: Run) -> None:
    """`--robots -` reads the file from standard input, its URLs from the arguments."""
    ran = run("check", "--robots", "-", "--agent", "MyBot", "/private/x", stdin=SAMPLE)
    assert (ran.code, answers(ran.out)) == (1, ["disallowed"])


@pytest.mark.parametrize("arguments", [[], ["-"], ["--urls", "-"], ["/a", "-"]])
def test_file_and_urls_cannot_share_standard_input(run: Run, arguments: list[str]) -> None:
    """`--robots -` together with URLs on standard input is a usage error."""
    assert_refused(run("check", "--robots", "-", *arguments, stdin=SAMPLE))


def test_an_empty_file_allows(run: Run, tmp_path: Path) -> None:
    """A file that says nothing forbids nothing."""
    path = tmp_path / "robots.txt"
    path.write_bytes(b"")
    ran = run("check", "--robots", path, "--json", "/a")
    assert (ran.code, ran.objects[0]["reason"]) == (0, "no-group")


def test_an_empty_file_from_standard_input_allows(run: Run) -> None:
    """Standard input may be an empty file too."""
    assert run("check", "--robots", "-", "/a", stdin=b"").code == 0


def test_a_file_that_is_not_utf8(run: Run, tmp_path: Path) -> None:
    """Bytes of another encoding are matched as the bytes they are."""
    path = tmp_path / "robots.txt"
    path.write_bytes(b"User-agent: *\nDisallow: /caf\xe9\nDisallow: /x\xff\xfe\x00\n")
    ran = run("check", "--robots", path, "--json", "/caf%E9", "/caf%C3%A9")
    assert ran.code == 1
    assert [record["allowed"] for record in ran.objects] == [False, True]
    assert run("check", "--robots", path, "/caf%E9").code == 1
    assert run("explain", "/caf%E9", "--robots", path).code == 1


def test_a_million_characters_of_url(run: Run, sample: Path) -> None:
    """A very long URL is answered like any other, in one line."""
    url = "https://example.com/private/" + "a" * 1_000_000
    arguments = ("check", "--robots", sample, "--agent", "MyBot")
    for ran in (run(*arguments, url), run(*arguments, stdin=f"{url}\n")):
        assert (ran.code, len(ran.lines)) == (1, 1)
        assert "disallowed" in answers(ran.out)
    assert run(*arguments, "--json", url).objects[0]["url"] == url


# Usage errors


@pytest.mark.parametrize("command", ["check", "explain"])
def test_no_such_file(run: Run, tmp_path: Path, command: str) -> None:
    """A file that is not there is named in one line."""
    assert_refused(run(command, "--robots", tmp_path / "missing.txt", "/a"), "missing.txt")


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_directory_is_no_file(run: Run, tmp_path: Path, command: str) -> None:
    """A directory where a file is expected is named in one line."""
    assert_refused(run(command, "--robots", tmp_path, "/a"), tmp_path.name)


def test_no_such_list_of_urls(run: Run, sample: Path, tmp_path: Path) -> None:
    """A list of URLs that is not there is named in one line."""
    missing = tmp_path / "missing-urls.txt"
    assert_refused(run("check", "--robots", sample, "--urls", missing), "missing-urls.txt")
    assert_refused(run("check", "--robots", sample, "--urls", tmp_path), tmp_path.name)


@pytest.mark.parametrize("command", ["check", "explain"])
def test_an_unknown_dialect(run: Run, sample: Path, command: str) -> None:
    """An unknown dialect is answered with those there are."""
    ran = run(command, "--robots", sample, "--dialect", "klingon", "/a")
    assert_refused(ran, "klingon", *DIALECTS)


@pytest.mark.parametrize("dialect", ["", "__init__", "../rfc9309", "RFC9309 ", "a.b", "\x1b[31m"])
def test_a_dialect_is_a_name_and_nothing_else(run: Run, sample: Path, dialect: str) -> None:
    """A dialect that looks like a module or a path is unknown like any other."""
    ran = run("check", "--robots", sample, "--dialect", dialect, "/a")
    assert_refused(ran, *DIALECTS)
    assert_nothing_raw(ran.err)


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--frobnicate", "/a"],
        ["explain", "/a", "--frobnicate"],
        ["dialects", "--frobnicate"],
        ["--frobnicate"],
    ],
    ids=" ".join,
)
def test_an_unknown_option(run: Run, arguments: list[str]) -> None:
    """An unknown option is named in one line."""
    assert_refused(run(*arguments), "--frobnicate")


def test_an_unknown_command(run: Run) -> None:
    """An unknown command is named in one line."""
    assert_refused(run("frobnicate"), "frobnicate")


@pytest.mark.parametrize(
    "arguments", [["check", "--robots"], ["check", "--agent"], ["explain"], ["dialects", "extra"]]
)
def test_incomplete_arguments(run: Run, arguments: list[str]) -> None:
    """An option without its value, a missing or a superfluous argument is one line too."""
    assert_refused(run(*arguments))


def test_a_refusal_cannot_send_escape_sequences(run: Run, tmp_path: Path) -> None:
    """A file name is shown, not executed, and does not break the line."""
    ran = run("check", "--robots", tmp_path / f"no{HOSTILE}\nsuch", "/a")
    assert_refused(ran)
    assert_nothing_raw(ran.err)


# Hostile text


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    path = tmp_path / "hostile.txt"
    lines = [
        f"# {HOSTILE}",
        f"User-agent: *{HOSTILE}",
        "User-agent: *",
        f"Disallow: /a # {HOSTILE}",
    ]
    lines += [f"Disallow: /b{HOSTILE}", f"Allow: /c{HOSTILE}", f"{HOSTILE}: {HOSTILE}"]
    lines += [f"Sitemap: {HOSTILE}", f"Crawl-delay: {HOSTILE}"]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("url", ["/a", f"/a{HOSTILE}", f"/b{HOSTILE}", f"/c{HOSTILE}", HOSTILE])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_hostile_text_is_shown_and_not_sent(
    run: Run, hostile: Path, url: str, dialect: str
) -> None:
    """Neither a line of the file nor a URL reaches the output as it is, in any form of it."""
    arguments = ("--robots", hostile, "--dialect", dialect, url)
    assert_nothing_raw(run("check", *arguments).out)
    assert_nothing_raw(run("check", "--agent", "One", "--agent", "Two", *arguments).out)
    assert_nothing_raw(run("check", "--agent", f"x{HOSTILE}", "--agent=y", *arguments).out)
    assert_nothing_raw(run("check", "--json", *arguments).out)
    assert_nothing_raw(run("explain", *arguments).out)


def test_hostile_text_keeps_one_line_each(run: Run, hostile: Path) -> None:
    """A URL with a line break in it still has one line of output."""
    urls = [f"/a{HOSTILE}", "/a\nb", "/a\r\nb", "/a\u2028b"]
    ran = run("check", "--robots", hostile, *urls)
    assert len(ran.out.splitlines()) == len(urls)


def test_json_carries_hostile_text(run: Run, hostile: Path) -> None:
    """What is escaped in JSON comes back whole."""
    ran = run("check", "--robots", hostile, "--json", f"/a{HOSTILE}", "/a\n\u2028b")
    assert [record["url"] for record in ran.objects] == [f"/a{HOSTILE}", "/a\n\u2028b"]
    assert ran.objects[0]["line_text"] == f"Disallow: /a # {HOSTILE}"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_terminal_gets_no_foreign_escape_sequence(hostile: Path, command: str) -> None:
    """On a terminal the command may use colours of its own, and passes on nobody else's."""
    import pty

    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "manners", command, "--robots", str(hostile), f"/a{HOSTILE}"],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm-256color"},
    ) as process:
        os.close(terminal)
        shown = running.shown_on_terminal(controller)
        assert process.wait(timeout=60) == 1
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "/a" in text
    assert_nothing_raw(text)


# explain


def test_explain_shows_the_file_as_read(run: Run, sample: Path) -> None:
    """Every line of the file is shown behind its number."""
    ran = run("explain", "https://example.com/private/x", "--robots", sample, "--agent", "MyBot")
    for number, text in enumerate(SAMPLE.splitlines(), start=1):
        pattern = rf"(?m)^\D*\b{number}\b.*{re.escape(text)}"
        assert re.search(pattern, ran.out), (number, text)


@pytest.mark.parametrize(
    ("url", "agent", "code"),
    [
        ("/private/x", "MyBot", 1),
        ("/private/open", "MyBot", 0),
        ("/elsewhere", "MyBot", 0),
        ("/elsewhere", "OtherBot", 1),
        ("/robots.txt", "OtherBot", 0),
    ],
)
def test_explain_exits_as_check_does(
    run: Run, sample: Path, url: str, agent: str, code: int
) -> None:
    """Explaining an answer gives the same answer."""
    ran = run("explain", url, "--robots", sample, "--agent", agent)
    assert (ran.code, ran.err) == (code, "")
    assert ("disallowed" if code else "allowed") in answers(ran.out)
    assert run("check", url, "--robots", sample, "--agent", agent).code == code


def test_explain_names_the_groups(run: Run, sample: Path) -> None:
    """The groups of the file are named along with the one that was chosen."""
    ran = run("explain", "/private/x", "--robots", sample, "--agent", "MyBot/1.0")
    other = run("explain", "/private/x", "--robots", sample, "--agent", "OtherBot")
    file_only = SAMPLE.count("MyBot")
    assert ran.out.count("MyBot") > file_only
    assert ran.out != other.out


RANKED = """\
User-agent: *
Disallow: /n*r2
Allow: /number3
Disallow: /*u*mber3*
Disallow: /number3/other
"""


def test_explain_ranks_every_matching_rule(run: Run, tmp_path: Path) -> None:
    """Below the file, the rules that match stand by rank, and those that do not do not stand."""
    path = tmp_path / "robots.txt"
    path.write_text(RANKED)
    ran = run("explain", "/number3", "--robots", path)
    assert ran.code == 1
    _, explained = ran.out.split("/number3/other")
    below = [line for line in explained.splitlines() if re.search(r"/number3\b.*|/\*u\*", line)]
    assert "/n*r2" not in explained
    allow = [at for at, line in enumerate(below) if "Allow: /number3" in line]
    disallow = [at for at, line in enumerate(below) if "/*u*mber3*" in line]
    assert allow
    assert disallow
    assert disallow[0] < allow[0]


def test_explain_marks_the_winner(run: Run, tmp_path: Path) -> None:
    """The line of the winning rule differs from the next one by more than rule and numbers."""
    path = tmp_path / "robots.txt"
    path.write_text("User-agent: *\nDisallow: /ab*\nDisallow: /a*\n")
    ran = run("explain", "/abc", "--robots", path)
    assert ran.code == 1
    file_ends = next(at for at, line in enumerate(ran.lines) if "Disallow: /a*" in line)
    below = ran.lines[file_ends + 1 :]
    winner = next(line for line in below if "/ab*" in line)
    beaten = next(line for line in below if "/a*" in line)
    assert re.sub(r"\d|/ab\*", "", winner) != re.sub(r"\d|/a\*", "", beaten)


def test_explain_shows_the_path_as_matched(run: Run, sample: Path) -> None:
    """The path appears as it was compared: normalised by the dialect."""
    ran = run("explain", "https://example.com/%7Euser/caf%c3%a9#top", "--robots", sample)
    assert "/~user/caf%C3%A9" in ran.out


def test_explain_without_a_group(run: Run, tmp_path: Path) -> None:
    """A file that does not speak to the agent is explained too."""
    path = tmp_path / "robots.txt"
    path.write_text("User-agent: Other\nDisallow: /\n")
    ran = run("explain", "/a", "--robots", path, "--agent", "MyBot")
    assert ran.code == 0
    assert "allowed" in answers(ran.out)


def test_explain_an_empty_file(run: Run, tmp_path: Path) -> None:
    """There is an answer when there is nothing to show."""
    path = tmp_path / "robots.txt"
    path.write_bytes(b"")
    ran = run("explain", "/a", "--robots", path)
    assert (ran.code, ran.err) == (0, "")
    assert "allowed" in answers(ran.out)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_explain_in_a_dialect(run: Run, sample: Path, dialect: str) -> None:
    """Every dialect can be explained, and the answer is the one check gives."""
    arguments = ("--robots", sample, "--agent", "MyBot", "--dialect", dialect, "/private/open")
    ran = run("explain", *arguments)
    assert ran.code == run("check", *arguments).code
    assert dialect in ran.out


# dialects and --version


def test_dialects(run: Run) -> None:
    """The six dialects are listed, each on a line of its own."""
    ran = run("dialects")
    assert (ran.code, ran.err) == (0, "")
    for dialect in DIALECTS:
        assert any(re.search(rf"\b{dialect}\b", line) for line in ran.lines), dialect


def test_dialects_as_json(run: Run) -> None:
    """The table is available to programs, as one document or as one object a line."""
    ran = run("dialects", "--json")
    assert ran.code == 0
    try:
        table = json.loads(ran.out)
    except ValueError:
        table = ran.objects
    names = [row["name"] for row in table] if isinstance(table, list) else list(table)
    assert sorted(names) == sorted(DIALECTS)


def test_version(run: Run) -> None:
    """The version comes with the Python that runs it."""
    ran = run("--version")
    assert (ran.code, ran.err, len(ran.lines)) == (0, "", 1)
    assert version("manners") in ran.out
    assert platform.python_version() in ran.out
    assert manners.KERNEL in ran.out
    assert manners.KERNEL in {"python", "cython"}


def test_the_plain_engine_can_be_asked_for() -> None:
    """`MANNERS_PURE=1` turns the compiled kernel off, built or not."""
    ran = run_outside("--version", MANNERS_PURE="1")
    assert ran.code == 0
    assert "python kernel" in ran.out


# As users run it


def test_python_m_manners(sample: Path) -> None:
    """`python -m manners` answers and exits as the function does."""
    arguments = ("check", "--robots", sample, "--agent", "MyBot")
    allowed = run_outside(*arguments, "/a")
    assert (allowed.code, allowed.err, answers(allowed.out)) == (0, "", ["allowed"])
    disallowed = run_outside(*arguments, "/private/")
    assert (disallowed.code, disallowed.err, answers(disallowed.out)) == (1, "", ["disallowed"])
    assert_refused(run_outside(*arguments, "--frobnicate"), "--frobnicate")
    assert_refused(run_outside("check", "--robots", "-"), "standard input")


def test_urls_that_are_not_utf8(sample: Path) -> None:
    """A URL of any bytes is answered in one line that any reader can decode."""
    options: list[list[str]] = [[], ["--json"], ["--agent", "Other"]]
    for option in options:
        arguments = ["check", "--robots", str(sample), "--agent", "MyBot", *option]
        ran = run_outside(*arguments, stdin=b"/caf\xe9\n/b\n")
        assert (ran.code, ran.err) == (1 if "Other" in option else 0, "")
        assert len([line for line in ran.lines if "/caf" in line]) == 1


def test_output_that_holds_only_ascii(sample: Path) -> None:
    """A terminal without the characters of a URL does not keep it from being answered."""
    arguments = ("check", "--robots", sample, "--agent", "MyBot", "/caf\u00e9", "/\u4f8b")
    ran = run_outside(*arguments, PYTHONIOENCODING="ascii")
    assert (ran.code, ran.err, len(ran.lines)) == (0, "", 2)


@pytest.mark.parametrize("option", [[], ["--json"]], ids=["text", "json"])
def test_answers_come_while_urls_are_still_being_written(sample: Path, option: list[str]) -> None:
    """Each URL written to standard input is answered before the next one is there."""
    with subprocess.Popen(
        [sys.executable, "-m", "manners", "check", "--robots", sample, "--agent", "MyBot", *option],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=pass_on, args=(process.stdout, lines), daemon=True).start()
        try:
            for url in ("/a", "/private/x", "/b"):
                process.stdin.write(f"{url}\n")
                process.stdin.flush()
                assert url in lines.get(timeout=30)
        finally:
            process.stdin.close()
        assert process.wait(timeout=30) == 1
        assert process.stderr.read() == ""


def pass_on(stream: IO[str], lines: "queue.Queue[str]") -> None:
    """Put each line of a stream into a queue as it comes."""
    for line in stream:
        lines.put(line)


@pytest.mark.parametrize(
    "option", [[], ["--json"], ["--agent", "Other"]], ids=["text", "json", "table"]
)
def test_a_reader_that_stops_early(sample: Path, tmp_path: Path, option: list[str]) -> None:
    """`| head -1` ends the command quietly."""
    listed = tmp_path / "urls.txt"
    listed.write_text("".join(f"/page/{number}\n" for number in range(50_000)))
    arguments = ["check", "--robots", str(sample), "--agent", "MyBot", "--urls", str(listed)]
    with subprocess.Popen(
        [sys.executable, "-m", "manners", *arguments, *option],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        process.wait(timeout=60)


def test_google_without_an_agent_is_for_everybody(run: Run, tmp_path: Path) -> None:
    """An agent without a name selects the groups for `*`, not those whose name Google cuts away."""
    file = tmp_path / "robots.txt"
    file.write_text("User-agent: 360Spider\nDisallow: /\n\nUser-agent: *\nDisallow: /private\n")
    ran = run("check", "--robots", file, "--dialect", "google", "/x")
    assert (ran.code, answers(ran.out)) == (0, ["allowed"])


def test_a_missing_list_of_urls_is_noticed_first(run: Run, sample: Path) -> None:
    """Nothing is answered when part of the question cannot be read."""
    assert_refused(run("check", "--robots", sample, "/a", "--urls", "no-such-file"), "no-such-file")
    assert_refused(run("check", "--robots", sample, "--urls", ""), "cannot read ''")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_an_answer_that_cannot_be_written_is_no_verdict(sample: Path) -> None:
    """Exit code 1 means disallowed; a full disk is something else."""
    command = [sys.executable, "-m", "manners", "check", "--robots", str(sample), "/a"]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert ran.returncode == 3
    assert ran.stderr.startswith(b"manners: cannot go on")
    assert ran.stderr.count(b"\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="a shell is needed that closes what it hands over")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_output_that_is_closed_leads_nowhere(closed: str, sample: Path) -> None:
    """The answer is in the exit code, and there is nothing to complain about."""
    for url, code in (("/a", 0), ("/private/", 1)):
        words = ["check", "--robots", str(sample), "--agent", "MyBot", url]
        line = shlex.join([sys.executable, "-m", "manners", *words])
        ran = subprocess.run(["sh", "-c", f"{line} {closed}"], capture_output=True, check=False)
        assert (ran.returncode, ran.stderr) == (code, b"")


def test_a_dumb_terminal_gets_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would show them as characters."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert styled("x", "red") != "x"
    monkeypatch.setenv("TERM", "dumb")
    assert styled("x", "red") == "x"
