"""The cookies of a file go where the file says, and nowhere else."""

import asyncio
from pathlib import Path

import pytest

from manners.errors import SettingsError
from manners.net.cookies import Cookies
from manners.net.http import Http
from manners.net.messages import Get
from tests.net.servers import Answers, serving

FILE = "\n".join(
    (
        "# Netscape HTTP Cookie File",
        "",
        ".shop.example\tTRUE\t/\tFALSE\t0\tall\t1",
        "shop.example\tFALSE\t/\tFALSE\t0\tone\t2",
        "#HttpOnly_shop.example\tFALSE\t/account\tTRUE\t0\tlogin\ta=b",
        "shop.example\tFALSE\t/\tFALSE\t100\told\t3",
        "10.0.0.1\tTRUE\t/\tFALSE\t0\taddress\t4",
        "bücher.example\tFALSE\t/\tFALSE\t0\tidn\t5\r",
        "",
    )
).encode()


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("http://shop.example/", "all=1; one=2"),
        ("http://SHOP.example:8080?x", "all=1; one=2"),
        ("http://www.shop.example/", "all=1"),
        ("http://a.b.shop.example/", "all=1"),
        ("http://workshop.example/", ""),
        ("http://example/", ""),
        ("https://shop.example/account", "login=a=b; all=1; one=2"),
        ("https://shop.example/account/x?y", "login=a=b; all=1; one=2"),
        ("https://shop.example/accounts", "all=1; one=2"),
        ("http://shop.example/account", "all=1; one=2"),
        ("http://10.0.0.1/", "address=4"),
        ("http://xn--bcher-kva.example/", "idn=5"),
    ],
)
def test_a_request_carries_the_cookies_of_its_domain_and_path(url: str, sent: str) -> None:
    """Domain, path, https and expiry decide, as RFC 6265 section 5.4 says."""
    assert Cookies.parse(FILE, "cookies.txt").header(url, 1000.0) == sent


def test_a_cookie_expires_while_a_crawl_runs() -> None:
    """The time of the request counts, not that of the start."""
    cookies = Cookies.parse(b"a.example\tFALSE\t/\tFALSE\t100\tname\t1", "cookies.txt")
    assert cookies.header("https://a.example/", 99.0) == "name=1"
    assert cookies.header("https://a.example/", 100.0) == ""


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a.example FALSE / FALSE 0 name SECRET", "7 fields with tabs"),
        ('[{"domain": "a.example", "value": "SECRET"}]', "7 fields with tabs"),
        ("a b\tFALSE\t/\tFALSE\t0\tname\tSECRET", "the domain is not a host name"),
        ("a.example\tFALSE\t/\tFALSE\tsoon\tname\tSECRET", "expires is not a number"),
        ("a.example\tFALSE\t/\tFALSE\t0\t\tSECRET", "cannot have"),
        ("a.example\tFALSE\t/\tFALSE\t0\tname\tSECRET; x=y", "cannot have"),
        ("a.example\tFALSE\t/\tFALSE\t0\tname\tSECRET\x0b", "control character"),
    ],
)
def test_a_line_that_is_no_cookie_is_named_and_not_shown(line: str, problem: str) -> None:
    """The message has the number of the line; its text may be a secret."""
    with pytest.raises(SettingsError, match="line 2") as raised:
        Cookies.parse(f"# a comment\n{line}\n".encode(), "cookies.txt")
    assert problem in str(raised.value)
    assert "SECRET" not in str(raised.value)


def test_no_cookie_is_in_what_python_shows_of_it() -> None:
    """A traceback or a log of a cookie has its name only."""
    (cookie,) = Cookies.parse(b"a.example\tFALSE\t/\tFALSE\t0\tid\tSECRET", "x")._of("a.example")
    assert repr(cookie) == "Cookie('a.example', 'id')"


def test_cookies_of_a_file_are_sent_beside_others(tmp_path: Path) -> None:
    """A Cookie header of the caller's stays; another host gets nothing of the file."""
    file = tmp_path / "cookies.txt"
    file.write_bytes(FILE)

    async def main() -> None:
        sender = Http(
            user_agent="MyBot",
            allow_private=True,
            cookie_file=str(file),
            resolver=Answers(["127.0.0.1"]),
        )
        async with serving() as server:
            try:
                for name, headers in (("shop", {}), ("shop", {"cookie": "own=0"}), ("other", {})):
                    await sender.send(Get(f"http://{name}.example:{server.port}/", headers))
            finally:
                await sender.close()
            seen = [server.headers(number).get("cookie") for number in range(3)]
        assert seen == ["all=1; one=2", "own=0; all=1; one=2", None]

    asyncio.run(main())
