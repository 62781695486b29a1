"""Sites that change their robots.txt, and a receiver of what a watch posts; both on loopback."""

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

SECRET = "correct horse battery staple"
PATIENCE = 60.0
"""Seconds to wait for what has to happen."""


class Answer(NamedTuple):
    """What a site says when it is asked for its robots.txt."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


class Post(NamedTuple):
    """What was posted, as it came."""

    path: str
    headers: dict[str, str]
    """By name in lower case."""
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    def is_signed(self, secret: str = SECRET) -> bool:
        """Whether the signature is right, as the documentation says how to see that."""
        pairs = dict(part.split("=", 1) for part in self.headers["manners-signature"].split(","))
        sent = pairs["t"].encode() + b"." + self.body
        return hmac.compare_digest(
            pairs["v1"], hmac.new(secret.encode(), sent, hashlib.sha256).hexdigest()
        )


class Sites:
    """One server that is many sites: one for each address of loopback."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.answers: dict[str, Answer] = {}
        """By address; a site without one has no robots.txt."""
        self.asked: list[str] = []
        """The address of each request, in their order."""
        self.headers: list[dict[str, str]] = []

    def say(self, body: str | bytes, address: str = "127.0.0.1", status: int = 200) -> None:
        body = body.encode() if isinstance(body, str) else body
        self.answers[address] = Answer(status, body)

    def url(self, address: str = "127.0.0.1") -> str:
        return f"http://{address}:{self.port}"


class Receiver:
    """A server that is posted to, and answers as it is told to."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/hook?token=hush-hush"
        self.posts: list[Post] = []
        self.answers: list[int | str] = [200]
        """Statuses, or the address to redirect to, or "hang": one for each post, the last one from
        then on."""
        self.gets = 0
        self._released = threading.Event()

    def take(self) -> int | str:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def hang(self) -> None:
        self._released.wait(PATIENCE)

    def release(self) -> None:
        """Let go of those that hang."""
        self._released.set()

    @property
    def events(self) -> list[tuple[str, str]]:
        """The kind and identity of each event, in the order in which they came."""
        return [(post.event["event"], post.event["id"]) for post in self.posts]


class _Handler(BaseHTTPRequestHandler):
    def reply(self, status: int, body: bytes = b"", *headers: tuple[str, str]) -> None:
        self.send_response_only(status)
        for name, value in (("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    request_queue_size = 1024


@contextmanager
def _serving(make: Callable[[int], Any], handler: Callable[[Any], type[_Handler]]) -> Iterator[Any]:
    class Placeholder(_Handler):
        pass

    server = _Server(("0.0.0.0", 0), Placeholder)
    place = make(server.server_port)
    server.RequestHandlerClass = handler(place)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield place
    finally:
        if isinstance(place, Receiver):
            place.release()
        server.shutdown()
        server.server_close()


@contextmanager
def sites() -> Iterator[Sites]:
    """Sites, until the end of the block."""

    def handler(place: Sites) -> type[_Handler]:
        class Handler(_Handler):
            def do_GET(self) -> None:
                address = self.headers["Host"].partition(":")[0]
                place.asked.append(address)
                place.headers.append({name.lower(): text for name, text in self.headers.items()})
                answer = place.answers.get(address, Answer(404))
                self.reply(answer.status, answer.body, *answer.headers)

        return Handler

    with _serving(Sites, handler) as place:
        yield place


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A receiver, until the end of the block."""

    def handler(place: Receiver) -> type[_Handler]:
        class Handler(_Handler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): text for name, text in self.headers.items()}
                answer = place.take()
                place.posts.append(Post(self.path, headers, body))
                if answer == "hang":
                    place.hang()
                elif isinstance(answer, str):
                    self.reply(302, b"", ("Location", answer))
                else:
                    self.reply(int(answer), b"thanks")

            def do_GET(self) -> None:
                place.gets += 1
                self.reply(200)

        return Handler

    with _serving(Receiver, handler) as place:
        yield place


def wait_until(is_so: Callable[[], object], why: str = "") -> None:
    """Wait until something is so; fail if it does not come about."""
    gives_up_at = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < gives_up_at, why or "it did not come about"
        time.sleep(0.01)
