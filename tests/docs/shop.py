"""`http://shop.example/`, the site of README.md: a server on loopback, reached as a proxy.

So the README has addresses that people know, and its commands talk to loopback alone.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES = {
    "http://shop.example/robots.txt": "User-agent: *\nDisallow: /cart\n",
    "http://shop.example/": """\
<title>Tea shop</title>
<a href="/tea">Green tea</a>
<a href="/cart">Your cart</a>
""",
    "http://shop.example/tea": "<title>Green tea</title>",
}


class _Proxy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = PAGES.get(self.path, "").encode()  # a proxy is asked for the whole URL
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def shop() -> Iterator[str]:
    """The address of the proxy while the shop is open."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
