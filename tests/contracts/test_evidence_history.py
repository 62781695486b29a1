"""What a store of evidence tells about the past of a robots.txt, in a file and in PostgreSQL."""

import random

import pytest

from manners.cache.versions import version_at
from manners.errors import StoreError
from manners.evidence.record import Draft
from manners.evidence.store import EvidenceStore
from manners.net.messages import Response
from tests.cache.steps import DAY, DOWN, GONE, HOUR, START, Step
from tests.evidence.drafts import AGENT, clerk, draft, file, site
from tests.evidence.places import Places, execute
from tests.evidence.strands import write, writers

SITE = "https://example.com"
ONE, TWO = b"User-agent: *\nDisallow: /one\n", b"User-agent: *\nDisallow: /two\n"
Told = tuple[float, float, float, bytes | str | None]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def places(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Places of one kind."""
    folder = tmp_path_factory.mktemp("stores")
    is_file = request.param == "sqlite"
    return Places(folder) if is_file else Places(folder, request.getfixturevalue("postgres"))


def decisions(*steps: Step, times: list[float], profile: str = "rfc9309") -> list[Draft]:
    """Records about a site, decided at these times by what it had replied by then."""
    made = []
    for at in times:
        known = site(*(step for step in steps if step[0] <= at), at=at, profile=profile)
        writer = clerk(profile=profile)
        url = f"{SITE}/page"
        made.append(writer.draft(url, known.check(url, AGENT), known, START + at))
    return made


def told(place: str, url: str = SITE) -> list[Told]:
    """The history of a site: first, last, until, and the file, or why there is none."""
    with EvidenceStore(place, create=False, readonly=True) as store:
        return [
            (
                each.first - START,
                each.last - START,
                each.fresh_until - START,
                each.outcome.note if each.body is None else each.body,
            )
            for each in store.history(url)
        ]


STEPS: list[Step] = [
    (0.0, file(ONE)),
    (DAY, file(ONE)),
    (2 * DAY, file(TWO)),
    (3 * DAY, GONE),
    (4 * DAY, file(ONE, "latin-1")),
    (5 * DAY, DOWN),
    (5 * DAY + HOUR, DOWN),
]
TIMES = [1.0, 2.0, HOUR, DAY + HOUR, 2 * DAY + HOUR, 3 * DAY, 4 * DAY, 5 * DAY, 5 * DAY + 2 * HOUR]
EXPECTED: list[Told] = [
    (0, DAY, DAY + HOUR, ONE),
    (2 * DAY, 2 * DAY, 2 * DAY + HOUR, TWO),
    (3 * DAY, 3 * DAY, 3 * DAY, "404"),
    (4 * DAY, 4 * DAY, 4 * DAY, ONE),
    (5 * DAY, 5 * DAY + HOUR, 5 * DAY + 2 * HOUR, "503"),
]


def test_history_has_what_decisions_rest_on(places: Places) -> None:
    """From when each version was retrieved, until when again, and until when it decided."""
    place = places.new()
    with writers(place, 1 if places.is_file else 3) as stores:
        write(stores, decisions(*STEPS, times=TIMES))
    assert told(place) == EXPECTED
    assert told(place, f"{SITE}/any?page") == EXPECTED
    assert told(place, "http://example.com") == []
    assert told(place, "https://other.example") == []


def test_history_tells_what_held_at_a_time(places: Places) -> None:
    """Between two versions, what decided last holds until it decided for the last time."""
    place = places.new()
    with EvidenceStore(place) as store:
        write([store], decisions(*STEPS, times=TIMES))
        versions = store.history(SITE)
    at = [version_at(versions, START + moment) for moment in (-1, HOUR, 1.5 * DAY, 2 * DAY + 60)]
    assert [each.body if each else None for each in at] == [None, ONE, None, TWO]


def test_history_has_the_copy_of_a_site_out_of_reach(places: Places) -> None:
    """If only an earlier copy is on record, it counts as seen when it was last confirmed."""
    steps: list[Step] = [(0.0, file(ONE)), (DAY, DOWN), (1.5 * DAY, DOWN), (2.5 * DAY, DOWN)]
    place, moment = places.new(), 2.5 * DAY + 60
    with EvidenceStore(place) as store:
        write([store], decisions(*steps, times=[moment], profile="google"))
        versions = store.history(SITE)
    assert [each.body for each in versions] == [ONE, None]
    assert (versions[0].first, versions[1].outcome.note) == (START, "503")


def test_history_does_not_depend_on_the_order_of_decisions(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients decide by what each has retrieved; and what is dropped meanwhile changes nothing."""
    made = decisions(*STEPS, times=TIMES)
    for seed in range(3):
        place = places.new()
        random.Random(seed).shuffle(made)
        with EvidenceStore(place) as store:
            write([store], made)
        assert told(place) == EXPECTED
        with monkeypatch.context() as small:
            small.setattr("manners.evidence.history._IN_MEMORY", 6)
            assert told(place) == EXPECTED


def test_history_is_limited(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a site that changes all the time the latest versions are told."""
    place = places.new()
    steps: list[Step] = [(n * DAY, file(b"# %d\n" % n * 10)) for n in range(8)]
    with EvidenceStore(place) as store:
        write([store], decisions(*steps, times=[n * DAY for n in range(8)]))
    assert len(told(place)) == 8
    monkeypatch.setattr("manners.evidence.history.MAX_VERSIONS", 5)
    assert [body for *_, body in told(place)] == [b"# %d\n" % n * 10 for n in range(3, 8)]
    monkeypatch.setattr("manners.evidence.history.MAX_BYTES", 100)
    assert [body for *_, body in told(place)] == [b"# %d\n" % n * 10 for n in range(6, 8)]


def test_what_is_missing_is_not_known(places: Places) -> None:
    """Without its file a version is left out, and nothing else holds at its time."""
    place = places.new()
    with EvidenceStore(place) as store:
        write([store], decisions(*STEPS[:3], times=[1.0, 2 * DAY + HOUR]))
    sha256 = draft(rules=TWO).snapshot
    assert sha256 is not None
    execute(place, f"DELETE FROM snapshots WHERE sha256 = '{sha256.sha256}'")
    assert told(place) == [(0, 0, 1, ONE)]


def test_a_file_that_was_changed_is_an_error(places: Places) -> None:
    """Nobody is told what a site never said."""
    place = places.new()
    with EvidenceStore(place) as store:
        write([store], decisions(*STEPS[:1], times=[1.0]))
    execute(place, "UPDATE snapshots SET body = '#'")
    with pytest.raises(StoreError, match="was changed after it was stored: see `evidence verify`"):
        told(place)


@pytest.mark.parametrize(
    "metadata",
    [
        "",
        "[]",
        "{",
        '{"outcome":1}',
        '{"outcome":{"availability":"gone","url":"https://example.com/robots.txt","at":"x"}}',
        '{"outcome":{"availability":"available","url":"https://example.com/robots.txt","at":9}}',
        '{"outcome":{"availability":"available","url":"https://example.com/robots.txt",'
        '"at":"0001-01-01T00:00:00+14:00"},"snapshot":"none"}',
    ],
)
def test_records_that_were_changed_are_passed_over(places: Places, metadata: str) -> None:
    """What is no record says nothing; the rest does."""
    place = places.new()
    with EvidenceStore(place) as store:
        write([store], decisions(*STEPS[:2], times=[1.0, DAY + 1]))
    execute(place, f"UPDATE evidence SET metadata = '{metadata}' WHERE id = 2")
    assert told(place) == [(0, 0, 1, ONE)]


def test_a_site_without_a_robots_txt_has_history_too(places: Places) -> None:
    """A 404, then a file: the file does not hold before it was seen."""
    place = places.new()
    steps: list[Step] = [(0.0, Response(404)), (DAY, file(ONE))]
    with EvidenceStore(place) as store:
        write([store], decisions(*steps, times=[HOUR, DAY + HOUR]))
    assert told(place) == [(0, 0, HOUR, "404"), (DAY, DAY, DAY + HOUR, ONE)]
