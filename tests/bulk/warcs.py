"""WARC files as Common Crawl's Nutch writes them: one gzip member for each record."""

import gzip
from collections.abc import Sequence

BODY = b"User-agent: *\nDisallow: /a\n"
DATE = "2024-01-02T03:04:05Z"
TIME = 1_704_164_645_000
"""The same, in milliseconds."""
WARCINFO = (
    b"WARC/1.0\r\nWARC-Type: warcinfo\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
    b"WARC-Record-ID: <urn:uuid:0>\r\nContent-Length: 21\r\n"
    b"Content-Type: application/warc-fields\r\n\r\nsoftware: Nutch 1.x\r\n\r\n\r\n"
)


def record(
    url: str,
    block: bytes,
    kind: str = "response",
    *,
    date: str | None = DATE,
    more: Sequence[str] = (),
    length: int | None = None,
) -> bytes:
    """One record; `WARC-Protocol` is there twice, as in the files of Common Crawl."""
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        *([f"WARC-Date: {date}"] if date else []),
        "WARC-Record-ID: <urn:uuid:7c1b8f5e-0000-4000-8000-000000000000>",
        f"Content-Length: {len(block) if length is None else length}",
        f"Content-Type: application/http; msgtype={kind}",
        "WARC-IP-Address: 192.0.2.1",
        f"WARC-Target-URI: {url}",
        "WARC-Protocol: h2",
        "WARC-Protocol: tls/1.3",
        *more,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def reply(status: int = 200, body: bytes = BODY, *headers: str, version: str = "1.1") -> bytes:
    """A response as it is stored."""
    lines = [f"HTTP/{version} {status} Any", *headers, "Date: Tue, 02 Jan 2024 03:04:05 GMT"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def exchange(url: str, response: bytes, *more: str) -> list[bytes]:
    """A request, and what was replied to it."""
    asked = f"GET /robots.txt HTTP/1.1\r\nHost: x\r\n\r\n{BODY.decode()}".encode()
    return [record(url, asked, "request"), record(url, response, more=more)]


def compressed(*records: bytes) -> bytes:
    """A .warc.gz."""
    return b"".join(gzip.compress(one, 1) for one in (WARCINFO, *records))
