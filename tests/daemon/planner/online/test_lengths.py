"""The search for a length: its cost against brute force, and against every path of the learner."""

import math
from collections.abc import Iterator
from functools import cache
from itertools import combinations

import pytest

from littled.learners.online.length_search import SEARCHING, LengthMemory, LengthSettings
from littled.planner.bounds import TriggerNoise
from littled.planner.online.chains import Failure
from littled.planner.online.lengths import LENGTHS_AT_ONCE, LengthPlan, length_plan, searched

# Thresholds while the constant 0, and while a block is published; and lengths at once.
COSTS = [(214, 79, 4), (132, 79, 1), (10, 10, 2), (3, 50, 3), (50, 1, 2), (1, 1, 9)]


def all_lists(left: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every list of at most so many of the lengths that are left."""
    for count in range(1, min(left, most) + 1):
        yield from combinations(range(left), count)


def least_cost(lengths: int, up: int, down: int, most: int) -> int:
    """Over all lists; the definition of z, without any bisection."""

    @cache
    def halved(left: int) -> int:
        sides = {(left - 1) // 2, left // 2}
        return down + max(halved(side) for side in sides) if left > 1 else 0

    @cache
    def cost(left: int) -> int:
        return min((worst(left, places) for places in all_lists(left, most)), default=0)

    def worst(left: int, places: tuple[int, ...]) -> int:
        found = [up, up + cost(places[0])]
        for place, after in zip(places, (*places[1:], left), strict=True):
            above = after - place - 1
            found += [up + down + cost(above)] if above else []
            found += [up + down + halved(place)] if place else []
        return max(found)

    return cost(lengths)


@pytest.mark.parametrize(("up", "down", "most"), COSTS)
def test_no_lists_cost_less(up: int, down: int, most: int) -> None:
    for bits in range(9):
        assert length_plan(bits, up, down, most).worst_mistakes == least_cost(
            bits + 1, up, down, most
        )


def paths_of(plan: LengthPlan, bits: int, up: int, down: int) -> Iterator[tuple[int, int]]:
    """What every course of the learner's own memory costs, and its fires, if no draw is wrong.

    For every length of the right block: a search may draw any block whose next proposed length is
    beyond it, and bottom if all are; what is inferred of a block is right.
    """
    settings = LengthSettings(0, plan.cuts)

    def going_on(
        memory: LengthMemory, published: int | None, target: int, cost: int, fires: int
    ) -> Iterator[tuple[int, int]]:
        if published == target:
            yield cost, fires
            return
        cost, fires = cost + (up if memory.mode == SEARCHING else down), fires + 1
        if memory.mode == SEARCHING:
            proposed = memory.proposed(settings)
            if target < proposed[0]:
                yield from going_on(memory.bottom(bits, settings), None, target, cost, fires)
            for place, length in enumerate(proposed):
                if [*proposed, bits + 1][place + 1] > target:
                    found = memory.found(0, length, settings)
                    yield from going_on(found, length, target, cost, fires)
            return
        assert published is not None
        after = memory.inferred(published, bits, longer=target > published)
        assert after.low <= target <= after.high
        following = None if after.mode == SEARCHING else after.middle
        yield from going_on(after, following, target, cost, fires)

    for target in range(bits + 1):
        yield from going_on(LengthMemory.empty(bits), None, target, 0, 0)


@pytest.mark.parametrize(("up", "down", "most"), COSTS)
def test_costs_and_epochs_are_those_of_the_worst_course(up: int, down: int, most: int) -> None:
    for bits in range(9):
        plan = length_plan(bits, up, down, most)
        costs, fires = zip(*paths_of(plan, bits, up, down), strict=True)
        assert max(costs) == plan.worst_mistakes
        assert max(fires) == plan.epochs


@pytest.mark.parametrize("bits", [0, 1, 32, 128])
def test_lists_are_settings_of_the_search(bits: int) -> None:
    for up, down, most in COSTS:
        plan = length_plan(bits, up, down, most)
        settings = LengthSettings(25, plan.cuts)
        assert settings.wrong() is None
        assert len(plan.cuts) == bits + 2
        assert settings.at_once <= most


def test_addresses_cost_what_the_proof_says() -> None:
    plan = length_plan(128, 214, 79, 4)
    assert (plan.worst_mistakes, plan.epochs, plan.cuts[129]) == (958, 8, (34, 60, 86, 112))
    assert length_plan(128, 132, 79, 1).worst_mistakes == 1214


@pytest.mark.parametrize("bits", [1, 8, 32, 128])
@pytest.mark.parametrize(("trigger_rate", "rate"), [(0.44, 0.28), (0.2, 0.4), (1.0, 2.0)])
def test_thresholds_are_clear_of_noise_in_every_epoch(
    bits: int, trigger_rate: float, rate: float
) -> None:
    """What may go wrong in F epochs comes to the failure probability at the most."""
    trigger, bottom, failure = TriggerNoise(trigger_rate, 10**6), 57, 0.05
    found = searched(bits, trigger, rate, bottom, failure)
    assert found is not None
    assert found.plan == length_plan(bits, found.up, found.down, LENGTHS_AT_ONCE)
    epochs = found.plan.epochs
    parts = Failure.divided(failure, epochs, trigger_rate, rate)
    noise = trigger.reach(parts.reach) + trigger.undershoot(epochs, parts.undershoot)
    # of an epoch's mistakes, so many are certain
    shorter = math.expm1(rate * found.step) ** -1  # at a step, two, three ... more of one
    above_bottom = found.up - noise - bottom - (LENGTHS_AT_ONCE - 1) * found.step
    sides = found.down - noise
    assert epochs * (shorter + math.exp(-rate * above_bottom)) <= parts.draws * (1 + 1e-9)
    assert epochs * math.exp(-rate * sides) <= parts.draws * (1 + 1e-9)
    waiting = found.mistakes - found.plan.worst_mistakes
    assert waiting == pytest.approx(trigger.delays(epochs, parts.delays))


def test_a_search_for_addresses_makes_at_most_about_a_thousand_mistakes() -> None:
    found = searched(128, TriggerNoise(0.44, 10**6), 0.28, 57, 0.05)
    assert found is not None
    assert (found.up, found.down, found.step) == (209, 78, 24)
    assert (math.ceil(found.mistakes), found.plan.epochs) == (1005, 8)


@pytest.mark.parametrize("values", [(-1, 1, 1, 1), (3, 0, 1, 1), (3, 1, 0, 1), (3, 1, 1, 0)])
def test_other_numbers_are_refused(values: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        length_plan(*values)
