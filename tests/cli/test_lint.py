"""`manners lint`: findings for people and programs, fixes, settings, exit codes."""

import base64
import errno
import io
import json
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from manners import _family
from manners.cli.finding_formats import github, gitlab, sarif, text
from manners.cli.linting import LintedFile, why
from manners.identity import HOME_PAGE
from manners.lint.finding import Edit, Finding, Fix, Severity
from manners.lint.rule import all_rules
from tests.cli.running import Run, runner
from tests.faults.server import Site, by_path, in_thread, page

pytestmark = pytest.mark.usefixtures("quick")

STAR = b"User-agent: *\nDisallow: /a*\n"
"""A file with one finding, an info, and a fix that is safe."""
SLASH = b"User-agent: *\nDisallow: admin\n"
"""A file with one error, and a fix that is not."""
FORMATS = "manners.cli.finding_formats"
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\udc80-\udcff]").search
"""Finds what a terminal must not get."""
RULES = ("--select", "trailing-star,missing-leading-slash")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, "lint")


@pytest.fixture
def robots() -> Path:
    path = Path("robots.txt")
    path.write_bytes(STAR)
    return path


def standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Have the next command read this."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))


def finding(
    severity: Severity = Severity.ERROR, line: int = 2, message: str = "wrong", **changes: Any
) -> Finding:
    base = Finding("P407", "trailing-star", severity, line, 11, message, None, 13)
    return base._replace(**changes)


def linted(*findings: Finding, name: str = "robots.txt", body: bytes = STAR) -> LintedFile:
    return LintedFile(name, body, list(findings))


# What people see.


def test_a_finding_has_its_line_a_caret_a_reason_and_a_page(run: Run, robots: Path) -> None:
    """The first line says where, how bad, and which rule."""
    ran = run(robots, *RULES)
    assert (ran.code, ran.err) == (0, "")
    first, shown, caret, reason, page_address, blank, summary = ran.lines
    assert first.startswith("robots.txt:2:13 info P407 trailing-star: ")
    assert (shown, caret) == ("    Disallow: /a*", "                ^")
    assert reason.startswith("    A rule matches every path")
    assert reason.endswith(".")
    assert page_address == f"    {HOME_PAGE}lint/trailing-star.html"
    assert (blank, summary) == ("", "1 info in 1 file; 1 fixable with --fix")


def test_a_rule_is_explained_once(run: Run) -> None:
    """A second finding of a rule has its line, and no more."""
    Path("robots.txt").write_bytes(STAR + b"Disallow: /b*\n")
    ran = run("robots.txt", *RULES)
    assert ran.out.count("trailing-star.html") == 1
    assert "    Disallow: /b*\n                ^\n\n" in ran.out
    assert ran.lines[-1] == "2 infos in 1 file; 2 fixable with --fix"


def test_nothing_found_is_said(run: Run, robots: Path) -> None:
    ran = run(robots, "--select", "missing-leading-slash")
    assert (ran.code, ran.lines) == (0, ["no findings in 1 file"])


def test_the_summary_counts_by_severity_and_by_fix() -> None:
    """Fixes that change verdicts are counted for themselves."""
    safe, unsafe = Fix((), "drop it"), Fix((), "change it", "unsafe")
    some = linted(
        finding(),
        finding(Severity.WARNING, fix=safe),
        finding(Severity.WARNING, fix=unsafe),
        finding(Severity.INFO, fix=unsafe),
    )
    summary = list(text.report([some, linted()]))[-1]
    assert summary == (
        "1 error, 2 warnings, 1 info in 2 files; 1 fixable with --fix; 2 more with --unsafe-fixes"
    )


@pytest.mark.parametrize(
    ("line", "column", "end", "shown", "caret"),
    [
        ("Allow: /\x1b[2Jx", 13, 14, "Allow: /\\x1b[2Jx", " " * 15 + "^"),
        ("\tAllow: /", 9, 10, "\\tAllow: /", " " * 9 + "^"),
        ("Allow: /日本x", 11, 12, "Allow: /日本x", " " * 12 + "^"),
        ("Allow: /日本x", 9, 11, "Allow: /日本x", " " * 8 + "^^^^"),
        ("Allow: /e\u0301x", 11, 12, "Allow: /e\u0301x", " " * 9 + "^"),
        ("Allow: /a", 8, 0, "Allow: /a", " " * 7 + "^^"),
        ("Allow:", 7, 7, "Allow:", " " * 6 + "^"),
        ("x" * 300, 201, 203, "…" + "x" * 100 + "…", " " * 41 + "^^"),
    ],
)
def test_carets_stand_below_what_is_meant(
    line: str, column: int, end: int, shown: str, caret: str
) -> None:
    """Also behind characters that are escaped, wide or combining, and in a long line."""
    body = f"User-agent: *\n{line}\n".encode()
    found = finding(column=column, end_column=end)
    printed = list(text.report([linted(found, body=body)]))
    assert printed[1:3] == [f"    {shown}", f"    {caret}"]


def test_nothing_raw_reaches_a_terminal(run: Run) -> None:
    """Whatever is in the file, in its name, and in a message."""
    hostile = "\x1b]0;x\x07\x9b31m\x85\u202e\udcff"
    body = b"User-agent: *\nDisallow: /" + hostile.encode("utf-8", "surrogateescape") + b"\n"
    name = f"robots{hostile}.txt"
    for form in _family.names(FORMATS):
        report = _family.member(FORMATS, "format", form).report
        printed = "\n".join(report([linted(finding(message=hostile), name=name, body=body)]))
        assert "P407" in printed
        assert not RAW(printed), form
    Path(os.fsdecode(name.encode("utf-8", "surrogateescape"))).write_bytes(body)
    ran = run(name, "--select", "all")
    assert "X901" in ran.out
    assert not RAW(ran.out)


def test_every_rule_says_why_in_a_sentence() -> None:
    """The first sentence of its page."""
    for rule in all_rules():
        assert re.fullmatch(r"\S.{10,400}[.!?:]", why(rule)), rule.name


# Which rules, which engines.


def test_rules_are_selected_and_ignored(run: Run) -> None:
    """By name, code or family, repeated or with commas."""
    Path("robots.txt").write_bytes(STAR + b"Disallow: admin\n")

    def codes(*options: str) -> list[str]:
        printed = run("robots.txt", "--output-format", "json", *options).objects
        return [found["code"] for found in printed]

    assert codes("--select", "P407, P401") == ["P407", "P401"]
    assert codes("--select", "trailing-star", "--select", "P401") == ["P407", "P401"]
    assert codes("--select", "P407,P401", "--ignore", "trailing-star") == ["P401"]
    assert "P407" in codes("--select", "P")
    assert "P407" not in codes("--ignore", "P407")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--select trailing-str", "--select: unknown rule 'trailing-str'; did you mean 'trailing-"),
        ("--ignore X!", "--ignore: unknown rule 'X!'; `manners lint --explain all` has all"),
        ("--explain P4077", "--explain: unknown rule 'P4077'; did you mean 'P40"),
        ("--for rfc9309,gogle", "unknown dialect 'gogle'; choose from: audit, google, rfc9309"),
        ("--output-format xml", "unknown output format 'xml'; choose from: github, gitlab, json"),
        ("--fail-on fatal", "'fatal' is not one of 'error', 'warning', 'info'"),
        ("https://example.com/ --fix", "a site cannot be fixed from here"),
        ("https://example.com/ --unsafe-fixes", "a site cannot be fixed from here"),
        ("- -", "standard input can be read once only"),
    ],
)
def test_a_mistake_in_the_options(run: Run, robots: Path, options: str, words: str) -> None:
    """One line that says what would be right, and exit code 2."""
    ran = run(robots, *options.split())
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert words in ran.err


def test_something_has_to_be_named(run: Run) -> None:
    ran = run()
    assert (ran.code, ran.out) == (2, "")
    assert "name a file, the URL of a site, or - for standard input" in ran.err


def test_engines_decide_what_is_proved(run: Run) -> None:
    """A fix that is harmless in one dialect and not in another needs both to be asked."""
    body = b"User-agent: *\nDisallow: */xx/*\nAllow: /a/b/\n"
    Path("robots.txt").write_bytes(body)
    run("robots.txt", *RULES, "--fix", "--for", "specificity,rfc9309")
    assert Path("robots.txt").read_bytes() == body  # a star counts in the length of a rule
    run("robots.txt", *RULES, "--fix", "--for", "specificity")
    assert Path("robots.txt").read_bytes() == body.replace(b"xx/*", b"xx/")


# Exit codes.


@pytest.mark.parametrize(
    ("body", "options", "code"),
    [
        (STAR, [], 0),
        (STAR, ["--fail-on", "info"], 1),
        (SLASH, [], 1),
        (SLASH, ["--fail-on", "error"], 1),
        (SLASH, ["--fail-on", "info"], 1),
        (b"User-agent: *\nDisallow: /a\n", ["--fail-on", "info"], 0),
    ],
)
def test_the_exit_code_is_about_the_threshold(
    run: Run, body: bytes, options: list[str], code: int
) -> None:
    """From warnings on by default; what is less bad is shown all the same."""
    Path("robots.txt").write_bytes(body)
    assert run("robots.txt", *RULES, *options).code == code


def test_what_cannot_be_read_wins(run: Run) -> None:
    """The exit code is 3, and the other files are linted."""
    Path("robots.txt").write_bytes(SLASH)
    ran = run("none.txt", "robots.txt", ".", *RULES)
    assert ran.code == 3
    assert "cannot read 'none.txt': No such file or directory\n" in ran.err
    assert "P401" in ran.out
    unread = run("example.com")
    assert (unread.code, unread.out) == (3, "")
    assert "; a site is https://example.com\n" in unread.err


# Fixes.


def test_safe_fixes_are_applied(run: Run, robots: Path) -> None:
    """What is left is reported; a second time nothing is written."""
    robots.write_bytes(STAR + b"Disallow: admin\n")
    ran = run(robots, *RULES, "--fix")
    assert (ran.code, ran.err) == (1, "fixed robots.txt\n")
    assert robots.read_bytes() == b"User-agent: *\nDisallow: /a\nDisallow: admin\n"
    assert "P401" in ran.out
    assert "P407" not in ran.out
    before = robots.stat()
    assert run(robots, *RULES, "--fix").err == ""
    assert (robots.stat().st_ino, robots.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_unsafe_fixes_say_for_whom_what_changes(run: Run, robots: Path) -> None:
    """In each engine, with the shortest path and both rules."""
    robots.write_bytes(SLASH)
    ran = run(robots, *RULES, "--unsafe-fixes")
    assert ran.code == 0
    assert robots.read_bytes() == b"User-agent: *\nDisallow: /admin\n"
    for engine in ("rfc9309", "google"):
        assert (
            f"robots.txt: {engine}: *: newly disallowed: /admin (no rule,"
            " then line 2 `Disallow: /admin`)\n"
        ) in ran.err


def test_the_difference_changes_nothing(run: Run, robots: Path) -> None:
    """The exit code is that of the file as it is."""
    ran = run(robots, *RULES, "--diff")
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines[2:] == ["@@ -1,2 +1,2 @@", " User-agent: *", "-Disallow: /a*", "+Disallow: /a"]
    assert robots.read_bytes() == STAR
    assert run(robots, *RULES, "--diff", "--fail-on", "info").code == 1
    robots.write_bytes(SLASH)
    ran = run(robots, *RULES, "--diff", "--unsafe-fixes")
    assert ran.lines[-2:] == ["-Disallow: admin", "+Disallow: /admin"]
    assert "newly disallowed: /admin" in ran.err
    assert robots.read_bytes() == SLASH


def test_standard_input_is_linted_and_fixed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixed file is all of the output; the report goes elsewhere."""
    standard_input(monkeypatch, STAR)
    assert run("-", *RULES).lines[0].startswith("<stdin>:2:13 info P407")
    standard_input(monkeypatch, STAR + b"Disallow: admin\n")
    ran = run("-", *RULES, "--fix")
    assert ran.out == "User-agent: *\nDisallow: /a\nDisallow: admin\n"
    assert ran.code == 1
    assert "P401" in ran.err


def test_a_file_that_cannot_be_written(
    run: Run, robots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays as it is, nothing is left beside it, and the exit code is 3."""

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    ran = run(robots, *RULES, "--fix")
    assert ran.code == 3
    assert ran.err.startswith("manners: cannot write ")
    assert ran.err.endswith("robots.txt': No space left on device\n")
    assert robots.read_bytes() == STAR
    assert list(Path().iterdir()) == [robots]


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")
def test_a_fixed_file_keeps_its_mode_and_its_links(run: Run, robots: Path) -> None:
    robots.chmod(0o604)
    Path("link.txt").symlink_to("robots.txt")
    run("link.txt", *RULES, "--fix")
    assert Path("link.txt").is_symlink()
    assert robots.stat().st_mode & 0o777 == 0o604
    assert b"*\nDisallow: /a\n" in robots.read_bytes()
    assert sorted(path.name for path in Path().iterdir()) == ["link.txt", "robots.txt"]


def test_a_file_that_may_not_be_written_is_not(
    run: Run, robots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if its folder may be, so that it could be replaced."""
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    ran = run(robots, *RULES, "--fix")
    assert ran.code == 3
    assert ran.err.endswith("robots.txt': it is read-only\n")
    assert robots.read_bytes() == STAR


# Sites.


def test_a_site_is_linted(run: Run) -> None:
    """Any URL of it will do; the file is named by its own."""
    with in_thread(Site(by_path({"/robots.txt": page(SLASH)}, page()))) as site:
        place = f"http://127.0.0.1:{site.ports[0]}"
        ran = run(f"{place}/some/page", *RULES)
        shown = run(place, *RULES, "--diff", "--unsafe-fixes")
    assert ran.code == 1
    assert ran.lines[0].startswith(f"{place}/robots.txt:2:11 error P401")
    assert shown.lines[-1] == "+Disallow: /admin"


def test_a_site_that_cannot_be_read(run: Run) -> None:
    """The reason is given, and the exit code is 3."""
    with in_thread(Site(by_path({}, page(b"", 404)))) as site:
        missing = run(f"http://127.0.0.1:{site.ports[0]}/")
    refused = run("http://127.0.0.1:1/")
    assert (missing.code, missing.out, refused.code, refused.out) == (3, "", 3, "")
    assert "404" in missing.err
    assert refused.err.startswith("manners: http://127.0.0.1:1/robots.txt: unreachable")


# Settings.


def write_settings(table: str) -> None:
    Path("manners.toml").write_text(f"max_pages = 3\n[lint]\n{table}\n", encoding="utf-8")


def test_the_project_decides_and_options_win(run: Run, robots: Path) -> None:
    """But for `allow`: what a project allows, no option brings back."""
    robots.write_bytes(STAR + b"Disallow: admin\n")
    write_settings('select = ["P407", "P401"]\nignore = ["P401"]\nfail_on = "info"')
    ran = run(robots)
    assert (ran.code, "P401" in ran.out, "P407" in ran.out) == (1, False, True)
    assert run(robots, "--fail-on", "error").code == 0
    assert "P401" in run(robots, "--ignore", "P407").out
    write_settings('allow = ["missing-leading-slash", "P407"]')
    assert run(robots, *RULES).lines == ["no findings in 1 file"]
    write_settings('engines = ["gogle"]')
    assert "manners.toml: lint.engines: unknown dialect 'gogle'" in run(robots).err


def test_another_file_of_settings(run: Run, robots: Path) -> None:
    """`--config` names it, and then manners.toml does not count."""
    write_settings('select = ["P401"]')
    Path("other.toml").write_text('[lint]\nselect = ["P407"]', encoding="utf-8")
    assert "P407" not in run(robots).out
    assert "P407" in run(robots, "--config", "other.toml").out
    ran = run(robots, "--config", "none.toml")
    assert (ran.code, ran.out) == (2, "")
    assert "none.toml: cannot be read" in ran.err


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('selct = ["P407"]', "unknown setting 'selct' in lint; did you mean 'select'?"),
        ('ignore = "P407"', 'lint.ignore: a list of names is needed, as in ["crawl-delay"]'),
        ("allow = [1]", "lint.allow: a list of names is needed"),
        ('fail_on = "fatal"', "lint.fail_on: invalid; choose from 'error', 'warning', 'info'"),
        ('source = "here"', "unknown setting 'source' in lint"),
    ],
)
def test_a_mistake_in_the_settings(
    run: Run, robots: Path, capsys: pytest.CaptureFixture[str], table: str, words: str
) -> None:
    """Every command that reads the file complains, in the same words."""
    write_settings(table)
    for ran in (run(robots), runner(capsys, "settings")()):
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("manners: manners.toml: ")
        assert words in ran.err


def test_an_unknown_rule_in_the_settings(run: Run, robots: Path) -> None:
    write_settings('allow = ["trailing-str"]')
    ran = run(robots)
    assert (ran.code, ran.out) == (2, "")
    assert "manners.toml: lint.allow: unknown rule 'trailing-str'; did you mean" in ran.err


def test_the_table_is_no_setting_of_other_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """They read the file, and what is beside the table counts."""
    write_settings('allow = ["trailing-star"]')
    ran = runner(capsys, "settings")("--json")
    assert ran.code == 0
    values = {found["name"]: found["value"] for found in ran.objects}
    assert values["max_pages"] == 3
    assert "lint" not in values


# Pages.


@pytest.mark.parametrize("name", ["P407", "trailing-star"])
def test_a_rule_is_explained(run: Run, name: str) -> None:
    """Its page, with its examples."""
    ran = run("--explain", name)
    assert ran.code == 0
    assert ran.lines[0] == "P407 trailing-star (info)"
    for heading in ("## Why it matters", "## Example", "## Better", "## Fix", "Disallow: /search*"):
        assert heading in ran.lines
    assert ran.lines[-1] == f"{HOME_PAGE}lint/trailing-star.html"


def test_all_rules_are_explained(run: Run) -> None:
    out = run("--explain", "all").out
    for rule in all_rules():
        assert f"{rule.code} {rule.name} (" in out
    assert "F011 missing-final-newline (info, not used unless selected)" in out


def test_a_language_server_is_started(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else is done then: its input and output belong to an editor."""
    server = ModuleType("manners.compat.language_server")
    started: list[tuple[object, ...]] = []

    def serve(*options: object) -> int:
        started.append(options)
        return 1

    server.serve = serve  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, server.__name__, server)
    ran = run("--lsp", "--for", "google", "--ignore", "crawl-delay")
    assert (ran.code, ran.out, ran.err) == (1, "", "")
    assert started == [(("google",), (), ("crawl-delay",))]


# Programs.


def test_json_has_a_line_for_each_finding(run: Run, robots: Path) -> None:
    (found,) = run(robots, *RULES, "--output-format", "json").objects
    assert found.pop("message")
    assert found == {
        "file": "robots.txt",
        "code": "P407",
        "name": "trailing-star",
        "severity": "info",
        "line": 2,
        "column": 13,
        "end_column": 14,
        "fix": {"summary": "drop the star", "safety": "safe"},
        "page": f"{HOME_PAGE}lint/trailing-star.html",
    }


def test_annotations_are_escaped() -> None:
    """What is in a file cannot end a property, a message or a line, nor begin a command."""
    hostile = linted(finding(message="100%\r\n::error::a, b: c ##[add-mask]x"), name="a,b:c%\n.txt")
    (line,) = github.report([hostile])
    message = f"100%25\\r%0A::error::a, b: c ## [add-mask]x%0A{HOME_PAGE}lint/trailing-star.html"
    place = "file=a%2Cb%3Ac%25%0A.txt,line=2,col=11,endColumn=13"
    assert line == f"::error {place},title=P407 trailing-star::{message}"


def many() -> LintedFile:
    """Findings of all kinds, the worst last, and more than are shown."""
    numbers = {Severity.INFO: 3, Severity.WARNING: 12, Severity.ERROR: 11}
    return linted(
        *(
            finding(kind, line, f"{line}<b>|`x`")
            for kind, most in numbers.items()
            for line in range(1, most + 1)
        )
    )


def test_annotations_ten_of_a_kind_errors_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is in the log where there is no summary."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    lines = list(github.report([many()]))
    kinds = [line.partition(" ")[0] for line in lines]
    assert kinds == ["::error"] * 10 + ["::warning"] * 10 + ["::notice"] * 3 + ["3", "-", "-", "-"]
    assert lines[-4] == "3 more findings, without an annotation:"
    assert lines[-3].startswith("- robots.txt:11:11 error P407 trailing-star: 11")


def test_the_rest_of_the_annotations_is_in_the_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is added to what is there, and nothing in it is HTML or a cell of its own."""
    Path("summary.md").write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    lines = list(github.report([many()]))
    assert lines[-1] == "3 more findings, not shown above: see the summary of the step"
    assert len(lines) == 24
    summary = Path("summary.md").read_text(encoding="utf-8")
    assert summary.startswith("before\n\n### manners lint: 3 findings without an annotation\n\n| ")
    assert summary.count("\\<b\\>\\|\\`x\\` |\n") == 3
    assert list(github.report([linted(finding())]))[-1].startswith("::error")
    assert Path("summary.md").read_text(encoding="utf-8") == summary


def test_a_long_summary_says_how_much_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    list(github.report([linted(*[finding()] * 1_500)]))
    summary = Path("summary.md").read_text(encoding="utf-8")
    assert summary.count("trailing-star.html") == 1_000
    assert summary.endswith("\nAnd 490 more, not shown.\n\n")


def test_a_summary_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A warning, and the findings are in the log."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "none/summary.md")
    assert len(list(github.report([many()]))) == 27
    assert "cannot write the summary of the step" in capsys.readouterr().err


def sarif_of(*files: LintedFile) -> dict[str, Any]:
    (line,) = sarif.report(files)
    document: dict[str, Any] = json.loads(line)
    assert document["version"] == "2.1.0"
    (found,) = document["runs"]
    run: dict[str, Any] = found
    return run


def test_sarif_has_rules_and_results(run: Run, robots: Path) -> None:
    """The name of the file is relative; the rule of a result is described."""
    ran = run(robots.resolve(), *RULES, "--output-format", "sarif")
    (described,) = ran.object["runs"]
    (result,) = described["results"]
    rules = {rule["id"]: rule for rule in described["tool"]["driver"]["rules"]}
    assert rules.keys() == {rule.code for rule in all_rules()}
    assert rules["P407"]["name"] == "trailing-star"
    assert rules["P407"]["defaultConfiguration"] == {"level": "note", "enabled": True}
    assert (result["ruleId"], result["level"]) == ("P407", "note")
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "robots.txt"},
                "region": {"startLine": 2, "startColumn": 13, "endColumn": 14},
            }
        }
    ]
    ((change,),) = (fix["artifactChanges"] for fix in result["fixes"])
    (replacement,) = change["replacements"]
    region = replacement["deletedRegion"]
    start, end = region["byteOffset"], region["byteOffset"] + region["byteLength"]
    inserted = replacement.get("insertedContent", {"text": ""})["text"].encode()
    assert STAR[:start] + inserted + STAR[end:] == STAR.replace(b"/a*", b"/a")


def test_sarif_has_proved_fixes_only_at_bytes_of_the_file() -> None:
    """A byte order mark counts; what is no UTF-8 is base64; in UTF-16 no offset would fit."""
    edits = Edit(0, 4, b"\xff"), Edit(5, 6, b"")
    safe = finding(fix=Fix(edits, "drop", is_proved=True))
    (result,) = sarif_of(linted(safe, body=b"\xef\xbb\xbf" + STAR))["results"]
    ((change,),) = (fix["artifactChanges"] for fix in result["fixes"])
    assert change["replacements"] == [
        {
            "deletedRegion": {"byteOffset": 3, "byteLength": 4},
            "insertedContent": {"binary": base64.b64encode(b"\xff").decode()},
        },
        {"deletedRegion": {"byteOffset": 8, "byteLength": 1}},
    ]
    for file in (
        linted(finding(fix=Fix(edits, "change", "unsafe"))),
        linted(finding(fix=Fix(edits, "drop"))),  # safe together with others only
        linted(safe, body=STAR.decode().encode("utf-16")),
    ):
        assert "fixes" not in sarif_of(file)["results"][0]


@pytest.mark.parametrize("form", ["sarif", "gitlab"])
def test_fingerprints_stay_when_lines_move(form: str) -> None:
    """No two are the same, and text above a line does not change its own."""

    def fingerprints(file: LintedFile) -> list[str]:
        if form == "sarif":
            results = sarif_of(file)["results"]
            return [result["partialFingerprints"]["mannersFinding/v1"] for result in results]
        return [entry["fingerprint"] for entry in json.loads(next(gitlab.report([file])))]

    twice = STAR + b"Disallow: /a*\n"
    before = fingerprints(linted(finding(), finding(line=3), body=twice))
    moved = linted(finding(line=4), finding(line=5), body=b"# a\n\n" + twice)
    assert fingerprints(moved) == before
    assert len(set(before)) == 2
    changed = linted(finding(), body=STAR.replace(b"/a", b"/b"))
    assert not set(fingerprints(changed)) & set(before)


def test_code_quality_for_gitlab() -> None:
    """The severities are GitLab's, and the same line of two files has two fingerprints."""
    files = [linted(*map(finding, Severity), name=name) for name in ("a.txt", "b/robots.txt")]
    (line,) = gitlab.report(files)
    entries = json.loads(line)
    assert [entry["severity"] for entry in entries] == ["major", "minor", "info"] * 2
    assert len({entry["fingerprint"] for entry in entries}) == 6
    assert entries[-1]["location"] == {"path": "b/robots.txt", "lines": {"begin": 2}}
    assert entries[0]["check_name"] == "P407 trailing-star"
    assert list(gitlab.report([])) == ["[]"]


def test_the_help_names_every_format(run: Run) -> None:
    """A new one is found by its file, but for the help."""
    out = " ".join(run("-h").out.split())
    for name in _family.names(FORMATS):
        assert re.search(rf"--output-format FORMAT [^-]*\b{name}\b", out)


def test_the_hooks_of_pre_commit_are_commands() -> None:
    """They find robots.txt files, build no kernel, and install what the command needs."""
    import tomllib

    import yaml

    root = Path(__file__).parents[2]
    hooks = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text("utf-8"))
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    assert {hook["id"]: hook["entry"] for hook in hooks} == {
        "manners-lint": "manners lint",
        "manners-format": "manners format",
    }
    for hook in hooks:
        option, *packages = hook["additional_dependencies"]
        assert option == "--config-settings=--global-option=--without-kernel"
        assert "--without-kernel" in (root / "setup.py").read_text("utf-8")
        assert packages == project["optional-dependencies"]["cli"]
        for name in ("robots.txt", "public/robots.txt", "robots.staging.txt"):
            assert re.search(hook["files"], name)
        for name in ("myrobots.txt", "robots/a.txt", "robots.txt.orig"):
            assert not re.search(hook["files"], name)
