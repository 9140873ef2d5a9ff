"""Measured learners: what is counted, when, and that the learner does what it does unmeasured."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.budget.events import MistakeCounts, PrecisionLoss
from littled.learners.contract import (
    CallAdmitted,
    CallRefused,
    CallRequested,
    Effect,
    Examples,
    Measured,
    Place,
    Published,
    SeasonOpened,
)
from littled.learners.measured import MeasuredLearner, QualitySettings
from littled.learners.snapshot import SnapshotUnusable, pack, unpack
from littled.mechanisms.noise import KeyedNoise
from littled.mechanisms.noisy_counts import NoisyCounts
from littled_protocol.rules import Rule
from support.learner_cases import HORIZON, case_of

NOISE = KeyedNoise(b"q" * 32)
HEAD = bytes(32)
SETTINGS = QualitySettings(Fraction(1), 7, 4)
# One of every kind, with a trigger, a schedule, tallies and windows.
NAMES = (
    *("dense", "dense capped", "sparse", "closure", "histogram vetoes", "tally", "chain"),
    *("windows, dense", "windows, closure", "scorecard warm"),
)
OF_USERS = ("dense, users 1", "dense fresh, users 2", "windows, dense, users 1",
            "scorecard, users 3")  # fmt: skip

Cuts = Sequence[int]


@pytest.fixture(autouse=True)
def _no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts come out as they are: what is counted is the matter here."""
    monkeypatch.setattr(NoisyCounts, "released", lambda _self, counts, _words: tuple(counts))


def measured(name: str, settings: QualitySettings = SETTINGS) -> MeasuredLearner[Any]:
    (plan,) = case_of(name).plan.publishing
    learner = replace(plan, quality=settings).running("s")
    assert isinstance(learner, MeasuredLearner)
    return learner


def stream(name: str, seed: int, count: int = HORIZON) -> Examples:
    """So many examples of the case's points, of 5 users where it has users."""
    case, random = case_of(name), np.random.default_rng(seed)
    x = case.points[random.integers(0, len(case.points), count)]
    y = random.integers(0, 2, count).astype(np.uint8)
    users = None
    if case.plan.unit.is_user:
        users = random.integers(0, 1 << 40, (5, 2), dtype=np.uint64)[random.integers(0, 5, count)]
    return Examples(Place(HEAD, 0, 0), x, y, users)


def run(
    learner: Any, examples: Examples, cuts: Cuts = (), *, refuse: bool = False
) -> tuple[Any, list[Effect], list[tuple[Rule, int]]]:
    """One season in batches; the state, all that is said, and for each example rule and version."""
    step = learner.step(learner.initial(), SeasonOpened(0, 0), NOISE)
    state, said, force = step.state, list(step.effects), []
    ends = sorted({*cuts, len(examples.y)})
    start = 0
    for end in ends:
        while start < end:
            place = replace(examples.place, position=start)
            users = None if examples.users is None else examples.users[start:end]
            batch = Examples(place, examples.x[start:end], examples.y[start:end], users)
            step = learner.step(state, batch, NOISE)
            force += [(state.rule, state.version)] * step.consumed
            start += step.consumed
            state = step.state
            for effect in step.effects:
                said.append(effect)
                if isinstance(effect, CallRequested):
                    answer = CallRefused if refuse else CallAdmitted
                    after = learner.step(state, answer(effect.place), NOISE)
                    state = after.state
                    said += after.effects
    return state, said, force


def counted(
    examples: Examples, force: list[tuple[Rule, int]], settings: QualitySettings
) -> list[tuple[int, int | None, int, int]]:
    """What each period has to count, by the definition: wrong, right, first and last version."""
    found = []
    for period in range(min(settings.periods, len(examples.y) // settings.period)):
        first = period * settings.period
        places = range(first, first + settings.period)
        seen: Counter[bytes] = Counter()
        wrong = right = 0
        for at in places:
            if examples.users is not None:
                user = examples.users[at]
                if int(user[1]) % settings.periods != period or seen[user.tobytes()]:
                    continue
                seen[user.tobytes()] += 1
            mistake = int(force[at][0].evaluate(examples.x[at : at + 1])[0]) != examples.y[at]
            wrong, right = wrong + mistake, right + (not mistake)
        versions = force[places[0]][1], force[places[-1]][1]
        found.append((wrong, None if examples.users is None else right, *versions))
    return found


@pytest.mark.parametrize("name", [*NAMES, *OF_USERS])
def test_each_example_is_judged_once_by_the_rule_in_force(name: str) -> None:
    examples = stream(name, 1)
    state, said, force = run(measured(name), examples)
    figures = [effect.figure for effect in said if isinstance(effect, Measured)]
    expected = counted(examples, force, SETTINGS)
    assert [(f.wrong, f.right, f.first_version, f.last_version) for f in figures] == expected
    assert [(f.number, f.season, f.first, f.end) for f in figures] == [
        (number + 1, 0, 7 * number, 7 * number + 7) for number in range(4)
    ]
    assert state.last == figures[-1]
    assert state.figures == 4
    assert sum(wrong for wrong, *_ in expected) > 0


@given(
    name=st.sampled_from([*NAMES, *OF_USERS]),
    cuts=st.lists(st.integers(1, HORIZON), max_size=12),
    seed=st.integers(0, 50),
    period=st.integers(1, HORIZON),
)
def test_batches_make_no_difference(name: str, cuts: list[int], seed: int, period: int) -> None:
    settings = QualitySettings(Fraction(1), period, HORIZON // period)
    learner, examples = measured(name, settings), stream(name, seed)
    whole, said, _ = run(learner, examples)
    parts, also, _ = run(learner, examples, cuts)
    assert also == said
    assert pack(learner.state_to_dict(learner.settled(parts))) == pack(
        learner.state_to_dict(learner.settled(whole))
    )


@pytest.mark.parametrize("name", [*NAMES, *OF_USERS])
def test_the_learner_does_what_it_does_unmeasured(name: str) -> None:
    learner, examples = measured(name), stream(name, 2)
    _, said, _ = run(learner, examples)
    _, alone, _ = run(learner.learner, examples)
    assert [effect for effect in said[1:] if not isinstance(effect, Measured)] == alone[1:]
    # a call at the end of a period is of rules that the period had not seen
    kinds = [type(effect) for effect in said]
    assert all(
        kinds[at + 1 : at + 2] != [Measured]
        for at, kind in enumerate(kinds)
        if kind is CallRequested
    )


def test_a_learner_that_has_halted_is_measured_on() -> None:
    examples = stream("dense", 3)
    state, said, force = run(measured("dense"), examples, refuse=True)
    halts = [e.position for e in said if isinstance(e, Published) and e.kind == "halt"]
    assert state.halted
    assert halts[0] < 14
    figures = [effect.figure for effect in said if isinstance(effect, Measured)]
    assert [f.wrong for f in figures] == [row[0] for row in counted(examples, force, SETTINGS)]


@pytest.mark.parametrize("name", ["dense", "dense, users 1"])
def test_a_new_season_begins_with_nothing_counted(name: str) -> None:
    learner, examples = measured(name), stream(name, 4, 10)
    state, _, _ = run(learner, examples)
    assert state.counting.first_version is not None
    opened = learner.step(state, SeasonOpened(5, 160), NOISE).state
    assert (
        opened.counting == learner.step(learner.initial(), SeasonOpened(0, 0), NOISE).state.counting
    )
    assert (opened.season, opened.season_position) == (5, 160)
    assert opened.figures == 1  # numbers go on
    assert opened.last == state.last


@pytest.mark.parametrize("name", [*NAMES, *OF_USERS])
def test_a_snapshot_goes_on_as_the_learner_does(name: str) -> None:
    learner, examples = measured(name), stream(name, 5)
    start = examples.take(slice(17))
    state, _, _ = run(learner, start)
    stored = unpack(pack(learner.state_to_dict(learner.settled(state))))
    again = learner.state_from_dict(stored)
    assert pack(learner.state_to_dict(again)) == pack(learner.state_to_dict(learner.settled(state)))
    for changed in ({**stored, "more": 1}, {**stored, "counting": {"wrong": 0}}):
        with pytest.raises(SnapshotUnusable):
            learner.state_from_dict(changed)


def test_numbers_go_on_above_those_that_were_lost() -> None:
    learner = measured("dense")
    state, _, _ = run(learner, stream("dense", 6, 10))
    after = learner.with_figures(learner.after_restore(state, 90), 12)
    assert (after.version, after.figures) == (90, 12)
    assert learner.with_figures(after, 3).figures == 12


@pytest.mark.parametrize("name", ["dense", "dense, users 1", "windows, dense", "scorecard"])
def test_a_season_pays_for_its_figures_first(name: str) -> None:
    learner = measured(name)
    own, *events, loss = learner.season_events()
    *alone, before = learner.learner.season_events()
    users = name.endswith("users 1")
    assert own == MistakeCounts(Fraction(1), 1 if users else 0)
    assert events == alone
    assert isinstance(loss, PrecisionLoss)
    assert isinstance(before, PrecisionLoss)
    draws = NoisyCounts(Fraction(1)).precision_error(8 if users else 4)
    assert loss == replace(before, total_variation=before.total_variation + draws)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["dense", "windows, dense", "scorecard"])
def test_one_example_moves_one_count_by_one(name: str) -> None:
    """As far as the rules of two neighbours are the same, counts differ in one place."""
    learner, random = measured(name), np.random.default_rng(7)
    differed = 0
    for seed in range(30):
        examples = stream(name, seed)
        at = int(random.integers(HORIZON))
        y: NDArray[np.uint8] = examples.y.copy()
        y[at] = 1 - y[at]
        _, said, force = run(learner, examples)
        _, also, forced = run(learner, replace(examples, y=y))
        here, there = (
            [e.figure.wrong for e in each if isinstance(e, Measured)] for each in (said, also)
        )
        equal = next(
            (i for i, pair in enumerate(zip(force, forced, strict=True)) if pair[0] != pair[1]),
            HORIZON,
        )
        whole = equal // 7
        moved = [abs(a - b) for a, b in zip(here[:whole], there[:whole], strict=True)]
        assert moved == [int(at // 7 == period) for period in range(len(moved))]
        differed += sum(moved)
    assert differed


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"rate": Fraction(0)}, "rate"), ({"period": 0}, "period of at least 1"),
        ({"periods": 0}, "periods of at least 1"), ({"period": True}, "period of at least 1"),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(values: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        replace(SETTINGS, **values)


def test_settings_are_stored_and_read() -> None:
    stored = SETTINGS.to_dict()
    assert stored == {"rate": "1/1", "period": 7, "periods": 4}
    assert QualitySettings.from_dict(stored) == SETTINGS
    for wrong in (None, {}, {**stored, "more": 1}, {**stored, "rate": 0.5}):
        with pytest.raises(ValueError, match=r"."):
            QualitySettings.from_dict(wrong)
