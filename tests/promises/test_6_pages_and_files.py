"""Section 6 of the list of defects: pages in other charsets, lists of URLs, patterns of paths."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import manners
from manners import Settings
from manners.errors import InvalidURL
from manners.settings import SettingsError
from manners.urls import origin, with_scheme
from tests.cli.running import Run
from tests.client.asking import blocking, rules, settings
from tests.faults.server import Call, Site, by_path, in_thread, page

HTML = [("Content-Type", "text/html")]
LATIN = '<meta charset="iso-8859-1"><title>Café “Ü”</title><a href="/straße">x'.encode("cp1252")


async def utf8(call: Call) -> None:
    await call.reply(200, "<title>ü</title><p>ü".encode(), [("Content-Type", "text/html")])


SITE = by_path(
    {
        "/robots.txt": rules("Disallow: /private/", "Crawl-delay: 0"),
        "/latin": page(LATIN, headers=HTML),
        "/utf8": utf8,
    },
    page(b"hi"),
)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with in_thread(Site(SITE)) as running:
        yield running


# Charsets.


def test_a_page_in_latin_1_that_says_so_in_its_markup_is_read_as_that(site: Site) -> None:
    """Text, title and links of a page are right by its `<meta charset>` alone."""
    with blocking() as client:
        read = client.get(site.url(path="/latin"))
    assert "Café “Ü”" in read.text
    start = site.url(path="/latin")
    pages = {each.url: each for each in manners.crawl([start], settings(max_pages=3))}
    assert pages[start].title == "Café “Ü”"
    assert site.url(path="/stra%C3%9Fe") in pages


def test_the_charset_is_found_in_the_order_of_the_html_standard(site: Site) -> None:
    """Without any sign it is UTF-8; the details are in `tests/test_charset.py`."""
    with blocking() as client:
        assert client.get(site.url(path="/utf8")).text == "<title>ü</title><p>ü"


# Lists of URLs.

LIST = "\ufeff# the sites of today\r\n\r\n{base}/a\r\n   # more of them\r\n{base}/private/b\r\n\r\n"


@pytest.mark.parametrize("command", ["check", "get"])
@pytest.mark.parametrize("option", ["--urls", "-"])
def test_a_list_may_have_a_bom_comments_blank_lines_and_crlf(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch, command: str, option: str
) -> None:
    """In a file and on standard input, for every command that reads a list."""
    text = LIST.format(base=site.url(path="").rstrip("/"))
    Path("urls.txt").write_text(text, encoding="utf-8", newline="")
    with Path("urls.txt").open(encoding="utf-8") as given:
        monkeypatch.setattr(sys, "stdin", given)
        ran = run(command, *(["--urls", "urls.txt"] if option == "--urls" else ["-"]))
    assert ran.code == 1  # the second is disallowed, and nothing else is wrong
    assert sorted(line.split()[1] for line in ran.lines) == [
        site.url(path="/a"),
        site.url(path="/private/b"),
    ]


def test_a_list_in_utf_16_is_an_error_that_says_so(run: Run) -> None:
    """It is not read as one URL of strange characters."""
    Path("urls.txt").write_text("https://example.com/\n", encoding="utf-16")
    ran = run("check", "--urls", "urls.txt")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "manners: the list of URLs is in UTF-16; save it as UTF-8\n"


# Bare domains.


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("example.com", "https://example.com"),
        ("example.com/path?q#f", "https://example.com/path?q#f"),
        ("EXAMPLE.com:8443?q", "https://EXAMPLE.com:8443?q"),
        ("bücher.example/", "https://bücher.example/"),
        ("93.184.215.14/x", "https://93.184.215.14/x"),
        ("[2001:db8::1]:8080/", "https://[2001:db8::1]:8080/"),
        ("localhost", "http://localhost"),
        ("LocalHost:8000/x", "http://LocalHost:8000/x"),
        ("app.localhost", "http://app.localhost"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("127.9.9.9/x", "http://127.9.9.9/x"),
        ("0.0.0.0:80", "http://0.0.0.0:80"),
        ("[::1]/x", "http://[::1]/x"),
        ("localhost.example.com", "https://localhost.example.com"),
    ],
)
def test_a_bare_domain_is_https_and_http_on_this_machine(typed: str, url: str) -> None:
    """What people type for a URL is one."""
    assert with_scheme(typed) == url
    assert origin(with_scheme(typed)).startswith(url.partition(":")[0])


@pytest.mark.parametrize(
    "typed",
    ["", "x", "nonsense", "mailto:a@b.example", "tel:123", "user@example.com", "ftp://a.example/",
     "javascript:alert(1)", "/private/x", "//example.com/", "a b.example", "example.com:http", ".",
     "..", "-a.example", "example.com:123456", "\\\\example.com", "https:example.com", "a.b\n"],
)  # fmt: skip
def test_what_is_no_domain_is_still_an_error(typed: str) -> None:
    """Nothing is guessed: it stays as it is, and is refused where a request would be made."""
    assert with_scheme(typed) == typed
    with pytest.raises(InvalidURL):
        origin(with_scheme(typed))


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["explain"],
        ["robots"],
        ["get", "--no-evidence"],
        ["discover"],
        ["crawl", "--max-pages", "1"],
        ["crawl", "--dry-run"],
        ["cache", "--cache", "cache.db", "show"],
        ["cache", "--cache", "cache.db", "forget"],
    ],
    ids=" ".join,
)
def test_every_command_that_takes_a_url_takes_a_bare_domain(
    run: Run, site: Site, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`127.0.0.1:PORT` is as good as `http://127.0.0.1:PORT/`."""
    for limit in ("CONNECT", "READ", "TOTAL"):  # however busy the machine is
        monkeypatch.setenv(f"MANNERS_{limit}_TIMEOUT", "60")
    bare = site.url().removeprefix("http://").rstrip("/")
    if words[0] == "cache":
        assert run("check", bare, "--cache", "cache.db").code == 0
        words = [words[0], words[-1], *words[1:-1]]
    ran = run(*words, bare)
    assert (ran.code, "invalid" in ran.err, "not an http" in ran.err) == (0, False, False), ran.err


def test_a_list_may_have_bare_domains(run: Run, site: Site) -> None:
    """One reader for all lists."""
    bare = site.url().removeprefix("http://")
    Path("urls.txt").write_text(f"{bare}a\n{bare}private/\n")
    ran = run("check", "--urls", "urls.txt")
    assert [line.split()[1] for line in ran.lines] == [site.url() + "a", site.url() + "private/"]


def test_the_library_takes_urls_and_says_what_is_none() -> None:
    """A program that forgot the scheme is told so: nothing is guessed for it."""
    with blocking() as client, pytest.raises(InvalidURL, match="not an http or https URL"):
        client.get("example.com")


# Patterns of paths.


@pytest.mark.parametrize("option", ["--include", "--exclude"])
def test_a_pattern_without_a_leading_slash_is_an_error_that_says_what_to_write(
    run: Run, site: Site, option: str
) -> None:
    """It would match nothing: an inclusion would silently leave everything out."""
    for command in ("crawl", "discover"):
        ran = run(command, site.url(), option, "p/1")
        assert (ran.code, ran.out) == (2, "")
        assert "write '/p/1', or '*p/1*' to match anywhere" in ran.err
    name = option.removeprefix("--")
    with pytest.raises(SettingsError, match="paths begin with '/'"):
        Settings(**{name: ("p/1",)})  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="write '/a', without the host"):
        Settings(**{name: ("https://example.com/a",)})  # type: ignore[arg-type]
    assert Settings(**{name: ("/p/1", "*p/1", "?p", "re:p/1")})  # type: ignore[arg-type]


def test_who_sits_at_a_terminal_is_told_what_is_waited_for(tmp_path: Path) -> None:
    """Without URLs, standard input is read, and that is said where it is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "manners", "check"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        text=True,
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        os.write(ours, b"mailto:x\n\x04")  # Ctrl-D
        out, _ = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert said == "manners: reading URLs, one per line, from standard input; Ctrl-D ends it\n"
    assert (process.returncode, out.split()[0]) == (3, "invalid-url")
