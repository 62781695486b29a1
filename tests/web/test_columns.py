"""Columns of URLs get the answers that a list gets; nothing that is sent breaks it."""

import asyncio
import random
import struct
import sys
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from manners import _compiled, parse
from manners.web import columns
from tests.client.asking import run
from tests.faults.server import Site, by_path, page
from tests.web.service import Answer, Asker, service

ROBOTS = "User-agent: *\nDisallow: /a\n\nUser-agent: MyBot\nAllow: /\nDisallow: /b$\n"
URLS = [
    *("https://x.example/a", "/b", "https://x.example/b?q", None, "mailto:a@b.example", ""),
    *("https://ü.example/é", "ftp://x.example/a", "/a/\udcff".encode("utf-8", "replace").decode()),
]


def stream(data: Any, **metadata: str) -> bytes:
    """A table as a stream of Arrow IPC."""
    table = data if isinstance(data, pa.Table) else pa.table(data)
    table = table.replace_schema_metadata(metadata or None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    return bytes(sink.getvalue())


async def send(asker: Asker, body: bytes, query: str = "") -> Answer:
    headers = {"Content-Type": columns.CONTENT_TYPE}
    return await asker.ask("POST", f"/v1/check{query}", headers, data=body)


def rows(answer: Answer) -> Mapping[str, list[bool | None]]:
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"] == columns.CONTENT_TYPE
    found: dict[str, list[bool | None]] = pa.ipc.open_stream(answer.body).read_all().to_pydict()
    return found


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("kernel", [True, False])
def test_a_column_gets_the_answers_of_the_engine(
    kind: Any, kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the kernel and without it; null for a null, and for what is neither URL nor path."""
    if not kernel:
        monkeypatch.setattr(columns, "kernel", None)
    elif _compiled.kernel is None:
        pytest.skip("the kernel is not built")

    async def ask() -> None:
        async with service() as asker:
            body = stream({"n": list(range(len(URLS))), "url": pa.array(URLS, kind)}, robots=ROBOTS)
            found = rows(await send(asker, body, "?agent=MyBot&agent=Other&agent=MyBot"))
            assert list(found) == ["MyBot", "Other"]
            for agent, answers in found.items():
                policy = parse(ROBOTS).policy(agent)
                assert answers == [
                    policy.allowed(url) if url and url.startswith(("/", "http")) else None
                    for url in URLS
                ]
            assert set(found["Other"]) == {True, False, None}

    run(ask)


def test_a_column_of_live_sites_gets_the_answers_of_a_list() -> None:
    """Each site is asked once, and the dialect is that of the service."""

    async def ask() -> None:
        handler = by_path({"/robots.txt": page(ROBOTS.encode())})
        async with Site(handler) as site, service() as asker:
            urls = [site.url(path=path) for path in ("/a", "/b", "/b/c")] * 3
            given = [*urls, "mailto:a@b.example", ""]
            body = stream({"url": [*given, None]})
            found = rows(await send(asker, body, "?agent=MyBot&agent=Other"))
            request = {"urls": [url or "-" for url in given], "agents": ["MyBot", "Other"]}
            listed = await asker.post("/v1/check", {**request, "detail": "allowed"})
            assert found == {k: [*v, None] for k, v in listed.json["allowed"].items()}
            assert len(site.log) == 1
            refused = await send(asker, body, "?dialect=google")
            assert refused.status == 422

    run(ask)


def compressed() -> bytes:
    """A small stream that would become a large column."""
    table = pa.table({"url": ["/a" * 1_000_000] * 50})
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    assert sink.tell() < 100_000
    return bytes(sink.getvalue())


def beyond() -> bytes:
    """A column whose offsets lead out of its memory."""
    right, wrong = struct.pack("<ii", 0, 2), struct.pack("<ii", 0, 1 << 30)
    before, found, after = stream({"url": ["/a"]}).rpartition(right)
    assert found
    assert after.startswith(b"/a")
    return before + wrong + after


REFUSED = {
    "nothing": b"",
    "rubbish": b"\xff" * 1_000,
    "json": b'{"url": ["/a"]}',
    "no column": stream({"u": ["/a"]}),
    "two columns": stream(pa.Table.from_arrays([pa.array(["/a"])] * 2, ["url", "url"])),
    "numbers": stream({"url": [1, 2]}),
    "nulls of no type": stream({"url": pa.nulls(1_000)}),
    "lists": stream({"url": [["/a"]]}),
    "a dictionary": stream({"url": pa.array(["/a", "/a"]).dictionary_encode()}),
    "another dictionary": stream({"url": ["/a"], "x": pa.array(["b"]).dictionary_encode()}),
    "views": stream({"url": pa.array(["/a"], pa.string_view())}),
    "bytes that are no text": stream({"url": pa.array([b"\xff"]).view(pa.string())}),
    "memory that is not there": beyond(),
    "compressed": compressed(),
    "cut off": stream({"url": ["/a"] * 100})[:-500],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_safely_is_refused(name: str) -> None:
    """With what was wrong and what to send instead; it is no error of the service."""

    async def ask() -> None:
        async with service() as asker:
            answer = await send(asker, REFUSED[name])
            assert answer.status == 400, answer.body
            assert "Arrow" in answer.json["detail"] + answer.json["advice"]

    run(ask)


def test_a_damaged_stream_breaks_nothing() -> None:
    """Any byte may be wrong, anything may be missing: an answer, or a problem of the sender."""
    chance = random.Random(1)
    whole = stream({"url": ["/a", None, "/b" * 50] * 5}, robots=ROBOTS)

    async def ask() -> None:
        async with service() as asker:
            for _ in range(150):
                body = bytearray(whole)
                for _ in range(chance.choice((1, 2, 5))):
                    body[chance.randrange(len(body))] = chance.randrange(256)
                answer = await send(asker, bytes(body[: chance.randrange(len(body) // 2, 9_999)]))
                assert answer.status in (200, 400, 413), (answer.status, bytes(body))

    run(ask)


def test_a_client_sends_one_table_at_a_time() -> None:
    """A second one is refused while the first is on its way."""

    async def ask() -> None:
        async with service(body_seconds=5.0) as asker:
            sending = asyncio.Event()

            async def slowly() -> Any:
                yield stream({"url": ["/a"]}, robots="")
                sending.set()
                await finish.wait()

            finish = asyncio.Event()
            headers = {"Content-Type": columns.CONTENT_TYPE}
            first = asyncio.create_task(asker.ask("POST", "/v1/check", headers, data=slowly()))
            await sending.wait()
            body = stream({"url": ["/a"]}, robots="")
            statuses = set()
            while 429 not in statuses:  # the first request may not have arrived yet
                statuses.add((await send(asker, body)).status)
            finish.set()
            assert (await first).status in (200, 429)
            assert (await send(asker, body)).status == 200

    run(ask)


def test_without_arrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    async def ask() -> None:
        async with service() as asker:
            answer = await send(asker, b"")
            assert answer.status == 501
            assert "manners[arrow]" in answer.json["detail"]

    run(ask)
