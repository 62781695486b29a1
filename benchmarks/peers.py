"""The parsers that are measured: one small adapter each, calling the parser as its users do.

`parse` goes from the bytes of a response to something that is ready for checks by one agent;
parsers that read text only decode it first. `each` checks URLs one by one, `many` all in one call,
`first` goes from bytes to one verdict. What `text` and `paths` prepare is part of no time.
"""

import urllib.robotparser
from abc import ABC, abstractmethod
from importlib import import_module
from importlib.metadata import version
from typing import Any, ClassVar

AGENT = "MyBot"


class Peer(ABC):
    """A parser. Making one imports its library."""

    name: ClassVar[str]
    short: ClassVar[str] = ""
    """The name over a column, where the name is too long."""
    requirement: ClassVar[str] = ""
    """What pip installs; nothing when it is there already."""
    environment: ClassVar[dict[str, str]] = {}

    def version(self) -> str:
        return version(self.requirement.partition("==")[0])

    @abstractmethod
    def parse(self, body: Any) -> Any: ...

    @abstractmethod
    def each(self, parsed: Any, urls: list[str]) -> list[bool]: ...

    def many(self, parsed: Any, urls: list[str]) -> list[bool]:
        """A parser without a call for many is asked for each."""
        return self.each(parsed, urls)

    def first(self, body: Any, url: str) -> bool:
        """All the way in one line, where the way is so short that a detour would show."""
        return self.each(self.parse(body), [url])[0]

    def text(self, body: bytes) -> Any:
        """What `parse` is given."""
        return body

    def paths(self, urls: list[str]) -> list[str]:
        """What `each` and `many` are given."""
        return urls


class Manners(Peer):
    name = "manners"

    def __init__(self) -> None:
        import manners

        self.make = manners.parse
        self.kernel = manners.KERNEL

    def version(self) -> str:
        return f"{version('manners')} ({self.kernel})"

    def parse(self, body: bytes) -> Any:
        return self.make(body, max_bytes=None).policy(AGENT)

    def each(self, parsed: Any, urls: list[str]) -> list[bool]:
        allowed = parsed.allowed
        return [allowed(url) for url in urls]

    def many(self, parsed: Any, urls: list[str]) -> list[bool]:
        found: list[bool] = parsed.allowed_many(urls)
        return found

    def first(self, body: bytes, url: str) -> bool:
        return self.make(body, max_bytes=None).policy(AGENT).allowed(url)


class PlainManners(Manners):
    name = "manners, plain Python"
    short = "plain Python"
    environment: ClassVar = {"MANNERS_PURE": "1"}


class FastRobots(Peer):
    """It takes paths; its own `url_path` makes them, and drops the query."""

    name = "fastrobots"
    requirement = "fastrobots"

    def __init__(self) -> None:
        library = import_module("fastrobots")
        self.make, self.path = library.Robots.parse, library.url_path

    def parse(self, body: Any) -> Any:
        robots = self.make(body.decode(errors="replace"))
        return robots, robots.agent(AGENT)

    def each(self, parsed: Any, urls: list[str]) -> list[bool]:
        allowed, path = parsed[1].allowed, self.path
        return [allowed(path(url)) for url in urls]

    def many(self, parsed: Any, urls: list[str]) -> list[bool]:
        path = self.path
        found: list[bool] = parsed[0].allowed_batch([path(url) for url in urls], AGENT)
        return found

    def first(self, body: Any, url: str) -> bool:
        robots = self.make(body.decode(errors="replace"))
        return bool(robots.agent(AGENT).allowed(self.path(url)))


class FastRobotsPrepared(FastRobots):
    """The same with text and paths made beforehand: less work than the others do."""

    name = "fastrobots, prepared"
    short = "(prepared)"

    def parse(self, body: Any) -> Any:
        robots = self.make(body)
        return robots, robots.agent(AGENT)

    def each(self, parsed: Any, urls: list[str]) -> list[bool]:
        allowed = parsed[1].allowed
        return [allowed(url) for url in urls]

    def many(self, parsed: Any, urls: list[str]) -> list[bool]:
        found: list[bool] = parsed[0].allowed_batch(urls, AGENT)
        return found

    def first(self, body: Any, url: str) -> bool:
        return bool(self.make(body).agent(AGENT).allowed(url))

    def text(self, body: bytes) -> str:
        return body.decode(errors="replace")

    def paths(self, urls: list[str]) -> list[str]:
        return [url[url.index("/", 8) :] for url in urls]  # "https://" has eight characters


class TextingRobots(Peer):
    name = "texting-robots"
    requirement = "texting-robots-py"

    def __init__(self) -> None:
        self.make = import_module("texting_robots").Robot

    def parse(self, body: bytes) -> Any:
        return self.make(AGENT, body)

    def each(self, parsed: Any, urls: list[str]) -> list[bool]:
        allowed = parsed.allowed
        return [allowed(url) for url in urls]


class Reppy(Peer):
    name = "reppy"
    requirement = "reppy"

    def __init__(self) -> None:
        self.make = import_module("reppy.robots").Robots.parse

    def parse(self, body: bytes) -> Any:
        return self.make("", body.decode(errors="replace")).agent(AGENT)

    def each(self, parsed: Any, urls: list[str]) -> list[bool]:
        allowed = parsed.allowed
        return [allowed(url) for url in urls]


class Protego(Peer):
    name = "protego"
    requirement = "protego==0.7.0"

    def __init__(self) -> None:
        self.make = import_module("protego").Protego.parse

    def parse(self, body: bytes) -> Any:
        return self.make(body.decode(errors="replace"))

    def each(self, parsed: Any, urls: list[str]) -> list[bool]:
        allowed = parsed.can_fetch
        return [allowed(url, AGENT) for url in urls]


class Urllib(Peer):
    name = "urllib"

    def version(self) -> str:
        return "of the standard library"

    def parse(self, body: bytes) -> Any:
        robots = urllib.robotparser.RobotFileParser()
        robots.parse(body.decode(errors="replace").splitlines())
        return robots

    def each(self, parsed: Any, urls: list[str]) -> list[bool]:
        allowed = parsed.can_fetch
        return [allowed(AGENT, url) for url in urls]


class RobotsPy(Peer):
    name = "robotspy"
    requirement = "robotspy"

    def __init__(self) -> None:
        self.make = import_module("robots").RobotsParser.from_string

    def parse(self, body: bytes) -> Any:
        return self.make(body.decode(errors="replace"))

    def each(self, parsed: Any, urls: list[str]) -> list[bool]:
        allowed = parsed.can_fetch
        return [allowed(AGENT, url) for url in urls]


class ExclusionRules(Peer):
    name = "robotexclusionrulesparser"
    short = "exclusionrules"
    requirement = "robotexclusionrulesparser"

    def __init__(self) -> None:
        self.make = import_module("robotexclusionrulesparser").RobotExclusionRulesParser

    def parse(self, body: bytes) -> Any:
        robots = self.make()
        robots.parse(body.decode(errors="replace"))
        return robots

    def each(self, parsed: Any, urls: list[str]) -> list[bool]:
        allowed = parsed.is_allowed
        return [allowed(AGENT, url) for url in urls]


PEERS: dict[str, type[Peer]] = {
    peer.name: peer
    for peer in (
        *(Manners, PlainManners, FastRobots, FastRobotsPrepared, TextingRobots, Reppy),
        *(Protego, Urllib, RobotsPy, ExclusionRules),
    )
}
REQUIREMENTS = sorted({peer.requirement for peer in PEERS.values() if peer.requirement})
