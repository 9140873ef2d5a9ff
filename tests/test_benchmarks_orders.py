"""Orders that hurt, and targets that move: what each kind of stream promises."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.learning import __main__ as command
from benchmarks.learning import measuring, orders, streams
from benchmarks.learning.baselines import DELTA, EPSILON
from benchmarks.learning.runs import (
    LITTLED,
    USERS,
    hypotheses_of,
    plan_for,
    run_littled,
    users_of,
)
from littled.planner import OnlineRequest, StreamRequest, compare_ways
from test_benchmarks import CLASSES, RULES

HORIZON = 4000
REALIZABLE = tuple(kind for kind in streams.ORDERS if kind not in ("jump", "drift"))


def parts(stream: streams.Stream) -> list[tuple[slice, Any]]:
    """Where each target is in force, and the target as a rule of the protocol."""
    family, numbers = streams.parsed(stream.class_name)
    ends = [*stream.phases[1:], len(stream)]
    return [
        (slice(first, end), RULES[family](target, numbers))
        for first, end, target in zip(
            stream.phases, ends, (stream.target, *stream.later), strict=True
        )
    ]


@pytest.mark.parametrize("kind", streams.ORDERS)
@pytest.mark.parametrize("name", CLASSES)
def test_every_part_is_what_a_rule_of_the_protocol_says(name: str, kind: streams.Order) -> None:
    stream = orders.stream_of(name, kind, HORIZON, seed=3)
    assert (stream.kind, len(stream), len(stream.x)) == (kind, HORIZON, HORIZON)
    for part, rule in parts(stream):
        assert rule.x_type == stream.x_type
        np.testing.assert_array_equal(rule.evaluate(stream.x[part]), stream.y[part])
    assert bool(stream.later) == (kind not in REALIZABLE)


@pytest.mark.parametrize("kind", streams.ORDERS)
def test_they_repeat_with_their_seed_only(kind: streams.Order) -> None:
    first, again, other = (orders.stream_of("prefixes:128", kind, HORIZON, s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.x, again.x)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.x, other.x)


def test_usual_kinds_are_what_they_are_without_orders() -> None:
    for kind in streams.KINDS:
        stream = orders.stream_of("table:1000x500", kind, HORIZON, 5)
        usual = streams.make_stream("table:1000x500", kind, HORIZON, 5)
        np.testing.assert_array_equal(stream.x, usual.x)


@pytest.mark.parametrize("kind", ["sorted", "grouped", "bursts"])
@pytest.mark.parametrize("name", ["stumps:16:64", "prefixes:128", "points:64"])
def test_an_order_has_the_examples_of_the_uniform_stream(name: str, kind: streams.Order) -> None:
    stream = orders.stream_of(name, kind, HORIZON, seed=4)
    usual = streams.make_stream(name, "uniform", HORIZON, seed=4)
    rows = [sorted(map(tuple, x.reshape(HORIZON, -1).tolist())) for x in (stream.x, usual.x)]
    assert rows[0] == rows[1]
    if kind == "sorted":
        assert rows[0] == list(map(tuple, stream.x.reshape(HORIZON, -1).tolist()))
    elif kind == "grouped":
        first = stream.x if name != "stumps:16:64" else stream.x[:, 0]
        changes = (np.diff(first.reshape(HORIZON, -1), axis=0) != 0).any(axis=1)
        assert np.count_nonzero(changes) + 1 == len(np.unique(first, axis=0))
    else:
        assert np.count_nonzero(np.diff(stream.y.astype(int))) < 0.01 * HORIZON


@pytest.mark.parametrize("name", ["points:64", "sparse_sets:64:4", "prefixes:128"])
def test_near_misses_differ_from_a_positive_in_one_bit(name: str) -> None:
    stream = orders.stream_of(name, "near-misses", HORIZON, seed=2)
    words = stream.x.reshape(HORIZON, -1).tolist()
    values = [sum(word << 64 * place for place, word in enumerate(row)) for row in words]
    first = orders.NEAR_FIRST
    assert stream.y[:first].all()
    assert not stream.y[first:].any()
    positives = set(values[:first])
    for value in values[first : first + 50]:
        assert min((value ^ positive).bit_count() for positive in positives) == 1


def test_near_misses_of_affine_subspaces_violate_one_check() -> None:
    stream = orders.stream_of("affine:64:8", "near-misses", HORIZON, seed=2)
    target = stream.target
    assert isinstance(target, streams.AffineTarget)
    assert not stream.y[orders.NEAR_FIRST :].any()
    dimension = len(target.basis)
    for value in stream.x[orders.NEAR_FIRST :][:50].tolist():
        spanned = streams.reduced_basis([*target.basis, value ^ target.offset])
        assert len(spanned) == dimension + 1


@pytest.mark.parametrize("name", ["thresholds:256", "stumps:16:64"])
def test_near_misses_lie_on_both_sides_of_a_threshold(name: str) -> None:
    stream = orders.stream_of(name, "near-misses", HORIZON, seed=2)
    near = slice(orders.NEAR_FIRST, None)
    target: Any = stream.target
    x = stream.x if stream.x.ndim == 1 else stream.x[:, target.feature]
    assert set(x[near].tolist()) == {target.threshold - 1, target.threshold}
    assert 0.4 < stream.y[near].mean() < 0.6


def test_a_drift_takes_small_steps_and_keeps_positives() -> None:
    stream = orders.stream_of("thresholds:256", "drift", HORIZON, seed=2)
    targets: list[Any] = [stream.target, *stream.later]
    assert np.diff([target.threshold for target in targets]).tolist() == [4] * orders.DRIFT_MOVES
    for name in ("prefixes:128", "affine:64:8", "conjunctions:64"):
        moving = orders.stream_of(name, "drift", HORIZON, seed=2)
        assert all(0.3 < moving.y[part].mean() < 0.7 for part, _ in parts(moving))


def test_near_misses_of_a_block_end_where_users_are_protected() -> None:
    """Without a memory false positives propose nothing, and mistakes do not end."""
    stream = orders.stream_of("prefixes:128", "near-misses", 20_000, seed=1)
    users = users_of(len(stream), 10, seed=1)
    run = run_littled(stream, plan_for("prefixes:128", 1_000_000, USERS), USERS, users)
    assert run.mistakes < 400
    assert run.timeline[-1] == run.timeline[len(run.timeline) // 2]


@pytest.mark.long
def test_what_is_expected_is_within_a_factor_of_2_of_the_worst_order_on_the_page() -> None:
    """As docs/mistakes.md has it for every class of the benchmark; and it is what is planned."""
    rows = {
        name: (int(said.replace(",", "")), int(worst.replace(",", "")))
        for name, said, worst in re.findall(
            r"^\| `([^`]+)` \| ([\d,]+) \| ([\d,]+), [a-z ]+ \| [^|]+ \|$",
            (Path(__file__).parents[1] / "docs" / "mistakes.md").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }
    assert set(rows) == set(measuring.CLASSES)
    assert all(said <= 2 * worst and worst <= 2 * said for said, worst in rows.values())
    for name in ("thresholds:256", "points:64"):
        learner = OnlineRequest("l", hypotheses_of(name))
        chosen = compare_ways(StreamRequest("s", EPSILON, DELTA, 1_000_000, (learner,)))[0]
        assert round(chosen.expected_mistakes or 0) == rows[name][0]


@pytest.mark.long
def test_further_kinds_have_a_table_of_their_own(tmp_path: Path) -> None:
    options = "--classes thresholds:256 --kinds uniform --streams sorted jump --seeds 1"
    more = "--horizon 4000 --jobs 1 --no-baselines --output"
    arguments = command.parsed_arguments([*options.split(), *more.split(), str(tmp_path)])
    found, facts = measuring.measure(arguments)
    assert {run.kind for run in found if run.method == LITTLED} == {"uniform", "sorted", "jump"}
    command.write(found, facts, arguments.horizon, tmp_path)
    text = (tmp_path / "learning.md").read_text()
    usual, _, further = text.partition("## Orders that hurt")
    assert "| jump |" not in usual
    assert "| thresholds:256 | jump | " in further


def test_without_them_the_report_is_as_it_was(tmp_path: Path) -> None:
    arguments = command.parsed_arguments(["--quick", "--output", str(tmp_path)])
    assert arguments.streams == []
    assert arguments.kinds == list(streams.KINDS)
