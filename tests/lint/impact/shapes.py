"""Rule sets made to be expensive to compare, as pairs of lists of rule lines.

Each kind is what a search could drown in: thousands of literals, thousands of patterns that begin
with a star, patterns of many pieces, and rules that encode a puzzle.
"""

import random
import string
from itertools import pairwise
from typing import NamedTuple

SEED = 3
_VALUES = "01"
_OTHERS = sorted({*string.ascii_letters, *string.digits, *"-._~/:?[]@!&'()+,;=%"} - {*_VALUES})
"""Characters that may follow the name of a variable, and are no value of it."""
_UNRESERVED = {*string.ascii_letters, *string.digits, *"-._~"}
_ESCAPES = [f"%{octet:02X}" for octet in range(256) if chr(octet) not in _UNRESERVED]
"""What may follow it besides: the octets that stay escaped in a canonical path."""

Lines = list[str]


class Shape(NamedTuple):
    """Two rule sets, and what changes from one to the other."""

    name: str
    before: Lines
    after: Lines
    opens: bool
    closes: bool


def word(rng: random.Random, length: int) -> str:
    return "".join(rng.choices(string.ascii_lowercase, k=length))


def literals(count: int) -> list[Shape]:
    """Folders, as generated files list them."""
    rng = random.Random(SEED)

    def some() -> Lines:
        return [f"Disallow: /{word(rng, 3)}/{word(rng, 6)}/{n}" for n in range(count)]

    lines, middle = some(), count // 2
    mixed = [line if rng.random() < 0.7 else line.replace("Disallow", "Allow") for line in lines]
    flipped = ["Disallow: /one/", *mixed], ["Allow: /one/", *mixed]
    return [
        Shape("literals, one removed", lines, lines[:middle] + lines[middle + 1 :], True, False),
        Shape(
            "literals, a covered one added", lines, [*lines, f"{lines[77]}/deeper"], False, False
        ),
        Shape("literals, all replaced", lines, some(), True, True),
        Shape(
            "literals, shuffled and doubled",
            lines,
            rng.sample(lines, count) + lines,
            False,
            False,
        ),
        Shape("literals, 30 % Allow, one flipped", *flipped, True, False),
    ]


def words(count: int) -> list[Shape]:
    """`/*word=`, as files against parameters have them."""
    rng = random.Random(SEED)
    lines, middle = [f"Disallow: /*{word(rng, 5)}=" for _ in range(count)], count // 2
    return [
        Shape("/*word=, one removed", lines, lines[:middle] + lines[middle + 1 :], True, False),
        Shape("/*word=, a covered one added", lines, [*lines, f"{lines[99]}*x"], False, False),
        Shape("/*word=, `Disallow: /` added", lines, [*lines, "Disallow: /"], False, True),
        Shape(
            "/*word=, one longer Allow added",
            lines,
            [*lines, f"Allow: /*{word(rng, 9)}"],
            True,
            False,
        ),
    ]


def mixed_words(count: int) -> list[Shape]:
    """`/*word` of several lengths, some of them Allow: hardly any is independent of the others."""
    rng = random.Random(SEED)
    lines = [
        f"{'Allow' if rng.random() < 0.3 else 'Disallow'}: /*{word(rng, rng.randint(3, 7))}"
        for _ in range(count)
    ]
    first = next(n for n, line in enumerate(lines) if line.startswith("Disallow"))
    return [
        Shape(
            "/*word, 30 % Allow, one removed",
            lines,
            lines[:first] + lines[first + 1 :],
            True,
            False,
        )
    ]


def two_words(count: int) -> list[Shape]:
    """`/*one*two`."""
    rng = random.Random(SEED)
    lines = [f"Disallow: /*{word(rng, 4)}*{word(rng, 4)}" for _ in range(count)]
    return [
        Shape("/*one*two, one removed", lines, lines[1:], True, False),
        Shape("/*one*two, a covered one added", lines, [*lines, f"{lines[5]}*zzz"], False, False),
        Shape("/*one*two, `Disallow: /` added", lines, [*lines, "Disallow: /"], False, True),
    ]


def many_stars(stars: int) -> list[Shape]:
    """Patterns that match in very many ways."""
    same = f"Disallow: /{'*a' * stars}"
    one, other = f"Disallow: /{'*a*b' * (stars // 2)}", f"Disallow: /{'*b*a' * (stars // 2)}"
    return [
        Shape(f"{stars} stars, a rule below added", [same], [same, f"{same}b"], False, False),
        Shape(f"{stars} stars, *a*b against *b*a", [one], [other], True, True),
    ]


def chain(length: int) -> list[Shape]:
    """`/*a*b`, `/*b*c` and so on, and a word that all of them cover."""
    letters = string.ascii_lowercase[: length + 1]
    lines = [f"Disallow: /*{one}*{two}" for one, two in pairwise(letters)]
    return [
        Shape(
            f"a chain of {length} rules, a covered one added",
            lines,
            [*lines, f"Disallow: /*{letters}"],
            False,
            False,
        )
    ]


def satisfiability(
    variables: int, is_satisfiable: bool | None = None, is_strict: bool = True
) -> Shape:
    """Whether the last rule matters is whether a formula of 3-SAT can be true.

    The last rule matches a path that names every variable in order; behind each name stands its
    value, 0 or 1. All other rules match what is no such path, and one for each clause the values
    that make the clause false. With `is_satisfiable` the clauses leave one assignment, or none;
    else they are drawn, 4.3 for each variable, where formulas are hardest. Unless the rules are
    strict, an escaped octet is a value that makes every clause true.
    """
    rng = random.Random(variables)
    names = [f"v{number:02}" for number in range(variables)]
    lines = [f"Disallow: /*{one}{two}" for one, two in zip(names, [*names[1:], "end"], strict=True)]
    for name in names:
        lines.append(f"Disallow: /*{name}*{name}")
        others = [*_OTHERS, *_ESCAPES] if is_strict else _OTHERS
        lines += [f"Disallow: /*{name}{other}" for other in others]
    for values in _false_clauses(rng, variables, is_satisfiable):
        pairs = (f"{names[number]}{value}" for number, value in sorted(values.items()))
        lines.append(f"Disallow: /*{'*'.join(pairs)}")
    question = f"Disallow: /{'*'.join(names)}*end$"
    closes = is_satisfiable is not False
    return Shape(f"3-SAT, {variables} variables", lines, [*lines, question], False, closes)


def _false_clauses(
    rng: random.Random, variables: int, is_satisfiable: bool | None
) -> list[dict[int, int]]:
    """For each clause: the values of its variables that make it false."""
    if is_satisfiable is None:
        return [
            {number: rng.randint(0, 1) for number in rng.sample(range(variables), 3)}
            for _ in range(int(4.3 * variables))
        ]
    every = [
        {start: one, start + 1: two, start + 2: three}
        for start in range(variables - 2)
        for one in (0, 1)
        for two in (0, 1)
        for three in (0, 1)
    ]
    return [values for values in every if not is_satisfiable or 0 in values.values()]
