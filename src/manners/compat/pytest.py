"""A pytest plug-in for site owners: `robots_tests.toml` says who may fetch what.

pytest loads this module wherever the package is installed, so it imports little; the engine is
loaded with the first such file.
"""

import os
import re
import sys
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manners._text import count, cut, printable
from manners.errors import MannersError, MissingExtra

try:
    import pytest
except ModuleNotFoundError as error:
    if error.name != "pytest":
        raise
    raise MissingExtra("pytest", "pytest") from None

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _pytest._code.code import TerminalRepr

    from manners.lint.finding import Finding
    from manners.robots.policy import Robots
    from manners.testing import assert_allowed, assert_disallowed

__all__ = ["assert_allowed", "assert_clean", "assert_disallowed"]

_FILES = ("robots_tests.toml", "*_robots_tests.toml", "robots_tests_*.toml")
_MAX_BYTES = 1024 * 1024
_MAX_TESTS = 100_000
_MAX_FINDINGS = 50
_HEADER = re.compile(r"[ \t]*\[\[[ \t]*test[ \t]*\]\]").match
_OF_FILE = {
    "robots": 'robots = "public/robots.txt"',
    "dialect": 'dialect = "rfc9309"',
    "test": "[[test]] with agent, url and expect",
}
_OF_TEST = {
    "agent": 'agent = "GPTBot", or a list of names',
    "url": 'url = "https://example.com/private/", a path such as "/private/", or a list of them',
    "expect": 'expect = "allowed" or expect = "disallowed"',
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from manners import testing

    return getattr(testing, name)


def assert_clean(
    body: bytes | str | Path,
    engines: "Sequence[str]" = ("rfc9309", "google"),
    fail_on: str = "warning",
    ignore: "Sequence[str]" = (),
) -> "list[Finding]":
    """Fail if the linter finds something as bad as `fail_on`, or worse; the message lists it.

    `body` is the content of a robots.txt, or the `Path` of a file. `fail_on` is `error`, `warning`
    or `info`; `ignore` names rules by name or code. Returns the findings that are not as bad.

    >>> assert_clean("User-agent: *\\nDisallow: /private/")
    []
    """
    __tracebackhide__ = True
    from manners import lint
    from manners.errors import UnknownName
    from manners.robots.dialects import DEFAULT
    from manners.testing.assertions import MAX_FILE, load, read

    levels = [severity.value for severity in lint.Severity]
    if fail_on not in levels:
        raise UnknownName("severity", fail_on, levels)
    if isinstance(body, Path):
        file, body = str(body), read(body, MAX_FILE)
    else:
        file = load(body, DEFAULT)[1]  # refuses what is no content
    findings = lint.run(body, engines, ignore=ignore)
    bad = [found for found in findings if found.severity.is_at_least(lint.Severity(fail_on))]
    if bad:
        lines = [f"{printable(file)}:{found}" for found in bad[:_MAX_FINDINGS]]
        if len(bad) > len(lines):
            lines.append(f"… and {len(bad) - len(lines):,} more")
        raise AssertionError("\n  ".join([f"{count(len(bad), 'finding')} by the linter", *lines]))
    return findings


def pytest_plugin_registered(
    plugin: object, plugin_name: str, manager: pytest.PytestPluginManager
) -> None:
    """Register once: pytest fails if both the entry point and `-p` or a conftest name a module."""
    if plugin is sys.modules.get(__name__):
        for other in {"manners", __name__} - {plugin_name}:
            manager.set_blocked(other)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "RobotsTests | None":
    """Collect the files with our names, and no others."""
    if not any(fnmatchcase(file_path.name, pattern) for pattern in _FILES):
        return None
    return RobotsTests.from_parent(parent, path=file_path)


class RobotsTests(pytest.File):
    """One TOML file: a robots.txt, and who may fetch what."""

    def collect(self) -> list["RobotsTest"]:
        """One item for each agent and URL."""
        items: list[RobotsTest] = []
        place = self._shown(self.path)
        try:
            content, lines = self._read()
            robots, file = self._load(content)
            for number, test in enumerate(content["test"], 1):
                line = lines[number - 1] if len(lines) == len(content["test"]) else None
                place = f"{self._shown(self.path)}{f':{line}' if line else ''}: test {number}"
                agents, urls, expected = _read_test(test)
                if len(items) + len(agents) * len(urls) > _MAX_TESTS:
                    raise MannersError(f"more than {_MAX_TESTS:,} agents and URLs; split the file")
                for agent, url in product(agents, urls):
                    name = printable(f"{agent} {url} {expected}")
                    item = RobotsTest.from_parent(self, name=name)
                    item.asked = robots, url, agent, expected == "allowed", file
                    item.number, item.line, item.place = number, line, place
                    items.append(item)
        except MannersError as mistake:
            raise self.CollectError(f"{place}: {mistake}") from None
        return items

    def _shown(self, path: Path) -> str:
        """A path as in pytest's own messages: relative to the root of the project."""
        full, root = Path(os.path.normpath(path)), self.config.rootpath
        return printable(str(full.relative_to(root) if full.is_relative_to(root) else full))

    def _read(self) -> tuple[dict[str, Any], list[int]]:
        """The content, and the numbers of the lines on which tests begin."""
        import tomllib

        from manners.testing.assertions import read

        try:
            text = read(self.path, _MAX_BYTES).decode("utf-8-sig")
            content = tomllib.loads(text)
        except OSError as error:
            raise MannersError(f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise MannersError("not UTF-8; save the file in this encoding") from None
        except ValueError as error:  # tomllib's own, or a number with too many digits
            raise MannersError(f"not TOML: {error}") from None
        except RecursionError:
            raise MannersError("not TOML that can be read: nested too deeply") from None
        _check_keys(content, _OF_FILE)
        if isinstance(content.get("test"), dict):
            raise MannersError("[test] is a single table; write [[test]], with two brackets")
        if not content.get("test") or not isinstance(content["test"], list):
            raise MannersError(f"no tests; add {_OF_FILE['test']}")
        return content, [n for n, line in enumerate(text.split("\n"), 1) if _HEADER(line)]

    def _load(self, content: dict[str, Any]) -> "tuple[Robots, str]":
        """The parsed robots.txt, and its path for messages."""
        from manners.robots.dialects import DEFAULT
        from manners.testing.assertions import load

        path = self.path.parent / _string(content, "robots")
        dialect = _string({"dialect": DEFAULT, **content}, "dialect")
        shown = self._shown(path)
        try:
            if path.is_file():
                return load(path, dialect)[0], shown
            # Since Python 3.14, is_file() says no to whatever the system refuses.
            with suppress(FileNotFoundError, NotADirectoryError, ValueError):
                path.stat()
        except OSError as error:
            raise MannersError(f"{shown} cannot be read: {error.strerror}") from None
        raise MannersError(f"no file {shown}; 'robots' is a path from the folder of this file")


class RobotsTest(pytest.Item):
    """One agent, one URL, and whether it should be allowed."""

    asked: "tuple[Robots, str, str, bool, str]"
    number: int
    line: int | None
    place: str

    def runtest(self) -> None:
        """Fail if the robots.txt decides otherwise."""
        from manners.testing.assertions import expect

        expect(*self.asked)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the test is written; pytest counts lines from 0."""
        # In a bare name, pytest would take dots for separators of module and class.
        title = f"test {self.number}: {self.name}"
        return self.path, self.line - 1 if self.line else None, title

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> "str | TerminalRepr":
        """What decided, without a traceback, which would show this package and not the mistake."""
        if isinstance(excinfo.value, AssertionError):
            return f"{excinfo.value}\n  expected by {self.place}"
        return super().repr_failure(excinfo, style)


def _read_test(test: Any) -> tuple[list[str], list[str], str]:
    """Agents, URLs, and "allowed" or "disallowed"."""
    from manners.testing.assertions import check_address

    if not isinstance(test, dict):
        raise MannersError(f"{_quoted(test)} is not a test; write {_OF_FILE['test']}")
    _check_keys(test, _OF_TEST)
    agents, urls, expected = _strings(test, "agent"), _strings(test, "url"), _string(test, "expect")
    for url in urls:
        check_address(url)
    if expected not in ("allowed", "disallowed"):
        raise MannersError(f"'expect' is {_quoted(expected)}; write {_OF_TEST['expect']}")
    return agents, urls, expected


def _check_keys(table: dict[str, Any], known: dict[str, str]) -> None:
    from difflib import get_close_matches

    for key in table:
        if key in known:
            continue
        if key in _OF_FILE:
            raise MannersError(
                f"{key!r} belongs to the file, not to a test; write it above the first [[test]]"
            )
        nearest = get_close_matches(key, known, 1)
        hint = f"did you mean {nearest[0]!r}?" if nearest else f"choose from: {', '.join(known)}"
        raise MannersError(f"unknown key {_quoted(key)}; {hint}")


def _strings(table: dict[str, Any], key: str) -> list[str]:
    """The strings of a key that has one or several."""
    value = table.get(key)
    if not isinstance(value, list):
        return [_string(table, key)]
    return [_string({key: item}, key) for item in value or [value]]


def _string(table: dict[str, Any], key: str) -> str:
    example = {**_OF_FILE, **_OF_TEST}[key]
    if key not in table:
        raise MannersError(f"no {key!r}; add {example}")
    value = table[key]
    if not isinstance(value, str) or not value.strip():
        raise MannersError(f"{key!r} is {_quoted(value)}; write {example}")
    return value


def _quoted(value: object) -> str:
    return cut(repr(value), 80)
