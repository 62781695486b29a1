"""`manners report`: the picture of a crawl in a file, or its data."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from manners.cli import main
from manners.evidence.store import EvidenceStore
from manners.report.reader import report_of
from tests.cli.running import Run, runner, settle
from tests.client.asking import rules
from tests.crawler.discoveries import discovery_in
from tests.crawler.made import Made
from tests.crawler.site import html
from tests.faults.server import Site, by_path, in_thread

SITE = "https://shop.example"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings but those of the test."""
    settle(monkeypatch, tmp_path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def store() -> Path:
    """A store where commands look for one."""
    made = Made("manners.db")
    for number in range(5):
        made.ask(f"{SITE}/{number}?token=hidden", title=f"Page {number}")
        made.at += 1
    made.ask(f"{SITE}/private/x")
    made.write("finished")
    return Path("manners.db")


@pytest.mark.usefixtures("store")
def test_a_file_is_written_where_it_is_looked_for(run: Run) -> None:
    """With no arguments at all: the usual store, the last crawl, report.html."""
    ran = run("report")
    size = Path("report.html").stat().st_size
    assert (ran.code, ran.err) == (0, "")
    assert (
        ran.out
        == f"report of crawl 1 written to report.html ({size:,} bytes); open it in a browser\n"
    )
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!doctype html>\n<html")
    assert sorted(path.name for path in Path().iterdir()) == ["manners.db", "report.html"]


def test_a_file_that_is_there_is_replaced_only_if_forced(run: Run, store: Path) -> None:
    Path("mine.html").write_text("mine", encoding="utf-8")
    ran = run("report", store, "-o", "mine.html")
    assert ran.code == 2
    assert ran.err == "manners: 'mine.html' already exists; --force replaces it\n"
    assert Path("mine.html").read_text(encoding="utf-8") == "mine"
    assert run("report", store, "-o", "mine.html", "--force").code == 0
    assert "Page 3" in Path("mine.html").read_text(encoding="utf-8")


def test_the_store_itself_is_never_replaced(run: Run, store: Path) -> None:
    before = store.read_bytes()
    ran = run("report", store, "-o", store, "--force")
    assert (ran.code, ran.err) == (2, "manners: 'manners.db' is the store\n")
    assert store.read_bytes() == before


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_nor_is_anything_put_where_the_store_keeps_its_log(run: Run, store: Path, end: str) -> None:
    """There is none at the moment; the next to open the store would take the file for one."""
    place = f"{store}{end}"
    ran = run("report", store, "-o", place, "--force")
    assert (ran.code, ran.err) == (2, f"manners: '{place}' is the store\n")
    assert not Path(place).exists()


def test_to_standard_output(capfdbinary: pytest.CaptureFixture[bytes], store: Path) -> None:
    """The page, and nothing else; no file is written."""
    assert main(["report", str(store), "-o", "-"]) == 0
    out, err = capfdbinary.readouterr()
    assert out.startswith(b"<!doctype html>\n<html")
    assert out.endswith(b"</html>\n")
    assert err == b""
    assert [path.name for path in Path().iterdir()] == ["manners.db"]


@pytest.mark.parametrize("name", ["new/", ""])
def test_the_output_is_a_file(run: Run, store: Path, name: str) -> None:
    ran = run("report", store, "-o", name)
    assert (ran.code, ran.err) == (2, f"manners: --output '{name}' is not a file name\n")
    assert [path.name for path in Path().iterdir()] == ["manners.db"]


@pytest.mark.usefixtures("store")
def test_the_store_has_a_name(run: Run) -> None:
    """One that is empty, as of a variable that is not set, is not the usual one."""
    ran = run("report", "")
    said = "manners: STORE is empty: pass a file or postgresql://…\n"
    assert (ran.code, ran.err) == (2, said)


@pytest.mark.parametrize("command", [("report",), ("crawl", "status", "--store")])
def test_a_store_that_is_a_folder(run: Run, command: tuple[str, ...]) -> None:
    Path("folder").mkdir()
    ran = run(*command, "folder")
    assert (ran.code, ran.err) == (2, "manners: 'folder': it is a folder, and a file is needed\n")


def test_a_default_is_told_once(run: Run) -> None:
    assert run("report", "--help").out.count("200") == 1


def test_a_place_that_cannot_be_written_to(run: Run, store: Path) -> None:
    ran = run("report", store, "-o", "no/such/folder/report.html")
    assert ran.code == 2
    assert ran.err.startswith("manners: cannot write 'no/such/folder/report.html'")


def test_the_same_data_as_json(run: Run, store: Path) -> None:
    """One object, what `Report.to_dict()` has; nothing is written."""
    ran = run("report", "--json")
    with EvidenceStore(store) as opened:
        expected = report_of(opened).to_dict()
    assert {**ran.object, "made": ""} == {**json.loads(json.dumps(expected)), "made": ""}
    assert not Path("report.html").exists()
    assert run("report", "--json", "-o", "x.html").code == 2


@pytest.mark.usefixtures("store")
def test_how_long_lists_may_be(run: Run) -> None:
    pages = run("report", "--json", "--rows", "2").object["pages"]
    assert (pages["total"], len(pages["rows"])) == (5, 2)
    assert run("report", "--rows", "0").code == 2


@pytest.mark.usefixtures("store")
def test_the_command_for_the_rest_gives_the_rest(run: Run) -> None:
    """What a list that was cut says is what to type."""
    command = run("report", "--json", "--rows", "2").object["rest"].split()
    assert command[0] == "manners"
    assert len(run(*command[1:]).object["pages"]["rows"]) == 5


@pytest.mark.usefixtures("store")
def test_the_command_that_verifies_does(run: Run) -> None:
    command = run("report", "--json").object["proof"]["verify"].split()
    ran = run(*command[1:])
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("OK: 6 records verified, chain intact; head 6:")


@pytest.mark.usefixtures("store")
def test_queries_are_left_out_if_asked_for(run: Run) -> None:
    assert "token=hidden" in run("report", "--json").out
    assert "token=hidden" not in run("report", "--json", "--redact-query").out


def test_one_of_several_crawls(run: Run, store: Path) -> None:
    Made(store, "https://other.example/").write("finished")
    assert run("report", "--json").object["status"]["start"] == "https://other.example/"
    assert run("report", "--json", "--crawl", "1").object["status"]["start"] == f"{SITE}/"
    ran = run("report", "--crawl", "7")
    assert ran.code == 2
    assert ran.err == "manners: 'manners.db': there is no crawl 7 in it; the latest are: 1, 2\n"


def test_a_store_of_discoveries_says_so(run: Run) -> None:
    discovery_in("manners.db")
    ran = run("report")
    assert ran.code == 2
    assert ran.err == (
        "manners: 'manners.db': there is no crawl in it, only what `manners discover` found;"
        " `manners crawl` makes one\n"
    )


def test_a_store_that_is_not_there_is_not_made(run: Run) -> None:
    ran = run("report", "none.db")
    assert (ran.code, ran.err) == (2, "manners: 'none.db': there is no such file\n")
    assert list(Path().iterdir()) == []


def test_a_store_that_breaks_off_is_no_usage_error(run: Run, store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("DROP TABLE pages")
    ran = run("report", store)
    assert ran.code == 3
    assert ran.err == "manners: 'manners.db': no such table: pages\n"
    assert not Path("report.html").exists()


def test_the_store_may_be_a_setting(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.rename("elsewhere.db")
    monkeypatch.setenv("MANNERS_STORE", "elsewhere.db")
    assert run("report").code == 0


@pytest.mark.parametrize("place", ["manners.db", "a b.db"])
def test_the_end_of_a_crawl_says_how_to_see_it(run: Run, place: str) -> None:
    """And what it says works."""
    site = Site(by_path({"/robots.txt": rules("Disallow: /no"), "/": html("/no")}))
    with in_thread(site):
        ran = run("crawl", "--allow-private", "--store", place, site.url())
    last = ran.out.splitlines()[-1]
    assert last.startswith("create a report: manners report")
    words = last.partition("manners ")[2].replace("'a b.db'", "a\0b.db").split()
    assert run(*(word.replace("\0", " ") for word in words)).code == 0
    assert "Disallow: /no" in Path("report.html").read_text(encoding="utf-8")


def test_the_page_is_loaded_only_when_it_is_made() -> None:
    """Other commands do not wait for it."""
    script = "import sys; from manners.cli.app import build; build(); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "manners.crawler" not in ran.stdout
    assert "sqlalchemy" not in ran.stdout
