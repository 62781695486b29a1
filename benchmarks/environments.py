"""A virtual environment with as many parsers as one installed Python can have.

Some parsers have wheels for a single version of Python. Each version that is found gets an
environment in `.bench/`, every parser is installed there on its own, and the version that takes
most of them is used. What could be installed is remembered; `--fresh` begins again.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import REQUIREMENTS

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".bench"
NAMES = ("python3.11", "python3.12", "python3.13")


@dataclass(frozen=True)
class Environment:
    """A virtual environment for one version of Python."""

    version: str
    creator: Path
    """The interpreter it is made with."""

    @property
    def home(self) -> Path:
        return HOME / self.version

    @property
    def python(self) -> Path:
        return self.home / "venv" / "bin" / "python"

    def install_peers(self) -> dict[str, str]:
        """Why each parser could not be installed; empty where it could."""
        record = self.home / "peers.json"
        known: dict[str, str] = json.loads(record.read_text()) if record.is_file() else {}
        if not self.python.is_file():
            self.home.mkdir(parents=True, exist_ok=True)
            self._run(self.creator, "-m", "venv", "venv")
            known = {}
        for each in REQUIREMENTS:
            if each not in known:
                known[each] = self._pip("install", each)
        record.write_text(json.dumps(known, indent=2))
        return known

    def install_manners(self) -> None:
        """From a copy of the checkout, so that building leaves nothing behind in it."""
        source, record = self.home / "source", self.home / "source.sha256"
        shutil.rmtree(source, ignore_errors=True)
        skipped = shutil.ignore_patterns("*.so", "*.c", "__pycache__", "*.egg-info")
        shutil.copytree(ROOT / "src", source / "src", ignore=skipped)
        for path in ROOT.iterdir():
            if path.is_file() and not path.name.startswith("."):
                shutil.copy(path, source)
        digest = _digest(source)
        if record.is_file() and record.read_text() == digest:
            return
        problem = self._pip("install", "--force-reinstall", "./source")
        if problem:
            raise SystemExit(f"manners could not be installed: {problem}")
        record.write_text(digest)

    def _pip(self, *arguments: str) -> str:
        return self._run(self.python, "-m", "pip", "--quiet", *arguments)

    def _run(self, program: Path, *arguments: str) -> str:
        """What a program says last when it fails; nothing when it does not."""
        done = subprocess.run(
            [program, *arguments], cwd=self.home, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return ""
        errors = [line.strip() for line in done.stderr.splitlines() if "error" in line.lower()]
        return (errors or ["failed"])[-1][:200]


def best(fresh: bool) -> Environment:
    """The environment with most parsers, manners in it."""
    if fresh:
        shutil.rmtree(HOME, ignore_errors=True)
    environments = [Environment(version, path) for version, path in interpreters().items()]
    with ThreadPoolExecutor() as pool:
        problems = list(pool.map(Environment.install_peers, environments))
    counts = [sum(not problem for problem in each.values()) for each in problems]
    for environment, count in zip(environments, counts, strict=True):
        print(f"Python {environment.version}: {count} of {len(REQUIREMENTS)} peers install")
    # The running Python comes first, and so it is taken when others are no better.
    chosen = environments[counts.index(max(counts))]
    for name, problem in problems[counts.index(max(counts))].items():
        if problem:
            print(f"  {name}: {problem}")
    chosen.install_manners()
    return chosen


def interpreters() -> dict[str, Path]:
    """Working interpreters by version, the running one first."""
    found: dict[str, Path] = {}
    for path in (Path(sys.executable), *_candidates()):
        version = _version(path)
        if version:
            found.setdefault(version, path)
    return found


def _candidates() -> list[Path]:
    folders = [Path(each) for each in os.get_exec_path()]
    # A shim of pyenv works only for the version that is switched on; the others lie behind it.
    pyenv = shutil.which("pyenv")
    if pyenv:
        done = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False)
        folders += sorted(Path(done.stdout.strip(), "versions").glob("*/bin"))
    return [folder / name for folder in folders for name in NAMES if (folder / name).is_file()]


def _version(path: Path) -> str:
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _digest(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            total.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()
