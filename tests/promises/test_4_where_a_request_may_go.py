"""Section 4, and the last line of section 9: where a request may go."""

from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from manners.net import guard
from tests.client.asking import asking, run, site, to
from tests.crawler.ran import Ran, served
from tests.faults.server import Site, page

BLOCKS = {
    "translated in a network of its own": "64:ff9b:1::/48",
    "site-local": "fec0::/10",
    "Teredo": "2001::/32",
    "discarded": "100::/64",
    "documentation": "2001:db8::/32",
}
PRIVATE_INSIDE = {
    "IPv4-compatible": "::10.0.0.1",
    "IPv4-mapped": "::ffff:10.0.0.1",
    "IPv4-translated": "::ffff:0:10.0.0.1",
    "NAT64": "64:ff9b::10.0.0.1",
    "6to4": "2002:a00:1::1",
    "ISATAP": "2606:4700::5efe:10.0.0.1",
    "ISATAP, globally unique": "2606:4700::200:5efe:10.0.0.1",
    "ISATAP in 6to4": "2002:808:808::5efe:10.0.0.1",
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=list(BLOCKS))
def test_the_guard_refuses_addresses_that_are_no_public_host(block: str) -> None:
    """From the first to the last of the block, written in a URL as well."""
    network = ip_network(block)
    for address in (network[0], network[-1]):
        assert guard.is_refused(address)
        assert guard.refuses(f"[{address}]")


@pytest.mark.parametrize("address", PRIVATE_INSIDE.values(), ids=list(PRIVATE_INSIDE))
def test_the_guard_refuses_a_private_address_inside_an_ipv6_address(address: str) -> None:
    """However it is embedded; a public one inside the same prefix passes."""
    assert guard.is_refused(ip_address(address))
    public = address.replace("10.0.0.1", "8.8.8.8").replace("a00:1:", "808:808:")
    assert not guard.is_refused(ip_address(public))


@pytest.mark.parametrize(
    "location", ["http:///x", "///x", "http:/x", "javascript:x", "http://a\tb/"]
)
def test_pages_robots_txt_and_crawls_agree_on_what_a_redirect_target_is(
    location: str, tmp_path: Path
) -> None:
    """What is no target for one of them is none for the others, and nothing is asked for."""

    async def main() -> None:
        async with Site(site(page=to(location))) as server, asking() as client:
            found = await client.get(server.url(path="/page"))
            assert (found.status, found.cause) == (302, "invalid redirect target")
            assert [visit.path for visit in server.log] == ["/robots.txt", "/page"]
        async with Site(site(robots=to(location))) as server, asking() as client:
            verdict = await client.check(server.url(path="/page"))
            assert str(verdict) == "disallowed: unreachable (302 without a usable Location)"
            assert [visit.path for visit in server.log] == ["/robots.txt"]
        async with Site(served({"/": to(location), "/x": page(b"")})) as server:
            ran = Ran(server, str(tmp_path / "crawl.db"))
            await ran.go(source="links")
            assert ran.states == {"/": ("failed", "invalid redirect target")}
            assert ran.asked == ["/"]

    run(main)
