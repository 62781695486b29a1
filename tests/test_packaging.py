"""What is installed: the kernel where there is a C compiler, the package in any case."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("src", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
COMPILER = (sysconfig.get_config_var("CC") or "cc").split()[0]


def wheel(folder: Path, **environment: str) -> Path:
    """A wheel built from a copy of the sources."""
    copy = folder / "sources"
    copy.mkdir()
    leave = shutil.ignore_patterns("*.so", "*.c", "*.egg-info", "__pycache__")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, copy / part, ignore=leave)
        else:
            shutil.copy(ROOT / part, copy / part)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*command, "--wheel-dir", str(folder), str(copy)],
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


@pytest.mark.skipif(shutil.which(COMPILER) is None, reason="no C compiler on this machine")
@pytest.mark.soak(small="test_without_a_compiler_the_package_installs_all_the_same")
def test_a_wheel_has_the_kernel_and_no_sources_of_it(tmp_path: Path) -> None:
    """With a compiler the kernel is built; C and Cython sources stay out of the wheel."""
    built = wheel(tmp_path)
    names = zipfile.ZipFile(built).namelist()
    assert any("_kernel" in name and name.endswith((".so", ".pyd")) for name in names)
    assert not [name for name in names if name.endswith((".c", ".pyx", ".pxi"))]
    assert "manners/py.typed" in names
    assert "manners/report/html/style.css" in names
    assert kernel_of(built) == "cython True"


def test_without_a_compiler_the_package_installs_all_the_same(tmp_path: Path) -> None:
    """A compiler that fails costs the kernel and nothing else."""
    built = wheel(tmp_path, CC="false", LDSHARED="false")
    names = zipfile.ZipFile(built).namelist()
    assert not [name for name in names if "_kernel" in name]
    assert "manners/politeness/backends/valkey.lua" in names
    assert kernel_of(built) == "python True"
