"""The comparison finds what it is for: bugs, planted in one engine at a time.

In `make test` in the plain engine; in `make check` and `make soak` in the kernel, which is
translated to C once and compiled with each bug in a folder of its own; another process loads the
result in place of the installed kernel.
"""

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from manners.robots import dialects, patterns
from tests.differential.test_engines import OWN, PAIRS, SEED, compare, needs_kernel

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "manners" / "robots" / "_kernel.pyx"
LINKER = shlex.split(sysconfig.get_config_var("LDSHARED") or "")

needs_cython = pytest.mark.skipif(
    importlib.util.find_spec("Cython") is None, reason="Cython is not installed"
)
needs_compiler = pytest.mark.skipif(
    not LINKER or shutil.which(LINKER[0]) is None, reason="no C compiler"
)

BUGS = {"none": -1, "tie rule": 1, "anchor": 2, "inheritance": 3, "gram de-duplication": 4}
"""-1 plants nothing and counts how often a rule with `*` is tried."""

LOAD = """
import importlib.util, json, sys
found = importlib.util.spec_from_file_location("manners.robots._kernel", sys.argv[1])
sys.modules[found.name] = kernel = importlib.util.module_from_spec(found)
found.loader.exec_module(kernel)
from manners import _compiled
assert _compiled.kernel is kernel
"""

COMPARE = """
from tests.differential import test_engines
from manners.robots import dialects
pairs, difference = test_engines.compare(dialects.get("rfc9309"), int(sys.argv[2]))
print(json.dumps([kernel.planted()[0], pairs, difference]))
"""

COUNT = """
import manners
body, path = sys.argv[2:]
policy = manners.parse(body).policy("bot")
policy.allowed_many([path] * 100)  # asked often, it arranges its rules
before = kernel.planted()[1]
policy.allowed(path)
print(json.dumps(kernel.planted()[1] - before))
"""


def to_c(folder: Path) -> Path:
    """The kernel in C."""
    written = folder / "_kernel.c"
    command = [sys.executable, "-m", "cython", "-3", str(SOURCE), "-o", str(written)]
    subprocess.run(command, check=True)
    return written


def build(source: Path, name: str, flags: Sequence[str]) -> Path:
    """The kernel compiled, beside its source."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    built = source.parent / name / f"_kernel{suffix}"
    built.parent.mkdir()
    include = sysconfig.get_path("include")
    command = [*LINKER, "-fPIC", f"-I{include}", "-O1", *flags, str(source), "-o", str(built)]
    subprocess.run(command, check=True)
    return built


def run_with(kernel: Path, script: str, *arguments: str) -> Any:
    """What a script prints in a process whose kernel is this one."""
    environment = {**os.environ, "MANNERS_PURE": "0", "DIFFERENTIAL_SEED": str(SEED)}
    ran = subprocess.run(
        [sys.executable, "-c", LOAD + script, str(kernel), *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return to_c(tmp_path_factory.mktemp("kernel"))


def _no_anchor(pattern: str, wildcards: bool) -> Any:
    literal, pieces, _ = _SPLIT(pattern, wildcards)
    return literal, pieces, None


def _last_line_wins(rules: Any, dialect: Any) -> Any:
    return [*reversed(list(rules))] if dialect.name == "rfc9309" else _RANKED(rules, dialect)


_SPLIT, _RANKED = patterns._split, patterns._ranked
PLAIN_BUGS: dict[str, Any] = {"_split": _no_anchor, "_ranked": _last_line_wins}


@needs_kernel
@pytest.mark.parametrize("name", PLAIN_BUGS)
def test_a_bug_of_the_plain_engine_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine with a bug differs from the other one, which has none."""
    monkeypatch.setattr(patterns, name, PLAIN_BUGS[name])
    _, found = compare(dialects.get("rfc9309"), 4_000)
    assert found is not None


@needs_cython
@needs_compiler
@pytest.mark.soak(small="test_a_bug_of_the_plain_engine_is_found")
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel with a bug differs from the plain engine, and one without does not.

    The last bug changes no verdict: it tries the same rules again for every time that a path has
    the same four bytes, and is seen by counting.
    """
    kernel = build(source, bug.replace(" ", "-"), [f"-DMANNERS_PLANTED={BUGS[bug]}"])
    planted, pairs, difference = run_with(kernel, COMPARE, str(PAIRS // len(OWN)))
    trials = run_with(kernel, COUNT, HOSTILE_BODY, HOSTILE_PATH)
    with capsys.disabled():
        told = f"bug {bug}: {pairs} pairs, {trials} trials of {RULES} rules"
        print(f"\nDIFFERENTIAL_SEED={SEED}: {told}", file=sys.stderr)
    assert planted == BUGS[bug]
    assert (difference is not None) == (bug in ("tie rule", "anchor", "inheritance")), difference
    if bug == "gram de-duplication":
        assert trials > 100 * RULES
    else:
        assert RULES <= trials <= 2 * RULES


# Every rule needs `aaaa`, which the path has three thousand times, and then two letters that the
# path has, but never one behind the other.
_LETTERS = "bcdefghijk"
_RULES = [f"Disallow: /*aaaa*{a}{b}" for a in _LETTERS for b in _LETTERS]
RULES = len(_RULES)
HOSTILE_BODY = "\n".join(["User-agent: *", *_RULES])
HOSTILE_PATH = "/" + "a" * 3_000 + "a".join(_LETTERS)
