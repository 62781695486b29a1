"""The rules for one agent as a list: the first that matches a path decides."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from manners._text import to_bytes
from manners.lint.impact.automata import Automata, split
from manners.lint.impact.searching import StepBudget
from manners.lint.impact.spaces import cuts_query
from manners.robots.dialects import Dialect
from manners.robots.groups import Rule
from manners.robots.patterns import index_html_pattern, scanner_path

ROBOTS_TXT = (Rule(True, "/robots.txt$", -1), Rule(True, "/robots.txt?", -1))
"""RFC 9309 section 2.2.2: "The /robots.txt URI is implicitly allowed." Above all other rules."""


_GRAM = 3
"""Bytes of the texts by which rules with stars are found."""
_MANY = 16
"""From this many rules behind one literal on, they are."""
_BEHIND = "\u0100"
"""Behind every character of a pattern: they stand for bytes."""


def windows(text: str) -> set[str]:
    """All parts of a text that have the length of a gram."""
    return {text[at : at + _GRAM] for at in range(len(text) - _GRAM + 1)}


class RankedRule(NamedTuple):
    """A rule in its place."""

    rule: Rule
    """The rule of the file."""
    allow: bool
    pattern: str
    """What is compared, one character for each byte. Google also allows the folder of an index page
    that is allowed: then a rule is in two places."""
    state: int
    """The first state of its automaton."""
    literal: str
    """What every path that it matches begins with."""
    parts: tuple[str, tuple[str, ...], str | None]
    """The pattern as `split` has it."""

    @property
    def grams(self) -> set[str]:
        """Texts of one length that every path it matches has behind its literal."""
        literal, pieces, end = self.parts
        texts = [*pieces, end or "", "" if literal == self.literal else literal]
        return {gram for text in texts for gram in windows(text)}

    def matches(self, path: str) -> bool:
        """Whether it matches a path: a piece is taken where it comes first, as by its automaton."""
        literal, pieces, end = self.parts
        if not path.startswith(literal):
            return False
        place = len(literal)
        for piece in pieces:
            place = path.find(piece, place)
            if place < 0:
                return False
            place += len(piece)
        if end is None:
            return True
        if not pieces and "*" not in self.pattern:
            return len(path) == place
        return place <= len(path) - len(end) and path.endswith(end)


class RuleList:
    """Rules, the best first, with their automata.

    >>> from manners.robots.dialects import get
    >>> rules = [Rule(False, "/a", 1), Rule(True, "/a/b", 2)]
    >>> [ranked.rule.line for ranked in RuleList.of(rules, get("google"), Automata()).ranked]
    [2, 1]
    """

    def __init__(self, ranked: Sequence[RankedRule], automata: Automata, dialect: Dialect) -> None:
        self.ranked = ranked
        self.automata = automata
        self.dialect = dialect
        self._cuts_query = cuts_query(dialect)
        self._by_literal: dict[str, list[int]] = {}
        self._by_rule: dict[int, list[int]] = {}
        for place, found in enumerate(ranked):
            self._by_literal.setdefault(found.literal, []).append(place)
            self._by_rule.setdefault(id(found.rule), []).append(place)

    @classmethod
    def of(cls, rules: Iterable[Rule], dialect: Dialect, automata: Automata) -> "RuleList":
        """From the rules for one agent, in file order."""
        ranked: list[RankedRule] = []
        if dialect.robots_txt_allowed:
            with_operators = dialect if dialect.wildcards else dialect.but(wildcards=True)
            ranked += [_ranked(rule, rule.pattern, with_operators, automata) for rule in ROBOTS_TXT]
        ranked += [
            _ranked(rule, pattern, dialect, automata) for rule, pattern in _in_order(rules, dialect)
        ]
        return cls(ranked, automata, dialect)

    def without(self, rule: Rule) -> "RuleList":
        """The list without a rule, in all its places."""
        ranked = [found for found in self.ranked if found.rule is not rule]
        return RuleList(ranked, self.automata, self.dialect)

    def places(self, rule: Rule) -> list[int]:
        """Where a rule is: in no place, in one, or with the folder of an index page in two."""
        return self._by_rule.get(id(rule), [])

    def near(self, literal: str, allow: bool) -> list[int]:
        """The places of the rules with a verdict that may match a path of this beginning."""
        literals, by_literal = self._by_verdict[allow]
        wanted = [text for text in (literal[:n] for n in range(len(literal))) if text in by_literal]
        start, end = bisect_left(literals, literal), bisect_left(literals, literal + _BEHIND)
        return sorted(
            chain.from_iterable(map(by_literal.__getitem__, wanted + literals[start:end]))
        )

    def matching(self, path: str, budget: StepBudget) -> Iterator[int]:
        """The places of the rules that match a path, in order."""
        read = self.read(path)
        places = sorted(self._candidates(path, read))
        budget.take(1 + (len(path) + len(places)) // 3)  # comparing strings is quicker than a step
        for place in places:
            if self.ranked[place].matches(read):
                yield place

    def read(self, path: str) -> str:
        """A path as the dialect compares it."""
        return scanner_path(path) if self._cuts_query else path

    def allows(self, place: int) -> bool:
        """The verdict of a place; of that behind the last, too, where nothing matched."""
        return place == len(self.ranked) or self.ranked[place].allow

    @cached_property
    def _by_verdict(self) -> dict[bool, tuple[list[str], dict[str, list[int]]]]:
        """For each verdict: the literals of its rules, sorted, and the places by literal."""
        found: dict[bool, dict[str, list[int]]] = {True: {}, False: {}}
        for place, ranked in enumerate(self.ranked):
            found[ranked.allow].setdefault(ranked.literal, []).append(place)
        return {allow: (sorted(places), places) for allow, places in found.items()}

    @cached_property
    def _grams(self) -> dict[str, dict[str, list[int]]]:
        """Places by literal, and then by a gram that a path must have; "" is for those without.

        A path has few of the grams of many rules, so most rules are never tried.
        """
        found: dict[str, dict[str, list[int]]] = {}
        for literal, places in self._by_literal.items():
            grams = {place: self.ranked[place].grams for place in places}
            if len(places) < _MANY:
                found[literal] = {"": places}
                continue
            count = Counter(gram for some in grams.values() for gram in some)
            by_gram = found[literal] = {"": []}
            for place, some in grams.items():
                rarest = min(some, key=lambda gram: (count[gram], gram), default="")
                by_gram.setdefault(rarest, []).append(place)
        return found

    def _candidates(self, path: str, read: str) -> Iterator[int]:
        """The places of the rules that may match a path."""
        grams: set[str] = set()
        for length in range(len(path) + 1):
            by_gram = self._grams.get(path[:length])
            if by_gram is None:
                continue
            yield from by_gram[""]
            if len(by_gram) > 1:
                grams = grams or windows(read)
                for gram in by_gram.keys() & grams:
                    yield from by_gram[gram]


def _in_order(rules: Iterable[Rule], dialect: Dialect) -> list[tuple[Rule, str]]:
    """Rules and their patterns, the best first, as `manners.robots.patterns` ranks them."""
    patterns: list[tuple[Rule, str]] = []
    for rule in rules:
        patterns.append((rule, _one_a_byte(rule.pattern)))
        folder = index_html_pattern(rule.pattern) if dialect.index_html and rule.allow else None
        if folder:
            patterns.append((rule, _one_a_byte(folder)))
    match dialect.rank:  # sorting is stable: all else being equal, the earlier line is better
        case "longest":
            patterns.sort(key=lambda item: (-len(item[1]), not item[0].allow))
        case "allow-first":
            patterns.sort(key=lambda item: (not item[0].allow, -len(item[1])))
        case "first":
            pass
    return patterns


def _ranked(rule: Rule, pattern: str, dialect: Dialect, automata: Automata) -> RankedRule:
    state = automata.pattern(pattern, dialect.wildcards)
    parts = split(pattern, dialect.wildcards)
    literal = parts[0]
    if cuts_query(dialect):
        state = automata.without_query(state)
        literal = literal[:1]  # a path that matches `/a` may begin with `//a`
    # An empty pattern, where the dialect has it, matches everything and allows it.
    return RankedRule(rule, rule.allow or not pattern, pattern, state, literal, parts)


def _one_a_byte(pattern: str) -> str:
    return pattern if pattern.isascii() else to_bytes(pattern).decode("latin-1")
