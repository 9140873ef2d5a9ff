"""Heuristics of windows: figures that runs have shown, and where they turn."""

from fractions import Fraction

import pytest

from littled.classes.names import class_from_name
from littled.planner.batch.estimates import (
    chunks_expected,
    closure_named,
    dense_expected,
    listed_chance,
    lists_expected,
    proposals_expected,
)

HALF, NONE = Fraction(1, 2), Fraction(0)


def test_a_threshold_is_expected_to_need_about_as_many_examples_as_runs_show() -> None:
    """118; the benchmark finds 124 on a worse law."""
    assert (
        dense_expected(1, 118, 0.05, HALF, NONE) <= 0.1 < dense_expected(1, 116, 0.05, HALF, NONE)
    )
    assert dense_expected(3, 118, 0.05, HALF, NONE) > 0.5


def test_a_prefix_needs_enough_positive_examples_to_outweigh_bottom() -> None:
    many, few = (
        proposals_expected(129, 505, 0.05, HALF, 39, NONE, positives) for positives in (0.3, 0.1)
    )
    assert many < 0.01 < few < 0.1


def test_chunks_have_to_outweigh_bottom_and_each_other() -> None:
    assert chunks_expected(29, 1.0, HALF, 29) == 1.0
    assert chunks_expected(60, 0.9, HALF, 29) < 0.001
    assert chunks_expected(60, 0.5, HALF, 29, others_say_nothing=True) > 0.4


def test_a_closure_needs_as_many_positive_examples_as_its_class_says() -> None:
    affine = class_from_name("affine:64:8")
    assert closure_named(affine, 12, 1.0) == pytest.approx(0)
    assert closure_named(affine, 13, 1.0) == pytest.approx(1)
    assert 0.4 < closure_named(affine, 42, 0.3) < 0.6


def test_lists_hold_the_target_where_a_chunk_has_seen_enough_of_it() -> None:
    assert listed_chance(class_from_name("thresholds:256"), 1, 0.1) == 1.0
    assert listed_chance(class_from_name("points:64"), 5, 0.1) == pytest.approx(1 - 0.9**5)
    sets = listed_chance(class_from_name("sparse_sets:64:2"), 5, 0.2)
    assert sets == pytest.approx((1 - 0.9**5) ** 2)


def test_rules_that_are_far_from_the_target_are_on_few_lists() -> None:
    assert lists_expected(1, 60, 2, 0.05, HALF) < 0.15
    assert lists_expected(1, 60, 1, 0.05, HALF) > lists_expected(1, 60, 3, 0.05, HALF)
    # beyond all shells nothing is left, or all is
    assert lists_expected(1, 60, 3, 0.9999, HALF) == 0.0
