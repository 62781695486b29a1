"""What `manners usage` prints: a table of purposes and sources, claims, problems, AI crawlers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from manners._text import count, cut, printable
from manners.cli import render
from manners.errors import InvalidURL, MannersError
from manners.signals.claims import Claim, Place, Purpose, Usage
from manners.urls import without_credentials

if TYPE_CHECKING:
    from manners.client.page import Page
    from manners.lint.ai_access import CrawlerAccess
    from manners.robots.policy import Robots

_LONGEST = 200
"""Characters of a text in the table, and of a URL; JSON has all of it."""
_NAMES = 10
"""Crawlers that are listed as alike; JSON has all."""


class PageUsage(NamedTuple):
    """What is known about a URL: its usage, or why there is none."""

    url: str
    usage: Mapping[Purpose, Usage] | None = None
    page: "Page | None" = None
    """None where a file was read instead."""
    error: MannersError | None = None

    @property
    def is_read(self) -> bool:
        """Whether all of it could be read: a page that was not fetched has unknown headers."""
        if self.error is not None:
            return False
        return self.page is None or (self.page.status is not None and not self.page.server_failed)


def as_dict(item: PageUsage, asked: Sequence[Purpose]) -> dict[str, Any]:
    """Plain values, ready for JSON; problems are those of all sources."""
    values: dict[str, Any] = {"url": without_credentials(item.url), "read": item.is_read}
    if item.error is not None:
        values["problem"] = _reason(item.error)
    if item.page is not None:
        values |= {"final_url": item.page.final_url, "status": item.page.status}
        values["cause"] = "" if item.page.status is not None else str(item.page)
    if item.usage is None:
        return values | {"usage": None, "problems": []}
    shown = {name: item.usage[name].to_dict() for name in asked}
    problems = [usage.pop("problems") for usage in shown.values()]
    return values | {"usage": shown, "problems": problems[0]}


def lines(item: PageUsage, asked: Sequence[Purpose], explain: bool) -> Iterator[str]:
    """One URL: what was fetched, the table, and with `explain` everything behind it."""
    yield render.styled(printable(cut(without_credentials(item.url), 10 * _LONGEST)), "bold")
    if item.error is not None:
        yield render.styled(printable(_reason(item.error)), "yellow")
    if item.page is not None:
        yield from _page_lines(item)
    if item.usage is None:
        return
    usages = [item.usage[name] for name in asked]
    yield _table(usages)
    if explain:
        yield from _explained(usages)
    elif usages[0].problems:
        problems = count(len(usages[0].problems), "problem")
        yield f"{problems}; --explain shows them, and every claim"


def _reason(error: MannersError) -> str:
    return f"invalid-url: {error.problem}" if isinstance(error, InvalidURL) else str(error)


def _page_lines(item: PageUsage) -> Iterator[str]:
    page = item.page
    if page is None:
        return
    if page.final_url != page.url:
        yield f"-> {printable(cut(page.final_url, 10 * _LONGEST))}"
    if not page.ok:
        text = "not read; its headers and content are unknown" if not item.is_read else "answered"
        yield render.styled(printable(f"{text}: {page}"), "yellow")


def _table(usages: Sequence[Usage]) -> str:
    """Purposes and the sources that say something, and the text that decides."""
    sources = {claim.source for usage in usages for claim in usage.claims}
    places = [place for place in get_args(Place) if place in sources]
    header = ["PURPOSE", "ANSWER", *(place.upper() for place in places), "DECIDED BY"]
    return render.table(header, [_row(usage, places) for usage in usages])


def _row(usage: Usage, places: Sequence[Place]) -> list[str]:
    answer = usage.answer + (", conflict" if usage.conflict else "")
    cells = [_cell(usage, place) for place in places]
    deciding = next((claim for claim in usage.claims if claim.value == usage.answer), None)
    return [usage.purpose, answer, *cells, _decided_by(deciding, usage)]


def _cell(usage: Usage, place: Place) -> str:
    values = {claim.value for claim in usage.claims if claim.source == place}
    return "no" if "no" in values else "yes" if values else "-"


def _decided_by(claim: Claim | None, usage: Usage) -> str:
    conditions = f"; asks for {'; '.join(usage.conditions)}" if usage.conditions else ""
    if claim is None:
        return conditions.removeprefix("; ")
    line = f" line {claim.line}" if claim.line else f" {claim.where}" if claim.where else ""
    text = cut(" ".join(claim.text.split()), _LONGEST)
    text = f": {text}" if text else ""
    return f"{claim.standard}, {claim.source}{line}{text}{cut(conditions, _LONGEST)}"


def _explained(usages: Sequence[Usage]) -> Iterator[str]:
    for usage in usages:
        for claim in usage.claims:
            yield f"  {claim}"
            yield render.styled(f"    {printable('; '.join(_details(claim)))}", "dim")
    for problem in usages[0].problems:
        yield render.styled(f"  problem {problem}", "yellow")


def _details(claim: Claim) -> Iterator[str]:
    """Where a claim stands and how far it reaches."""
    yield claim.url
    if claim.where and claim.line:
        yield f"{'group' if claim.source == 'robots.txt' else 'in'} {claim.where}"
    if claim.path:
        yield f"path {claim.path}"
    if claim.implied:
        yield "implied"
    if claim.confidence == "low":
        yield "low confidence"


def print_crawlers(name: str, robots: "Robots", json: bool) -> None:
    """Print which documented AI crawlers a file shuts out, and for what."""
    from manners.lint.ai_access import ai_access

    found = ai_access(robots)
    if json:
        print(render.as_json({"robots": name, "ai_crawlers": found.to_dict()}))
        return
    print(f"\n{render.styled(f'AI crawlers, as documented on {found.as_of}', 'bold')}")
    for purpose in found.purposes.values():
        print(purpose)
    rows = [
        [item.crawler.name, item.crawler.company, ", ".join(item.crawler.purposes), _access(item)]
        for item in found.crawlers
        if item.is_named
    ]
    if rows:
        print(render.table(("NAMED", "OPERATOR", "FOR", "ACCESS"), rows))
    through: dict[str, list[str]] = {}
    for item in found.crawlers:
        if not item.is_named and item.access != "open":
            through.setdefault(_access(item), []).append(item.crawler.name)
    for access, alike in through.items():
        more = f" and {len(alike) - _NAMES} more" if len(alike) > _NAMES else ""
        print(f"through *: {printable(access)}: {', '.join(alike[:_NAMES])}{more}")
    if found.names_only:
        names = ", ".join(map(printable, found.names_only))
        print(f"also named, and not documented: {names}")


def _access(item: "CrawlerAccess") -> str:
    """What a crawler may fetch, and the line that says so."""
    access: str = item.access
    if access == "partly":
        closed, opened = (cut(path, _LONGEST) for path in (item.closed_path, item.open_path))
        access = f"partly, not {closed}" if item.may_fetch_home else f"partly, only {opened}"
    return f"{access}, line {item.rule.line}" if item.rule is not None else access
