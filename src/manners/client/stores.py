"""Opens what a client shares with others: the politeness backend and the store of evidence."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from manners.politeness.backends import PolitenessBackend, open_backend
from manners.politeness.backends.memory import MemoryBackend
from manners.settings import Settings

if TYPE_CHECKING:
    from manners.evidence.store import EvidenceStore


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
