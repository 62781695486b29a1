"""The documentation does what it says: its examples run, and its dialects page is complete."""

import doctest
import inspect
import io
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
import yaml

from docs import _hooks
from manners import Settings
from manners.cli import main
from manners.cli.app import build
from manners.identity import HOME_PAGE
from manners.robots.dialects import DEFAULT, get, names
from tests.chromium import CHROMIUM
from tests.contracts.postgres import Postgres
from tests.contracts.valkey import free_port
from tests.docs.shop import shop

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [*sorted(DOCS.rglob("*.md")), README]
COMING_FROM = sorted(set(DOCS.glob("coming-from/*.md")) - {DOCS / "coming-from" / "today.md"})
"""Pages with tables of calls: `test_coming_from` runs their rows and their blocks."""

BROWSED = ("browser.md",)
"""Pages whose examples need a browser."""

OTHERS = [name for name in names() if name != DEFAULT]

_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
DATABASE = "postgresql://crawler@db.internal/crawls"
"""Where pages have the database of a crawl that several processes work on."""
OTHER_PROGRAMS = ("curl ", "node ")
"""What is run where it is installed."""
_PORT = re.compile(r"(?<!\d)180\d\d(?!\d)")
"""The ports of the servers that pages start."""


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    title: str
    text: str
    line: int
    """The line of the page on which the text begins."""


def blocks(page: str) -> list[Block]:
    return [
        Block(
            found[1],
            title[1] if (title := _TITLE.search(found[2])) else "",
            found[3],
            page.count("\n", 0, found.start(3)) + 1,
        )
        for found in _FENCE.finditer(page)
    ]


def with_free_ports(page: str) -> str:
    """The page with ports that nobody uses now: it may be read more than once at a time."""
    free = {port: str(free_port()) for port in sorted(set(_PORT.findall(page)))}
    return _PORT.sub(lambda port: free[port[0]], page)


class Reader:
    """Somebody who follows a page from top to bottom, in an empty folder."""

    def __init__(self, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.page = page
        self.monkeypatch = monkeypatch
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.code = 0
        self.servers: list[subprocess.Popen[bytes]] = []
        monkeypatch.syspath_prepend(Path.cwd())  # a page may import what it has written
        self.modules = set(sys.modules)

    def close(self) -> None:
        """Stop what was left running in other terminals, and forget the modules of the page."""
        for server in self.servers:
            server.kill()
            server.wait()
        here = str(Path.cwd())
        for name in set(sys.modules) - self.modules:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(here):
                del sys.modules[name]

    def follow(self, block: Block) -> None:
        if block.title:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python" and ">>>" in block.text:
            self.run_doctest(block)
        elif block.language == "python":
            shifted = "\n" * (block.line - 1) + block.text
            exec(compile(shifted, str(self.page), "exec"), self.names)
        elif block.language == "toml":
            settings = Path("settings-of-a-block.toml")
            settings.write_text(block.text, encoding="utf-8")
            Settings.load(settings, environment={})
        elif block.language == "yaml":
            assert yaml.safe_load(block.text)
        elif block.language == "console":
            for command, expected in commands(block.text):
                self.run_command(command, expected, block)

    def run_doctest(self, block: Block) -> None:
        example = doctest.DocTestParser().get_doctest(
            block.text, self.names, self.page.name, str(self.page), block.line - 1
        )
        report: list[str] = []
        doctest.DocTestRunner(verbose=False).run(example, out=report.append, clear_globs=False)
        self.names.update(example.globs)
        assert not report, "".join(report)

    def run_command(self, command: str, expected: str, block: Block) -> None:
        if command == "echo $?":
            printed = f"{self.code}\n"
        elif command.startswith("python -m http.server "):
            words = shlex.split(command)
            self.serve(words[1:], int(words[3]))
            return
        elif command.startswith("manners serve "):
            words = shlex.split(command)
            self.serve(["-m", *words], int(words[words.index("--port") + 1]))
            return
        elif command.startswith("manners "):
            printed = self.run_manners(shlex.split(command)[1:])
        elif command.startswith(("python ", "pytest")):
            printed = self.run_python(shlex.split(command))
        elif command.startswith(OTHER_PROGRAMS) and shutil.which(command.split(maxsplit=1)[0]):
            printed = self.run(shlex.split(command)).rstrip("\n") + "\n"
        else:  # an installation, for example
            return
        same = alike(expected, printed)
        if not same and command.startswith(("manners get", "manners crawl")):
            # Pages are shown as they come: on a busy machine that may be in another order.
            same = alike_in_any_order(expected, printed)
        place = f"{self.page.name}, block on line {block.line}: $ {command}"
        assert same, f"{place}\n--- expected\n{expected}--- printed\n{printed}"

    def serve(self, words: list[str], port: int) -> None:
        """Leave a server running in another terminal, once it answers."""
        server = subprocess.Popen(
            [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.servers.append(server)
        while server.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return
            time.sleep(0.05)
        raise AssertionError(f"it ended with {server.returncode}: {words}")

    def run_python(self, words: list[str]) -> str:
        return self.run([sys.executable, *(words[1:] if words[0] == "python" else ["-m", *words])])

    def run(self, words: list[str]) -> str:
        ran = subprocess.run(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        self.code = ran.returncode
        return ran.stdout

    def run_manners(self, words: list[str]) -> str:
        typed = b""
        if "<" in words:
            place = words.index("<")
            typed = Path(words[place + 1]).read_bytes()
            del words[place : place + 2]
        stdin = io.TextIOWrapper(io.BytesIO(typed), encoding="utf-8")
        self.monkeypatch.setattr(sys, "stdin", stdin)
        screen = io.BytesIO()  # to which pages go as they are
        with (
            io.TextIOWrapper(screen, encoding="utf-8", write_through=True) as text,
            redirect_stdout(text),
            redirect_stderr(text),
        ):
            self.code = main(words)
            return screen.getvalue().decode()


_MEASURED = re.compile(
    r"(?<=bytes, )\S+ m?s\b|(?<=ran for )[^:\n]+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\([\d,.]+ bytes\)"
)
"""What differs from run to run: how long it took, when it was, how large a report is."""


def alike(expected: str, printed: str) -> bool:
    """Whether it is the same but for what was measured, and for "...", which stands for more."""
    expected, printed = (_MEASURED.sub("(measured)", text) for text in (expected, printed))
    return doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS)


def alike_in_any_order(expected: str, printed: str) -> bool:
    """Whether each line stands in the other text, too, and as often."""
    lines = printed.splitlines()
    for line in sorted(expected.splitlines(), key=lambda line: "..." in line):
        found = next((each for each in lines if alike(f"{line}\n", f"{each}\n")), None)
        if found is None:
            return False
        lines.remove(found)
    return not lines


def commands(console: str) -> Iterator[tuple[str, str]]:
    """What is typed in a console, and what is printed after it."""
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        command, _, printed = part.replace("\\\n", " ").partition("\n")
        yield command, printed


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in COMING_FROM],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_a_page_does_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Files are written, code is run and output is compared in the order of the page."""
    if not page.exists():
        pytest.skip(f"there is no {page.name}")
    if CHROMIUM is None and page.name in BROWSED:
        pytest.skip("no Chromium here: `make browser`")
    monkeypatch.chdir(tmp_path)
    text = with_free_ports(page.read_text(encoding="utf-8"))
    if DATABASE in text:  # behind the ports: that of the server may look like one of the page
        postgres: Postgres = request.getfixturevalue("postgres")
        text = text.replace(DATABASE, postgres.database())
    with closing(Reader(page, monkeypatch)) as reader, shop() as opened:
        if page == README:
            monkeypatch.setenv("MANNERS_PROXY", opened.proxy)
        for block in blocks(text):
            reader.follow(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_block_of_a_page_is_overlooked(page: Path) -> None:
    """Every fence belongs to a block that names its language, and no fence is indented."""
    if not page.exists():
        pytest.skip(f"there is no {page.name}")
    text = page.read_text(encoding="utf-8")
    assert len(re.findall(r"^[ \t]*```", text, re.MULTILINE)) == 2 * len(blocks(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_block_hides_code_from_the_tests(page: Path) -> None:
    """What is not run is shown as text, and is neither Python nor a command of ours."""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language in {"text", "sh"} and not block.title:
            code = re.search(r"^(\$ )?manners |^import |\bmanners\.\w+\(", block.text, re.MULTILINE)
            assert not code, f"line {block.line}: {code}"
        known = {"python", "console", "robots", "toml", "yaml", "html", "text", "sh", "diff", "js"}
        assert block.language in known, f"line {block.line}: {block.language}"


@pytest.fixture(scope="module")
def dialects_page() -> str:
    """The page as it is published, without its links."""
    text = (DOCS / "explanation" / "dialects.md").read_text(encoding="utf-8")
    return re.sub(r"\[(`[^`]+`)\]\[[^\]]+\]", r"\1", _hooks.on_page_markdown(text))


def section(page: str, name: str) -> str:
    """What stands under one heading."""
    found = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"no section for {name!r}"
    return found[1]


def test_the_dialects_page_is_filled_in(dialects_page: str) -> None:
    assert "<!--" not in dialects_page


@pytest.mark.parametrize("name", names())
def test_the_dialects_page_has_every_dialect(dialects_page: str, name: str) -> None:
    """A row to choose it by, a column, and a section that begins with its docstring."""
    assert f"| `{name}` |" in dialects_page
    assert f"| [{name}](#{name}) |" in dialects_page
    docstring = import_module(f"manners.robots.dialects.{name}").__doc__
    assert docstring
    assert section(dialects_page, name).lstrip().startswith(inspect.cleandoc(docstring))


@pytest.mark.parametrize("name", OTHERS)
def test_the_dialects_page_has_every_difference_and_its_source(
    dialects_page: str, name: str
) -> None:
    differing = {
        each.name
        for each in fields(get(name))
        if getattr(get(name), each.name) != getattr(get(DEFAULT), each.name)
    } - {"name", "summary"}
    explained: set[str] = set()
    for point in section(dialects_page, name).split("\n- ")[1:]:
        changes, _, reason = point.partition("\n")
        assert reason.strip(), f"dialect {name!r}, without a source: {changes}"
        explained.update(re.findall(r"`(\w+)`: `[^`]+` instead of `[^`]+`", changes))
    assert explained == differing


def test_a_difference_without_a_comment_stops_the_build() -> None:
    """The next comment further up is about another field, or there is none."""
    base = get(DEFAULT)
    dialect = base.but(name="mine", summary="mine", rank="first")
    explained = 'DIALECT = RFC9309.but(\n    name="mine",\n    # As mine.\n    rank="first",\n)\n'
    (choice,) = _hooks.differences(dialect, base, explained)
    assert (choice.field, choice.source) == ("rank", "As mine.")
    with pytest.raises(ValueError, match="'mine': 'rank' differs from 'rfc9309', and no comment"):
        _hooks.differences(dialect, base, explained.replace("    # As mine.\n", ""))


def test_the_examples_in_the_hooks_hold() -> None:
    assert doctest.testmod(_hooks).failed == 0


def test_the_options_page_has_every_option_with_its_help() -> None:
    """Under the heading of its command, as published."""
    text = (DOCS / "reference" / "options.md").read_text(encoding="utf-8")
    page = _hooks.on_page_markdown(text)
    app: Any = typer.main.get_command(build())
    found = list(options("manners", app))
    assert len(found) > 100
    for words, option in found:
        assert re.search(
            rf"^\| `[^`]*{option}\b[^`]*` \| .+ \|$", section(page, words), re.MULTILINE
        )


def test_the_command_page_has_every_command() -> None:
    """A heading for each, and a mention of each subcommand."""
    page = (DOCS / "reference" / "command.md").read_text(encoding="utf-8")
    app: Any = typer.main.get_command(build())
    for name, command in app.commands.items():
        text = section(page, name)
        for subcommand in getattr(command, "commands", {}):
            assert f"`manners {name} {subcommand}" in text


def test_a_copy_button_copies_what_is_typed() -> None:
    """Of a console the commands, of a doctest the code; other blocks as they are."""
    block = '<div class="language-{} highlight"><pre><code>{}</code></pre></div>'
    console = block.format("console", "<span>$ </span>echo &quot;a&quot;\na\n<span>$ </span>ls")
    assert 'data-copy="echo &quot;a&quot;\nls"' in _hooks.on_page_content(console)
    doctest_block = block.format("python", "&gt;&gt;&gt; 1 &lt; 2\nTrue")
    assert 'data-copy="1 &lt; 2"' in _hooks.on_page_content(doctest_block)
    plain = block.format("python", "a = 1")
    assert _hooks.on_page_content(plain) == plain


def options(words: str, command: Any) -> Iterator[tuple[str, str]]:
    """Every option of a command, and of the subcommands in it, with the words that lead there."""
    for parameter in command.params:
        if getattr(parameter, "hidden", False):  # an old form, which works until 1.0
            continue
        yield from ((words, option) for option in parameter.opts if option.startswith("--"))
    for name, subcommand in getattr(command, "commands", {}).items():
        yield from options(f"{words} {name}", subcommand)


def test_every_link_of_the_readme_leads_to_a_page() -> None:
    """Links are whole addresses, so that they work on a package index, too."""
    assert f"\nsite_url: {HOME_PAGE}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", README.read_text(encoding="utf-8"))
    assert links
    for link in links:
        path = link.removeprefix(HOME_PAGE)
        assert path != link, f"not on the home page: {link}"
        assert (DOCS / path).exists() or (DOCS / path).with_suffix(".md").exists(), link


def test_every_class_of_the_readme_exists() -> None:
    """What is added to httpx, requests, aiohttp, Scrapy and crawlee."""
    from manners.compat import aiohttp, crawlee, httpx, requests, scrapy

    modules = aiohttp, crawlee, httpx, requests, scrapy
    classes = set(re.findall(r"\b(?:Polite|Manners)\w+", README.read_text(encoding="utf-8")))
    assert len(classes) == len(modules)
    for name in classes:
        assert any(hasattr(module, name) for module in modules), name


def test_the_simulated_crawls_are_those_of_the_simulation() -> None:
    """The page has the table that the program prints."""
    from benchmarks.fleet_sizing import table

    assert table() in (DOCS / "how-to" / "fleet.md").read_text(encoding="utf-8")
