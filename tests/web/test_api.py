"""The API as its OpenAPI document describes it, and what each resource answers."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, strategies
from hypothesis import settings as hypothesis_settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from manners.cli import main
from manners.web.api import resources
from manners.web.api.openapi import document
from manners.web.columns import CONTENT_TYPE
from manners.web.service import Serving
from manners.web.serving import listening
from tests.client.asking import run, settings
from tests.faults.server import Site, by_path, page
from tests.sizes import examples
from tests.web.service import service

ROBOTS = "User-agent: *\nDisallow: /a\nDisallow: /a/b\nContent-Signal: ai-train=no\n"


@contextmanager
def in_thread() -> Iterator[str]:
    """A service for clients that block. All that it asks goes to a proxy, which knows no site."""
    ready, addresses = threading.Event(), list[str]()
    loop, done = asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        async with Site(page(status=404)) as proxy:
            behind = settings(proxy=proxy.url(), slot_timeout=0.1)
            async with listening(behind, Serving(port=0)) as address:
                addresses.append(address)
                ready.set()
                await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(60)
        yield addresses[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


@schemathesis.serializer(CONTENT_TYPE)
def as_it_is(_: Any, value: Any) -> Any:
    """A body that is no JSON: rubbish, since `test_columns.py` has the streams."""
    return bytes(value)


schemathesis.openapi.media_type(CONTENT_TYPE, strategies.binary(max_size=200))
schema = schemathesis.openapi.from_dict(document())


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with in_thread() as found:
        yield found


@schema.parametrize()
@hypothesis_settings(
    max_examples=examples(40),
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
def test_every_reply_is_as_the_document_says(case: "schemathesis.Case[Any]", address: str) -> None:
    """Whatever the document allows gets the reply that it describes, and never a failure."""
    reply = case.call(base_url=address.rstrip("/"), timeout=60)
    # A turn that is far ahead is no failure, and a name that is unknown is no bad document.
    assert reply.status_code < 500 or reply.status_code == 503, reply.text
    excluded: list[Any] = [not_a_server_error, positive_data_acceptance]
    if reply.status_code == 413:  # a refusal, too, which that check does not know
        excluded.append(negative_data_rejection)
    case.validate_response(reply, excluded_checks=excluded)


def test_the_document_describes_every_resource() -> None:
    """Each has a summary, a reply and a description of every member."""
    found = document()
    assert found["openapi"].startswith("3.1")
    operations = [(method, path) for path, item in found["paths"].items() for method in item]
    assert sorted(operations) == sorted((r.method.lower(), r.address) for r in resources())
    for schema in found["components"]["schemas"].values():
        assert schema["description"]


def test_it_is_served() -> None:
    """The document is what the address has, as JSON."""

    async def ask() -> None:
        async with service() as asker:
            answer = await asker.get("/v1/openapi.json")
            assert answer.json == json.loads(json.dumps(document()))

    run(ask)


def test_a_site_is_shown_with_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    """Hops, status, freshness and content, as the command says it; and the text."""

    async def ask() -> None:
        async with Site(by_path({"/robots.txt": page(ROBOTS.encode())})) as site:
            async with service() as asker:
                found = (await asker.get("/v1/robots", url=site.url(path="/x"))).json
                missing = (await asker.get("/v1/robots", url="http://127.0.0.1:1/")).json
            assert found.pop("text") == ROBOTS
            arguments = ["robots", site.url(), "--allow-private", "--json"]
            code = await asyncio.to_thread(main, arguments)
            command = json.loads(capsys.readouterr().out)
            assert (code, found["outcome"]["hops"]) == (0, command["outcome"]["hops"])
            for member in ("url", "dialect", "groups", "sitemaps", "directives", "problems"):
                assert found[member] == command[member]
            assert missing["outcome"]["availability"] == "unreachable"
            assert missing["text"] is None

    run(ask)


def test_findings_come_with_their_fixes() -> None:
    """What the linter finds, the edits, the page of the rule, and the repaired file."""

    async def ask() -> None:
        async with service() as asker:
            found = (await asker.post("/v1/lint", {"robots": ROBOTS, "fix": "safe"})).json
            finding = next(item for item in found["findings"] if item["name"] == "redundant-rule")
            assert (finding["line"], finding["fix"]["safety"]) == (3, "safe")
            assert finding["page"].endswith("lint/redundant-rule.html")
            (edit,) = finding["fix"]["edits"]
            assert ROBOTS[edit["start"] : edit["end"]] == "Disallow: /a/b\n"
            assert found["fixed"] == ROBOTS.replace("Disallow: /a/b\n", "")
            wrong = await asker.post("/v1/lint", {"robots": "", "select": ["nonsense"]})
            assert (wrong.status, "nonsense" in wrong.json["detail"]) == (422, True)

    run(ask)


def test_a_change_is_told_in_words_and_paths() -> None:
    """Who loses what, with the lines, and how many of one's own URLs."""

    async def ask() -> None:
        async with service() as asker:
            change = {"before": "", "after": ROBOTS, "urls": ["https://a.example/a", "/"]}
            found = (await asker.post("/v1/diff", change)).json
            assert found["equal"] is False
            assert "/a" in found["sentences"][0]
            (item,) = found["changes"]
            assert item["closed"][0]["after"] == {"line": 2, "text": "Disallow: /a"}
            assert (item["urls"]["closed"], item["urls"]["total"]) == (1, 2)

    run(ask)


def test_usage_is_read_from_a_page_or_from_what_is_sent() -> None:
    """The page's own headers count as well; what is sent is read without asking anybody."""

    async def ask() -> None:
        answer = page(b"<html>", headers=[("X-Robots-Tag", "noai"), ("Content-Type", "text/html")])
        handlers = {"/robots.txt": page(b"User-agent: *\nContent-Signal: search=yes"), "/": answer}
        async with Site(by_path(handlers)) as site, service() as asker:
            found = (await asker.get("/v1/usage", url=site.url())).json
            assert (found["status"], found["usage"]["ai-train"]["answer"]) == (200, "no")
            assert found["usage"]["search"]["answer"] == "yes"
            paths = [visit.path for visit in site.log]
            known = (await asker.get("/v1/usage", url=site.url(), page="false")).json
            assert (known["status"], known["usage"]["ai-train"]["answer"]) == (None, "unknown")
            sent = {"url": site.url(), "robots": ROBOTS, "headers": [["X-Robots-Tag", "noai"]]}
            found = (await asker.post("/v1/usage", sent)).json
            assert found["usage"]["ai-train"]["claims"]
            assert [visit.path for visit in site.log] == paths

    run(ask)
