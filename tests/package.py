"""The sdist and the wheel, built, read, and installed where nothing else is: `make package`.

The wheel is built from the sdist, as an index would have it, and installed with all that a crawl
needs; the sdist is built again by pip, with nothing but what `pyproject.toml` names, and installed
with what `manners check` needs. Both run outside the checkout. With the wheel, every command of
README.md is typed as it stands there: a stranger's path from `check` to `evidence verify`.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.metadata import Metadata

from tests.cli.running import AT_ONCE
from tests.client.asking import rules, site
from tests.docs.shop import HOME, Shop, shop
from tests.docs.test_docs import README, alike, alike_in_any_order, blocks, commands
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


STEPS = (
    "manners check ",
    "manners crawl --",
    "manners report",
    "manners crawl resume",
    "manners get --urls ",
    "manners evidence verify",
)
"""How the commands begin that README.md must have."""

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


def run(*command: str | Path, folder: Path, code: int = 0, **variables: str) -> str:
    """What a command prints, in a folder and an environment that know nothing of the checkout."""
    ran = subprocess.run(
        command, check=False, cwd=folder, env=CLEAN | variables, capture_output=True, text=True
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
    from readme_renderer import markdown  # of the group check: `make test` does not have it

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
    what = f"{distribution}[{extras}]"
    run(*pip, "install", "--quiet", what, folder=folder, MANNERS_CFLAGS=cflags)
    run(*pip, "check", folder=folder)
    return commands


def use(place: Path, address: str) -> None:
    """Import the package, then check a URL on loopback that is disallowed."""
    folder = place.parents[1]
    kernel = "cython" if has_compiler() else "python"
    found = run(place / "python", "-c", IMPORT, folder=folder).split()
    expect(found == [VERSION, kernel], f"imported: {found}")
    found = run(place / "manners", "--version", folder=folder).split()
    expect(found[:2] == ["manners", VERSION], f"manners --version: {found}")
    said = run(place / "manners", "check", f"{address}closed", folder=folder, code=1)
    expect("line 2" in said, f"manners check: {said}")


def readme_commands() -> list[tuple[str, str]]:
    """What README.md says to type, with what it shows: its consoles, then the rest of its text."""
    text = README.read_text("utf-8")
    consoles = [block.text for block in blocks(text) if block.language == "console"]
    typed = [command for console in consoles for command in commands(console)]
    for block in blocks(text):
        text = text.replace(block.text, "")
    return typed + [
        (" ".join(found.split()), "") for found in re.findall(r"`(manners [^`]+)`", text)
    ]


def follow_readme(place: Path, opened: Shop) -> None:
    """Type every command of README.md, in its order and in one folder, as a stranger would."""
    folder = place.parents[1] / "stranger"
    folder.mkdir()
    typed = readme_commands()
    steps = [step for step in STEPS if not any(command.startswith(step) for command, _ in typed)]
    expect(not steps, f"README.md has no command that begins with {steps}")
    (crawl,) = (command for command, _ in typed if command.startswith("manners crawl --"))
    for command, shown in typed:
        words = shlex.split(command)
        words[0] = str(place / "manners")
        if command == "manners crawl resume":
            interrupt(crawl, place, folder, opened)
        elif command.startswith("manners get --urls "):
            listed = folder / words[words.index("--urls") + 1]
            listed.write_text(f"{HOME}\n{HOME}tea\n", encoding="utf-8")
        code = 1 if words[1] == "check" else 0  # README.md checks a URL that is disallowed
        printed = run(*words, folder=folder, code=code, MANNERS_PROXY=opened.proxy)
        same = alike(shown or "...", printed) or alike_in_any_order(shown, printed)
        expect(same, f"{command}\n--- README.md\n{shown}--- printed\n{printed}")
        if command == "manners crawl resume":
            pages = sorted(url for url in opened.requests if not url.endswith((".txt", ".xml")))
            expect(pages == [HOME, f"{HOME}tea"], f"both runs of the crawl requested {pages}")
        elif command.startswith("manners get --urls "):
            saved = list((folder / words[words.index("-o") + 1]).rglob("*.html"))
            expect(len(saved) == 2, f"{command}: saved {saved}")
    expect("font-family" in (folder / "report.html").read_text("utf-8"), "a report without style")


def interrupt(command: str, place: Path, folder: Path, opened: Shop) -> None:
    """Start a crawl, and press Ctrl-C while the site has not answered its first page yet."""
    opened.requests.clear()
    opened.hold(HOME)
    with subprocess.Popen(
        [place / "manners", *shlex.split(command)[1:]],
        cwd=folder,
        env=CLEAN | {"MANNERS_PROXY": opened.proxy},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while HOME not in opened.requests and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        said = process.stderr.readline() + process.stderr.readline()  # it knows that it ends
        opened.release()
    expect(process.returncode == 130, f"interrupted: exit code {process.returncode}, {said}")


def use_wheel(sdist: Path, package: set[str], address: str) -> None:
    """The wheel does what README.md says: migrations and the style sheet are there."""
    folder = sdist.parent / "wheel"
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", sdist.parent)
    run(sys.executable, "-m", "pip", "wheel", *options, sdist, folder=sdist.parent)
    (wheel,) = sdist.parent.glob("*.whl")
    read_wheel(wheel, package)
    place = install(wheel, "crawl", folder)
    use(place, address)
    with shop() as opened:
        follow_readme(place, opened)


def use_sdist(sdist: Path, address: str) -> None:
    """The sdist builds with what `pyproject.toml` names, and checks."""
    # The kernel of the wheel is the fast one; this one compiles in a quarter of the time.
    use(install(sdist, "cli,aiohttp", sdist.parent / "sdist", cflags="-O0"), address)


def main() -> None:
    """Build, read, install and use both."""
    began = time.monotonic()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A job in the background ignores Ctrl-C, and what it starts would, too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
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
