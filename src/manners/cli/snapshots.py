"""What `manners top` shows of a crawl, from a store or from a service: one type for both."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

import msgspec

from manners import _portal
from manners._text import cut, printable
from manners.errors import MannersError
from manners.report.rates import Rate, Rates, Sample
from manners.store.database import Store

if TYPE_CHECKING:
    from manners.settings import Settings

HOSTS = 100
"""Hosts that are read, of those that are asked or waited for."""
_MAX_BYTES = 8_000_000
"""Of a reply of a service."""
_PAUSE = 10.0
"""How many times longer than a reply took the next one is waited with."""
_LAST = 1.0
"""Seconds in which the last read may end."""


class HostLine(msgspec.Struct, frozen=True):
    """A host that is asked, or waited for."""

    host: str
    state: str
    delay: float | None
    wait: float
    worker: int | None
    queued: int


class WorkerLine(msgspec.Struct, frozen=True):
    """A process that works on the crawl, or did."""

    worker: int
    name: str
    ended: str
    requests: int
    failed: int
    bytes: int


class PageLine(msgspec.Struct, frozen=True):
    """A page that was answered."""

    url: str
    status: int
    bytes: int
    seconds: float


class RetryLine(msgspec.Struct, frozen=True):
    """A request that is sent again."""

    url: str
    why: str
    ago: float


class PageBudget(msgspec.Struct, frozen=True):
    """How much is used of the limits."""

    pages: int
    max_pages: int
    max_minutes: float


class CrawlNumbers(msgspec.Struct, frozen=True):
    """States, hosts, workers and retries."""

    crawl: int
    start: str
    began: str
    ended: str
    is_running: bool
    is_stopping: bool
    at: float
    seconds: float
    states: dict[str, int]
    budget: PageBudget
    bytes: int
    hosts: dict[str, int]
    active: list[HostLine]
    workers: list[WorkerLine]
    retries: list[RetryLine]


class AnswerCounts(msgspec.Struct, frozen=True):
    """What became of the pages so far."""

    statuses: dict[str, int]
    redirects: int
    failures: dict[str, int]


class CrawlSnapshot(msgspec.Struct, frozen=True):
    """A crawl at one time."""

    progress: CrawlNumbers
    status: AnswerCounts
    slowest: list[PageLine]


class SnapshotSource(Protocol):
    """Where snapshots come from. `read` may take long, and raises what is wrong."""

    place: str
    """For people, without secrets."""
    pause: float
    """Seconds to wait before the next."""

    def read(self) -> dict[str, Any]:
        """The crawl as it is now, as plain values."""

    def close(self) -> None:
        """Close what is open."""


class StoreSource:
    """A store of this machine or of a server, opened for reading."""

    def __init__(self, place: str, crawl: int | None, settings: "Settings") -> None:
        from manners._secrets import without_secrets

        self.place, self.pause = without_secrets(place), 1.0
        self._place, self._crawl, self._settings = place, crawl, settings
        self._store: Store | None = None
        self._looks: Any = None

    def read(self) -> dict[str, Any]:
        """The crawl as it is now; a store that was away is opened again."""
        from manners.report.looking import CrawlLooks

        try:
            if self._store is None:
                timeout, redact = self._settings.server_timeout, self._settings.redact_query
                self._store = Store(self._place, readonly=True, timeout=timeout)
                self._looks = CrawlLooks(self._store, self._crawl, redact=redact, hosts=HOSTS)
            view = self._looks.look()
        except MannersError:
            self.close()
            raise
        self._crawl, self.pause = view.progress.crawl, self._looks.pause
        return dict(view.to_dict())

    def close(self) -> None:
        """Close the store."""
        store, self._store = self._store, None
        if store is not None:
            store.close()


class ServiceSource:
    """The API of a `manners serve`. Its address is the user's own word, so it may be private."""

    def __init__(
        self, address: str, crawl: int | None, token: str | None, settings: "Settings"
    ) -> None:
        from manners._secrets import without_secrets
        from manners.net.http import Http

        self.place, self.pause = without_secrets(address), 1.0
        self._address, self._crawl = address.rstrip("/"), crawl
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout = settings.server_timeout
        self._http = Http(
            user_agent=settings.identity.user_agent,
            allow_private=True,
            ca_file=settings.ca_file,
            keep_alive=True,
        )

    def read(self) -> dict[str, Any]:
        """The crawl as it is now."""
        if self._crawl is None:
            listed = self._get("crawls", {}).get("crawls")
            numbers = [row["crawl"] for row in listed] if isinstance(listed, list) else []
            if not numbers:
                raise ServiceTrouble(self.place, "it has no crawl")
            self._crawl = int(numbers[-1])
        return self._get("crawl", {"crawl": self._crawl, "hosts": HOSTS})

    def _get(self, resource: str, query: dict[str, int]) -> dict[str, Any]:
        from manners.net.messages import Get, Unreachable

        get = Get(
            f"{self._address}/v1/{resource}" + (f"?{urlencode(query)}" if query else ""),
            self._headers,
            max_bytes=_MAX_BYTES,
            read=self._timeout,
            total=self._timeout,
            any_status=True,
        )
        reply = _portal.portal.submit(self._http.send(get)).result()
        if isinstance(reply, Unreachable):
            raise ServiceTrouble(self.place, f"no reply: {reply.cause}")
        try:
            values = msgspec.json.decode(reply.body, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError):
            values = {}
        if reply.status != 200 or not values:
            title = values.get("title") if isinstance(values.get("title"), str) else ""
            detail = f": {cut(str(title), 200)}" if title else "; is it a `manners serve`?"
            raise ServiceTrouble(self.place, f"it answers {reply.status}{detail}", reply.status)
        self.pause = max(1.0, _PAUSE * reply.seconds)
        return values

    def close(self) -> None:
        """Close the connections."""
        _portal.portal.submit(self._http.close()).result()


class ServiceTrouble(MannersError):
    """A service that cannot be read now; 401, 403 and 404 will stay so."""

    def __init__(self, place: str, problem: str, status: int = 0) -> None:
        fix = "; pass --token, or set MANNERS_SERVE_TOKEN" if status == 401 else ""
        super().__init__(f"{printable(place)}: {printable(problem)}{fix}")
        self.is_final = status in (401, 403, 404, 422)


def snapshot_of(values: dict[str, Any]) -> CrawlSnapshot:
    """The snapshot in plain values; raises what is missing."""
    try:
        return msgspec.convert(values, CrawlSnapshot)
    except msgspec.ValidationError as error:
        raise MannersError(f"not the crawl of this version: {printable(str(error))}") from None


class SourceReader:
    """Reads a source in a thread of its own, so that keys never wait for a store."""

    def __init__(self, source: SnapshotSource) -> None:
        self._source, self._rates = source, Rates()
        self._ended = threading.Event()
        self.snapshot: CrawlSnapshot | None = None
        self.values: dict[str, Any] = {}
        """What the snapshot was made of."""
        self.rate: Rate | None = None
        self.problem = ""
        """Why it could not be read last; empty if it could."""
        self.failure: BaseException | None = None
        """What ends the view: a usage error, or a defect."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read again and again; at the end, a read that hangs is not waited for."""
        thread = threading.Thread(target=self._run, name="manners-top", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join(_LAST)

    def look(self) -> None:
        """Read once."""
        try:
            self.values = self._source.read()
            snapshot = snapshot_of(self.values)
        except MannersError as error:
            self.problem = str(error)
            if self.snapshot is None and is_final(error):
                self.failure = error
            return
        progress = snapshot.progress
        self.rate = self._rates.add(Sample(progress.at, progress.budget.pages, progress.bytes))
        self.problem, self.snapshot = "", snapshot

    def _run(self) -> None:
        try:
            while not self._ended.is_set() and self.failure is None:
                self.look()
                self._ended.wait(self._source.pause)
        except BaseException as error:  # shown where the view is
            self.failure = error
        finally:
            self._source.close()


def is_final(error: MannersError) -> bool:
    """Whether it will be the same the next time, such as a store without a crawl."""
    from manners.errors import StoreAway

    if isinstance(error, ServiceTrouble):
        return error.is_final
    return not isinstance(error, StoreAway)
