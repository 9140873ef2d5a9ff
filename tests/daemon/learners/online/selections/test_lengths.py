"""Selection by a search for the length: what it draws from, publishes, remembers and costs."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.budget.events import SparseSelection
from littled.classes.names import class_from_name
from littled.learners.contract import SeasonOpened
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.length_search import (
    FOUND,
    HALVING,
    INHERITED,
    SEARCHING,
    LengthMemory,
    LengthSettings,
)
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.path_memory import value_of
from littled.learners.online.selections.lengths import Lengths
from littled.learners.online.values import EpochSettings
from littled.planner.online.lengths import length_plan
from littled_protocol.rules import PrefixRule
from support.learning import Runner, column, equal, run
from support.tape import TapeNoise

ADDRESS = 0x20010DB8_00000000_00000000_00000001
LONG = class_from_name("prefixes:128")
PLAN = length_plan(128, 214, 79, 4)
LENGTHS = OnlineParameters(
    epsilon=Fraction(1), horizon=10**6, noise_rate=Fraction(0), trigger_rate=Fraction(11, 25),
    trigger_threshold=214, selection="lengths", selection_rate=Fraction(7, 25),
    selection_accounting="pure", draws=1, calls_max=40, buffer="mistakes", list_cap=4,
    bottom_score=57, ladder=(EpochSettings(79),), fresh=True,
    memory=LengthSettings(25, PLAN.cuts),
)  # fmt: skip
# No noise is left of such rates: the trigger fires at U exactly, the best candidate always wins.
CERTAIN = replace(
    LENGTHS, trigger_rate=Fraction(80), selection_rate=Fraction(80), trigger_threshold=20,
    bottom_score=4, ladder=(EpochSettings(3),), memory=LengthSettings(1, PLAN.cuts),
)  # fmt: skip


def rule_of(state: OnlineState) -> PrefixRule:
    assert isinstance(state.rule, PrefixRule)
    return state.rule


def memory_of(state: OnlineState) -> LengthMemory:
    assert isinstance(state.memory, LengthMemory)
    return state.memory


def opened(parameters: OnlineParameters, seed: int = 1) -> Runner:
    runner = Runner(OnlineLearner("s/l", LONG, parameters), TapeNoise(seed))
    runner.open()
    return runner


def mistake(published: int | None, length: int) -> tuple[int, int]:
    """An example on which the published rule errs, and few others, if the target is this block.

    The target has the given length and lies on the path of the address.
    """
    if published is None:
        return ADDRESS, 1
    bit = min(published, length)  # the first one that is in one of the two blocks only
    return ADDRESS ^ (1 << (127 - bit)), int(published > length)


def misled(runner: Runner, length: int) -> int:
    """The mistakes until the target of this length is published, if every example is one."""
    position = 0
    while (published := rule_of(runner.state).length) != length:
        value, label = mistake(published, length)
        list(runner.feed(column(LONG, [value]), np.full(1, label, dtype=np.uint8), position))
        position += 1
        assert position < 2000
    return position


@pytest.mark.no_cover
@pytest.mark.parametrize("length", [0, 1, 33, 34, 59, 85, 86, 111, 112, 127, 128])
def test_every_length_is_found_with_no_more_mistakes_than_planned(length: int) -> None:
    """Each mistake lies in the smallest wrong block, which is the hardest to find."""
    assert misled(opened(LENGTHS), length) <= 1022
    certain = replace(CERTAIN, memory=LengthSettings(1, length_plan(128, 20, 3, 4).cuts))
    plan = length_plan(128, 20, 3, 4)
    assert misled(opened(certain), length) <= plan.worst_mistakes


def test_longer_lengths_are_preferred_by_a_step_each() -> None:
    """Of blocks with as many votes the longest is drawn; one more vote outweighs it here."""
    shared = [ADDRESS] * 12 + [ADDRESS ^ 1] * 8
    runner = opened(CERTAIN)
    list(runner.feed(column(LONG, shared), np.ones(20, dtype=np.uint8), 0))
    # all of the lengths 34, 60, 86 and 112 have twenty votes
    assert rule_of(runner.state).length == 112
    runner = opened(CERTAIN)
    apart = [ADDRESS ^ (number << 20) for number in range(20)]
    list(runner.feed(column(LONG, apart), np.ones(20, dtype=np.uint8), 0))
    # addresses share 103 bits, so a block of 86 has 20 votes, less a step
    assert rule_of(runner.state).length == 86
    assert memory_of(runner.state) == LengthMemory(
        FOUND, 0, 111, 86, (ADDRESS >> 106, (ADDRESS >> 42) % (1 << 64))
    )
    assert value_of(memory_of(runner.state).value) == rule_of(runner.state).value


def test_a_bottom_leaves_shorter_lengths() -> None:
    runner = opened(CERTAIN)
    apart = [ADDRESS ^ (number << 120) for number in range(20)]
    list(runner.feed(column(LONG, apart), np.ones(20, dtype=np.uint8), 0))
    assert rule_of(runner.state).length is None
    assert memory_of(runner.state) == LengthMemory(SEARCHING, 0, 33)


def test_a_rule_that_was_inherited_gives_way_to_the_constant_0_without_a_draw() -> None:
    runner = opened(CERTAIN)
    end = misled(runner, 112)
    runner.state = runner.learner.step(runner.state, SeasonOpened(1, end), runner.noise).state
    assert memory_of(runner.state) == LengthMemory.empty(128, INHERITED)
    assert Lengths(CERTAIN).settings(runner.state) == EpochSettings(3)
    noise = runner.noise
    assert isinstance(noise, TapeNoise)
    noise.requests.clear()
    list(runner.feed(column(LONG, [ADDRESS] * 3), np.zeros(3, dtype=np.uint8), end))
    assert runner.state.rule == LONG.first_rule()
    assert memory_of(runner.state) == LengthMemory.empty(128)
    assert "select" not in {purpose for _, purpose, _, _ in noise.requests}


@pytest.mark.parametrize("mode", [INHERITED, SEARCHING, FOUND, HALVING])
def test_thresholds_are_those_of_what_is_published(mode: int) -> None:
    state = OnlineState(LONG.first_rule(), memory=LengthMemory(mode, 0, 9), calls=7, kept=3)
    assert Lengths(LENGTHS).settings(state) == EpochSettings(214 if mode == SEARCHING else 79)


@pytest.mark.parametrize("seed", range(3))
def test_batches_and_snapshots_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    flipped = rng.integers(0, 129, 2500)
    values = [ADDRESS ^ (1 << (127 - bit) if bit < 128 else 0) for bit in flipped.tolist()]
    x, y = column(LONG, values), (flipped >= 40).astype(np.uint8)
    learner = OnlineLearner("s/l", LONG, LENGTHS)
    whole, out, _ = run(learner, x, y, TapeNoise(seed), [])
    cut, parts, _ = run(learner, x, y, TapeNoise(seed), range(0, 2500, 7))
    assert out == parts
    assert len(out) > 2
    assert equal(learner.settled(whole), learner.settled(cut))
    assert learner.state_from_dict(learner.state_to_dict(whole)).memory == whole.memory


def test_a_season_is_charged_one_sparse_selection() -> None:
    events = OnlineLearner("s/l", LONG, LENGTHS).season_events()
    assert events[1] == SparseSelection(
        rate=Fraction(7, 25), list_cap=4, bottom_score=57, draws=1, accounting="pure",
        user_examples_max=0, epochs=1,
    )  # fmt: skip
    assert Lengths(LENGTHS).candidates_max(LONG, 10) == 40


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"fresh": False}, "lengths selection is fresh, with one draw, and keeps mistakes"),
        ({"draws": 3}, "with one draw"),
        ({"buffer": "both", "background_max": 9}, "keeps mistakes"),
        ({"noise_rate": Fraction(1, 10)}, "a noise_rate of 0"),
        ({"teachers": 3}, "lengths selection has no teachers"),
        ({"memory": None}, "needs a memory with the settings of lengths selection"),
        ({"memory": LengthSettings(-1, PLAN.cuts)}, "step"),
        ({"ladder": ()}, "has one threshold"),
        ({"ladder": (EpochSettings(9), EpochSettings(9))}, "has one threshold"),
        ({"list_cap": 3}, "4 lengths are proposed at once, more than list_cap 3"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(changes: dict[str, Any], said: str) -> None:
    assert OnlineParameters.from_dict(LENGTHS.to_dict()) == LENGTHS
    with pytest.raises(ValueError, match=said):
        replace(LENGTHS, **changes)


@pytest.mark.parametrize(
    ("of_class", "said"),
    [
        ("thresholds:8", "the rules of thresholds:8 are no blocks"),
        ("prefixes:32", "prefixes:32 has 33 lengths of blocks, and cuts are for others"),
    ],
)
def test_classes_that_do_not_fit_are_refused(of_class: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        OnlineLearner("s/l", class_from_name(of_class), LENGTHS)
