"""States that an engine goes on from: the newest one of use, and figures through all of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from littled.budget.price import Price
from littled.classes.names import class_from_name
from littled.engine import Engine, Runner, Transcript, newest_usable, replay
from littled.learners.snapshot import SnapshotUnusable
from littled.mechanisms.noise import KeyedNoise
from littled.planner import OnlineRequest, StreamPlan, StreamRequest, plan_stream
from littled.store.mark import Numbers
from littled.store.records import Record, StoredRelease
from littled.store.restoration import RESTORER, Restoration
from littled_protocol.columns import encode_labels
from littled_protocol.figures import Figure, figures_of
from support.learning import Inline

KEY = bytes(range(32))
HORIZON = 3000
SIZE = 500


@pytest.fixture(scope="module")
def plan() -> StreamPlan:
    learners = (OnlineRequest("first", class_from_name("thresholds:64"), selection="dense"),)
    return plan_stream(
        StreamRequest(
            *("s", Fraction(4), Fraction(1, 10**6), HORIZON, learners), quality=Fraction(1, 10)
        )
    )


def points(count: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 64, count).astype(np.uint8)


def records(count: int) -> list[Record]:
    x = points(count)
    parts = [x[first : first + SIZE] for first in range(0, count, SIZE)]
    return [record(number, SIZE * number, part) for number, part in enumerate(parts)]


def record(number: int, first: int, x: np.ndarray) -> Record:
    columns = x.tobytes(), encode_labels(x >= 20)
    return Record("s", number, first, "p", first, len(x), *columns, bytes(32))


def figures(releases: list[StoredRelease]) -> list[Figure]:
    return [Figure.from_bytes(one.body) for one in releases]


def usable_but(
    *unusable: bytes,
) -> tuple[list[bytes | None], Callable[[bytes | None], bytes | None]]:
    """What was built so far, and a way to build that refuses some states."""
    built: list[bytes | None] = []

    def build(state: bytes | None) -> bytes | None:
        built.append(state)
        if state in unusable:
            raise SnapshotUnusable("of another version")
        return state

    return built, build


STATES = [(9, b"newest"), (5, b"older"), (2, b"oldest")]


@pytest.mark.parametrize(
    ("unusable", "found", "tried"),
    [
        ((), (b"newest", 9, False), [b"newest"]),
        ((b"newest",), (b"older", 5, True), [b"newest", b"older"]),
        ((b"older",), (b"newest", 9, False), [b"newest"]),
        (
            (b"newest", b"older", b"oldest"),
            (None, -1, True),
            [b"newest", b"older", b"oldest", None],
        ),
    ],
)
def test_the_newest_state_of_use_is_chosen_and_none_older_is_read(
    unusable: tuple[bytes, ...], found: object, tried: list[bytes | None]
) -> None:
    built, build = usable_but(*unusable)
    assert newest_usable(iter(STATES), build) == found
    assert built == tried


def test_without_a_state_an_engine_begins_at_the_start_and_none_was_passed_over() -> None:
    built, build = usable_but()
    assert newest_usable(iter(()), build) == (None, -1, False)
    assert built == [None]


def test_an_engine_goes_on_from_the_newest_state_of_use(plan: StreamPlan) -> None:
    journal, whole = records(3 * SIZE), Transcript()
    engine = Engine(plan, KeyedNoise(KEY), whole, Inline())
    states: list[tuple[int, bytes]] = []
    for record in journal:
        engine.apply(record)
        states.insert(0, (record.number, engine.snapshot()))
    states[0] = (states[0][0], b"of a later version")
    outlet = Transcript()
    again, number, passed_over = newest_usable(
        states, lambda state: Engine(plan, KeyedNoise(KEY), outlet, Inline(), state)
    )
    assert (again.record_number, number, passed_over) == (1, 1, True)
    again.apply_all(journal)
    assert again.snapshot() == engine.snapshot()


def test_figures_are_kept_apart_from_rules_and_are_in_the_status(plan: StreamPlan) -> None:
    runner, x = Runner(plan, KEY), points(HORIZON + 1)
    quality = plan.publishing[0].quality
    assert quality is not None
    assert runner.status()["learners"]["first"]["quality"] == {
        "period_examples": quality.period,
        "next_position": quality.period,
    }
    runner.learn(x, (x >= 20).astype(np.uint8))
    found = runner.figures("first")
    assert [one.number for one in found] == list(range(1, quality.periods + 1))
    assert list(found) == figures(runner.transcript.figures)
    assert {one.learner for one in runner.transcript.figures} == {figures_of("s/first")}
    assert figures_of("s/first") not in {one.learner for one in runner.transcript.releases}
    facts = runner.status()["learners"]["first"]["quality"]
    assert facts["position"] == found[-1].end == quality.periods * quality.period
    assert facts["next_position"] == HORIZON + quality.period
    assert runner.figures("second") == ()


def test_figures_go_on_above_those_that_a_restore_has_lost(plan: StreamPlan) -> None:
    journal, key, later = records(2 * SIZE), KeyedNoise(KEY), 2 * HORIZON
    lost = {"s/first": 40, figures_of("s/first"): 70}
    said = Restoration("name", 0, Price.zero(), 2 * SIZE, 2, 0, 0, lost, Numbers({}))
    restore = Record("s", 2, later, RESTORER, 0, 0, said.to_bytes(), b"", bytes(32))
    behind = record(3, later, points(HORIZON))
    transcript = replay(plan, key, [*journal, restore, behind], Inline())
    before = figures(replay(plan, key, journal, Inline()).figures)
    quality = plan.publishing[0].quality
    assert quality is not None
    after = figures(transcript.figures)[len(before) :]
    assert [one.number for one in after] == list(range(71, 71 + quality.periods))
    assert {one.season for one in after} == {2}
    assert min(one.first_version for one in after) > 40
