"""How the package is built: what it imports, what it exports, who may know what."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import manners
from manners.robots import dialects

SOURCE = Path(manners.__file__).parent
QUIET = [
    "_inflate",
    "_text",
    "_unpack",
    "charset",
    "errors",
    "events",
    "urls",
    "robots/**/*",
    "lint/**/*",
    "signals/**/*",
    "sitemaps/**/*",
    "tester/**/*",
    "retrieval/**/*",
    "net/messages",
    "net/guard",
    "cache/entry",
    "cache/freshness",
    "cache/site",
    "cache/versions",
    "politeness/schedule",
    "politeness/budget",
    "browser/need",
    "client/page",
    "evidence/anchoring",
    "evidence/chain",
    "evidence/export",
    "evidence/export_chains",
    "evidence/export_lines",
    "evidence/numbering",
    "evidence/record",
    "evidence/replay",
    "evidence/spreadsheet",
    "evidence/words",
    "crawler/judge",
    "crawler/sources",
    "crawler/links",
    "crawler/page",
    "crawler/reasons",
    "crawler/scheduler",
    "crawler/traps",
    "crawler/frontier/room",
    "crawler/frontier/values",
    "crawler/frontier/ways",
    "report/changes",
    "report/data",
    "report/decisions",
    "report/display",
    "report/rates",
    "report/robots_files",
    "report/stored",
    "report/timeline",
    "report/usages",
    "client/page_signals",
    "client/purposes",
    "client/redirects",
    "watch/deciding",
    "watch/effect",
    "watch/pace",
    "watch/sight",
    "watch/signing",
    "report/html/**/*",
]
"""What decides: no input or output, no clock and no randomness, directly or through others."""
NOT_QUIET = {
    "_compiled": {"os"},  # reads MANNERS_PURE, once, when it is loaded
}
"""What quiet modules use although it is not quiet, and why."""
IO_MODULES = {
    "aiohttp", "asyncio", "concurrent", "filelock", "http", "logging", "multiprocessing", "os",
    "pathlib", "queue", "random", "sched", "secrets", "select", "shutil", "signal", "socket",
    "sqlalchemy", "sqlite3", "ssl", "subprocess", "tempfile", "threading", "time", "urllib.request",
    "uuid",
}  # fmt: skip
# What `import manners` may load beyond what a bare interpreter has: the standard library's
# machinery for typing, and ourselves.
MAY_LOAD = {
    "_collections", "_functools", "_operator", "_sre", "_types", "_typing", "abc", "collections",
    "contextlib", "copyreg", "enum", "functools", "importlib", "itertools", "keyword", "manners",
    "operator", "re", "reprlib", "types", "typing", "warnings",
}  # fmt: skip


def quiet_modules() -> list[str]:
    """The quiet modules, by the path in the package that names them."""
    found = []
    for pattern in QUIET:
        files = sorted(SOURCE.glob(f"{pattern}.py"))
        assert files, pattern
        found += [str(file.relative_to(SOURCE).with_suffix("")) for file in files]
    return found


def statements(tree: ast.AST, *, in_functions: bool) -> Iterator[ast.AST]:
    """What runs when a module is loaded, or anywhere in it; nothing that is for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if in_functions or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            yield from statements(node, in_functions=in_functions)


@cache
def imported(module: str, *, in_functions: bool) -> frozenset[str]:
    """What a module imports: names with dots, and of `from a import b` both `a` and `a.b`."""
    tree = ast.parse((SOURCE / f"{module}.py").read_text("utf-8"))
    names = set()
    for node in statements(tree, in_functions=in_functions):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def own_modules(name: str) -> Iterator[str]:
    """The modules of this package that importing a name loads, its packages included."""
    package, *parts = name.split(".")
    if package != "manners":
        return
    for end in range(len(parts) + 1):
        for path in ("/".join(parts[:end]), "/".join([*parts[:end], "__init__"])):
            if (SOURCE / f"{path}.py").is_file():
                yield path


def noise(module: str) -> dict[str, tuple[str, ...]]:
    """The modules with input, output, clock or randomness that are imported, and the way to each.

    In the module itself wherever the import stands; in what it imports, when that is loaded.
    """
    ways: dict[str, tuple[str, ...]] = {module: (module,)}
    ahead = [module]
    found: dict[str, tuple[str, ...]] = {}
    while ahead:
        here = ahead.pop(0)
        for name in sorted(imported(here, in_functions=here == module)):
            for loud in IO_MODULES - NOT_QUIET.get(here, set()):
                if f"{name}.".startswith(f"{loud}."):
                    found.setdefault(loud, (*ways[here], loud))
            for there in own_modules(name):
                if there not in ways:
                    ways[there] = (*ways[here], there)
                    ahead.append(there)
    return found


def modules_loaded_by(statement: str) -> set[str]:
    script = (
        f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in ran.stdout.split()}


@pytest.mark.parametrize("module", quiet_modules())
def test_quiet_modules_import_no_io(module: str) -> None:
    """What decides has no clock, no randomness, no input and no output, nor has what it imports."""
    assert not noise(module)


@pytest.mark.parametrize("module", quiet_modules())
def test_quiet_modules_call_nothing_that_needs_no_import(module: str) -> None:
    """No file is opened, nothing is printed, and nobody asks a date for the present one."""
    tree = ast.parse((SOURCE / f"{module}.py").read_text("utf-8"))
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert {call.rpartition(".")[2] for call in calls}.isdisjoint(
        {"input", "now", "open", "print", "today", "utcnow"}
    )


def test_imports_are_followed_through_modules() -> None:
    """A module is as loud as the loudest that it imports."""
    assert noise("cache/robots")["asyncio"] == ("cache/robots", "asyncio")
    assert noise("cache/robots")["logging"] == ("cache/robots", "logs", "logging")


def test_importing_the_package_loads_little() -> None:
    """`import manners` costs a few modules of the standard library."""
    assert modules_loaded_by("import manners") <= MAY_LOAD


def test_the_engine_loads_the_standard_library_only() -> None:
    """Parsing and checking needs nothing that has to be installed."""
    loaded = modules_loaded_by(
        "import manners; manners.parse('User-agent: *').check('http://a/', agent='b')"
    )
    ours = {name for name in loaded if name == "manners" or "cython" in name}  # Cython's run time
    assert loaded - ours <= set(sys.stdlib_module_names)


@pytest.mark.parametrize(
    "library", ["aiohttp", "httpx", "protego", "pyarrow", "pytest", "requests", "scrapy"]
)
def test_no_library_is_loaded_unless_it_is_used(library: str) -> None:
    """The engine, and the drop-ins that need nothing, load nobody else's code."""
    loaded = modules_loaded_by(
        "import manners.compat.protego, manners.compat.urllib_robotparser, manners.compat.arrow;"
        "import manners.testing; manners.parse('').allowed('/', 'a')"
    )
    assert library not in loaded


def test_the_command_loads_nothing_heavy() -> None:
    """Checking a file from the command line does not wait for libraries it does not need."""
    statement = "from manners.cli import main; main(['dialects', '--json'])"
    loaded = modules_loaded_by(
        f"import io; sys.stdout, real = io.StringIO(), sys.stdout; {statement}; sys.stdout = real"
    )
    assert loaded.isdisjoint({"aiohttp", "asyncio", "rich", "sqlalchemy", "pydantic", "idna"})


def test_public_names_are_few_and_exist() -> None:
    """Every exported name loads, and there are as many as the design names at most."""
    assert len(manners.__all__) <= 35
    for name in manners.__all__:
        assert getattr(manners, name) is not None
        assert name in dir(manners)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that does not exist says so as in any module."""
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        manners.nonsense  # noqa: B018


def test_nothing_outside_the_dialects_asks_which_dialect_it_is() -> None:
    """No comparison and no case outside the folder of the dialects has a dialect's name in it."""
    for module in SOURCE.rglob("*.py"):
        if module.parent.name == "dialects":
            continue
        questions = [
            node
            for node in ast.walk(ast.parse(module.read_text("utf-8")))
            if isinstance(node, ast.Compare | ast.MatchValue | ast.Subscript | ast.Dict)
        ]
        constants = {
            part.value
            for node in questions
            for part in ast.walk(node)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        }
        # "specificity" is also what a choice and a verdict have.
        assert constants & set(dialects.names()) <= {"specificity"}, module
