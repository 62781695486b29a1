"""How the package is built: what it imports, what it exports, who may know what."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import manners
from manners.robots import dialects

SOURCE = Path(manners.__file__).parent
QUIET = [
    SOURCE / "_text.py",
    SOURCE / "charset.py",
    SOURCE / "errors.py",
    SOURCE / "urls.py",
    *(SOURCE / "robots").rglob("*.py"),
    *(SOURCE / "sitemaps").rglob("*.py"),
    SOURCE / "crawler" / "links.py",
    SOURCE / "crawler" / "timeline.py",
    SOURCE / "crawler" / "traps.py",
    *(SOURCE / "crawler" / "picture" / f"{name}.py" for name in ("charts", "elements", "words")),
    *(SOURCE / "retrieval").rglob("*.py"),
    SOURCE / "net" / "messages.py",
    SOURCE / "net" / "guard.py",
    SOURCE / "cache" / "entry.py",
    SOURCE / "cache" / "freshness.py",
    SOURCE / "cache" / "site.py",
    *(SOURCE / "evidence" / f"{name}.py" for name in ("chain", "export", "record", "replay")),
    SOURCE / "page.py",
    SOURCE / "politeness" / "schedule.py",
    SOURCE / "politeness" / "budget.py",
]
IO_MODULES = {
    "asyncio", "http", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "select",
    "signal", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading", "time", "uuid",
}  # fmt: skip
# What `import manners` may load beyond what a bare interpreter has: the standard library's
# machinery for typing, and ourselves.
MAY_LOAD = {
    "_collections", "_functools", "_operator", "_sre", "_typing", "abc", "collections",
    "contextlib", "copyreg", "enum", "functools", "importlib", "itertools", "keyword", "manners",
    "operator", "re", "reprlib", "types", "typing", "warnings",
}  # fmt: skip


def imported(module: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(module.read_text("utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in names}


def modules_loaded_by(statement: str) -> set[str]:
    script = (
        f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in ran.stdout.split()}


@pytest.mark.parametrize("module", QUIET, ids=lambda path: str(path.relative_to(SOURCE)))
def test_quiet_modules_import_no_io(module: Path) -> None:
    """The engine has no clock, no randomness, no input and no output."""
    assert imported(module).isdisjoint(IO_MODULES)


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
    assert len(manners.__all__) <= 34
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
