"""Both engines give one answer for every file of the corpus of real ones."""

import random
import re

import pytest

import manners
from manners._text import to_text
from manners.robots.dialects import Dialect
from tests.differential.generate import some_url
from tests.differential.test_engines import (
    OWN,
    SEED,
    difference_between,
    needs_kernel,
    plain_urls,
)
from tests.shared import corpus, needs_shared
from tests.sizes import size

pytestmark = [needs_kernel, needs_shared]

EVERY = size("CORPUS_STEP")
"""A dialect reads one file in so many, each dialect others."""
URLS = 12

_PATTERNS = re.compile(rb"allow[ \t]*:[ \t]*([^\s#]+)", re.IGNORECASE).findall
_NAMES = re.compile(rb"user-agent[ \t]*:[ \t]*([^\s#]+)", re.IGNORECASE).findall


@pytest.mark.long
@pytest.mark.parametrize("dialect", OWN, ids=lambda dialect: dialect.name)
def test_both_engines_give_one_answer_for_real_files(dialect: Dialect) -> None:
    """For agents that a file names and for others, and URLs made from the file's own rules."""
    files = sorted(corpus().items())[OWN.index(dialect) % EVERY :: EVERY]
    for name, body in files:
        rng = random.Random(f"{SEED} {dialect.name} {name}")
        patterns = list(map(bytes, _PATTERNS(body))) or [b"/"]
        named = [to_text(each) for each in _NAMES(body)] or ["*"]
        with plain_urls():
            robots = manners.parse(body, dialect)
        again = manners.parse(body, dialect)
        for agents in [("Googlebot",), (rng.choice(named),), ("nobody", rng.choice(named))]:
            asked = [some_url(rng, patterns) for _ in range(URLS)]
            found = difference_between(robots, again, agents, asked)
            assert found is None, (f"DIFFERENTIAL_SEED={SEED}", dialect, name, agents, found)
