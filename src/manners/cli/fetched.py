"""What came of URLs that `manners get` was given: a line or an object for each, and the counts."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from manners._text import count, duration, printable
from manners.cli import UNDECIDED, inputs, render
from manners.client.page import Page
from manners.errors import HostDeferred, InvalidURL, MannersError
from manners.robots.verdict import Verdict
from manners.urls import origin, without_credentials

_KINDS = ("fetched", "allowed", "blocked", "failed", "deferred")
"""What a URL can count as, in the order of the summary."""
_REASONS = 20
"""How many reasons the summary lists."""


class PageResult:
    """What came of a URL, in words, and where it was saved."""

    def __init__(self, url: str, answer: Page | Verdict | MannersError) -> None:
        self.url = without_credentials(url)
        self.error = answer if isinstance(answer, MannersError) else None
        self.page = None if isinstance(answer, Verdict | MannersError) else answer
        self.verdict = answer if isinstance(answer, Verdict) else None
        """The verdict of a dry run, which has no page."""
        self.file: Path | None = None
        self.kind, self.label, self.detail, self.code = _words(answer)


class _Words(NamedTuple):
    """An answer in words."""

    kind: str
    """What it counts as: one of `_KINDS`."""
    label: str
    """The status, where there is one; else the kind, or more exactly what is wrong."""
    detail: str
    code: int
    """The exit code that it leads to."""


def _words(answer: Page | Verdict | MannersError) -> _Words:
    if isinstance(answer, InvalidURL):
        return _Words("failed", "invalid-url", answer.problem, UNDECIDED)
    if isinstance(answer, MannersError):
        kind = "deferred" if isinstance(answer, HostDeferred) else "failed"
        return _Words(kind, kind, printable(str(answer)), UNDECIDED)
    verdict = answer if isinstance(answer, Verdict) else answer.verdict
    if not verdict.allowed:
        return _Words("blocked", "blocked", render.because(verdict), 1)
    if isinstance(answer, Verdict):
        return _Words("allowed", "allowed", "", 0)
    return _words_of_page(answer)


def _words_of_page(page: Page) -> _Words:
    """A page that was allowed, in words."""
    if page.status is None:
        detail = f"{page.cause}: {page.detail}" if page.detail else page.cause
        return _Words("failed", "no-answer", detail, UNDECIDED)
    kind = "failed" if page.cause or page.server_failed else "fetched"
    if not page.complete:
        return _Words(kind, str(page.status), "truncated: larger than the limit of a page", 1)
    if page.ok or page.not_modified:
        return _Words(kind, str(page.status), "", 0)
    return _Words(kind, str(page.status), page.cause, 1)


def print_line(result: PageResult) -> None:
    """Print a result on one line."""
    # Somebody may be waiting for the answer before asking the next question: flush.
    print(_line(result), flush=True)


def _line(result: PageResult) -> str:
    """A result on one line."""
    if result.verdict is not None:
        return render.verdict_line(result.verdict)
    if isinstance(result.error, InvalidURL):
        return render.invalid_line(result.error)
    colour = {0: "green", 1: "red"}.get(result.code, "yellow")
    return f"{render.styled(f'{result.label:<9}', colour)}  {_details(result)}"


def _details(result: PageResult) -> str:
    page, parts = result.page, [printable(result.url)]
    if page is not None and len(page.hops) > 1:
        parts[0] += f" -> {page.final_url}"
    if page is not None and page.status is not None:
        parts += [count(len(page.body), "byte"), duration(page.seconds)]
    return "  ".join(filter(None, [*parts, result.detail, printable(str(result.file or ""))]))


def print_json(result: PageResult) -> None:
    """Print a result as a JSON object on one line."""
    print(_as_json(result), flush=True)


def _as_json(result: PageResult) -> str:
    if result.verdict is not None:
        return render.as_json(result.verdict.to_dict())
    if result.page is not None:
        file = {} if result.file is None else {"file": str(result.file)}
        return render.as_json(Page.to_dict(result.page) | file)
    until = {"until": result.error.until} if isinstance(result.error, HostDeferred) else {}
    values = {"allowed": None, "reason": result.label, "url": result.url, "problem": result.detail}
    return render.as_json(values | until)


def print_page(result: PageResult) -> None:
    """Print the body to standard output, and the line about it to standard error."""
    print(f"{result.label:<9}  {_details(result)}", file=sys.stderr, flush=True)
    page = result.page
    if page is None or not page.body:
        return
    if not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(page.body)
        sys.stdout.buffer.flush()
    elif "\0" in page.text:
        raise inputs.Unusable("not text, and not for a terminal: -o DIR saves it, > FILE writes it")
    else:
        print(render.printable_text(page.text), end="", flush=True)


class ResultCounts:
    """Counts what came of all URLs, and why."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.code = 0
        self.is_recorded = False
        """Whether there is evidence of anything."""
        self.is_complete = False
        """Whether every URL of the list was read and answered."""
        self.is_read = True
        """Whether anybody reads what is printed."""
        self.skipped = Counter[str]()
        """URLs that were not asked for, by what was done with them before."""
        self.from_crawl = 0
        """Pages of a crawl among them."""
        self._reasons: Counter[tuple[str, str]] = Counter()
        self._warnings = inputs.Warnings()

    def add(self, result: PageResult) -> None:
        """Count a result, and warn about sites whose robots.txt or address is unusual."""
        page = result.page
        self.kinds[result.kind] += 1
        self.code = max(self.code, result.code)
        verdicts = [] if result.verdict is None else [result.verdict]
        if page is not None:
            self.from_crawl += 1
            verdicts = [hop.verdict for hop in page.hops]
            self.is_recorded |= page.evidence_id is not None
            if page.cause == "refused address":
                self._warnings.say(origin(page.final_url), inputs.REFUSED)
        for verdict in verdicts:
            self._warnings.about(verdict)
        if result.code:
            site = origin(verdicts[-1].url) if result.kind == "blocked" else ""
            label = "" if result.label == result.kind else result.label
            reason = "  ".join(filter(None, (site, label, result.detail)))
            self._reasons[result.kind, reason] += 1

    def summary(self, hint: str, sent: str, place: str | None) -> Iterator[str]:
        """The counts, how to resume, who was sent, and where the evidence is."""
        yield from self.lines()
        if not self.is_complete:
            yield printable(hint)
        if self.kinds and sent:
            yield sent
        if self.is_recorded and place is not None:
            option = inputs.store_option(place)
            yield printable(f"evidence: {place}; check it with: manners evidence verify{option}")

    def lines(self) -> Iterator[str]:
        """The counts, and the reasons for failures, the most frequent first."""
        counts = [f"{self.kinds[kind]:,} {kind}" for kind in _KINDS if self.kinds[kind]]
        counts += [f"{n:,} skipped: {why} before" for why, n in self.skipped.items() if n > 0]
        if counts:
            yield ", ".join(counts)
        for (kind, reason), number in self._reasons.most_common(_REASONS):
            yield f"  {number:,} {kind}: {reason}"
        if len(self._reasons) > _REASONS:
            yield f"  and {count(len(self._reasons) - _REASONS, 'other reason')}"
