"""The hosts, with their requests and delays."""

from manners._text import duration
from manners.report.data import HostRow, Report
from manners.report.html import words
from manners.report.html.elements import Child, untrusted
from manners.report.html.parts import cut_notice, note, nothing, small, table

ORDER = 100
TITLE = "Hosts"


def content(report: Report) -> Child:
    """The hosts with most requests."""
    hosts = report.hosts
    if not hosts.rows:
        return nothing("None was asked.")
    header = ("Host", "Requests>", "Shortest gap>", "Last delay>")
    return [
        note(
            "Requests for pages and sitemaps, every attempt; requests for robots.txt are not"
            " counted."
        ),
        table("Hosts", header, map(_row, hosts.rows), hide=True),
        cut_notice(hosts, "host", report),
    ]


def _row(host: HostRow) -> tuple[Child, ...]:
    facts = f"{words.size(host.bytes)}, responses in {duration(host.seconds)} on average"
    return (
        [untrusted(host.host, 100), small(facts)],
        f"{host.requests:,}",
        "" if host.shortest is None else duration(host.shortest),
        duration(host.delay),
    )
