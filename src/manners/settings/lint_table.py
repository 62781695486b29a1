"""The table `[lint]` of manners.toml: which rules the linter uses, and for which engines.

It needs no library: files are linted where only the command is installed.
"""

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from manners.errors import SettingsError
from manners.settings.names import FILE, refuse

TABLE = "lint"
_SEVERITIES = ("error", "warning", "info")
_MAX_FILE = 1024 * 1024


@dataclass(frozen=True)
class LintSettings:
    """What a project has decided about its robots.txt; empty where it has not."""

    select: tuple[str, ...] = ()
    """Rules that are used instead of the default ones: codes, names, letters of families."""
    ignore: tuple[str, ...] = ()
    """Rules that are not used."""
    allow: tuple[str, ...] = ()
    """Rules that are never used, whatever the options of a command say."""
    engines: tuple[str, ...] = ()
    """The dialects for which everything has to hold."""
    fail_on: str = ""
    """The severity from which on a finding is a failure."""
    source: str = ""
    """Where it stands; empty for none."""


def load_lint(config: str | None = None) -> LintSettings:
    """The table in a file: the one named, else manners.toml in the working folder if there is one.

    Beside a scan.yml it is that of the manners.toml there.
    """
    path = Path(FILE if config is None else config)
    if path.suffix.lower() in (".yml", ".yaml"):
        config, path = None, path.with_name(FILE)
    if config is None and not path.is_file():
        return LintSettings()
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE + 1)
    except (OSError, ValueError) as error:  # a name with a NUL in it is a ValueError
        problem = getattr(error, "strerror", None) or error
        raise SettingsError(str(path), f"cannot be read: {problem}") from None
    if len(data) > _MAX_FILE:
        raise SettingsError(str(path), f"has more than {_MAX_FILE:,} bytes")
    try:
        content = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SettingsError(str(path), f"not TOML: {error}") from None
    return read_lint(content[TABLE], str(path)) if TABLE in content else LintSettings()


def read_lint(table: Any, source: str) -> LintSettings:
    """A table `[lint]`, checked but for the names in it.

    >>> read_lint({"ignore": ["crawl-delay"]}, "manners.toml").ignore
    ('crawl-delay',)
    """
    if not isinstance(table, dict):
        raise SettingsError(source, f"{TABLE}: a table of settings is needed")
    known = {field.name: field.type for field in fields(LintSettings) if field.name != "source"}
    for name, value in table.items():
        if name not in known:
            refuse(name, known, source, f" in {TABLE}")
        _check(value, known[name] is str, f"{source}: {TABLE}.{name}")
    values: dict[str, Any]
    values = {name: item if isinstance(item, str) else tuple(item) for name, item in table.items()}
    return LintSettings(**values, source=source)


def _check(value: Any, is_text: bool, place: str) -> None:
    if not is_text:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise SettingsError(place, 'a list of names is needed, as in ["crawl-delay"]')
    elif value not in _SEVERITIES:
        raise SettingsError(place, f"invalid; choose from {', '.join(map(repr, _SEVERITIES))}")
