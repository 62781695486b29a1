"""How much a crawl may fetch: pages and minutes, semantics part C."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manners.errors import BudgetExceeded, MannersError
from manners.politeness.budget import Budget, GrantedBudget

NOW = 1_800_000_000.0
MINUTE = 60.0


def refusal(work: Callable[[], object]) -> BudgetExceeded:
    """The error by which a budget says that nothing is left."""
    with pytest.raises(BudgetExceeded) as caught:
        work()
    assert isinstance(caught.value, MannersError)
    return caught.value


def test_200_pages_are_fetched_and_no_more() -> None:
    """The error says that it was the page limit, and it stays."""
    budget = Budget()
    for _ in range(200):
        budget.reserve(NOW)
    for _ in range(3):
        error = refusal(lambda: budget.reserve(NOW))
        assert str(error) == "page limit reached: 200 pages"
        assert (error.limit, error.allowance) == ("page", "200 pages")
    assert budget.pages_used == 200


def test_60_minutes_run_and_no_longer() -> None:
    """From the first page on; the error says that it was the time limit."""
    budget = Budget()
    assert budget.minutes_used(NOW - 1000 * MINUTE) == 0.0
    budget.reserve(NOW)
    budget.reserve(NOW + 60 * MINUTE - 1)
    error = refusal(lambda: budget.reserve(NOW + 60 * MINUTE))
    assert str(error) == "time limit reached: 60 minutes"
    assert (error.limit, error.allowance) == ("time", "60 minutes")
    assert str(refusal(lambda: budget.reserve(NOW + 1e9))) == str(error)
    assert budget.pages_used == 2


@pytest.mark.parametrize(
    ("pages", "minutes", "said"),
    [
        (1, None, "page limit reached: 1 page"),
        (2, None, "page limit reached: 2 pages"),
        (1_234_567, None, "page limit reached: 1234567 pages"),
        (10**12, None, "page limit reached: 1000000000000 pages"),
        (None, 1.0, "time limit reached: 1 minute"),
        (None, 0.5, "time limit reached: 0.5 minutes"),
        (None, 525_600.0, "time limit reached: 525600 minutes"),
    ],
)
def test_a_refusal_says_which_limit_it_was(
    pages: int | None, minutes: float | None, said: str
) -> None:
    """In numbers that can be read."""
    budget = Budget(pages, minutes, pages_before=pages or 0, minutes_before=minutes or 0.0)
    assert str(refusal(lambda: budget.reserve(NOW))) == said


def test_a_refusal_reserves_nothing() -> None:
    """A page that is given back afterwards can be used."""
    budget = Budget(pages=1, minutes=None)
    budget.reserve(NOW)
    refusal(lambda: budget.reserve(NOW))
    budget.give_back()
    assert budget.pages_used == 0
    budget.reserve(NOW)
    refusal(lambda: budget.reserve(NOW))


def test_without_limits_there_are_none() -> None:
    """Pages and minutes are counted all the same."""
    said: list[str] = []
    budget = Budget(pages=None, minutes=None, warn=said.append)
    for number in range(1000):
        budget.reserve(NOW + number * 60 * MINUTE)
    assert budget.pages_used == 1000
    assert budget.minutes_used(NOW + 60_000 * MINUTE) == 60_000.0
    assert said == []


def test_50_tasks_never_exceed_a_budget() -> None:
    """Pages are reserved before the request: those under way count."""
    budget, under_way, most, fetched = Budget(pages=200), 0, 0, 0

    async def work(number: int) -> None:
        nonlocal under_way, most, fetched
        while True:
            try:
                budget.reserve(NOW)
            except BudgetExceeded:
                return
            under_way += 1
            most = max(most, under_way + fetched)
            await asyncio.sleep(0)
            under_way -= 1
            if (number + fetched) % 7 == 0:  # blocked: it was no page
                budget.give_back()
                number += 1
            else:
                fetched += 1

    async def all_of_them() -> None:
        await asyncio.gather(*(work(number) for number in range(50)))

    asyncio.run(all_of_them())
    assert fetched == most == budget.pages_used == 200


# After a resume.


def test_what_an_earlier_run_has_used_counts() -> None:
    """Pages and minutes go on; the time between the runs does not count."""
    budget = Budget(pages_before=198, minutes_before=59.0)
    assert budget.minutes_used(NOW) == 59.0
    budget.reserve(NOW)
    budget.reserve(NOW + 0.5 * MINUTE)
    assert budget.minutes_used(NOW + 0.5 * MINUTE) == 59.5
    assert refusal(lambda: budget.reserve(NOW + 0.5 * MINUTE)).limit == "page"
    assert refusal(lambda: budget.reserve(NOW + MINUTE)).limit == "time"


@pytest.mark.parametrize(
    ("pages", "minutes", "limit"), [(200, 0.0, "page"), (201, 0.0, "page"), (0, 60.0, "time")]
)
def test_what_was_used_up_before_stays_so(pages: int, minutes: float, limit: str) -> None:
    """Not even one page is fetched."""
    budget = Budget(pages_before=pages, minutes_before=minutes)
    assert refusal(lambda: budget.reserve(NOW)).limit == limit
    assert budget.pages_used == pages


# Warnings.


def test_at_80_percent_of_the_pages_there_is_one_warning() -> None:
    """Before that, and after it, none."""
    said: list[str] = []
    budget = Budget(warn=said.append)
    for _ in range(159):
        budget.reserve(NOW)
    assert said == []
    budget.reserve(NOW)
    assert said == ["160 of 200 pages used"]
    budget.give_back()
    for _ in range(41):
        budget.reserve(NOW)
    refusal(lambda: budget.reserve(NOW))
    assert said == ["160 of 200 pages used"]


def test_at_80_percent_of_the_minutes_there_is_one_warning() -> None:
    """It says how many are used."""
    said: list[str] = []
    budget = Budget(warn=said.append)
    budget.reserve(NOW)
    budget.reserve(NOW + 48 * MINUTE - 1)
    assert said == []
    budget.reserve(NOW + 48.5 * MINUTE)
    budget.reserve(NOW + 59 * MINUTE)
    assert said == ["48.5 of 60 minutes used"]


def test_each_limit_has_its_own_warning() -> None:
    """One does not stand for the other."""
    said: list[str] = []
    budget = Budget(pages=5, minutes=10.0, warn=said.append)
    for minute in (0.0, 1.0, 2.0, 3.0):
        budget.reserve(NOW + minute * MINUTE)
    budget.reserve(NOW + 9 * MINUTE)
    assert said == ["4 of 5 pages used", "9 of 10 minutes used"]


@pytest.mark.parametrize(
    ("pages", "before", "said"),
    [
        (1, 0, "1 of 1 page used"),
        (10, 8, "9 of 10 pages used"),
        (20_000, 15_999, "16000 of 20000 pages used"),
        (10**6, 812_345, "812346 of 1000000 pages used"),
    ],
)
def test_a_warning_has_numbers_that_can_be_read(pages: int, before: int, said: str) -> None:
    """However large they are; and what was used before counts for it."""
    heard: list[str] = []
    Budget(pages, None, warn=heard.append, pages_before=before).reserve(NOW)
    assert heard == [said]


def test_when_to_warn_is_a_setting() -> None:
    """At half of it, or at its end."""
    said: list[str] = []
    half = Budget(pages=4, minutes=None, warn_at=0.5, warn=said.append)
    end = Budget(pages=4, minutes=None, warn_at=1.0, warn=said.append)
    for _ in range(3):
        half.reserve(NOW)
        end.reserve(NOW)
    assert said == ["2 of 4 pages used"]
    end.reserve(NOW)
    assert said == ["2 of 4 pages used", "4 of 4 pages used"]


def test_nobody_has_to_listen() -> None:
    """Without `warn` nothing is told."""
    budget = Budget(pages=1, minutes=None)
    budget.reserve(NOW)
    assert budget.pages_used == 1


# Clocks that are set.


def test_a_clock_that_goes_back_gives_no_minutes_back() -> None:
    """What has run has run, and what runs afterwards counts."""
    budget = Budget()
    budget.reserve(NOW)
    budget.reserve(NOW + 30 * MINUTE)
    budget.reserve(NOW - 600 * MINUTE)
    assert budget.minutes_used(NOW - 600 * MINUTE) == 30.0
    assert budget.minutes_used(NOW - 10_000 * MINUTE) == 30.0
    budget.reserve(NOW - 571 * MINUTE)
    assert budget.minutes_used(NOW - 571 * MINUTE) == pytest.approx(59.0)
    assert refusal(lambda: budget.reserve(NOW - 570 * MINUTE)).limit == "time"


@given(st.lists(st.floats(-5_000, 5_000)), st.integers(0, 30), st.floats(0, 120), st.booleans())
def test_a_budget_holds_whatever_the_clock_does(
    steps: list[float], pages_before: int, minutes_before: float, gives_back: bool
) -> None:
    """Never more pages than there are, never fewer minutes than there were, never a negative."""
    budget = Budget(20, 60.0, pages_before=pages_before, minutes_before=minutes_before)
    now, minutes = NOW, minutes_before
    for number, step in enumerate(steps):
        now += step
        before = budget.pages_used
        try:
            budget.reserve(now)
        except BudgetExceeded:
            assert budget.pages_used == before
            assert before >= 20 or budget.minutes_used(now) >= 60.0
        else:
            assert before < 20
            if gives_back and number % 3 == 0:
                budget.give_back()
        assert budget.minutes_used(now) >= minutes - 1e-6
        minutes = budget.minutes_used(now)


# One worker of several.


def test_pages_have_to_be_granted() -> None:
    """A few at a time; one that was not fetched may be used again."""
    budget = GrantedBudget(pages=100, minutes=None)
    assert str(refusal(lambda: budget.reserve(NOW))) == "page limit reached: 100 pages"
    budget.granted = 2
    budget.reserve(NOW)
    budget.reserve(NOW)
    assert (budget.left_here, budget.own, budget.pages_used) == (0, 2, 2)
    assert str(budget.exceeded(NOW)) == "page limit reached: 100 pages"
    budget.give_back()
    assert (budget.left_here, budget.own, budget.pages_used) == (1, 1, 1)
    assert budget.exceeded(NOW) is None
    budget.reserve(NOW)
    refusal(lambda: budget.reserve(NOW))


def test_what_others_use_counts_for_what_is_shown() -> None:
    """Not for what this worker was granted: that is its own."""
    said: list[str] = []
    budget = GrantedBudget(pages=10, minutes=60.0, warn=said.append)
    budget.granted = 5
    budget.reserve(NOW)
    budget.set_used(9, 30 * MINUTE, NOW)
    assert (budget.pages_used, budget.minutes_used(NOW)) == (9, 30.0)
    assert budget.minutes_used(NOW + MINUTE) == 31.0
    budget.reserve(NOW)
    assert (budget.pages_used, budget.left_here) == (10, 3)
    assert said == ["10 of 10 pages used"]


def test_the_time_of_all_is_the_limit_of_each() -> None:
    """Whatever its own clock has seen."""
    budget = GrantedBudget(pages=None, minutes=60.0)
    budget.granted = 5
    budget.reserve(NOW)
    budget.set_used(0, 60 * MINUTE, NOW)
    assert refusal(lambda: budget.reserve(NOW)).limit == "time"
    assert budget.seconds_left(NOW) == 0.0


def test_without_a_limit_nothing_has_to_be_granted() -> None:
    """Pages are counted all the same."""
    budget = GrantedBudget(pages=None, minutes=None)
    for _ in range(3):
        budget.reserve(NOW)
    assert (budget.pages_used, budget.exceeded(NOW)) == (3, None)
