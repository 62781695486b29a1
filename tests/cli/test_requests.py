"""Options of `get` and `crawl` about requests: how fast, with which headers, cookies and proxy."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.running import Ran, Run, runner
from tests.faults.server import Call, Site, Visit, by_path, in_thread, page
from tests.net.servers import forwarding, serving

pytestmark = pytest.mark.usefixtures("quick")

OTHER, SLOW = "127.0.2.1", "127.0.2.2"


async def robots(call: Call) -> None:
    delay = b"Crawl-delay: 1\n" if call.address == SLOW else b""
    await call.reply(200, b"User-agent: *\n" + delay + b"Disallow: /private\n")


async def start(call: Call) -> None:
    await call.reply(200, b"<a href=/a>a</a>", [("Content-Type", "text/html")])


async def moved(call: Call) -> None:
    port = call.port
    await call.reply(302, headers=[("Location", f"http://{OTHER}:{port}/")])


AT_A_TIME: list[int] = []
"""How many slow pages were being answered when another was asked for, with that one."""
slow: set[Call] = set()


async def otherwise(call: Call) -> None:
    if not (await call.request()).path.startswith("/slow"):
        await call.reply(200, b"hello")
        return
    slow.add(call)
    AT_A_TIME.append(len(slow))
    await asyncio.sleep(0.2)
    slow.discard(call)
    await call.reply(200, b"slow")


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    handlers = {"/robots.txt": robots, "/": start, "/moved": moved}
    with in_thread(Site(by_path(handlers, otherwise))) as site:
        yield site
        assert site.failures == []


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def pages(site: Site) -> list[str]:
    return [visit.path for visit in site.log if visit.path not in ("/robots.txt", "/sitemap.xml")]


def stored() -> bytes:
    """Everything that the store has on the disk."""
    return b"".join(path.read_bytes() for path in Path().glob("manners.db*"))


# Headers and cookies.


@pytest.mark.parametrize("command", ["get", "crawl"])
def test_headers_go_with_pages_and_are_stored_nowhere(run: Run, site: Site, command: str) -> None:
    """A robots.txt is asked for without them; no output, store or log has their values."""
    header = "Authorization: Bearer SESAME"
    logged = ("--log-level", "debug", "--log-format", "json")
    ran = run(command, site.url(), "--header", "X-Mine: 1", "--header", header, *logged)
    assert ran.code == 0
    for visit in site.log:
        expected = None if visit.path == "/robots.txt" else "Bearer SESAME"
        assert visit.headers.get("authorization") == expected
    assert "SESAME" not in ran.out + ran.err
    assert b"SESAME" not in stored()


def test_a_login_is_not_sent_to_where_a_crawl_is_redirected(run: Run, site: Site) -> None:
    """The host that the user named gets it, another host that joins the crawl does not."""
    ran = run("crawl", site.url(path="/moved"), "--header", "Authorization: x", "--header", "A: b")
    assert ran.code == 0
    seen = {(visit.address, visit.headers.get("authorization")) for visit in asked(site, "a")}
    assert seen == {("127.0.0.1", "x"), (OTHER, None)}


def test_a_resumed_crawl_sends_a_login_to_the_first_host_only(run: Run, site: Site) -> None:
    """Where the start redirected to is known from the store, and is still another host."""
    run("crawl", site.url(path="/moved"), "--max-pages", "1")
    site.log.clear()
    ran = run("crawl", "resume", "--max-pages", "9", "--header", "Authorization: x")
    assert ran.code == 0
    assert {visit.address for visit in site.log} == {OTHER}
    assert not [visit for visit in site.log if "authorization" in visit.headers]


@pytest.mark.parametrize("command", ["crawl", "discover"])
def test_a_login_goes_to_the_origin_that_the_user_named(run: Run, command: str) -> None:
    """Not to other hosts and ports, whose sitemaps robots.txt names or whose pages are linked."""
    sitemap = page(b"<urlset></urlset>")
    with in_thread(Site(by_path({}, sitemap))) as port:
        named = ("/map.xml", port.url(path="/map.xml"), port.url(OTHER, "/map.xml"))
        link = f"<a href={port.url(path='/page')}>x</a>".encode()
        handlers = {
            "/robots.txt": page("".join(f"Sitemap: {url}\n" for url in named).encode()),
            "/map.xml": sitemap,
            "/": page(link, headers=[("Content-Type", "text/html")]),
        }
        with in_thread(Site(by_path(handlers))) as first:
            ran = run(command, first.url(), "--header", "Authorization: x", "--header", "A: b")
            assert ran.code == 0
            sent = {(visit.path, visit.headers.get("authorization")) for visit in asked(first, "a")}
            assert sent == {("/", "x"), ("/map.xml", "x")}
        sent = {(visit.address, visit.headers.get("authorization")) for visit in asked(port, "a")}
        assert sent == {("127.0.0.1", None), (OTHER, None)}


def asked(site: Site, header: str) -> list[Visit]:
    return [visit for visit in site.log if header in visit.headers]


@pytest.mark.parametrize("command", ["get", "crawl"])
def test_cookies_of_a_file_go_to_their_domain(run: Run, site: Site, command: str) -> None:
    """Each host gets its own; a file that is none is a mistake in one line, without its text."""
    line = "{}\tFALSE\t/\tFALSE\t0\tid\t{}\n"
    Path("cookies.txt").write_text(line.format("127.0.0.1", "SESAME") + line.format(SLOW, "no"))
    urls = [site.url(path="/a"), site.url(OTHER, "/a")]
    ran = run(command, *urls, "--cookie-file", "cookies.txt")
    assert ran.code == 0
    seen = {(visit.address, visit.headers.get("cookie")) for visit in site.log}
    assert seen == {("127.0.0.1", "id=SESAME"), (OTHER, None)}
    assert b"SESAME" not in stored()
    Path("cookies.txt").write_text("id=SESAME")
    ran = run(command, *urls, "--cookie-file", "cookies.txt", "--store", "other.db")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "'cookies.txt', line 1" in ran.err
    assert "SESAME" not in ran.err


# How fast.


@pytest.mark.parametrize("command", ["get", "crawl"])
def test_the_delay_is_between_requests_to_a_host(run: Run, site: Site, command: str) -> None:
    """By the server's clock; and never shorter than the Crawl-delay of the site."""
    urls = [site.url(address, f"/{name}") for address in ("127.0.0.1", SLOW) for name in "ab"]
    extra = ["--source", "links"] if command == "crawl" else []
    assert run(command, *urls, "--delay", "0.4", *extra).code == 0
    for address, least in (("127.0.0.1", 0.4), (SLOW, 1.0)):
        times = [visit.at for visit in site.log if visit.address == address]
        assert len(times) == 3
        # The server notes a request when it has read it, a little after it was sent.
        assert all(second - first > least - 0.1 for first, second in pairwise(times))


def test_concurrency_is_the_number_of_requests_at_a_time_to_a_host(run: Run, site: Site) -> None:
    """With 1, the next is sent when the last is answered; 0 is a mistake."""
    urls = [site.url(path=f"/slow/{number}") for number in range(4)]
    assert run("get", *urls, "--concurrency", "1").code == 0
    assert AT_A_TIME == [1, 1, 1, 1]
    ran = run("get", site.url(), "--concurrency", "0")
    assert (ran.code, ran.err) == (
        2,
        "manners: --concurrency: must be at least 1, not 0\n",
    )


# The proxy.


@contextmanager
def proxy(port: int) -> Iterator[tuple[int, list[bytes]]]:
    """A proxy on loopback whose every way leads to one port; its port, and what it was asked."""
    ready, done = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()
    found: list[tuple[int, list[bytes]]] = []

    async def main() -> None:
        async with serving(forwarding(port)) as running:
            found.append((running.port, running.heads))
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()), daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(30)
        loop.close()


@pytest.mark.parametrize("command", ["get", "crawl"])
def test_everything_goes_through_the_proxy(
    run: Run, site: Site, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """robots.txt, too; the proxy's password is for the proxy, and is shown and stored nowhere."""
    monkeypatch.setenv("MANNERS_ALLOW_PRIVATE", "false")
    with proxy(site.ports[0]) as (port, heads):
        place = f"http://me:SESAME@127.0.0.1:{port}"
        ran = run(command, "http://shop.example/a", "--proxy", place, "--log-level", "debug")
    assert ran.code == 0
    # A URL as a whole is what a proxy is asked for.
    asked = {visit.path for visit in site.log}
    assert {"http://shop.example/robots.txt", "http://shop.example/a"} <= asked
    assert heads
    assert all(b"Proxy-Authorization: Basic" in head for head in heads)
    assert "SESAME" not in ran.out + ran.err
    assert b"SESAME" not in stored()


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://localhost/", "http://0x7f.1/"])
def test_a_proxy_is_not_asked_for_what_is_private_by_its_name(
    run: Run, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Addresses and localhost are refused by what is written; other names are the proxy's."""
    monkeypatch.setenv("MANNERS_ALLOW_PRIVATE", "false")
    with proxy(1) as (port, heads):
        ran = run("get", url, "--proxy", f"http://127.0.0.1:{port}")
        assert (ran.code, heads) == (1, [])


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("socks5://me:SESAME@127.0.0.1:1080", "SOCKS proxy cannot be used"),
        ("ftp://me:SESAME@127.0.0.1", "not an http or https URL"),
        ("me:SESAME@proxy.example:3128", "not an http or https URL"),
    ],
)
def test_a_proxy_that_cannot_be_used(run: Run, site: Site, place: str, words: str) -> None:
    """One line, without the password, before anything is asked for."""
    ran = run("get", site.url(), "--proxy", place)
    assert (ran.code, ran.err.count("\n"), site.log) == (2, 1, [])
    assert words in ran.err
    assert "SESAME" not in ran.err


# Lists.

LISTS = {
    "plain": (b"{0}/a\n{0}/b\n", ()),
    "a byte order mark, CRLF, comments, blank lines": (
        b"\xef\xbb\xbf# two pages\r\n\r\n  {0}/a  \r\n{0}/b",
        (),
    ),
    "CSV": (b'id,URL,note\n1,{0}/a,"x, y"\n2,"{0}/b",\n3,,empty\n4\n', ("--urls-column", "URL")),
    "CSV in another case": (b"url\n{0}/a\n{0}/b\n", ("--urls-column", "URL")),
    "CSV of a spreadsheet": (
        b"\xef\xbb\xbfName;Adresse\r\nx;{0}/a\r\ny;{0}/b\r\n",
        ("--urls-column", "Adresse"),
    ),
    "tabs": (b"n\turl\n1\t{0}/a\n2\t{0}/b\n", ("--urls-column", "url")),
}


@pytest.mark.parametrize("command", ["get", "crawl", "check"])
@pytest.mark.parametrize(("listed", "options"), LISTS.values(), ids=LISTS)
def test_lists_of_urls(
    run: Run, site: Site, command: str, listed: bytes, options: tuple[str, ...]
) -> None:
    """Every form that an editor or a spreadsheet gives a list is read."""
    base = site.url(path="").encode()
    Path("list.txt").write_bytes(listed.replace(b"{0}", base))
    ran = run(command, "--urls", "list.txt", *options)
    assert ran.code == 0
    if command == "check":
        assert len(ran.lines) == 2
    else:
        assert sorted(pages(site)) == ["/a", "/b"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--urls", "list.csv", "--urls-column", "link"], "no column 'link'; its first line has"),
        (["https://a.example/", "--urls-column", "url"], "--urls-column needs --urls"),
        (["--urls", "nowhere.csv"], "cannot read 'nowhere.csv'"),
        (["--urls", "list.csv"], "looks like CSV: name the column with --urls-column;"),
        (["--urls", "picture.png"], "the list of URLs is not text; save it as UTF-8"),
        (["--urls", "https://a.example/"], "No such file or directory: this option takes a file"),
        (["list.csv"], "'list.csv' is a file here, not a URL: a file goes with --urls list.csv,"),
    ],
    ids=str,
)
@pytest.mark.parametrize("command", ["get", "crawl", "check"])
def test_lists_that_cannot_be_read(
    run: Run, command: str, arguments: list[str], words: str
) -> None:
    """One line that says what is wrong, and what there is."""
    Path("list.csv").write_text("id,url\n1,https://a.example/\n")
    Path("picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0".replace(b"\n", b""))
    ran: Ran = run(command, *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert words in ran.err


@pytest.mark.parametrize("command", ["explain", "robots", "discover"])
def test_a_file_in_place_of_a_site(run: Run, command: str) -> None:
    """The name of a file is not taken for a domain, unless the scheme says so."""
    Path("robots.txt").write_text("User-agent: *\n")
    ran = run(command, "robots.txt")
    option = "a file goes with --robots robots.txt, " if command == "explain" else ""
    said = f"'robots.txt' is a file here, not a URL: {option}a site is https://robots.txt"
    assert (ran.code, ran.out, ran.err) == (2, "", f"manners: {said}\n")


def test_a_crawl_needs_a_url_in_its_list(run: Run) -> None:
    """A list without one is an error that names it."""
    Path("list.txt").write_text("# nothing\n")
    ran = run("crawl", "--urls", "list.txt")
    assert (ran.code, ran.err) == (2, "manners: no URL in 'list.txt'\n")
