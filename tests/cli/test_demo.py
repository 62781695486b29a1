"""`manners demo`: every case is told, judged, and can come out wrong."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from manners.cli import main
from manners.cli.commands.demo import run
from manners.demo.cases import CASES
from manners.demo.site import LIBRARY, ROBOTS, SETTINGS, SHOP, DemoSite

ALL = [*(case.name for case in CASES), "evidence", "replay"]
QUICK = SETTINGS.but(min_delay=0.02, max_delay=0.05)


@contextmanager
def started(folder: Path, *words: str, script: str = "") -> Iterator["subprocess.Popen[str]"]:
    """The command while it runs, with temporary files in a folder; it does not outlive its test."""
    arguments = ["-c", script] if script else ["-m", "manners", "demo"]
    # What is set for other crawls has no say in it.
    settings = {"MANNERS_MAX_PAGES": "1", "TMPDIR": str(folder), "COLUMNS": "80"}
    with subprocess.Popen(
        [sys.executable, *arguments, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, **settings},
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def ran(folder: Path, *words: str, script: str = "") -> tuple[int, str, str]:
    """Run the command to its end: exit code, output, errors."""
    with started(folder, *words, script=script) as program:
        out, err = program.communicate(timeout=120)
        return program.returncode, out, err


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[int, str, str]]:
    """A store that the demo was told to keep, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    return folder / "demo.db", ran(folder, "--store", "demo.db")


def test_everything_comes_out_as_it_should_and_is_told(
    kept: tuple[Path, tuple[int, str, str]],
) -> None:
    """Each case by its name and its sentence, without colours where nobody looks."""
    _, (code, out, err) = kept
    assert (code, err) == (0, "")
    assert f"All {len(ALL)} cases came out as expected." in out
    assert [name for name in ALL if f"\nok  {name}  " not in out] == []
    for case in CASES:
        assert out.count(case.explanation) == (2 if case.at else 1), case.name
    assert "\x1b" not in out


def test_it_shows_the_files_the_delays_and_what_was_blocked_by_which_line(
    kept: tuple[Path, tuple[int, str, str]],
) -> None:
    """A line for each page as it comes, as `manners crawl` has it."""
    _, (_, out, _) = kept
    assert "   2  Disallow: /private/\n" in out
    assert "/private/plans  line 2: Disallow: /private/\n" in out
    assert "/busy  Retry-After: 2  +" in out
    pages = [line for line in out.splitlines() if line.startswith("200 ")]
    assert len(pages) == 19
    assert all(line.endswith(" s") and "  +" in line for line in pages)


def test_a_store_that_is_kept_can_be_looked_at(
    kept: tuple[Path, tuple[int, str, str]],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it says to type next works."""
    store, (_, out, _) = kept
    monkeypatch.chdir(tmp_path)
    typed = [line.split() for line in out.splitlines() if line.startswith("  manners ")]
    typed = [words[1:] for words in typed if words[-1] == "demo.db"]
    assert len(typed) == 5
    for words in typed:
        assert main([*words[:-1], str(store)]) == 0, words
    said = capsys.readouterr()
    assert "OK: " in said.err
    assert "all the same" in said.err
    assert "finished" in said.out
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_the_report_of_a_demo_stays(tmp_path: Path) -> None:
    """There is something to look at, also where no store is kept."""
    code, out, _ = ran(tmp_path)
    (picture,) = tmp_path.iterdir()
    assert (code, f"  {picture}\n" in out) == (0, True)
    assert "<h1" in picture.read_text()


def test_a_store_with_an_earlier_demo_takes_another(
    kept: tuple[Path, tuple[int, str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """The last crawl is judged, the evidence of both verified."""
    store, _ = kept
    assert run(DemoSite(), QUICK.but(store=str(store))) == 0
    assert "\ncrawl 2 of " in capsys.readouterr().out


def test_json_has_the_outcome_of_each_case(tmp_path: Path) -> None:
    """One object a line, nothing else; and no file stays behind."""
    code, out, err = ran(tmp_path, "--json")
    assert (code, err) == (0, "")
    found = [json.loads(line) for line in out.splitlines()]
    assert [(each["case"], each["ok"]) for each in found] == [(name, True) for name in ALL]
    assert {key for each in found for key in each} == {"case", "ok", "says", "urls", "measured"}
    (plans,) = found[ALL.index("disallowed")]["urls"]
    assert plans["url"].endswith("/private/plans")
    assert plans["expected"] == plans["happened"] == "line 2: Disallow: /private/"
    assert found[ALL.index("429")]["measured"].startswith("no request for ")
    assert list(tmp_path.iterdir()) == []


PLANTED: Mapping[str, tuple[str, str, str, list[str]]] = {
    "disallows what is to be allowed": (
        *(SHOP, "Disallow: /*.pdf$\n", "Disallow: /*.pdf$\nDisallow: /tea/\n"),
        ["allowed", "the server's log"],
    ),
    "allows what is to be disallowed": (
        *(SHOP, "Disallow: /*.pdf$\n", "#\n"),
        ["anchor", "the server's log"],
    ),
    "names another sitemap": (
        *(SHOP, "sitemap.xml", "nothing.xml"),
        ["sitemap", "the server's log"],
    ),
    "asks for no delay": (
        *(LIBRARY, "Crawl-delay: 1", ""),
        ["crawl-delay"],
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_what_comes_out_otherwise_is_told(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A robots.txt with a fault: exit code 1, and the cases that it is wrong about."""
    name, before, after, wrong = PLANTED[fault]
    robots = {**ROBOTS, name: ROBOTS[name].replace(before, after)}
    assert robots != ROBOTS
    assert run(DemoSite(robots), QUICK.but(store=str(tmp_path / "demo.db"))) == 1
    out = capsys.readouterr().out
    assert [each for each in ALL if f"\nNO  {each}  " in out] == wrong
    said = f"{len(wrong)} of {len(ALL)} cases did not come out as expected"
    assert f"{said}: {'; '.join(wrong)}\n" in out


def test_evidence_that_was_changed_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A store in which somebody has written since."""
    place = tmp_path / "demo.db"
    assert run(DemoSite(), QUICK.but(store=str(place))) == 0
    with sqlite3.connect(place) as database:
        change = "UPDATE evidence SET metadata = replace(metadata, '/private/plans', '/tea')"
        assert database.execute(change).rowcount
    database.close()
    capsys.readouterr()
    assert run(DemoSite(), QUICK.but(store=str(place)), json=True) == 1
    found = {each["case"]: each for each in map(json.loads, capsys.readouterr().out.splitlines())}
    assert [name for name in ALL if not found[name]["ok"]] == ["evidence", "replay"]


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    """At once, without a word too many, and nothing stays behind."""
    with started(tmp_path) as program:
        assert program.stdout is not None
        while not program.stdout.readline().startswith("200 "):
            assert program.poll() is None
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=60)
    assert (program.returncode, err) == (130, "")
    assert "came out" not in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("library", ["aiohttp", "msgspec", "selectolax", "sqlalchemy"])
def test_a_missing_library_is_told_with_what_to_type(tmp_path: Path, library: str) -> None:
    """One line, before anything is begun."""
    script = (
        f"import sys; sys.modules[{library!r}] = None; from manners.cli import main;"
        "sys.exit(main(['demo']))"
    )
    code, out, err = ran(tmp_path, script=script)
    assert (code, out) == (2, "")
    assert err == f"manners: 'crawl' needs {library!r}: pip install 'manners[crawl]'\n"


def test_a_place_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    """One line, as with every command that keeps something."""
    code, _, err = ran(tmp_path, "--store", str(tmp_path / "no" / "such" / "folder.db"))
    assert code == 2
    assert err.startswith("manners: ")
    assert len(err.splitlines()) == 1
