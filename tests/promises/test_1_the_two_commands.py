"""`make test` and `make check` always pass: what makes that so, without running them."""

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import sizes
from tests.cli.running import AT_ONCE, settle
from tests.client.asking import rules
from tests.faults.server import Call, Site, by_path, in_thread

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")


# Ctrl-C, and who does not want to hear of it.


def test_what_tests_start_can_be_interrupted() -> None:
    """Also where SIGINT is ignored, as in `nohup make test &` of a script."""
    script = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert ran.stdout == "False\n"


class Held:
    """A page that is answered when the test says so."""

    def __init__(self) -> None:
        self.is_asked, self.goes_on = threading.Event(), threading.Event()

    async def __call__(self, call: Call) -> None:
        await call.request()
        self.is_asked.set()
        while not self.goes_on.is_set():
            await call.pause(0.01)
        await call.reply(200, b"well", [("Content-Type", "text/html")])


@pytest.fixture
def held() -> Iterator[tuple[Held, Site]]:
    page = Held()
    with in_thread(Site(by_path({"/robots.txt": rules("Allow: /"), "/": page}))) as site:
        yield page, site
        page.goes_on.set()


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
@pytest.mark.parametrize(
    ("command", "number"),
    [("crawl", signal.SIGINT), ("crawl", signal.SIGTERM), ("get", signal.SIGINT)],
    ids=lambda it: getattr(it, "name", it),
)
def test_a_signal_that_is_ignored_stays_ignored(
    command: str,
    number: signal.Signals,
    held: tuple[Held, Site],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Started in the background of a script, a command is not ended by somebody else's Ctrl-C."""
    page, site = held
    settle(monkeypatch, tmp_path, **AT_ONCE)
    ignoring = ["sh", "-c", f'trap "" {number.name[3:]}; exec "$@"', "sh"]
    with subprocess.Popen(
        [*ignoring, sys.executable, "-m", "manners", command, site.url()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert page.is_asked.wait(60)
        process.send_signal(number)
        process.send_signal(number)
        page.goes_on.set()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (out, err)
    assert "interrupted" not in out
    assert "finishing" not in err


def test_one_place_handles_signals() -> None:
    """It asks what was there before; a second one would have to ask as well."""
    handling = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*.py")
        if re.search(r"add_signal_handler|signal\.signal\(", path.read_text())
    }
    assert handling == {"src/manners/_interrupts.py"}


def test_a_connection_that_a_server_closes_does_not_end_the_command() -> None:
    """SIGPIPE would: writing to a closed socket sends it, as writing to a closed pipe does."""
    script = (
        "import signal, manners.__main__ as command\n"
        "command.main = lambda: print(signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN)\n"
        "command.run()"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "True\n"


# What each target runs.


OUTSIDE = {
    name: value
    for name, value in os.environ.items()
    if name not in ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "MAKELEVEL", "PYTHON")
}
"""The environment without what `make test PYTHON=…` hands down."""


def dry(*words: str) -> str:
    """What `make` would do, with an environment that is made."""
    made = [f"--assume-old=.venv/{stamp}" for stamp in ("made", "installed", "tested", "checked")]
    ran = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", *made, *words],
        cwd=ROOT,
        env=OUTSIDE,
        capture_output=True,
        check=True,
        text=True,
    )
    return ran.stdout


@needs_make
def test_make_test_runs_every_test_at_its_small_size() -> None:
    """The plain engine by itself first; nothing is left out but what is marked `soak`."""
    pure, everything = dry("test").splitlines()
    assert pure.startswith("MANNERS_PURE=1 ")
    assert re.fullmatch(r"\S+/python -m pytest( -n auto| --dist \w+)*", everything)
    assert "-m 'not soak'" in (ROOT / "pyproject.toml").read_text()


@needs_make
def test_make_check_is_make_test_and_more() -> None:
    """Lint, types, layers, documentation, packages, fuzzing with a seed, and long forms."""
    told = dry("check")
    assert dry("test") in told
    for tool in ("ruff format --check", "ruff check", "mypy", "lint-imports", "mkdocs build"):
        assert tool in told, tool
    assert dry("package") in told
    assert re.search(r"tests\.memory\.fuzz .*-seed=1$", told, re.MULTILINE)
    assert re.search(r"^TEST_SIZE=check .* -m 'long or soak'$", told, re.MULTILINE)


@needs_make
def test_make_soak_runs_the_long_forms() -> None:
    """Their sizes can be set on the command line."""
    told = dry("soak", "TEST_KILLS=7")
    assert re.fullmatch(r"TEST_SIZE=soak .* -m 'long or soak'\n", told)


@needs_make
def test_make_quick_runs_a_part_of_make_test() -> None:
    """Folders and files that there are."""
    words = dry("quick").split()
    parts = [word for word in words if word.startswith(("tests", "src"))]
    assert parts
    assert [part for part in parts if not (ROOT / part).exists()] == []


def test_continuous_integration_runs_make_check() -> None:
    """And nothing else, so that whoever types it sees the same."""
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == "make check"


@needs_make
def test_another_python_makes_the_environment_anew(tmp_path: Path) -> None:
    """An environment is never taken for one of the Python that was asked for; else it stays."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("one", "two"):
        python = tmp_path / name
        python.write_text(
            f"#!/bin/sh\ncase $1 in -c) echo {name};;\n"
            "*) mkdir -p $3/bin && cp $0 $3/bin/python && echo made >> log;; esac\n"
        )
        python.chmod(0o755)

    def made_by(*words: str) -> str:
        command = ["make", "--silent", *words, ".venv/made"]
        subprocess.run(command, cwd=tmp_path, env=OUTSIDE, check=True, capture_output=True)
        python = tmp_path / ".venv" / "bin" / "python"
        ran = subprocess.run([python, "-c"], check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    assert made_by("PYTHON=./one") == "one"
    assert made_by("PYTHON=./one") == "one"
    assert made_by() == "one"
    assert (tmp_path / "log").read_text().splitlines() == ["made"]
    assert made_by("PYTHON=./two") == "two"
    assert (tmp_path / "log").read_text().splitlines() == ["made"] * 2


# Long forms.


def marked(mark: str) -> Iterator[tuple[Path, ast.FunctionDef, ast.expr]]:
    """Every use of a mark on a test or one of its parameters: the file, the test, the mark."""
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text()
        for node in ast.parse(text).body if f"mark.{mark}" in text else []:
            if isinstance(node, ast.FunctionDef):
                for decorator in node.decorator_list:
                    for each in ast.walk(decorator):
                        if isinstance(each, ast.Attribute) and each.attr == mark:
                            yield path, node, decorator


def test_every_long_form_has_a_small_one() -> None:
    """What runs only in `make check` and `make soak` names a test that `make test` runs."""
    only = {(path, test.name) for path, test, it in marked("soak") if "parametrize" not in dump(it)}
    found = list(marked("soak"))
    assert found
    for path, test, mark in found:
        small = re.search(r"soak', .*?arg='small', value=Constant\(value='(\w+)'", dump(mark))
        assert small, f"{path.name}: {test.name} names no small form"
        assert (path, small[1]) not in only
        assert f"def {small[1]}(" in path.read_text(), small[1]


def dump(node: ast.AST) -> str:
    return ast.dump(node)


def test_every_size_is_small_in_make_test_and_grows() -> None:
    """Each row of the table is read by a test, and said how to set in CONTRIBUTING.md."""
    texts = {path: path.read_text() for path in TESTS.rglob("*.py")}
    for name, (test, check, soak) in sizes.TABLE.items():
        less, more = (soak, test) if name == "CORPUS_STEP" else (test, soak)
        assert 0 < less <= check <= more, name
        assert test != soak, name
        readers = [path for path, text in texts.items() if f'size("{name}")' in text]
        assert readers, name
    assert "tests/sizes.py" in (ROOT / "CONTRIBUTING.md").read_text()


def test_sizes_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """One variable for each row."""
    monkeypatch.setenv("TEST_KILLS", "7")
    assert sizes.size("KILLS") == 7
    monkeypatch.setenv("TEST_EXAMPLES", "1000")
    assert sizes.examples(30) == 300


def test_a_run_repeats_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change is not blamed for what chance finds: only `make soak` draws something new."""
    monkeypatch.delenv("KILLED_SEED", raising=False)
    for size in ("test", "check"):
        monkeypatch.setattr(sizes, "SIZE", size)
        assert sizes.seed("KILLED_SEED") == sizes.seed("KILLED_SEED") == 1
    monkeypatch.setattr(sizes, "SIZE", "soak")
    monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", "a run")
    assert sizes.seed("KILLED_SEED") not in (1, None)
    monkeypatch.setenv("KILLED_SEED", "7")
    assert sizes.seed("KILLED_SEED") == 7
