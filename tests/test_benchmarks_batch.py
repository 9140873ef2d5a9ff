"""The benchmark of windows: its laws are what they say, and it runs from end to end."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.batch import __main__ as command
from benchmarks.batch.flights import FlightRow, errors_of
from benchmarks.batch.laws import LAWS, Law
from benchmarks.batch.windows import WindowRow, least_window
from littled.classes.names import class_from_name
from littled_protocol.rules import AffineRule, PointsRule, PrefixRule, Rule, ThresholdRule


def target_rule(law: Law, target: object) -> Rule:
    """The target as a rule of the protocol."""
    kind, _, _ = law.class_name.partition(":")
    if kind == "thresholds":
        assert isinstance(target, int)
        return ThresholdRule(256, target)
    if kind == "points":
        assert isinstance(target, int)
        return PointsRule(64, (target,))
    if kind == "prefixes":
        assert isinstance(target, int)
        return PrefixRule(128, target >> 24, 40)
    assert isinstance(target, tuple)
    offset, *basis = target
    hypotheses = class_from_name(law.class_name)
    points = np.array([offset, *(offset ^ vector for vector in basis)], dtype=np.uint64)
    rule = hypotheses.empirical_rule(points, np.ones(len(points), dtype=np.uint8))
    assert isinstance(rule, AffineRule)
    return rule


@pytest.mark.parametrize("law", [law for laws in LAWS.values() for law in laws])
def test_labels_are_those_of_the_target_which_has_no_error(law: Law) -> None:
    target, sample = law.draw(np.random.default_rng(1), 2000)
    rule = target_rule(law, target)
    np.testing.assert_array_equal(rule.evaluate(sample.x), sample.y)
    assert law.error(target, rule) == 0
    nothing = class_from_name(law.class_name).first_rule()
    measured = float(np.mean(nothing.evaluate(sample.x) != sample.y))
    assert law.error(target, nothing) == pytest.approx(measured, abs=0.05)


def test_the_least_window_of_a_class_is_found() -> None:
    row = least_window(("thresholds:256", "dense", 20))
    assert row.window is not None
    assert 60 < row.window < 200
    assert (row.proven, row.estimated) == (400, 118)


def test_errors_of_all_thresholds_are_counted_at_once() -> None:
    x = np.array([3, 5, 5, 9], dtype=np.uint8)
    y = np.array([0, 1, 0, 1], dtype=np.uint8)
    errors = errors_of(x, y)
    for threshold in range(12):
        assert errors[threshold] == np.count_nonzero((x >= threshold) != y)


def test_the_report_has_a_row_for_each_figure(tmp_path: Path) -> None:
    windows = [WindowRow("points:64", "histogram", 589, 0, 28, 713.0, 713.0)]
    flights = [FlightRow(300, 5, 0.115, 0.179, 0.107, 0.099)]
    report = command.markdown(windows, flights, 100)
    assert "| points:64 | histogram | 589 | - | 713 | 713 |" in report
    assert "| 300 | 11.5 | 17.9 | 10.7 | 9.9 |" in report
    assert command.parsed_arguments(["--quick"]).runs == command.QUICK_RUNS
