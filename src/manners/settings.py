"""Settings: every number and choice, from options, environment, file and defaults, in this order.

    option                       what the caller passes
    MANNERS_…                    MANNERS_MAX_PAGES=50
    MAX_PAGES, …                 with like = "audit" only: the names of that system's document
    manners.toml, or scan.yml    the file named, else ./manners.toml where there is one; below a
                                 scan.yml the manners.toml beside it
    default

Nothing else in this package reads the environment or a file of settings.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NoReturn, get_args

from manners import logs
from manners._secrets import without_login, without_secrets
from manners._text import header_problem, printable
from manners.errors import MannersError, MissingExtra
from manners.exclusions import Exclusions, Rulings, refuse_useless
from manners.identity import Identity, identity
from manners.politeness.budget import Budget
from manners.politeness.schedule import Pace
from manners.retrieval import profiles
from manners.retrieval.profiles import Profile
from manners.robots import dialects
from manners.urls import host, origin

try:
    import msgspec
except ModuleNotFoundError:
    raise MissingExtra("msgspec", "crawl") from None

if TYPE_CHECKING:
    from msgspec import StructMeta as _StructMeta
else:
    _StructMeta = type(msgspec.Struct)

FILE = Path("manners.toml")
PREFIX = "MANNERS_"
_NOT_SETTINGS = ("MANNERS_PURE", "MANNERS_CFLAGS")  # of the engine and its build
_OF_ONE_RUN = (
    *("store", "cache", "proxy", "ca_file"),
    *("log_level", "log_format", "log_matches", "server_timeout"),
)
_ADDRESSES = ("proxy", "cache", "politeness", "store")
"""Settings that may hold a password."""
_MAX_FILE = 1024 * 1024
_MAX_NAME, _MAX_PROBLEM = 100, 2000

# Bounds on both sides keep out what is not a number, too.
_YEAR = 365 * 86_400
Seconds = Annotated[float, msgspec.Meta(gt=0, le=_YEAR)]
Pause = Annotated[float, msgspec.Meta(ge=0, le=_YEAR)]
Minutes = Annotated[float, msgspec.Meta(gt=0, le=_YEAR / 60)]
Rate = Annotated[float, msgspec.Meta(gt=0, le=10**6)]
Factor = Annotated[float, msgspec.Meta(ge=0, le=1000)]
Part = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=1, le=10**12)]


class SettingsError(MannersError, ValueError):
    """A setting that cannot be used, and where it stands.

    >>> str(SettingsError("manners.toml", "no setting 'delya'; did you mean 'delay'?"))
    "manners.toml: no setting 'delya'; did you mean 'delay'?"
    """

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(source, problem)
        self.source, self.problem = source, problem

    def __str__(self) -> str:
        problem = " ".join(self.problem.split())
        return f"{printable(self.source)}: {printable(problem[:_MAX_PROBLEM])}"


@contextmanager
def _about(*names: str) -> Iterator[None]:
    """What is wrong in here is wrong about these settings."""
    try:
        yield
    except MissingExtra:
        raise
    except (ValueError, MannersError) as error:
        raise SettingsError(", ".join(names), str(error)) from None


class _Named(_StructMeta):
    """Makes structs: an unknown keyword is an error that names the nearest known one."""

    def __call__(self, *values: Any, **named: Any) -> Any:
        known = _types(self)
        for name in named:
            if name not in known:
                _refuse(name, known, "keyword")
        return super().__call__(*values, **_with_system(named))


class _Checked(msgspec.Struct, frozen=True, forbid_unknown_fields=True, metaclass=_Named):
    """Values that fit their types, whoever made them."""

    def __post_init__(self) -> None:
        for name, kind in _types(type(self)).items():
            with _about(name):
                value = _fitted(getattr(self, name), kind)
            msgspec.structs.force_setattr(self, name, value)


@cache
def _types(kind: type) -> dict[str, Any]:
    """What a struct has, and of which type each is."""
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


def _fitted(value: Any, kind: Any, strict: bool = True) -> Any:
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        if _is_endless(value):
            raise ValueError(f"a finite number is needed, not {value}") from None
        choices = [one for each in (kind, *get_args(kind)) for one in get_args(each)]
        names = [repr(one) for one in choices if isinstance(one, str)]
        raise ValueError(f"{error}; there are: {', '.join(names)}" if names else error) from None


def _is_endless(value: object) -> bool:
    """Whether a value is a number that is none, such as nan, or infinite; as text, too."""
    try:
        return not isinstance(value, bool) and not math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


class Host(_Checked, frozen=True):
    """What is different for one host."""

    delay: Pause | None = None
    """Seconds from one request to the next."""
    concurrency: Count | None = None
    """Requests at a time."""
    respect_robots: bool | None = None
    """Whether its robots.txt is asked."""


class Settings(_Checked, frozen=True, kw_only=True):
    """Every number and choice of this package; what cannot be used is a `SettingsError`.

    >>> Settings(max_pages=50).max_pages
    50
    >>> Settings.load(environment={"MANNERS_DIALECT": "google"}).dialect
    'google'
    """

    # Who asks: see `identity`.
    agent: str | None = None
    """Who it is that asks: sent as User-Agent, and robots.txt files are read for it."""
    user_agent: str | None = None
    """What is sent as User-Agent, where that is not the agent."""

    # What robots.txt means.
    like: str | None = None
    """A system to behave like: its dialect and profile, and what else belongs to it."""
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
    fresh_minutes: Minutes | None = None
    """How long a file is good for."""
    retry_minutes: Minutes | None = None
    """How long a failure is good for, and a file that is not there (404, 410)."""
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
    politeness: str | None = None
    """Where start times and slots are shared with other processes: valkey://…"""
    concurrency: Count = 2
    """Requests at a time for each host."""
    connections: Count = 256
    """Requests at a time, all hosts together."""
    concurrency_prefix: str = "host_concurrency:"
    """How keys of slots begin in a shared store."""
    lease: Seconds = 300.0
    """Seconds after which a slot is free again, whatever became of its holder."""
    delay_least: Pause = 0.2
    """Seconds from one request to the next, drawn between this and the next."""
    delay_most: Pause = 0.5
    delay_prefix: str = "host_delay:"
    """How keys of delays begin in a shared store."""
    slot_wait: Pause = 10.0
    """Seconds to wait for a slot while all of a host's are in use."""
    defer_beyond: Pause = 60.0
    """Seconds: whoever would have to wait longer for a host is told until when, instead."""
    requests_per_second: Rate | None = None
    """The most that a host is ever asked."""
    adaptive_factor: Factor = 1.0
    """A host is not asked faster than this times its smoothed response time; 0 turns it off."""
    adaptive_weight: Part = 0.3
    """How much the latest response time counts in the smoothed one."""
    adaptive_most: Pause = 30.0
    """Seconds: the longest delay that is made of it."""
    backoff_first: Seconds = 5.0
    """Seconds to leave a host alone that says 429 or 503, doubled each time, unless it says."""
    backoff_most: Seconds = 900.0
    backoff_jitter: Part = 0.2
    """The part by which that varies at random, up and down."""
    backoff_step: Pause = 5.0
    """Seconds within which several such answers count as one."""
    backoff_reset: Count = 3
    """Successes after which a host starts from the beginning."""
    hosts: dict[str, Host] = {}
    """What is different for single hosts, by name."""

    # One page.
    page_bytes: Count = 10 * 1024 * 1024
    """How much of a page is read, after decompression."""
    page_connect_timeout: Seconds = 10.0
    page_read_timeout: Seconds = 60.0
    page_total_timeout: Seconds = 60.0
    """Seconds for one request; a stream has as long as it is read."""
    cookies: bool = False
    """Whether cookies that sites set are sent back to them."""
    page_redirects: Annotated[int, msgspec.Meta(ge=0, le=100)] = 10

    # How much.
    max_pages: Count = 200
    max_minutes: Minutes = 60.0
    budget_warning: Part = 0.8
    """The part of either from which on there is a warning."""

    # What is found.
    source: Literal["auto", "sitemap", "links"] = "auto"
    """Where URLs are looked for: in sitemaps, in the links of pages, or in both."""
    same_domain: bool = True
    """Whether a crawl stays on the hosts that it begins with."""
    max_depth: Annotated[int, msgspec.Meta(ge=0, le=10**6)] | None = None
    """How many links a crawl follows one after another; None is no limit."""
    attempts: Count = 3
    """How often a crawl asks for a page that is not answered, or with an error of the server."""
    max_urls: Count = 10_000
    """URLs of a site that are kept: the best by priority, then those found first."""
    max_found: Count = 1_000_000
    """URLs that are looked at; in a crawl, shared among its hosts."""
    max_sitemaps: Count = 500
    """Sitemaps that are read, of a site or of a crawl; there, shared among its hosts."""
    sitemap_depth: Count = 5
    """How far an index of sitemaps may lead to others."""
    link_depth: Count = 1
    """How far links are followed to find others."""
    drop_tracking: bool = False
    """Whether parameters that only tell who sent a visitor are left out of URLs."""
    trap_repeats: Count = 3
    """A part of a path that comes so often is a trap."""
    trap_length: Count = 2_000
    """Bytes: a longer URL is a trap."""
    trap_segments: Count = 20
    """Parts of a path: more of them are a trap."""
    trap_alike: Count = 1_000
    """URLs of one form and host, beyond which others are a trap."""

    # What is kept.
    store: str | None = None
    """Where evidence is kept: a path, sqlite:///… or postgresql://…"""
    redact_query: bool = False
    """Whether the queries of URLs are left out of it."""
    server_timeout: Seconds = 30.0
    """Seconds that PostgreSQL or Valkey has for an answer, and a locked store to be free again."""

    # What is told.
    log_level: Literal["none", "debug", "info", "warning", "error"] = "none"
    log_format: Literal["text", "json"] = "text"
    log_matches: bool = False
    """Whether every match is logged (at level debug)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("agent", "user_agent"):
            with _about(name):
                _check_name(
                    getattr(self, name), is_sent=name == "user_agent" or not self.user_agent
                )
        if self.like is not None:
            with _about("like"):
                dialects.get(self.like)
        with _about("dialect"):
            dialects.get(self.dialect)
        with _about("profile"):
            profiles.get(self.profile)
        with _about("exclude"):
            Exclusions(self.exclude)
            refuse_useless(self.exclude)
        with _about("include"):
            Exclusions((), self.include)
            refuse_useless(self.include)
        with _about("hosts"):
            msgspec.structs.force_setattr(self, "hosts", _by_name(self.hosts))
        if self.proxy is not None:
            with _about("proxy"):
                origin(self.proxy)
        if self.delay_least > self.delay_most:
            raise SettingsError("delay_least, delay_most", "the least is more than the most")
        for name, total in (
            ("total_timeout", self.retrieval.total),
            ("page_total_timeout", self.page_total_timeout),
        ):
            if total >= self.lease:
                raise SettingsError(
                    f"{name}, lease", "a request has to end before its slot is free again"
                )

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

    def but(self, **changes: Any) -> "Settings":
        """The same settings with some changed.

        >>> Settings().but(dialect="google").dialect
        'google'
        """
        for name in changes:
            if name not in _types(Settings):
                _refuse(name, _types(Settings), "keyword")
        return msgspec.structs.replace(self, **_with_system(changes, self))

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, ready for JSON.

        >>> Settings(exclude=["/admin"]).to_dict()["exclude"]
        ('/admin',)
        """
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made

    def changed(self) -> dict[str, Any]:
        """What is not as by default, as plain values: what a crawl is to go on with.

        Without what is of one run or machine, and without passwords. Whom it shares its politeness
        with is of the crawl: alone, it would be in the way of the others.

        >>> Settings(max_pages=50, politeness="valkey://:secret@example.com/0").changed()
        {'politeness': 'valkey://example.com/0', 'max_pages': 50}
        """
        default = Settings().to_dict()
        changed = {
            name: value
            for name, value in self.to_dict().items()
            if value != default[name] and name not in _OF_ONE_RUN
        }
        if self.politeness is not None:
            changed["politeness"] = without_login(self.politeness)
        return changed

    def shown(self) -> dict[str, Any]:
        """The settings as plain values, without secrets: as they may be printed.

        >>> Settings(store="postgresql://me:secret@example.com/db").shown()["store"]
        'postgresql://me:***@example.com/db'
        """
        hidden = {name: getattr(self, name) for name in _ADDRESSES}
        return self.to_dict() | {
            name: None if place is None else without_secrets(place)
            for name, place in hidden.items()
        }

    def __repr__(self) -> str:
        """What is not as by default, without secrets."""
        default, shown = Settings().shown(), self.shown()
        changed = (f"{name}={shown[name]!r}" for name in shown if shown[name] != default[name])
        return f"Settings({', '.join(changed)})"

    def for_agent(self, agent: str | None) -> "Settings":
        """The same settings for an agent; None is the agent that they have.

        >>> Settings().for_agent("MyBot/1.0").identity.user_agent
        'MyBot/1.0'
        """
        return self if agent is None else self.but(agent=agent)

    @property
    def identity(self) -> Identity:
        """Who decides, and what is sent: `manners` and its version where nobody is named.

        >>> Settings(agent="MyBot/1.0 (+https://example.com/bot)").identity.user_agent
        'MyBot/1.0 (+https://example.com/bot)'
        """
        return identity(self.agent, self.user_agent)

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
            # The same whatever Cache-Control says; Retry-After still counts where it did.
            changes |= dict.fromkeys(("fresh", "fresh_least", "fresh_most"), fresh)
        if self.retry_minutes is not None:
            retry = self.retry_minutes * 60
            changes |= {"fresh_unavailable": retry, "retry": retry, "retry_most": retry}
        if self.unreachable == "disallow":  # then as the RFC has it, with a copy while there is one
            changes["stale_for"] = profiles.get(profiles.DEFAULT).stale_for
        made = {name: value for name, value in changes.items() if value is not None}
        return profiles.get(self.profile).but(**made)

    @property
    def pace(self) -> Pace:
        """How fast hosts are asked."""
        return Pace(**{name: getattr(self, name) for name in Pace._fields})

    @property
    def budget(self) -> Budget:
        """How much a crawl may fetch, unused."""
        return self.budget_after(0, 0.0)

    def budget_after(self, pages: int, minutes: float) -> Budget:
        """How much a crawl may fetch that has fetched before."""
        return Budget(
            self.max_pages,
            self.max_minutes,
            warn_at=self.budget_warning,
            warn=logs.warned,
            pages_before=pages,
            minutes_before=minutes,
        )

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


def _check_name(name: str | None, is_sent: bool) -> None:
    """Refuse what cannot be a name, or cannot be sent as one."""
    if name is None:
        return
    if problem := header_problem(name):
        raise ValueError(problem)
    if not name.strip():
        raise ValueError("is empty: name the agent, or leave it out")
    if is_sent and not name.isascii():
        raise ValueError("only ASCII can be sent as User-Agent")


def _by_name(hosts: Mapping[str, Host]) -> dict[str, Host]:
    """The hosts under the names that URLs have them by: in lower case, in ASCII."""
    named: dict[str, Host] = {}
    for written, own in hosts.items():
        if not set(written).isdisjoint("/?#@") or ":" in written.rpartition("]")[2]:
            raise ValueError(f"{written[:_MAX_NAME]!r} is not the name of a host alone")
        name = host(f"http://{written}/")
        if name in named:
            raise ValueError(f"{name!r} is there twice")
        named[name] = own
    return named


class Found(NamedTuple):
    """A value, and where it came from."""

    value: Any
    source: str
    is_text: bool = False
    """True for what has no type yet: everything in the environment is text."""


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

    >>> load(environment={"MANNERS_LIKE": "audit", "MAX_PAGES": "7"}).sources["max_pages"]
    'environment: MAX_PAGES'
    """
    around = os.environ if environment is None else environment
    layers = [
        {name: each._replace(value=_converted(name, each)) for name, each in layer}
        for layer in (*_files(config), _own_names(around), _options(options or {}))
    ]
    like = next((layer["like"] for layer in reversed(layers) if "like" in layer), None)
    system = _system(None if like is None else like.value)
    own_names = {
        name: each._replace(value=_converted(name, each))
        for name, each in _names_of(system, around)
    }
    layers.insert(-2, own_names)  # below MANNERS_…
    found: dict[str, Found] = {}
    for layer in layers:
        if "like" in layer:  # what is said in the same place beats it
            chosen = layer["like"]
            found |= {
                name: Found(value, chosen.source)
                for name, value in _dialect_of(chosen.value).items()
            }
        found |= layer
    if like is not None and system.agent and not found.keys() & {"agent", "user_agent"}:
        found["agent"] = Found(system.agent, like.source)
    try:
        settings = Settings(**{name: each.value for name, each in found.items()})
    except SettingsError as error:  # about some settings; whoever reads it wants to know the place
        places = {found[name].source for name in error.source.split(", ") if name in found}
        raise SettingsError(", ".join(sorted(places)), f"{error.source}: {error.problem}") from None
    known = _types(Settings)
    sources = {name: found[name].source if name in found else "default" for name in known}
    return Loaded(settings, sources)


def _converted(name: str, found: Found) -> Any:
    """A value of the type that the setting has."""
    known, value = _types(Settings), found.value
    if name not in known:
        _refuse(name, known, found.source)
    try:
        if name == "hosts":
            return _hosts(json.loads(value) if found.is_text else value, found.source)
        if found.is_text and known[name] == tuple[str, ...]:  # JSON, or simply with commas
            is_json = value.lstrip().startswith("[")
            value = json.loads(value) if is_json else _parts(value)
        made = _fitted(value, known[name], strict=not found.is_text)
        if name == "like":  # the next thing is to look it up
            dialects.get(made)
        return made
    except SettingsError:
        raise
    except (ValueError, RecursionError, MannersError) as error:
        raise SettingsError(found.source, f"{name}: {error}") from None


def _hosts(value: Any, source: str) -> dict[str, Host]:
    hosts = {}
    for name, table in _table(value, "hosts", source).items():
        if isinstance(table, Host):
            hosts[name] = table
            continue
        place = f"hosts.{name[:_MAX_NAME]}"
        for key in _table(table, place, source):
            if key not in _types(Host):
                _refuse(key, _types(Host), source, f" in {place}")
        try:
            hosts[name] = Host(**table)
        except SettingsError as error:
            raise SettingsError(source, f"{place}.{error}") from None
    return hosts


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _refuse(name: object, known: Iterable[str], source: str, place: str = "") -> NoReturn:
    """An unknown key is an error that names the nearest known one."""
    written = str(name)[:_MAX_NAME]
    lowered = {each.lower(): each for each in known}
    near = get_close_matches(written.lower(), lowered, 1)
    hint = f"did you mean {lowered[near[0]]!r}?" if near else f"there are: {', '.join(known)}"
    raise SettingsError(source, f"no setting {written!r}{place}; {hint}")


# The systems that this package can behave like.


class System(NamedTuple):
    """What belongs to a system besides its dialect and its profile."""

    like: str
    """Its name, which is that of its dialect."""
    agent: str | None = None
    """Who it is, where nobody is named."""
    names: Mapping[str, tuple[str, ...]] = {}
    """Environment variables of its document, and what each sets here."""


# Such names stand in many environments, and mean something else there.
AUDIT = System(
    "audit",
    names={
        "MAX_PAGES": ("max_pages",),
        "MAX_SCAN_TIME_MINUTES": ("max_minutes",),
        "USER_AGENT": ("agent", "user_agent"),
    },
)
SCANNER = System("scanner", agent="WebKillerAI")
_SYSTEMS = {each.like: each for each in (AUDIT, SCANNER)}


def _system(like: Any) -> System:
    return _SYSTEMS.get(str(like), System(str(like)))


def _dialect_of(like: Any) -> dict[str, str]:
    """The dialect and the profile of a system."""
    with _about("like"):
        return {"dialect": str(like), "profile": dialects.get(str(like)).profile}


def _with_system(named: dict[str, Any], base: Settings | None = None) -> dict[str, Any]:
    """Settings that are named together, with those that `like` brings; what is named beats it."""
    like = named.get("like")
    if like is None:
        return named
    made = _dialect_of(like) | named
    agent = _system(like).agent
    is_named = named.get("agent") or named.get("user_agent")
    if agent and not is_named and not (base and (base.agent or base.user_agent)):
        made["agent"] = agent
    return made


# Where values come from.

Layer = Iterator[tuple[str, Found]]

# Two tables of the audit's document, and what is set by each key.
_OLD_TABLES = {
    "concurrencyConfig": {
        "maxConcurrent": "concurrency",
        "keyPrefix": "concurrency_prefix",
        "ttlSeconds": "lease",
    },
    "delayConfig": {
        "minDelayMs": "delay_least",
        "maxDelayMs": "delay_most",
        "keyPrefix": "delay_prefix",
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
            if name not in _types(Settings):
                _refuse(variable, [PREFIX + each.upper() for each in _types(Settings)], source)
            yield name, Found(value, source, is_text=True)


def _names_of(system: System, environment: Mapping[str, str]) -> Layer:
    for variable, names in system.names.items():
        for name in names if variable in environment else ():
            yield name, Found(environment[variable], f"environment: {variable}", is_text=True)


def _files(config: Path | str | None) -> list[Layer]:
    """What the files say, the lowest first."""
    if config is None:
        return [_file(FILE)] if FILE.is_file() else []
    path = Path(config)
    beside = path.with_name(FILE.name) if _is_yaml(path) else path
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
                _refuse(key, old, source, f" in {name}")
            place = f"{source}: {name}.{key}"
            yield old[key], Found(_seconds(each, place) if key.endswith("Ms") else each, place)


# The document of a scanner: each key of its `crawler` table, and what it sets.
_SCAN_KEYS = {
    "respectRobots": ("respect_robots",),
    "robotsTtlMinutes": ("fresh_minutes",),
    "robotsFailTtlMinutes": ("retry_minutes",),
    "robotsMaxRedirects": ("max_redirects",),
    "robotsTimeoutMs": ("read_timeout", "connect_timeout"),
    "robotsUa": ("agent", "user_agent"),
    "robotsFallbackAllowAll": ("unreachable",),
}
_SCAN_CONNECT = 2.0


def _scan_yml(content: dict[str, Any], source: str) -> Layer:
    yield "like", Found(SCANNER.like, source)
    for name in _SCAN_KEYS["robotsUa"]:
        yield name, Found(SCANNER.agent, source)
    for key, value in content.items():
        match key:
            case "excludePaths":
                yield "exclude", Found([] if value is None else value, f"{source}: {key}")
            case "crawler":
                yield from _crawler({} if value is None else value, source)
            case _:
                _refuse(key, ("crawler", "excludePaths"), source)


def _crawler(content: Any, source: str) -> Layer:
    for key, value in _table(content, "crawler", source).items():
        if key not in _SCAN_KEYS:
            _refuse(key, _SCAN_KEYS, source, " in crawler")
        place = f"{source}: crawler.{key}"
        if key == "robotsTimeoutMs":
            value = _seconds(value, place)
        elif key == "robotsFallbackAllowAll":
            if not isinstance(value, bool):
                raise SettingsError(place, "true or false is needed")
            value = "allow" if value else "disallow"
        elif key == "robotsUa" and value is None:
            raise SettingsError(place, "the name of an agent is needed")
        for name in _SCAN_KEYS[key]:
            is_connect = name == "connect_timeout"
            yield name, Found(min(value, _SCAN_CONNECT) if is_connect else value, place)


def _yaml(data: bytes, source: str) -> dict[str, Any]:
    try:
        import yaml
    except ModuleNotFoundError:
        raise MissingExtra("pyyaml", "crawl") from None

    class Loader(yaml.SafeLoader):
        """Plain values only: a few aliases of aliases would fill all memory."""

        def compose_node(self, *place: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("aliases are not read")
            return super().compose_node(*place)

    try:
        content = yaml.load(data, Loader)  # noqa: S506 (it is a safe one)
    except Exception as error:  # a value that contradicts its tag can be any error
        raise SettingsError(source, f"not YAML: {error}") from None
    return _table({} if content is None else content, "the file", source)


def _table(value: Any, name: str, source: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SettingsError(source, f"{name}: a table of settings is needed")
    return value


def _seconds(milliseconds: Any, source: str) -> float:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        raise SettingsError(source, "a number is needed")
    try:
        return milliseconds / 1000
    except OverflowError:
        raise SettingsError(source, "out of range") from None
