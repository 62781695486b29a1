"""Coverage-guided fuzzing of the sitemap parser, the link extractor, `page_url` and the traps.

    python -m tests.sitemaps.fuzz -max_total_time=60      any option of libFuzzer
    python -m tests.sitemaps.fuzz build/fuzz/discovery/…  once more what failed

An input fails when something raises, when pieces or blocks give something else than the whole,
when the short way through a sitemap gives something else than the long one, when a cut file gives
something else than a prefix, or when a URL is not in its one form. Inputs are kept in `build/fuzz`.
"""

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import patch

from manners.crawler.links import extract
from manners.crawler.traps import Traps, form_of
from manners.errors import InvalidURL
from manners.sitemaps import markup, parser
from manners.urls import page_url, requestable
from tests.fuzzing import command_line
from tests.sitemaps.reading import Read, pieces
from tests.sitemaps.reading import read as read_all
from tests.sitemaps.test_pieces import FILES, PARTS

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "fuzz" / "discovery"
HOSTILE = Path(__file__).parent / "hostile"
OPTIONS = ["-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"]
NEVER = re.compile(rb"(?!)").match
FUZZ = """
import sys
import atheris
with atheris.instrument_imports(include=["manners"]):
    import manners.urls, manners.sitemaps, manners.crawler.links, manners.crawler.traps
from tests.sitemaps.fuzz import one_input
atheris.Setup(sys.argv, one_input)
atheris.Fuzz()
"""
HTML = [
    *("<a href=", "<area href=", "<base href='", "<link rel=next href=", "<meta name=robots "),
    *("content=", "nofollow", "<title>", "http://", "//", "\\", "[::1]", "@", "%2e", ".."),
    "?utm_source=x",
]


def read(body: bytes | Iterable[bytes], max_entries: int = 1_000) -> Read:
    """Not much of a bomb."""
    return read_all(body, max_bytes=20_000, max_entries=max_entries)


def one_input(data: bytes) -> None:
    """Fails when a promise is broken; the first byte says which is tried."""
    chosen, body = (data[0], data[1:]) if data else (0, b"")
    (sitemap, blocks, cut, page, url)[chosen % 5](body, chosen // 5)


def sitemap(body: bytes, where: int) -> None:
    """In pieces as in one, and the long way as the short one."""
    whole = read(body, max_entries=100)
    assert read(pieces(body, [where, where * 7]), max_entries=100) == whole
    with patch.object(markup, "_PLAIN", NEVER):
        assert read(body, max_entries=100) == whole


def blocks(body: bytes, size: int) -> None:
    """In blocks of any size.

    Where a broken file goes on depends on how much of it is seen at once: that is why the blocks of
    the parser have one size, however the data comes.
    """
    whole = read(body)
    with patch.object(parser, "_BLOCK", 3 * size + 1):
        found = read(body)
    assert whole.problems or found == whole


def cut(body: bytes, share: int) -> None:
    """Cut somewhere."""
    whole, found = read(body), read(body[: len(body) * share // 51])
    if found.form == whole.form:
        size = len(found.urls) - (found.form == "text")
        assert found.urls[: max(size, 0)] == whole.urls[: max(size, 0)]


def page(body: bytes, chosen: int) -> None:
    """A page: a line with its URL, one with a header, and the HTML."""
    address, _, rest = body.partition(b"\n")
    header, _, html = rest.partition(b"\n")
    text = [each.decode("utf-8", "surrogateescape") for each in (address, header, html)]
    where = text[0] if chosen % 2 else "https://example.com/a/b?c"
    links = extract(text[2], where, "MyBot/1.0", [text[1]], without_tracking=chosen % 3 == 0)
    traps = Traps()
    for link in links.links:
        assert page_url(link.url) == link.url
        traps.look(link.url)
        form_of(link.url)
    assert links.title.isprintable()


def url(body: bytes, chosen: int) -> None:
    """A URL."""
    written = body.decode("utf-8", "surrogateescape")
    without_tracking = chosen % 2 == 0
    try:
        made = page_url(f"http://h/{written}" if chosen % 3 else written)
        made = page_url(made, without_tracking=without_tracking)
    except InvalidURL:
        return
    assert page_url(made, without_tracking=without_tracking) == made == requestable(made)
    Traps().look(made)
    form_of(made)


def main(arguments: list[str]) -> int:
    """Fuzz, or try files once more; 0 when nothing failed."""
    if importlib.util.find_spec("atheris") is None:
        sys.exit("fuzzing needs Atheris: pip install atheris==3.0.0 (Linux only)")
    words = (word.encode("utf-8", "surrogatepass") for word in (*PARTS, *HTML))
    files = [*FILES.values(), *(path.read_bytes() for path in HOSTILE.iterdir())]
    html = "\n\n" + "".join(f"{word}'x'>" for word in HTML)
    seeds = (
        bytes([first + 35]) + body[:3_000] for body in (*files, html.encode()) for first in range(5)
    )
    with tempfile.TemporaryDirectory() as name:
        options = command_line(arguments, OPTIONS, KEPT, Path(name), words=words, seeds=seeds)
        command = [sys.executable, "-c", FUZZ, *options]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        print(f"\nFAILED with exit status {code}; once more: python -m tests.sitemaps.fuzz FILE")
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
