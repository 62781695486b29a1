"""The portal's event loop: what is never closed is closed with it, and nobody hears of it."""

import subprocess
import sys
from itertools import product

import pytest

SCRIPT = """
import gc, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx, manners, requests
from manners.compat.httpx import PoliteTransport
from manners.compat.requests import PoliteAdapter


class Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        if self.path != "/robots.txt":  # that connection is the library's own
            self.send_header("Connection", "close")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_address[1]}/"
GIVEN = {"allow_private": True, "min_delay": 0.0, "max_delay": 0.0, "adaptive_factor": 0.0}


def with_requests():
    session = requests.Session()
    session.trust_env = False
    session.mount("http://", PoliteAdapter("MyBot", **GIVEN))
    return session, session.get(URL).status_code


def with_httpx():
    client = httpx.Client(transport=PoliteTransport("MyBot", **GIVEN))
    return client, client.get(URL).status_code


def with_client():
    client = manners.Client("MyBot", **GIVEN)
    return client, client.get(URL).status


def with_cache():
    cache = manners.RobotsCache(allow_private=True)
    return cache, 200 if cache.allowed(URL, "MyBot") else 0


def ask(make):
    print(make()[1])  # and nobody has it any more


"""


# Python's development mode says more than others do: without it, one is enough.
@pytest.mark.parametrize(
    ("make", "end", "options"),
    [
        *product(
            ["with_requests", "with_httpx", "with_client", "with_cache"],
            ["ask({})", "ask({}); gc.collect()"],
            [("-X", "dev")],
        ),
        ("with_client", "ask({})", ()),
    ],
)
def test_what_is_never_closed_is_closed_in_silence(
    make: str, end: str, options: tuple[str, ...]
) -> None:
    """At the end of the program, and when it is dropped: aiohttp says nothing of its session."""
    ran = subprocess.run(
        [sys.executable, *options, "-c", SCRIPT + end.format(make)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    # Where the machine is busy, asyncio tells of what took long, in its debug mode.
    said = [line for line in ran.stderr.splitlines() if not line.startswith("Executing <")]
    assert (ran.stdout, said, ran.returncode) == ("200\n", [], 0)
