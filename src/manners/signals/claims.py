"""What a reader finds, and what comes of it: claims, problems, and the answer for a purpose."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple, NoReturn, get_args

from manners._text import cut, printable

Purpose = Literal[
    "crawl", "search", "snippet", "archive", "follow", "ai-input", "ai-index", "ai-train", "tdm"
]
"""What somebody wants to do with a page: fetch it; index it and answer with links; show an excerpt;
keep and show a copy; follow its links; give it to a model as input; put it into an AI's own
index; train a model with it; mine text and data at large."""
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

Value = Literal["yes", "no"]
Answer = Literal["yes", "no", "unknown"]
Confidence = Literal["high", "low"]
Place = Literal["robots.txt", "header", "html", "file", "licence"]
"""What kind of source a claim stands in; `file` is tdmrep.json, trust.txt or ai.txt."""

MAX_TEXT = 1_000
"""Characters of a source that a claim or a problem quotes."""
MAX_CLAIMS = 20
"""Claims of one reader with the same purpose and answer; more of them change nothing."""
MAX_PROBLEMS = 100
"""Problems that one reader reports."""


class Edition(NamedTuple):
    """A version of a standard: the one that a reader implements is the last row of its table."""

    name: str
    date: str
    """Published, or last compared with what its author documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One statement of a site about one purpose, and where it stands.

    >>> claim = Claim(purpose="ai-train", value="no", standard="content-usage", edition="vocab-08",
    ...     source="robots.txt", url="https://example.com/robots.txt", line=2, where="*",
    ...     text="Content-Usage: train-ai=n")
    >>> print(claim)
    ai-train no: content-usage (vocab-08), robots.txt line 2: Content-Usage: train-ai=n
    """

    purpose: Purpose
    value: Value
    standard: str
    """The name of its reader."""
    edition: str
    """The version of the standard it was read by: the meaning of a word changes between drafts."""
    source: Place
    url: str
    """The document that it stands in."""
    text: str
    """As written."""
    line: int = 0
    """In a file, counted from 1; 0 elsewhere."""
    where: str = ""
    """The header or element; in a robots.txt, the group; of a licence, what announces it."""
    path: str = ""
    """The path pattern it is limited to; empty for none."""
    implied: bool = False
    """Whether the word speaks of something wider: a reservation of all mining refuses training."""
    conditions: tuple[str, ...] = ()
    """What has to be met: a *no* with conditions is a yes for those who meet them."""
    confidence: Confidence = "high"
    """Low for conventions without a specification, and for what had to be repaired."""

    def __str__(self) -> str:
        shown = _shown(self.source, self.line, self.where, self.text)
        met = f" ({printable('; '.join(self.conditions))})" if self.conditions else ""
        return f"{self.purpose} {self.value}{met}: {self.standard} ({self.edition}), {shown}"

    def to_dict(self) -> dict[str, Any]:
        """Every field, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SignalProblem:
    """Something in a source that could not be read, or means nothing. Never a claim.

    >>> print(SignalProblem("malformed", "content-usage", "header", "Train-AI=n"))
    malformed: content-usage, header: Train-AI=n
    """

    code: str
    """malformed, unknown-label, unknown-value, unknown-word, wrong-type, too-large, outside-group,
    license-at-end, not-absolute, licence-not-had, not-had, not-conformant, no-time, part-of-page,
    repaired."""
    standard: str
    source: Place
    text: str
    line: int = 0
    where: str = ""
    """The name of the header or element; the URL of the licence."""

    def __str__(self) -> str:
        shown = _shown(self.source, self.line, self.where, self.text)
        return f"{self.code}: {self.standard}, {shown}"

    def to_dict(self) -> dict[str, Any]:
        """Every field, for JSON."""
        return asdict(self)


def _shown(source: Place, line: int, where: str, text: str) -> str:
    place = f"{source} line {line}" if line else f"{source} {where}" if where else source
    return printable(f"{place}: {text}")


class Citation(NamedTuple):
    """Where a text stands that a claim or a problem is about.

    >>> Citation("header", "https://example.com/a", "noai", where="X-Robots-Tag").line
    0
    """

    source: Place
    url: str
    text: str
    line: int = 0
    where: str = ""
    path: str = ""
    confidence: Confidence = "high"


@dataclass(slots=True)
class SignalFindings:
    """What one reader found: its standard's own precedence has been applied."""

    standard: str
    edition: str
    claims: list[Claim] = field(default_factory=list)
    problems: list[SignalProblem] = field(default_factory=list)
    conditions: dict[Purpose, tuple[str, ...]] = field(default_factory=dict)
    """What is asked for although nothing is refused: a price, a token."""

    def claim(
        self,
        purpose: Purpose,
        value: Value,
        citation: Citation,
        *,
        implied: bool = False,
        conditions: tuple[str, ...] = (),
    ) -> None:
        """Note a claim; equal ones count once."""
        claim = Claim(
            purpose=purpose,
            value=value,
            standard=self.standard,
            edition=self.edition,
            source=citation.source,
            url=cut(citation.url, MAX_TEXT),
            text=cut(citation.text, MAX_TEXT),
            line=citation.line,
            where=cut(citation.where, MAX_TEXT),
            path=cut(citation.path, MAX_TEXT),
            implied=implied,
            conditions=conditions,
            confidence=citation.confidence,
        )
        known = sum(known.purpose == purpose and known.value == value for known in self.claims)
        if known < MAX_CLAIMS and claim not in self.claims:
            self.claims.append(claim)

    def problem(self, code: str, citation: Citation, text: str = "") -> None:
        """Note a problem with a citation, or with a part of its text; up to a limit."""
        problem = SignalProblem(
            code,
            self.standard,
            citation.source,
            cut(text or citation.text, MAX_TEXT),
            citation.line,
            cut(citation.where, MAX_TEXT),
        )
        if len(self.problems) < MAX_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)

    def ask(self, purpose: Purpose, conditions: Iterable[str]) -> None:
        """Note conditions that no claim carries."""
        kept = dict.fromkeys((*self.conditions.get(purpose, ()), *conditions))
        self.conditions[purpose] = tuple(kept)


@dataclass(frozen=True, slots=True)
class Usage:
    """Whether a page may be used for one purpose, with every claim behind the answer.

    There are three answers, so it has no truth value: compare `answer`, or say with `allowed` what
    unknown means to you.

    >>> usage = Usage("ai-train")
    >>> usage.answer, usage.allowed(unknown="deny"), usage.allowed(unknown="allow")
    ('unknown', False, True)
    """

    purpose: Purpose
    claims: tuple[Claim, ...] = ()
    """Those that count, each standard's own precedence applied."""
    problems: tuple[SignalProblem, ...] = ()
    """What could not be read, in any source: an unreadable signal is no permission."""
    requests: tuple[str, ...] = ()
    """Conditions that belong to no claim."""

    @property
    def answer(self) -> Answer:
        """Any no is no, else any yes is yes, else unknown."""
        values = {claim.value for claim in self.claims}
        return "no" if "no" in values else "yes" if values else "unknown"

    @property
    def conditions(self) -> tuple[str, ...]:
        """What is asked of those who use it; with *no*, what would make it a yes."""
        answer = self.answer
        own = [text for claim in self.claims if claim.value == answer for text in claim.conditions]
        return tuple(dict.fromkeys([*own, *self.requests]))

    @property
    def conflict(self) -> bool:
        """Whether one claim says yes and another no."""
        return len({claim.value for claim in self.claims}) == 2

    def allowed(self, *, unknown: Literal["allow", "deny"]) -> bool:
        """The answer as yes or no; the caller says what unknown means."""
        if unknown not in ("allow", "deny"):
            raise ValueError(f"unknown is 'allow' or 'deny', not {unknown!r}")
        return self.answer == "yes" or (self.answer == "unknown" and unknown == "allow")

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a usage is yes, no or unknown, so it has no truth value: compare usage.answer, or call"
            " usage.allowed(unknown='deny')"
        )

    def __str__(self) -> str:
        asked = f" ({printable('; '.join(self.conditions))})" if self.conditions else ""
        return f"{self.purpose}: {self.answer}{asked}{', conflict' if self.conflict else ''}"

    def to_dict(self) -> dict[str, Any]:
        """What `--json` prints: the answer, and everything behind it."""
        return {
            "purpose": self.purpose,
            "answer": self.answer,
            "conflict": self.conflict,
            "conditions": list(self.conditions),
            "claims": [claim.to_dict() for claim in self.claims],
            "problems": [problem.to_dict() for problem in self.problems],
        }
