"""The rule that stands: its offset, when it has none, and what it does not go with."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.classes.thresholds import Thresholds
from littled.learners.contract import SeasonOpened
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.chain_memory import ChainSettings
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.snapshot import state_from_dict, state_to_dict
from littled.learners.online.standing_memory import (
    NOTHING_STANDS,
    OFFSET_MAX,
    StandingMemory,
    StandingSettings,
)
from littled.learners.snapshot import pack, unpack
from littled_protocol.rules import ThresholdRule
from support.learning import run, stream
from support.tape import TapeNoise

HORIZON = 600
PLAIN = OnlineParameters(
    epsilon=Fraction(1),
    horizon=HORIZON,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(0),
    trigger_threshold=0,
    selection="dense",
    selection_rate=Fraction(1, 2),
    selection_accounting="pure",
    draws=1,
    calls_max=14,
    buffer="examples",
    fresh=True,
    schedule_first=10,
    schedule_cap=50,
)


def rules(offset: int | None, seed: int = 1) -> tuple[OnlineState, list[Any]]:
    """The last state, and the rules that were released, with this offset."""
    memory = None if offset is None else StandingSettings(offset)
    learner = OnlineLearner("s/l", Thresholds(16), replace(PLAIN, memory=memory))
    x, y = stream(seed, HORIZON)
    state, out, _ = run(learner, x, y, TapeNoise(seed), [])
    return state, [each.rule for each in out]


def test_a_rule_with_a_large_offset_stays_once_it_was_drawn() -> None:
    _, released = rules(10_000)
    assert len(released) == 15
    assert len(set(released[1:])) == 1


def test_the_first_draw_of_a_season_has_no_offset() -> None:
    """The rule of the season before is published, but was not drawn in this one."""
    _, plain = rules(None)
    state, released = rules(10_000)
    assert released[:2] == plain[:2]
    learner = OnlineLearner("s/l", Thresholds(16), replace(PLAIN, memory=StandingSettings(10_000)))
    opened = learner.step(state, SeasonOpened(1, HORIZON), TapeNoise(1)).state
    assert opened.rule == state.rule
    assert opened.memory == StandingMemory(NOTHING_STANDS)


def test_a_rule_leaves_for_one_that_is_better_by_more_than_its_offset() -> None:
    """After draws from epochs of 50 examples that all speak for other rules."""
    learner = OnlineLearner("s/l", Thresholds(16), replace(PLAIN, memory=StandingSettings(8)))
    x = np.random.default_rng(3).integers(0, 16, HORIZON).astype(np.uint8)
    y = (x >= np.where(np.arange(HORIZON) < 300, 3, 12)).astype(np.uint8)
    state, out, _ = run(learner, x, y, TapeNoise(2), [])
    found = [each.rule.threshold for each in out if isinstance(each.rule, ThresholdRule)]
    assert 2 <= found[7] <= 4
    assert 11 <= found[-1] <= 13
    assert state.memory == StandingMemory(found[-1])


def test_a_snapshot_knows_which_rule_stands() -> None:
    state, _ = rules(3)
    assert isinstance(state.memory, StandingMemory)
    assert state.memory.number != NOTHING_STANDS
    assert state_from_dict(unpack(pack(state_to_dict(state)))).memory == state.memory


def test_it_costs_nothing() -> None:
    with_one, without = (
        OnlineLearner("s/l", Thresholds(16), replace(PLAIN, memory=memory))
        for memory in (StandingSettings(30), None)
    )
    assert with_one.season_events() == without.season_events()
    assert with_one.call_event() == without.call_event()


def test_parameters_survive_storage() -> None:
    parameters = replace(PLAIN, memory=StandingSettings(3))
    assert parameters.to_dict()["memory"] == {"word": "standing", "offset": 3}
    assert OnlineParameters.from_dict(parameters.to_dict()) == parameters


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"memory": StandingSettings(0)}, "must be from 1 to 2"),
        ({"memory": StandingSettings(OFFSET_MAX + 1)}, "must be from 1 to 2"),
        ({"draws": 3}, "a rule that stands is for schedules with one draw each"),
        (
            {"schedule_first": None, "schedule_cap": None, "trigger_rate": Fraction(1)},
            "a rule that stands is for schedules with one draw each",
        ),
        ({"memory": ChainSettings(3, 7, 0, 1000, 20, 0)}, "no memory of releases but which rule"),
        ({"selection": "sparse", "list_cap": 1, "bottom_score": 9}, "has no memory of releases"),
    ],
)
def test_what_does_not_go_with_it_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(replace(PLAIN, memory=StandingSettings(3)), **changes)
