"""PRIVACY.md against the code: its worked example, its constants and its list of priced events."""

import re
from fractions import Fraction
from pathlib import Path

from littled.budget.conversion import guarantee
from littled.budget.events import (
    CohenLyuStageTest,
    CohenLyuTrigger,
    DenseSelection,
    PrecisionLoss,
    PrivacyEvent,
    SparseSelection,
    TriggerSeason,
    kappa_upper,
    price,
)
from littled.mechanisms.above_threshold import AboveThreshold
from littled.mechanisms.cohen_lyu import CohenLyuTest
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.exponential import ExponentialMechanism

TEXT = (Path(__file__).parent.parent / "PRIVACY.md").read_text(encoding="utf-8")
# The parameters of the worked example in section 2.
TRIGGER_RATE = Fraction(2, 5)
SELECTION_RATE = Fraction(43, 1000)
CALLS = 10
HORIZON = 1_000_000
RULES = 257
DELTA_Z = Fraction(9, 10_000_000)


def number(pattern: str) -> Fraction:
    """The one number in the text that stands where `pattern` has its group."""
    (found,) = re.findall(pattern, TEXT)
    return Fraction(found)


def test_the_worked_example_is_what_the_code_computes() -> None:
    trigger, selection = AboveThreshold(TRIGGER_RATE), ExponentialMechanism(SELECTION_RATE)
    loss = PrecisionLoss(
        total_variation=trigger.precision_error(HORIZON)
        + CALLS * trigger.precision_error(0)
        + CALLS * selection.total_variation(RULES),
        epsilon=Fraction(1),
    )
    call = DenseSelection(rate=SELECTION_RATE, draws=1, accounting="zcdp")
    caps = price(TriggerSeason(rate=TRIGGER_RATE)) + price(call) * CALLS + price(loss)
    epsilon, delta = guarantee(caps, DELTA_Z)

    tiny = Fraction(1, 1 << 70)
    assert abs(caps.epsilon_pure - number(r"epsilon_pure = (0\.\d+), rho")) < tiny
    assert abs(caps.rho - number(r"rho = (0\.\d+), epsilon_z <")) < Fraction(1, 10**6)
    assert epsilon - caps.epsilon_pure < number(r"epsilon_z < (0\.\d+)")
    assert caps.delta < number(r"delta_p < (\S+), so")
    promised, failure = (
        number(r"so the season is \((\S+), "),
        number(r"season is \(\S+, (\S+)\)-DP"),
    )
    assert promised - Fraction(1, 10**4) < epsilon < promised
    assert failure - Fraction(1, 10**12) < delta < failure


def test_the_example_names_its_parameters() -> None:
    (example,) = re.findall(r"\*Example\.\*(.*?)\n\n", TEXT, re.DOTALL)
    said = " ".join(example.split())
    for words in (
        f"{RULES} rules",
        f"e_t = {TRIGGER_RATE}",
        f"e_s = {SELECTION_RATE}",
        f"C = {CALLS}",
        f"T = {HORIZON:,}",
        f"delta_z = {DELTA_Z.numerator}/{DELTA_Z.denominator:,}",
    ):
        assert words in said


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
    # 2/5 * 2^9 = 204.8 >= 134 > 2/5 * 2^8
    assert DiscreteLaplace(TRIGGER_RATE).total_variation == Fraction(1, 1 << 180)
    step = AboveThreshold(TRIGGER_RATE).precision_error(1) - Fraction(1, 1 << 180)
    assert step == Fraction(1, 1 << 64)
    assert ExponentialMechanism(SELECTION_RATE).total_variation(RULES) == Fraction(RULES, 1 << 126)
    assert "with fresh noise 2^-64" in TEXT
    assert CohenLyuTest(TRIGGER_RATE).precision_error(3) == Fraction(3, 1 << 64)
