"""`http://shop.example/`, the site of README.md: a server on loopback, reached as a proxy.

So the README has addresses that people know, and its commands talk to loopback alone.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOME = "http://shop.example/"
PAGES = {
    f"{HOME}robots.txt": "User-agent: *\nDisallow: /cart\n",
    HOME: """\
<title>Tea shop</title>
<a href="/tea">Green tea</a>
<a href="/cart">Your cart</a>
""",
    f"{HOME}tea": "<title>Green tea</title>",
}


class Shop:
    """The shop while it is open: where it is, and what it was asked for."""

    def __init__(self, port: int) -> None:
        self.proxy = f"http://127.0.0.1:{port}"
        self.requests: list[str] = []
        """The URLs of all requests, in their order."""
        self._held = ""
        self._released = threading.Event()

    def answer(self, url: str) -> str:
        """The page of a URL, empty if there is none; it takes as long as the page is held."""
        self.requests.append(url)
        if url == self._held:
            self._released.wait(60)
        return PAGES.get(url, "")

    def hold(self, url: str) -> None:
        """Answer no request for a URL before `release`."""
        self._held = url
        self._released.clear()

    def release(self) -> None:
        """Answer every request again, also those that wait."""
        self._held = ""
        self._released.set()


@contextmanager
def shop() -> Iterator[Shop]:
    """The shop, open until the end of the block."""

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = opened.answer(self.path).encode()  # a proxy is asked for the whole URL
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    opened = Shop(server.server_port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield opened
    server.shutdown()
    server.server_close()
