"""Whatever a server does, the cache has an answer, in time, and the answer is the profile's."""

import asyncio
import json
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path

import pytest
import trustme
from aiohttp.abc import AbstractResolver, ResolveResult

from manners.cache.robots import AsyncRobotsCache
from manners.net import guard
from manners.net.http import Http
from tests.faults import faults
from tests.faults.faults import FAMILIES, FILE, Fault, Means, moved, raw
from tests.faults.play import ask, hurried, meant, play, run
from tests.faults.server import Call, Handler, Site, by_address, in_thread, page
from tests.sizes import size

PROFILES = ("rfc9309", "open")
ROOT = Path(__file__).parents[2]
TIMES = size("FAULTS")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_fault_has_its_outcome(family: str, profile: str) -> None:
    """A server that misbehaves gets the outcome of the profile, in time, and leaves nothing."""
    run(lambda: play(hurried(profile), FAMILIES[family]))


def test_google_reads_less() -> None:
    """Bodies without end are cut where the profile says so."""
    run(lambda: play(hurried("google"), faults.ENDLESS))


@pytest.mark.parametrize("profile", PROFILES)
def test_every_status_has_its_outcome(profile: str) -> None:
    """Every status from 200 to 599 means what the table says."""
    run(lambda: play(hurried(profile), faults.STATUSES))


@pytest.mark.soak(small="test_every_fault_has_its_outcome")
@pytest.mark.parametrize("profile", ["rfc9309", "google", "open"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_fault_again_and_again(family: str, profile: str) -> None:
    """The last time is like the first, in every profile."""
    run(lambda: play(hurried(profile), FAMILIES[family], times=TIMES))


@pytest.mark.soak(small="test_every_status_has_its_outcome")
@pytest.mark.parametrize("profile", ["rfc9309", "google", "open"])
def test_every_status_in_every_profile(profile: str) -> None:
    """Every status from 200 to 599 means what the table says, many times over."""
    run(lambda: play(hurried(profile), faults.STATUSES, times=TIMES))


@pytest.mark.soak(small="test_every_fault_has_its_outcome")
@pytest.mark.parametrize("profile", ["rfc9309", "google", "open"])
def test_every_redirect_in_every_profile(profile: str) -> None:
    """Every chain, way and status of redirects ends where the table says."""
    run(lambda: play(hurried(profile), faults.ALL_CHAINS))


@pytest.mark.parametrize("after", [0.0, 0.01, 0.1, 0.3])
def test_closing_in_the_middle_leaves_nothing(after: float) -> None:
    """A cache that is closed while servers misbehave stops at once, whatever it was doing."""
    family = [*faults.CONNECTIONS, *faults.ENDLESS, *faults.LOCATIONS]
    blocks = {f"127.20.{n}.1": fault for n, fault in enumerate(family)}

    async def work() -> list[str]:
        answer = by_address({block: fault.answer for block, fault in blocks.items()})
        async with Site(answer) as site:
            cache = AsyncRobotsCache(allow_private=True)  # with all the time it wants
            asking = [asyncio.create_task(cache.get(site.url(block))) for block in blocks]
            await asyncio.sleep(after)
            start = time.monotonic()
            await cache.close()
            ends = await asyncio.gather(*asking, return_exceptions=True)
            took = time.monotonic() - start
            complaints = [repr(end) for end in ends if isinstance(end, Exception)]
            complaints += [] if took < 10 else [f"closing took {took:.1f} s"]
            complaints += [] if await site.emptied() else [f"{site.open} connections left open"]
            return complaints

    run(work)


# TLS.


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


async def _plain_on_accept(call: Call) -> None:
    await call.send(faults.WHOLE)


async def _reset_in_handshake(call: Call) -> None:
    await call.pause(0.05)
    call.reset()


async def _closed_in_handshake(call: Call) -> None:
    await call.pause(0.05)


async def _garbage_in_handshake(call: Call) -> None:
    await call.send(b"\x16\x03\x03\xff\xff" + b"\xff" * 70_000)
    await call.pause()


async def _silent(call: Call) -> None:
    await call.pause()


def serving(certificate: trustme.LeafCert) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(made)
    return made


def self_signed(tmp_path: Path) -> ssl.SSLContext:
    """A certificate that nobody else vouches for."""
    alone = trustme.CA()
    alone.private_key_pem.write_to_path(tmp_path / "alone.pem")
    alone.cert_pem.write_to_path(tmp_path / "alone.pem", append=True)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(tmp_path / "alone.pem")
    return made


@pytest.mark.parametrize("profile", PROFILES)
def test_tls_errors_are_unreachable(authority: trustme.CA, profile: str, tmp_path: Path) -> None:
    """A server whose certificate is wrong, or that speaks no TLS, is unreachable."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    good = serving(authority.issue_cert("127.0.0.1"))
    long_ago, far_off = datetime(2001, 1, 1, tzinfo=UTC), datetime(2199, 1, 1, tzinfo=UTC)
    expired = authority.issue_cert("127.0.0.1", not_after=long_ago)
    early = authority.issue_cert(
        "127.0.0.1", not_before=far_off, not_after=datetime(2200, 1, 1, tzinfo=UTC)
    )
    file, bad = page(FILE), Means.UNREACHABLE
    cases: list[tuple[Fault, ssl.SSLContext | None]] = [
        (Fault("good", file, Means.FILE), good),
        (Fault("self-signed", file, bad), self_signed(tmp_path)),
        (Fault("of another authority", file, bad), serving(trustme.CA().issue_cert("127.0.0.1"))),
        (Fault("of another name", file, bad), serving(authority.issue_cert("elsewhere.test"))),
        (Fault("of another address", file, bad), serving(authority.issue_cert("127.0.0.2"))),
        (Fault("expired", file, bad), serving(expired)),
        (Fault("not yet valid", file, bad), serving(early)),
        (Fault("plain HTTP", _plain_on_accept, bad), None),
        (Fault("reset in the handshake", _reset_in_handshake, bad), None),
        (Fault("closed in the handshake", _closed_in_handshake, bad), None),
        (Fault("garbage in the handshake", _garbage_in_handshake, bad), None),
        (Fault("silence in the handshake", _silent, bad), None),
        (Fault("reset in the body", raw(faults.WHOLE[:-5], after="reset"), bad), good),
        (Fault("closed in the body", raw(faults.WHOLE[:-5]), bad), good),
        (Fault("silence in the body", raw(faults.WHOLE[:-5], after="silence"), bad), good),
    ]

    async def work() -> list[str]:
        http = Http(user_agent="faults", allow_private=True, ca_file=str(tmp_path / "ca.pem"))
        async with AsyncExitStack() as stack:
            cache = AsyncRobotsCache(profile=hurried(profile), http=http)
            sites = [
                await stack.enter_async_context(Site(each.answer, tls=tls)) for each, tls in cases
            ]
            urls = [site.url().replace("http:", "https:") for site in sites]
            wrong = await asyncio.gather(
                *(ask(cache, fault, url) for (fault, _), url in zip(cases, urls, strict=True))
            )
            await cache.close()
            await http.close()
            emptied = [await site.emptied() for site in sites]
        complaints = [each for each in wrong if each is not None]
        complaints += [
            f"{fault.name}: left open"
            for (fault, _), gone in zip(cases, emptied, strict=True)
            if not gone
        ]
        return complaints

    run(work)


# Names and addresses.


class Names(AbstractResolver):
    """A name server with the answers of a test: one list of addresses after the other."""

    def __init__(self, answers: dict[str, list[list[str]]]) -> None:
        self.answers = {name: list(rows) for name, rows in answers.items()}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        assert family in {socket.AF_UNSPEC, socket.AF_INET}
        if host == "silent.test":
            await asyncio.Event().wait()
        rows = self.answers.get(host)
        if rows is None:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        addresses = rows.pop(0) if len(rows) > 1 else rows[0]
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0
            )
            for address in addresses
        ]

    async def close(self) -> None:
        pass


@pytest.fixture
def _inner_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback counts as public, but for one network: it would answer, if it were asked."""
    public = ip_network("127.0.0.0/8")
    refused = [block for block in guard.REFUSED if block != public]
    monkeypatch.setattr(guard, "REFUSED", (*refused, ip_network("127.66.0.0/16")))


INNER = (
    *(
        "127.66.0.1",
        "2134999041",
        "0x7f.66.0.1",
        "0177.0102.0.1",
        "127.66.1",
        "[::ffff:127.66.0.1]",
    ),
    *("inner.test", "half.test", "metadata.test", "localhost", "a.localhost", "[::1]", "0"),
    *("169.254.169.254", "169.254.169.254.", "[fe80::1]", "10.0.0.1", "[64:ff9b::a00:1]"),
)


@pytest.mark.usefixtures("_inner_network")
@pytest.mark.parametrize("profile", ["rfc9309", "google", "open"])
def test_redirects_do_not_lead_inside(profile: str) -> None:
    """A redirect to an address that is refused, however it is written, is never followed."""
    trapped: list[str] = []

    async def trap(call: Call) -> None:
        trapped.append(call.address)
        await call.reply(200, FILE)

    names = Names(
        {
            "inner.test": [["127.66.0.1"]],
            "half.test": [["127.0.0.1", "127.66.0.1"]],
            "metadata.test": [["169.254.169.254"]],
            "turning.test": [["127.40.0.1"], ["127.66.0.1"]],
        }
    )

    async def work() -> list[str]:
        complaints = []
        handlers: dict[str, Handler] = {"127.66.0.1": trap, "127.0.0.1": trap}
        async with Site(by_address(handlers)) as site:
            port = site.ports[0]
            for place, host in enumerate(INNER):
                target = f"http://{host}:{port}/robots.txt".encode()
                handlers[f"127.41.0.{place + 1}"] = moved(target)
            handlers["127.40.0.1"] = moved(b"/again")
            http = Http(user_agent="faults", resolver=names)
            cache = AsyncRobotsCache(profile=hurried(profile), http=http)
            for place, host in enumerate(INNER):
                known = await cache.get(site.url(f"127.41.0.{place + 1}"))
                right = Means.UNAVAILABLE if profile == "open" else Means.UNREACHABLE
                if meant(cache.profile, known) is not right:
                    complaints.append(f"to {host}: {known.outcome}")
                known = await cache.get(f"http://{host}:{port}/")
                if str(known.outcome) != "unreachable (refused address)":
                    complaints.append(f"{host}: {known.outcome}")
            known = await cache.get(f"http://turning.test:{port}/")
            if str(known.outcome) != "unreachable (refused address)":
                complaints.append(f"turning.test: {known.outcome}")
            await cache.close()
            await http.close()
        return complaints + trapped

    run(work)


@contextmanager
def full() -> Iterator[int]:
    """A port where nobody picks up: its queue is full, and what comes then is not answered."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        callers = [socket.socket() for _ in range(4)]
        for caller in callers:
            caller.setblocking(False)
            caller.connect_ex(server.getsockname())
        yield server.getsockname()[1]
        for caller in callers:
            caller.close()


def closed() -> int:
    """A port where nobody listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port: int = server.getsockname()[1]
        return port


@pytest.mark.parametrize("profile", PROFILES)
def test_a_host_that_is_not_there_is_unreachable(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names without an address, and addresses where nobody answers, are unreachable in time."""
    look_up = socket.getaddrinfo

    def slow(host: str, *arguments: object, **options: object) -> object:
        if host.endswith(".test"):
            time.sleep(1.5)
        return look_up(host, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    names = Names({"empty.test": [[]], "odd.test": [["no address"]], "self.test": [["0.0.0.0"]]})

    async def work() -> list[str]:
        with full() as busy:
            resolving = Http(user_agent="faults", allow_private=True, resolver=names)
            plain = Http(user_agent="faults", allow_private=True)
            cases = [
                ("no such name", resolving, "http://nothing.test"),
                ("no address", resolving, "http://empty.test"),
                ("an address that is none", resolving, "http://odd.test"),
                ("a name server that is silent", resolving, "http://silent.test"),
                ("a name server that is slow", plain, "http://slow.test"),
                ("nobody listens", plain, f"http://127.0.0.1:{closed()}"),
                ("nobody listens, by name", plain, f"http://localhost:{closed()}"),
                ("nobody picks up", plain, f"http://127.0.0.1:{busy}"),
                ("port 0", plain, "http://127.0.0.1:0"),
                ("broadcast", plain, "http://255.255.255.255"),
            ]
            caches = [AsyncRobotsCache(profile=hurried(profile), http=http) for _, http, _ in cases]
            wrong = await asyncio.gather(
                *(
                    ask(cache, Fault(name, page(), Means.UNREACHABLE), url)
                    for cache, (name, _, url) in zip(caches, cases, strict=True)
                )
            )
            for cache in caches:
                await cache.close()
            await resolving.close()
            await plain.close()
        return [each for each in wrong if each is not None]

    run(work)


# Memory.


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
@pytest.mark.parametrize(
    "profile",
    [
        "rfc9309",
        *(
            pytest.param(
                each,
                marks=pytest.mark.soak(small="test_bombs_and_endless_bodies_take_little_memory"),
            )
            for each in ("google", "open")
        ),
    ],
)
def test_bombs_and_endless_bodies_take_little_memory(profile: str) -> None:
    """Whatever is sent, no more than a few megabytes of it are held."""
    storms = [fault for fault in faults.ODD_STATUSES if "storm" in fault.name]
    family = [*faults.ENDLESS, *faults.HEADERS[:5], *storms]
    blocks = {f"127.20.{n}.1": fault for n, fault in enumerate(family)}
    answer = by_address({block: fault.answer for block, fault in blocks.items()})
    with in_thread(Site(answer)) as site:
        urls = [site.url(address) for address in blocks]
        ran = subprocess.run(
            [sys.executable, "-m", "tests.faults.memory", profile],
            input=json.dumps(urls),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert ran.returncode == 0, ran.stderr
    assert not ran.stderr
    *each, together = json.loads(ran.stdout)
    grown = {fault.name: megabytes for fault, megabytes in zip(family, each, strict=True)}
    assert {name: size for name, size in grown.items() if size > 50} == {}
    assert together < 50
