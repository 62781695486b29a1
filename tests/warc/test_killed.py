"""A crawl that archives may be killed at any moment: its files are readable, valid and complete.

The long form has 20,000 pages and 20 kills; `make replay` adds that pywb replays every page of it.
"""

import hashlib
import sqlite3
from pathlib import Path

import pytest

from tests.crawler.generated import Spec
from tests.crawler.generated_crawl import Crawl
from tests.crawler.generated_server import Server
from tests.crawler.test_crawl_killed import Killer
from tests.sizes import seed, size
from tests.warc.reading import Entry, records
from tests.warc.replay import PYWB, check_replay

PAGES, KILLS, SEED = size("WARC_PAGES"), size("WARC_KILLS"), seed("WARC_SEED")
SETTINGS = {"min_delay": 0.01, "max_delay": 0.02, "worker_lease": 2.0, "warc_size": 40_000}


@pytest.mark.long
def test_an_archive_is_complete_after_kills(tmp_path: Path) -> None:
    """Whatever is in the store is in the archive, to the byte; nothing is left open."""
    spec = Spec(seed=SEED, hosts=max(10, PAGES // 100), pages=PAGES, crawl_delay=0.1)
    archive = tmp_path / "warc"
    with Server(spec) as server:
        crawl = Crawl(tmp_path, server.site.starts, "--warc", str(archive), **SETTINGS)
        killer = Killer(server, crawl, f"warc {SEED}", PAGES)
        killer.run(KILLS)
    entries = records(archive)
    assert isinstance(crawl.store, Path)
    urls = check_complete(crawl.store, entries)
    assert killer.kills > 0
    assert urls > PAGES / 4
    if PYWB is not None:
        check_replay(archive, tmp_path, PAGES)


def check_complete(store: Path, entries: list[Entry]) -> int:
    """Every answer that a store knows is in the archive, with its body; returns how many."""
    bodies = {e.headers["WARC-Record-ID"]: e for e in entries if e.kind == "response"}
    captured: dict[str, set[tuple[int, str]]] = {}
    for entry in entries:
        if entry.kind in ("response", "revisit"):
            full = bodies[entry.headers.get("WARC-Refers-To", entry.headers["WARC-Record-ID"])]
            found = entry.status, hashlib.sha256(full.body).hexdigest()
            captured.setdefault(entry.url, set()).add(found)
    connection = sqlite3.connect(store)
    rows = connection.execute(
        "SELECT kind, url, pages.status, sha256 FROM urls JOIN pages USING (crawl, host, digest)"
        " WHERE pages.status > 0"
    )
    number = 0
    for kind, url, status, sha256 in rows:
        number += 1
        if kind == "page":
            assert (status, sha256) in captured.get(url, ()), url
        else:  # of a sitemap, the store has no hash
            assert status in {found for found, _ in captured.get(url, ())}, url
    connection.close()
    return number
