"""Entries for tests of what keeps them: any that there can be, and some by name."""

from hypothesis import strategies as st

from manners.cache.entry import Entry
from manners.retrieval.outcome import Availability, Outcome, RobotsHop

ORIGINS = [
    "https://a.example",
    "http://a.example",
    "https://a.example:8443",
    "http://127.0.0.1:8080",
    "https://[::1]",
    "https://xn--bcher-kva.example",
]
START = 1_800_000_000.0


def entry(origin: str = ORIGINS[0], at: float = START, body: bytes | None = b"#") -> Entry:
    """An entry that was made at a time; the body tells it from others."""
    found = Availability.UNAVAILABLE if body is None else Availability.AVAILABLE
    outcome = Outcome(found, "200", at=at, bytes=len(body or b""))
    return Entry(origin, body, "", outcome, at, at, at + 86_400.0)


# What a server sent is text in which a byte that is none of UTF-8 is a surrogate (PEP 383).
_TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF, categories=["Cs"]),
    ),
    max_size=20,
)
_TIMES = st.floats(0, 4e9)
_HOPS = st.builds(
    RobotsHop, url=_TEXTS, status=st.none() | st.integers(100, 599), cause=_TEXTS
) | st.just(RobotsHop("https://a.example/robots.txt", 200))
_OUTCOMES = st.builds(
    Outcome,
    availability=st.sampled_from(Availability),
    note=_TEXTS,
    profile=_TEXTS,
    url=_TEXTS,
    hops=st.lists(_HOPS, max_size=3).map(tuple),
    headers=st.dictionaries(_TEXTS, _TEXTS, max_size=3).map(lambda found: tuple(found.items())),
    bytes=st.integers(0, 2**53),
    charset=_TEXTS,
    complete=st.booleans(),
    not_modified=st.booleans(),
    at=_TIMES,
    seconds=_TIMES,
    confidence=st.sampled_from(["high", "low"]),
    age=_TIMES,
    copy=st.booleans(),
)


def _entry(outcome: Outcome, body: bytes | None, others: dict[str, object]) -> Entry:
    if outcome.availability is Availability.AVAILABLE:
        body = body or b""  # a file that is there has a body
    return Entry(body=body, outcome=outcome, **others)  # type: ignore[arg-type]


ENTRIES = st.builds(
    _entry,
    _OUTCOMES,
    st.none() | st.just(b"") | st.just(b"+") | st.binary(max_size=300),
    st.fixed_dictionaries(
        {
            "origin": st.sampled_from(ORIGINS),
            "charset": _TEXTS,
            "fetched_at": _TIMES,
            "validated_at": _TIMES,
            "fresh_until": _TIMES,
            "etag": _TEXTS,
            "last_modified": _TEXTS,
            "unreachable_since": st.none() | _TIMES,
        }
    ),
)
"""Every entry that there can be."""
