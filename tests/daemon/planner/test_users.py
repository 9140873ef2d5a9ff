"""Plans for streams that protect users: what they cost, what is refused, how much they hold."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.budget.conversion import guarantee
from littled.budget.events import DenseSelection, HistogramSelection, PrecisionLoss, SparseSelection
from littled.budget.price import Price
from littled.budget.prices import price
from littled.budget.unit import EXAMPLE, USER_EXAMPLES_MAX, Unit
from littled.classes.names import class_from_name
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.selections.base import USER_NUMBER_BYTES
from littled.learners.online.selections.teachers import examples_of_one_teacher
from littled.learners.online.snapshot import state_to_dict
from littled.learners.online.values import EpochSettings
from littled.learners.snapshot import pack
from littled.learners.users import UserCounts, user_numbers
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.noise import KeyedNoise
from littled.planner import (
    OnlinePlan,
    OnlineRequest,
    PlanError,
    StreamPlan,
    StreamRequest,
    compare_ways,
    plan_stream,
)
from littled.planner.budgets import Budget
from littled.planner.capacity import SNAPSHOT_BYTES_MAX
from littled.planner.online.costs import (
    COUNT_BYTES,
    COUNT_COPIES,
    counts_max,
    retrain_memory_bytes,
    row_bytes,
    rows_max,
)
from littled.planner.online.sizes import misfit, snapshot_bytes_max
from littled.planner.prediction.request import PredictionRequest
from littled.ways import Asked
from littled_protocol.rules import Words
from support.learning import Runner, column
from support.memory import peak_bytes

DELTA = Fraction(1, 10**6)
HORIZON = 1_000_000


def asked(name: str, users: int = 1, horizon: int = HORIZON, **how: Any) -> StreamRequest:
    learner = OnlineRequest("l", class_from_name(name), **how)
    return StreamRequest("s", Fraction(1), DELTA, horizon, (learner,), unit=Unit(users))


def parameters_of(request: StreamRequest) -> OnlineParameters:
    (plan,) = plan_stream(request).of(OnlinePlan)
    return plan.parameters


# -- budgets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("users", [1, 4])
def test_rates_are_the_largest_that_a_user_is_paid_for(accounting: Any, users: int) -> None:
    budget = Budget(Fraction(1), DELTA, HORIZON, 1, accounting, 0.3, unit=Unit(users))
    trigger = price_of(budget, DenseSelection(Fraction(0), 1, accounting))
    assert Fraction(29, 100) < trigger.epsilon_pure <= Fraction(3, 10)
    for rate, event in (
        (budget.selection_rate(5), partial_dense(5, accounting, users)),
        (budget.list_rate(5, 3), partial_lists(5 * min(3, 2 * users), accounting)),
    ):
        fits, more = (price_of(budget, event(each)) for each in (rate, rate * Fraction(102, 100)))
        delta_z = DELTA * Fraction(3, 4) if accounting == "zcdp" else Fraction(0)
        assert Fraction(98, 100) < guarantee(fits, delta_z)[0] <= 1
        assert guarantee(more, delta_z)[0] > 1


def price_of(budget: Budget, event: Any) -> Price:
    """A trigger and one more event."""
    trigger = 2 * budget.unit.examples * budget.trigger_rate
    return Price(trigger, Fraction(0), Fraction(0)) + price(event)


def partial_dense(draws: int, accounting: Any, users: int) -> Any:
    return lambda rate: DenseSelection(rate, draws, accounting, users)


def partial_lists(draws: int, accounting: Any) -> Any:
    return lambda rate: SparseSelection(rate, 1, 10**9, draws, accounting)


@pytest.mark.parametrize("users", [1, 2, 9])
@pytest.mark.parametrize("apart", [False, True])
def test_bottoms_are_the_least_that_hide_a_user(users: int, apart: bool) -> None:
    budget = Budget(Fraction(1), DELTA, HORIZON, 1, "pure", 0.3, unit=Unit(users))
    rate = Fraction(1, 3)
    bottom = budget.bottom_score(5, rate, 3, apart=apart)
    threshold = budget.histogram_threshold(rate, apart=apart)

    def lists(score: int) -> Fraction:
        return 3 * SparseSelection(rate, 5, score, 1, "pure", users, 1 + apart).failure

    assert lists(bottom) <= budget.failure < lists(bottom - 1)
    event = HistogramSelection(rate, threshold, 1, "pure", users, 1 + apart)
    assert event.failure <= budget.failure < replace(event, threshold=threshold - 1).failure


# -- plans -------------------------------------------------------------------------------------

WAYS: dict[str, dict[str, Any]] = {
    "thresholds:256": {},
    "thresholds:16": {"selection": "fresh"},
    "thresholds:64": {"noise_rate": Fraction(1, 100)},
    "thresholds:8": {"adversary": "adaptive"},
    "points:64": {},
    "points:32": {"noise_rate": Fraction(1, 100)},
    "prefixes:128": {},
    "prefixes:64": {"adversary": "none"},
    "affine:64:8": {},
    "conjunctions:64": {"adversary": "none"},
    "points:16": {"teachers": 200},
}


@pytest.mark.long
@pytest.mark.parametrize("users", [1, 5])
@pytest.mark.parametrize("name", WAYS)
def test_every_way_keeps_the_promise_for_users(name: str, users: int) -> None:
    stream = plan_stream(asked(name, users, **WAYS[name]))
    assert stream.unit == Unit(users)
    (plan,) = stream.of(OnlinePlan)
    assert plan.parameters.user_examples_max == users
    learner = plan.learner("s")
    spent = sum(map(price, learner.season_events()), Price.zero())
    spent += price(learner.call_event()) * plan.parameters.calls_max
    assert spent == stream.caps
    epsilon, delta = guarantee(spent, stream.delta_z)
    assert Fraction(9, 10) < epsilon <= 1
    assert delta <= DELTA
    assert misfit(plan) is None
    assert StreamPlan.from_dict(stream.to_dict()) == stream


def test_a_user_costs_more_than_an_example_and_many_examples_more_than_one() -> None:
    ways: dict[str, Asked] = {"prefixes:128": "auto", "affine:64:8": "closure"}
    for name, selection in ways.items():
        learner = OnlineRequest("l", class_from_name(name), selection=selection)
        example = StreamRequest("s", Fraction(1), DELTA, HORIZON, (learner,))
        requests = [example, *(asked(name, users) for users in (1, 10))]
        expected = [compare_ways(each)[0].expected_mistakes or 0 for each in requests]
        assert expected == sorted(expected)
        assert expected[1] < 3 * expected[0]


def test_plans_for_users_learn_from_mistakes_where_that_will_do() -> None:
    """What is kept of a user who gives many examples is used up by others than mistakes."""
    assert parameters_of(asked("thresholds:256", selection="dense")).buffer == "mistakes"
    assert parameters_of(asked("thresholds:256", selection="halving")).buffer == "mistakes"
    (fresh, dense, *_) = compare_ways(asked("conjunctions:10"))
    assert (fresh.way, dense.way) == ("fresh", "dense")
    assert (fresh.expected_mistakes or 0) < (dense.expected_mistakes or 0) / 2
    assert not parameters_of(asked("thresholds:256", noise_rate=Fraction(1, 100))).fresh
    assert parameters_of(asked("prefixes:128")).background_max == 1 << 10
    assert parameters_of(asked("prefixes:128", 10)).background_max > 1 << 12


FRESH_OF_USERS: dict[str, dict[str, Any]] = {
    "asked for": {"selection": "fresh"}, "independent": {"adversary": "none"},
}  # fmt: skip


@pytest.mark.parametrize("users", [1, 4])
@pytest.mark.parametrize("name", FRESH_OF_USERS)
def test_rules_that_are_weighed_anew_see_mistakes_and_a_background(name: str, users: int) -> None:
    """Noise on the many steps is lower than on the few thresholds, and epochs grow in the end."""
    request = asked("thresholds:256", users, **FRESH_OF_USERS[name])
    p = parameters_of(request)
    assert (p.selection, p.fresh, p.buffer, p.background_max) == ("dense", True, "both", 1 << 10)
    assert p.schedule_first is None
    assert p.threshold_rate is not None
    assert p.threshold_rate < p.trigger_rate
    spent = users * (p.trigger_rate + p.threshold_rate + 2 * p.selection_rate)
    assert Fraction(999, 1000) < spent <= 1
    assert plan_stream(request).caps.epsilon_pure == spent
    thresholds = [settings.trigger_threshold for settings in p.ladder]
    assert thresholds == sorted(thresholds)
    assert thresholds[0] == p.trigger_threshold < thresholds[-1] / 10
    # a schedule would count every example, so it has to be asked for
    scheduled = asked("thresholds:256", users, adversary="none", selection="fresh")
    assert parameters_of(scheduled).schedule_first is not None


@pytest.mark.long
def test_a_learner_that_takes_few_users_is_planned_where_there_are_few() -> None:
    """Where nothing is said, each is reckoned to give 50 examples."""

    def samples(name: str, expected: int | None, horizon: int = HORIZON) -> bool:
        request = replace(asked(name, horizon=horizon), users_expected=expected)
        return parameters_of(request).background_max > 0

    for name in ("thresholds:256", "conjunctions:10"):
        chosen = [samples(name, expected) for expected in (100, 1000, 3000, 15_000, 10**6)]
        assert chosen == [False, False, False, True, True]
        assert samples(name, None) == samples(name, HORIZON // 50)
    assert not samples("thresholds:256", None, HORIZON // 10)
    # a way that is asked for is taken, and so is the only one that there is
    few = replace(asked("thresholds:256", selection="fresh"), users_expected=100)
    assert parameters_of(few).fresh
    alone = replace(asked("points:64"), users_expected=10)
    assert parameters_of(alone) == parameters_of(asked("points:64"))
    fewer = replace(asked("prefixes:128"), users_expected=100)
    assert parameters_of(fewer).selection == "lengths"


def test_a_background_that_dense_selection_keeps_counts_as_memory() -> None:
    (fresh,) = plan_stream(asked("thresholds:256")).of(OnlinePlan)
    counting = replace(fresh, parameters=replace(fresh.parameters, background_max=0))
    assert rows_max(counting) == 0
    highest = fresh.parameters.ladder[-1].trigger_threshold
    assert fresh.parameters.threshold_rate is not None
    noise = DiscreteLaplace(fresh.parameters.threshold_rate).reach
    assert rows_max(fresh) == highest + 3 * noise + 2 * (1 << 10) + 1024
    more = retrain_memory_bytes(fresh) - 8 * COUNT_BYTES * counts_max(fresh)
    assert more > retrain_memory_bytes(counting) - 8 * COUNT_BYTES * counts_max(counting)
    assert row_bytes(fresh) == 1 + 18 + 16 + (fresh.hypotheses.point_type == "u16")


REFUSED: dict[str, tuple[StreamRequest, str]] = {
    "paper mode": (
        asked("points:16", selection="paper"),
        "learner l: the paper's tests are priced for single examples only; take another selection",
    ),
    "answers": (
        replace(
            asked("points:16"), learners=(PredictionRequest("l", class_from_name("points:16"), 9),)
        ),
        "learner l: private answers protect single examples only; give it a stream with unit = "
        '"example"',
    ),
    "too many users": (
        asked("thresholds:64", horizon=10**9, noise_rate=Fraction(1, 100)),
        "users whose examples a season may count make snapshots of up to 20,",
    ),
    "too many examples": (asked("thresholds:64", USER_EXAMPLES_MAX), "does not pay for the calls"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_nobody_has_proven_or_no_budget_pays_for_is_refused(case: str) -> None:
    request, sentence = REFUSED[case]
    with pytest.raises(PlanError) as refused:
        plan_stream(request)
    assert sentence in str(refused.value)


def test_ways_for_examples_only_say_so() -> None:
    rows = {each.way: each for each in compare_ways(asked("thresholds:16"))}
    assert rows["paper"].remark == "the paper's tests are priced for single examples only"
    assert rows["experts"].remark == "for single examples only"


def test_plans_from_before_there_were_units_are_read() -> None:
    learner = OnlineRequest("l", class_from_name("points:16"))
    stream = plan_stream(StreamRequest("s", Fraction(1), DELTA, HORIZON, (learner,)))
    stored = stream.to_dict()
    del stored["unit"], stored["user_examples_max"]
    del stored["learners"]["l"]["parameters"]["user_examples_max"]
    assert StreamPlan.from_dict(stored) == stream
    assert (stream.unit, stream.publishing[0].parameters.user_examples_max) == (EXAMPLE, None)
    assert not any("user" in str(each) for each in stored["learners"]["l"]["parameters"])


# -- sizes -------------------------------------------------------------------------------------

PARAMETERS = OnlineParameters(
    epsilon=Fraction(1),
    horizon=100_000,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1, 2),
    trigger_threshold=30,
    selection="sparse",
    selection_rate=Fraction(1, 4),
    selection_accounting="pure",
    draws=1,
    calls_max=4,
    buffer="both",
    background_max=64,
    list_cap=129,
    bottom_score=10**6,
    user_examples_max=1,
)


def planned(name: str, **changes: Any) -> OnlinePlan:
    return OnlinePlan("l", class_from_name(name), replace(PARAMETERS, **changes), Words())


def test_what_counts_users_is_bounded_by_the_plan() -> None:
    both = planned("prefixes:8")
    counted = both.learner("s").mistakes_counted_max
    # each of five epochs: the threshold, and what noise may add
    assert counted == 5 * 30 + 5 * 3 * DiscreteLaplace(both.parameters.trigger_rate).reach
    assert counts_max(both) == counted + counted + 4 * 64
    assert row_bytes(both) == 1 + 18 + 16
    mistakes = planned("prefixes:8", buffer="mistakes", background_max=0)
    assert counts_max(mistakes) == counted
    examples = planned("prefixes:8", buffer="examples")
    assert counts_max(examples) == counted + 4 * 64
    dense = planned("thresholds:9", selection="dense", buffer="examples", background_max=0)
    assert counts_max(dense) == counted + 100_000
    short = replace(dense.parameters, horizon=50)
    assert counts_max(replace(dense, parameters=short)) == 100
    single = replace(both, parameters=replace(both.parameters, user_examples_max=None))
    assert (counts_max(single), row_bytes(single)) == (0, 1 + 18)


@settings(max_examples=25)
@given(
    name=st.sampled_from(["prefixes:8", "prefixes:64", "thresholds:9", "stumps:3:5"]),
    calls=st.integers(0, 4),
    background=st.integers(0, 30),
    fresh=st.booleans(),
    users=st.sampled_from([1, 3, 10**6]),
    counts=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_no_stream_makes_a_snapshot_larger_than_the_bound(
    name: str, calls: int, background: int, fresh: bool, users: int, counts: bool, seed: int
) -> None:
    """Every example is a mistake and somebody else's, or all are a few people's."""
    dense = name[0] in "ts"
    if dense and counts:
        background = 0
    plan = planned(
        name,
        selection="dense" if dense else "sparse",
        buffer="both" if background else ("examples" if dense else "mistakes"),
        background_max=background,
        threshold_rate=Fraction(1, 3) if counts else None,
        calls_max=calls,
        fresh=fresh,
        ladder=(EpochSettings(37),),
    )
    learner = plan.learner("s")
    runner = Runner(learner, KeyedNoise(seed.to_bytes(32, "big")))
    runner.open()
    rng = np.random.default_rng(seed)
    bound = snapshot_bytes_max(plan)
    for record in range(20):
        rows = rng.integers(0, 5, (40, 3 if name[0] == "s" else 1))
        values = rows.tolist() if name[0] == "s" else rows[:, 0].tolist()
        x = column(plan.hypotheses, values)
        whose = rng.integers(0, users, (40, 1), dtype=np.uint64).repeat(2, axis=1)
        list(runner.feed(x, 1 - runner.state.rule.evaluate(x), 40 * record, whose))
        state = runner.state
        assert sum(map(len, (*state.archive, *filter(None, [state.buffer])))) <= rows_max(plan)
        assert len(pack(state_to_dict(state))) <= bound
        held = [each for each in (state.users_counted, state.users_kept) if each is not None]
        assert sum(len(each.whole()) for each in held) <= counts_max(plan)


def test_counting_users_takes_no_more_memory_than_the_model() -> None:
    count = 200_000
    users = np.random.default_rng(1).integers(0, 2**64, (count, 2), dtype=np.uint64)
    half = UserCounts().plus(users[: count // 2])

    def grown() -> Any:
        counts = half.plus(users[count // 2 :])
        return counts, pack({"users": counts.whole().users, "counts": counts.whole().counts})

    counts, _ = grown()
    assert len(counts.whole()) == count
    assert peak_bytes(grown) + COUNT_BYTES * count // 2 <= COUNT_BYTES * COUNT_COPIES * count
    assert len(pack({"users": counts.whole().users})) <= COUNT_BYTES * count
    assert peak_bytes(lambda: user_numbers(users)) <= USER_NUMBER_BYTES * count


def test_users_count_as_memory() -> None:
    for name in ("prefixes:8", "thresholds:9"):
        dense = name[0] == "t"
        with_users = planned(
            name,
            selection="dense" if dense else "sparse",
            buffer="examples" if dense else "both",
            background_max=0 if dense else 64,
        )
        single = replace(
            with_users, parameters=replace(with_users.parameters, user_examples_max=None)
        )
        more = retrain_memory_bytes(with_users) - retrain_memory_bytes(single)
        assert more >= counts_max(with_users) * COUNT_BYTES * COUNT_COPIES
        assert snapshot_bytes_max(with_users) > snapshot_bytes_max(single)
        assert snapshot_bytes_max(with_users) < SNAPSHOT_BYTES_MAX


def test_one_teacher_may_have_all_examples_of_its_users() -> None:
    """Chernoff's bound for users with c examples each; the words are as good as random."""
    rng = np.random.default_rng(5)
    for count, teachers, each in ((3000, 10, 10), (20_000, 7, 100), (500, 2, 1)):
        bound = examples_of_one_teacher(count, teachers, each)
        words = rng.integers(0, teachers, (200, count // each))
        loads = [each * np.bincount(row, minlength=teachers).max() for row in words]
        assert max(loads) <= bound
        assert bound >= examples_of_one_teacher(count, teachers)


def test_a_precision_loss_does_not_depend_on_the_unit() -> None:
    both = planned("prefixes:8")
    single = replace(both, parameters=replace(both.parameters, user_examples_max=None))
    losses = [
        [each for each in plan.learner("s").season_events() if isinstance(each, PrecisionLoss)]
        for plan in (both, single)
    ]
    assert losses[0] == losses[1]
