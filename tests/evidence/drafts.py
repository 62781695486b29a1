"""Records for tests: drafts as a client makes them, from sites as the cache knows them."""

from collections.abc import Callable, Sequence
from typing import Any

from manners.cache.site import ParsedEntry, Site
from manners.evidence.chain import GENESIS, ChainLink, hash_of
from manners.evidence.record import Clerk, Draft, Record, engine, parse
from manners.net.messages import Response
from manners.retrieval import profiles
from manners.robots import dialects
from manners.urls import robots_url
from tests.cache.steps import FILE, START, Step, after

AGENT = "MyBot"
RULES = b"User-agent: *\nCrawl-delay: 2\nDisallow: /private\nAllow: /private/open\n"
NOW = START + 60.125
"""When decisions are made, if nothing else is said: 2027-01-15T08:01:00.125Z."""


def file(body: bytes, charset: str = "utf-8") -> Response:
    """A robots.txt as it comes."""
    return Response(200, {"content-type": f"text/plain; charset={charset}"}, body)


def site(
    *steps: Step,
    at: float = 60.125,
    profile: str = "rfc9309",
    dialect: str = "rfc9309",
) -> Site:
    """A site of example.com after these replies, at a time, counted from the start."""
    entry = after(*(steps or ((0.0, FILE),)), profile=profile)
    return ParsedEntry(entry, dialects.get(dialect), profiles.get(profile)).at(START + at)


def clerk(
    agent: str = AGENT, profile: str = "rfc9309", dialect: str = "rfc9309", **others: Any
) -> Clerk:
    """Who writes down decisions, as a client has it."""
    return Clerk(agent, profiles.get(profile), dialect, others.pop("engine", engine()), **others)


def draft(path: str = "/", now: float = NOW, **others: Any) -> Draft:
    """A draft about a page of example.com, by the rules above, or by others."""
    known = others.pop("site", None) or site((0.0, file(others.pop("rules", RULES))))
    url = others.pop("url", "https://example.com" + path)
    writer = clerk(**others)
    return writer.draft(url, known.check(url, writer.agent), known, now)


def drafts(number: int, start: int = 0) -> list[Draft]:
    """So many drafts, a second after each other, about paths that say which."""
    known, writer = site((0.0, file(RULES))), clerk()
    made = []
    for each in range(start, start + number):
        url = f"https://example.com/{'private/' if each % 3 == 2 else ''}{each}"
        made.append(writer.draft(url, known.check(url, AGENT), known, NOW + each))
    return made


def record(made: Draft, number: int = 1, previous: str = GENESIS) -> Record:
    """The record that becomes of a draft."""
    content, metadata = parse(made.content, made.metadata)
    hashed = hash_of(previous, number, made.type, made.content, made.metadata)
    return Record(number, made.type, content, metadata, hashed, previous)


def chained(made: Sequence[Draft], previous: str = GENESIS, first: int = 1) -> list[ChainLink]:
    """Drafts as links of a chain."""
    links = []
    for number, each in enumerate(made, first):
        previous = hash_of(previous, number, each.type, each.content, each.metadata)
        links.append(ChainLink(number, each.type, each.content, each.metadata, previous))
    return links


def snapshots(*made: Draft) -> Callable[[str], bytes | None]:
    """Looks up the files that drafts rest on."""
    return {each.snapshot.sha256: each.snapshot.body for each in made if each.snapshot}.get


ROBOTS = robots_url("https://example.com")
