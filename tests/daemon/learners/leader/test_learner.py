"""The scorecard learner as a state machine: batches, rules, seasons, snapshots, what it learns."""

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.budget.events import PrecisionLoss, PrepaidSelection
from littled.classes.capabilities import Integers
from littled.classes.scorecard import Scorecards
from littled.learners.contract import (
    CallAdmitted,
    CallRefused,
    CallRequested,
    Examples,
    Place,
    Published,
    SeasonOpened,
    SeasonPriced,
)
from littled.learners.leader import LeaderLearner, LeaderParameters, LeaderState
from littled.learners.leader.judging import Candidate
from littled.learners.leader.learner import published_after, season_event
from littled.learners.leader.state import Base
from littled.learners.snapshot import SnapshotUnusable, pack, unpack
from littled.mechanisms import discrete_gaussian
from littled.mechanisms.noise import KeyedNoise, NoiseSource, Purpose
from littled_protocol.rules import ScorecardRule
from support.learning import HEAD
from support.tape import TapeNoise

F = Fraction
CLASS = Scorecards("8x4cox2")
COLD = LeaderParameters(
    epsilon=F(1),
    horizon=200,
    batch_examples=10,
    decay=F(39, 40),
    learning_rate=F(1, 8),
    scale=1_000,
)
WARM = replace(COLD, warmup=3, warmup_scale=900, moments_scale=100_000)
CASES = {"cold": COLD, "warm": WARM, "users": replace(WARM, user_examples_max=1)}
PORTFOLIO = replace(
    WARM, cosines=6, average_batches=3, publish_every=1, stump_batches=4, stump_rate=F(1),
    stump_points=100, stump_fade=10, judging_scale=10**9, judging_first=2, judging_last=4,
)  # fmt: skip
DAMPED = replace(
    PORTFOLIO, damping=F(1, 2), judging_lead=2, short_share=F(4, 5), scale=100, warmup_scale=80
)
COMPARED = {
    "portfolio": PORTFOLIO,
    "damped": DAMPED,
    "members": replace(PORTFOLIO, user_examples_max=1),
    "falling": replace(DAMPED, falling_after=3, drift_batches=2, drift_lead=1),
}
ALL = CASES | COMPARED
FEATURES = CLASS.features(4)


def learner(case: str = "warm", **changes: Any) -> LeaderLearner:
    return LeaderLearner("s/l", CLASS, replace(ALL[case], **changes))


def stream(seed: int, count: int) -> tuple[Any, Any, Any]:
    """Rows, labels that mostly follow the first two columns, and users of two examples each."""
    generator = np.random.default_rng(seed)
    columns = [generator.integers(size, size=count) for size in CLASS.sizes]
    x = np.stack(columns, axis=1).astype(np.uint16)
    y = (x[:, 0] + 2 * (x[:, 1] == 1) > 4) ^ (generator.random(count) < 0.1)
    users = np.stack([np.zeros(count), np.arange(count) // 2], axis=1).astype(np.uint64)
    return x, y.astype(np.uint8), users


def run(
    of: LeaderLearner, count: int, noise: Any, cuts: list[int], seed: int = 1, rows: Any = None
) -> tuple[LeaderState, list[Published]]:
    """A season of the stream, or of `rows`, cut at `cuts`; every call is admitted."""
    x, y, users = (column[:count] for column in rows or stream(seed, 6_000))
    whose = users if of.parameters.user_examples_max else None
    state, out = of.step(of.initial(), SeasonOpened(0, 0), noise).state, []
    for start, stop in pairwise(sorted({0, *(cut for cut in cuts if cut < count), count})):
        done = start
        while done < stop:
            part = slice(done, stop)
            given_users = None if whose is None else whose[part]
            event = Examples(Place(HEAD, start, done), x[part], y[part], given_users)
            step = of.step(state, event, noise)
            state, done = step.state, done + step.consumed
            assert step.effects or done == stop
            for effect in step.effects:
                assert isinstance(effect, CallRequested)
                answer = of.step(state, CallAdmitted(effect.place), noise)
                state = answer.state
                out += [each for each in answer.effects if isinstance(each, Published)]
    return state, out


def packed(of: LeaderLearner, state: LeaderState) -> bytes:
    return pack(of.state_to_dict(of.settled(state)))


@pytest.mark.parametrize("case", CASES)
def test_a_rule_follows_each_batch_at_first(case: str) -> None:
    state, out = run(learner(case), 200, TapeNoise(1), [])
    assert [each.position for each in out] == [10 * n for n in published_after(CASES[case])]
    assert [each.position for each in out][:10] == list(range(10, 101, 10))
    assert [each.version for each in out] == list(range(2, len(out) + 2))
    assert state.batches == 20
    assert state.moments is None


def test_rules_come_less_often_later_and_their_number_is_limited() -> None:
    few = replace(COLD, horizon=40_000)
    assert list(published_after(few)) == list(range(1, 4001))
    long = replace(WARM, horizon=40_980, warmup=20)
    assert list(published_after(long)) == [*range(1, 16), *range(16, 4099, 2)]
    assert learner("warm", horizon=40_980, warmup=20).calls_max == 2057


@pytest.mark.no_cover
@given(cuts=st.lists(st.integers(1, 199), max_size=8), case=st.sampled_from(sorted(ALL)))
@settings(max_examples=25)
def test_how_examples_come_in_batches_does_not_matter(cuts: list[int], case: str) -> None:
    of = learner(case)
    state, out = run(of, 195, TapeNoise(3), [])
    other, same = run(of, 195, TapeNoise(3), cuts)
    assert out == same
    assert packed(of, state) == packed(of, other)


def test_a_step_leaves_the_state_before_it_as_it_was() -> None:
    of, noise = learner(), TapeNoise(2)
    state, _ = run(of, 57, noise, [])
    before = packed(of, state)
    x, y, _ = stream(9, 80)
    for flipped in (y, 1 - y):
        first = of.step(state, Examples(Place(HEAD, 57, 57), x, flipped), noise)
        again = of.step(state, Examples(Place(HEAD, 57, 57), x, flipped), noise)
        assert packed(of, first.state) == packed(of, again.state)
        assert first.consumed == again.consumed == 3
        assert packed(of, state) == before


@pytest.mark.parametrize("case", CASES)
def test_shapes_change_what_is_published_and_nothing_else(case: str) -> None:
    free, shaped = learner(case), learner(case, columns_max=2, monotone="ff-")
    state, rules = run(free, 200, TapeNoise(5), [])
    same, other = run(shaped, 200, TapeNoise(5), [])
    assert packed(free, replace(same, rule=state.rule)) == packed(free, state)
    assert [each.position for each in rules] == [each.position for each in other]
    for each, found in zip(rules, other, strict=True):
        whole, rule = cast("ScorecardRule", each.rule), cast("ScorecardRule", found.rule)
        assert sum(map(any, rule.tables)) == 2
        grades = rule.tables[1][:-1]  # and what is other
        assert [*rule.tables[0]] == sorted(rule.tables[0], reverse=True)
        assert [*grades] == sorted(grades, reverse=True)
        for table, before in zip(rule.tables[1:], whole.tables[1:], strict=True):
            assert not any(table) or table[-1] == before[-1]


def test_the_mean_of_a_column_that_is_left_out_is_in_the_constant() -> None:
    state, rules = run(learner(), 200, TapeNoise(5), [])
    _, narrow = run(learner(columns_max=1), 200, TapeNoise(5), [])
    whole, rule = (cast("ScorecardRule", each[-1].rule) for each in (rules, narrow))
    left_out = [place for place, table in enumerate(rule.tables) if not any(table)]
    assert len(left_out) == 2
    sequence, sides = state.sequence, FEATURES.places
    assert sequence is not None
    means = [(state.average * sequence.centre)[sides[place]].sum() for place in left_out]
    expected = 100 * sum(means) / (sequence.bound << 24)
    assert abs(expected) > 1
    assert abs(rule.constant - whole.constant - expected) < 1.5


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize("count", [0, 7, 30, 34, 123])
def test_a_snapshot_goes_on_as_the_state_would(case: str, count: int) -> None:
    of, noise = learner(case), TapeNoise(4)
    state, _ = run(of, count, noise, [])
    read = of.state_from_dict(unpack(packed(of, state)))
    assert packed(of, read) == packed(of, state)
    x, y, users = stream(7, 40)
    whose = users + np.uint64(1000) if of.parameters.user_examples_max else None
    event = Examples(Place(HEAD, count, count), x, y, whose)
    ours, theirs = of.step(state, event, noise), of.step(read, event, noise)
    assert ours.effects == theirs.effects
    assert packed(of, ours.state) == packed(of, theirs.state)


def test_snapshots_of_other_versions_are_refused() -> None:
    of = learner()
    values = of.state_to_dict(run(of, 20, TapeNoise(1), [])[0])
    with pytest.raises(SnapshotUnusable):
        of.state_from_dict({**values, "more": 1})
    with pytest.raises(SnapshotUnusable):
        of.state_from_dict({**values, "sequence": {"summed": 1}})


def test_a_season_is_priced_when_it_opens_and_rules_cost_nothing_more() -> None:
    of = learner()
    priced, published = of.step(of.initial(), SeasonOpened(0, 0), TapeNoise(1)).effects
    assert isinstance(priced, SeasonPriced)
    values = 20 * FEATURES.dimensions + FEATURES.dimensions + 1
    loss = PrecisionLoss(values * discrete_gaussian.TOTAL_VARIATION, F(1))
    assert priced.events == (season_event(of.parameters), loss)
    assert published == Published("rule", 1, 0, 0, 0, CLASS.first_rule())
    assert of.call_event() == PrepaidSelection(draws=1)


def test_the_next_season_goes_on_from_the_weights_of_the_last() -> None:
    of, noise = learner(), TapeNoise(5)
    state, out = run(of, 205, noise, [])
    step = of.step(state, SeasonOpened(1, 205), noise)
    assert step.effects[-1] == Published("season", len(out) + 2, 1, len(out), 205, out[-1].rule)
    opened = step.state
    assert opened.batches == 0
    assert opened.sequence is not None
    assert opened.sequence.summed.count == opened.sequence.released.count == 0
    assert not opened.sequence.partial.any()
    # the same score in other coordinates: the rule that would be published now is the one before
    assert state.sequence is not None
    ours, theirs = of._rule(opened), out[-1].rule
    x, _, _ = stream(3, 500)
    assert np.mean(ours.evaluate(x) == theirs.evaluate(x)) > 0.98


def test_what_is_left_over_at_the_end_of_a_season_is_learned_by_nobody() -> None:
    of = learner("cold", horizon=205)
    whole, _ = run(of, 200, TapeNoise(1), [])
    more, out = run(of, 205, TapeNoise(1), [202])
    assert packed(of, whole) == packed(of, more)
    assert out[-1].position == 200


def test_a_refused_call_halts_until_the_next_season() -> None:
    of, noise = learner(), TapeNoise(1)
    x, y, _ = stream(1, 40)
    state = of.step(of.initial(), SeasonOpened(0, 0), noise).state
    step = of.step(state, Examples(Place(HEAD, 0, 0), x, y), noise)
    (asked,) = step.effects
    assert isinstance(asked, CallRequested)
    step = of.step(step.state, CallRefused(asked.place), noise)
    assert step.effects == (Published("halt", 2, 0, 0, 10, CLASS.first_rule()),)
    assert step.state.halted
    after = of.step(step.state, Examples(Place(HEAD, 0, 10), x[10:], y[10:]), noise)
    assert (after.state, after.consumed, after.effects) == (step.state, 30, ())
    assert not of.step(step.state, SeasonOpened(1, 40), noise).state.halted


def test_examples_need_users_where_users_are_protected_and_only_there() -> None:
    x, y, users = stream(1, 5)
    for case, whose in (("users", None), ("warm", users)):
        of = learner(case)
        state = of.step(of.initial(), SeasonOpened(0, 0), TapeNoise(1)).state
        with pytest.raises(ValueError, match="examples come with their users"):
            of.step(state, Examples(Place(HEAD, 0, 0), x, y, whose), TapeNoise(1))


def test_versions_go_on_above_what_a_store_had_lost() -> None:
    of = learner()
    state, _ = run(of, 30, TapeNoise(1), [])
    assert of.after_restore(state, 100).version == 100
    assert of.after_restore(state, 1).version == state.version


def test_noise_is_drawn_once_for_each_batch_and_once_for_the_mean() -> None:
    noise = TapeNoise(1)
    run(learner(), 200, noise, [])
    words = discrete_gaussian.WORDS
    rows = [("s/l", "scorecard", 10 * n - 1, FEATURES.dimensions * words) for n in range(1, 21)]
    moments = ("s/l", "scorecard-moments", 29, (FEATURES.dimensions + 1) * words)
    assert noise.requests == [*rows[:3], moments, *rows[3:]]


@dataclass(frozen=True)
class Noiseless(LeaderLearner):
    """Releases what it should hide."""

    def release(
        self, values: Integers, noise: NoiseSource, place: Place, purpose: Purpose
    ) -> Integers:
        return values


def test_damped_sequences_keep_few_sums_and_follow_the_same_ones() -> None:
    """Without noise weights are those of decaying sums, up to coefficients that are rounded."""
    plain = Noiseless("s/l", CLASS, replace(COLD, horizon=2_000, decay=F(99, 100)))
    damped = replace(plain, parameters=replace(plain.parameters, damping=F(1, 10)))
    (state, _), (other, _) = (run(of, 2_000, TapeNoise(1), []) for of in (plain, damped))
    assert state.sequence is not None
    assert other.sequence is not None
    kept = len(damped.parameters.coefficients)
    assert kept < 60
    assert state.sequence.summed.count == 200
    assert other.sequence.summed.count == other.sequence.released.count == kept
    apart = np.abs(other.weights - state.weights).max()
    assert apart < np.abs(state.weights).max() / 25


def test_rows_that_are_short_are_stretched_from_a_smaller_length_on() -> None:
    """So that more of them are: the unit of weights is that length."""
    whole, share = learner(), learner(short_share=F(4, 5))
    bounds = [run(of, 40, TapeNoise(3), [])[0].sequence for of in (whole, share)]
    assert bounds[0] is not None
    assert bounds[1] is not None
    assert bounds[1].bound == bounds[0].bound * 4 // 5


def test_columns_that_say_something_are_found() -> None:
    hypotheses = Scorecards("8x4cox2")
    parameters = LeaderParameters(
        epsilon=F(8), horizon=6_000, batch_examples=30, decay=F(399, 400), learning_rate=F(1, 8),
        scale=1_000, warmup=5, warmup_scale=900, moments_scale=1_000_000,
    )  # fmt: skip
    of = LeaderLearner("s/l", hypotheses, parameters)
    _, out = run(of, 6_000, KeyedNoise(bytes(32)), [])
    x, y, _ = stream(5, 5_000)
    assert np.mean(out[-1].rule.evaluate(x) != y) < 0.16  # a tenth of the labels are wrong


def test_categories_in_no_order_are_found_sooner_by_flags() -> None:
    """Where each of 40 values says something of its own, five cosines say little about it."""
    hypotheses = Scorecards("40cx8")
    values = np.random.default_rng(1).integers(2, size=40)
    generator = np.random.default_rng(2)
    x = generator.integers([40, 8], size=(16_000, 2)).astype(np.uint16)
    y = values[x[:, 0]].astype(np.uint8)
    errors = []
    for flags_from in (0, 9):
        parameters = LeaderParameters(
            epsilon=F(8), horizon=16_000, batch_examples=40, decay=F(399, 400), scale=4_000,
            learning_rate=F(1, 8), warmup=5, warmup_scale=4_000, moments_scale=1_000_000, cosines=5,
            flags_from=flags_from,
        )  # fmt: skip
        of = LeaderLearner("s/l", hypotheses, parameters)
        _, out = run(of, 16_000, KeyedNoise(bytes(32)), [], rows=(x, y, y))
        errors.append(np.mean(out[-1].rule.evaluate(x) != y))
    assert errors[0] > 0.2
    assert errors[1] < 0.05


def test_every_field_of_a_state_is_in_a_snapshot() -> None:
    """But what came later is left out where nothing is there, as it always was."""
    later = {"card", "base", "stump", "judgement", "judged", "cell_sums"}
    names = {one.name for one in fields(LeaderState)}
    of = learner()
    assert set(of.state_to_dict(run(of, 123, TapeNoise(1), [])[0])) == names - later
    of = learner("portfolio")
    for count in (5, 60, 123):
        values = of.state_to_dict(run(of, count, TapeNoise(1), [])[0])
        assert set(values) == names


# --- candidates -----------------------------------------------------------------------------------


def test_a_stump_is_published_first_and_scores_begin_with_it() -> None:
    of = learner("portfolio")
    state, out = run(of, 40, KeyedNoise(bytes(32)), [])
    assert of.stages == (1, 4)
    assert [each.position for each in out] == [10, 40]
    for each in out[:1]:
        rule = cast("ScorecardRule", each.rule)
        assert sum(map(any, rule.tables)) <= 1
    # the scorecard that is nothing but the stump: the same label for every row
    x, _, _ = stream(3, 500)
    card = cast("ScorecardRule", out[-1].rule)
    assert {*map(abs, sum(card.tables, ()))} <= {0, 100}
    cells = of.features.cells(x)
    assert (card.evaluate(x) == of.stumps.labels(state.stump, cells)).all()
    assert (state.base.number, state.base.score) == (state.stump, 1 << 16)
    assert state.weights.tolist() == [0] * of.features.dimensions


def test_what_scores_begin_with_fades() -> None:
    of = learner("portfolio")
    base = Base(3, 1000)
    scores = [of.base_score(base, batches) for batches in (0, 4, 5, 9, 13, 14, 20)]
    assert scores == [1000, 1000, 900, 500, 100, 0, 0]
    assert of.base_score(Base(), 0) == 0


def test_a_rule_that_stays_is_not_published_again() -> None:
    of = learner("portfolio")
    _, out = run(of, 200, TapeNoise(5), [])
    assert all(a.rule != b.rule for a, b in pairwise(out))
    assert len(out) < of.calls_max == 20
    assert [each.version for each in out] == list(range(2, len(out) + 2))


@pytest.mark.parametrize("shape", [{}, {"monotone": "r--"}, {"columns_max": 1}], ids=str)
def test_a_scorecard_is_published_again_when_rows_score_differently(shape: dict[str, Any]) -> None:
    always = learner("portfolio", judging_scale=0, judging_first=0, judging_last=0, **shape)
    seldom = replace(always, parameters=replace(always.parameters, least_change=60))
    (whole, every), (state, out) = (run(of, 200, TapeNoise(5), []) for of in (always, seldom))
    assert (state.weights.tolist(), state.batches) == (whole.weights.tolist(), whole.batches)
    # with the stump alone scores are those of its rule, which is published already
    standing = [each.rule for each in every if each.position <= 40][-1]
    cards, wanted = [each.rule for each in every if each.position > 40], []
    for card in cards:
        if mean_square(standing, card) >= 60**2:
            standing = card
            wanted.append(card)
    assert [each.rule for each in out if each.position > 40] == wanted
    assert 1 < len(wanted) < len(cards)


def mean_square(old: Any, new: Any) -> float:
    """Of all rows of buckets how differently they score, in points."""
    rows = np.indices(CLASS.sizes).reshape(len(CLASS.sizes), -1).T.astype(np.uint16)
    apart = [rule.points(rows).sum(axis=1) + rule.constant for rule in (old, new)]
    return float(((apart[1] - apart[0]) ** 2).mean())


def test_later_seasons_keep_what_was_learned_and_draw_a_stump_to_compare_with() -> None:
    of, noise = learner("portfolio"), KeyedNoise(bytes(32))
    state, out = run(of, 200, noise, [])
    opened = of.step(state, SeasonOpened(1, 200), noise).state
    x, y, _ = stream(4, 40)
    step = of.step(opened, Examples(Place(HEAD, 200, 200), x, y), noise)
    assert (step.consumed, step.effects) == (40, ())  # the rule stays while a stump is drawn
    assert step.state.rule == out[-1].rule
    assert step.state.base == Base(state.base.number, 0)
    assert step.state.weights.tolist() == opened.weights.tolist()
    assert step.state.judged is not None


def test_noise_of_candidates_is_drawn_at_public_positions() -> None:
    noise = TapeNoise(1)
    run(learner("portfolio"), 200, noise, [])
    asked = [(purpose, position) for _, purpose, position, _ in noise.requests]
    assert [p for purpose, p in asked if purpose == "scorecard-stump"] == [9, 39]
    # from batch 6 on, periods of 2 batches, and then of 4; the rest is in none
    assert PORTFOLIO.periods == (8, 12, 16, 20)
    assert [p for purpose, p in asked if purpose == "scorecard-judging"] == [79, 119, 159, 199]
    assert [p for purpose, p in asked if purpose == "scorecard"] == list(range(49, 200, 10))


@pytest.mark.parametrize("label", [0, 1])
def test_where_nothing_tells_the_label_a_constant_is_published(label: int) -> None:
    of = learner("portfolio", horizon=2_000, judging_scale=10**11, judging_last=40)
    state = of.step(of.initial(), SeasonOpened(0, 0), NOISE).state
    generator = np.random.default_rng(1)
    x, _, _ = stream(2, 2_000)
    y = (generator.random(2_000) < (0.6 if label else 0.4)).astype(np.uint8)
    done = 0
    while done < len(y):
        step = of.step(state, Examples(Place(HEAD, 0, done), x[done:], y[done:]), NOISE)
        state, done = step.state, done + step.consumed
        for effect in step.effects:
            assert isinstance(effect, CallRequested)
            state = of.step(state, CallAdmitted(effect.place), NOISE).state
    assert (state.rule.evaluate(x) == label).mean() > 0.9
    wanted = Candidate.ALWAYS if label else Candidate.NEVER
    assert state.judgement.choice in (wanted, Candidate.STUMP)


NOISE = KeyedNoise(bytes(32))
