"""The private learner M: its exact law, its price, and what the paper's constants demand."""

import math
from fractions import Fraction

import pytest

from littled.laboratory.stable_learner import (
    Infeasible,
    PrivateLearner,
    beyond,
    demanded,
    exact_price,
    examples_for,
    practical_chunks,
)

LEARNER = PrivateLearner(Fraction(2), Fraction(3), 3)


def laplace(z: int) -> Fraction:
    """Discrete Laplace of rate ln 2."""
    return Fraction(1, 3) * Fraction(1, 2) ** abs(z)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_the_chance_to_stay_is_the_tail_of_the_noise(count: int) -> None:
    below = sum(laplace(z) for z in range(-80, LEARNER.least - count))
    assert abs(1 - below - LEARNER.stays(count)) < Fraction(1, 10**20)


def test_the_law_is_that_of_all_lists() -> None:
    sample = ((0, 1), (1, 0))
    law = LEARNER.law((0b01, 0b01, 0b10), sample)
    twice, once = LEARNER.stays(2), LEARNER.stays(1)
    # 0b01 is right on both examples, 0b10 wrong on both: odds of 9 to 1
    assert law[0b01] == twice * (1 - once) + twice * once * Fraction(9, 10)
    assert law[0b10] == once * (1 - twice) + twice * once * Fraction(1, 10)
    assert law[None] == (1 - twice) * (1 - once)
    assert sum(law.values()) == 1
    with pytest.raises(ValueError, match="at least one chunk"):
        LEARNER.law((), sample)


@pytest.mark.parametrize(
    "learner",
    [PrivateLearner(Fraction(2), Fraction(2), 3), PrivateLearner(Fraction(2), Fraction(3, 2), 4)],
)
def test_the_price_is_the_larger_half_on_all_neighbours(learner: PrivateLearner) -> None:
    found = exact_price(learner, chunks=3, examples=1, points=2)
    # 64 lists and 4 samples, each with 3 * 3 lists and 3 samples beside it
    assert found.pairs == 64 * 4 * (9 + 3)
    assert 0 < found.worst <= found.claimed == learner.failure


def test_one_rate_alone_is_not_enough() -> None:
    """The last step costs 2 e2, not e2: four hypotheses gain where a fifth one loses."""
    learner = PrivateLearner(Fraction(2), Fraction(2), 8)
    hypotheses = (0b000, 0b001, 0b011, 0b101, 0b111) * 20
    right, wrong = (learner.law(hypotheses, ((0, y),)) for y in (0, 1))
    assert beyond(right, wrong, Fraction(2)) > learner.failure
    assert beyond(right, wrong, Fraction(4)) == 0


def test_the_constants_demand_more_than_any_machine_has() -> None:
    need = demanded(1, 0.1, 0.1, 1.0, 1e-6)
    assert need.frequency == -10
    assert need.chunk == pytest.approx(13 + math.log2(160))
    assert int(need.total) == 39
    with pytest.raises(Infeasible, match=r"needs 2\^39\.4 examples: 2\^19\.1 chunks of 2\^20\.3"):
        examples_for(1, 0.1, 0.1, 1.0, 1e-6)


def test_noise_and_sampling_stay_within_an_eighth_as_the_proof_needs() -> None:
    need = demanded(1, 0.1, 0.1, 1.0, 1e-6)
    eighth = 2.0 ** (need.chunks + need.frequency) / 8
    assert math.exp(-eighth / 4) * 2.0**need.chunks <= 0.1 / 3 * 1.001
    assert math.exp(-(2.0 ** (need.chunks + need.frequency)) / 128) <= 0.1 / 3


def test_a_number_of_examples_that_can_be_had_is_told() -> None:
    """No d of a class with two rules is below 1, so only the arithmetic is of interest."""
    assert examples_for(0, 0.5, 0.5, 20.0, 0.5) < 1 << 30


def test_practical_chunks_are_the_least_that_suffice() -> None:
    chunks, least = practical_chunks(0.5, 0.05, 0.5, 1e-6)
    r = math.exp(-0.5)
    assert r ** (least - 1) / (1 + r) <= 1e-6 < r ** (least - 2) / (1 + r)

    def missed(k: int) -> float:
        stays = [
            1 - r ** (1 - (least - c)) / (1 + r) if c >= least else r ** (least - c) / (1 + r)
            for c in range(k + 1)
        ]
        return sum(math.comb(k, c) * 0.5**k * (1 - stay) for c, stay in enumerate(stays))

    assert missed(chunks) <= 0.05 < missed(chunks - 1)
    assert practical_chunks(1.0, 0.05, 0.5, 1e-6)[0] < chunks
