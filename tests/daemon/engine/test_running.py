"""Streams that are run in this process: what a daemon would publish, and how good it is."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.engine import AtOnce, Runner, progressive, replay
from littled.engine.running import EXAMPLES_AT_ONCE, PRODUCER
from littled.mechanisms.noise import KeyedNoise
from littled.planner import OnlineRequest, StreamRequest, plan_stream
from littled.store.records import HEAD_BYTES, Record, record_head
from littled_protocol.columns import encode_labels
from littled_protocol.encodings import CategoryColumn, NumberColumn, Reading, TableSchema
from littled_protocol.errors import ProtocolError
from littled_protocol.rules import Words

KEY = bytes(range(32))


def plan(horizon: int = 3000, **more: Any) -> Any:
    learners = (
        OnlineRequest("first", class_from_name("thresholds:64"), selection="dense"),
        OnlineRequest("second", class_from_name("thresholds:32")),
    )
    return plan_stream(
        StreamRequest("s", Fraction(2), Fraction(1, 10**6), horizon, learners, **more)
    )


def examples(count: int, seed: int = 0) -> tuple[Any, Any]:
    x = np.random.default_rng(seed).integers(0, 32, count).astype(np.uint8)
    return x, (x >= 20).astype(np.uint8)


def batches(count: int, size: int) -> list[tuple[Any, Any]]:
    x, y = examples(count)
    return [(x[first : first + size], y[first : first + size]) for first in range(0, count, size)]


def test_a_run_is_what_the_engine_makes_of_the_same_records() -> None:
    """Over two seasons, with records whose heads are made as a store makes them."""
    head, records = bytes(HEAD_BYTES), []
    for number, (x, y) in enumerate(batches(5000, 700)):
        first = 700 * number
        columns = x.tobytes(), encode_labels(y)
        head = record_head(head, number, first, len(y), first, PRODUCER, *columns)
        records.append(Record("s", number, first, PRODUCER, first, len(y), *columns, head))
    expected = replay(plan(), KeyedNoise(KEY), records, AtOnce())
    runner = Runner(plan(), KEY)
    for x, y in batches(5000, 700):
        runner.learn(x, y)
    assert runner.transcript.releases == expected.releases
    assert [e.to_bytes() for e in runner.transcript.entries] == [
        e.to_bytes() for e in expected.entries
    ]
    assert runner.position == runner.status()["position"] == 5000
    assert {release.season for release in runner.published("first")} == {0, 1}


def test_the_key_decides_all_noise() -> None:
    runs = [Runner(plan(), key) for key in (KEY, KEY, bytes(32))]
    for runner in runs:
        for batch in batches(2000, 100):
            runner.learn(*batch)
    first, again, other = (runner.transcript.releases for runner in runs)
    assert first == again != other


def test_each_example_is_judged_by_the_rule_that_was_published_when_it_came() -> None:
    runner = Runner(plan(), KEY)
    found = progressive(runner, batches(4000, 300))
    x, y = examples(4000)
    assert set(found) == {"first", "second"}
    for name, progress in found.items():
        published = runner.published(name)
        assert len(published) > 3
        wrong = []
        for position in range(4000):
            rule = next(r.rule for r in reversed(published) if r.position <= position)
            wrong.append(bool(rule.evaluate(x[position : position + 1])[0] != y[position]))
        assert np.concatenate(progress.wrong).tolist() == wrong
        assert progress.mistakes == sum(wrong) > 0


@pytest.mark.long
@pytest.mark.no_cover
def test_long_batches_are_learned_in_parts() -> None:
    runner = Runner(plan(horizon=10**6), KEY)
    count = EXAMPLES_AT_ONCE + 5
    runner.learn(*examples(count))
    assert runner.position == count


def test_users() -> None:
    runner = Runner(plan(unit=Unit.of("user", 1)), KEY)
    x, y = examples(10)
    users = np.arange(20, dtype=np.uint64).reshape(10, 2)
    runner.learn(x, y, users)
    assert runner.position == 10
    with pytest.raises(ProtocolError):
        runner.learn(x, y)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.zeros(3, dtype=np.uint16), np.zeros(3, dtype=np.uint8)),
        (np.zeros((3, 2), dtype=np.uint8), np.zeros(3, dtype=np.uint8)),
        (np.zeros(3, dtype=np.uint8), np.full(3, 2, dtype=np.uint8)),
        (np.zeros(3, dtype=np.uint8), np.zeros(2, dtype=np.uint8)),
    ],
)
def test_examples_that_do_not_fit_change_nothing(x: Any, y: Any) -> None:
    runner = Runner(plan(), KEY)
    with pytest.raises(ProtocolError):
        runner.learn(x, y)
    assert runner.position == 0
    runner.learn(*examples(100))
    clean = Runner(plan(), KEY)
    clean.learn(*examples(100))
    assert runner.transcript == clean.transcript


@pytest.mark.long
def test_learners_see_points_of_their_columns() -> None:
    """One learner reads the second column of a row, another one both."""
    columns = (
        CategoryColumn("grade", ("a", "b", "c")),
        NumberColumn("score", given=tuple(map(Decimal, range(1, 32)))),
    )
    one, both = Reading(columns[1:], "value"), Reading(columns, "row")
    learners = (
        OnlineRequest("one", class_from_name("thresholds:32"), words=Words(reading=one)),
        OnlineRequest("both", class_from_name("stumps:2:32"), words=Words(reading=both)),
    )
    request = StreamRequest(
        *("s", Fraction(8), Fraction(1, 10**6), 20_000, learners),
        schema=TableSchema(columns, "y"),
    )
    runner = Runner(plan_stream(request), KEY)
    score, y = examples(20_000)
    rows = np.stack([score % 4, score], axis=1).astype(np.uint16)
    found = progressive(runner, [(rows, y)])
    for name, said in (("one", "1 if score >= 20"), ("both", "1 if score >= 20")):
        last = runner.published(name)[-1].rule
        assert last.describe(runner.plan.words[name]) == said
        assert found[name].mistakes < 2000
