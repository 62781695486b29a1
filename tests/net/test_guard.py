"""Where a request may go: every block, every way to write an address."""

import contextlib
import socket
import sys
import unicodedata
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from manners.errors import InvalidURL
from manners.net import guard
from manners.urls import host, requestable

# Block, the address before it, the address after it; None where another refused block begins.
BLOCKS = [
    ("0.0.0.0/8", None, "1.0.0.0"),
    ("10.0.0.0/8", "9.255.255.255", "11.0.0.0"),
    ("100.64.0.0/10", "100.63.255.255", "100.128.0.0"),
    ("127.0.0.0/8", "126.255.255.255", "128.0.0.0"),
    ("169.254.0.0/16", "169.253.255.255", "169.255.0.0"),
    ("172.16.0.0/12", "172.15.255.255", "172.32.0.0"),
    ("192.0.0.0/24", "191.255.255.255", "192.0.1.0"),
    ("192.88.99.0/24", "192.88.98.255", "192.88.100.0"),
    ("192.168.0.0/16", "192.167.255.255", "192.169.0.0"),
    ("198.18.0.0/15", "198.17.255.255", "198.20.0.0"),
    ("224.0.0.0/4", "223.255.255.255", None),
    ("240.0.0.0/4", None, None),
    ("::/128", None, None),
    ("::1/128", None, None),
    ("64:ff9b:1::/48", "64:ff9b:0:ffff:ffff:ffff:ffff:ffff", "64:ff9b:2::"),
    ("100::/64", "ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None),
    ("100:0:0:1::/64", None, "100:0:0:2::"),
    ("2001::/32", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None),
    ("2001::/23", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"),
    ("2001:db8::/32", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"),
    ("3fff::/20", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"),
    ("5f00::/16", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "5f01::"),
    ("fc00::/7", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe00::"),
    ("fe80::/10", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None),
    ("fec0::/10", None, None),
    ("ff00::/8", None, None),
]
BLOCKS_4 = [row for row in BLOCKS if ":" not in row[0]]


def mapped(address: IPv4Address) -> IPv6Address:
    return IPv6Address(f"::ffff:{address}")


def translated(address: IPv4Address) -> IPv6Address:
    return IPv6Address(f"64:ff9b::{address}")


def six_to_four(address: IPv4Address) -> IPv6Address:
    return IPv6Address(0x2002 << 112 | int(address) << 80 | 0xBEEF)


def compatible(address: IPv4Address) -> IPv6Address:
    return IPv6Address(f"::{address}")


def stateless(address: IPv4Address) -> IPv6Address:
    return IPv6Address(f"::ffff:0:{address}")


def isatap(address: IPv4Address) -> IPv6Address:
    return IPv6Address(f"2606:4700::5efe:{address}")


def isatap_of_the_world(address: IPv4Address) -> IPv6Address:
    return IPv6Address(f"2606:4700::200:5efe:{address}")


WRAPS = [mapped, translated, six_to_four, compatible, stateless, isatap, isatap_of_the_world]


@pytest.mark.parametrize(("block", "before", "after"), BLOCKS)
def test_a_block_is_refused_from_end_to_end(
    block: str, before: str | None, after: str | None
) -> None:
    """The first and the last address are refused, and their neighbours outside are not."""
    network = ip_network(block)
    assert guard.is_refused(network[0])
    assert guard.is_refused(network[-1])
    assert guard.is_refused(network[network.num_addresses // 2])
    for outside in (before, after):
        if outside is not None:
            assert not guard.is_refused(ip_address(outside)), outside


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize(("block", "before", "after"), BLOCKS_4)
def test_a_block_is_refused_inside_ipv6(
    block: str, before: str | None, after: str | None, wrap: type
) -> None:
    """An IPv4 address inside an IPv6 one is judged by what it is."""
    network = ip_network(block)
    assert guard.is_refused(wrap(network[0]))
    assert guard.is_refused(wrap(network[-1]))
    for outside in (before, after):
        if outside is not None:
            assert not guard.is_refused(wrap(ip_address(outside))), outside


@pytest.mark.parametrize(
    "address",
    [
        "64:ff9a:ffff:ffff:ffff:ffff:7f00:1",  # before 64:ff9b::/96
        "64:ff9b::1:7f00:1",  # after it
        "::fffe:7f00:1",  # before the mapped ones
        "::1:0:7f00:1",  # behind the mapped ones
        "::fffe:0:7f00:1",  # before those that are translated
        "2606:4700::5eff:7f00:1",  # behind ISATAP
        "2606:4700::100:5efe:7f00:1",  # neither of its two kinds
        "2001:ffff:7f00:1::",  # before 2002::/16
        "2003:7f00:1::",  # after it
        "2606:4700::1111",
    ],
)
def test_what_only_looks_like_ipv4_inside_ipv6_is_not_refused(address: str) -> None:
    """Outside the prefixes for it, bits that spell a private address mean nothing."""
    assert not guard.is_refused(ip_address(address))


def test_a_zone_does_not_hide_an_address() -> None:
    """An address with a zone is in the block it is in."""
    assert guard.is_refused(ip_address("fe80::1%eth0"))
    assert guard.is_refused(ip_address("::1%lo"))
    assert guard.is_refused(ip_address("::ffff:10.0.0.1%1"))
    assert guard.literal("[fe80::1%eth0]") == ip_address("fe80::1%eth0")


LITERALS = [
    # One address, in every form.
    ("127.0.0.1", "127.0.0.1"),
    ("2130706433", "127.0.0.1"),
    ("017700000001", "127.0.0.1"),
    ("0x7f000001", "127.0.0.1"),
    ("0X7F000001", "127.0.0.1"),
    ("0x7F.0.0.1", "127.0.0.1"),
    ("0X7f.0X0.0x0.0X1", "127.0.0.1"),
    ("0177.0.0.1", "127.0.0.1"),
    ("0177.00.000.01", "127.0.0.1"),
    ("127.1", "127.0.0.1"),
    ("127.0.1", "127.0.0.1"),
    ("0x7f.1", "127.0.0.1"),
    ("0177.0x0.1", "127.0.0.1"),
    ("127.0x1", "127.0.0.1"),
    ("127.0.0.1.", "127.0.0.1"),
    ("127.0.0.1..", "127.0.0.1"),
    ("0x7f.1.", "127.0.0.1"),
    ("0" * 40 + "177.0.0.1", "127.0.0.1"),
    ("0x" + "0" * 200 + "7f000001", "127.0.0.1"),
    ("127." + "0" * 5000 + "1", "127.0.0.1"),
    # The last part fills what is left.
    ("10.16777215", "10.255.255.255"),
    ("192.168.65535", "192.168.255.255"),
    ("0", "0.0.0.0"),
    ("0x", "0.0.0.0"),
    ("0x.0x.0x.0x", "0.0.0.0"),
    ("4294967295", "255.255.255.255"),
    ("0xffffffff", "255.255.255.255"),
    ("037777777777", "255.255.255.255"),
    ("169.254.169.254", "169.254.169.254"),
    ("0xa9fea9fe", "169.254.169.254"),
    # IPv6.
    ("[::1]", "::1"),
    ("::1", "::1"),
    ("[::1].", "::1"),
    ("[0:0:0:0:0:0:0:1]", "::1"),
    ("[0000:0000:0000:0000:0000:0000:0000:0001]", "::1"),
    ("[::ffff:127.0.0.1]", "::ffff:7f00:1"),
    ("[::FFFF:7F00:1]", "::ffff:7f00:1"),
    ("[64:ff9b::10.0.0.1]", "64:ff9b::a00:1"),
    # No such address, or no address at all.
    *(
        (name, None)
        for name in (
            *("4294967296", "0x100000000", "040000000000", "256.1.1.1", "0400.0.0.1", "0x100.1"),
            *("10.16777216", "192.168.65536", "1.2.3.256", "1.2.3.4.5", "08.1.1.1", "1.2.3.09"),
            *("1" * 30, "9" * 5000, "0x" + "f" * 5000, "", ".", "..", "1..2", ".1", "-1", "+1"),
            *("1_0", "0b1", "0o17", "1e1", "0x7g", "x7f", " 127.0.0.1", "127.0.0.1 x", "１"),
            *("[", "[]", "[:", "[::1", "[1:2]", "::1::", "[::127.00.0.1]", "example.com"),
            *("127.0.0.1.example", "localhost", "a.b.c.d", "fe80", "dead.beef"),
        )
    ),
]


@pytest.mark.parametrize(
    ("text", "address"), LITERALS, ids=[repr(text[:24]) for text, _ in LITERALS]
)
def test_a_literal_is_read_however_it_is_written(text: str, address: str | None) -> None:
    """Decimal, octal, hexadecimal, short, long: the same address; everything else is a name."""
    assert guard.literal(text) == (None if address is None else ip_address(address))


@pytest.mark.parametrize(
    "text", [text for text, address in LITERALS if address and address != "::1"] + ["[::1]"]
)
def test_no_spelling_of_a_private_address_is_let_through(text: str) -> None:
    """What is written in the URL is reason enough, before anything is looked up."""
    assert guard.refuses(text)


@pytest.mark.parametrize(
    "name",
    [
        *("localhost", "LOCALHOST", "localhost.", "localhost..", "x.localhost", "a.b.localhost."),
        # Another reader may take these for private addresses: 010 is 8, or 10.
        *("010.0.0.1", "0127.0.0.1", "0169.254.169.254", "0192.168.0.1", "08.8.8.8"),
        # Not canonical, or no address: no top-level domain is a number.
        *("134744072", "8.8.2056", "0x8.8.8.8", "256.1.1.1", "4294967296", "1.2.3.4.5"),
        *("example.1", "example.0x7f", "example.0x", "1..2"),
    ],
)
def test_what_may_mean_this_machine_is_refused_by_name(name: str) -> None:
    """A name that some program along the way may read as another address is refused."""
    assert guard.refuses(name)


@pytest.mark.parametrize(
    "name",
    [
        *("example.com", "example.com.", "8.8.8.8", "8.8.8.8.", "[2606:4700::1111]", "localhosts"),
        *("localhost.example", "mylocalhost", "1.example", "0x7f.example", "127.0.0.1.nip.io"),
        *("xn--bcher-kva.example", "a1", "1a", "x0", "0xg", "10.in-addr.arpa"),
    ],
)
def test_what_is_public_or_must_be_looked_up_is_not_refused_by_name(name: str) -> None:
    """Everything else is judged by the addresses it has."""
    assert not guard.refuses(name)


# The C library reads the same forms. Where it and we may differ:
# - a final dot, and `0x` without digits: it reads no address, we do (as browsers), and refuse;
# - white space and what follows it: it stops reading there; no host of a URL has white space.

zeros = st.sampled_from(["", "0", "00", "0" * 25])
numbers = st.one_of(
    st.sampled_from([0, 1, 7, 8, 9, 10, 127, 168, 172, 192, 255, 256, 257, 65535, 65536]),
    st.sampled_from([2**24 - 1, 2**24, 2**32 - 1, 2**32, 2**64, 2130706433, 0xA9FEA9FE]),
    st.integers(0, 2**33),
)
parts = st.builds(
    lambda number, zero, form: form(number, zero),
    numbers,
    zeros,
    st.sampled_from(
        [
            lambda number, zero: f"{zero}{number}",
            lambda number, zero: f"0{zero}{number:o}",
            lambda number, zero: f"0x{zero}{number:x}",
            lambda number, zero: f"0X{zero}{number:X}",
        ]
    ),
)
hosts = st.one_of(
    st.lists(parts, min_size=1, max_size=5).map(".".join),
    st.text("0123456789abcdefxX.", max_size=24),
    st.tuples(st.lists(parts, min_size=1, max_size=4).map(".".join), st.sampled_from("..x0")).map(
        "".join
    ),
)


def c_library(text: str) -> IPv4Address | None:
    try:
        return IPv4Address(socket.inet_aton(text))
    except OSError:
        return None


@given(hosts)
@example("0x")
@example("127.0.0.1.")
@example("0" * 30 + "177.1")
def test_literals_are_read_as_the_c_library_reads_them(text: str) -> None:
    """What `inet_aton` takes for an address is that address here; the rest differs as listed."""
    theirs, ours = c_library(text), guard.literal(text)
    if theirs is not None:
        assert ours == theirs
    elif ours is not None:
        usual = [
            part + "0" if part in ("0x", "0X") else part for part in text.rstrip(".").split(".")
        ]
        assert c_library(".".join(usual)) == ours


@given(hosts)
def test_nothing_the_system_reads_as_private_is_let_through(text: str) -> None:
    """No spelling that `getaddrinfo` reads as a refused address passes, with or without a proxy."""
    try:
        found = socket.getaddrinfo(text, 80, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return
    if any(guard.is_refused(ip_address(where[0])) for *_, where in found):
        assert guard.refuses(text)


def let_through(written: str) -> str | None:
    """The host that a request for a URL would go to; None when there is none, or it is refused."""
    try:
        name = host(requestable(f"http://{written}/"))
    except InvalidURL:
        return None
    return None if guard.refuses(name) else name


def test_characters_that_stand_for_digits_are_those_digits() -> None:
    """Full-width, circled, superscript and mathematical digits, and other dots, spell no way in."""
    characters = map(chr, range(0x80, sys.maxunicode))
    normal = ((char, unicodedata.normalize("NFKC", char)) for char in characters)
    alike = [(char, plain) for char, plain in normal if plain in set("0127.xX")]
    assert len(alike) > 50
    for char, plain in alike:
        for address in ("127.0.0.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1"):
            if plain.lower() in address:
                assert let_through(address.replace(plain.lower(), char)) is None, (char, address)
                once = address.replace(plain.lower(), char, 1)
                assert let_through(once) is None, (char, once)


def test_digits_of_other_scripts_are_no_digits() -> None:
    """A digit that is not an ASCII one under another guise makes a name, or nothing at all."""
    for code in range(0x80, sys.maxunicode):
        if unicodedata.category(chr(code)) == "Nd" and unicodedata.digit(chr(code)) == 1:
            name = let_through(f"{chr(code)}27.0.0.1")
            assert name is None or name.startswith("xn--"), hex(code)


@pytest.mark.parametrize(
    "written",
    [
        *(
            "１２７.0.0.1",
            "127。0。0。1",
            "127．0．0．1",
            "127｡1",
            "０x7f.1",
            "０Ｘ７Ｆ.1",
            "①②⑦.0.0.1",
        ),
        *("ⓛocalhost", "ＬＯＣＡＬＨＯＳＴ", "local\u00adhost", "x.LocalHost", "localhost。"),
        *("[::ffff:127.0.0.1]", "[0:0:0:0:0:0:0:1]", "[::1]", "[::]", "[FE80::1]", "[::1]:80"),
        *("127.0.0.1:80", "user@127.0.0.1", "example.com@127.0.0.1", "a:b@[::1]:8080"),
        *(
            "[fe80::1%25eth0]",
            "[fe80::1%eth0]",
            "[::1%25lo]",
            "127.0.0.1%00.example",
            "127.0.0.1\t",
        ),
        *(
            "127.0.0.1\\@example.com",
            "example.com\\@127.0.0.1",
            "127.0.0.1%2eexample",
            "%3127.0.0.1",
        ),
        *("0x7f。1", "127.0.0.1..", "localhost..", "[::ffff:7f00:1]", "[2002:7f00:1::]"),
        *("127.0.0.1#@example.com", "127.0.0.1?@example.com", "127.1;@localhost"),
    ],
)
def test_no_url_spells_a_way_in(written: str) -> None:
    """Whatever a URL is written like, it is refused, or it is no URL."""
    assert let_through(written) is None


@given(st.text(st.characters(codec="utf-8"), max_size=12), st.sampled_from(["", ".1", ".0.0.1"]))
def test_a_host_is_judged_as_it_is_sent(start: str, end: str) -> None:
    """What passes is an ASCII name, and the system reads no refused address from it."""
    name = let_through(start + end)
    if name is None:
        return
    assert name.isascii()
    with contextlib.suppress(OSError, UnicodeError):
        found = socket.getaddrinfo(name.strip("[]"), 80, flags=socket.AI_NUMERICHOST)
        assert not any(guard.is_refused(ip_address(where[0])) for *_, where in found)
