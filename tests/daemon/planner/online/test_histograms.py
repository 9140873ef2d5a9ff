"""The model of histogram selection against simulations of the same, and its shape."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from littled.planner.online.histograms import FIRES, Setting, fires, group_sizes, passes, quiet

SETTING = Setting(
    trigger_rate=0.25, rate=0.375, bottom=37, members=4, horizon=100_000, last=320
)  # fmt: skip


def laplace(rate: float, size: Any, rng: np.random.Generator) -> Any:
    """Discrete Laplace noise: the difference of two geometric variables."""
    return rng.geometric(-math.expm1(-rate), size) - rng.geometric(-math.expm1(-rate), size)


def fired(rate: float, threshold: int, pace: int, rng: np.random.Generator) -> int:
    """Mistakes at the fire of one epoch with a mistake at every `pace`-th step."""
    level, count = threshold + int(laplace(rate, None, rng)), 0
    while True:
        count += 1
        if (laplace(rate, pace, rng) >= level - count).any():
            return count


@pytest.mark.parametrize("pace", [1, 40])
def test_fires_come_as_early_as_they_do(pace: int) -> None:
    rng = np.random.default_rng(1)
    seen = np.array([fired(0.25, 120, pace, rng) for _ in range(800)]) - 120
    found = fires(0.25, pace)
    assert len(found) == FIRES
    assert found.mean() == pytest.approx(seen.mean(), abs=0.8)
    assert found.std() == pytest.approx(seen.std(), rel=0.25)


def test_a_slow_pace_fires_early() -> None:
    assert fires(0.25, 1).mean() > fires(0.25, 40).mean() > fires(0.25, 1000).mean()


def test_noise_alone_fires_as_often_as_it_does() -> None:
    rng, rate, threshold, steps = np.random.default_rng(2), 0.5, 12, 300
    level = threshold + laplace(rate, 4000, rng)
    still = (laplace(rate, (4000, steps), rng) < level[:, None]).all(axis=1)
    assert quiet(rate, threshold, steps) == pytest.approx(still.mean(), abs=0.03)
    assert quiet(rate, 200, steps) == pytest.approx(1)


def test_chances_are_those_of_the_noise() -> None:
    gaps = np.arange(-60, 61)
    law = np.exp(-0.5 * np.abs(gaps)) / np.exp(-0.5 * np.abs(gaps)).sum()
    tail = np.cumsum(law[::-1])[::-1]
    assert passes(0.5, gaps[30:90].astype(float)) == pytest.approx(tail[30:90], abs=1e-9)


def simulated(
    setting: Setting, thresholds: tuple[int, ...], group: int, rng: np.random.Generator
) -> int:
    """Mistakes until members are found that are revealed in groups, a mistake at every step."""
    total, kept = 0, 0
    for _ in range(setting.members // group):
        missing = group
        while missing:
            level = thresholds[min(kept, len(thresholds) - 1)]
            count = fired(setting.trigger_rate, level, 1, rng)
            total += count
            votes = rng.multinomial(count, np.full(missing, 1 / missing))
            found = (votes + laplace(setting.rate, missing, rng) >= setting.bottom).sum()
            missing -= int(found)
            kept = 0 if found else kept + 1
    return total


@pytest.mark.parametrize("group", [1, 2, 4])
def test_groups_cost_what_they_do_in_a_simulation(group: int) -> None:
    """Members of one group alone: the model's mean, from the first rung on."""
    rng, (_, thresholds) = np.random.default_rng(3), SETTING.best_ladder()
    whole = [simulated(SETTING, thresholds, group, rng) for _ in range(400)]
    found = replace(SETTING, members=group, horizon=1).expected_mistakes([thresholds])[0]
    # the worst size within the group, the worst pace: never much less than this one
    mean = float(np.mean(whole)) * group / 4
    assert 0.93 * mean < found < 1.3 * mean + 12


def test_the_best_ladder_is_the_best_that_is_tried() -> None:
    expected, thresholds = SETTING.best_ladder()
    assert thresholds in SETTING.ladders()
    # each alone, not filled up to the longest one
    assert expected == min(SETTING.expected_mistakes([ladder])[0] for ladder in SETTING.ladders())
    assert thresholds[-1] == SETTING.last
    # one threshold for all, be it low or high, is worse
    singles = [(thresholds[0],), (SETTING.last,)]
    assert min(SETTING.expected_mistakes(singles)) > expected


def test_more_members_cost_more() -> None:
    costs = [replace(SETTING, members=n, last=80 * n).best_ladder()[0] for n in (1, 2, 4, 30, 1024)]
    assert costs == sorted(costs)
    assert costs[-1] < 1024 * 3 * costs[0]


def test_groups_of_all_sizes_are_looked_at() -> None:
    assert group_sizes(1) == [1]
    assert group_sizes(4) == [1, 2, 3, 4]
    assert group_sizes(20) == [1, 2, 3, 4, 5, 6, 12, 20]


def test_a_climb_ends_where_one_member_must_be_found() -> None:
    thresholds = (60, 100, 200, 320)
    # 1 to 4 missing members need 70, 120, 170 and 220 mistakes, 20 of them for early fires
    mistakes = [50 + 100, 60 + 100 + 200, 60 + 100 + 200, 60 + 100 + 200 + 320]
    assert SETTING.most_mistakes([50, 100, 150, 200], 20, thresholds) == (sum(mistakes), 12)
    # what the last rung does not reach is not climbed any further
    assert SETTING.most_mistakes([50, 400], 20, thresholds) == (50 + 100 + 60 + 100 + 200 + 320, 6)


def test_with_so_many_mistakes_one_is_found_however_they_are_shared_out() -> None:
    setting = replace(SETTING, members=3, rate=0.5, bottom=12)

    def none(counts: tuple[int, ...]) -> float:
        gaps = np.array(counts) * -1.0 + setting.bottom
        return float(np.prod(1 - passes(setting.rate, gaps)))

    for failure in (0.2, 0.01):
        for number, enough in enumerate(setting.needed(failure), start=1):
            shares = [
                counts
                for counts in product(range(enough + 1), repeat=number)
                if sum(counts) == enough
            ]
            assert max(map(none, shares)) <= failure
            each = enough // number
            assert none((each - 1,) * number) > failure
