"""Models of time and memory grow with what they model, and no training takes more than they say."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.learners.contract import CallAdmitted, Place
from littled.learners.online.buffer import Buffer
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.selections.teachers import examples_of_one_teacher
from littled.mechanisms.noise import KeyedNoise
from littled.planner import OnlinePlan, OnlineRequest, StreamRequest, plan_stream
from littled.planner.online.costs import (
    retrain_memory_bytes,
    retrain_seconds,
)
from littled_protocol.columns import point_type
from littled_protocol.rules import AffineRule, Rule, Words
from support.learning import HEAD
from support.memory import peak_bytes

pytestmark = pytest.mark.long


def plan(name: str, teachers: int | None = None) -> OnlinePlan:
    learner = OnlineRequest("l", class_from_name(name), teachers=teachers)
    asked = StreamRequest("s", Fraction(2), Fraction(1, 10**6), 10**5, (learner,))
    return plan_stream(asked).of(OnlinePlan)[0]


def test_costs_grow_with_rules_teachers_and_candidates() -> None:
    for small, large in (
        (plan("thresholds:8"), plan("thresholds:50000")),
        (plan("points:16", 30), plan("points:16", 300)),
        (plan("prefixes:8"), plan("prefixes:64")),
    ):
        assert retrain_seconds(small) < retrain_seconds(large)
        assert retrain_memory_bytes(small) < retrain_memory_bytes(large)


def test_examples_kept_are_counted() -> None:
    found = plan("prefixes:32")
    more = replace(found.parameters, background_max=2 * found.parameters.background_max)
    assert retrain_memory_bytes(replace(found, parameters=more)) > retrain_memory_bytes(found)


# -- memory against what is really taken ---------------------------------------------------------


def different_points(hypotheses: HypothesisClass, count: int) -> NDArray[Any]:
    """Points at random, nearly all of them different where there are so many."""
    rng = np.random.default_rng(1)
    kind = point_type(hypotheses.point_type)
    if kind.name == "u128":
        return rng.integers(0, 2**64, (count, 2), dtype=np.uint64)
    buckets = getattr(hypotheses, "buckets", None)
    if buckets:
        return rng.integers(0, buckets, (count, kind.columns), dtype=kind.dtype)
    bits = getattr(hypotheses, "bits", None)
    most = getattr(hypotheses, "size", 1 << min(bits or 64, 63))
    return rng.integers(0, most, count, dtype=np.uint64).astype(kind.dtype)


@pytest.mark.parametrize("epochs", [1, 12])
@pytest.mark.parametrize(
    "name",
    [
        *("points:128", "sparse_sets:64:4", "sparse_sets:128:256", "prefixes:128", "stumps:16:64"),
        *("conjunctions:128", "conjunctions:16", "conjunctions:8", "affine:128:8", "affine:64:64"),
    ],
)
def test_no_essential_list_takes_more_memory_than_the_model(name: str, epochs: int) -> None:
    hypotheses, count = class_from_name(name), 600
    x, spaces = different_points(hypotheses, count), needed(hypotheses.version_spaces)
    cuts = np.linspace(0, count, epochs + 1).astype(int).tolist()
    worst = 0
    for share in (1.0, 0.5, 0.05):
        y = (np.random.default_rng(2).random(count) < share).astype(np.uint8)
        data = [(x[a:b], y[a:b]) for a, b in pairwise(cuts)]
        listing = partial(spaces.essential_list, data, Fraction(1, 12), 256)
        spaces.essential_list(data[:1], Fraction(1, 12), 4)  # what is made once for all
        # the lesser of two, as a collection of garbage may be due in one of them
        worst = max(worst, min(peak_bytes(listing) for _ in range(2)))
    assert worst <= spaces.space_bytes(count, epochs)


@pytest.mark.parametrize("name", ["affine:64:8", "affine:128:64", "conjunctions:128"])
@pytest.mark.parametrize("teachers", [None, 700, 40])
def test_no_closures_take_more_memory_than_the_model(name: str, teachers: int | None) -> None:
    hypotheses, count = class_from_name(name), 2000
    x, y = different_points(hypotheses, count), np.ones(count, dtype=np.uint8)
    numbers = None if teachers is None else np.arange(count) % teachers
    rules: list[Rule] = [hypotheses.first_rule()]
    if name.startswith("affine"):
        bits, dimension = (int(each) for each in name.split(":")[1:])
        # half of the basis published, or nearly all of it: every teacher starts from a copy
        rules += [
            AffineRule(bits, tuple(1 << bits - 1 - i for i in range(vectors)), 0)
            for vectors in (dimension // 2, dimension - 1)
        ]
    parameters = replace(
        FRESH, teachers=teachers, background_max=count, selection="closure", list_cap=1
    )
    model = retrain_memory_bytes(OnlinePlan("l", hypotheses, parameters, Words()))
    for rule in rules:
        closed = needed(hypotheses.intersection_closed)
        closed.closures(x[:50], y[:50], None, rule)
        taken = peak_bytes(partial(closed.closures, x, y, numbers, rule))
        assert taken <= model


FRESH = OnlineParameters(
    epsilon=Fraction(1),
    horizon=10**6,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1, 2),
    trigger_threshold=20,
    selection="sparse",
    selection_rate=Fraction(1, 4),
    selection_accounting="pure",
    draws=1,
    calls_max=2,
    buffer="examples",
    background_max=4000,
    list_cap=129,
    bottom_score=60,
    fresh=True,
)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("prefixes:128", {}),
        ("affine:64:8", {"selection": "closure", "list_cap": 1}),
        ("sparse_sets:128:32", {"teachers": 40, "fresh": False, "list_cap": 64}),
        ("points:128", {"teachers": 400, "fresh": False, "list_cap": 64}),
        ("conjunctions:64", {"teachers": 4, "fresh": False, "list_cap": 64}),
    ],
)
def test_no_training_takes_more_memory_than_the_model(name: str, changes: dict[str, Any]) -> None:
    hypotheses = class_from_name(name)
    made = OnlinePlan("l", hypotheses, replace(FRESH, **changes), Words())
    learner, noise = made.learner("s"), KeyedNoise(bytes(32))
    state = learner.initial()
    x = different_points(hypotheses, 4000)
    y = (np.arange(4000) % 3 > 0).astype(np.uint8)
    words = np.random.default_rng(3).integers(0, 2**64, (2, 4000), dtype=np.uint64)
    place = Place(HEAD, 0, len(y) - 1)
    before = replace(state, buffer=Buffer(x, y, y == 1, words[0], words[1]))
    taken = peak_bytes(lambda: learner.step(before, CallAdmitted(place), noise))
    assert taken <= retrain_memory_bytes(made)


def test_secret_words_share_examples_out_about_evenly() -> None:
    rng = np.random.default_rng(5)
    for count, teachers in ((10_000, 7), (10_000, 10_000), (300, 2), (5, 40), (0, 3)):
        fullest = np.bincount(rng.integers(0, teachers, count), minlength=teachers).max()
        bound = examples_of_one_teacher(count, teachers)
        assert fullest <= bound <= count
    assert examples_of_one_teacher(10**6, 1) == 10**6
    assert examples_of_one_teacher(10**6, 100) == 10**4 + 10 * 100 + 100
