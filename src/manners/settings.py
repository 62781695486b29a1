"""Settings: every number and choice, from options, environment, file and defaults, in this order.

    option                       what the caller passes
    MANNERS_…                    MANNERS_MAX_PAGES=50
    MAX_PAGES, …                 the names of older documents: see `OLD_NAMES`
    manners.toml, or scan.yml    the file named, else ./manners.toml where there is one
    default

Nothing else in this package reads the environment or a file of settings.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from manners._text import printable
from manners.errors import MannersError, MissingExtra
from manners.exclusions import Exclusions, Rulings
from manners.retrieval import profiles
from manners.retrieval.profiles import Profile
from manners.robots import dialects

try:
    import msgspec
except ModuleNotFoundError:
    raise MissingExtra("msgspec", "crawl") from None

FILE = Path("manners.toml")
PREFIX = "MANNERS_"
_NOT_SETTINGS = ("MANNERS_PURE", "MANNERS_CFLAGS")  # of the engine and its build
_MAX_FILE = 1024 * 1024

Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400 * 365)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class SettingsError(MannersError, ValueError):
    """A setting that cannot be used, and where it stands.

    >>> str(SettingsError("manners.toml", "no setting 'delya'; did you mean 'delay'?"))
    "manners.toml: no setting 'delya'; did you mean 'delay'?"
    """

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(source, problem)
        self.source, self.problem = source, problem

    def __str__(self) -> str:
        return f"{printable(self.source)}: {printable(self.problem)}"


class Host(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is different for one host."""

    delay: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Seconds from one request to the next."""
    concurrency: Count | None = None
    """Requests at a time."""
    respect_robots: bool | None = None
    """Whether its robots.txt is asked."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every number and choice of this package.

    >>> Settings(max_pages=50).max_pages
    50
    >>> Settings.load(environment={"MANNERS_DIALECT": "google"}).dialect
    'google'
    """

    # Who asks.
    agent: str = "*"
    """Whose verdict: the name by which robots.txt files address the crawler."""
    user_agent: str | None = None
    """What requests introduce themselves as; None is this package and its version."""

    # What robots.txt means.
    dialect: str = dialects.DEFAULT
    """How a file is read."""
    profile: str = profiles.DEFAULT
    """How a file is retrieved, and what failures mean."""
    respect_robots: bool = True
    """Whether robots.txt is asked at all; every verdict says so when it is not."""
    exclude: tuple[str, ...] = ()
    """What is left out whatever a robots.txt says: prefixes, globs, `re:` expressions."""
    include: tuple[str, ...] = ()
    """What alone is wanted; nothing here means everything."""

    # How a robots.txt is retrieved, where that is not as the profile has it.
    connect_timeout: Seconds | None = None
    read_timeout: Seconds | None = None
    total_timeout: Seconds | None = None
    max_redirects: Annotated[int, msgspec.Meta(ge=0, le=100)] | None = None
    fresh_minutes: Seconds | None = None
    """How long a file is good for."""
    retry_minutes: Seconds | None = None
    """How long a failure, or the lack of a file, is good for."""
    unreachable: Literal["disallow", "allow"] | None = None
    """What a site means that cannot be reached."""
    allow_private: bool = False
    """Whether servers on private and local addresses are asked."""
    proxy: str | None = None
    ca_file: str | None = None
    cache: str | None = None
    """Where files are kept between runs: a path, or valkey://…"""
    cache_entries: Count = 128
    """Files held in memory."""

    # How fast.
    concurrency: Count = 2
    """Requests at a time for each host."""
    concurrency_prefix: str = "host_concurrency:"
    """How keys of slots begin in a shared store."""
    lease: Seconds = 300.0
    """Seconds after which a slot is free again, whatever became of its holder."""
    delay_least: Annotated[float, msgspec.Meta(ge=0)] = 0.2
    """Seconds from one request to the next, drawn between this and the next."""
    delay_most: Annotated[float, msgspec.Meta(ge=0)] = 0.5
    delay_prefix: str = "host_delay:"
    """How keys of delays begin in a shared store."""
    hosts: dict[str, Host] = {}
    """What is different for single hosts."""

    # How much.
    max_pages: Count = 200
    max_minutes: Annotated[float, msgspec.Meta(gt=0)] = 60.0

    # What is told.
    log_level: Literal["none", "debug", "info", "warning", "error"] = "none"
    log_format: Literal["text", "json"] = "text"
    log_matches: bool = False
    """Whether every match is logged (at level debug)."""

    def __post_init__(self) -> None:
        sent = self.user_agent
        if sent is not None and not (sent.isascii() and sent.isprintable() and sent.strip()):
            raise ValueError("user_agent is a line of printable ASCII")
        dialects.get(self.dialect)
        profiles.get(self.profile)
        if self.delay_least > self.delay_most:
            raise ValueError("delay_least is more than delay_most")
        if self.retrieval.total >= self.lease:
            raise ValueError("total_timeout has to be shorter than lease: slots are held so long")

    @classmethod
    def load(
        cls,
        config: Path | str | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> "Settings":
        """The settings in force: from options, environment, file and defaults."""
        return load(config, environment=environment, options=options).settings

    @property
    def retrieval(self) -> Profile:
        """The profile with what is set otherwise here."""
        changes: dict[str, Any] = {
            "connect": self.connect_timeout,
            "read": self.read_timeout,
            "total": self.total_timeout,
            "max_redirects": self.max_redirects,
            "unreachable": self.unreachable,
        }
        if self.fresh_minutes is not None:
            fresh = self.fresh_minutes * 60
            changes |= {"fresh": fresh, "fresh_most": fresh, "heeds_headers": False}
        if self.retry_minutes is not None:
            retry = self.retry_minutes * 60
            changes |= {"fresh_unavailable": retry, "retry": retry, "retry_most": retry}
        if self.unreachable == "disallow":  # then as the RFC has it, with a copy while there is one
            changes["stale_for"] = profiles.get(profiles.DEFAULT).stale_for
        made = {name: value for name, value in changes.items() if value is not None}
        return profiles.get(self.profile).but(**made)

    @property
    def rulings(self) -> Rulings:
        """What these settings decide before any robots.txt is asked, ready to be asked."""
        return Rulings(Exclusions(self.exclude, self.include), self.respects)

    def respects(self, host: str) -> bool:
        """Whether the robots.txt of a host is asked."""
        own = self.hosts.get(host)
        if own is None or own.respect_robots is None:
            return self.respect_robots
        return own.respect_robots


_FIELDS = {field.name: field for field in msgspec.structs.fields(Settings)}


class Found(NamedTuple):
    """A value, and where it came from."""

    value: Any
    source: str


class Loaded(NamedTuple):
    """The settings in force, and where each came from."""

    settings: Settings
    sources: dict[str, str]


def load(
    config: Path | str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Loaded:
    """The settings in force, with where each came from.

    An option that is None was not given.

    >>> load(environment={"MAX_PAGES": "7"}).sources["max_pages"]
    'environment: MAX_PAGES'
    """
    around = os.environ if environment is None else environment
    found: dict[str, Found] = {}
    for layer in (_file(config), _old_names(around), _own_names(around), _options(options or {})):
        for name, each in layer:
            found[name] = Found(_converted(name, each), each.source)
    try:
        settings = Settings(**{name: each.value for name, each in found.items()})
        _ = settings.rulings  # a pattern that cannot be used is noticed here
    except (ValueError, MannersError) as error:
        raise SettingsError(_blamed(found), str(error)) from None
    sources = {name: found[name].source if name in found else "default" for name in _FIELDS}
    return Loaded(settings, sources)


def _blamed(found: Mapping[str, Found]) -> str:
    return ", ".join(sorted({each.source for each in found.values()})) or "settings"


def _converted(name: str, found: Found) -> Any:
    """A value as its type says; what comes from the environment is text."""
    field = _FIELDS.get(name)
    if field is None:
        raise SettingsError(found.source, f"no setting {name!r}{_nearest(name, _FIELDS)}")
    value, is_text = found.value, found.source.startswith("environment")
    try:
        if is_text and value.lstrip()[:1] in ("[", "{"):  # lists and tables are written in JSON
            value = json.loads(value)
        elif is_text and field.type == tuple[str, ...]:
            value = [part for part in value.split(",") if part]
        converted = msgspec.convert(value, field.type, strict=not is_text)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise SettingsError(found.source, f"{name}: {error}") from None
    if isinstance(converted, float) and not math.isfinite(converted):
        raise SettingsError(found.source, f"{name}: not a finite number")
    return converted


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(known)}"


# Where values come from.

Layer = Iterator[tuple[str, Found]]

OLD_NAMES = {
    "MAX_PAGES": ("max_pages",),
    "MAX_SCAN_TIME_MINUTES": ("max_minutes",),
    "USER_AGENT": ("agent", "user_agent"),
}
"""Environment variables of an older document, and what each sets here."""

# Two tables of the same document, and what is set by each key: the setting, and what one is in it.
_OLD_TABLES: dict[str, dict[str, tuple[str, float | None]]] = {
    "concurrencyConfig": {
        "maxConcurrent": ("concurrency", None),
        "keyPrefix": ("concurrency_prefix", None),
        "ttlSeconds": ("lease", 1.0),
    },
    "delayConfig": {
        "minDelayMs": ("delay_least", 0.001),
        "maxDelayMs": ("delay_most", 0.001),
        "keyPrefix": ("delay_prefix", None),
    },
}


def _options(options: Mapping[str, Any]) -> Layer:
    for name, value in options.items():
        if value is not None:
            yield name, Found(value, f"option: --{name.replace('_', '-')}")


def _own_names(environment: Mapping[str, str]) -> Layer:
    for variable, value in environment.items():
        if variable.startswith(PREFIX) and variable not in _NOT_SETTINGS:
            name, source = variable.removeprefix(PREFIX).lower(), f"environment: {variable}"
            if name not in _FIELDS:
                known = {PREFIX + each.upper(): None for each in _FIELDS}
                raise SettingsError(source, f"no such setting{_nearest(variable, known)}")
            yield name, Found(value, source)


def _old_names(environment: Mapping[str, str]) -> Layer:
    for variable, names in OLD_NAMES.items():
        for name in names if variable in environment else ():
            yield name, Found(environment[variable], f"environment: {variable}")


def _file(config: Path | str | None) -> Layer:
    path = FILE if config is None else Path(config)
    if config is None and not path.is_file():
        return
    source = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE + 1)
    except OSError as error:
        raise SettingsError(source, f"cannot be read: {error.strerror}") from None
    if len(data) > _MAX_FILE:
        raise SettingsError(source, f"has more than {_MAX_FILE:,} bytes")
    if path.suffix in (".yml", ".yaml"):
        yield from _scan_yml(_yaml(data, source), source)
    else:
        yield from _toml(data, source)


def _toml(data: bytes, source: str) -> Layer:
    import tomllib

    try:
        content = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SettingsError(source, f"not TOML: {error}") from None
    for name, value in content.items():
        old = _OLD_TABLES.get(name)
        if old is None:
            yield name, Found(value, source)
            continue
        for key, each in _table(value, name, source).items():
            if key not in old:
                raise SettingsError(source, f"no setting {key!r} in {name}{_nearest(key, old)}")
            setting, unit = old[key]
            yield setting, Found(_in_units(each, unit, f"{name}.{key}", source), source)


# The document of a scanner. Each key of its `crawler` table: the setting, and how it is read.
_SCAN_KEYS = (
    *("respectRobots", "robotsTtlMinutes", "robotsFailTtlMinutes", "robotsMaxRedirects"),
    *("robotsTimeoutMs", "robotsUa", "robotsFallbackAllowAll"),
)


def _scan_yml(content: dict[str, Any], source: str) -> Layer:
    yield "dialect", Found("scanner", source)
    yield "profile", Found("open", source)
    yield "agent", Found("WebKillerAI", source)
    for key in content:
        if key not in ("crawler", "excludePaths"):
            known = dict.fromkeys(("crawler", "excludePaths"))
            raise SettingsError(source, f"no setting {key!r}{_nearest(str(key), known)}")
    if content.get("excludePaths") is not None:
        yield "exclude", Found(content["excludePaths"], source)
    for key, value in _table(content.get("crawler") or {}, "crawler", source).items():
        for name, each in _scan_key(key, value, source):
            yield name, Found(each, source)


def _scan_key(key: str, value: Any, source: str) -> Iterator[tuple[str, Any]]:
    match key:
        case "respectRobots":
            yield "respect_robots", value
        case "robotsUa":
            yield "agent", value
        case "robotsMaxRedirects":
            yield "max_redirects", value
        case "robotsTtlMinutes":
            yield "fresh_minutes", value
        case "robotsFailTtlMinutes":
            yield "retry_minutes", value
        case "robotsTimeoutMs":
            seconds = _in_units(value, 0.001, f"crawler.{key}", source)
            yield "read_timeout", seconds
            yield "connect_timeout", min(seconds, 2.0)
        case "robotsFallbackAllowAll":
            if not isinstance(value, bool):
                raise SettingsError(source, f"crawler.{key}: true or false, not {value!r}")
            yield "unreachable", "allow" if value else "disallow"
        case _:
            known = dict.fromkeys(_SCAN_KEYS)
            raise SettingsError(source, f"no setting {key!r} in crawler{_nearest(str(key), known)}")


def _yaml(data: bytes, source: str) -> dict[str, Any]:
    try:
        import yaml
    except ModuleNotFoundError:
        raise MissingExtra("pyyaml", "crawl") from None
    try:
        content = yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SettingsError(source, f"not YAML: {error}") from None
    return _table({} if content is None else content, "the file", source)


def _table(value: Any, name: str, source: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SettingsError(source, f"{name}: a table of settings is needed")
    return value


def _in_units(value: Any, unit: float | None, name: str, source: str) -> Any:
    if unit is None:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingsError(source, f"{name}: a number is needed, not {value!r}")
    return value * unit
