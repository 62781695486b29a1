"""`manners bulk`: URLs and an archive in, verdicts out."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from queue import Queue

import pyarrow as pa
import pytest
from pyarrow import parquet

from manners.bulk import stages
from manners.bulk.stages import RunProgress
from manners.cli.commands.bulk import Forecast
from tests.cli.running import PlainSite, Run, runner, serving, settle

ROBOTS = b"User-agent: *\nDisallow: /private/\nCrawl-delay: 2\n"
URLS = ["https://a.example/", "https://a.example/private/x", "https://b.example/", "nonsense"]


class Site(PlainSite):
    """A site for each address of loopback: one has a robots.txt, one has none, one fails."""

    asked: "Queue[str]"

    def visit(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        self.asked.put(host)
        if host == "127.0.0.4":
            self.answer(302, b"", ("Location", f"http://127.0.0.1:{port_of(self)}/robots.txt"))
        else:
            status = {"127.0.0.1": 200, "127.0.0.2": 404}.get(host, 503)
            self.answer(status, ROBOTS if status == 200 else b"")


def port_of(handler: PlainSite) -> int:
    return int(handler.headers["Host"].partition(":")[2])


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadingHTTPServer]:
    Site.asked = Queue()
    with serving(Site) as server:
        yield server


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settle(monkeypatch, tmp_path, ALLOW_PRIVATE="true", MIN_DELAY="0", MAX_DELAY="0")
    parquet.write_table(pa.table({"id": range(4), "url": URLS}), "urls.parquet")
    parquet.write_table(pa.table({"origin": URLS[:1], "body": [ROBOTS]}), "robots.parquet")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, "bulk")


GIVEN = ("--urls", "urls.parquet", "--robots", "robots.parquet", "--agent", "MyBot")


def test_verdicts_are_added_and_summed_up(run: Run) -> None:
    """Each row has its verdict; the summary says how many, why and where."""
    ran = run(*GIVEN, "-o", "out.parquet")
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines[0].startswith("4 URLs, 1 site, ")
    assert "MyBot: 1 allowed, 1 disallowed, 2 undecided" in ran.lines
    rows = parquet.read_table("out.parquet").to_pylist()
    assert rows[1] == {
        "id": 1,
        "url": URLS[1],
        "allowed": False,
        "reason": "rule-matched",
        "line": 2,
        "rule": "Disallow: /private/",
        "crawl_delay": 2.0,
    }
    assert [row["reason"] for row in rows[2:]] == ["no-robots", "invalid-url"]
    assert not Path("out.parquet.work").exists()


def test_the_summary_is_json_if_asked_for(run: Run) -> None:
    """With the counts of each agent."""
    ran = run(*GIVEN, "--agent", "Other", "-o", "out.csv", "--keep", "id", "--json")
    assert ran.object["urls"] == 4
    assert ran.object["written"] == 8
    assert ran.object["agents"]["Other"]["reasons"]["no-robots"] == 1
    assert ran.object["agents"]["MyBot"]["hosts"] == [
        {"host": "a.example", "urls": 2, "disallowed": 1}
    ]
    assert Path("out.csv").read_text().startswith('"id","agent","allowed"')


def test_standard_output_gets_json_lines(tmp_path: Path) -> None:
    """From standard input, too; the summary goes to standard error."""
    command = [sys.executable, "-m", "manners", "bulk", "--urls", "-", "-o", "-", *GIVEN[2:]]
    data = "\n".join(URLS).encode()
    ran = subprocess.run(
        [*command, "--only", "disallowed"],
        input=data,
        capture_output=True,
        check=True,
        cwd=tmp_path,
    )
    (row,) = map(json.loads, ran.stdout.splitlines())
    assert (row["url"], row["allowed"], row["line"]) == (URLS[1], False, 2)
    assert b"4 URLs, 1 site" in ran.stderr


def test_part_by_part(run: Run) -> None:
    """Prepared once, then each part by itself, in any order; a part that is there is skipped."""
    assert run(*GIVEN, "-o", "out/", "--prepare", "--parts", "3").code == 0
    for part in (2, 0, 1):
        assert run(*GIVEN, "-o", "out/", "--part", f"{part}/3").code in (0, 3)
    assert sorted(path.name for path in Path("out").iterdir()) == [
        f"part-0000{part}-of-00003.parquet" for part in range(3)
    ]
    assert parquet.read_table("out").num_rows == 4
    ran = run(*GIVEN, "-o", "out/", "--part", "0/3")
    assert (ran.code, "--resume" in ran.err) == (2, True)
    assert run(*GIVEN, "-o", "out/", "--part", "0/3", "--resume").code in (0, 3)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--urls", "nosuch.parquet"), 3, "nosuch.parquet: no such file or folder"),
        (("--robots", "nosuch.parquet"), 3, "nosuch.parquet: no such file or folder"),
        (("--column", "uri"), 2, "no column 'uri'; there are: url, id"),
        (("--memory", "lots"), 2, "--memory 'lots' is no size, as in 512M or 2G"),
        (("--part", "3/3"), 2, "the last is 2/3"),
        (("--only", "some"), 2, "choose from: allowed, disallowed, undecided"),
        (("--dialect", "nosuch"), 2, "unknown dialect 'nosuch'"),
    ],
)
def test_errors_say_what_to_do(run: Run, options: tuple[str, str], code: int, message: str) -> None:
    """Exit code 2 for what was typed wrong, 3 for what cannot be read; nothing is left behind."""
    given = dict(zip(GIVEN[::2], GIVEN[1::2], strict=True)) | {"-o": "out/"} | dict([options])
    ran = run(*(word for pair in given.items() for word in pair))
    assert ran.code == code
    assert message in ran.err
    assert not Path("out").exists()
    assert not Path("out.work").exists()


def test_nothing_decided_is_exit_code_3(run: Run) -> None:
    """An archive of other sites answers nothing."""
    Path("other.txt").write_text("https://nowhere.example/\n")
    ran = run("--urls", "other.txt", *GIVEN[2:], "-o", "out.jsonl")
    assert ran.code == 3
    assert '"reason":"no-robots"' in Path("out.jsonl").read_text()


def test_missing_sites_are_retrieved(run: Run, server: ThreadingHTTPServer) -> None:
    """Each once, as by `check`: 404 allows, 503 disallows, redirects are followed; and cached."""
    sites = [f"http://127.0.0.{number}:{server.server_port}" for number in (1, 2, 3, 4)]
    listed = [f"{site}/{path}" for site in sites for path in ("private/x", "y")] * 3
    Path("live.txt").write_text("\n".join([*URLS[:2], *listed]))
    for out in ("streamed.parquet", "by-part/"):
        parts = ["--parts", "3"] if out == "by-part/" else []
        options = ["--fetch", "--cache", "cache.db", *parts]
        ran = run("--urls", "live.txt", *GIVEN[2:], "-o", out, *options)
        assert (ran.code, ran.err) == (0, "")
        rows = parquet.read_table(out).to_pylist()
        found = {row["url"]: (row["allowed"], row["reason"]) for row in rows}
        assert [found[url] for url in listed[:8]] == [
            *((False, "rule-matched"), (True, "no-rule-matched")),
            *([(True, "unavailable")] * 2),
            *([(False, "unreachable")] * 2),
            *((False, "rule-matched"), (True, "no-rule-matched")),
        ]
        assert found[URLS[1]] == (False, "rule-matched")
    asked = sorted(Site.asked.get_nowait() for _ in range(Site.asked.qsize()))
    assert asked == ["127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_can_be_resumed(
    run: Run, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Parts that are complete stay, and the message says how to go on."""
    urls = pa.table({"url": [f"https://h{n % 999}.example/{n}" for n in range(200_000)]})
    parquet.write_table(urls, "many.parquet", row_group_size=5_000)
    program = (
        "import os, sys\n"
        "from manners.bulk import stages\n"
        "from manners.cli import main\n"
        "stages.PART_ROWS, seen = 10_000, []\n"
        "real = stages.Meter.__call__\n"
        "def count(self, rows):\n"
        "    real(self, rows)\n"
        "    seen.append(rows)\n"
        f"    if len(seen) == 9: os.kill(os.getpid(), {int(number)})\n"
        "stages.Meter.__call__ = count\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    words = ["bulk", "--urls", "many.parquet", *GIVEN[2:], "-o", "out.parquet", "--threads", "1"]
    ran = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 130, ran.stderr
    assert "interrupted" in ran.stderr
    assert "with --resume goes on" in ran.stderr
    assert not Path("out.parquet").exists()
    assert "rows of a part" in run(*words[1:], "--resume").err
    monkeypatch.setattr(stages, "PART_ROWS", 10_000)
    assert run(*words[1:], "--resume").code == 3  # no site is in the archive
    assert parquet.read_table("out.parquet")["url"].equals(urls["url"])


def test_the_forecast_goes_by_the_latest_rate() -> None:
    """No forecast without a measure of the whole, nor in the first second."""
    line = Forecast()
    assert line.text(RunProgress("deciding", 5_000), 0.0) == "deciding: 5,000"
    assert line.text(RunProgress("deciding", 5_000, 0.1), 0.0) == "deciding: 5,000, 10%"
    line._samples.extend([(0.0, 0.0), (100.0, 0.5), (110.0, 0.6)])
    shown = line.text(RunProgress("deciding", 6_000, 0.6), 110.0)
    assert shown == "deciding: 6,000, 60%, about 40 s left"
