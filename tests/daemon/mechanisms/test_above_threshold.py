"""Lemma A by exact enumeration, broken variants that it must not let pass, and the vector path."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from littled.mechanisms.above_threshold import AboveThreshold, Gaps
from littled.mechanisms.cohen_lyu import CohenLyuTest
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from support.plain import plain_fire, plain_gaps
from support.tails import tail_of

Law = NDArray[np.float64]
Queries = NDArray[np.int64]

STEPS = 8
RATE = Fraction(1, 2)
# All sequences of counts with steps of 0 and 1: (256, 8).
COUNTS = np.cumsum(np.array(list(product((0, 1), repeat=STEPS))), axis=1)


def density(rate: float, reach: int) -> tuple[NDArray[np.int64], Law]:
    """Values and probabilities of discrete Laplace noise, cut where doubles end."""
    values = np.arange(-reach, reach + 1)
    weights = np.exp(-rate * np.abs(values))
    return values, weights / weights.sum()


def survival(rate: Fraction, gaps: NDArray[np.int64]) -> Law:
    """P[nu >= gap] as the mechanism itself has it: 2^-64 times its table."""
    noise = DiscreteLaplace(rate)
    rows = np.clip(gaps, -noise.reach, noise.reach + 1) + noise.reach
    return np.asarray(noise.survival_table[rows] / 2.0**64, dtype=np.float64)


def firing_law(
    queries: Queries,
    threshold: int,
    *,
    rho_rate: Fraction | None = RATE,
    nu_rate: Fraction = RATE,
    fresh_rho: bool = False,
) -> Law:
    """P[fires at step t] for t < STEPS and P[never] for each row of queries: (rows, STEPS + 1)."""
    values, weights = np.array([0]), np.array([1.0])
    if rho_rate is not None:
        values, weights = density(float(rho_rate), int(40 / float(rho_rate)))
    fire = survival(nu_rate, threshold + values - queries[:, :, None])
    if fresh_rho:
        fire, weights = (fire @ weights)[:, :, None], np.array([1.0])
    quiet = np.cumprod(1 - fire, axis=1)
    before = np.concatenate((np.ones_like(quiet[:, :1]), quiet[:, :-1]), axis=1)
    law: NDArray[np.float64] = np.concatenate((before * fire, quiet[:, -1:]), axis=1) @ weights
    assert np.allclose(law.sum(axis=1), 1, atol=1e-12)
    return law


def worst_loss(law: Callable[[Queries], Law], changes: NDArray[np.int64]) -> float:
    """Largest log-ratio of the laws of a sequence and of it with a change (one of m rows) added."""
    here, worst = law(COUNTS), 0.0
    for change in changes:
        there = law(COUNTS + change)
        # doubles are exact to 1e-15 here; events below 1e-9 could not be told from rounding
        seen = (here > 1e-9) & (there > 1e-9)
        worst = max(worst, float(np.abs(np.log(here[seen] / there[seen])).max()))
    return worst


def constant_changes() -> NDArray[np.int64]:
    """c from step t* on, for every t* and c = 1 (c = -1 is the same pair the other way round)."""
    return np.array([np.arange(STEPS) >= start for start in range(STEPS)], dtype=np.int64)


@pytest.mark.parametrize("threshold", [-6, -1, 0, 1, 2, 4, 8, 20])
def test_the_position_of_a_fire_is_pure_at_the_rate(threshold: int) -> None:
    loss = worst_loss(lambda queries: firing_law(queries, threshold), constant_changes())
    assert loss <= float(RATE) + 1e-6


def test_the_bound_is_tight_and_all_of_it_is_used() -> None:
    loss = worst_loss(lambda queries: firing_law(queries, 20), constant_changes())
    assert loss > float(RATE) - 1e-4


@pytest.mark.no_cover
@pytest.mark.parametrize(("rho", "nu"), [(Fraction(1, 4), RATE), (RATE, Fraction(1, 4))])
def test_two_rates_cost_the_larger_one(rho: Fraction, nu: Fraction) -> None:
    losses = [
        worst_loss(
            partial(firing_law, threshold=threshold, rho_rate=rho, nu_rate=nu),
            constant_changes(),
        )
        for threshold in (-6, 0, 2, 8, 20)
    ]
    assert max(losses) <= 0.5 + 1e-6


BROKEN: dict[str, Callable[[Queries], Law]] = {
    "no noise on the threshold": lambda queries: firing_law(queries, 2, rho_rate=None),
    "threshold noise drawn again at each step": lambda queries: firing_law(
        queries, 2, fresh_rho=True
    ),
    "threshold noise of half the scale": lambda queries: firing_law(queries, -6, rho_rate=2 * RATE),
    "query noise of half the scale": lambda queries: firing_law(queries, 20, nu_rate=2 * RATE),
}


@pytest.mark.parametrize("variant", sorted(BROKEN))
def test_broken_variants_exceed_the_bound(variant: str) -> None:
    assert worst_loss(BROKEN[variant], constant_changes()) > 1.02 * float(RATE)


def test_changes_of_both_signs_in_one_epoch_are_not_covered() -> None:
    sign_changes = np.where(np.arange(STEPS) % 2, 1, -1)[None, :]
    steps = np.array([[-1] * (STEPS - 1) + [1]])
    changes = np.concatenate((sign_changes, steps))
    worst = max(worst_loss(partial(firing_law, threshold=at), changes) for at in (-6, 0, 2, 8))
    assert 1.5 * float(RATE) < worst <= 3 * float(RATE)


# --- users ----------------------------------------------------------------------------------------

# Rates of the threshold's noise and of the steps'.
UNEQUAL = ((Fraction(1, 4), Fraction(3, 4)), (Fraction(3, 4), Fraction(1, 4)), (RATE, RATE))


def user_counts(most: int) -> Queries:
    """All ways in which one user's mistakes come to count, at most so many: (ways, STEPS)."""
    rows = [row for row in product(range(most + 1), repeat=STEPS) if list(row) == sorted(row)]
    return np.array(rows, dtype=np.int64)


def worst_user_loss(
    most: int, threshold: int, rho: Fraction | None, nu: Fraction, *, fresh_rho: bool = False
) -> float:
    """Largest log-ratio of the laws of the same others' counts with one user's, and another's."""
    ways, worst = user_counts(most), 0.0
    for others in COUNTS[:: 1 if most == 1 else 32]:
        law = firing_law(ways + others, threshold, rho_rate=rho, nu_rate=nu, fresh_rho=fresh_rho)
        logs = np.where(law > 1e-9, np.log(np.maximum(law, 1e-300)), np.nan)
        for here in logs:
            worst = max(worst, float(np.nanmax(np.abs(here - logs))))
    return worst


@pytest.mark.no_cover
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize(("rho", "nu"), UNEQUAL)
@pytest.mark.parametrize("threshold", [-6, 0, 2, 8, 20])
def test_a_user_costs_the_sum_of_both_rates_for_each_mistake(
    most: int, rho: Fraction, nu: Fraction, threshold: int
) -> None:
    """Lemma U."""
    assert worst_user_loss(most, threshold, rho, nu) <= most * float(rho + nu) + 1e-6


def long_user_loss(rho: Fraction, nu: Fraction, steps: int) -> float:
    """One user's mistake before many steps that nearly fire, or another's after them."""
    queries = np.zeros((2, steps + 1), dtype=np.int64)
    queries[0, :], queries[1, -1] = 1, 1
    values, weights = density(float(rho), int(60 / float(rho)))
    fire = survival(nu, values - queries[:, :, None])
    quiet = np.prod(1 - fire[:, :-1], axis=1)
    here, there = (quiet * fire[:, -1]) @ weights
    return float(np.log(there / here))


@pytest.mark.parametrize(("rho", "nu"), UNEQUAL)
def test_what_a_user_costs_cannot_be_improved(rho: Fraction, nu: Fraction) -> None:
    loss, price = long_user_loss(rho, nu, 1 << 14), float(rho + nu)
    assert price - 0.02 < loss <= price + 1e-6


@pytest.mark.parametrize(("rho", "nu"), UNEQUAL[:2])
def test_neither_rate_can_be_left_out_for_a_user(rho: Fraction, nu: Fraction) -> None:
    """Nor does the larger of them do, as it does for an example."""
    loss = long_user_loss(rho, nu, 1 << 14)
    assert loss > 1.3 * float(max(rho, nu))
    # each with the other's rate in its place, or drawn at another
    assert long_user_loss(2 * rho, nu, 1 << 14) > 1.2 * float(rho + nu)
    assert long_user_loss(rho, 2 * nu, 1 << 14) > 1.2 * float(rho + nu)


def forked_law(lost: Queries, copied: Queries) -> Law:
    """P[the lost branch is silent, and the copy fires at step t or never]: (steps + 1,)."""
    values, weights = density(float(RATE), 120)
    silent = (1 - survival(RATE, values - lost[:, None])).prod(axis=0)
    fire = survival(RATE, values - copied[:, None])
    quiet = np.cumprod(1 - fire, axis=0)
    before = np.concatenate((np.ones_like(quiet[:1]), quiet[:-1]))
    law: Law = np.concatenate((before * fire, quiet[-1:])) @ (weights * silent)
    return law


def forked_loss(steps: int, *, again: bool) -> float:
    """Loss of an example that only a lost branch has, or the copy again in the same epoch."""
    lost, copied = np.zeros(steps, dtype=np.int64), np.zeros(STEPS, dtype=np.int64)
    loss = 0.0
    here = forked_law(lost, copied)
    for start, later in product((0, steps // 2, steps - 1), range(STEPS)):
        more = (np.arange(STEPS) >= later).astype(np.int64) if again else copied
        there = forked_law(lost + (np.arange(steps) >= start), more)
        loss = max(loss, float(np.abs(np.log(here / there)).max()))
    return loss


def test_an_epoch_with_a_lost_branch_costs_twice_as_much() -> None:
    """Of a copy of a store that goes on (PRIVACY.md, "Old copies of a store")."""
    for steps in (1, 8, 64, 4096):
        assert forked_loss(steps, again=False) <= 2 * float(RATE) + 1e-6
        assert forked_loss(steps, again=True) <= 2 * float(RATE) + 1e-6
    assert forked_loss(4096, again=False) > 1.99 * float(RATE)


def both_law(kept: Queries, lost: Queries, copied: Queries) -> Law:
    """P[silent before the fork, one branch fires at step s, the other at t]: by s, t, or never."""
    values, weights = density(float(RATE), 120)
    laws = []
    for queries in (lost, copied):
        fire = survival(RATE, values - queries[:, None])
        quiet = np.cumprod(1 - fire, axis=0)
        before = np.concatenate((np.ones_like(quiet[:1]), quiet[:-1]))
        laws.append(np.concatenate((before * fire, quiet[-1:])))
    silent = (1 - survival(RATE, values - kept[:, None])).prod(axis=0)
    law: Law = np.einsum("r,sr,tr->st", weights * silent, *laws)
    return law


@pytest.mark.parametrize("level", [-40, -8, 0])
@pytest.mark.parametrize("kept", [1, 64])
def test_an_epoch_with_two_branches_that_may_both_fire_costs_twice_as_much(
    level: int, kept: int
) -> None:
    """Of two daemons over two copies (PRIVACY.md, "Two copies and one mark"): an example of what
    both have, of one branch, or of each. A later epoch is another mechanism."""
    before = np.zeros(kept, dtype=np.int64)
    branch = np.full(STEPS, level, dtype=np.int64)
    here = both_law(before, branch, branch)
    more = [(np.arange(STEPS) >= later).astype(np.int64) for later in range(0, STEPS, 3)]
    starts = (0, kept - 1)
    theirs = [both_law(before + (np.arange(kept) >= at), branch + 1, branch + 1) for at in starts]
    theirs.append(both_law(before, branch + 1, branch + 1))
    for lost in (branch, *(branch + each for each in more)):
        theirs += [both_law(before, lost, branch + each) for each in more]
        theirs.append(both_law(before, lost, branch))
    losses = [float(np.abs(np.log(here / there)).max()) for there in theirs]
    assert max(losses) <= 2 * float(RATE) + 1e-6
    if level == -40:  # the fork comes right before the example, which both have then
        assert losses[2] > 1.9 * float(RATE)


def by_definition(rate: Fraction, gaps: list[int], words: list[int]) -> int | None:
    """The first step whose word is below the tail of its gap, one by one."""
    noise = DiscreteLaplace(rate)
    fires = (
        i for i, (g, w) in enumerate(zip(gaps, words, strict=True)) if w < tail_of(noise.rate, g)
    )
    return next(fires, None)


GAPS = st.one_of(st.integers(-60, 60), st.integers(-(2**63), 2**63 - 1))
WORDS = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**63, 2**64 - 2, 2**64 - 1]))


@given(st.lists(st.tuples(GAPS, WORDS), max_size=12), st.sampled_from([RATE, Fraction(3)]))
def test_vectors_agree_with_the_definition(steps: list[tuple[int, int]], rate: Fraction) -> None:
    gaps, words = [gap for gap, _ in steps], [word for _, word in steps]
    fired = AboveThreshold(rate).first_above(
        np.array(gaps, dtype=np.int64), np.array(words, dtype=np.uint64)
    )
    assert fired == by_definition(rate, gaps, words)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=3, max_size=3))
def test_the_threshold_has_noise_of_its_own_rate(numbers: list[int]) -> None:
    words = np.array(numbers, dtype=np.uint64)
    low, high = Fraction(1, 5), Fraction(2)
    trigger = AboveThreshold(high, low)
    assert trigger.threshold_noise(words) == DiscreteLaplace(low).sample(words)
    assert AboveThreshold(high).threshold_noise(words) == DiscreteLaplace(high).sample(words)
    steps, gaps = np.tile(words, 4), np.arange(-6, 6)
    assert trigger.first_above(gaps, steps) == AboveThreshold(high).first_above(gaps, steps)
    assert trigger.reach == AboveThreshold(high).reach == AboveThreshold(high).noise_max
    assert trigger.noise_max == AboveThreshold(low, high).noise_max == DiscreteLaplace(low).reach
    assert trigger.precision_error(0) == DiscreteLaplace(low).total_variation


@pytest.mark.parametrize("gap", [-100, -3, 0, 1, 2, 40, 87])
def test_a_step_fires_exactly_below_its_tail(gap: int) -> None:
    trigger = AboveThreshold(RATE)
    tail = tail_of(RATE, gap)
    gaps = np.array([gap], dtype=np.int64)
    assert tail > 0
    assert trigger.first_above(gaps, np.array([tail - 1], dtype=np.uint64)) == 0
    assert trigger.first_above(gaps, np.array([tail], dtype=np.uint64)) is None


def test_beyond_its_reach_no_word_fires() -> None:
    trigger = AboveThreshold(RATE)
    zeros = np.zeros(3, dtype=np.uint64)
    assert trigger.first_above(np.full(3, trigger.reach + 1), zeros) is None
    assert trigger.first_above(np.array([trigger.reach + 1, trigger.reach, 0]), zeros) == 1


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(0, 2**32))
def test_the_first_fire_does_not_depend_on_batches(cuts: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    gaps = rng.integers(0, 14, sum(cuts))
    words = rng.integers(0, 2**64, sum(cuts), dtype=np.uint64)
    trigger, start, first = AboveThreshold(RATE), 0, None
    for cut in cuts:
        found = trigger.first_above(gaps[start : start + cut], words[start : start + cut])
        if found is not None:
            first = start + found
            break
        start += cut
    assert first == trigger.first_above(gaps, words)


def run_epochs(epochs: int, seed: int, rate: Fraction) -> NDArray[np.int64]:
    """How often epochs with a mistake at every second step fire at each step, or never."""
    trigger, rng = AboveThreshold(rate), np.random.default_rng(seed)
    queries = np.arange(STEPS) // 2
    counts = np.zeros(STEPS + 1, dtype=np.int64)
    for start in range(0, epochs, 100_000):
        size = min(100_000, epochs - start)
        noise = rng.integers(0, 2**64, (size, AboveThreshold.WORDS), dtype=np.uint64)
        words = rng.integers(0, 2**64, (size, STEPS), dtype=np.uint64)
        for rho_words, step_words in zip(noise, words, strict=True):
            gaps = 3 + trigger.threshold_noise(rho_words) - queries
            fired = trigger.first_above(gaps, step_words)
            counts[STEPS if fired is None else fired] += 1
    return counts


def check_epochs(epochs: int, seed: int) -> None:
    queries = np.arange(STEPS)[None, :] // 2
    law = firing_law(queries, 3)[0]
    assert chisquare(run_epochs(epochs, seed, RATE), law * epochs).pvalue > 1e-4
    few = min(epochs, 30_000)
    for wrong in (RATE * 2 / 3, RATE * 3 / 2):
        assert chisquare(run_epochs(few, seed, wrong), law * few).pvalue < 1e-6


def test_fires_follow_their_exact_law_and_no_other_scale() -> None:
    check_epochs(7_000, seed=5)


@pytest.mark.campaign
def test_ten_million_epochs_follow_their_exact_law() -> None:
    check_epochs(10_000_000, seed=6)


def check_steps(steps: int, seed: int) -> None:
    gap, trigger, rng = 5, AboveThreshold(RATE), np.random.default_rng(seed)
    gaps, fires, start = np.full(steps, gap), 0, 0
    words = rng.integers(0, 2**64, steps, dtype=np.uint64)
    while (
        found := trigger.first_above(gaps[start : start + 500], words[start : start + 500])
    ) is not None or start < steps:
        fires += found is not None
        start += 500 if found is None else found + 1
    for rate, fits in ((RATE, True), (RATE * 2 / 3, False), (RATE * 3 / 2, False)):
        chance = float(survival(rate, np.array([gap]))[0])
        assert (abs(fires - steps * chance) < 5 * (steps * chance * (1 - chance)) ** 0.5) == fits


def test_steps_fire_as_often_as_they_should() -> None:
    check_steps(200_000, seed=7)


@pytest.mark.campaign
def test_ten_million_steps_fire_as_often_as_they_should() -> None:
    check_steps(10_000_000, seed=8)


def test_precision_error_counts_every_step_and_the_threshold() -> None:
    trigger = AboveThreshold(RATE)
    base = trigger.precision_error(0)
    assert base == DiscreteLaplace(RATE).total_variation > 0
    assert trigger.precision_error(1 << 20) == base + Fraction(1, 1 << 44)
    with pytest.raises(ValueError, match="negative"):
        trigger.precision_error(-1)


@pytest.mark.parametrize(
    ("gaps", "words", "sentence"),
    [
        (np.zeros(3, dtype=np.int32), np.zeros(3, dtype=np.uint64), "gaps of int64"),
        (np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64), "words of uint64"),
        (np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.uint64), "one word for each gap"),
        (np.zeros((3, 1), dtype=np.int64), np.zeros((3, 1), dtype=np.uint64), "one dimension"),
    ],
)
def test_other_columns_are_refused(
    gaps: NDArray[np.int64], words: NDArray[np.uint64], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        AboveThreshold(RATE).first_above(gaps, words)


def test_floats_are_rates_as_they_are_written_and_text_is_none() -> None:
    tenth = Fraction(1, 10)
    assert AboveThreshold(0.1, 0.1) == AboveThreshold(tenth, tenth)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Fraction"):
        AboveThreshold("0.1")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Fraction"):
        AboveThreshold(RATE, "0.1")  # type: ignore[arg-type]


# --- runs of steps --------------------------------------------------------------------------------


@st.composite
def runs_of_steps(draw: Any) -> tuple[Gaps, NDArray[np.uint64]]:
    """Gaps near and far from the threshold, with words that often lie close to what fires."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    length = draw(st.integers(0, 600))
    rate = draw(st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(333_333_333, 10**9)]))
    counted = random.random(length) < draw(st.sampled_from([0, 0.01, 0.1, 0.9, 1]))
    gaps = Gaps(draw(st.integers(-300, 900)), counted, rate, draw(st.sampled_from([0, 7, 10**15])))
    gaps = replace(gaps, before=gaps.before - gaps.earlier * rate.numerator // rate.denominator)
    words = random.integers(0, 1 << 64, length, dtype=np.uint64)
    if draw(st.booleans()):
        words >>= random.integers(0, 64, length, dtype=np.uint64)
    return gaps, words


@settings(max_examples=120, deadline=None)
@given(runs_of_steps())
@pytest.mark.parametrize("kind", [AboveThreshold, CohenLyuTest])
def test_a_run_of_steps_fires_where_the_first_of_them_does(kind: Any, run: Any) -> None:
    gaps, words = run
    test = kind(Fraction(1, 7))
    assert test.first_fire(gaps, words) == plain_fire(test, gaps, words)


@settings(max_examples=60, deadline=None)
@given(runs_of_steps(), st.integers(0, 600))
def test_the_gaps_of_a_run_are_those_of_its_steps(run: Any, cut: int) -> None:
    gaps = run[0]
    exact, cut = plain_gaps(gaps), min(cut, len(gaps))
    assert gaps.all().tolist() == exact
    assert all(gap >= gaps.least for gap in exact)
    assert gaps.first(cut).all().tolist() + gaps.after(cut).all().tolist() == exact


def test_only_steps_near_the_threshold_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    at = Gaps.at

    def noted(gaps: Gaps, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        looked.append(len(steps))
        return at(gaps, steps)

    monkeypatch.setattr(Gaps, "at", noted)
    words = np.random.default_rng(5).integers(0, 1 << 64, 100_000, dtype=np.uint64)
    counted = np.arange(100_000) % 100 == 0
    assert AboveThreshold(RATE).first_fire(Gaps(10_000, counted), words) is None
    assert not looked
    far_at_first = Gaps(1_000, counted)
    assert AboveThreshold(RATE).first_fire(far_at_first, words) is not None
    assert sum(looked) < 1_000


@pytest.mark.parametrize("words", [np.zeros(3, dtype=np.int64), np.zeros(4, dtype=np.uint64)])
def test_a_run_takes_one_word_a_step(words: Any) -> None:
    with pytest.raises(ValueError, match="one word of uint64 for each step"):
        AboveThreshold(RATE).first_fire(Gaps(5, np.ones(3, dtype=np.bool_)), words)
