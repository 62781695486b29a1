"""How large the long tests are: small in `make test`, larger in `make check` and `make soak`.

`TEST_SIZE` says which column of the table counts: `test`, `check` or `soak`. Each row can be set by
itself, by an environment variable with `TEST_` before its name:

    make soak TEST_KILLS=5000 TEST_FLEET_SECONDS=3600

Tests that read a row are marked `long`: `make check` and `make soak` run them again, with the sizes
of their columns. Tests marked `soak` run only there; the mark names the test with the small form.
"""

import os
import random
import zlib

COLUMNS = ("test", "check", "soak")
TABLE: dict[str, tuple[int, int, int]] = {
    # Seconds, in real time, for which a fleet of clients asks its hosts.
    "FLEET_SECONDS": (5, 15, 300),
    "FLEET_HOSTS": (10, 50, 50),
    # A crawl by several processes that are killed and stopped: how many, on how many hosts with how
    # many pages in all; and minutes for which such crawls are begun again and again.
    "CREW": (4, 4, 8),
    "CREW_HOSTS": (40, 100, 1_000),
    "CREW_PAGES": (1_500, 4_000, 40_000),
    "CREW_MINUTES": (1, 2, 30),
    # A fleet whose metrics are compared with the log of the server and with the store.
    "METRICS_HOSTS": (6, 40, 200),
    "METRICS_PAGES": (12, 40, 100),
    # Processes ended with SIGKILL in one test: clients that write evidence; crawls; writers of a
    # cache.
    "KILLS": (5, 50, 500),
    "CRAWL_KILLS": (1, 5, 25),
    "CACHE_KILLS": (5, 30, 300),
    # Pages of a crawl that is archived, and how often it is killed.
    "WARC_PAGES": (160, 1_000, 20_000),
    "WARC_KILLS": (2, 6, 20),
    # Pages of a generated site whose truth is known.
    "CRAWL_PAGES": (160, 5_000, 50_000),
    # Walks of a browser through a site that tries everything to send it where it may not go.
    "WALKS": (11, 60, 500),
    # URLs that a discovery keeps in its store.
    "FOUND_URLS": (10_000, 100_000, 1_000_000),
    # Pages of a crawl whose report is looked at.
    "REPORT_PAGES": (1_000, 10_000, 100_000),
    # Pairs of a rule set and a path on which both engines are compared.
    "PAIRS": (6_000, 240_000, 2_400_000),
    # Examples of hypothesis, in per cent of the number that a test names.
    "EXAMPLES": (12, 100, 1_000),
    # Answers of a server, damaged on the way.
    "ANSWERS": (100, 500, 20_000),
    # How often each fault of a server is played.
    "FAULTS": (1, 1, 20),
    # Origins whose robots.txt are asked for at once.
    "ORIGINS": (300, 1_000, 10_000),
    # Of the corpus, a dialect reads one file in so many: fewer is more.
    "CORPUS_STEP": (30, 3, 1),
    # Random pairs of rule sets whose difference is worked out by trying every path.
    "IMPACT_ROUNDS": (60, 400, 3_000),
    # Real files that are linted and fixed.
    "LINT_FILES": (60, 600, 6_000),
}
"""Each row: its sizes in `make test`, `make check` and `make soak`."""

SIZE = os.environ.get("TEST_SIZE", "test")
if SIZE not in COLUMNS:
    raise ValueError(f"TEST_SIZE={SIZE!r}: one of {', '.join(COLUMNS)}")


def size(name: str) -> int:
    """What a row says for this run."""
    told = os.environ.get(f"TEST_{name}")
    return TABLE[name][COLUMNS.index(SIZE)] if told is None else int(told)


def examples(usual: int) -> int:
    """How many examples hypothesis tries where a test usually has so many."""
    return max(usual * size("EXAMPLES") // 100, 5)


def seed(name: str) -> int:
    """What a test draws from: the variable of this name, which a failure prints, to repeat a run.

    Without it `make test` and `make check` begin with the same each time, so that a change is not
    blamed for what chance finds; `make soak` tries something new, and all its processes the same.
    """
    if name in os.environ:
        return int(os.environ[name])
    if SIZE != "soak":
        return 1
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    return zlib.crc32(run.encode()) if run else random.SystemRandom().randrange(2**32)
