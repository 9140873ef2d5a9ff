"""What a plan lets its learners be charged: what the engine charges, and nothing else."""

from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import pytest

from littled.budget.charges import (
    AnswerWindows,
    Charges,
    ChargesUnknown,
    unknown_parameters,
    wrong_charges,
)
from littled.budget.codec import event_from_dict, event_to_dict
from littled.budget.events import (
    CohenLyuTrigger,
    MistakeCounts,
    PrecisionLoss,
    PrepaidSelection,
    PrivacyEvent,
    ScorecardSeason,
    SparseSelection,
    StageTest,
    TallySeason,
    TriggerSeason,
)
from littled.budget.ledger import LedgerEntry, rederive
from littled.budget.price import Price
from littled.budget.prices import price
from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds
from littled.engine import replay
from littled.learners.online import OnlineLearner
from littled.learners.online.chain_memory import ChainSettings
from littled.learners.online.parameters import OnlineParameters
from littled.mechanisms.noise import KeyedNoise
from littled.planner import OnlineRequest, StreamPlan, StreamRequest, plan_stream
from littled.planner.leader.request import LeaderRequest
from littled.planner.plans import AnsweringPlan, PublishingPlan
from littled.planner.prediction.request import PredictionRequest
from littled.store.records import Record

HORIZON = 4000
FREE = Price.zero()


def plan(class_name: str, name: str = "late", users: int = 0, **how: Any) -> StreamPlan:
    """The plan for one learner; for users, if it says how many examples of each are used."""
    learner = OnlineRequest(name, class_from_name(class_name), **how)
    stream = StreamRequest("s", Fraction(4), Fraction(1, 10**6), HORIZON, (learner,))
    return plan_stream(replace(stream, unit=Unit(users or None)))


def charges_of(stream: StreamPlan) -> dict[str, Charges]:
    """As a check reads them from a stored plan."""
    stored = stream.to_dict()["learners"]
    return {name: Charges.of(each) for name, each in stored.items()}


def online(parameters: dict[str, Any]) -> dict[str, Any]:
    """An online learner as a store keeps it."""
    return {"kind": "online", "parameters": parameters}


def ledger(
    stream: StreamPlan, calls: int = 1, seasons: int = 1, without: type[PrivacyEvent] | None = None
) -> list[LedgerEntry]:
    """Honest charges; except for those of the kind `without`."""
    entries, numbers = [], count()
    for season in range(seasons):
        for each in stream.plans:
            if isinstance(each, AnsweringPlan):
                events = list(each.learner(stream.stream).window_events())
            else:
                assert isinstance(each, PublishingPlan)
                learner = each.learner(stream.stream)
                events = [*learner.season_events(), *[learner.call_event()] * calls]
            entries += [
                charge(next(numbers), event, each.name, season)
                for event in events
                if without is None or not isinstance(event, without)
            ]
    return entries


def charge(number: int, event: PrivacyEvent, learner: str = "late", season: int = 0) -> LedgerEntry:
    position = season * HORIZON
    return LedgerEntry(number, "s", season, learner, position, event_to_dict(event), price(event))


def problems(stream: StreamPlan, entries: list[LedgerEntry]) -> list[str]:
    return wrong_charges(entries, charges_of(stream), stream.caps, stream.delta_z)


# Every way of selection, with the adversaries and the noise that change what is charged.
WAYS = [
    ("thresholds:16", {"selection": "dense"}),
    ("thresholds:16", {"selection": "fresh"}),
    ("thresholds:16", {"adversary": "adaptive"}),
    ("points:16", {}),
    ("points:16", {"noise_rate": Fraction(1, 100)}),
    ("prefixes:32", {}),
    ("affine:16:2", {}),
    ("thresholds:16", {"selection": "sparse", "teachers": 200}),
]


SINGLE = {"adversary": "none", "noise_rate": Fraction(1, 100)}


@pytest.mark.long
@pytest.mark.parametrize(("class_name", "how"), WAYS)
def test_what_the_planner_plans_is_charged_as_planned(class_name: str, how: dict[str, Any]) -> None:
    stream = plan(class_name, **how)
    (each,) = stream.publishing
    for calls in {0, 1, each.parameters.calls_max}:
        assert problems(stream, ledger(stream, calls, seasons=2)) == []


@pytest.mark.parametrize("users", [1, 3])
@pytest.mark.parametrize(
    ("class_name", "how"), [*WAYS, ("affine:16:2", {"adversary": "none"}), ("prefixes:32", SINGLE)]
)
def test_what_is_planned_for_users_is_charged_as_planned(
    class_name: str, how: dict[str, Any], users: int
) -> None:
    stream = plan(class_name, users=users, **how)
    (each,) = stream.publishing
    for calls in {0, 1, each.parameters.calls_max}:
        assert problems(stream, ledger(stream, calls, seasons=2)) == []
    # what an example is charged does not do; a chain counts all examples then, a pool other rows
    single: dict[str, Any] = {"user_examples_max": None, "threshold_rate": None, "pool": None}
    if isinstance(each.parameters.memory, ChainSettings):
        single |= {"buffer": "examples", "background_max": 0}
    parameters = replace(each.parameters, **single)
    examples = replace(stream, plans=(replace(each, parameters=parameters),))
    assert problems(stream, ledger(examples)) != []


METHODS = ["dense", "stability", "relabelling", "realizable", "averaging", "majority"]


def answering(method: Any) -> StreamPlan:
    """The planner's plan for a learner that publishes rules and one that answers requests."""
    hypotheses = class_from_name("thresholds:16")
    asked = PredictionRequest(
        "guess", hypotheses, 4000, excess_error=None, answers=3, method=method
    )
    learners = (OnlineRequest("late", hypotheses), asked)
    return plan_stream(StreamRequest("s", Fraction(4), Fraction(1, 10**6), HORIZON, learners))


@pytest.mark.parametrize("method", METHODS)
def test_what_a_window_may_cost_is_charged_as_planned(method: str) -> None:
    stream = answering(method)
    entries = ledger(stream, seasons=2)
    answers = replace(entries[0], number=len(entries), window=0)  # another check's business
    assert problems(stream, [*entries, answers]) == []
    without = [each for each in entries if each.learner != "guess"]
    assert any(
        "season 0 of learner guess does not begin" in each for each in problems(stream, without)
    )
    event = answers_of(entries)
    other = "zcdp" if event.accounting == "pure" else "pure"
    for changed in (replace(event, answers=event.answers + 1), replace(event, accounting=other)):
        swapped = [
            charge(n, changed, "guess") if each == answers_entry(entries) else each
            for n, each in enumerate(entries)
        ]
        assert any("learner guess does not begin" in each for each in problems(stream, swapped))


def answers_entry(entries: list[LedgerEntry]) -> LedgerEntry:
    """What the first window of `guess` is charged."""
    return next(each for each in entries if each.event["type"].startswith("prediction_answers"))


def answers_of(entries: list[LedgerEntry]) -> Any:
    """The event of `answers_entry`."""
    return event_from_dict(answers_entry(entries).event)


def test_two_learners_are_charged_side_by_side() -> None:
    thresholds = class_from_name("thresholds:16")
    learners = (
        OnlineRequest("early", thresholds, selection="dense"),
        OnlineRequest("late", thresholds, selection="fresh"),
    )
    stream = plan_stream(StreamRequest("s", Fraction(4), Fraction(1, 10**6), HORIZON, learners))
    assert problems(stream, ledger(stream)) == []
    missing = [each for each in ledger(stream) if each.learner == "early"]
    (sentence,) = problems(stream, missing)
    assert sentence == (
        "season 0 of learner late does not begin with the charges that its plan names"
    )


def test_what_an_engine_charges_is_what_the_plan_names() -> None:
    stream = plan("points:8")
    half = HORIZON // 2
    records = [
        Record(
            stream="s",
            number=number,
            first_position=number * half,
            producer="p",
            sequence=number * half,
            count=half,
            x=bytes([7 + number]) * half,
            y=b"\x01" * half,
            chain_head=bytes([number]) * 32,
        )
        for number in range(3)
    ]
    with ThreadPoolExecutor(1) as executor:
        entries = made_by_an_engine(stream, records, executor)
    assert sum(each.event["type"] == "prepaid_selection" for each in entries) >= 2
    assert problems(stream, entries) == []


def made_by_an_engine(
    stream: StreamPlan, records: list[Record], executor: Executor
) -> list[LedgerEntry]:
    return replay(stream, KeyedNoise(bytes(32)), records, executor).entries


# -- what is refused -----------------------------------------------------------------------------


def test_selections_that_nothing_has_paid_for_are_found() -> None:
    """Prices alone cannot find them: a prepaid selection costs nothing."""
    stream = plan("points:16")
    entries = [charge(number, PrepaidSelection(1)) for number in range(3)]
    assert rederive(entries, FREE) == []
    (sentence,) = problems(stream, entries)
    assert "does not begin with the charges" in sentence


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_season_opens_with_all_its_charges(missing: int) -> None:
    stream = plan("points:16", selection="histogram")
    entries = ledger(stream)
    del entries[missing]
    (sentence,) = problems(stream, entries)
    assert "does not begin with the charges" in sentence


@pytest.mark.parametrize("missing", [0, 1])
def test_a_season_of_tallies_opens_with_both_its_charges(missing: int) -> None:
    stream = plan("points:16", selection="tally")
    entries = ledger(stream)
    first, second = (event_from_dict(entry.event) for entry in entries[:2])
    assert (type(first), type(second)) == (TallySeason, PrecisionLoss)
    assert problems(stream, entries) == []
    del entries[missing]
    (sentence,) = problems(stream, entries)
    assert "does not begin with the charges" in sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("selection_accounting", "zcdp"), ("user_examples_max", 1), ("fresh", False),
        ("threshold_rate", None),
    ],
)  # fmt: skip
def test_tallies_are_charged_as_they_are_proven_only(name: str, value: object) -> None:
    stored = plan("points:16", selection="tally").to_dict()["learners"]["late"]
    Charges.of(stored)
    stored["parameters"][name] = value
    with pytest.raises(ValueError):  # noqa: PT011 -- whatever it says
        Charges.of(stored)


def test_each_season_pays_anew() -> None:
    stream = plan("points:16")
    first = ledger(stream)
    again = [replace(each, number=len(first), season=1) for each in first[-1:]]
    (sentence,) = problems(stream, first + again)
    assert "season 1" in sentence


def test_a_prepaid_selection_is_refused_where_the_plan_is_not_fresh() -> None:
    stream = plan("thresholds:16", selection="dense")
    entries = [*ledger(stream), charge(99, PrepaidSelection(1))]
    (sentence,) = problems(stream, entries)
    assert sentence == "ledger entry 99 is not the call that the plan of learner late names"


def test_more_calls_than_planned_are_found() -> None:
    stream = plan("points:16")
    most = stream.publishing[0].parameters.calls_max
    (sentence,) = problems(stream, ledger(stream, most + 1))
    assert f"has {most + 1} calls, more than the {most} of its plan" in sentence


@pytest.mark.parametrize("number", [0, 1])
def test_a_weaker_event_than_planned_is_found(number: int) -> None:
    stream = plan("prefixes:32")
    events: list[Any] = [*stream.publishing[0].learner("s").season_events()]
    events[number] = replace(events[number], rate=events[number].rate / 2)
    (sentence,) = problems(stream, [charge(n, each) for n, each in enumerate(events)])
    assert "does not begin with the charges" in sentence


PARAMETERS = OnlineParameters(
    epsilon=Fraction(2),
    horizon=HORIZON,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1, 2),
    trigger_threshold=30,
    selection="sparse",
    selection_rate=Fraction(1, 4),
    selection_accounting="zcdp",
    draws=1,
    calls_max=3,
    buffer="mistakes",
    list_cap=4,
    bottom_score=9,
    teachers=20,
    stage_rate=Fraction(1, 3),
)


def test_stage_tests_and_precision_are_held_to_the_caps() -> None:
    """Neither d nor the classes' candidates are known here; the sum that caps are made of is."""
    table = Table.from_matrix(["a", "b", "c", "d"], np.eye(4, dtype=bool))
    learner = OnlineLearner("s/late", table, PARAMETERS)
    events = learner.season_events()
    caps = sum(map(price, events), FREE) + price(learner.call_event()) * 3
    charges = {"late": Charges.of(online(PARAMETERS.to_dict()))}

    def found(events: list[PrivacyEvent]) -> list[str]:
        booked = [charge(n, each) for n, each in enumerate(events)]
        return wrong_charges(booked, charges, caps, Fraction(0))

    assert sum(isinstance(each, StageTest) for each in events) == table.littlestone_dimension + 1
    assert found([*events, learner.call_event()]) == []
    one_less = [each for n, each in enumerate(events) if n != 1]
    assert any("not what the caps have room for" in each for each in found(one_less))
    loss = events[-1]
    assert isinstance(loss, PrecisionLoss)
    finer = replace(loss, total_variation=loss.total_variation / 2**20)
    assert any("not what the caps have room for" in each for each in found([*events[:-1], finer]))
    less = replace(loss, epsilon=Fraction(1))
    assert any("does not begin" in each for each in found([*events[:-1], less]))


def test_a_trigger_of_two_rates_is_charged_for_both() -> None:
    split = replace(PARAMETERS, user_examples_max=3, threshold_rate=Fraction(1, 5), stage_rate=None)
    (asked,) = OnlineLearner("s/late", Thresholds(4), split).season_events()[:1]
    assert Charges.of(online(split.to_dict())).trigger == (asked,)
    assert price(asked) == price(TriggerSeason(3 * (Fraction(1, 2) + Fraction(1, 5))))
    one_rate = split.to_dict()
    del one_rate["threshold_rate"]
    assert Charges.of(online(one_rate)).trigger == (TriggerSeason(Fraction(1, 2), 3),)
    with pytest.raises(ChargesUnknown):  # an example is charged the larger one of two rates
        Charges.of(online({**split.to_dict(), "user_examples_max": None}))


def test_fresh_noise_and_schedules_have_their_own_opening() -> None:
    lyu = replace(PARAMETERS, tests="cohen_lyu", tests_failure=Fraction(1, 10**9))
    learner = OnlineLearner("s/late", Thresholds(4), lyu)
    charges = Charges.of(online(lyu.to_dict()))
    assert charges.trigger == learner.season_events()[:1]
    assert isinstance(charges.trigger[0], CohenLyuTrigger)
    assert charges.opening(learner.season_events()) == len(learner.season_events())
    scheduled = {**PARAMETERS.to_dict(), "schedule_first": 10, "stage_rate": None, "fresh": True}
    opening = Charges.of(online(scheduled))
    assert opening.trigger == ()
    assert opening.segment is None
    assert isinstance(opening.selection[0], SparseSelection)
    assert opening.call == PrepaidSelection(1)
    # more epochs, of a public length: no more is charged
    assert Charges.of(online({**scheduled, "schedule_cap": 40})) == opening


@pytest.mark.parametrize(
    "changes",
    [
        {"selection": "other"},
        {"selection_rate": "0.5"},
        {"trigger_rate": None},
        {"calls_max": -1},
        {"draws": "1"},
        {"selection_accounting": "none"},
        {"user_examples_max": 0},
        {"user_examples_max": "1"},
        {"user_examples_max": 1, "tests": "cohen_lyu", "tests_failure": "1/9"},
    ],
)
def test_parameters_that_say_nothing_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ChargesUnknown, match="do not say what is to be charged"):
        Charges.of(online({**PARAMETERS.to_dict(), **changes}))
    with pytest.raises(ChargesUnknown):
        Charges.of({})


# --- How good rules are, which is told from the budget --------------------------------------------


def test_figures_of_quality_are_charged_when_a_season_opens() -> None:
    learner = OnlineRequest("late", class_from_name("thresholds:16"), nothing_told=True)
    asked = StreamRequest("s", Fraction(4), Fraction(1, 10**6), HORIZON, (learner,))
    told, silent = plan_stream(replace(asked, quality=Fraction(1, 10))), plan_stream(asked)
    (charges,) = charges_of(told).values()
    (counts,) = (event for event in charges.trigger if isinstance(event, MistakeCounts))
    assert Fraction(399, 1000) < counts.rate <= Fraction(1, 10) * 4
    assert price(counts) == Price(counts.rate, Fraction(0), Fraction(0))
    (without,) = charges_of(silent).values()
    assert not any(isinstance(event, MistakeCounts) for event in without.trigger)


def test_a_user_is_counted_as_wrong_or_as_right_and_pays_for_both() -> None:
    counts = MistakeCounts(Fraction(1, 4), user_examples_max=1)
    assert price(counts) == Price(Fraction(1, 2), Fraction(0), Fraction(0))


def test_parameters_that_do_not_say_how_requests_are_answered() -> None:
    with pytest.raises(ChargesUnknown, match="how requests are answered"):
        AnswerWindows.of({"kind": "prediction", "parameters": {}})
    assert AnswerWindows.of(online({})) is None


def test_scorecards_without_noise_have_no_price() -> None:
    with pytest.raises(ValueError, match="variance of scorecard_season must be above 0"):
        ScorecardSeason(warmup=1, moments=1, rest=1, variance=0)


@pytest.mark.parametrize(
    ("changes", "unknown"),
    [
        ({}, []),
        ({"haste": 1, "zeal": 2}, ["the parameter haste", "the parameter zeal"]),
        ({"selection": "novel"}, ["the selection novel"]),
        ({"selection": "novel", "haste": 1}, ["the parameter haste", "the selection novel"]),
        ({"selection": 7}, []),
        ({"calls_max": "many"}, []),
    ],
)
def test_what_only_a_newer_version_knows_is_told_from_damage(
    changes: dict[str, Any], unknown: list[str]
) -> None:
    assert unknown_parameters(online({**PARAMETERS.to_dict(), **changes})) == unknown


def test_a_method_of_answers_that_is_not_known_is_told() -> None:
    stream = answering("dense")
    learner = stream.to_dict()["learners"]["guess"]
    newer = {**learner, "parameters": {**learner["parameters"], "method": "novel"}}
    assert not unknown_parameters(learner)
    assert unknown_parameters(newer) == ["the method novel"]


def test_draws_beside_the_rest_of_a_season_are_in_a_stream_that_has_nothing_else() -> None:
    learners = (LeaderRequest("late", class_from_name("scorecard:64x64x7cox2")),)
    asked = StreamRequest("s", Fraction(1, 10), Fraction(1, 10**6), 100_000, learners)
    stream = plan_stream(asked)
    entries, charges = ledger(stream), charges_of(stream)
    assert problems(stream, entries) == []
    more = replace(stream.caps, gaussian=stream.caps.gaussian * 2)
    rho = replace(stream.caps, rho=Fraction(1, 1000))
    for caps, delta_z in [
        (more, stream.delta_z), (rho, stream.delta_z), (stream.caps, stream.delta_z / 2),
    ]:  # fmt: skip
        found = wrong_charges(entries, charges, caps, delta_z)
        assert any("scorecard_season has a conversion_delta, and" in each for each in found)
    stored = stream.to_dict()["learners"]["late"]
    stored["parameters"]["user_examples_max"] = 2
    with pytest.raises(ChargesUnknown):
        Charges.of(stored)
