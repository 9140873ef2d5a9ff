"""The partition learner as a state machine: epochs, rules, seasons, snapshots, what it learns."""

from dataclasses import fields, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.budget.events import CountsSeason, PrecisionLoss, PrepaidSelection
from littled.classes.prefix_sets import PrefixSets
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
from littled.learners.partition import PartitionLearner, PartitionParameters, PartitionState
from littled.learners.snapshot import SnapshotUnusable, pack, unpack
from littled.mechanisms.noise import Address, KeyedNoise
from littled_protocol.rules import PrefixSetRule
from support.learning import HEAD
from support.tape import TapeNoise

F = Fraction
CLASS = PrefixSets(10, 3)
PLAIN = PartitionParameters(
    epsilon=F(1), horizon=200, rate=F(1, 2), accounting="pure", schedule_first=10, schedule_cap=25,
    decay=F(7, 8), divided_from=4, parts_max=64,
)  # fmt: skip
CASES = {"plain": PLAIN, "users": replace(PLAIN, user_examples_max=1)}
ENDS = [10, 20, 40, 65, 90, 115, 140, 165, 190]


def learner(case: str = "plain", **changes: Any) -> PartitionLearner:
    return PartitionLearner("s/l", CLASS, replace(CASES[case], **changes))


def stream(seed: int, count: int) -> tuple[Any, Any, Any]:
    """Addresses, labels of two blocks with some noise, and users of two examples each."""
    generator = np.random.default_rng(seed)
    x = generator.integers(1024, size=count).astype(np.uint16)
    y = ((x < 256) | (x >> 6 == 13)) ^ (generator.random(count) < 0.1)
    users = np.stack([np.zeros(count), np.arange(count) // 2], axis=1).astype(np.uint64)
    return x, y.astype(np.uint8), users


def run(
    of: PartitionLearner, count: int, noise: Any, cuts: list[int], seed: int = 1
) -> tuple[PartitionState, list[Published]]:
    """A season, cut at `cuts`; every call is admitted."""
    x, y, users = (column[:count] for column in stream(seed, 40_000))
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


def packed(of: PartitionLearner, state: PartitionState) -> bytes:
    return pack(of.state_to_dict(of.settled(state)))


@pytest.mark.parametrize("case", CASES)
def test_a_rule_follows_each_epoch_at_public_positions(case: str) -> None:
    state, out = run(learner(case), 200, TapeNoise(1), [])
    assert [each.position for each in out] == ENDS
    assert [each.version for each in out] == list(range(2, len(out) + 2))
    assert (state.calls, state.epoch) == (9, 9)
    assert learner(case).calls_max == 9


@given(cuts=st.lists(st.integers(1, 199), max_size=8), case=st.sampled_from(sorted(CASES)))
@settings(max_examples=15)
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
        assert first.consumed == again.consumed == 8
        assert packed(of, state) == before


def test_a_release_is_the_counts_and_a_sample_for_each_also_where_nothing_was_seen() -> None:
    of, noise = learner(), TapeNoise(6)
    place = Place(HEAD, 0, 7)
    for counts in (np.zeros((5, 2), dtype=np.int64), np.arange(10).reshape(5, 2)):
        released = of.release(counts, noise, place)
        words = TapeNoise(6).words(*_asked(of, noise)).reshape(10, 3)
        drawn = [of.noise.sample(row) for row in words]
        assert (released - counts).ravel().tolist() == drawn
    assert len({*drawn}) > 2


def _asked(of: PartitionLearner, noise: TapeNoise) -> tuple[Any, int]:

    name, purpose, position, count = noise.requests[-1]
    assert (name, purpose, position, count) == ("s/l", "counts", 7, 30)
    return Address(HEAD, name, "counts", position), count


def test_noise_is_drawn_once_for_each_epoch_and_all_parts() -> None:
    noise = TapeNoise(1)
    run(learner(divided_from=1 << 20, parts_max=16), 200, noise, [])
    # 16 parts at first, and one after the first release, as nothing is divided
    assert noise.requests == [
        ("s/l", "counts", end - 1, 3 * 2 * (16 if end == 10 else 1)) for end in ENDS
    ]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("count", [0, 7, 30, 123])
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


def test_snapshots_of_other_versions_are_refused_and_have_every_field() -> None:
    of = learner()
    values = of.state_to_dict(run(of, 20, TapeNoise(1), [])[0])
    assert set(values) == {one.name for one in fields(PartitionState)}
    with pytest.raises(SnapshotUnusable):
        of.state_from_dict({**values, "more": 1})


def test_a_season_is_priced_when_it_opens_and_rules_cost_nothing_more() -> None:
    of = learner("users")
    priced, published = of.step(of.initial(), SeasonOpened(0, 0), TapeNoise(1)).effects
    assert isinstance(priced, SeasonPriced)
    loss = PrecisionLoss(9 * 2 * 64 * of.noise.total_variation, F(1))
    assert priced.events == (CountsSeason(F(1, 2), "pure", 1), loss)
    assert published == Published("rule", 1, 0, 0, 0, CLASS.first_rule())
    assert of.call_event() == PrepaidSelection(draws=1)


def test_the_next_season_goes_on_from_what_was_released() -> None:
    of, noise = learner("users"), TapeNoise(5)
    state, out = run(of, 195, noise, [])
    assert state.users_kept is not None
    step = of.step(state, SeasonOpened(1, 205), noise)
    assert step.effects[-1] == Published("season", len(out) + 2, 1, len(out), 205, out[-1].rule)
    opened = step.state
    assert opened.partition == state.partition
    assert (opened.memory == state.memory).all()
    assert not opened.counts.any()
    assert opened.users_kept is not None
    assert not opened.users_kept.runs
    assert (opened.calls, opened.epoch_position) == (0, 205)


def test_the_last_epoch_of_a_season_keeps_nothing() -> None:
    of = learner()
    whole, _ = run(of, 190, TapeNoise(1), [])
    more, out = run(of, 200, TapeNoise(1), [195])
    assert packed(of, whole) == packed(of, more)
    assert out[-1].position == 190


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
    opened = of.step(step.state, SeasonOpened(1, 40), noise).state
    assert not opened.halted
    # what was counted and never released belongs to the season that is over
    assert step.state.counts.any()
    assert not opened.counts.any()


def test_examples_need_users_where_users_are_protected_and_only_there() -> None:
    x, y, users = stream(1, 5)
    for case, whose in (("users", None), ("plain", users)):
        of = learner(case)
        state = of.step(of.initial(), SeasonOpened(0, 0), TapeNoise(1)).state
        with pytest.raises(ValueError, match="examples come with their users"):
            of.step(state, Examples(Place(HEAD, 0, 0), x, y, whose), TapeNoise(1))


def test_of_each_user_the_first_examples_are_counted() -> None:
    of, noise = learner("users", schedule_first=40, schedule_cap=40), TapeNoise(1)
    state, _ = run(of, 31, noise, [])
    x, y, _ = (column[:31] for column in stream(1, 40_000))
    expected = np.zeros_like(state.counts)
    np.add.at(expected, (state.partition.places(x[::2]), y[::2]), 1)
    assert (state.counts == expected).all()


def test_versions_go_on_above_what_a_store_had_lost() -> None:
    of = learner()
    state, _ = run(of, 30, TapeNoise(1), [])
    assert of.after_restore(state, 100).version == 100
    assert of.after_restore(state, 1).version == state.version


def test_blocks_with_many_labels_are_found_and_followed_when_they_move() -> None:
    parameters = replace(PLAIN, horizon=40_000, schedule_first=500, schedule_cap=1_250)
    of, noise = PartitionLearner("s/l", CLASS, parameters), KeyedNoise(bytes(32))
    state, out = run(of, 20_000, noise, [])
    assert out[-1].rule == PrefixSetRule(10, ((0, 2), (13, 4)))
    x, y, _ = stream(2, 20_000)
    y, done = y ^ 1, 0  # everything else from now on
    while done < len(y):
        step = of.step(
            state, Examples(Place(HEAD, 20_000, 20_000 + done), x[done:], y[done:]), noise
        )
        state, done = step.state, done + step.consumed
        for effect in step.effects:
            assert isinstance(effect, CallRequested)
            state = of.step(state, CallAdmitted(effect.place), noise).state
    assert np.mean(state.rule.evaluate(x) != y) < 0.2
