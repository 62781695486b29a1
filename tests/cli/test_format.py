"""`manners format`: files in one layout, or untouched."""

import sys
from pathlib import Path

import pytest

from manners.lint import proving
from tests.cli.running import Run, runner
from tests.cli.test_lint import standard_input

pytestmark = pytest.mark.usefixtures("quick")

UNTIDY = b"user-agent:*\r\ndisallow : /a\r\n"
TIDY = b"User-agent: *\nDisallow: /a\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, "format")


def test_files_are_formatted_in_place(run: Run) -> None:
    """Those that have the layout already are not written."""
    Path("a.txt").write_bytes(UNTIDY)
    Path("b.txt").write_bytes(TIDY)
    before = Path("b.txt").stat()
    ran = run("a.txt", "b.txt")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.splitlines() == ["formatted a.txt", "1 file changed, 1 file unchanged"]
    assert Path("a.txt").read_bytes() == TIDY
    after = Path("b.txt").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert run("a.txt").code == 0
    assert sorted(path.name for path in Path().iterdir()) == ["a.txt", "b.txt"]


def test_check_changes_nothing(run: Run) -> None:
    """The exit code is 1 if a file would change."""
    Path("a.txt").write_bytes(UNTIDY)
    Path("b.txt").write_bytes(TIDY)
    ran = run("--check", "a.txt", "b.txt")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines() == ["would format a.txt", "1 file would change, 1 file unchanged"]
    assert Path("a.txt").read_bytes() == UNTIDY
    assert run("--check", "b.txt").code == 0


def test_the_difference_is_shown_and_nothing_changes(run: Run) -> None:
    """Line ends and control characters are visible in it."""
    Path("a.txt").write_bytes(b"allow:/a\r\nAllow: /\x1b[2J")
    ran = run("--diff", "a.txt")
    assert ran.code == 0
    assert ran.lines == [
        "--- a.txt",
        "+++ a.txt",
        "@@ -1,2 +1,2 @@",
        "-allow:/a\\r",
        "-Allow: /\\x1b[2J",
        "\\ No newline at end of file",
        "+Allow: /a",
        "+Allow: /\\x1b[2J",
    ]
    assert Path("a.txt").read_bytes() == b"allow:/a\r\nAllow: /\x1b[2J"
    assert run("--diff", "--check", "a.txt").code == 1


def test_standard_input_goes_to_standard_output(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is in a pipe; with --check, only the exit code tells."""
    standard_input(monkeypatch, UNTIDY)
    assert run("-").out.encode() == TIDY
    standard_input(monkeypatch, UNTIDY)
    ran = run("--check", "-")
    assert (ran.code, ran.out) == (1, "")


def test_what_is_not_proved_stays(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is not touched, a pipe gets it as it was, and the command says so."""
    monkeypatch.setattr(proving, "unchanged", lambda *_: False)
    Path("a.txt").write_bytes(UNTIDY)
    ran = run("a.txt")
    assert (ran.code, ran.out) == (3, "")
    assert "a.txt: not formatted, because it is not proved that no verdict would change" in ran.err
    assert Path("a.txt").read_bytes() == UNTIDY
    standard_input(monkeypatch, TIDY.replace(b": ", b":"))
    ran = run("-")
    assert (ran.code, ran.out.encode()) == (3, TIDY.replace(b": ", b":"))


def test_what_cannot_be_read_does_not_keep_other_files_from_it(run: Run) -> None:
    """The exit code is 3, and the rest is formatted."""
    Path("a.txt").write_bytes(UNTIDY)
    ran = run("none.txt", "a.txt", ".")
    assert ran.code == 3
    assert "cannot read 'none.txt': No such file or directory" in ran.err
    assert "cannot read '.': Is a directory" in ran.err
    assert Path("a.txt").read_bytes() == TIDY


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")
def test_the_mode_stays_and_links_are_followed(run: Run) -> None:
    """The link is still a link; the file it leads to is the one that changes."""
    Path("folder").mkdir()
    target = Path("folder/a.txt")
    target.write_bytes(UNTIDY)
    target.chmod(0o640)
    Path("link.txt").symlink_to("folder/a.txt")
    assert run("link.txt").code == 0
    assert Path("link.txt").is_symlink()
    assert target.read_bytes() == TIDY
    assert target.stat().st_mode & 0o777 == 0o640
    assert list(Path("folder").iterdir()) == [target]


@pytest.mark.parametrize("name", ["https://example.com/", "HTTP://example.com/robots.txt"])
def test_a_site_is_not_formatted(run: Run, name: str) -> None:
    """That is a mistake in the command line."""
    ran = run(name)
    assert (ran.code, ran.out) == (2, "")
    assert "files are formatted, not sites" in ran.err
