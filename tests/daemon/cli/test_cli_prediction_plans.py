"""Plans of learners that answer questions: what a budget buys, told and compared."""

from fractions import Fraction
from pathlib import Path

import pytest

from support.commands import Littled, make_store

BUDGET = ["--epsilon", "1", "--delta", "1e-6", "--horizon", "1000000"]
PLAN = ["plan", "--kind", "prediction", *BUDGET, "--class"]
BOTH = """
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 1_000_000
learners.late = { class = "thresholds:256", noise_rate = 0 }
learners.ask = { kind = "prediction", class = "thresholds:256", window = 5000, answers = 50 }

[streams.ids]
epsilon = 1.0
delta = 1e-6
horizon = 1_000_000
learners.ask = { kind = "prediction", class = "points:64", window = 50_000 }
"""


def test_a_plan_keeps_its_promise(littled: Littled) -> None:
    facts = littled(*PLAN, "points:64", "--window", "50000", "--json").json
    assert (facts["class"], facts["vc_dimension"], facts["method"]) == (
        "points:64",
        1,
        "majority",
    )
    assert (facts["window"], facts["windows_per_season"]) == (50_000, 20)
    assert 0 < facts["guarantee"]["epsilon"] <= 1
    assert 0 < facts["guarantee"]["delta"] <= 1e-6
    assert facts["answers"] > 1000
    assert facts["excess_error_expected"] == pytest.approx(0.05, rel=0.05)
    assert facts["rule_excess_error_expected"] is None
    learner = facts["plan"]["learners"]["learner"]
    assert (learner["kind"], learner["parameters"]["answers_max"]) == (
        "prediction",
        facts["answers"],
    )
    assert Fraction(learner["parameters"]["vote_rate"]) == Fraction(facts["vote_rate"])


def test_a_plan_is_told_in_words(littled: Littled) -> None:
    said = littled(*PLAN, "thresholds:256", "--window", "10000", "--answers", "1000")
    assert (said.status, said.err) == (0, "")
    rows = said.out.partition("\n\n")[0].splitlines()
    names = [row.split("  ")[0] for row in rows]
    assert names == [
        *("class", "budget", "guarantee", "windows", "method", "answers", "errors", "instead"),
    ]
    assert "thresholds:256, VC dimension 1" in said.out
    assert "10,000 examples each, 100 in a season" in said.out
    assert "1,000 from each window, at epsilon 0.01378 (booked as rho 2.374e-05) each" in said.out
    assert "by a model" in rows[-2]
    assert "one published rule a window would err by about 0.0002 more" in rows[-1]
    assert "chosen: least expected excess error" in said.out


def test_a_price_is_told_as_it_is_booked(littled: Littled) -> None:
    asked = [*PLAN, "thresholds:256", "--window", "10000", "--answers"]
    assert "2 from each window, at epsilon 0.5 each" in littled(*asked, "2").out
    concentrated = littled(*asked, "100", "--method", "majority").out
    assert "100 from each window, at rho 0.00023" in concentrated


@pytest.mark.long
def test_every_method_has_a_row_with_a_number_or_a_reason(littled: Littled) -> None:
    arguments = [*PLAN, "prefixes:32", "--window", "100000", "--noise-rate", "0.1"]
    rows = littled(*arguments, "--json").json["methods"]
    assert [row["method"] for row in rows] == [
        *("majority", "dense", "stability", "relabelling", "realizable", "averaging", "rule"),
    ]
    for row in rows:
        assert row["expected_excess_error"] or row["remark"]
    said = " ".join(littled(*arguments).out.replace("│", " ").split())
    assert "majority 24,3" in said
    assert "chosen: most answers" in said
    assert "the class has too many rules to weigh each of them" in said
    assert "(Corollary 2)" in said
    finite = littled(*PLAN, "thresholds:256", "--window", "10000").out
    assert "any number" in finite
    assert "one published rule a window" in finite


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "--window is missing"),
        (["--window", "0"], "--window must be at least 1, not 0"),
        (["--window", "2000000"], "--window must be at most 1000000, not 2000000"),
        (["--window", "9", "--answers", "0"], "--answers must be at least 1, not 0"),
        (["--window", "9", "--excess-error", "0.5"], "--excess-error must be less than 0.5"),
        (
            ["--window", "9", "--answers", "5", "--excess-error", "0.1"],
            "give --excess-error or --answers, not both: the other follows",
        ),
        (["--window", "9", "--selection", "dense"], "--selection is for --kind online only"),
        (["--window", "9", "--paper-draws", "2"], "--paper-draws is for --kind online only"),
        (["--window", "9"], "even a single answer a window would have an expected excess error"),
        (["--window", "5000", "--method", "dense"], "dense does not apply: the class has too many"),
        (["--window", "9", "--method", "odd"], "invalid value for '--method'"),
    ],
)
def test_what_cannot_be_planned_is_said_in_one_sentence(
    littled: Littled, arguments: list[str], sentence: str
) -> None:
    said = littled(*PLAN, "points:64", *arguments)
    assert said.status == 2
    assert sentence in said.sentence
    assert said.out == ""


def test_options_of_questions_are_for_questions(littled: Littled) -> None:
    for option, value in (("--window", "9"), ("--answers", "9"), ("--excess-error", "0.1")):
        said = littled("plan", "--class", "points:64", *BUDGET, option, value)
        windows = "prediction or batch or minimum or most_frequent or sequences"
        kinds = windows if option == "--window" else "prediction"
        assert (said.status, said.sentence) == (2, f"{option} is for --kind {kinds} only")


@pytest.mark.long
def test_a_new_store_tells_of_learners_of_both_kinds(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    make_store(tmp_path, BOTH)
    out = capfd.readouterr().out
    assert out.count("flights: epsilon 1, delta 1e-06 for each season of 1,000,000 examples") == 1
    assert "flights: answers\n" in out
    assert out.count("ids: epsilon 1, delta 1e-06 for each season of 1,000,000 examples") == 1
    assert "first rule" in out
    assert "5,000 examples" in out
    assert "50,000 examples" in out
    assert "answers a window" in out
