"""Plans: what a budget buys, and what cannot be bought."""

from fractions import Fraction

import pytest

from support.commands import Littled

BUDGET = ["--epsilon", "1", "--delta", "1e-6", "--horizon", "1000000"]


def test_a_plan_keeps_its_promise(littled: Littled) -> None:
    facts = littled("plan", "--class", "thresholds:256", *BUDGET, "--json").json
    assert (facts["class"], facts["littlestone_dimension"]) == ("thresholds:256", 8)
    assert (facts["selection"], facts["noise_rate"]) == ("dense", 0)
    assert 0 < facts["guarantee"]["epsilon"] <= 1
    assert 0 < facts["guarantee"]["delta"] <= 1e-6
    assert Fraction(facts["plan"]["epsilon"]) == 1
    assert facts["rules_max"] >= 8


def test_a_plan_is_told_in_words(littled: Littled) -> None:
    said = littled("plan", "--class", "prefixes:128", *BUDGET, "--noise-rate", "0.1")
    assert (said.status, said.err) == (0, "")
    names = [line.split("  ")[0] for line in said.out.splitlines()]
    assert names == ["class", "budget", "guarantee", "selection", "new rules", "mistakes"]
    assert "prefixes:128, Littlestone dimension 8" in said.out
    assert "mistakes beyond 10 % of the examples" in said.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--epsilon", "0"], "--epsilon must be greater than 0, not 0"),
        (["--epsilon", "inf"], "--epsilon must be finite, not infinity"),
        (["--epsilon", "much"], "invalid value for '--epsilon': 'much' is not a number"),
        (["--delta", "1"], "--delta must be less than 1, not 1"),
        (["--horizon", "0"], "--horizon must be at least 1, not 0"),
        (["--noise-rate", "0.6"], "--noise-rate must be less than 0.5, not 0.6"),
        (["--teachers", "1"], "--teachers must be at least 2, not 1"),
        (["--class", "forests:3"], "--class: there is no class 'forests:3'"),
        (["--class", "table:no.csv"], "--class: cannot read the table no.csv"),
        (["--class", "points:64", "--selection", "dense"], "too many rules for dense selection"),
        (["--epsilon", "0.00001"], "epsilon"),
    ],
)
def test_what_cannot_be_planned_is_said_in_one_sentence(
    littled: Littled, arguments: list[str], sentence: str
) -> None:
    said = littled("plan", "--class", "points:64", *BUDGET, *arguments)
    assert said.status == 2
    assert sentence in said.sentence
    assert said.out == ""
