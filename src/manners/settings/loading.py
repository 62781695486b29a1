"""Loading settings: which layer wins, and where each value came from."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from manners.errors import MannersError, SettingsError
from manners.robots import dialects
from manners.settings.checking import fitted
from manners.settings.documents import Layer, SourcedValue, manners_toml
from manners.settings.documents.environment import read_own, read_system
from manners.settings.fields import flag_of
from manners.settings.model import PARSERS, Settings, types_of
from manners.settings.names import (
    FILE,
    RENAMED,
    current_names,
    refuse,
    refuse_both,
    rename_message,
    warn_deprecated,
)
from manners.settings.systems import dialect_of, system_of

OPTION = "option: "
"""How the source of a setting begins that was given as an option."""
_MAX_FILE = 1024 * 1024
_LISTS = {"exclude": ",", "include": ",", "signals": ",", "headers": "\n"}
"""Settings that are lists, and what stands between the parts of one in a variable."""


class Loaded(NamedTuple):
    """The settings in force, and where each came from."""

    settings: Settings
    sources: dict[str, str]


Values = dict[str, SourcedValue]


def load(
    config: Path | str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    warn: Callable[[str], object] = warn_deprecated,
) -> Loaded:
    """The settings in force, with where each came from.

    An option that is None was not given. `warn` is called for each old name of a setting.

    >>> load(environment={"MANNERS_LIKE": "audit", "MAX_PAGES": "7"}).sources["max_pages"]
    'environment: MAX_PAGES'
    """
    variables = os.environ if environment is None else environment
    own = (*_files(config), read_own(variables), _options(options or {}))
    layers = [_converted(_renamed(dict(layer), warn)) for layer in own]
    like = next((layer["like"] for layer in reversed(layers) if "like" in layer), None)
    system = system_of(None if like is None else like.value)
    # The variables of a system's document count less than MANNERS_…
    layers.insert(-2, _converted(dict(read_system(variables, system))))
    values = _merged(layers)
    if like is not None and system.agent and not values.keys() & {"agent", "user_agent"}:
        values["agent"] = SourcedValue(system.agent, like.source)
    try:
        settings = Settings(**{name: found.value for name, found in values.items()})
    except SettingsError as error:  # it names the settings; the place helps more
        places = {values[name].source for name in error.source.split(", ") if name in values}
        raise SettingsError(", ".join(sorted(places)), str(error)) from None
    sources = {
        name: values[name].source if name in values else "default" for name in types_of(Settings)
    }
    return Loaded(settings, sources)


def _merged(layers: list[Values]) -> Values:
    """The values of the highest layers; in a layer, `like` counts less than explicit settings."""
    values: Values = {}
    for layer in layers:
        if "like" in layer:
            like = layer["like"]
            system = dialect_of(like.value)
            values |= {name: SourcedValue(value, like.source) for name, value in system.items()}
        values |= layer
    return values


def _renamed(layer: Values, warn: Callable[[str], object]) -> Values:
    """A layer under the present names of settings, with a warning for each old one."""
    for name in layer.keys() & RENAMED.keys():
        refuse_both(name, layer, layer[name].source)
        warn(rename_message(name, layer[name].source))
    return current_names(layer)


def _converted(layer: Values) -> Values:
    """A layer with values of the types that the settings have."""
    return {name: found._replace(value=_convert(name, found)) for name, found in layer.items()}


def _convert(name: str, found: SourcedValue) -> Any:
    known, value = types_of(Settings), found.value
    if name not in known:
        refuse(name, known, found.source)
    try:
        if name in PARSERS:
            return PARSERS[name](json.loads(value) if found.is_text else value)
        if found.is_text and name in _LISTS:  # JSON, or with something between
            is_json = value.lstrip().startswith("[")
            value = json.loads(value) if is_json else list(_parts(value, _LISTS[name]))
        converted = fitted(value, known[name], strict=not found.is_text)
        if name == "like":  # it is looked up next
            dialects.get(converted)
        return converted
    except SettingsError as error:
        raise SettingsError(found.source, str(error)) from None
    except json.JSONDecodeError as error:
        raise SettingsError(found.source, f"{name}: not JSON: {error}") from None
    except (ValueError, RecursionError, MannersError) as error:
        # An option has the name of its setting, or another one that people know.
        problem = str(error) if found.source.startswith(OPTION) else f"{name}: {error}"
        raise SettingsError(found.source, problem) from None


def _parts(text: str, separator: str) -> Iterator[str]:
    return (part.strip() for part in text.split(separator) if part.strip())


def _options(options: Mapping[str, Any]) -> Layer:
    for name, value in options.items():
        if value is not None:
            yield name, SourcedValue(value, f"{OPTION}{flag_of(name)}")


def _files(config: Path | str | None) -> list[Layer]:
    """The settings in files, those that count less first."""
    if config is None:
        return [_file(path)] if (path := Path(FILE)).is_file() else []
    path = Path(config)
    beside = path.with_name(FILE) if _is_yaml(path) else path
    return [_file(beside), _file(path)] if beside != path and beside.is_file() else [_file(path)]


def _is_yaml(path: Path) -> bool:
    return path.suffix.lower() in (".yml", ".yaml")


def _file(path: Path) -> Layer:
    source = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE + 1)
    except (OSError, ValueError) as error:  # a name with a NUL in it is a ValueError
        problem = getattr(error, "strerror", None) or error
        raise SettingsError(source, f"cannot be read: {problem}") from None
    if len(data) > _MAX_FILE:
        raise SettingsError(source, f"has more than {_MAX_FILE:,} bytes")
    if _is_yaml(path):
        from manners.settings.documents import scan_yml

        return scan_yml.read(data, source)
    return manners_toml.read(data, source)
