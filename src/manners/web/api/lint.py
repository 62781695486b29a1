"""`/v1/lint`: what is wrong with a robots.txt, and what would repair it."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from manners import lint
from manners._text import to_bytes, to_text
from manners.identity import HOME_PAGE
from manners.robots import dialects
from manners.web.api import Parameters, Resource
from manners.web.api.check import DialectName, RobotsText, Url
from manners.web.service import Call

Names = Annotated[tuple[Annotated[str, Meta(max_length=100)], ...], Meta(max_length=200)]


class LintRequest(Parameters, frozen=True, kw_only=True):
    """A robots.txt."""

    robots: RobotsText
    engines: Annotated[list[DialectName], Meta(min_length=1, max_length=10)] | UnsetType = UNSET
    """Dialects that it has to work for; rfc9309 and google if there are none."""
    select: Names = ()
    """Rules by name, code, or the letter of their family; none is the default ones."""
    ignore: Names = ()
    url: Url | UnsetType = UNSET
    """Where the file comes from."""
    fix: Literal["no", "safe", "unsafe"] = "no"
    """`safe` repairs what can be repaired without changing any verdict; `unsafe` all."""


class EditReply(msgspec.Struct, frozen=True):
    """A replacement of bytes of the file in UTF-8, without a byte order mark."""

    start: int
    end: int
    replacement: str


class FixReply(msgspec.Struct, frozen=True, kw_only=True):
    """What would remove the cause of a finding."""

    summary: str
    safety: str
    proved: bool
    """Whether it is proved that it changes no verdict by itself."""
    edits: list[EditReply]


class FindingReply(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a rule has to say."""

    code: str
    name: str
    severity: str
    line: int
    column: int
    end_column: int
    message: str
    fix: FixReply | None
    page: str
    """Where the rule is explained."""


class LintReply(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, in the order of the lines."""

    findings: list[FindingReply]
    fixed: str | None
    """The repaired file, if that was asked for; the findings are of the file as it was."""


async def find(call: Call, request: LintRequest) -> LintReply:
    """Lint a file."""
    return await call.service.compute(lint_file, request)


def lint_file(request: LintRequest) -> LintReply:
    """What is found in a file; nothing is fetched."""
    engines = lint.ENGINES if request.engines is UNSET else tuple(request.engines)
    for name in engines:
        dialects.get(name)
    given: dict[str, Any] = {
        "select": request.select,
        "ignore": request.ignore,
        "url": None if request.url is UNSET else request.url,
    }
    body = to_bytes(request.robots)
    findings = lint.run(body, engines, **given)
    fixed = None
    if request.fix != "no":
        fixed = to_text(lint.fix(body, engines, request.fix == "unsafe", **given))
    return LintReply(findings=list(map(_finding, findings)), fixed=fixed)


def _finding(finding: lint.Finding) -> FindingReply:
    values = finding.to_dict() | {
        "fix": finding.fix and _fix(finding.fix),
        "page": f"{HOME_PAGE}lint/{finding.name}.html",
    }
    return FindingReply(**values)


def _fix(fix: lint.Fix) -> FixReply:
    edits = [EditReply(edit.start, edit.end, to_text(edit.replacement)) for edit in fix.edits]
    return FixReply(summary=fix.summary, safety=fix.safety, proved=fix.is_proved, edits=edits)


RESOURCES = (
    Resource("POST", "lint", "What is wrong with a robots.txt?", LintRequest, LintReply, find),
)
