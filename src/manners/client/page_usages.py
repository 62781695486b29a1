"""What fetched pages may be used for, with the files of their sites; and what is kept of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from manners.client.page import Page
from manners.client.requesters import Requester
from manners.robots.verdict import Reason
from manners.settings import Settings

if TYPE_CHECKING:
    from manners.client.hosts import Clock
    from manners.client.purposes import PurposeGate
    from manners.client.signal_files import FileFetcher, SignalFiles
    from manners.evidence.store import EvidenceStore
    from manners.signals import Purpose, SignalProblem, Usage
    from manners.signals.decision import UsageDecision
    from manners.signals.material import Material

_PageT = TypeVar("_PageT", bound=Page)


class PageUsages:
    """Asks for the usage of a client's pages; what it needs for that is imported when it is asked.

    `gate` decides for the purpose of the settings; without a purpose there is none.
    """

    def __init__(
        self,
        settings: Settings,
        gate: "PurposeGate | None",
        *,
        fetch: "FileFetcher",
        evidence: "EvidenceStore | None",
        requester: Requester,
        clock: "Clock",
    ) -> None:
        self._settings, self._gate, self._fetch = settings, gate, fetch
        self._evidence, self._clerk, self._clock = evidence, requester.clerk, clock
        self._files: SignalFiles | None = None

    async def usage(self, page: Page) -> "Mapping[Purpose, Usage]":
        """What a page may be used for, by the files that the settings name, too."""
        if not self._settings.signals or page.verdict.reason is Reason.USAGE:
            return page.usage  # of a refused page, that is what was decided by
        from manners.client.signal_files import usage_with
        from manners.signals.merge import answers

        material, problems = await self._material(page)
        return usage_with(answers(material), problems)

    async def _material(self, page: Page) -> "tuple[Material, list[SignalProblem]]":
        """The sources of a page, with the files that the settings name."""
        if not self._settings.signals:
            from manners.client.page_signals import material_of

            return material_of(page), []
        from manners.client.signal_files import SignalFiles, material_with

        if self._files is None:
            self._files = SignalFiles(self._settings.retrieval, self._clock)
        return await material_with(self._files, page, self._settings.signals, self._fetch)

    async def decide(self, page: _PageT) -> "tuple[_PageT, UsageDecision | None]":
        """Decide whether a fetched page may be kept for the purpose of the settings.

        The decision is recorded, and the page returned has the number of that record. There is none
        without a purpose, and where only robots.txt has said anything, and allows it.
        """
        if self._gate is None or not page.ok:
            return page, None
        material, _ = await self._material(page)
        decision = self._gate.by_page(page, material)
        if decision is None or self._evidence is None or self._clerk is None:
            return page, decision
        from manners.client.purposes import draft_of, with_record

        draft = draft_of(self._clerk, page, decision, self._clock())
        return with_record(page, await self._evidence.append(draft)), decision

    async def for_purpose(self, page: _PageT) -> _PageT:
        """A page as it is handed out; without its content if it may not be kept."""
        if self._gate is None:
            return page
        from manners.client.purposes import with_usage

        page, decision = await self.decide(page)
        return page if decision is None else with_usage(page, decision)

    async def close(self) -> None:
        """Cancel what is under way."""
        if self._files is not None:
            await self._files.close()
