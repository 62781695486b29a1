"""`Settings`: one immutable value with every number and choice of this package, checked."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from manners import logs
from manners._secrets import without_login, without_secrets
from manners._text import header_problem
from manners.errors import InvalidURL, SettingsError
from manners.exclusions import Exclusions, Overrides, refuse_useless
from manners.identity import Identity, identity
from manners.politeness.budget import Budget, GrantedBudget
from manners.politeness.schedule import Pace
from manners.retrieval import profiles
from manners.retrieval.profiles import Profile
from manners.robots import dialects
from manners.settings.by_origin import hidden_logins, parse_by_origin
from manners.settings.checking import errors_about, fitted, metrics_place, require_table
from manners.settings.fields import Count, Fields, Pause
from manners.settings.headers import hidden_header, parse_headers
from manners.settings.names import (
    MAX_NAME,
    RENAMED,
    refuse,
    rename_message,
    renamed_keywords,
    warn_deprecated,
)
from manners.settings.systems import with_system
from manners.urls import host, origin

_OF_ONE_RUN = (
    *("store", "cache", "proxy", "ca_file", "headers", "cookie_file", "logins", "client_certs"),
    *("log_level", "log_format", "log_matches", "metrics_port", "server_timeout"),
)
"""Settings of a run or a machine, which a resumed crawl does not inherit."""
_ADDRESSES = ("proxy", "cache", "politeness", "store")
"""Settings that may hold a password."""


_Budget = TypeVar("_Budget", bound=Budget)


class _CheckedKeywords(type):
    """Makes settings: an unknown keyword is an error that names the nearest known one."""

    if not TYPE_CHECKING:  # a type checker knows the fields

        def __call__(cls, **keywords: Any) -> Any:
            keywords = renamed_keywords(keywords)
            refuse_unknown(cls, keywords)
            return super().__call__(**with_system(keywords))


@cache
def types_of(kind: type) -> dict[str, Any]:
    """The settings that a class has, and the type of each."""
    return get_type_hints(kind, localns={"HostSettings": HostSettings}, include_extras=True)


def refuse_unknown(kind: type, keywords: Mapping[str, Any]) -> None:
    """Raise for a keyword that is no setting."""
    for name in keywords:
        if name not in types_of(kind):
            refuse(name, types_of(kind), "keyword")


def _check_types(settings: Any) -> None:
    for name, kind in types_of(settings.__class__).items():
        value = getattr(settings, name)
        if name in PARSERS:
            value = PARSERS[name](value)
        else:
            with errors_about(name):
                value = fitted(value, kind)
        object.__setattr__(settings, name, value)


@dataclass(frozen=True)
class HostSettings(metaclass=_CheckedKeywords):
    """Settings for one host; None is the setting for all hosts."""

    delay: Pause | None = None
    """Seconds from one request to the next."""
    concurrency: Count | None = None
    """Requests at a time."""
    respect_robots: bool | None = None
    """Whether its robots.txt is respected."""

    def __post_init__(self) -> None:
        _check_types(self)


class Settings(Fields, metaclass=_CheckedKeywords):
    """Every number and choice of this package; an invalid one is a `SettingsError`.

    >>> Settings(max_pages=50).max_pages
    50
    >>> Settings.load(environment={"MANNERS_DIALECT": "google"}).dialect
    'google'
    """

    def __post_init__(self) -> None:
        _check_types(self)
        for name in ("agent", "user_agent"):
            with errors_about(name):
                is_sent = name == "user_agent" or not self.user_agent
                _check_agent(getattr(self, name), is_sent)
        for name, known in (("like", dialects), ("dialect", dialects), ("profile", profiles)):
            if getattr(self, name) is not None:
                with errors_about(name):
                    known.get(getattr(self, name))
        for name in ("exclude", "include"):
            with errors_about(name):
                Exclusions(getattr(self, name))
                refuse_useless(getattr(self, name))
        with errors_about("headers"):
            parse_headers(self.headers)
        if self.proxy is not None:
            with errors_about("proxy"):
                _check_proxy(self.proxy)
        if self.metrics_port is not None:
            with errors_about("metrics_port"):
                metrics_place(self.metrics_port)
        if self.min_delay > self.max_delay:
            raise SettingsError("min_delay, max_delay", "the minimum is above the maximum")
        for name, total in (
            ("total_timeout", self.retrieval.total),
            ("page_total_timeout", self.page_total_timeout),
        ):
            if total >= self.lease:
                raise SettingsError(f"{name}, lease", "the timeout must be shorter than the lease")

    @classmethod
    def load(
        cls,
        config: Path | str | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> "Settings":
        """The settings in force: from options, environment, file and defaults."""
        from manners.settings.loading import load

        return load(config, environment=environment, options=options).settings

    def but(self, **changes: Any) -> "Settings":
        """The same settings with some changed.

        >>> Settings().but(dialect="google").dialect
        'google'
        """
        changes = renamed_keywords(changes)
        refuse_unknown(Settings, changes)
        changed = copy.copy(self)
        for name, value in with_system(changes, bool(self.agent or self.user_agent)).items():
            object.__setattr__(changed, name, value)
        changed.__post_init__()
        return changed

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, ready for JSON.

        >>> Settings(exclude=["/admin"]).to_dict()["exclude"]
        ('/admin',)
        """
        hosts = {name: asdict(settings) for name, settings in self.hosts.items()}
        return {name: getattr(self, name) for name in types_of(Settings)} | {"hosts": hosts}

    def changed(self) -> dict[str, Any]:
        """The non-default settings as plain values: those that a crawl is resumed with.

        Without settings of one run or machine, and without passwords. The shared politeness server
        belongs to the crawl: without it, a resumed crawl would ignore the other processes.

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
        return (
            self.to_dict()
            | {
                name: None if place is None else without_secrets(place)
                for name, place in hidden.items()
            }
            | {"headers": tuple(map(hidden_header, self.headers))}
            | {"logins": hidden_logins(self.logins)}
        )

    if not TYPE_CHECKING:  # a type checker would accept every name

        def __getattr__(self, name: str) -> Any:
            """The value of a setting by its old name."""
            if name not in RENAMED:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            warn_deprecated(rename_message(name, "attribute"))
            return getattr(self, RENAMED[name])

    def __repr__(self) -> str:
        """The non-default settings, without secrets."""
        default, shown = Settings().shown(), self.shown()
        changed = (f"{name}={shown[name]!r}" for name in shown if shown[name] != default[name])
        return f"Settings({', '.join(changed)})"

    def for_agent(self, agent: str | None) -> "Settings":
        """The same settings with another agent; None keeps the agent.

        >>> Settings().for_agent("MyBot/1.0").identity.user_agent
        'MyBot/1.0'
        """
        return self if agent is None else self.but(agent=agent)

    @property
    def identity(self) -> Identity:
        """The agent that robots.txt is read for, and the User-Agent header that is sent.

        >>> Settings(agent="MyBot/1.0 (+https://example.com/bot)").identity.user_agent
        'MyBot/1.0 (+https://example.com/bot)'
        """
        return identity(self.agent, self.user_agent)

    @property
    def retrieval(self) -> Profile:
        """The profile, with the settings that override it."""
        changes: dict[str, Any] = {
            "connect": self.connect_timeout,
            "read": self.read_timeout,
            "total": self.total_timeout,
            "max_redirects": self.max_redirects,
            "unreachable": self.unreachable,
        }
        if self.fresh_minutes is not None:
            fresh = self.fresh_minutes * 60
            # Overrides Cache-Control, not Retry-After.
            changes |= dict.fromkeys(("fresh", "fresh_least", "fresh_most"), fresh)
        if self.retry_minutes is not None:
            retry = self.retry_minutes * 60
            changes |= {"fresh_unavailable": retry, "retry": retry, "retry_most": retry}
        if self.unreachable == "disallow":  # as in RFC 9309: a stale copy is used first
            changes["stale_for"] = profiles.get(profiles.DEFAULT).stale_for
        overrides = {name: value for name, value in changes.items() if value is not None}
        return profiles.get(self.profile).but(**overrides)

    @property
    def pace(self) -> Pace:
        """How fast requests are sent to each host."""
        return Pace(**{name: getattr(self, name) for name in Pace._fields})

    @property
    def budget(self) -> Budget:
        """The budget of a new crawl."""
        return self._budget(Budget, 0, 0.0)

    def budget_after(self, pages: int, minutes: float) -> GrantedBudget:
        """The budget of a crawl that has used some of it before; pages are granted by its store."""
        return self._budget(GrantedBudget, pages, minutes)

    def _budget(self, kind: type[_Budget], pages: int, minutes: float) -> _Budget:
        return kind(
            self.max_pages,
            self.max_minutes,
            warn_at=self.budget_warning,
            warn=logs.budget_warned,
            pages_before=pages,
            minutes_before=minutes,
        )

    @property
    def overrides(self) -> Overrides:
        """What these settings decide before robots.txt does."""
        return Overrides(Exclusions(self.exclude, self.include), self.respects)

    @property
    def rulings(self) -> Overrides:
        """The old name of `overrides`, until 1.0."""
        warn_deprecated("Settings.rulings is now Settings.overrides, and works until 1.0")
        return self.overrides

    def slots_of(self, host: str) -> int:
        """How many requests a host gets at a time."""
        override = self.hosts.get(host)
        return (override.concurrency if override else None) or self.concurrency

    def respects(self, host: str) -> bool:
        """Whether the robots.txt of a host is respected."""
        override = self.hosts.get(host)
        if override is None or override.respect_robots is None:
            return self.respect_robots
        return override.respect_robots


def _check_agent(agent: str | None, is_sent: bool) -> None:
    if agent is None:
        return
    if problem := header_problem(agent):
        raise ValueError(problem)
    if not agent.strip():
        raise ValueError("is empty: name the agent, or leave it out")
    if is_sent and not agent.isascii():
        raise ValueError("only ASCII can be sent as User-Agent")


def _check_proxy(proxy: str) -> None:
    scheme, is_url, _ = proxy.partition("://")
    if is_url and scheme.lower().startswith("socks"):
        raise ValueError("a SOCKS proxy cannot be used: name an http or https proxy")
    try:
        origin(proxy)
    except InvalidURL as error:  # without the URL, which may have a password
        raise ValueError(f"{without_secrets(proxy)!r}: {error.problem}") from None


def parse_hosts(value: Any) -> dict[str, HostSettings]:
    """The settings of single hosts, by the names that URLs have: in lower case, in ASCII."""
    hosts: dict[str, HostSettings] = {}
    for written, table in require_table(value, "the value", "hosts").items():
        name = _host_name(str(written))
        if name in hosts:
            raise SettingsError("hosts", f"{name!r} is there twice")
        hosts[name] = _host_settings(table, f"hosts.{str(written)[:MAX_NAME]}")
    return hosts


PARSERS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "hosts": parse_hosts,
    "logins": partial(parse_by_origin, "logins"),
    "client_certs": partial(parse_by_origin, "client_certs"),
}
"""Settings that are tables, and what reads each."""


def _host_name(written: str) -> str:
    if not set(written).isdisjoint("/?#@") or ":" in written.rpartition("]")[2]:
        raise SettingsError("hosts", f"{written[:MAX_NAME]!r} is not a host name alone")
    with errors_about("hosts"):
        return host(f"http://{written}/")


def _host_settings(table: Any, place: str) -> HostSettings:
    if isinstance(table, HostSettings):
        return table
    for key in require_table(table, place, "hosts"):
        if key not in types_of(HostSettings):
            refuse(key, types_of(HostSettings), "hosts", f" in {place}")
    with errors_about(place):
        return HostSettings(**table)
