"""Plans: what a budget buys, and what cannot be bought."""

from fractions import Fraction

import pytest

from littled.budget.unit import USER_EXAMPLES_MAX, WORDS
from littled.cli import plans
from littled.cli.prediction import options
from littled.planner.prediction.request import METHODS
from support.commands import Littled

# All of it for learning.
BUDGET = ["--epsilon", "1", "--delta", "1e-6", "--horizon", "1000000", "--quality", "0"]
# One rule fits the stream.
FITS = ["--noise-rate", "0"]


def test_options_offer_what_the_planner_knows() -> None:
    known = (options.METHODS[1:], plans.UNITS, plans.USER_EXAMPLES_MAX)
    assert known == (METHODS, WORDS, USER_EXAMPLES_MAX)


@pytest.mark.long
def test_a_plan_keeps_its_promise(littled: Littled) -> None:
    facts = littled("plan", "--class", "thresholds:256", *BUDGET, *FITS, "--json").json
    assert (facts["class"], facts["littlestone_dimension"]) == ("thresholds:256", 8)
    assert (facts["selection"], facts["noise_rate"]) == ("memory", 0)
    assert facts["mistakes_expected"] < facts["mistakes_if_chosen"] < facts["mistakes_guaranteed"]
    assert 0 < facts["guarantee"]["epsilon"] <= 1
    assert 0 < facts["guarantee"]["delta"] <= 1e-6
    assert Fraction(facts["plan"]["epsilon"]) == 1
    assert facts["rules_max"] >= 8


def test_a_plan_is_told_in_words(littled: Littled) -> None:
    said = littled("plan", "--class", "prefixes:128", *BUDGET, "--noise-rate", "0.1")
    assert (said.status, said.err) == (0, "")
    names = [line.split("  ")[0] for line in said.out.partition("\n\n")[0].splitlines()]
    assert names == ["class", "budget", "guarantee", "selection", "new rules", "mistakes"]
    assert "prefixes:128, Littlestone dimension 8" in said.out
    assert "mistakes beyond 10 % of the examples" in said.out


@pytest.mark.parametrize(
    ("name", "more", "line"),
    [
        pytest.param(
            "thresholds:256",
            FITS,
            "about 42 more mistakes each time another rule fits from then on",
            marks=pytest.mark.long,
        ),
        ("points:64", [], "about 32 more mistakes for each id that comes or goes"),
        ("conjunctions:64", [], "about 1,900 more mistakes each time another rule fits from then"),
        (
            "thresholds:256",
            [*FITS, "--selection", "dense"],
            "mistakes may not end before the season does if another rule fits later",
        ),
        ("thresholds:256", ["--adversary", "none"], None),
    ],
)
def test_what_a_change_of_the_best_rule_costs_is_said(
    littled: Littled, name: str, more: list[str], line: str | None
) -> None:
    said = littled("plan", "--class", name, *BUDGET, *more).out.partition("\n\n")[0]
    assert ("a change" in said) == (line is not None)
    # lines may be broken
    assert line is None or line in " ".join(said.split())


def test_every_way_of_selection_has_a_row_with_a_number_or_a_reason(littled: Littled) -> None:
    ways = littled("plan", "--class", "thresholds:256", *BUDGET, *FITS, "--json").json["ways"]
    assert [each["way"] for each in ways] == [
        *("memory", "dense", "fresh", "capped", "halving", "majority", "sparse", "closure"),
        *("histogram", "tally", "closure-tally", "teachers", "paper", "experts"),
    ]
    assert [each["chosen"] for each in ways] == [True] + 13 * [False]
    for each in ways:
        assert each["expected_mistakes"] or each["remark"]
    assert ways[1]["expected_mistakes"] < ways[1]["guaranteed_mistakes"]
    assert (
        ways[0]["expected_mistakes"] < ways[1]["expected_mistakes"] < ways[-1]["expected_mistakes"]
    )
    said = littled("plan", "--class", "thresholds:256", *BUDGET, *FITS).out
    assert "chosen: fewest expected mistakes" in said
    assert "the first retrain would come after U = 665,886,446 mistakes" in " ".join(
        said.replace("│", " ").split()
    )


def test_where_nothing_is_told_a_plan_says_what_it_does(littled: Littled) -> None:
    asked = ["plan", "--class", "thresholds:256", *BUDGET]
    facts = littled(*asked, "--json").json
    assert (facts["selection"], facts["noise_rate"], facts["nothing_told"]) == (
        "capped",
        None,
        True,
    )
    assert facts["schedule_cap"] == 33_334
    said = " ".join(littled(*asked).out.split())
    assert "after 32 examples, 64 and so on, then every 33,334" in said
    assert "mistakes about 46 if one rule fits independent examples, else those of the best" in said
    assert "a change about 17,000 more mistakes each time another rule fits from then on" in said
    assert "noise no rate is given: nothing is tested, so labels may contradict every rule" in said
    told = littled(*asked, *FITS, "--json").json
    assert (told["selection"], told["noise_rate"], told["nothing_told"]) == ("memory", 0, False)
    ids = ["plan", "--class", "points:16", *BUDGET]
    assert "noise no rate is given, so 0: one rule has to fit" in " ".join(
        littled(*ids).out.split()
    )
    assert "no rate is given" not in littled(*ids, *FITS).out
    both = (littled(*ids, *more, "--json").json for more in ((), FITS))
    assert len({str(each["plan"]) for each in both}) == 1


def test_paper_mode_takes_the_papers_constants(littled: Littled) -> None:
    paper = ["plan", "--class", "points:64", *BUDGET, "--selection", "paper"]
    refused = littled(*paper)
    assert refused.status == 2
    assert "B = k / 10 = 19 does not hide a list of L = 8 rules" in refused.sentence
    facts = littled(*paper, "--paper-teachers", "60", "--paper-calls", "2", "--json").json
    assert facts["selection"] == "paper"
    assert (facts["rules_max"], facts["list_cap"], facts["draws"]) == (2, 8, 15)


def test_adaptive_adversaries_and_failure_probabilities(littled: Littled) -> None:
    adaptive = ["plan", "--class", "conjunctions:8", *BUDGET, "--adversary", "adaptive", "--json"]
    facts = littled(*adaptive).json
    assert facts["draws"] > 1
    rare = littled(*adaptive, "--failure-probability", "0.001").json
    assert rare["mistakes_guaranteed"] > facts["mistakes_guaranteed"]


def test_independent_examples_get_a_schedule(littled: Littled) -> None:
    asked = ["plan", "--class", "thresholds:256", *BUDGET, "--adversary", "none"]
    facts = littled(*asked, "--json").json
    first = facts["schedule_first"]
    assert (facts["selection"], facts["trigger_rate"], facts["selection_rate"]) == ("fresh", 0, 0.5)
    assert (
        1_000_000 / 2 <= first << facts["rules_max"] - 1 < 1_000_000 <= first << facts["rules_max"]
    )
    assert facts["mistakes_guaranteed"] is None
    said = littled(*asked).out
    assert f"after {first} examples, {2 * first}, {4 * first} and so on" in said
    assert "on a bad stream of independent examples, no bound is proven" in said
    noisy = littled(*asked, "--noise-rate", "0.1").out
    assert "beyond 10 % of the examples on a bad stream of independent examples" in noisy


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--failure-probability", "1"], "--failure-probability must be less than 1, not 1"),
        (["--paper-draws", "-1"], "--paper-draws must be greater than 0, not -1"),
        (["--selection", "closure"], "points:64 has no closures"),
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


def test_a_plan_for_users_says_what_is_used_of_them(littled: Littled) -> None:
    users = ["plan", "--class", "prefixes:128", *BUDGET, "--unit", "user"]
    facts = littled(*users, "--json").json
    assert (facts["unit"], facts["user_examples_max"]) == ("user", 1)
    assert (facts["plan"]["unit"], facts["plan"]["user_examples_max"]) == ("user", 1)
    assert 0.9 < facts["guarantee"]["epsilon"] <= 1
    said = " ".join(littled(*users).out.split())
    assert "-differentially private per user (pure)" in said
    assert "users of each, 1 example kept and 1 mistake counted in a season at the most" in said
    more = littled(*users, "--user-examples-max", "3")
    assert "of each, 3 examples kept and 3 mistakes counted" in " ".join(more.out.split())
    single = littled("plan", "--class", "prefixes:128", *BUDGET, "--json").json
    assert (single["unit"], single["user_examples_max"]) == ("example", None)
    assert single["mistakes_expected"] < facts["mistakes_expected"]


@pytest.mark.long
def test_a_plan_says_whether_users_may_run_out(littled: Littled) -> None:
    users = ["plan", "--class", "thresholds:256", *BUDGET, *FITS, "--unit", "user"]
    plain = littled(*users, "--json").json
    assert (plain["selection"], plain["users_expected"]) == ("memory", None)
    assert 5000 < plain["users_needed"] < 20_000
    assert 0 < plain["threshold_rate"] < plain["trigger_rate"]
    few = littled(*users, "--users-expected", "1500", "--json").json
    assert (few["selection"], few["users_expected"]) == ("halving", 1500)
    assert few["users_needed"] < 1500
    remarks = {way["way"]: way["remark"] for way in few["ways"]}
    assert remarks["memory"] == remarks["fresh"] == "users may run out"
    fewer = " ".join(littled(*users, "--users-expected", "300").out.split())
    assert "users, more than the 300 expected: they may run out" in fewer
    for more in ((), ("--users-expected", "100000")):
        enough = " ".join(littled(*users, *more).out.split())
        assert "; needs about " in enough
        assert "run out" not in enough
    assert littled("plan", "--class", "points:16", *BUDGET, "--json").json["users_needed"] is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--users-expected", "2"], "--users-expected is for --unit user only"),
        (["--user-examples-max", "2"], "--user-examples-max is for --unit user only"),
        (["--unit", "user", "--kind", "prediction"], "--kind prediction is for --unit example"),
        (["--unit", "user", "--selection", "paper"], "the paper's tests are priced for single"),
    ],
)
def test_what_is_not_for_users_is_refused(
    littled: Littled, options: list[str], sentence: str
) -> None:
    refused = littled("plan", "--class", "points:16", *BUDGET, *options)
    assert refused.status == 2
    assert sentence in refused.sentence
