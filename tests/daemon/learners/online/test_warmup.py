"""A warm-up: where its epochs end, who looks at its examples, and at what rate they are drawn."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.budget.charges.online import OnlineCharges
from littled.classes.names import class_from_name
from littled.classes.thresholds import Thresholds
from littled.learners.contract import SeasonOpened
from littled.learners.online import OnlineLearner
from littled.learners.online.chain_memory import ChainSettings
from littled.learners.online.majority_memory import MajoritySettings
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.pool import PoolSettings
from littled.learners.online.snapshot import state_from_dict, state_to_dict
from littled.learners.online.values import EpochSettings
from littled.learners.snapshot import pack, unpack
from littled.mechanisms.exponential import ExponentialMechanism
from support.learning import course, equal, run, stream
from support.tape import TapeNoise

ENDS = (10, 30, 70)
DENSE = OnlineParameters(
    epsilon=Fraction(3, 2), horizon=500, noise_rate=Fraction(0), trigger_rate=Fraction(1, 2),
    trigger_threshold=4, selection="dense", selection_rate=Fraction(1, 2),
    selection_accounting="pure", draws=1, calls_max=20, buffer="examples", fresh=True,
    warmup_ends=ENDS,
)  # fmt: skip
POOLED = replace(DENSE, pool=PoolSettings(slots=2, own=2, one_in=2, calls=30))
CHAIN = replace(
    DENSE, selection="chain", ladder=(EpochSettings(3),), memory=ChainSettings(3, 7, 0, 1000, 20, 0)
)
CASES = {"dense": DENSE, "mistakes": replace(DENSE, buffer="mistakes"), "pool": POOLED,
         "chain": CHAIN}  # fmt: skip


def learner(p: OnlineParameters) -> OnlineLearner:
    return OnlineLearner("s/l", Thresholds(16), p)


# --- where epochs end -----------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_the_first_epochs_end_at_the_public_places_whatever_the_examples_are(case: str) -> None:
    x, y = stream(1, 80)
    for labels in (y, 1 - y, 0 * y):
        _, out, before = run(learner(CASES[case]), x, labels, TapeNoise(2), [])
        assert tuple(each.position for each in out[:4]) == (0, *ENDS)
        assert [each.epoch_position for each in before[:3]] == [0, 10, 30]


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.long] * (case == "pool")) for case in CASES]
)
@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 300), max_size=6), seed=st.integers(0, 3))
def test_results_do_not_depend_on_how_the_stream_is_cut(
    case: str, cuts: list[int], seed: int
) -> None:
    x, y = stream(seed, 300)
    whole = run(learner(CASES[case]), x, y, TapeNoise(seed), [])
    for places in (cuts, list(range(300))):
        parts = run(learner(CASES[case]), x, y, TapeNoise(seed), places)
        assert parts[1] == whole[1]
        keeping = learner(CASES[case])._keeping
        assert equal(keeping.closed(parts[0]), keeping.closed(whole[0]))


@pytest.mark.parametrize("case", CASES)
def test_no_example_of_the_warm_up_is_in_a_test(case: str) -> None:
    """No noise of a trigger is drawn there, and no mistake counted."""
    x, y = stream(1, 300)
    said = course(learner(CASES[case]), x, 1 - y, TapeNoise(1), 1)
    elsewhere = {"select", "pool", "buffer", "teacher"}
    tests = [entry[2] for entry in said if entry[0] == "noise" and entry[1] not in elsewhere]
    assert tests
    assert min(tests) >= ENDS[-1]
    _, _, before = run(learner(CASES[case]), x, 1 - y, TapeNoise(1), [])
    assert [each.mistakes for each in before[:3]] == [0, 0, 0]
    assert [each.threshold_noise for each in before[:3]] == [None, None, None]


@pytest.mark.parametrize("case", CASES)
def test_a_later_season_has_none(case: str) -> None:
    """Whether the one before came to its end or a restore ended it within the warm-up."""
    for count in (5, 100):
        x, y = stream(3, count)
        state, _, _ = run(learner(CASES[case]), x, y, TapeNoise(3), [])
        state = state_from_dict(unpack(pack(state_to_dict(state))))
        opened = learner(CASES[case]).step(state, SeasonOpened(1, count), TapeNoise(3)).state
        assert opened.calls == 0
        p = CASES[case]
        assert p.warmup_length(opened.season, opened.calls) is None
        assert not learner(p)._selection._is_warmup(opened)  # type: ignore[attr-defined]


def test_lengths_are_those_between_the_ends() -> None:
    assert [DENSE.warmup_length(0, calls) for calls in range(5)] == [10, 20, 40, None, None]
    assert DENSE.warmup_length(1, 0) is None
    assert replace(DENSE, warmup_ends=()).warmup_length(0, 0) is None


# --- what it costs --------------------------------------------------------------------------------


def test_a_draw_of_the_warm_up_costs_what_trigger_and_draw_cost_later() -> None:
    assert DENSE.warmup_rate == Fraction(3, 4)
    assert 2 * DENSE.warmup_rate == DENSE.trigger_rate + 2 * DENSE.selection_rate


@pytest.mark.parametrize("case", CASES)
def test_rates_of_draws_are_those_of_their_epochs(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[Fraction] = []
    sample = ExponentialMechanism.sample

    def seen(self: ExponentialMechanism, *given: Any) -> Any:
        rates.append(self.rate)
        return sample(self, *given)

    monkeypatch.setattr(ExponentialMechanism, "sample", seen)
    x, y = stream(1, 300)
    run(learner(CASES[case]), x, 1 - y, TapeNoise(1), [])
    assert rates[:3] == [Fraction(3, 4)] * 3
    assert rates[3:]
    assert set(rates[3:]) == {Fraction(1, 2)}


@pytest.mark.parametrize("case", CASES)
def test_events_are_those_without_a_warm_up_but_for_finite_precision(case: str) -> None:
    p = CASES[case]
    one, other = learner(p), learner(replace(p, warmup_ends=()))
    assert one.season_events()[:-1] == other.season_events()[:-1]
    assert one.call_event() == other.call_event()
    more = 3 * ExponentialMechanism(p.warmup_rate).total_variation(17)
    assert one.precision_error() == other.precision_error() + more
    stored, without = (OnlineCharges().season(each.parameters.to_dict()) for each in (one, other))
    assert stored == without


@pytest.mark.parametrize("case", CASES)
def test_a_warm_up_of_a_chain_teaches_its_memory_nothing(case: str) -> None:
    x, y = stream(1, 80)
    _, _, before = run(learner(CASES[case]), x, y, TapeNoise(2), [])
    opened = learner(CASES[case]).step(learner(DENSE).initial(), SeasonOpened(0, 0), TapeNoise(2))
    states = (opened.state, *before[:3])
    memories = [None if each.memory is None else pack(each.memory.to_dict()) for each in states]
    assert len(set(memories)) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"user_examples_max": 1},
        {"selection_accounting": "zcdp"},
        {"selection": "sparse"},
        {"selection": "path"},
        {"selection": "majority"},
        {"schedule_first": 10},
        {"fresh": False},
        {"draws": 3},
        {"tests": "cohen_lyu", "tests_failure": "1/5"},
    ],
)
def test_stored_plans_are_charged_for_no_warm_up_where_none_may_be(changes: dict[str, Any]) -> None:
    stored = {**DENSE.to_dict(), **changes}
    with pytest.raises(ValueError, match="warmup_ends"):
        OnlineCharges().season(stored)
    OnlineCharges().season({**DENSE.to_dict()})


# --- parameters -----------------------------------------------------------------------------------

RISING = "warmup_ends must be integers of at least 1 that rise, all below the horizon"
DRAWS = "a warm-up is for fresh selections with one draw each, accounted as pure"
TESTED = "a warm-up is for epochs that above_threshold tests end, once it is over"
SPARSE: dict[str, Any] = {
    "selection": "sparse", "list_cap": 2, "bottom_score": 3, "buffer": "mistakes"
}  # fmt: skip


@pytest.mark.parametrize(
    ("p", "changes", "sentence"),
    [
        (DENSE, {"warmup_ends": (0,)}, RISING),
        (DENSE, {"warmup_ends": (5, 5)}, RISING),
        (DENSE, {"warmup_ends": (9, 5)}, RISING),
        (DENSE, {"warmup_ends": (500,)}, RISING),
        (DENSE, {"warmup_ends": (5.0,)}, RISING),
        (DENSE, {"warmup_ends": (True,)}, RISING),
        (DENSE, {"calls_max": 2}, "calls_max must be at least the number of warmup_ends"),
        (DENSE, {"fresh": False}, DRAWS),
        (DENSE, {"draws": 3}, DRAWS),
        (DENSE, {"selection_accounting": "zcdp"}, DRAWS),
        (DENSE, {"tests": "cohen_lyu", "tests_failure": Fraction(1, 5)}, TESTED),
        (DENSE, {"schedule_first": 10}, TESTED),
        (DENSE, {"user_examples_max": 1}, "a warm-up is where single examples are protected"),
        (DENSE, SPARSE, "sparse selection has no warm-up; leave out warmup_ends"),
        (
            CHAIN,
            {"memory": ChainSettings(0, 0, 0, 1000, 0, 0), "ladder": ()},
            "halving of a chain has no warm-up; leave out warmup_ends",
        ),
        (
            DENSE,
            {"selection": "majority", "buffer": "mistakes",
             "memory": MajoritySettings(step=1, levels=2, cap=2, doubt=1, slack=40)},
            "majority selection has no warm-up; leave out warmup_ends",
        ),
    ],
)  # fmt: skip
def test_a_warm_up_refuses_what_does_not_go_with_it(
    p: OnlineParameters, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(p, **changes)


def test_parameters_survive_storage_and_older_ones_have_no_warm_up() -> None:
    assert DENSE.to_dict()["warmup_ends"] == [10, 30, 70]
    assert OnlineParameters.from_dict(DENSE.to_dict()) == DENSE
    without = replace(DENSE, warmup_ends=())
    assert "warmup_ends" not in without.to_dict()
    assert OnlineParameters.from_dict(without.to_dict()) == without


def test_mistakes_that_are_kept_are_bounded_with_those_of_the_warm_up() -> None:
    hypotheses = class_from_name("thresholds:16")
    p = replace(DENSE, buffer="mistakes")
    one = OnlineLearner("s/l", hypotheses, p)
    other = OnlineLearner("s/l", hypotheses, replace(p, warmup_ends=()))
    assert one.mistakes_kept_max == other.mistakes_kept_max + 70
    assert one.mistakes_counted_max == other.mistakes_counted_max
