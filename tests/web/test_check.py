"""`/v1/check` gives the answers of the command."""

import base64
import json

import pytest

from manners.cli import main
from tests.client.asking import run
from tests.conformance.test_tables import TABLES, Case, bodies
from tests.faults.server import Site, by_path, page
from tests.web.service import service

ROBOTS = b"User-agent: *\nDisallow: /a\n\nUser-agent: MyBot\nCrawl-delay: 2\nDisallow: /b\n"


def by_command(
    case: Case, body: bytes, dialect: str, capsys: pytest.CaptureFixture[str], folder: str
) -> object:
    """What `manners check` says about a case."""
    from pathlib import Path

    file = Path(folder, "robots.txt")
    file.write_bytes(body)
    arguments = ["check", case["url"], "--robots", str(file), "--dialect", dialect, "--json"]
    assert main([*arguments, "--agent", case.get("agent", "FooBot")]) in (0, 1)
    return json.loads(capsys.readouterr().out)


def can_be_typed(case: Case) -> bool:
    """Whether the command can be asked: for one name, by a file without an address."""
    is_one = isinstance(case.get("agent", "FooBot"), str) and case.get("agent") != ""
    url = case["url"]
    is_url = url.startswith(("http://", "https://")) and url.isprintable() and url.strip() == url
    return is_one and is_url and "url_of_file" not in case


@pytest.mark.parametrize("dialect", TABLES)
def test_the_answers_are_those_of_the_command(
    dialect: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every case of the conformance tables gets the same JSON from both."""
    monkeypatch.chdir(str(tmp_path))
    cases = [case for case in TABLES[dialect] if can_be_typed(case)]
    files = [next(body for body in bodies(case) if isinstance(body, bytes)) for case in cases]

    async def ask() -> list[object]:
        found = []
        async with service() as asker:
            for case, body in zip(cases, files, strict=True):
                request = {
                    "urls": [case["url"]],
                    "agents": [case.get("agent", "FooBot")],
                    "robots_base64": base64.b64encode(body).decode(),
                    "dialect": dialect,
                }
                answer = await asker.post("/v1/check", request)
                assert answer.status == 200, (case, answer.body)
                found.append(json.loads(answer.body)["verdicts"][0][0])
        return found

    answers = run(ask, seconds=300)
    expected = [
        by_command(case, body, dialect, capsys, str(tmp_path))
        for case, body in zip(cases, files, strict=True)
    ]
    assert answers == expected
    assert len(cases) > len(TABLES[dialect]) / 2


def test_a_site_is_asked_once_and_decides() -> None:
    """Live verdicts name the line and the retrieval; a second question asks nobody."""

    async def ask() -> None:
        async with Site(by_path({"/robots.txt": page(ROBOTS)})) as site, service() as asker:
            urls = [site.url(path="/a"), site.url(path="/b"), "mailto:someone@example.com"]
            request = {"urls": urls, "agents": ["MyBot", "Other"]}
            answer = await asker.post("/v1/check", request)
            shown = [
                [(v["allowed"], v.get("line")) for v in row] for row in answer.json["verdicts"]
            ]
            assert shown == [
                [(True, 0), (False, 2)],
                [(False, 6), (True, 0)],
                [(None, None), (None, None)],
            ]
            one = await asker.get("/v1/check", url=urls[1], agent="MyBot")
            assert (one.json["allowed"], one.json["line"]) == (False, 6)
            assert one.json["retrieval"]["availability"] == "available"
            answer = await asker.post("/v1/check", {**request, "detail": "allowed"})
            assert answer.json == {
                "agents": ["MyBot", "Other"],
                "allowed": {"MyBot": [True, False, None], "Other": [False, True, None]},
            }
            assert [visit.path for visit in site.log] == ["/robots.txt"]

    run(ask)


def test_a_query_is_decoded_once() -> None:
    """An escape that belongs to the URL stays in it: `/a%2Fb` is not `/a/b`."""

    async def ask() -> None:
        body = b"User-agent: *\nDisallow: /a/b\nDisallow: /c%26d"
        async with Site(by_path({"/robots.txt": page(body)})) as site, service() as asker:
            for path, allowed in (("/a%2Fb", True), ("/a/b", False), ("/c%26d", False)):
                url = site.url(path=path)
                answer = await asker.ask("GET", "/v1/check", params={"url": url, "agent": "a+b"})
                assert (answer.json["allowed"], answer.json["url"]) == (allowed, url)

    run(ask)


def test_bytes_that_are_not_utf8_come_back() -> None:
    """A line of a site that is no text is in the reply as the command prints it."""

    async def ask() -> None:
        body = b"User-agent: *\nDisallow: /a # \xff"
        async with Site(by_path({"/robots.txt": page(body)})) as site, service() as asker:
            answer = await asker.get("/v1/check", url=site.url(path="/a"))
            assert json.loads(answer.body)["line_text"] == "Disallow: /a # \udcff"

    run(ask)


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (b"", 400, "JSON"),
        (b"{", 400, "JSON"),
        (b"[]", 422, "object"),
        (b'{"urls": []}', 422, "length"),
        (b'{"urls": ["a"], "agent": "x"}', 422, "agent"),
        (b'{"urls": ["a"], "robots": "", "dialect": "nonsense"}', 422, "rfc9309"),
        (b'{"urls": ["a"], "dialect": "google"}', 422, "robots"),
        (b'{"urls": ["\xff"]}', 400, "UTF-8"),
    ],
)
def test_what_cannot_be_answered_says_why(body: bytes, status: int, text: str) -> None:
    """A problem has a status, what was wrong, and what to do next."""

    async def ask() -> None:
        async with service() as asker:
            kind = {"Content-Type": "application/json"}
            answer = await asker.ask("POST", "/v1/check", kind, data=body)
            assert answer.headers["Content-Type"] == "application/problem+json"
            problem = answer.json
            assert (answer.status, problem["status"]) == (status, status), problem
            assert text in problem["detail"] + problem["advice"]
            assert problem["advice"]

    run(ask)


def test_a_query_with_too_much_in_it_is_refused() -> None:
    """It is a mistake of whoever sent it, for a list of URLs and for a column."""

    async def ask() -> None:
        async with service() as asker:
            query = "&".join(f"agent={number}" for number in range(500))
            answer = await asker.ask("GET", f"/v1/check?{query}")
            assert (answer.status, "parameters" in answer.json["detail"]) == (422, True)
            kind = {"Content-Type": "application/vnd.apache.arrow.stream"}
            answer = await asker.ask("POST", f"/v1/check?{query}", kind, data=b"x")
            assert answer.status == 422

    run(ask)
