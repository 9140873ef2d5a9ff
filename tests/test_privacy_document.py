"""PRIVACY.md against the code: its worked example, its constants and its list of priced events."""

import re
from fractions import Fraction
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from littled.budget.conversion import guarantee
from littled.budget.events import (
    CohenLyuStageTest,
    CohenLyuTrigger,
    DenseSelection,
    PrecisionLoss,
    PredictionAnswersStability,
    PrivacyEvent,
    SparseSelection,
    TriggerSeason,
)
from littled.budget.price import Price
from littled.budget.prices import kappa_upper, price
from littled.budget.rounding import exp_upper, ln_upper
from littled.budget.unit import Unit
from littled.classes.capabilities import needed
from littled.classes.names import class_from_name
from littled.learners.online.chain_memory import ChainSettings
from littled.learners.online.selections.proposals import CANDIDATE_BYTES
from littled.mechanisms.above_threshold import AboveThreshold
from littled.mechanisms.cohen_lyu import CohenLyuTest
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.subset import BernoulliSubset
from littled.mechanisms.votes import PRECISION
from littled.planner import OnlineRequest, StreamPlan, StreamRequest, plan_stream
from littled.planner.capacity import MEMORY_BYTES_MAX, SNAPSHOT_BYTES_MAX
from littled.planner.online.sizes import CANDIDATES_MAX
from littled.ways import Asked
from oracle.budget.stability import stability

TEXT = (Path(__file__).parent.parent / "PRIVACY.md").read_text(encoding="utf-8")
# The class and the budget of the worked example in section 2.
HORIZON = 1_000_000
RULES = 257


def number(pattern: str) -> Fraction:
    """The one number in the text that stands where `pattern` has its group."""
    (found,) = re.findall(pattern, TEXT)
    return Fraction(found)


def one_line(pattern: str) -> str:
    """The one passage in which `pattern` finds its group, in one line."""
    (found,) = re.findall(pattern, TEXT, re.DOTALL)
    return " ".join(found.split())


@cache
def planned(selection: Asked) -> StreamPlan:
    """What the planner takes for the class and the budget of the worked example."""
    learner = OnlineRequest("l", class_from_name("thresholds:256"), selection=selection)
    return plan_stream(StreamRequest("s", Fraction(1), Fraction(1, 10**6), HORIZON, (learner,)))


def example(selection: Asked) -> str:
    """The part of the worked example that is about this plan, in one line."""
    default, _, dense = one_line(r"\*Example\.\*(.*?)\n\n").partition("With selection = dense")
    return default if selection == "auto" else dense.partition("`littled plan")[0]


@pytest.mark.parametrize("selection", ["auto", "dense"])
def test_the_worked_example_is_what_the_planner_takes(selection: Asked) -> None:
    stream, said = planned(selection), example(selection)
    (plan,) = stream.publishing
    parameters = plan.parameters
    assert needed(plan.hypotheses.dense).rule_count == RULES
    assert parameters.selection == ("chain" if selection == "auto" else "dense")
    assert parameters.fresh == (selection == "auto")
    assert "booked as pure" in said or parameters.selection_accounting == "zcdp"
    for words in (
        f"e_t = {parameters.trigger_rate},",
        f"e_s = {parameters.selection_rate},",
        f"R = {parameters.draws},",
        f"S = {1 if parameters.fresh else parameters.calls_max}",
        f"C = {parameters.calls_max:,}",
    ):
        assert words in said
    if stream.delta_z:
        assert f"delta_z = {stream.delta_z.numerator}/{stream.delta_z.denominator:,}" in said
    assert f"T = {HORIZON:,}" in example("auto")


@pytest.mark.parametrize("selection", ["auto", "dense"])
def test_the_worked_example_is_what_the_code_computes(selection: Asked) -> None:
    stream, said = planned(selection), example(selection)
    p = stream.publishing[0].parameters
    trigger, mechanism = AboveThreshold(p.trigger_rate), ExponentialMechanism(p.selection_rate)
    loss = PrecisionLoss(
        total_variation=trigger.precision_error(HORIZON)
        + p.calls_max * trigger.precision_error(0)
        + p.calls_max * mechanism.total_variation(RULES),
        epsilon=Fraction(1),
    )
    draw = DenseSelection(rate=p.selection_rate, draws=1, accounting=p.selection_accounting)
    selections = price(draw) * (1 if p.fresh else p.calls_max)
    caps = price(TriggerSeason(rate=p.trigger_rate)) + selections + price(loss)
    assert caps == stream.caps
    epsilon, delta = guarantee(caps, stream.delta_z)

    def number(pattern: str) -> Fraction:
        (found,) = re.findall(pattern, said)
        return Fraction(found)

    assert abs(caps.epsilon_pure - number(r"epsilon_pure = ([\d.]+), rho")) < Fraction(1, 10**6)
    assert 0 <= number(r"rho = ([\d.]+),") - caps.rho < Fraction(1, 10**6)
    if stream.delta_z:
        assert epsilon - caps.epsilon_pure < number(r"epsilon_z < (0\.\d+)")
    assert caps.delta < number(r"delta_p < (\S+), so")
    promised, failure = number(r"the season is \((\S+), "), number(r"season is \(\S+, (\S+)\)-DP")
    assert promised - Fraction(1, 10**4) < epsilon <= promised
    assert failure * Fraction(95, 100) < delta < failure


def test_the_worked_example_of_users_is_what_the_planner_takes_and_the_code_computes() -> None:
    said = one_line(r"\*For instance:\*(.*?)\n\n")
    (name,) = re.findall(r"for `(\S+)` at \(1, 1e-6\), T = 1,000,000 and c = 1 ", said)
    learner = OnlineRequest("l", class_from_name(name))
    budget = Fraction(1), Fraction(1, 10**6)
    stream = plan_stream(StreamRequest("s", *budget, HORIZON, (learner,), Unit(1)))
    p = stream.publishing[0].parameters
    assert "takes a fresh histogram, booked as pure," in said
    assert (p.selection, p.fresh, p.selection_accounting) == ("histogram", True, "pure")
    e_t, e_s, bottom = p.trigger_rate, p.selection_rate, p.bottom_score
    assert f"with e_t = {e_t}, e_s = {e_s} and B = {bottom}: " in said
    (pure,) = re.findall(r"epsilon_pure = 2 e_t \+ 2 e_s = (\S+),", said)
    assert Fraction(pure) == 2 * e_t + 2 * e_s == stream.caps.epsilon_pure
    trigger, selection, loss = stream.publishing[0].learner("s").season_events()
    assert price(trigger).epsilon_pure == 2 * e_t
    # B > c, and mistakes are kept: the user's can be in other epochs than the other one's
    ((sides, votes, failure),) = re.findall(
        r"delta_f = (\d) exp\(-(\d+) e_s\) / \(1 \+ exp\(-e_s\)\) < (\S+?)\.$", said
    )
    assert int(votes) == bottom - 1
    exact = int(sides) * exp_upper(-int(votes) * e_s) / (1 + exp_upper(-e_s))
    assert abs(price(selection).delta - exact) < Fraction(1, 10**20)
    assert Fraction(failure) * Fraction(99, 100) < price(selection).delta < Fraction(failure)
    assert price(selection).delta + price(loss).delta == stream.caps.delta


def test_the_worked_example_of_two_rates_is_what_the_planner_takes_and_the_code_computes() -> None:
    said = one_line(r"\*With two rates:\*(.*?)\n\n")
    takes = r"for `(\S+)` at the same budget it takes a chain with a public memory"
    (name,) = re.findall(takes, said)
    learner = OnlineRequest("l", class_from_name(name))
    budget = Fraction(1), Fraction(1, 10**6)
    stream = plan_stream(StreamRequest("s", *budget, HORIZON, (learner,), Unit(1)))
    p = stream.publishing[0].parameters
    assert (p.selection, p.fresh, p.selection_accounting) == ("chain", True, "pure")
    assert isinstance(p.memory, ChainSettings)
    e_t, e_r, e_s = p.trigger_rate, p.threshold_rate, p.selection_rate
    assert f"with e_t = {e_t}, e_r = {e_r} and e_s = {e_s}: " in said
    (pure,) = re.findall(r"epsilon_pure = e_r \+ e_t \+ 2 e_s = (\S+),", said)
    assert Fraction(pure) == e_r + e_t + 2 * e_s == stream.caps.epsilon_pure
    trigger, selection, loss = stream.publishing[0].learner("s").season_events()
    assert price(trigger).epsilon_pure == e_r + e_t
    assert price(selection) == Price(2 * e_s, Fraction(0), Fraction(0))
    assert price(loss).delta == stream.caps.delta


def test_each_row_of_a_selection_names_what_such_a_learner_is_charged() -> None:
    """Also of fresh learners of every way: what they are charged once, and at each call."""
    rows = [line for line in TEXT.splitlines() if line.startswith("| the rule after a call")]
    fresh, remembering = [
        [row for row in rows if ("*fresh*" in row) == each] for each in (True, False)
    ]
    assert len(fresh) == 1
    assert all("learner that remembers" in row for row in remembering)
    for name, selection in (
        ("thresholds:256", "fresh"),
        ("thresholds:256", "dense"),
        ("prefixes:32", "sparse"),
        ("affine:32:4", "closure"),
        ("points:32", "histogram"),
    ):
        learner = OnlineRequest("l", class_from_name(name), selection=selection)  # type: ignore[arg-type]
        stream = StreamRequest("s", Fraction(1), Fraction(1, 10**6), HORIZON, (learner,))
        (plan,) = plan_stream(stream).publishing
        once = {event.name for event in plan.learner("s").season_events()}
        call = plan.learner("s").call_event().name
        if plan.parameters.fresh:
            (paid,) = (each for each in once if each.endswith("_selection"))
            assert f"`{paid}`" in fresh[0].partition(", once a season")[0]
            assert f"`{call}`, each call" in fresh[0]
        else:
            assert any(f"`{call}`, each call" in row for row in remembering)


def test_every_kind_of_event_has_a_row_in_the_table_of_prices() -> None:
    table = TEXT.partition("## 3.")[2].partition("## 4.")[0]
    kinds = {
        kind.name
        for kind in PrivacyEvent.__subclasses__()
        if kind.__module__.startswith("littled.")
    }
    assert set(re.findall(r"`([a-z]+_[a-z_]+)`", table)) - {"stage_rate"} == kinds


def test_the_failure_mass_is_the_one_of_lemma_b() -> None:
    assert "delta_1      = min(1, L exp(e_s (1 - B)))" in TEXT
    event = SparseSelection(
        rate=Fraction(1, 2), list_cap=3, bottom_score=41, draws=1, accounting="zcdp"
    )
    # 3 exp(-20) = 6.18346e-9
    assert Fraction("6.18346e-9") < price(event).delta < Fraction("6.18347e-9")
    assert price(event).rho == Fraction(1, 8)


def test_fresh_noise_costs_what_lemma_d_says() -> None:
    assert "kappa(e)     = e / ln(1 + exp(-e))" in TEXT
    assert "max(e_t, kappa(e_t) ln(1/f))" in TEXT
    assert "e_g + kappa(e_g) ln(1/f)" in TEXT
    rate = number(r"Fresh noise is dear: with e_t = (\d+/\d+) and")
    (written,) = re.findall(r"f = 1/([0-9,]+), kappa", TEXT)
    failure = Fraction(1, int(written.replace(",", "")))
    said = " ".join(TEXT.split())
    (kappa,) = re.findall(r"kappa\(e_t\) is (0\.\d+)", said)
    (epsilon,) = re.findall(r"p_t is (\d\.\d+) instead of 0\.1", said)
    tiny = Fraction(1, 10**6)
    assert Fraction(kappa) - tiny < kappa_upper(rate) <= Fraction(kappa)
    trigger = price(CohenLyuTrigger(rate, failure))
    assert Fraction(epsilon) - tiny < trigger.epsilon_pure <= Fraction(epsilon)
    segment = price(CohenLyuStageTest(rate, failure))
    # kappa ln(1/f) exceeds e here, so that a segment costs e more than a trigger
    assert abs(segment.epsilon_pure - trigger.epsilon_pure - rate) < Fraction(1, 1 << 78)
    assert trigger.delta - Fraction(1, 1 << 79) < failure <= trigger.delta == segment.delta
    assert "f                      where the trigger has fresh noise" in TEXT
    assert "(d + 1) f              with stage tests of fresh noise" in TEXT


def test_the_precision_is_the_one_of_section_five() -> None:
    assert "2^(K - 189), K the least number with e 2^K >= 134" in TEXT
    trigger_rate, selection_rate = Fraction(1, 2), Fraction(1, 4)
    # 1/2 * 2^9 = 256 >= 134 > 1/2 * 2^8
    assert DiscreteLaplace(trigger_rate).total_variation == Fraction(1, 1 << 180)
    step = AboveThreshold(trigger_rate).precision_error(1) - Fraction(1, 1 << 180)
    assert step == Fraction(1, 1 << 64)
    assert ExponentialMechanism(selection_rate).total_variation(RULES) == Fraction(RULES, 1 << 126)
    assert "with fresh noise 2^-64" in TEXT
    assert CohenLyuTest(trigger_rate).precision_error(3) == Fraction(3, 1 << 64)


def test_the_limits_of_a_plan_are_the_ones_of_section_nine() -> None:
    said = " ".join(TEXT.partition("## 9.")[2].partition("## 10.")[0].split())
    assert f"{MEMORY_BYTES_MAX >> 30} GiB" in said
    assert f"{SNAPSHOT_BYTES_MAX // 10**6} MB" in said
    assert CANDIDATES_MAX == 1 << 23
    assert f"2^23 candidates of about {CANDIDATE_BYTES} bytes" in said
    unit = (Path(str(files("littled"))) / "systemd" / "littled.service").read_text()
    (granted,) = re.findall(r"^MemoryMax=(\d+)G$", unit, re.MULTILINE)
    assert f"the systemd unit grants {granted} GiB" in said


def test_the_example_of_private_prediction_is_what_the_code_computes() -> None:
    (example,) = re.findall(r"\*In numbers\.\* With e = (.*?)\n\n", TEXT, re.DOTALL)
    numbers = re.findall(r"\d+/\d+|0\.\d+", example)
    e, q, a, said, alone, pure, zcdp = map(Fraction, numbers)
    k, tiny = exp_upper(e), Fraction(1, 10**6)
    s = stability(k, q)
    assert said - tiny < s <= said
    assert alone - tiny < ln_upper(1 + (1 - 2 * a) * s / a) <= alone
    answer = PredictionAnswersStability(e, q, a, 1, "pure")
    assert pure - tiny < price(answer).epsilon_pure <= pure
    answer = PredictionAnswersStability(e, q, a, 1, "zcdp")
    assert zcdp - tiny < price(answer).rho <= zcdp


def test_the_precision_of_answers_is_the_one_that_is_said() -> None:
    assert "within (n + 1)/2^127 in total variation" in " ".join(TEXT.split())
    assert BernoulliSubset(99, Fraction(1, 3)).total_variation == Fraction(100, 1 << 127)
    assert "comparison of a 64-bit word, within 2^-63" in TEXT
    assert Fraction(1, 1 << 63) == PRECISION
