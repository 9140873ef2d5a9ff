"""The learning benchmark's streams and baselines: what they promise, on small examples."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.learning import __main__ as command
from benchmarks.learning import baselines, finite, measuring, report, runs, soa, streams
from littled.budget.conversion import epsilon_of_rho
from littled.classes.capabilities import needed
from littled_protocol.rules import (
    AffineRule,
    ConjunctionRule,
    PointsRule,
    PrefixRule,
    Rule,
    StumpRule,
    ThresholdRule,
)

CLASSES = measuring.CLASSES
SMALL_FINITE = ("thresholds:20", "points:8", "stumps:3:5", "conjunctions:4", "table:12x9")
HORIZON = 2000


def rule_of(stream: Any) -> Rule:
    """The target as a rule of the protocol."""
    family, numbers = streams.parsed(stream.class_name)
    return RULES[family](stream.target, numbers)


def affine_rule(target: Any, numbers: tuple[int, ...]) -> Rule:
    offset, basis = streams.canonical_subspace(target.offset, target.basis)
    return AffineRule(bits=numbers[0], basis=basis, offset=offset)


def prefix_rule(target: Any, numbers: tuple[int, ...]) -> Rule:
    value = (target.anchor[0] << 64 | target.anchor[1]) >> (128 - target.length)
    return PrefixRule(bits=128, value=value, length=target.length)


def stump_rule(target: Any, numbers: tuple[int, ...]) -> Rule:
    features, buckets = numbers
    return StumpRule(features, buckets, target.feature, target.threshold, target.at_least)


def table_rule(target: Any, numbers: tuple[int, ...]) -> Rule:
    rows = streams.table_matrix(*numbers)
    number = int((rows == target.row).all(axis=1).argmax())
    return needed(runs.hypotheses_of(f"table:{numbers[0]}x{numbers[1]}").dense).rule(number)


RULES: dict[str, Callable[[Any, tuple[int, ...]], Rule]] = {
    "thresholds": lambda target, numbers: ThresholdRule(numbers[0], target.threshold),
    "points": lambda target, numbers: PointsRule(numbers[0], target.members),
    "sparse_sets": lambda target, numbers: PointsRule(numbers[0], tuple(sorted(target.members))),
    "prefixes": prefix_rule,
    "affine": affine_rule,
    "stumps": stump_rule,
    "conjunctions": lambda target, numbers: ConjunctionRule(
        bits=numbers[0], ones=target.values, zeros=target.mask & ~target.values
    ),
    "table": table_rule,
}


# --- Streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", streams.KINDS)
@pytest.mark.parametrize("name", CLASSES)
def test_streams_are_what_a_rule_of_the_protocol_says(name: str, kind: streams.Usual) -> None:
    stream = streams.make_stream(name, kind, HORIZON, seed=3)
    rule = rule_of(stream)
    assert rule.x_type == stream.x_type
    assert len(stream) == len(stream.x) == HORIZON
    np.testing.assert_array_equal(rule.evaluate(stream.x), stream.y)


@pytest.mark.parametrize("name", CLASSES)
def test_streams_repeat_with_their_seed_only(name: str) -> None:
    first, again, other = (
        streams.make_stream(name, "uniform", HORIZON, seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.x, again.x)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.x, other.x)


@pytest.mark.parametrize("name", [each for each in CLASSES if not each.startswith(("p", "sp"))])
def test_both_labels_have_a_fair_share(name: str) -> None:
    shares = [streams.make_stream(name, "uniform", HORIZON, seed).y.mean() for seed in range(4)]
    assert all(0.2 < share < 0.8 for share in shares)


def test_affine_positives_climb_a_chain_of_subspaces() -> None:
    stream = streams.make_stream("affine:64:8", "adversarial", 9000, seed=5)
    assert len(stream.phases) == 9
    for phase, first in enumerate(stream.phases):
        part = slice(0, first + 1000)
        positives = [int(each) for each in stream.x[part][stream.y[part] == 1]]
        directions = [each ^ positives[0] for each in positives]
        assert len(streams.reduced_basis(directions)) == phase


def test_conjunctions_lose_one_literal_a_phase() -> None:
    stream = streams.make_stream("conjunctions:64", "adversarial", 20_000, seed=5)
    ends = [*stream.phases[1:], len(stream)]
    for phase, end in enumerate(ends):
        positives = stream.x[:end][stream.y[:end] == 1]
        varied = np.bitwise_or.reduce(positives) ^ np.bitwise_and.reduce(positives)
        assert int(varied).bit_count() == phase


@pytest.mark.parametrize("name", ["thresholds:256", "stumps:16:64", "table:1000x500"])
def test_bisection_leaves_no_rule_but_the_target_on_the_points_shown(name: str) -> None:
    stream = streams.make_stream(name, "adversarial", HORIZON, seed=7)
    rules = finite.finite_class(stream)
    groups = len(rules.losses(rules.cells[:0], stream.y[:0]))
    left = []
    for end in [*stream.phases[1:], len(stream)]:
        losses = rules.losses(rules.cells[:end], stream.y[:end])
        left.append(int((losses == 0).sum()))
    assert all(
        2 * after <= before + 1 for before, after in zip([groups, *left], left, strict=False)
    )


def test_sparse_sets_reveal_one_member_a_phase() -> None:
    stream = streams.make_stream("sparse_sets:64:4", "adversarial", 8000, seed=1)
    seen = [len(np.unique(stream.x[:end][stream.y[:end] == 1])) for end in (2000, 4000, 6000, 8000)]
    assert seen == [1, 2, 3, 4]


def test_bursts_follow_zipf_and_come_in_runs() -> None:
    drawn = streams.zipf_bursts(100, 200_000, np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=100)
    assert counts[0] > 3 * counts[50] > 0
    near = (drawn[1:] == drawn[:-1]).mean()
    far = (drawn[50_000:] == drawn[:-50_000]).mean()
    assert near > 5 * far


# --- Finite classes and the standard optimal algorithm --------------------------------------------


@pytest.mark.parametrize("name", SMALL_FINITE)
def test_losses_count_the_errors_of_every_rule(name: str) -> None:
    stream = streams.make_stream(name, "uniform", 300, seed=2)
    y = np.random.default_rng(0).integers(0, 2, 300).astype(np.uint8)
    rules = finite.finite_class(stream)
    losses = rules.losses(rules.cells, y)
    said = np.array([rules.labels(group, rules.cells) for group in range(len(losses))])
    np.testing.assert_array_equal(losses, (said != y).sum(axis=1))
    sizes = np.zeros(len(losses)) if rules.log_sizes is None else rules.log_sizes
    assert math.log(np.exp(sizes).sum()) == pytest.approx(rules.log_count, abs=0.005)
    target = (said == stream.y).all(axis=1)
    assert target.any()


def test_rules_are_drawn_by_their_weights() -> None:
    stream = streams.make_stream("thresholds:20", "uniform", 10, seed=2)
    rules, rng = finite.finite_class(stream), np.random.default_rng(1)
    losses = np.arange(21)
    counts = np.bincount([rules.drawn(losses, 0.5, rng) for _ in range(5000)], minlength=21)
    expected = np.exp(-0.5 * losses)
    expected *= 5000 / expected.sum()
    assert ((counts - expected) ** 2 / (expected + 1)).sum() < 60


def test_darts_have_the_law_of_the_present_weights() -> None:
    stream = streams.make_stream("thresholds:20", "uniform", 60, seed=2)
    rules, rng = finite.finite_class(stream), np.random.default_rng(1)
    expected = np.exp(-0.1 * rules.losses(rules.cells, stream.y))
    counts = np.zeros(21)
    for _ in range(2000):
        darts = baselines._Darts(rules, stream.y, 0.1, rng)
        darts.thrown(30)
        counts[darts.thrown(60)] += 1
    expected *= counts.sum() / expected.sum()
    assert ((counts - expected) ** 2 / (expected + 1)).sum() < 60


DIMENSIONS = {
    "thresholds:256": 8,
    "thresholds:65536": 16,
    "points:64": 1,
    "prefixes:128": 8,
    "sparse_sets:64:4": 4,
    "affine:64:8": 9,
    "stumps:16:64": 10,
    "conjunctions:10": 11,
    "conjunctions:64": 65,
    "table:1000x500": 9,
}


@pytest.mark.parametrize("name", CLASSES)
def test_the_standard_optimal_algorithm_errs_at_most_d_times(name: str) -> None:
    for kind in streams.KINDS:
        for seed in range(3):
            stream = streams.make_stream(name, kind, HORIZON, seed)
            assert len(soa.lazy_mistakes(stream)) <= DIMENSIONS[name]


# --- Baselines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("log_count", [math.log(257), 64 * math.log(2)])
def test_expert_baselines_keep_their_promise(log_count: float) -> None:
    """Costs as in the docstrings, converted exactly, within (1, 1e-6)."""
    plan = baselines.sparse_vector_plan(log_count, 10**6)
    rho = Fraction(plan.draws * plan.rate**2 / 2) * Fraction(999_999, 10**6)
    assert Fraction(1, 2) + epsilon_of_rho(rho, baselines.DELTA) <= baselines.EPSILON
    darts = baselines.dartboard_plan(log_count, 10**6)
    redrawn = (darts.redraw + darts.step * (1 - darts.redraw)) / darts.redraw
    kept = max(math.log(redrawn), -math.log(1 - darts.step))
    rho = Fraction(darts.draws * math.log(1 - darts.step) ** 2 / 2)
    spent = kept + float(epsilon_of_rho(rho, baselines.DELTA))
    assert 0.98 < spent <= 1 + 1e-9
    assert darts.draws > 10**6 * darts.redraw


def test_gaussian_noise_is_just_enough() -> None:
    """Delta of a Gaussian mechanism by numerical integration of its hockey-stick divergence."""
    for factor, enough in ((1.001, True), (0.99, False)):
        s = baselines.gaussian_deviation(1.0, 1e-6) * factor
        z = np.linspace(-12 * s, 12 * s, 400_001)
        p, q = np.exp(-((z - 1) ** 2) / (2 * s * s)), np.exp(-(z**2) / (2 * s * s))
        delta = np.maximum(0, p - math.e * q).sum() * (z[1] - z[0]) / (s * math.sqrt(2 * math.pi))
        assert (delta <= 1e-6) == enough


def test_a_single_id_is_hardly_ever_released() -> None:
    """The tail of the Laplace noise above the threshold, and that two agree far above it."""
    threshold = 1 + 2 * math.log(1e6)
    assert math.exp(-(threshold - 1) / 2) / 2 <= float(baselines.DELTA) / 2 * (1 + 1e-9)
    rng = np.random.default_rng(0)
    noisy = baselines.noisy_counts(np.array([0, 1, 100, 5] * 1000), 1.0, rng).reshape(-1, 4)
    assert not np.isfinite(noisy[:, [0, 1, 3]]).any()
    assert np.isfinite(noisy[:, 2]).all()


def test_trials_give_enough_successes() -> None:
    trials = baselines._trials(10, 0.05)
    few = [sum(math.comb(n, k) for k in range(10)) / 2**n for n in (trials - 1, trials)]
    assert few[0] > 0.05 >= few[1]


def test_occurrences_are_counted_in_order() -> None:
    assert baselines._occurrence(np.array([4, 2, 4, 4, 2])).tolist() == [1, 1, 2, 3, 2]


@pytest.mark.parametrize("name", ["affine:8:3", "conjunctions:8", "prefixes:128"])
def test_teachers_vote_for_the_smallest_rule_around_their_points(name: str) -> None:
    """It holds the points; with enough of the target's points it is the target."""
    stream = streams.make_stream(name, "uniform", 400, seed=3)
    around = baselines._AROUND[streams.parsed(name)[0]]
    positives = stream.x[stream.y == 1]
    half = around(positives[:3], None)
    whole = around(positives[3:], half)
    assert half.labels(positives[:3]).all()
    np.testing.assert_array_equal(whole.labels(stream.x), stream.y)
    assert whole == around(positives, None)


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_has_a_private_baseline_and_all_of_them_run(name: str) -> None:
    stream = streams.make_stream(name, "uniform", 3000, seed=1)
    applied = runs.applicable(name)
    assert len(applied) >= 2
    for baseline in applied:
        run = runs.run_baseline(stream, baseline, baseline.variants(name)[-1])
        assert run.mistakes == run.timeline[-1] <= len(stream)
        assert run.publications >= 1
        again = runs.run_baseline(stream, baseline, run.variant)
        assert (again.mistakes, again.timeline) == (run.mistakes, run.timeline)


def test_mistakes_are_where_they_are_counted() -> None:
    """Every position of the exponential mechanism's and the histogram's mistakes, once each."""
    stream = streams.make_stream("points:64", "adversarial", 20_000, seed=1)
    by_name = {baseline.name: baseline for baseline in baselines.BASELINES}
    variants: dict[str, dict[str, float | str]] = {
        "histogram": {"every": 1000},
        "exponential": {"every": 3000, "data": "fresh"},
    }
    for name, variant in variants.items():
        wrong = by_name[name].run(stream, variant, np.random.default_rng(0)).positions
        assert (np.diff(wrong) > 0).all()
        assert 0 < len(wrong) < stream.y.sum() + 1


# --- The whole ------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_small_run_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--classes thresholds:256 --kinds uniform --seeds 2 --horizon 4000 --jobs 1"
    arguments = command.parsed_arguments([*options.split(), "--output", str(tmp_path)])
    arguments.tuning_seeds = 1
    found, facts = measuring.measure(arguments)
    one = ("littled", "independent", "users", "soa", "realizable-experts", "dartboard")
    tuned = ("exponential", "doubling", "gradient")
    assert Counter((run.method, run.told) for run in found) == {
        **{(method, False): 2 for method in (*one, *tuned)},
        **{(method, True): 2 for method in tuned},
    }
    command.write(found, facts, arguments.horizon, tmp_path)
    table = (tmp_path / "learning.md").read_text()
    assert table.count("| thresholds:256 | 8 | uniform |") == 2
    assert "dense, scheduled from" in table
    assert "| littled, users |" in table
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == len(found)
    assert "igures" in capsys.readouterr().out


def test_one_setting_is_chosen_by_its_worst_kind_and_others_by_their_own() -> None:
    """Variant 0 is best on uniform streams, 2 on clustered ones; 1 is bad on neither."""
    found: dict[tuple[str, str], dict[int, dict[streams.Kind, list[int]]]] = {
        ("affine:64:8", "aggregate"): {
            0: {"uniform": [10, 20], "clustered": [900, 1000]},
            1: {"uniform": [90, 110], "clustered": [100, 120]},
            2: {"uniform": [200, 200], "clustered": [50, 60]},
        }
    }
    (baseline,) = (each for each in baselines.BASELINES if each.name == "aggregate")
    variants = baseline.variants("affine:64:8")
    cases: list[tuple[list[streams.Kind], int]] = [
        (["uniform"], 0),
        (["clustered"], 2),
        (["uniform", "clustered"], 1),
    ]
    for kinds, number in cases:
        chosen = measuring.best_variants("affine:64:8", found, kinds)
        assert chosen == {"soa": {}, "aggregate": variants[number]}


def test_the_report_compares_each_setting_with_its_own() -> None:
    def run(method: str, mistakes: int, kind: streams.Kind = "uniform", told: bool = False) -> Any:
        return runs.Run(
            "points:64", kind, 0, method, {"every": mistakes} if method == "histogram" else {},
            mistakes, 1, 0.0, {}, (), (1,), told,
        )  # fmt: skip

    found = report.figures(
        [
            run("littled", 70), run("independent", 50), run("histogram", 80),
            run("histogram", 45, told=True), run("littled", 90, "clustered"),
            run("histogram", 85, "clustered"), run("histogram", 60, "clustered", told=True),
        ]
    )  # fmt: skip
    plans = {method: {"selection": "x", "schedule_first": None} for method in runs.WAYS}
    facts = [report.ClassFacts("points:64", 1, plans, "")]
    beaten = report.markdown(found, facts, 1000).partition("## Where")[2].partition("## What")[0]
    assert "points:64, clustered: stable histogram of mistakes, 85 against 90" in beaten
    assert "points:64, uniform: stable histogram of mistakes, 45 against 50" in beaten
    assert beaten.count("against") == 4  # two of them in the headings


@pytest.mark.parametrize(
    "method",
    [pytest.param(way, marks=[pytest.mark.long] * (way == "littled")) for way in runs.WAYS],
)
def test_littleds_run_is_consistent(method: str) -> None:
    stream = streams.make_stream("thresholds:256", "uniform", 5000, seed=1)
    users = runs.users_of(5000, 10, seed=1) if method == "users" else None
    run = runs.run_littled(stream, runs.plan_for("thresholds:256", 5000, method), method, users)
    assert run.method == method
    assert run.mistakes == run.timeline[-1]
    assert len(run.retrains) >= run.publications - 1
    assert all(0 <= share <= 1 for share in run.spent.values())


def test_p95_is_the_smallest_value_that_95_percent_reach() -> None:
    def run(mistakes: int) -> Any:
        return runs.Run("thresholds:256", "uniform", 0, "soa", {}, mistakes, 1, 0.0, {}, (), (1,))

    (figures,) = report.figures(run(number) for number in range(1, 21))
    assert (figures.mistakes_p95, figures.mistakes_median, figures.mistakes_max) == (19, 10.5, 20)


def test_unknown_classes_are_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.parsed_arguments(["--classes", "lines:3"])
    assert "there are no streams for the class 'lines:3'" in capsys.readouterr().err


def test_pairs_of_points_span_what_they_should() -> None:
    """Reduced bases are equal for equal spans, whatever generates them."""
    rng = np.random.default_rng(4)
    vectors = [int(each) for each in rng.integers(1, 256, 4)]
    basis = streams.reduced_basis(vectors)
    for a, b in combinations(range(4), 2):
        mixed = list(vectors)
        mixed[a] ^= mixed[b]
        assert streams.reduced_basis(mixed) == basis
