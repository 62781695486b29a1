"""A table of sites in plain Python: the reference for the kernel's."""

import math
from array import array
from collections.abc import Callable, Mapping
from itertools import accumulate

import pyarrow as pa

from manners._arrow import plain_rows
from manners._text import to_bytes, to_text
from manners.bulk.decisions import (
    ALLOWED,
    DISALLOWED,
    INVALID_URL,
    NO_ROBOTS,
    NO_URL,
    UNDECIDED,
    code,
)
from manners.errors import InvalidURL
from manners.robots.policy import Policy
from manners.robots.verdict import Reason
from manners.urls import origin

FREE = 0
"""A row of a table of sites whose rules decide; any other number is the code for every URL."""


class PlainTable:
    """Policies by origin, in plain Python.

    `rules` is the policy of a body; `stale` are the rows that an earlier copy decides; `fixed` has
    one code for every URL of a site, or 0 where its rules decide.
    """

    def __init__(self, rules: Callable[[bytes, str, str], Policy]) -> None:
        self._rules = rules
        self._numbers: dict[str, int] = {}
        self._policies: list[Policy] = []
        self._fixed: list[int] = []
        self._is_stale: list[bool] = []

    def __len__(self) -> int:
        return len(self._policies)

    def add(self, sites: pa.Table, fixed: bytes, stale: bytes, charsets: Mapping[int, str]) -> None:
        """Add the sites of a table with `origin` and `body`."""
        rows = zip(plain_rows(sites, "origin", "body"), fixed, stale, strict=True)
        for row, ((name, body), answer, is_stale) in enumerate(rows):
            text = to_text(name or b"")
            self._numbers[text] = len(self._policies)
            self._policies.append(self._rules(body or b"", charsets.get(row, ""), text))
            self._fixed.append(answer)
            self._is_stale.append(bool(is_stale))

    def decide(self, urls: pa.Array) -> tuple[bytes, bytes, bytes, bytes]:
        """For each row a code, the deciding line, the site and its rule."""
        codes, lines, sites, rules = bytearray(), array("i"), array("i"), array("i")
        for (url,) in plain_rows(urls):
            number, found, line, rule = self._decide(url)
            codes.append(found)
            lines.append(line)
            sites.append(number)
            rules.append(rule)
        return bytes(codes), lines.tobytes(), sites.tobytes(), rules.tobytes()

    def _decide(self, url: bytes | None) -> tuple[int, int, int, int]:
        if url is None:
            return -1, code(NO_URL, UNDECIDED), 0, 0
        text = to_text(url)
        try:
            number = self._numbers.get(origin(text), -1)
        except InvalidURL:
            return -1, code(INVALID_URL, UNDECIDED), 0, 0
        if number < 0:
            return -1, code(NO_ROBOTS, UNDECIDED), 0, 0
        return number, *self._decide_by(number, text)

    def _decide_by(self, number: int, url: str) -> tuple[int, int, int]:
        """The code, the deciding line and its rule, by the robots.txt of a site."""
        policy, fixed = self._policies[number], self._fixed[number]
        verdict = policy.check(url)
        if verdict.reason is Reason.ROBOTS_TXT_ITSELF and fixed & 3 != UNDECIDED:
            return code(verdict.reason.value, ALLOWED), 0, 0
        if fixed != FREE:
            return fixed, 0, 0
        reason = Reason.STALE_COPY if self._is_stale[number] else verdict.reason
        answer = ALLOWED if verdict.allowed else DISALLOWED
        rule = policy._decide(url)[1] if verdict.rule is not None else 0
        return code(reason.value, answer), verdict.line, rule

    def rule_places(self, sites: bytes, rules: bytes) -> tuple[bytes, bytes, bytes]:
        """The place of each row's rule among the distinct ones; the texts of those, such as
        `Disallow: /path`, one behind the other, after the numbers of bytes where each ends."""
        places, found = array("i"), dict[tuple[int, int], int]()
        for key in zip(memoryview(sites).cast("i"), memoryview(rules).cast("i"), strict=True):
            places.append(found.setdefault(key, len(found)) if key[1] else 0)
        texts = [self._rule_text(*key) for key in found]
        ends = array("i", accumulate(map(len, texts), initial=0))
        return places.tobytes(), ends.tobytes(), b"".join(texts)

    def _rule_text(self, site: int, rule: int) -> bytes:
        found = self._policies[site]._rule(rule)
        if found is None:
            return b""
        return (b"Allow: " if found.allow else b"Disallow: ") + to_bytes(found.pattern)

    def delays(self) -> bytes:
        """The crawl delay of each site, as bytes of doubles; NaN where it asks for none."""
        found = (policy.crawl_delay for policy in self._policies)
        return array("d", (math.nan if delay is None else delay for delay in found)).tobytes()

    def origins(self) -> list[str]:
        """The origins of the sites, by their number."""
        return list(self._numbers)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, roughly."""
        return sum(2_000 + len(policy.robots.body) for policy in self._policies)
