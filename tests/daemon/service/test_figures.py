"""Figures on their way to readers: what is at hand, in which order, and for whom."""

import asyncio
from fractions import Fraction

import pytest

from littled.learners.measured import QualitySettings
from littled.limits import FIGURES_IN_MEMORY_MAX
from littled.service.figures import Figures
from littled.store.records import StoredRelease
from littled_protocol.figures import Figure, figures_of

LATE, EARLY = "flights/late", "flights/early"
SETTINGS = QualitySettings(Fraction(1, 10), 1000, 24)


def stored(number: int, learner: str = LATE, wrong: int = 100) -> StoredRelease:
    figure = Figure(number, 0, 1000 * number, 1000 * number + 1000, number, number, wrong)
    return StoredRelease(figures_of(learner), number, figure.to_bytes(), None)


def test_figures_are_news_once_and_said_in_their_order() -> None:
    figures = Figures({LATE: SETTINGS, EARLY: SETTINGS})
    assert figures.learners == (LATE, EARLY)
    assert figures.latest(LATE) is None
    assert figures.number(LATE) == 0
    news = figures.announce([stored(1), stored(2), stored(2), stored(1, EARLY, 7)])
    assert [(learner, figure.number) for learner, figure in news] == [
        (LATE, 1), (LATE, 2), (EARLY, 1),
    ]  # fmt: skip
    assert figures.announce([stored(1)]) == []
    assert [facts["number"] for facts in figures.after(LATE, 0)] == [1, 2]
    assert [facts["number"] for facts in figures.after(LATE, 1)] == [2]
    latest = figures.latest(EARLY)
    assert latest is not None
    assert latest["error_rate"] == 0.007
    assert latest["error_rate_lower"] < 0.007 < latest["error_rate_upper"]


def test_learners_that_are_not_measured_have_none() -> None:
    figures = Figures({LATE: SETTINGS})
    assert figures.after("flights/other", 0) == []
    assert figures.latest("flights/other") is None
    assert figures.number("flights/other") == 0


def test_only_the_latest_are_at_hand() -> None:
    figures = Figures({LATE: SETTINGS})
    figures.announce([stored(number) for number in range(1, FIGURES_IN_MEMORY_MAX + 4)])
    numbers = [facts["number"] for facts in figures.after(LATE, 0)]
    assert numbers == list(range(4, FIGURES_IN_MEMORY_MAX + 4))


async def test_who_waits_is_woken_by_its_own_learner_only() -> None:
    figures = Figures({LATE: SETTINGS, EARLY: SETTINGS})
    waiting = asyncio.ensure_future(figures.beyond(LATE, 0))
    figures.announce([stored(1, EARLY)])
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    figures.announce([stored(1)])
    await asyncio.wait_for(waiting, 5)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(figures.beyond(LATE, 1), 0.01)
