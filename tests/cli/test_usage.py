"""`manners usage`: from arguments to tables, JSON and exit codes."""

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import manners
from manners.errors import UnknownName
from manners.evidence.store import EvidenceStore
from manners.lint.ai_access import ai_access
from manners.signals import PURPOSES
from tests.cli.running import AT_ONCE, Ran, runner, settle
from tests.faults.server import Call, Handler, Site, by_address, by_path, in_thread, page

OPEN, CLOSED, BUSY = "127.0.0.1", "127.0.0.2", "127.0.0.3"
ROBOTS = b"User-agent: *\nContent-Signal: search=yes, ai-train=yes\nDisallow: /private/\n"
HOSTILE = "\x1b]0;x\x07\x9b31m\x85\u202e"
TDMREP = "/.well-known/tdmrep.json"


async def gone(call: Call) -> None:
    await call.request()
    call.reset()


PAGES: dict[str, Handler] = {
    "/robots.txt": page(ROBOTS),
    "/": page(b"hi"),
    "/noai": page(b"hi", headers=[("X-Robots-Tag", "noai")]),
    "/moved": page(status=302, headers=[("Location", "/noai")]),
    "/missing": page(status=404),
    "/gone": gone,
    "/hostile": page(
        f'<meta name="robots" content="noai, {HOSTILE}">'.encode(),
        headers=[("Content-Type", "text/html; charset=utf-8"), ("TDM-Reservation", "\x1b[2J")],
    ),
    TDMREP: page(b'[{"location": "/", "tdm-reservation": 1}]'),
}
RunUsage = Callable[..., Ran]


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    closed = by_path({"/robots.txt": page(b"User-agent: *\nDisallow: /")})
    everywhere = by_address({CLOSED: closed, BUSY: page(status=503)}, by_path(PAGES))
    with in_thread(Site(everywhere)) as site:
        yield site
        assert site.failures == []


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> RunUsage:
    """Run the command in a folder of its own, with `stdin` as its standard input."""
    settle(monkeypatch, tmp_path, **AT_ONCE)
    invoke = runner(capsys, "usage")

    def with_input(*arguments: Any, stdin: str = "") -> Ran:
        typed = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", typed)
        return invoke(*arguments)

    return with_input


def file_of(*lines: str) -> Path:
    path = Path("robots.txt")
    path.write_text("\n".join((*lines, "")), encoding="utf-8")
    return path


# Pages.


def test_the_table_has_purposes_sources_and_the_text_that_decides(
    run: RunUsage, server: Site
) -> None:
    """One row a purpose, a column for each source that says something."""
    ran = run(server.url(path="/noai"))
    assert ran.lines == [
        server.url(path="/noai"),
        "PURPOSE   ANSWER        ROBOTS.TXT  HEADER  DECIDED BY",
        "crawl     yes           yes         -       rfc9309, robots.txt no-rule-matched",
        "search    yes           yes         -       content-signal, robots.txt line 2:"
        " Content-Signal: search=yes, ai-train=yes",
        *(
            f"{purpose:<8}  unknown       -           -"
            for purpose in ("snippet", "archive", "follow", "ai-input", "ai-index")
        ),
        "ai-train  no, conflict  yes         no      robots-meta, header X-Robots-Tag: noai",
        "tdm       unknown       -           -",
    ]
    assert ran.code == 1


@pytest.mark.parametrize(
    ("path", "purposes", "code"),
    [
        ("/", ["ai-train"], 0),
        ("/", ["ai-train", "search", "crawl"], 0),
        ("/noai", ["ai-train"], 1),
        ("/noai", ["ai-train", "search"], 1),
        ("/", ["tdm"], 3),
        ("/noai", ["ai-train", "tdm"], 3),
        ("/private/x", ["crawl"], 1),
        ("/private/x", ["search"], 3),
        ("/gone", ["search"], 3),
        ("/missing", ["search"], 0),
        ("/", [], 0),
        ("/noai", [], 1),
        ("/private/x", [], 1),
        ("/gone", [], 3),
    ],
)
def test_the_exit_code_is_the_answer(
    run: RunUsage, server: Site, path: str, purposes: list[str], code: int
) -> None:
    """0 yes, 1 no, 3 unknown; a yes of a page whose headers nobody has seen is none."""
    options = [part for name in purposes for part in ("--purpose", name)]
    assert run(server.url(path=path), *options).code == code


def test_several_urls_are_undecided_if_one_is(run: RunUsage, server: Site) -> None:
    """3 before 1 before 0; each URL has a table."""
    fine, refused, lost = (server.url(path=path) for path in ("/", "/noai", "/gone"))
    assert run(fine, refused, "--purpose", "ai-train").code == 1
    ran = run(fine, refused, lost, "--purpose", "ai-train")
    assert ran.code == 3
    assert [line for line in ran.lines if line.startswith("http")] == [fine, refused, lost]
    assert "not read; its headers and content are unknown: (connection lost)" in ran.lines


def test_an_unreachable_site_is_undecided(run: RunUsage, server: Site) -> None:
    """Nothing is known, and the reason is shown."""
    ran = run(server.url(BUSY))
    assert ran.code == 3
    assert "unreachable (503)" in ran.out
    assert {line.split()[1] for line in ran.lines[3:]} == {"unknown"}


def test_a_redirect_is_shown(run: RunUsage, server: Site) -> None:
    """The answer is that of the page where it ends."""
    ran = run(server.url(path="/moved"), "--purpose", "ai-train")
    assert ran.lines[1] == f"-> {server.url(path='/noai')}"
    assert ran.code == 1


def test_a_url_that_is_none_is_undecided(run: RunUsage) -> None:
    """The others are still answered."""
    ran = run("ftp://example.com/")
    assert (ran.code, ran.lines[1]) == (3, "invalid-url: not an http or https URL")


def test_explain_shows_every_claim_and_problem(run: RunUsage, server: Site) -> None:
    """With its line or header, its group, and the version of its standard."""
    ran = run(server.url(path="/hostile"), "--explain", "--purpose", "ai-train")
    robots_url = server.url(path="/robots.txt")
    assert (
        "  ai-train yes: content-signal (2026-07-01), robots.txt line 2:"
        " Content-Signal: search=yes, ai-train=yes"
    ) in ran.lines
    assert f"    {robots_url}; group *" in ran.lines
    assert any(line.startswith("  problem unknown-value: tdmrep, header") for line in ran.lines)


@pytest.mark.parametrize("options", [[], ["--explain"], ["--json"]])
def test_what_a_site_says_cannot_control_a_terminal(
    run: RunUsage, server: Site, options: list[str]
) -> None:
    """Every control character is escaped, in every form of output."""
    ran = run(server.url(path="/hostile"), *options)
    assert all(line.isprintable() for line in ran.lines)
    assert ran.code == 1


def test_files_are_asked_for_when_told(run: RunUsage, server: Site) -> None:
    """Which costs a request, and is on record."""
    asked = [visit.path for visit in server.log].count(TDMREP)
    ran = run(server.url(), "--purpose", "tdm", "--signals", "tdmrep", "--store", "proof.db")
    assert ran.code == 1
    assert "tdmrep, file tdmrep.json" in ran.out
    assert [visit.path for visit in server.log].count(TDMREP) == asked + 1
    with EvidenceStore("proof.db") as store:
        assert [record.url for record in store.records()] == [server.url(), server.url(path=TDMREP)]


def test_json_has_one_object_a_url(run: RunUsage, server: Site) -> None:
    """The purposes asked about with their claims; problems once, not for each purpose."""
    ran = run(server.url(path="/noai"), "mailto:x", "--json", "--purpose", "ai-train")
    found, invalid = ran.objects
    assert (found["url"], found["status"], found["read"]) == (server.url(path="/noai"), 200, True)
    assert list(found["usage"]) == ["ai-train"]
    assert found["usage"]["ai-train"]["answer"] == "no"
    assert found["usage"]["ai-train"]["conflict"]
    assert [claim["value"] for claim in found["usage"]["ai-train"]["claims"]] == ["yes", "no"]
    assert found["problems"] == []
    assert (invalid["usage"], invalid["read"]) == (None, False)
    assert ran.code == 3


def test_an_unknown_purpose_is_a_usage_error(run: RunUsage) -> None:
    """The message has those that there are."""
    ran = run("https://example.com/", "--purpose", "training")
    assert ran.code == 2
    assert "unknown purpose 'training'; choose from: crawl, search" in ran.err


# A file of one's own.


def test_a_file_shows_whom_it_shuts_out(run: RunUsage) -> None:
    """By name and through `*`, partial blocks as such, and for what."""
    file = file_of(
        *("User-agent: GPTBot", "Disallow: /", ""),
        *("User-agent: CCBot", "Disallow: /news/", ""),
        *("User-agent: *", "Content-Usage: train-ai=n", "Disallow: /private/"),
    )
    ran = run("--robots", file)
    assert ran.code == 1
    assert "ai-train  no       no          content-usage, robots.txt line 8: " in ran.out
    known = ai_access(manners.parse(file.read_bytes()))
    assert f"AI crawlers, as documented on {known.as_of}" in ran.lines
    assert str(known.purposes["ai-train"]) in ran.lines
    rows = [line.split() for line in ran.lines]
    assert ["GPTBot", "OpenAI", "ai-train", "closed,", "line", "2"] in rows
    [common] = [line for line in ran.lines if line.startswith("CCBot")]
    assert common.endswith("partly, not /news/, line 5")
    assert any(line.startswith("through *: partly, not /private/, line 9: ") for line in ran.lines)


def test_a_file_that_closes_everything_leaves_a_path_open(run: RunUsage) -> None:
    """Then the path that is open is named."""
    file = file_of("User-agent: ClaudeBot", "Disallow: /", "Allow: /open/")
    [row] = [line for line in run("--robots", file).lines if line.startswith("ClaudeBot")]
    assert row.endswith("partly, only /open/, line 2")


def test_a_file_answers_for_urls(run: RunUsage) -> None:
    """Nothing is fetched; also from standard input, and for an agent of one's choice."""
    text = "User-agent: MyBot\nContent-Usage: /a train-ai=n\n"
    ran = run("/a", "/b", "--robots", "-", "--agent", "MyBot", "--purpose", "ai-train", stdin=text)
    assert ran.code == 3
    assert [line.split()[1] for line in ran.lines if line.startswith("ai-train ")] == [
        "no",
        "unknown",
    ]
    assert run("/a", "--robots", file_of(*text.split("\n")), "--purpose", "ai-train").code == 3
    assert not Path("manners.db").exists()


def test_json_of_a_file_has_the_crawlers_last(run: RunUsage) -> None:
    """One object for each URL, then one for the file."""
    file = file_of("User-agent: GPTBot", "Disallow: /")
    one, crawlers = run("--robots", file, "--json").objects
    assert set(one["usage"]) == set(PURPOSES)
    assert crawlers["robots"] == "robots.txt"
    assert crawlers["ai_crawlers"]["crawlers"][0]["access"] == "closed"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--signals", "tdmrep"], "nothing is fetched with --robots: leave out --signals"),
        (["--store", "x.db"], "nothing is fetched with --robots: leave out --store"),
        (["--delay", "1"], "nothing is fetched with --robots: leave out --delay"),
    ],
)
def test_options_about_fetching_do_not_go_with_a_file(
    run: RunUsage, arguments: list[str], message: str
) -> None:
    """Rather than being ignored."""
    ran = run("--robots", file_of("User-agent: *"), *arguments)
    assert ran.code == 2
    assert message in ran.err


def test_standard_input_is_read_once(run: RunUsage) -> None:
    """It cannot be the file and the URLs."""
    ran = run("--robots", "-", "-")
    assert ran.code == 2
    assert "standard input cannot hold both" in ran.err


def test_hostile_text_in_a_file_is_escaped(run: RunUsage) -> None:
    """Names, lines and paths."""
    file = file_of(
        f"User-agent: GPTBot{HOSTILE}", f"Disallow: /{HOSTILE}", f"Content-Usage: {HOSTILE}"
    )
    for options in ([], ["--explain"], ["--json"]):
        ran = run("--robots", file, f"/{HOSTILE}", *options)
        assert all(line.isprintable() for line in ran.lines)


# In one line of a program.


def test_one_line_of_a_program_fetches_and_reads(server: Site) -> None:
    """For one purpose, or for all of them."""
    found = manners.usage(server.url(path="/noai"), "ai-train", "MyBot", allow_private=True)
    assert found.answer == "no"
    with pytest.raises(TypeError, match="yes, no or unknown"):
        bool(found)
    usages = manners.usage(server.url(), agent="MyBot", signals=["tdmrep"], allow_private=True)
    assert set(usages) == set(PURPOSES)
    assert usages["tdm"].answer == "no"
    assert server.log[-1].headers["user-agent"] == "MyBot"


def test_one_line_of_a_program_names_the_purposes() -> None:
    """A purpose that there is not is an error before anything is fetched."""
    with pytest.raises(UnknownName, match="choose from: crawl"):
        manners.usage("https://example.com/", "training")  # type: ignore[call-overload]
