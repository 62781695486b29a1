"""What pages may be used for, by the robots.txt of their sites: columns of yes, no and null.

Most files say nothing about usage: each is searched once for the words that such lines have, and a
file without them is not kept. Where no path decides, a site is asked once, and else each URL is:
either way, the answers are those of `manners.signals.usage`.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manners._text import to_text
from manners.bulk.decisions import ALLOWED, USAGES, Decisions
from manners.robots.policy import Policy
from manners.signals import Purpose, usage
from manners.signals.robots_lines import RULE_KEYS
from manners.signals.site_signals import SiteSignals, governing_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VALUES = ("yes", "no")
_UNKNOWN, _BY_PATH = -1, -2


class SiteUsages:
    """What the sites of a table say about usage, to one agent.

    `bodies` are the files by the number of their site, null for those that say nothing; `unsure`
    are sites whose encoding may hide the words. `policy` reads the file of a site.
    """

    def __init__(
        self,
        agent: str | Sequence[str],
        bodies: pa.ChunkedArray,
        unsure: Sequence[int],
        policy: Callable[[int], Policy],
    ) -> None:
        self._agent = agent
        tokens = governing_tokens(agent)
        self._sites: dict[int, _SpeakingSite] = {}
        for number in _candidates(bodies, unsure, tokens):
            site = _SpeakingSite(policy(number), agent, tokens)
            if site.speaks:
                self._sites[number] = site
        # The last place is that of rows without a site, whose number is -1.
        self._speaks: NDArray[np.bool_] = np.zeros(len(bodies) + 1, np.bool_)
        self._speaks[list(self._sites)] = True

    @property
    def nbytes(self) -> int:
        """Bytes of memory, roughly."""
        kept = sum(2_000 + len(site.policy.robots.body) for site in self._sites.values())
        return self._speaks.nbytes + kept

    def column(self, name: str, urls: pa.Array, decisions: Decisions) -> pa.Array:
        """The answers for URLs about which it is decided already; null is unknown."""
        speaks = self._speaks[decisions.sites] if self._sites else ()
        if not np.any(speaks):
            indices = pa.nulls(len(decisions), pa.int8())
        else:
            answers = np.full(len(decisions), _UNKNOWN, np.int8)
            rows = np.flatnonzero(speaks)
            answers[rows] = self._answers(USAGES[name], urls, rows, decisions)
            indices = pa.array(answers, mask=answers == _UNKNOWN)
        return pa.DictionaryArray.from_arrays(indices, pa.array(_VALUES))

    def _answers(
        self, purpose: Purpose, urls: pa.Array, rows: "NDArray[np.int64]", decisions: Decisions
    ) -> "NDArray[np.int8]":
        """The answers for rows of sites that speak; sites and verdicts together decide most."""
        keys = decisions.sites[rows].astype(np.int64) << 1
        keys |= (decisions.codes[rows] & 3) == ALLOWED
        kinds, first, places = np.unique(keys, return_index=True, return_inverse=True)
        found = np.empty(len(kinds), np.int8)
        for place, (key, row) in enumerate(zip(kinds.tolist(), rows[first].tolist(), strict=True)):
            site, is_allowed = self._sites[key >> 1], bool(key & 1)
            if not site.is_by_path and is_allowed not in site.answers:
                site.answers[is_allowed] = site.ask(_text(urls[row]))
            found[place] = _BY_PATH if site.is_by_path else site.answers[is_allowed][purpose]
        answers = found[places]
        for place in np.flatnonzero(answers == _BY_PATH).tolist():
            row = int(rows[place])
            answers[place] = self._sites[int(decisions.sites[row])].ask(_text(urls[row]))[purpose]
        return answers


class _SpeakingSite:
    """A site with signals: its policy, and the answers where they do not depend on paths."""

    def __init__(self, policy: Policy, agent: str | Sequence[str], tokens: frozenset[str]) -> None:
        self.policy, self._agent = policy, agent
        self.answers: dict[bool, dict[Purpose, int]] = {}
        """By whether the URL is allowed: AIPREF has no preference for one that is not."""
        signals = SiteSignals(policy, tokens)
        self.speaks, self.is_by_path = signals.speaks, signals.is_by_path

    def ask(self, url: str) -> dict[Purpose, int]:
        """The answer for each purpose, as a place in `_VALUES`."""
        found = usage(url, self._agent, self.policy.robots)
        return {
            purpose: _VALUES.index(item.answer) if item.answer in _VALUES else _UNKNOWN
            for purpose, item in found.items()
        }


def _text(value: pa.Scalar) -> str:
    url = value.as_py()
    return url if isinstance(url, str) else to_text(url)


def _candidates(
    bodies: pa.ChunkedArray, unsure: Sequence[int], tokens: frozenset[str]
) -> list[int]:
    """The sites whose files may speak of usage; a licence alone says nothing here."""
    pattern = "|".join(map(re.escape, sorted({*RULE_KEYS, *tokens})))
    found = pc.match_substring_regex(bodies, pattern, ignore_case=True)
    for mark in (b"\xff\xfe", b"\xfe\xff"):  # UTF-16: a zero beside every letter
        found = pc.or_(found, pc.starts_with(bodies, mark))
    return sorted({*np.flatnonzero(found.fill_null(False)).tolist(), *unsure})
