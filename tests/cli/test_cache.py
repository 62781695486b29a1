"""`--cache`, and `manners cache`: files that are kept between runs, looked at, and dropped."""

import asyncio
import json
import queue
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from manners.cache.backends import open_backend
from manners.cache.entry import Entry
from manners.cli import main
from manners.retrieval.outcome import Availability
from tests.cli.running import PlainSite, serving
from tests.contracts.entries import entry
from tests.contracts.valkey import Valkey

ROBOTS = b"User-agent: *\nDisallow: /private/\n"


class Site(PlainSite):
    """A site for each address of loopback, which notes who came."""

    asked: "queue.Queue[str]"

    def visit(self) -> None:
        self.asked.put(self.headers["Host"].partition(":")[0])
        self.answer(200, ROBOTS)


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadingHTTPServer]:
    Site.asked = queue.Queue()
    with serving(Site) as server:
        yield server


@pytest.fixture
def port(server: ThreadingHTTPServer) -> int:
    requests()
    return server.server_port


def requests() -> list[str]:
    """What has arrived since this was last asked."""
    return [Site.asked.get_nowait() for _ in range(Site.asked.qsize())]


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings but those of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MANNERS_CACHE", raising=False)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(list(map(str, arguments)))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def keep(place: Path | str, *entries: Entry) -> None:
    """Put entries into a cache."""

    async def save() -> None:
        backend = open_backend(str(place))
        for each in entries:
            await backend.save(each)
        await backend.close()

    asyncio.run(save())


# --cache.


def check(capsys: pytest.CaptureFixture[str], port: int, *options: object) -> list[str]:
    """Check two URLs on each of two sites; who was asked."""
    urls = [f"http://127.0.0.{n}:{port}/{path}" for n in (1, 2) for path in ("private/x", "")]
    code, out, err = run(capsys, "check", "--allow-private", *options, *urls)
    assert (code, err) == (1, "")
    assert [line.split()[0] for line in out.splitlines()] == ["disallowed", "allowed"] * 2
    return sorted(requests())


BOTH = ["127.0.0.1", "127.0.0.2"]


def test_a_second_run_makes_no_request(
    capsys: pytest.CaptureFixture[str], port: int, tmp_path: Path
) -> None:
    """What one run retrieved, the next one knows, with the same answers."""
    assert check(capsys, port) == BOTH
    assert check(capsys, port) == BOTH
    assert check(capsys, port, "--cache", tmp_path / "cache.db") == BOTH
    assert check(capsys, port, "--cache", tmp_path / "cache.db") == []
    assert check(capsys, port, "--cache", f"sqlite:///{tmp_path}/cache.db") == []
    assert check(capsys, port, "--cache", tmp_path / "other.db") == BOTH
    assert check(capsys, port, "--profile", "google", "--cache", "cache.db") == BOTH


def test_robots_uses_the_cache_too(capsys: pytest.CaptureFixture[str], port: int) -> None:
    """`manners robots` keeps what it retrieved, for `check` as well."""
    url = f"http://127.0.0.1:{port}/"
    for _ in range(2):
        code, out, _ = run(capsys, "robots", "--allow-private", "--cache", "cache.db", url)
        assert code == 0
        assert "available (200)" in out
    assert requests() == ["127.0.0.1"]
    assert check(capsys, port, "--cache", "cache.db") == ["127.0.0.2"]


def test_the_cache_may_stand_in_the_settings(
    capsys: pytest.CaptureFixture[str], port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cache` in manners.toml and MANNERS_CACHE are like the option, which beats them."""
    Path("manners.toml").write_text('cache = "from-file.db"\n')
    assert check(capsys, port) == BOTH
    assert check(capsys, port) == []
    assert Path("from-file.db").exists()
    monkeypatch.setenv("MANNERS_CACHE", "from-environment.db")
    assert check(capsys, port) == BOTH
    assert Path("from-environment.db").exists()
    assert check(capsys, port, "--cache", "from-option.db") == BOTH
    assert check(capsys, port) == []
    code, out, _ = run(capsys, "cache", "list")
    assert (code, out.count("http://127.0.0.")) == (0, 2)
    code, out, _ = run(capsys, "cache", "forget", f"http://127.0.0.1:{port}/")
    assert check(capsys, port) == ["127.0.0.1"]


def test_the_cache_may_stand_in_a_file_of_settings_that_is_named(
    capsys: pytest.CaptureFixture[str], port: int
) -> None:
    """`--config` names the file of settings, for `cache` too."""
    Path("mine.toml").write_text('cache = "mine.db"\n')
    assert check(capsys, port, "--config", "mine.toml") == BOTH
    code, out, _ = run(capsys, "cache", "list", "--config", "mine.toml", "--json")
    assert (code, len(out.splitlines())) == (0, 2)


@pytest.mark.parametrize("place", ["folder", "missing/cache.db", "text", "valkey://127.0.0.1:1/"])
def test_a_cache_that_fails_is_a_warning(
    capsys: pytest.CaptureFixture[str], port: int, place: str
) -> None:
    """Answers and exit code are those without one."""
    Path("folder").mkdir()
    Path("text").write_text("text\n" * 500)
    url = f"http://127.0.0.1:{port}/private/x"
    plain = run(capsys, "check", "--allow-private", url)
    code, out, err = run(capsys, "check", "--allow-private", "--cache", place, url)
    assert (code, out) == plain[:2]
    assert err.startswith("manners: warning: cache failed, not used for 5 s")
    assert err.count("\n") == 1


def test_a_cache_that_is_none_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A scheme that nobody knows is named, with those there are."""
    for command in (["check", "http://127.0.0.1/"], ["cache", "list"]):
        code, out, err = run(capsys, *command, "--cache", "nosuch://place")
        assert (code, out) == (2, "")
        assert err.startswith(
            "manners: unknown cache 'nosuch'; choose from: redis, rediss, sqlite,"
        )


def test_a_file_at_hand_needs_no_cache(capsys: pytest.CaptureFixture[str]) -> None:
    """With `--robots` nothing is retrieved, and nothing kept."""
    Path("robots.txt").write_bytes(ROBOTS)
    code, _, err = run(capsys, "check", "--robots", "robots.txt", "--cache", "cache.db", "/")
    assert code == 2
    assert "leave out --cache" in err
    assert not Path("cache.db").exists()


# manners cache.


def test_list_shows_every_site(capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each: how it was retrieved, how large it is, and until when it is fresh."""
    gone = entry("https://gone.example", body=None)
    keep(
        "cache.db",
        entry("https://b.example", body=b"#" * 1234),
        replace(gone, outcome=gone.outcome.but(note="404")),
        entry("https://a.example", at=0.0, body=b""),
    )
    code, out, err = run(capsys, "cache", "list", "--cache", "cache.db")
    assert (code, err) == (0, "")
    assert [re.split(r"\s{2,}", line) for line in out.splitlines()] == [
        ["SITE", "LAST RETRIEVAL", "BYTES", "FRESH UNTIL (UTC)"],
        ["https://a.example", "available (200)", "0", "1970-01-02 00:00:00"],
        ["https://b.example", "available (200)", "1,234", "2027-01-16 08:00:00"],
        ["https://gone.example", "unavailable (404)", "-", "2027-01-16 08:00:00"],
    ]


def test_list_in_json_has_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    """One object a line: the entry without its body, and how large that is."""
    keep("cache.db", entry("https://a.example", body=b"12"), entry("https://b.example", body=None))
    code, out, _ = run(capsys, "cache", "list", "--cache", "cache.db", "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [(each["origin"], each["bytes"]) for each in found] == [
        ("https://a.example", 2),
        ("https://b.example", None),
    ]
    assert found[0] == {**entry("https://a.example", body=b"12").to_dict(), "bytes": 2}


def test_list_of_nothing_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    """A cache without sites has a heading, and no line of JSON."""
    keep("cache.db")
    Path("cache.db").touch()
    assert run(capsys, "cache", "list", "--cache", "cache.db")[:2] == (
        0,
        "SITE  LAST RETRIEVAL  BYTES  FRESH UNTIL (UTC)\n",
    )
    assert run(capsys, "cache", "list", "--cache", "cache.db", "--json")[:2] == (0, "")


def test_many_sites_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """More than a page of them, in order."""
    sites = sorted(f"https://{number}.example" for number in range(350))
    keep("cache.db", *(entry(site) for site in sites))
    _, out, _ = run(capsys, "cache", "list", "--cache", "cache.db")
    assert [line.split()[0] for line in out.splitlines()[1:]] == sites


def test_show_has_the_times_and_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    """Any URL of the site will do."""
    keep("cache.db", entry("https://a.example", body=ROBOTS))
    code, out, err = run(
        capsys, "cache", "show", "--cache", "cache.db", "https://A.example:443/x?y#z"
    )
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "https://a.example",
        "  retrieval  available (200)",
        "  fetched    2027-01-15 08:00:00",
        "  confirmed  2027-01-15 08:00:00",
        "  fresh      until 2027-01-16 08:00:00",
        "  | User-agent: *",
        "  | Disallow: /private/",
    ]


def test_show_in_json_has_the_body(capsys: pytest.CaptureFixture[str]) -> None:
    """The entry with its body as text; bytes that are none are escapes."""
    kept = entry("https://a.example", body=b"# \xc3\xa9 \xff\n")
    keep("cache.db", kept)
    code, out, _ = run(capsys, "cache", "show", "--json", "--cache", "cache.db", kept.origin)
    assert code == 0
    assert json.loads(out) == {**kept.to_dict(), "bytes": 7, "body": "# é \\xff\n"}


def test_show_of_a_site_that_is_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1, and a warning that names the site."""
    keep("cache.db", entry("https://a.example"))
    found = run(capsys, "cache", "show", "--cache", "cache.db", "http://a.example/")
    assert found == (1, "", "manners: warning: not cached: http://a.example\n")


def test_forget_drops_sites(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each; exit code 1 when one of them was unknown."""
    keep("cache.db", *(entry(f"https://{name}.example") for name in "abc"))
    code, out, err = run(
        capsys, "cache", "forget", "--cache", "cache.db", "https://a.example/", "https://b.example"
    )
    assert (code, err) == (0, "")
    assert out == "forgotten  https://a.example\nforgotten  https://b.example\n"
    code, out, _ = run(
        capsys, "cache", "forget", "--cache", "cache.db", "https://a.example", "https://c.example"
    )
    assert (code, out) == (1, "unknown    https://a.example\nforgotten  https://c.example\n")
    assert run(capsys, "cache", "list", "--json", "--cache", "cache.db")[1] == ""


def test_what_is_forgotten_is_asked_for_again(
    capsys: pytest.CaptureFixture[str], port: int
) -> None:
    """The next run asks the site that was forgotten, and no other."""
    check(capsys, port, "--cache", "cache.db")
    run(capsys, "cache", "forget", "--cache", "cache.db", f"http://127.0.0.2:{port}/x")
    assert check(capsys, port, "--cache", "cache.db") == ["127.0.0.2"]


def test_hostile_text_is_shown_and_not_sent(capsys: pytest.CaptureFixture[str]) -> None:
    """What a site put into a cache reaches a terminal as escapes."""
    kept = entry("https://a.example", body=b"# \x1b]0;x\x07\x1b[2J \xff\xe2\x80\xae\r\x9b\n\x0b")
    outcome = kept.outcome.but(
        note="200\x1b[2J\n\u202e",
        headers=(("etag", "\x1b[31m\udcff"),),
        availability=Availability.AVAILABLE,
    )
    keep("cache.db", replace(kept, outcome=outcome, etag="\x1b[31m\udcff"))
    for words in (["list"], ["show", "https://a.example"]):
        for options in ([], ["--json"]):
            code, out, err = run(capsys, "cache", *words, "--cache", "cache.db", *options)
            assert (code, err) == (0, "")
            assert all(line.isprintable() for line in out.split("\n"))


@pytest.mark.parametrize("words", [["list"], ["show", "http://a/"], ["forget", "http://a/"]])
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("missing.db", "there is no cache at 'missing.db'"),
        ("missing/cache.db", "there is no cache at"),
        ("sqlite:///missing.db", "there is no cache at"),
        ("folder", "'folder': cannot be opened: unable to open database file: it is a folder"),
        ("text", "'text': not a usable database: file is not a database"),
        ("foreign.db", "'foreign.db': a database of another application"),
        ("valkey://:secret@127.0.0.1:1/", "'valkey://127.0.0.1:1/': Error 111 connecting"),
        ("valkey://127.0.0.1:port/", "'valkey://…': invalid server URL"),
        ("valkey://:secret@127.0.0.1/x", "'valkey://…': the database is not a number"),
        ("valkey://127.0.0.1/0?foo=9", "'valkey://…': unknown URL option"),
    ],
)
def test_bad_places_are_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], place: str, said: str
) -> None:
    """A place that cannot be used is named, with what is wrong, and nothing is made there."""
    Path("folder").mkdir()
    Path("text").write_text("text\n" * 500)
    with closing(sqlite3.connect("foreign.db")) as foreign:
        foreign.execute("CREATE TABLE people (name TEXT)")
    before = sorted(Path().rglob("*"))
    code, out, err = run(capsys, "cache", *words, "--cache", place)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"manners: {said}")
    assert "secret" not in err
    assert sorted(Path().rglob("*")) == before


def test_without_a_place_the_option_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Who has named no cache is told how."""
    code, out, err = run(capsys, "cache", "list")
    assert (code, out) == (2, "")
    assert err == "manners: no cache was given; add --cache FILE, or --cache valkey://…\n"


@pytest.mark.parametrize("words", [["show"], ["forget"], ["show", "nonsense"], ["forget", "/a"]])
def test_sites_are_named_by_urls(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """No URL, and what is none, is a usage error."""
    keep("cache.db", entry())
    code, out, err = run(capsys, "cache", *words, "--cache", "cache.db")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("manners: ")


def test_rubbish_in_a_cache_can_be_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    """An entry that cannot be read is one line, and `forget` drops it."""
    keep("cache.db", entry("https://a.example"), entry("https://b.example"))
    with closing(sqlite3.connect("cache.db")) as connection:
        connection.execute("UPDATE entries SET metadata = '{' WHERE origin LIKE '%a.example'")
        connection.commit()
    for words in (["list"], ["show", "https://a.example"]):
        code, out, err = run(capsys, "cache", *words, "--cache", "cache.db")
        assert (code, out) == (2, "")
        assert err == "manners: 'cache.db': has an entry that cannot be read\n"
    assert run(capsys, "cache", "show", "https://b.example", "--cache", "cache.db")[0] == 0
    assert run(capsys, "cache", "forget", "https://a.example", "--cache", "cache.db")[0] == 0
    assert run(capsys, "cache", "list", "--cache", "cache.db")[0] == 0


def test_a_cache_in_valkey(capsys: pytest.CaptureFixture[str], port: int, tmp_path: Path) -> None:
    """The same with `valkey://…`: kept, listed, shown, forgotten."""
    folder = tmp_path / "valkey"
    folder.mkdir()
    with Valkey(folder) as valkey:
        assert check(capsys, port, "--cache", valkey.url) == BOTH
        assert check(capsys, port, "--cache", valkey.url) == []
        site = f"http://127.0.0.1:{port}"
        code, out, _ = run(capsys, "cache", "list", "--cache", valkey.url)
        assert (code, out.count("http://127.0.0.")) == (0, 2)
        code, out, _ = run(capsys, "cache", "show", site, "--cache", valkey.url)
        assert "  | Disallow: /private/" in out
        assert run(capsys, "cache", "forget", site, "--cache", valkey.url)[0] == 0
        assert check(capsys, port, "--cache", valkey.url) == ["127.0.0.1"]


def test_a_subcommand_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    """`manners cache` alone is a usage error, and its help says what there is."""
    assert run(capsys, "cache") == (2, "", "manners: Missing command. See manners cache -h.\n")
    code, out, _ = run(capsys, "cache", "--help")
    assert code == 0
    assert all(word in out for word in ("list", "show", "forget"))
