"""What is published: the package with its kernel or without, what it says of itself, workflows."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import manners
from manners.identity import HOME_PAGE

ROOT = Path(__file__).parents[1]
GENERATED = (".*", "*.so", "*.c", "*.egg-info", "__pycache__", "build", "dist", "site")
"""What a checkout has beside its sources."""


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def project() -> dict[str, Any]:
    found: dict[str, Any] = pyproject()["project"]
    return found


def sources(folder: Path) -> Path:
    """A copy of the checkout, as if it had just been made."""
    return Path(
        shutil.copytree(ROOT, folder / "sources", ignore=shutil.ignore_patterns(*GENERATED))
    )


def has_compiler() -> bool:
    """Whether this machine has the C compiler that extensions are built with."""
    return shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) is not None


def wheel(folder: Path, *options: str, **environment: str) -> Path:
    """A wheel built from a copy of the sources."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*command, *options, "--wheel-dir", str(folder), str(sources(folder))],
        check=True,
        capture_output=True,
        env={**os.environ, **environment},
    )
    (found,) = folder.glob("*.whl")
    return found


def kernel_of(installed: Path) -> str:
    """Which engine runs from a wheel, unpacked and away from the checkout."""
    folder = installed.parent / "unpacked"
    zipfile.ZipFile(installed).extractall(folder)
    script = f"import sys; sys.path.insert(0, {str(folder)!r}); import manners;"
    script += "print(manners.KERNEL, manners.parse('User-agent: *').allowed('/', agent='a'))"
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True
    )
    return ran.stdout.strip()


def test_the_kernel_can_be_left_out(tmp_path: Path) -> None:
    """Whoever wants nothing to be compiled says so: hooks of pre-commit do."""
    option = "--config-settings=--global-option=--without-kernel"
    assert kernel_of(wheel(tmp_path, option)) == "python True"


def test_without_a_compiler_the_package_installs_all_the_same(tmp_path: Path) -> None:
    """A compiler that fails costs the kernel and nothing else; `make package` tries a good one."""
    built = wheel(tmp_path, CC="false", LDSHARED="false")
    names = zipfile.ZipFile(built).namelist()
    assert not [name for name in names if "_kernel" in name]
    assert "manners/politeness/backends/valkey.lua" in names
    assert kernel_of(built) == "python True"


# What the package says of itself.


def test_the_version_is_the_same_everywhere() -> None:
    """`pyproject.toml` has it; what is installed and the citation follow."""
    assert manners.__version__ == project()["version"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8").splitlines()
    assert f"version: {project()['version']}" in citation
    assert f"url: {HOME_PAGE}" in citation


def test_every_address_of_the_project_is_below_its_home_page() -> None:
    """The address that site owners see in the User-Agent header leads to all others."""
    urls = project()["urls"]
    assert urls.keys() == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert urls["Homepage"] == HOME_PAGE
    assert [url for url in urls.values() if not url.startswith(HOME_PAGE)] == []


def test_one_list_of_pythons() -> None:
    """Those that the package names are tested, and have wheels."""
    line = re.compile(r"Programming Language :: Python :: (3\.\d+)").fullmatch
    named = [found[1] for text in project()["classifiers"] if (found := line(text))]
    assert project()["requires-python"] == f">={named[0]}"
    (tests,) = (workflow(path) for path in WORKFLOWS if path.stem == "tests")
    assert tests["jobs"]["test"]["strategy"]["matrix"]["python"] == named
    wheels = [f"cp{name.replace('.', '')}-*" for name in named]
    assert pyproject()["tool"]["cibuildwheel"]["build"].split() == wheels


# Workflows: what is run elsewhere.


def workflow(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_read_and_no_more(path: Path) -> None:
    """It needs no secret; only publishing has a permission of its own, to say who it is."""
    assert "secrets." not in path.read_text("utf-8")
    found = workflow(path)
    assert found["permissions"] == {"contents": "read"}
    for name, job in found["jobs"].items():
        permissions = {"id-token": "write"} if name == "publish" else None
        assert job.get("permissions") == permissions, name
        assert job["timeout-minutes"] <= 60, name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_there_is(path: Path) -> None:
    """Actions of a major version, and targets of the Makefile."""
    steps = [step for job in workflow(path)["jobs"].values() for step in job["steps"]]
    assert [step for step in steps if len({"uses", "run"} & step.keys()) != 1] == []
    for step in steps:
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(release/)?v\d+", step["uses"])
    phony = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony
    runs = "\n".join(step.get("run", "") for step in steps)
    assert set(re.findall(r"\bmake (\w+)", runs)) <= set(phony[1].split())
    assert [line for line in re.findall(r"\.ci/\w+", runs) if not (ROOT / line).exists()] == []


# The changelog.


def test_a_fragment_becomes_an_item_of_the_changelog() -> None:
    """Its kind is a section, and a sentence comes before any list: it is an item of one itself."""
    kinds = [kind["directory"] for kind in pyproject()["tool"]["towncrier"]["type"]]
    name = re.compile(rf"\+[a-z\d.-]+\.({'|'.join(kinds)})\.md")
    for path in set((ROOT / "changes").iterdir()) - {ROOT / "changes" / "README.md"}:
        assert name.fullmatch(path.name), path.name
        assert re.match(r"[A-Za-z`]", path.read_text("utf-8")), path.name
