"""Patterns as automata: what is left of a pattern after some bytes of a path.

A pattern of robots.txt has a *deterministic* automaton with at most two states more than it has
bytes. The literal before the first star is read byte by byte. Each piece between stars is searched
for as Knuth, Morris and Pratt do, and left for good at its first match: what follows then has the
most room, so nothing is lost. A piece before `$` is searched for in the same way, but counts only
at the end. So no subsets of states have to be built, however many stars there are.

A state is the *rest* of a pattern. Equal rests of different patterns are one state, and states are
numbers.
"""

DEAD, ALL = 0, 1
"""The states from which nothing matches, and everything."""
FAR = 1 << 30
"""A distance that no path has."""

Rest = tuple[object, ...]
"""What identifies a state: its kind, and what is left to be read."""


class Automata:
    """The states of any number of patterns, made when they are first needed.

    >>> automata = Automata()
    >>> start = automata.pattern("/a*b$")
    >>> [automata.accepts[automata.run(start, path)] for path in ("/ab", "/axb", "/abc")]
    [True, True, False]
    """

    def __init__(self) -> None:
        self._rests: list[Rest] = [("dead",), ("all",)]
        self._numbers: dict[Rest, int] = {}
        self._moves: list[dict[str, int] | None] = [{}, {}]
        self.default: list[int] = [DEAD, ALL]
        """Where a state goes on a byte that is not among its moves; known after `moves`."""
        self.accepts: list[bool] = [False, True]
        """Whether a path that ends here matches."""
        self.distance: list[int] = [FAR, 0]
        """The fewest bytes to a match."""
        self._patterns: dict[tuple[str, bool], int] = {}
        self._failures: dict[str, list[int]] = {}

    def pattern(self, pattern: str, wildcards: bool = True) -> int:
        """The first state of a pattern."""
        state = self._patterns.get((pattern, wildcards))
        if state is None:
            state = self._literal(*split(pattern, wildcards))
            self._patterns[pattern, wildcards] = state
        return state

    def without_query(self, state: int, after_slash: bool = False) -> int:
        """A state for paths whose query is cut off first, and whose `//` are read as `/`."""
        if state in (DEAD, ALL):
            return state
        rest = ("without-query", state, after_slash)
        return self._state(rest, self.accepts[state], self.distance[state])

    def moves(self, state: int) -> dict[str, int]:
        """The bytes on which a state goes elsewhere than by default."""
        found = self._moves[state]
        return self._expand(state) if found is None else found

    def step(self, state: int, byte: str) -> int:
        """The state after one more byte."""
        moves = self._moves[state]
        if moves is None:
            moves = self._expand(state)
        return moves.get(byte, self.default[state])

    def run(self, state: int, text: str) -> int:
        """The state after some more bytes."""
        for byte in text:
            if state <= ALL:
                break
            state = self.step(state, byte)
        return state

    def matches(self, state: int, path: str) -> bool:
        """Whether the rest of a pattern matches the rest of a path."""
        rest = self._rests[state]
        if rest[0] == "literal" and not path.startswith(str(rest[1])):
            return False
        return self.accepts[self.run(state, path)]

    # States.

    def _state(self, rest: Rest, accepts: bool, distance: int) -> int:
        number = self._numbers.get(rest)
        if number is None:
            number = self._numbers[rest] = len(self._rests)
            self._rests.append(rest)
            self._moves.append(None)
            self.default.append(DEAD)
            self.accepts.append(accepts)
            self.distance.append(distance)
        return number

    def _literal(self, literal: str, pieces: tuple[str, ...], end: str | None) -> int:
        if not literal:
            return self._piece(0, pieces, end)
        distance = len(literal) + sum(map(len, pieces)) + len(end or "")
        return self._state(("literal", literal, pieces, end), False, distance)

    def _piece(self, read: int, pieces: tuple[str, ...], end: str | None) -> int:
        """The state in which so many bytes of the next piece were just read."""
        if pieces:
            distance = sum(map(len, pieces)) - read + len(end or "")
            return self._state(("piece", read, pieces, end), False, distance)
        if end is None:
            return ALL
        if end == "":  # nothing may follow
            return self._state(("end of path",), True, 0)
        return self._state(("end", read, end), read == len(end), len(end) - read)

    def _expand(self, state: int) -> dict[str, int]:
        moves: dict[str, int] = {}
        match self._rests[state]:
            case ("literal", str(literal), tuple(pieces), end):
                moves[literal[0]] = self._literal(literal[1:], pieces, _text(end))
            case ("piece", int(read), tuple(pieces), end):
                piece, end = pieces[0], _text(end)
                self.default[state] = self._piece(0, pieces, end)
                for byte, now in self._search(piece, read).items():
                    complete = now == len(piece)
                    moves[byte] = self._piece(*(0, pieces[1:]) if complete else (now, pieces), end)
            case ("end", int(read), str(end)):
                self.default[state] = self._piece(0, (), end)
                for byte, now in self._search(end, read).items():
                    moves[byte] = self._piece(now, (), end)
            case ("without-query", int(inner), bool(after_slash)):
                moves = self._expand_without_query(state, inner, after_slash)
        self._moves[state] = moves
        return moves

    def _expand_without_query(self, state: int, inner: int, after_slash: bool) -> dict[str, int]:
        found = self.moves(inner)
        self.default[state] = self.without_query(self.default[inner])
        moves = {byte: self.without_query(there, byte == "/") for byte, there in found.items()}
        moves["/"] = state if after_slash else self.without_query(self.step(inner, "/"), True)
        moves["?"] = ALL if self.accepts[inner] else DEAD
        return moves

    def _search(self, piece: str, read: int) -> dict[str, int]:
        """How many bytes of a piece are read after each byte that it has a use for."""
        failures = self._failures.get(piece)
        if failures is None:
            failures = self._failures[piece] = _failures(piece)
        moves: dict[str, int] = {}
        while True:
            if read < len(piece):
                moves.setdefault(piece[read], read + 1)
            if read == 0:
                return moves
            read = failures[read]


def split(pattern: str, wildcards: bool) -> tuple[str, tuple[str, ...], str | None]:
    """A pattern as the literal before its first star, the pieces between stars, and its end.

    The end is None for a pattern without `$`, which matches whatever follows.

    >>> split("/a*b*c$", True)
    ('/a', ('b',), 'c')
    """
    if not wildcards:
        return pattern, (), None
    is_anchored = pattern.endswith("$")
    body = pattern[:-1] if is_anchored else pattern
    stripped = body.rstrip("*")
    literal, *pieces = stripped.split("*")
    end = None
    if is_anchored and stripped == body:
        end = pieces.pop() if pieces else ""
    return literal, tuple(filter(None, pieces)), end


def _failures(piece: str) -> list[int]:
    """For each beginning of a piece: how much of it is read if the next byte is another."""
    failures = [0] * (len(piece) + 1)
    read = 0
    for place in range(1, len(piece)):
        while read and piece[place] != piece[read]:
            read = failures[read]
        if piece[place] == piece[read]:
            read += 1
        failures[place + 1] = read
    return failures


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
