"""The guard: which addresses a request may go to.

Otherwise, anyone who can supply a URL could make this program request what only it can reach: the
machine itself, its network, the metadata service of its cloud (SSRF). Names are looked up once,
every address found is judged, and the connection goes to a judged address. IP literals are judged
the same, however they are written.
"""

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

REFUSED = tuple(
    ip_network(block)
    for block in (
        "0.0.0.0/8",  # this network (RFC 791)
        "10.0.0.0/8",  # private (RFC 1918)
        "100.64.0.0/10",  # shared by carriers (RFC 6598)
        "127.0.0.0/8",  # this machine (RFC 1122)
        "169.254.0.0/16",  # link-local (RFC 3927), and the metadata services of clouds
        "172.16.0.0/12",  # private (RFC 1918)
        "192.0.0.0/24",  # protocol assignments (RFC 6890)
        "192.88.99.0/24",  # the nearest 6to4 relay (RFC 7526: deprecated)
        "192.168.0.0/16",  # private (RFC 1918)
        "198.18.0.0/15",  # benchmarks (RFC 2544)
        "224.0.0.0/4",  # multicast (RFC 5771)
        "240.0.0.0/4",  # reserved (RFC 1112), and broadcast
        "::/128",  # unspecified (RFC 4291)
        "::1/128",  # this machine (RFC 4291)
        "64:ff9b:1::/48",  # IPv4 behind a translator of this network (RFC 8215)
        "100::/64",  # discarded (RFC 6666)
        "100:0:0:1::/64",  # a dummy (RFC 9780)
        # Protocol assignments (RFC 2928). Among them Teredo, 2001::/32 (RFC 4380), which hides an
        # IPv4 address; benchmarks, 2001:2::/48 (RFC 5180); and identifiers that are no addresses,
        # 2001:10::/28 and 2001:20::/28 (RFC 4843, RFC 7343).
        "2001::/23",
        "2001:db8::/32",  # documentation (RFC 3849)
        "3fff::/20",  # documentation (RFC 9637)
        "5f00::/16",  # segments of one network's routing (RFC 9602)
        "fc00::/7",  # private (RFC 4193)
        "fe80::/10",  # link-local (RFC 4291)
        "fec0::/10",  # site-local (RFC 3879: deprecated)
        "ff00::/8",  # multicast (RFC 4291)
    )
)
_EMBEDDINGS = {
    int(ip_network(block).network_address) >> 32
    for block in (
        "::/96",  # IPv4-compatible (RFC 4291 section 2.5.5.1)
        "::ffff:0:0/96",  # IPv4-mapped (RFC 4291 section 2.5.5.2)
        "::ffff:0:0:0/96",  # IPv4-translated (RFC 2765 section 2.1)
        "64:ff9b::/96",  # IPv4 behind a translator (RFC 6052)
    )
}
"""Prefixes of 96 bits before the 32 bits of an IPv4 address."""
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
"""The bits before the IPv4 address of an ISATAP interface, in any network (RFC 5214)."""
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+").fullmatch
_TOO_LARGE = 1 << 40  # more than any part of an address may be


def refuses(host: str) -> bool:
    """Whether the host in a URL is refused, before anything is looked up.

    `localhost` is refused, and so are numbers that another program, such as a proxy, may read as
    another address: `010.0.0.1` is 8.0.0.1 for some and 10.0.0.1 for others. No top-level domain is
    a number.

    >>> refuses("127.1"), refuses("localhost."), refuses("example.com"), refuses("8.8.8.8")
    (True, True, False, False)
    """
    name = host.rstrip(".").lower()
    address = literal(name)
    if address is None:
        last = name.rpartition(".")[2]
        return last == "localhost" or _NUMBER(last) is not None  # RFC 6761 section 6.3
    return is_refused(address) or (address.version == 4 and str(address) != name)


def is_refused(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is refused, even as an IPv4 address inside an IPv6 one.

    >>> is_refused(ip_address("::ffff:10.0.0.1")), is_refused(ip_address("93.184.215.14"))
    (True, False)
    """
    if any(address in block for block in REFUSED if block.version == address.version):
        return True
    return any(map(is_refused, _inner(address)))


def _inner(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that packets to an IPv6 address may reach."""
    if isinstance(address, IPv4Address):
        return
    bits = int(address)
    if bits >> 32 in _EMBEDDINGS or bits >> 32 & 0xFFFF_FFFF in _ISATAP:
        yield IPv4Address(bits & 0xFFFF_FFFF)
    if address.sixtofour is not None:
        yield address.sixtofour


def literal(host: str) -> IPv4Address | IPv6Address | None:
    """The address in a host, however it is written; None when the host is a name.

    As browsers and the C library read them: one to four numbers, decimal, octal or hexadecimal,
    the last one filling the remaining bytes.

    >>> literal("0x7f.1"), literal("2130706433"), literal("[::1]"), literal("example.com")
    (IPv4Address('127.0.0.1'), IPv4Address('127.0.0.1'), IPv6Address('::1'), None)
    """
    host = host.rstrip(".")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if ":" in host:
        try:
            return ip_address(host)
        except ValueError:
            return None
    parts = host.split(".")
    if len(parts) > 4 or not all(map(_NUMBER, parts)):
        return None
    *first, last = map(_number, parts)
    if any(number > 255 for number in first) or last >= 256 ** (4 - len(first)):
        return None
    return IPv4Address(last + sum(part << 8 * (3 - place) for place, part in enumerate(first)))


def _number(text: str) -> int:
    base = 16 if text[:2] in ("0x", "0X") else 8 if text[0] == "0" else 10
    digits = text[2 if base == 16 else 0 :].lstrip("0") or "0"  # with any number of leading zeros
    try:
        return int(digits, base) if len(digits) < 16 else _TOO_LARGE
    except ValueError:  # an 8 or a 9 in an octal number
        return _TOO_LARGE
