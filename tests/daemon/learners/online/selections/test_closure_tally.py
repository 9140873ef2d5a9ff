"""The parameters of closure tallies, what they cost, and what they may take."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.budget.events import TallySeason
from littled.classes.names import class_from_name
from littled.learners.contract import Examples, Place, SeasonOpened
from littled.learners.online import OnlineLearner
from littled.learners.online.closure_tallies import ClosureTallies
from littled.learners.online.groups import GroupSettings
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.selections.closure_tally import ClosureTally, rules_max, text_of
from littled.learners.snapshot import pack
from littled.mechanisms.noise import KeyedNoise

GROUPS = GroupSettings(
    groups=9, singles=90, later_singles=90, stable=3, renewed_after=64, next_score=6,
    tested_every=8, forgets_after=64,
)  # fmt: skip
P = OnlineParameters(
    epsilon=Fraction(2),
    horizon=1000,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(0),
    threshold_rate=Fraction(1),
    trigger_threshold=0,
    selection="closure-tally",
    selection_rate=Fraction(1),
    selection_accounting="pure",
    draws=1,
    calls_max=9,
    buffer="mistakes",
    bottom_score=50,
    fresh=True,
    groups=GROUPS,
)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"fresh": False}, "is fresh"),
        ({"buffer": "both"}, "keeps mistakes"),
        ({"draws": 3}, "neither teachers nor draws"),
        ({"trigger_rate": Fraction(1)}, "has no trigger"),
        ({"schedule_first": 8, "calls_max": 7}, "no schedule|a schedule"),
        ({"threshold_rate": None}, "has a threshold_rate"),
        ({"selection_accounting": "zcdp"}, "booked as pure"),
        ({"noise_rate": Fraction(1, 10)}, "noise_rate 0"),
        ({"user_examples_max": 1}, "single examples"),
        ({"starts_over": True, "starts_over_together": True}, "only closure selection"),
        ({"groups": None}, "needs the settings of groups"),
        ({"groups": replace(GROUPS, groups=0)}, "must be at least 1"),
        ({"selection": "tally"}, "has no voters in groups"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(values: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(P, **values)


def test_it_needs_closures() -> None:
    with pytest.raises(ValueError, match="not closed under intersection"):
        OnlineLearner("s/l", class_from_name("thresholds:8"), P)


def test_parameters_are_stored_with_their_groups() -> None:
    values = P.to_dict()
    assert values["groups"] == GROUPS.to_dict()
    assert OnlineParameters.from_dict(values) == P
    plain = replace(P, selection="tally", groups=None).to_dict()
    assert "groups" not in plain


def test_a_season_costs_as_many_tests_as_there_can_be() -> None:
    for horizon, tests in ((1000, 125), (1001, 126), (1, 1)):
        event = ClosureTally(replace(P, horizon=horizon)).event()
        assert event == TallySeason(P.selection_rate, Fraction(1), 50, tests)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["affine:16:2", "conjunctions:16"])
def test_what_is_held_is_within_its_bound_whatever_comes(name: str) -> None:
    """Every example votes for a rule of its own, or for one that was nearly forgotten."""
    hypotheses = class_from_name(name)
    learner = OnlineLearner("s/l", hypotheses, P)
    noise = KeyedNoise(bytes(32))
    rng = np.random.default_rng(3)
    for repeated in (1, 2, 3):
        state = learner.step(learner.initial(), SeasonOpened(0, 0), noise).state
        x = np.repeat(rng.permutation(1 << 16)[:1000], repeated)[:1000].astype(np.uint16)
        position, most = 0, 0
        while position < 1000:
            part = Examples(
                Place(bytes(32), 0, position), x[position:], np.ones(1000 - position, np.uint8)
            )
            step = learner.step(state, part, noise)
            state, position = step.state, position + step.consumed
            assert not step.effects
            assert isinstance(state.tallies, ClosureTallies)
            most = max(most, len(state.tallies.watched))
            stored = len(pack(state.tallies.to_dict()))
            keeping = ClosureTally(P).keeping(hypotheses)
            assert stored <= keeping.stored_bytes(0)
        assert 32 <= most <= rules_max(P, hypotheses)
    assert rules_max(P, hypotheses) < 1000
    assert text_of(hypotheses) < ClosureTally(P).memory_bytes(hypotheses, None)  # type: ignore[arg-type]
