"""The values that a report consists of. Quiet.

A report is bounded however large the crawl is: counts cover everything, lists are cut.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from manners.report.timeline import ResponseTimes, Timeline

if TYPE_CHECKING:
    from manners.crawler.status import Status

T = TypeVar("T")

_JSON_NAMES = {"created": "made", "settings": "told"}


class Listing(NamedTuple, Generic[T]):
    """The first rows of a list, and the length of the full list."""

    total: int
    rows: list[T]


class BudgetUse(NamedTuple):
    """The budget of a crawl, and how much of it was used."""

    pages: int
    max_pages: int
    minutes: float
    max_minutes: float


class Fetched(NamedTuple):
    """A page that was answered."""

    url: str
    status: int
    title: str
    type: str
    bytes: int
    seconds: float


class Decision(NamedTuple):
    """All decisions made for the same reason, by the same line of the same robots.txt."""

    allowed: bool
    reason: str
    rule: str
    """The line as written in the file; as it was parsed, where the file was not read."""
    line: int
    robots: str
    """The URL of that robots.txt; one of several, where many sites have the same file."""
    sites: int
    sha256: str
    number: int
    """How many URLs."""
    record: int
    """The number of the last record."""


class FileLine(NamedTuple):
    """A line of a robots.txt, how many URLs it decided, and its problems."""

    number: int
    text: str
    allowed: int
    blocked: int
    problems: list[str]


class RobotsFile(NamedTuple):
    """A robots.txt that decided, or why there was none."""

    url: str
    sites: int
    """How many sites had the same file."""
    outcome: str
    sha256: str
    bytes: int | None
    """None where there is no file."""
    decisions: int
    problems: int
    is_read: bool
    """False where the limit on the bytes of all files was reached before this one."""
    length: int
    """The number of lines, if it was read."""
    lines: list[FileLine]
    """Lines that decided most or have problems, each with a few lines around it."""


class RobotsProblem(NamedTuple):
    """A line of a robots.txt that has problems."""

    url: str
    line: int
    text: str
    problems: list[str]


class PathChange(NamedTuple):
    """A path whose verdict changed, on one of the sites, and the lines that decide."""

    url: str
    before: str
    """The line that decided before the change; empty where no rule matched."""
    after: str


class RobotsChange(NamedTuple):
    """A robots.txt that changed during the crawl, and what that did to the crawl's agent."""

    url: str
    sites: int
    """How many sites had the same change."""
    last_before: str
    """When a site was last seen to have the earlier file, in ISO 8601."""
    first_after: str
    """When a site was first seen to have the later one."""
    before: str
    """The SHA-256 of the earlier file; empty where there was none."""
    after: str
    agent: str
    is_equal: bool | None
    """Whether all verdicts stayed the same; None if that is not decided."""
    closed: list[PathChange]
    """Examples of what was allowed and is disallowed, the shortest first."""
    opened: list[PathChange]
    is_exact: bool
    """Whether the examples are the shortest, and where there is none, nothing changed."""
    problem: str
    """Why the files could not be compared; empty if they were."""


class PurposeCount(NamedTuple):
    """What the pages answer for one purpose."""

    purpose: str
    yes: int
    no: int
    unknown: int
    conflicts: int
    """Pages of which one claim says yes and another no."""


class SourceCount(NamedTuple):
    """A standard, and on how many pages it says something in one kind of source."""

    standard: str
    edition: str
    source: str
    yes: int
    """Pages on which it permits something."""
    no: int
    """Pages on which it refuses something."""


class ClaimRow(NamedTuple):
    """What a site says about one purpose, as it is on record."""

    value: str
    standard: str
    edition: str
    source: str
    text: str
    where: str
    line: int


class UsageConflict(NamedTuple):
    """A page with claims that contradict each other, and those about one purpose."""

    url: str
    purpose: str
    claims: list[ClaimRow]


class UsageSummary(NamedTuple):
    """What may be done with the pages of a crawl that had a purpose."""

    purpose: str
    unknown: str
    """What unknown meant to it: allow or deny."""
    pages: int
    """Pages that were fetched or refused."""
    purposes: list[PurposeCount]
    sources: list[SourceCount]
    conflicts: Listing[UsageConflict]


class BlockedURL(NamedTuple):
    """A URL that was not fetched, and the rule that blocked it."""

    url: str
    rule: str
    line: int
    found_in: str
    depth: int


class BlockedReason(NamedTuple):
    """A reason, and the URLs that are blocked for it."""

    reason: str
    number: int
    urls: list[BlockedURL]


class BrokenPage(NamedTuple):
    """A page that failed or was answered with an error such as 404."""

    url: str
    reason: str
    """Why it failed; empty where it was answered."""
    status: int | None
    attempts: int
    source: str
    """How it was first found: `link`, `sitemap`, `redirect` or `start`."""
    found_in: str
    """The page or sitemap it was first found in."""


class SitemapProblem(NamedTuple):
    """A problem of a sitemap."""

    problem: str
    detail: str
    line: int


class SitemapRead(NamedTuple):
    """A sitemap that was requested."""

    url: str
    found_in: str
    state: str
    reason: str
    status: int | None
    form: str
    entries: int
    problems: list[SitemapProblem]


class HostRow(NamedTuple):
    """The requests to a host."""

    host: str
    requests: int
    """Every attempt for a page or a sitemap; requests for robots.txt are not counted."""
    bytes: int
    seconds: float
    """The average response time."""
    shortest: float | None
    """The shortest gap between the starts of two requests."""
    delay: float
    """The last delay in force; the minimum, where delays are random."""
    until: float
    """The time from which the host may be asked again, in seconds since the epoch."""


class Proof(NamedTuple):
    """The evidence for the decisions of a crawl."""

    decisions: int
    """Decisions on record."""
    missing: int
    """Decisions whose record was pruned or is unreadable."""
    head: str
    verify: str
    """The command that verifies the chain up to this head."""


class Report(NamedTuple):
    """What happened in a crawl."""

    created: str
    version: str
    store: str
    status: "Status"
    agents: list[str]
    """The agents that robots.txt files were read for."""
    user_agents: list[str]
    """The User-Agent headers that were sent, as far as the evidence has them."""
    settings: dict[str, Any]
    """The non-default settings."""
    budget: BudgetUse
    timeline: Timeline
    times: ResponseTimes
    slowest: list[Fetched]
    decisions: Listing[Decision]
    robots: Listing[RobotsFile]
    problems: Listing[RobotsProblem]
    changes: Listing[RobotsChange]
    """The robots.txt files that changed during the crawl."""
    blocked: list[BlockedReason]
    traps: list[BlockedReason]
    broken: Listing[BrokenPage]
    pages: Listing[Fetched]
    sitemaps: Listing[SitemapRead]
    hosts: Listing[HostRow]
    proof: Proof
    rest: str
    """The command that prints the full lists."""
    usage: UsageSummary | None = None
    """What may be done with the pages; None for a crawl without a purpose."""

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON; `created` is `made` and `settings` `told`."""
        values: Mapping[str, Any] = self._asdict()
        return {
            _JSON_NAMES.get(name, name): _plain(value)
            for name, value in values.items()
            if name != "usage" or value is not None
        }


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, tuple):
        fields: dict[str, Any] = value._asdict()  # type: ignore[attr-defined]
        return {name: _plain(field) for name, field in fields.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
