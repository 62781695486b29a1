"""What the demo tells: an introduction, a sentence for each case, and the results."""

import shlex
from collections.abc import Callable, Iterator, Sequence

from manners._text import duration, printable
from manners.demo.cases import CASES
from manners.demo.outcomes import CaseOutcome
from manners.demo.site import LIBRARY, RETRY_AFTER, SETTINGS, SHOP, DemoRequest, DemoSite

_INDENT = " " * 9

Style = Callable[[str, str], str]
"""Puts a text into a style: `bold`, `dim`, `green`, `yellow` or `red`."""


class Story:
    """Tells about a crawl of the site, in lines; each case is explained once."""

    def __init__(self, site: DemoSite, style: Style) -> None:
        self._site, self._style = site, style
        self._untold = [case for case in CASES if case.at]

    def introduction(self) -> Iterator[str]:
        """What there is, and what is about to happen."""
        hosts = " and ".join(self._site.url(name) for name in (SHOP, LIBRARY))
        yield f"A small site is running on this machine for a moment: {hosts}."
        yield from ("It has two hosts, each with its own robots.txt:", "")
        for name in (SHOP, LIBRARY):
            yield self._style(self._site.url(f"{name}/robots.txt"), "bold")
            for number, line in enumerate(self._site.robots(name).splitlines(), 1):
                yield f"  {number:>2}  {line}".rstrip()
            yield ""
        yield f"Both are now crawled as {SETTINGS.identity}: a line for each page, a sentence for"
        yield "each case. Each line ends with the time since the previous request to the same host."
        yield "It takes about ten seconds."
        yield ""

    def page(self, line: str, url: str) -> Iterator[str]:
        """A page that was finished; `line` is about it."""
        request = next((logged for logged in self._site.log[::-1] if logged.url == url), None)
        return self._event(line, url, request)

    def refusal(self, request: DemoRequest) -> Iterator[str]:
        """A request that was answered with 429; its page is retried later."""
        status = self._style("429", "yellow")
        line = f"{status}      {printable(request.url)}  Retry-After: {RETRY_AFTER}"
        return self._event(line, request.url, request)

    def _event(self, line: str, url: str, request: DemoRequest | None) -> Iterator[str]:
        gap = None if request is None else self._site.gap(request)
        yield line if gap is None else line + self._style(f"  +{duration(gap)}", "dim")
        for case in [case for case in self._untold if self._site.url(case.at) == url]:
            self._untold.remove(case)
            yield _INDENT + self._style(case.explanation, "dim")


def results(outcomes: Sequence[CaseOutcome], style: Style) -> Iterator[str]:
    """A block for each case, with its URLs and what came of them; then the verdict."""
    yield style("Expected and actual results", "bold")
    width = max(len(short) for outcome in outcomes for short, _ in outcome.case.expected)
    for outcome in outcomes:
        case, mark = outcome.case, ("ok", "green") if outcome.ok else ("NO", "red")
        yield f"{style(*mark)}  {style(case.name, 'bold')}  {style(case.explanation, 'dim')}"
        for (short, expected), result in zip(case.expected, outcome.results, strict=True):
            text = printable(result)
            if result != expected:
                text = style(f"{text}, expected {expected}", "red")
            yield f"      {short:<{width}}  {text}"
        if outcome.measurement is not None:
            text = printable(outcome.measurement.text)
            yield f"      {text if outcome.measurement.ok else style(text, 'red')}"
    yield from ("", _verdict(outcomes, style))


def _verdict(outcomes: Sequence[CaseOutcome], style: Style) -> str:
    wrong = [outcome.case.name for outcome in outcomes if not outcome.ok]
    if not wrong:
        return style(f"All {len(outcomes)} cases came out as expected.", "green")
    text = f"{len(wrong)} of {len(outcomes)} cases did not come out as expected"
    return style(f"{text}: {'; '.join(wrong)}", "red")


def next_steps(store: str, report: str | None) -> Iterator[str]:
    """What to look at, and what to type next; `report` is a file, where no store is kept."""
    if report is None:
        place = printable(shlex.quote(store))
        yield "Look at the decisions, and verify them yourself:"
        yield f"  manners evidence list --store {place}"
        yield f"  manners evidence verify --store {place}"
        yield f"  manners evidence replay --store {place}"
        yield f"  manners crawl status --store {place}"
        yield "Create a report:"
        yield f"  manners report {place}"
    else:
        yield "The report, to open in a browser:"
        yield f"  {printable(report)}"
        yield "Keep the store next time, to look at the evidence:"
        yield "  manners demo --store demo.db"
    yield "Check a page, or crawl a site of your own:"
    yield "  manners check https://example.com/ --agent MyBot"
    yield "  manners crawl https://example.com/ --max-pages 20"
