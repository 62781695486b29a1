"""What the page asks about: files, agents and URLs, each of them bounded. Quiet."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from manners.errors import MannersError
from manners.robots import dialects
from manners.robots.dialects import Dialect
from manners.robots.policy import Policy, Robots, parse

MAX_BYTES = 1024 * 1024
"""Of a file: twice of what crawlers read, so that a file that is too large can be tested."""
MAX_AGENTS = 20
MAX_URLS = 100
MAX_LENGTH = 8_000
"""Characters of a URL or an agent."""

_DEFAULT = dialects.get(dialects.DEFAULT)
_SURROGATE = re.compile("[\ud800-\udfff]")
_names = re.compile(r"[A-Za-z0-9_-]+(?:\s*,\s*[A-Za-z0-9_-]+)+").fullmatch


class BadQuestion(MannersError, ValueError):
    """A question whose values are missing, wrong, or more than the tester looks at.

    >>> Question.of({"robots": 1})
    Traceback (most recent call last):
    manners.tester.question.BadQuestion: 'robots' is a text
    """


@dataclass(frozen=True)
class Question:
    """A robots.txt, and whom and what it is asked about.

    >>> question = Question.of({"robots": "", "agents": ["a, b", "MyBot/1.0"]})
    >>> [question.policy(agent).agents for agent in question.agents]
    [('a', 'b'), ('MyBot/1.0',)]
    """

    robots: str
    agents: tuple[str, ...] = ()
    """Each a name, a User-Agent header, or several names with commas between them."""
    urls: tuple[str, ...] = ()
    dialect: Dialect = _DEFAULT
    file_url: str | None = None
    """Where the file came from, if it is known."""
    before: str = ""
    """An earlier file, where two are compared."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Question":
        """A question from the values of a JSON object."""
        dialect = _text(values, "dialect", dialects.DEFAULT)
        if dialect not in dialects.names():
            known = ", ".join(dialects.names())
            raise BadQuestion(f"a dialect is one of {known}")
        return cls(
            _file(values, "robots"),
            _list(values, "agents", MAX_AGENTS),
            _list(values, "urls", MAX_URLS),
            dialects.get(dialect),
            _text(values, "file_url", "") or None,
            _file(values, "before") if "before" in values else "",
        )

    @property
    def body(self) -> bytes:
        """The file as bytes; `positions.Places` says which of them are which characters."""
        return self.robots.encode()

    def parsed(self, dialect: Dialect | None = None) -> Robots:
        """The file as a dialect reads it: the chosen one, or another."""
        return parse(self.body, dialect or self.dialect, self.file_url)

    def policy(self, agent: str, robots: Robots | None = None) -> Policy:
        """The file for an agent."""
        robots = robots or self.parsed()
        return robots.policy(robots.dialect.own_name(agent_names(agent)))

    def only(self, name: str) -> str:
        """The single agent or URL of a question about one."""
        values: tuple[str, ...] = getattr(self, name)
        if len(values) != 1:
            raise BadQuestion(f"{name!r} has one value here, not {len(values)}")
        return values[0]


def agent_names(agent: str) -> str | list[str]:
    """An agent as it is written, or its names if there are several.

    >>> agent_names("Googlebot-Image, Googlebot"), agent_names("Bot/1 (a, b)")
    (['Googlebot-Image', 'Googlebot'], 'Bot/1 (a, b)')
    """
    return [name.strip() for name in agent.split(",")] if _names(agent) else agent


def _file(values: Mapping[str, Any], name: str) -> str:
    text = _text(values, name)
    size = len(text) if len(text) > MAX_BYTES else len(text.encode())
    if size > MAX_BYTES:
        raise BadQuestion(f"a robots.txt of at most {MAX_BYTES:,} bytes is looked at")
    return text


def _text(values: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = values.get(name, default)
    if not isinstance(value, str):
        raise BadQuestion(f"{name!r} is a text")
    # Half of a character, as a browser may have it, has as many places as this one.
    return _SURROGATE.sub("\ufffd", value)


def _list(values: Mapping[str, Any], name: str, most: int) -> tuple[str, ...]:
    found = values.get(name, [])
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise BadQuestion(f"{name!r} is a list of texts")
    if len(found) > most:
        raise BadQuestion(f"at most {most} {name} are compared, not {len(found):,}")
    if any(len(item) > MAX_LENGTH for item in found):
        raise BadQuestion(f"{name!r}: none has more than {MAX_LENGTH:,} characters")
    return tuple(_SURROGATE.sub("\ufffd", item) for item in found)
