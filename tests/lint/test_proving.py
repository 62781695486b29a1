"""`unchanged`: what a proof that an edit changes nothing has to look at."""

import pytest

from manners.lint.proving import unchanged

ONE = b"User-agent: one\nDisallow: /1\n"
TWO = b"User-agent: two\nDisallow: /2\n"


def test_an_empty_name_is_part_of_every_name() -> None:
    """In `robotrules`, a User-agent line without a name is for agents that no file names, too."""
    before, after = (b"User-agent:\nDisallow: %s\n" % path for path in (b"/a*", b"/a"))
    assert not unchanged(before, after, ["robotrules"])


@pytest.mark.parametrize(
    ("engine", "before", "after"),
    [
        ("robotrules", ONE + b"\n" + TWO, TWO + b"\n" + ONE),  # the first one counts
        # The longest counts; the rules of `wxyz` are those of everybody.
        (
            "audit",
            b"User-agent: abc\nDisallow: /\n\nUser-agent: wxyz\nDisallow:\n",
            b"User-agent: abc\nDisallow: /\n",
        ),
    ],
)
def test_a_name_may_contain_two_others(engine: str, before: bytes, after: bytes) -> None:
    """Which of them counts may change although nothing changes for either."""
    assert not unchanged(before, after, [engine])
    assert unchanged(before, before + b"\n", [engine])
