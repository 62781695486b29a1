"""Replay by pywb, which has an environment of its own: it needs other versions than we do."""

import shutil
import socket
import subprocess
import time
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener

from tests.warc.reading import Entry, files, read

_PLACE = Path(__file__).parents[2] / ".venv/replay/bin/wayback"
PYWB = str(_PLACE) if _PLACE.exists() else shutil.which("wayback")
"""The program, if `make replay` has installed it."""
CONFIG = "collections:\n  it: {{index_paths: {0}/, archive_paths: {0}/}}\n"


def check_replay(archive: Path, folder: Path, most: int) -> None:
    """Every page of an archive is replayed, by our index, as it was received."""
    assert PYWB is not None
    (folder / "config.yaml").write_text(CONFIG.format(archive))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [PYWB, "-b", "127.0.0.1", "-p", str(port)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(port, process)
        responses = [
            entry
            for path in files(archive)
            for entry in read(path)
            if entry.kind == "response" and entry.status == 200 and not _is_cut(entry)
        ]
        assert responses
        for entry in responses[:most]:
            moment = "".join(filter(str.isdigit, entry.headers["WARC-Date"]))[:14]
            status, body = _get(port, f"/it/{moment}id_/{entry.url}")
            assert status == 200, entry.url
            assert body in (entry.payload, entry.body), entry.url
    finally:
        process.terminate()
        process.wait()


def _is_cut(entry: Entry) -> bool:
    """Whether its reply announces more than is there."""
    return "WARC-Truncated" in entry.headers


def _wait(port: int, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(1_200):
        assert process.poll() is None, "pywb has ended"
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("pywb does not answer")


def _get(port: int, path: str) -> tuple[int, bytes]:
    opener = build_opener(ProxyHandler({}))
    with opener.open(Request(f"http://127.0.0.1:{port}{path}")) as reply:
        return reply.status, reply.read()
