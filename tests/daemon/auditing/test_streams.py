"""Pairs of streams are neighbours, of the class's points, and within a season."""

from dataclasses import replace

import numpy as np
import pytest

from littled.auditing.streams import EXAMPLES_MAX, NoStreams, Scene, stream_pairs
from littled.auditing.subjects import small_plan
from littled.auditing.subjects.online import OF_USERS, PUBLISHING
from littled.classes.names import class_from_name
from littled.classes.table import Table
from littled.learners.online import OnlineLearner
from littled.planner import OnlinePlan

CLASSES = [
    *("thresholds:256", "points:128", "sparse_sets:8:2", "prefixes:32", "affine:8:1"),
    *("stumps:3:4", "conjunctions:4"),
]


def small_learner(name: str) -> OnlineLearner:
    plan = small_plan(name)
    return plan.of(OnlinePlan)[0].learner(plan.stream)


@pytest.mark.parametrize("name", PUBLISHING)
def test_a_pair_differs_in_one_example_of_the_class_or_those_of_one_user(name: str) -> None:
    learner = small_learner(name)
    looked_at, pairs = stream_pairs(learner)
    assert learner.hypotheses.contains(looked_at)
    assert len(pairs) >= 5
    assert len({each.name for each in pairs}) == len(pairs)
    for pair in pairs:
        x, y = pair.x, pair.y
        assert len(x[0]) == len(x[1]) == len(y[0]) == len(y[1]) <= learner.parameters.horizon
        assert all(learner.hypotheses.contains(each) for each in x)
        other_points = (x[0] != x[1]).reshape(len(x[0]), -1).any(axis=1)
        differs = other_points | (y[0] != y[1])
        assert 1 <= differs.sum() <= OF_USERS.get(name, 1)
        assert (np.array(pair.users) == 0).tolist() == differs.tolist()
        assert len(set(pair.users)) == len(pair.users) - differs.sum() + 1
    assert max((each.y[0] != each.y[1]).sum() for each in pairs) == OF_USERS.get(name, 1)


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_has_a_scene(name: str) -> None:
    hypotheses = class_from_name(name)
    scene = Scene.of(hypotheses)
    assert hypotheses.contains(scene.points)
    assert (hypotheses.first_rule().evaluate(scene.points) == scene.labels).all()
    assert not scene.labels[0]
    pair = scene.pair("p", (0, True), (0, False), [(1, True), (-1, False)])
    assert pair.y[0].tolist() == [1, 1 - scene.labels[1], scene.labels[-1]]
    assert pair.y[1][0] == 0


def test_a_class_with_one_point_has_no_scene() -> None:
    table = Table(("never", "always"), 1, (bytes([0]), bytes([128])), 1)
    with pytest.raises(NoStreams, match="no two points"):
        Scene.of(table)


def test_a_learner_that_waits_too_long_is_refused_in_a_sentence() -> None:
    learner = small_learner("sparse")
    slow = replace(learner.parameters, trigger_threshold=EXAMPLES_MAX + 1)
    with pytest.raises(NoStreams, match="learner sparse publishes its first rule after more than"):
        stream_pairs(replace(learner, parameters=slow))


def test_a_learner_whose_warm_up_takes_too_long_is_refused_in_a_sentence() -> None:
    learner = small_learner("memory")
    ends = (5, EXAMPLES_MAX + 1)
    slow = replace(learner.parameters, horizon=2 * EXAMPLES_MAX, warmup_ends=ends)
    with pytest.raises(NoStreams, match="learner memory ends its warm-up after more than 16,384"):
        stream_pairs(replace(learner, parameters=slow))


@pytest.mark.parametrize("name", ["fresh-warmup", "memory"])
def test_a_warm_up_is_tried_in_its_first_epoch_and_its_trigger_behind_it(name: str) -> None:
    learner = small_learner(name)
    first, last = learner.parameters.warmup_ends[0], learner.parameters.warmup_ends[-1]
    always = learner.hypotheses.first_rule()
    tried, behind = [], []
    for pair in stream_pairs(learner)[1]:
        x, y = pair.x, pair.y
        (differs,) = np.flatnonzero((x[0] != x[1]).reshape(len(y[0]), -1).any(1) | (y[0] != y[1]))
        if len(y[0]) == first:
            tried.append(int(y[0].sum()))
            continue
        behind.append(differs)
        for side in (0, 1):
            assert (always.evaluate(x[side][:last]) == y[side][:last]).all()
    assert {first // 2, first} < set(tried)
    assert min(behind) == last
    assert len(set(behind)) > 1


def test_a_trigger_is_tried_by_a_mistake_right_before_it_would_fire() -> None:
    learner = small_learner("fresh")
    _, pairs = stream_pairs(learner)
    threshold = learner.parameters.trigger_threshold
    late = [pair for pair in pairs if pair.name.endswith("the last or none")]
    places = [int(np.flatnonzero(pair.y[0] != pair.y[1])[0]) for pair in late]
    assert threshold - 1 in places
    assert all(pair.y[0][: place + 1].all() for pair, place in zip(late, places, strict=True))


def test_streams_follow_the_parameters() -> None:
    learner = small_learner("fresh")
    other = replace(learner, parameters=replace(learner.parameters, trigger_threshold=9))
    names = {pair.name for pair in stream_pairs(other)[1]}
    assert names != {pair.name for pair in stream_pairs(learner)[1]}
