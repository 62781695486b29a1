"""Plain words: names are nouns and verbs, and one class name has one meaning."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import manners

SOURCE = Path(manners.__file__).parent
MODULES = sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))
NO_NAMES = {
    "alone", "each", "held", "its", "left", "made", "mine", "others", "said", "told", "way",
    "whole",
}  # fmt: skip
"""Pronouns and participles: as the name of a value, they do not say what it is."""
STAND_INS = {
    ("RequestRate", "compat/protego.py"),  # Protego has a class of this name
    ("VisitTime", "compat/protego.py"),  # Protego has a class of this name
    ("RequestRate", "compat/urllib_robotparser.py"),  # urllib.robotparser has one
}
"""Classes that stand in for another library's, and have to be called as it calls them."""


def parsed(module: str) -> ast.AST:
    return ast.parse((SOURCE / module).read_text("utf-8"))


def names_given(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that a module gives to something, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                yield name, node.lineno
            case ast.Name(name, ast.Store()) | ast.Attribute(_, name, ast.Store()):
                yield name, node.lineno
            case ast.arg(name) | ast.ExceptHandler(name=str(name)):
                yield name, node.lineno
            case ast.MatchAs(name=str(name)) | ast.MatchStar(str(name)):
                yield name, node.lineno
            case ast.Import(names) | ast.ImportFrom(names=names):
                yield from ((alias.asname or alias.name, node.lineno) for alias in names)


@pytest.mark.parametrize("module", MODULES)
def test_names_say_what_they_name(module: str) -> None:
    """No argument, variable, attribute, function, class or module is a pronoun or a participle."""
    names = [(part.removesuffix(".py"), 0) for part in module.split("/")]
    names += names_given(parsed(module))
    assert [(name, line) for name, line in names if name.lower().strip("_") in NO_NAMES] == []


def test_a_class_name_has_one_meaning() -> None:
    """No two classes of the package have the same name, private ones included."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for module in MODULES:
        for node in ast.walk(parsed(module)):
            if isinstance(node, ast.ClassDef) and (node.name, module) not in STAND_INS:
                homes[node.name].append(module)
    twice = {name: found for name, found in homes.items() if len(found) > 1}
    assert twice == {}


# How much there is to read at once.

MAX_MODULE, MAX_FUNCTION, MAX_STATE = 450, 45, 12
LARGE = {
    "cli/commands/bulk.py:command": "its parameters are the options",
    "cli/commands/check.py:command": "its parameters are the options",
    "cli/commands/crawl.py:start": "its parameters are the options",
    "cli/commands/explain.py:command": "its parameters are the options",
    "cli/commands/get.py:command": "its parameters are the options",
    "cli/commands/report.py:command": "its parameters are the options",
    "cli/commands/robots.py:command": "its parameters are the options",
    "cli/commands/serve.py:command": "its parameters are the options",
    "cli/commands/usage.py:command": "its parameters are the options",
    "cli/commands/watch.py:command": "its parameters are the options",
    "client/async_client.py:AsyncClient": "its parts: who decides, waits, sends, records, archives",
    "client/async_client.py:__init__": "its parameters are the client's",
    "compat/ray.py:crawl": "its parameters and an example",
    "crawler/crawl.py:crawl": "its parameters and an example",
    "crawler/fleet.py:join": "one transaction, step by step",
    "crawler/frontier/frontier.py:Frontier": "what a worker knows of a crawl, besides its store",
    "crawler/frontier/ways.py:KnownUrl": "a row of the store, and what is to change in it",
    "crawler/holdings.py:Holdings": "each of its sets says where a host is on its way",
    "crawler/opening.py:open_frontier": "opens everything that a worker needs, in order",
    "crawler/run.py:CrawlRun": "knows everybody who takes part in a crawl",
    "net/http.py:Http": "what its connections need, and what they are used for",
    "politeness/gate.py:Gate": "its lanes, and those who may hold a request back",
    "sitemaps/markup.py:Markup": "one automaton; its state is where it stands in the markup",
    "sitemaps/parser.py:SitemapParser": "one automaton; its state is what it has read so far",
    "store/database.py:Store": "a database, its writer, and what waits for a transaction",
    "store/migrations/versions/0004_fleet.py:_fill": "a list of statements",
    "store/migrations/versions/0004_fleet.py:_key_by_host": "a list of statements, in two dialects",
}
"""What is larger, and why."""


def attributes_of(node: ast.ClassDef) -> set[str]:
    """The attributes that a class gives itself."""
    return {
        part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute)
        and isinstance(part.ctx, ast.Store)
        and isinstance(part.value, ast.Name)
        and part.value.id == "self"
    }


def sizes_of(module: str) -> Iterator[tuple[str, bool]]:
    """The functions and classes of a module, and whether each is larger than it should be."""
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            yield f"{module}:{node.name}", lines > MAX_FUNCTION
        elif isinstance(node, ast.ClassDef):
            yield f"{module}:{node.name}", len(attributes_of(node)) > MAX_STATE


def test_nothing_is_too_large() -> None:
    """Modules, functions and the state of classes are small, but for those that are listed."""
    long = [name for name in MODULES if len((SOURCE / name).read_text().splitlines()) > MAX_MODULE]
    assert long == []
    large = {name for module in MODULES for name, is_large in sizes_of(module) if is_large}
    assert large == LARGE.keys()
