"""Opens what a client shares with others: the politeness backend and the store of evidence."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from manners.client.page import Page, take_exchanges
from manners.client.transport import Transport, check_captures
from manners.errors import SettingsError
from manners.politeness.backends import PolitenessBackend, open_backend
from manners.politeness.backends.memory import MemoryBackend
from manners.settings import Settings

if TYPE_CHECKING:
    from manners.evidence.store import EvidenceStore
    from manners.warc.archive import WarcArchive


def open_politeness(
    politeness: str | PolitenessBackend | None, settings: Settings, clock: Callable[[], float]
) -> PolitenessBackend:
    """The backend that a client was given or names; one in memory by default."""
    place = settings.politeness if politeness is None else politeness
    if place is not None and not isinstance(place, str):
        return place
    pace, hosts = settings.pace, settings.hosts.items()
    own = {name: own.concurrency for name, own in hosts if own.concurrency is not None}
    if place is None:
        return MemoryBackend(pace.concurrency, pace.lease, own, clock)
    prefixes = settings.concurrency_prefix, settings.delay_prefix
    return open_backend(
        place, pace.concurrency, pace.lease, own, *prefixes, settings.server_timeout, clock
    )


def open_evidence(
    evidence: "str | Path | EvidenceStore | None", settings: Settings
) -> "EvidenceStore | None":
    """The store that a client was given or names; None without one."""
    if evidence is None:
        return None
    from manners.evidence.store import EvidenceStore

    if isinstance(evidence, EvidenceStore):
        return evidence
    return EvidenceStore(evidence, timeout=settings.server_timeout)


class PageArchive:
    """Where a client archives what it receives; nowhere unless the settings say so."""

    def __init__(self, settings: Settings, http: Transport | None) -> None:
        check_captures(http, settings)
        self._archive: WarcArchive | None = None
        if settings.warc is None:
            return
        if settings.purpose is not None:  # what it refuses may not be kept, which is known later
            problem = "only crawls archive for a purpose: use manners.crawl"
            raise SettingsError("warc, purpose", problem)
        from manners.warc.archive import open_archive

        self._archive = open_archive(settings)

    async def keep(self, page: Page) -> Page:
        """The page, when what was received for it is in the archive; at once if there is none."""
        if self._archive is not None:
            await self._archive.add(page, take_exchanges(page))
        return page

    async def close(self) -> None:
        """Complete the archive."""
        if self._archive is not None:
            await self._archive.close()
