"""The sdist and the wheel, built, read, and installed where nothing else is: `make package`.

The wheel is built from the sdist, as an index would have it, and installed with all that a crawl
needs; the sdist is built again by pip, with nothing but what `pyproject.toml` names, and installed
with what `manners check` needs. Both run outside the checkout.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.metadata import Metadata
from readme_renderer import markdown

from tests.cli.running import AT_ONCE
from tests.client.asking import rules, site
from tests.faults.server import Site, in_thread
from tests.test_packaging import ROOT, has_compiler, project, sources

VERSION: str = project()["version"]
NAME = f"manners-{VERSION}"
COMPILED = (".c", ".so")
BUILD_ONLY = (".pyx", ".pxi")
"""Files that the build needs and nobody else."""

UNCLEAN = ("PYTHON", "MANNERS_", "VIRTUAL_ENV")
"""Variables that would lead a clean environment to another one, or set what it does."""

IMPORT = """
import manners, sys
assert manners.__file__.startswith(sys.prefix), manners.__file__
assert not manners.parse("User-agent: *\\nDisallow: /a").allowed("/a", agent="MyBot")
print(manners.__version__, manners.KERNEL)
"""


CLEAN = {
    **{name: value for name, value in os.environ.items() if not name.startswith(UNCLEAN)},
    **{f"MANNERS_{name}": value for name, value in AT_ONCE.items()},
}


class Failed(Exception):
    """A command ended otherwise than it should, or a file is not where it should be."""


def expect(is_so: bool, otherwise: str) -> None:
    """End with a message unless something is so."""
    if not is_so:
        raise Failed(otherwise)


def run(*command: str | Path, folder: Path, code: int = 0, cflags: str = "") -> str:
    """What a command prints, in a folder and an environment that know nothing of the checkout."""
    environment = CLEAN | {"MANNERS_CFLAGS": cflags}
    ran = subprocess.run(
        command, check=False, cwd=folder, env=environment, capture_output=True, text=True
    )
    expect(
        ran.returncode == code,
        f"exit code {ran.returncode}, not {code}: {' '.join(map(str, command))}\n"
        f"{ran.stdout}{ran.stderr}",
    )
    return ran.stdout


def build(folder: Path) -> Path:
    """The sdist of a copy of the checkout."""
    options = ("--sdist", "--no-isolation", "--outdir", folder)
    run(sys.executable, "-m", "build", *options, sources(folder), folder=folder)
    return folder / f"{NAME}.tar.gz"


def read_sdist(sdist: Path) -> set[str]:
    """The files of the package, all of which the sdist has; and no test, and nothing compiled."""
    copy = sdist.parent / "sources"
    package = {
        path.relative_to(copy / "src").as_posix()
        for path in (copy / "src" / "manners").rglob("*")
        if path.is_file() and path.suffix not in COMPILED
    }
    with tarfile.open(sdist) as archive:
        files = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    wanted = {f"src/{name}" for name in package}
    wanted |= {"pyproject.toml", "setup.py", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"}
    expect(wanted <= files, f"the sdist lacks {sorted(wanted - files)}")
    strange = {name for name in files if name.startswith("tests") or name.endswith(COMPILED)}
    expect(not strange, f"the sdist has {sorted(strange)}")
    return package


def read_wheel(wheel: Path, package: set[str]) -> None:
    """See that the wheel has the package, the kernel, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name for name in archive.namelist() if not name.startswith(f"{NAME}.dist-info/")}
        metadata = archive.read(f"{NAME}.dist-info/METADATA")
    kernel = {name for name in files if name.startswith("manners/robots/_kernel.")}
    wanted = {name for name in package if not name.endswith(BUILD_ONLY)}
    expect(wanted <= files, f"the wheel lacks {sorted(wanted - files)}")
    expect(files == wanted | kernel, f"the wheel has {sorted(files - wanted - kernel)}")
    expect(len(kernel) == has_compiler(), f"the wheel has {sorted(kernel) or 'no kernel'}")
    described = Metadata.from_email(metadata)  # raises what an index would complain of
    expect(bool(markdown.render(described.description or "")), "README.md does not render")


def install(distribution: Path, extras: str, folder: Path, cflags: str = "") -> Path:
    """Install a distribution in an environment of its own, and return where its commands are."""
    folder.mkdir()
    run(sys.executable, "-m", "venv", ".venv", folder=folder)
    commands = folder / ".venv" / "bin"
    pip = (commands / "python", "-m", "pip")
    run(*pip, "install", "--quiet", f"{distribution}[{extras}]", folder=folder, cflags=cflags)
    run(*pip, "check", folder=folder)
    return commands


def use(commands: Path, address: str) -> None:
    """Import the package, then check a URL on loopback that is disallowed."""
    folder = commands.parents[1]
    kernel = "cython" if has_compiler() else "python"
    found = run(commands / "python", "-c", IMPORT, folder=folder).split()
    expect(found == [VERSION, kernel], f"imported: {found}")
    found = run(commands / "manners", "--version", folder=folder).split()
    expect(found[:2] == ["manners", VERSION], f"manners --version: {found}")
    said = run(commands / "manners", "check", f"{address}closed", folder=folder, code=1)
    expect("line 2" in said, f"manners check: {said}")


def use_wheel(sdist: Path, package: set[str], address: str) -> None:
    """The wheel checks, crawls, verifies and reports: migrations and the style sheet are there."""
    folder = sdist.parent / "wheel"
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", sdist.parent)
    run(sys.executable, "-m", "pip", "wheel", *options, sdist, folder=sdist.parent)
    (wheel,) = sdist.parent.glob("*.whl")
    read_wheel(wheel, package)
    commands = install(wheel, "crawl", folder)
    use(commands, address)
    manners = commands / "manners"
    run(manners, "crawl", address, "--store", "crawl.db", folder=folder)
    run(manners, "evidence", "verify", "--store", "crawl.db", folder=folder)
    run(manners, "report", "crawl.db", folder=folder)
    expect("font-family" in (folder / "report.html").read_text("utf-8"), "a report without style")


def use_sdist(sdist: Path, address: str) -> None:
    """The sdist builds with what `pyproject.toml` names, and checks."""
    # The kernel of the wheel is the fast one; this one compiles in a quarter of the time.
    commands = install(sdist, "cli,aiohttp", sdist.parent / "sdist", cflags="-O0")
    use(commands, address)


def main() -> None:
    """Build, read, install and use both."""
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="manners-package-")).resolve()
    try:
        expect(ROOT not in folder.parents, f"TMPDIR is inside the checkout: {folder}")
        sdist = build(folder)
        package = read_sdist(sdist)
        with (
            in_thread(Site(site(rules("Disallow: /closed")))) as server,
            ThreadPoolExecutor() as pool,
        ):
            uses = [
                pool.submit(use_wheel, sdist, package, server.url()),
                pool.submit(use_sdist, sdist, server.url()),
            ]
        for each in uses:
            each.result()
    except Failed as error:
        sys.exit(f"make package: {error}")
    finally:
        shutil.rmtree(folder)
    took = time.monotonic() - began
    print(f"{NAME}: sdist and wheel built, installed and used in {took:.0f} s.")


if __name__ == "__main__":
    main()
