"""Data for engines, and what has to come of it: the same rows as on one machine.

An engine runs in a process of its own, which writes its results into folders beside the data. Its
worker processes import this module, too: a step of the job kills them in the middle.
"""

import importlib.util
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "clusters.md"
PATIENCE = 600.0
"""Seconds for anything that has to happen; no promise depends on them."""
AGENT = "MyBot"
HOSTS, FILES, ROWS = 60, 4, 3000
"""How many hosts there are, files with URLs, and URLs in each."""


def needs(*modules: str, program: str | None = None) -> pytest.MarkDecorator:
    """Skip tests where an engine is not installed."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if program is not None and shutil.which(program) is None:
        missing.append(program)
    return pytest.mark.skipif(
        bool(missing), reason=f"not installed: {', '.join(missing)}; make cluster"
    )


# The data.


def robots_rows() -> Iterator[dict[str, Any]]:
    """Records of sites: files, older files, statuses, and redirects from host to host."""
    for number in range(HOSTS):
        site = f"https://s{number}.example"
        kind = number % 10
        if kind < 6:
            rules = f"User-agent: *\nDisallow: /p{number % 3}/\nAllow: /p{number % 3}/open\n"
            delay = f"Crawl-delay: {number % 4}\n" if kind < 3 else ""
            yield record(site, 200, body=(rules + delay).encode(), second=20)
            yield record(site, 200, body=b"User-agent: *\nDisallow: /", second=10)
        elif kind == 6:
            yield record(site, 404)
        elif kind == 7:
            yield record(site, 503)
        elif kind == 8:  # to the next host, which redirects again, to a host with a file
            yield record(site, 301, location=f"//s{number + 1}.example/robots.txt")
        else:
            goal = f"https://s{(number + 1) % HOSTS}.example/robots.txt"
            yield record(site, 302, location=goal if number > 10 else "https://none.example/x")
    yield record("https://bücher.example", 200, body=b"User-agent: mybot\nDisallow: /q")


def record(
    origin: str,
    status: int,
    *,
    location: str | None = None,
    body: bytes | None = None,
    second: int = 30,
) -> dict[str, Any]:
    return {
        "origin": origin,
        "status": status,
        "location": location,
        "fetched_at": second,
        "body": body,
    }


def url_rows(seed: int) -> Iterator[dict[str, Any]]:
    """URLs in no order, of sites that are known or not, with what is not a URL among them."""
    draw = random.Random(seed)
    for number in range(ROWS):
        host = f"s{draw.randrange(HOSTS + 5)}.example"
        path = f"/p{draw.randrange(3)}/{draw.choice(['open', 'x', ''])}"
        url: str | None = f"https://{host}{path}"
        if number % 9 == 0:
            url = f"HTTPS://Somebody@{host.upper()}:443{path}?{number}"
        elif number % 10 == 0:
            url = draw.choice([None, "", "n/a", f"http://{host}/", "https://bücher.example/q"])
        yield {"id": seed * ROWS + number, "url": url, "title": f"title {number % 7}"}


def write_data(folder: Path) -> None:
    """`urls/*.parquet` and `robots.parquet`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "urls").mkdir()
    for seed in range(FILES):
        pq.write_table(pa.Table.from_pylist(list(url_rows(seed))), folder / f"urls/{seed}.parquet")
    robots = pa.Table.from_pylist(list(robots_rows()))
    time = robots["fetched_at"].cast(pa.timestamp("s", "UTC"))
    robots = robots.set_column(robots.schema.get_field_index("fetched_at"), "fetched_at", time)
    pq.write_table(robots, folder / "robots.parquet")


# What has to come of it.


def rows(table: Any) -> list[dict[str, Any]]:
    """Rows in the order of their numbers, whatever an engine makes of their types."""
    found: list[dict[str, Any]] = table.sort_by("id").to_pylist()
    return found


def expected(folder: Path) -> list[dict[str, Any]]:
    """The rows with their verdicts, decided in one go on one machine."""
    import pyarrow.parquet as pq

    from manners.bulk import Sites

    sites = Sites.from_table(pq.read_table(folder / "robots.parquet"), agent=AGENT)
    found = rows(sites.verdicts(pq.read_table(folder / "urls")))
    assert len({row["reason"] for row in found}) > 6, "not much of a test"
    return found


def written(folder: Path) -> list[dict[str, Any]]:
    """The rows that an engine has written."""
    import pyarrow.parquet as pq

    return rows(pq.read_table(sorted(folder.glob("*.parquet"))))


# Processes.


def run(*arguments: str, folder: Path, **variables: str) -> None:
    """Run a program of an engine in a folder, until it ends."""
    with (folder / "log").open("ab+") as log:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
            stdin=subprocess.PIPE,  # closed when this process ends, however it does
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            code = process.wait(PATIENCE)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.seek(0)
        shown = log.read()[-8000:].decode(errors="replace")
    assert code == 0, f"{arguments} ended with {code}:\n{shown}"


def end_with_parent() -> None:
    """Let this process end with the one that has called `run`."""

    def watch() -> None:
        os.read(0, 1)  # nobody writes: it returns when the pipe is closed
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def recipes() -> dict[str, str]:
    """The programs on the page about clusters, by the name of their file."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r'^```python title="(\w+\.py)"\n(.*?)^```$', text, re.MULTILINE | re.DOTALL)
    return dict(found)


def write_recipes(folder: Path) -> None:
    """The programs of the page, to be run."""
    for name, program in recipes().items():
        (folder / name).write_text(program, encoding="utf-8")


def first(flag: Path) -> bool:
    """Whether nobody has asked before, in any process."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def parent(pid: int) -> int:
    """The process that has started another."""
    status = Path(f"/proc/{pid}/stat").read_text()
    return int(status.rpartition(")")[2].split()[1])


def kill(*pids: int) -> None:
    """End processes as a power cut would."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
