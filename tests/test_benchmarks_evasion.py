"""The benchmark of evaders: every stream is realizable, repeats, and is counted as it says."""

import argparse
import json
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.evasion import __main__ as command
from benchmarks.evasion import measuring, report
from benchmarks.evasion.classes import game_of
from benchmarks.evasion.fixed import FIXED, fixed_stream
from benchmarks.evasion.game import Choice, Game, labelled
from benchmarks.evasion.lengths import LengthSearch
from benchmarks.evasion.playing import Evader, Outcome, Prepared, play, users_from
from benchmarks.evasion.policies import NAMED, Policy, Style, random_policy
from benchmarks.learning.orders import stream_of
from benchmarks.learning.runs import hypotheses_of
from benchmarks.learning.streams import KINDS, ORDERS, make_stream, parsed
from littled.learners.online import OnlineLearner
from littled_protocol.rules import Rule, ThresholdRule
from test_benchmarks import rule_of

SMALL = (
    "thresholds:20",
    "thresholds:1",
    "points:8",
    "prefixes:128",
    "sparse_sets:16:3",
    "affine:8:3",
    "stumps:3:5",
    "conjunctions:4",
    "conjunctions:64",
    "table:12x9",
)
HORIZON = 20_000


def policies(class_name: str) -> dict[str, Policy]:
    """Those with a name, and some with random parameters."""
    found = dict(NAMED[parsed(class_name)[0]])
    for number in range(12):
        found[f"random {number}"] = random_policy(np.random.default_rng(number))
    return found


@cache
def targets(class_name: str) -> list[Rule]:
    """Some rules of the class."""
    family, _ = parsed(class_name)
    # blocks lie around other addresses than the evader's
    streams = [make_stream(class_name, "uniform", 50, seed) for seed in range(4)]
    return [] if family == "points" else [rule_of(stream) for stream in streams]


def published(class_name: str, game: Game[Any], states: list[Any], seed: int) -> Rule:
    """A rule that some learner might publish: of the class, one that fits, or one that fitted."""
    rng = np.random.default_rng([seed, len(states)])
    fitted = [game.fitting(state) for state in states]
    rules = [hypotheses_of(class_name).first_rule(), *targets(class_name), *fitted, fitted[-1]]
    return rules[int(rng.integers(len(rules)))]


@pytest.mark.parametrize("name", SMALL)
def test_whatever_is_published_one_rule_fits_everything_shown(name: str) -> None:
    """And every mistake that is chosen is one."""
    game = game_of(name)
    for number, policy in enumerate(policies(name).values()):
        states = [game.begin(np.random.default_rng(number), policy.place)]
        shown = []
        for release in range(1, 20):
            rule = published(name, game, states, number)
            rng = np.random.default_rng([number, release])
            style = policy.style(release)
            choice, state = game.choose(states[-1], rule, style, rng)
            states.append(state)
            assert (rule.evaluate(choice.mistakes.x) != choice.mistakes.y).all()
            shown.append(choice.examples(style.pace, 7, 50))
        last = game.fitting(states[-1])
        for rows in shown:
            np.testing.assert_array_equal(last.evaluate(rows.x), rows.y)


@pytest.mark.parametrize("name", ["thresholds:20", "prefixes:128", "stumps:3:5", "table:12x9"])
def test_an_evader_ends_at_one_rule_against_rules_that_fit(name: str) -> None:
    """Each mistake rules out the published rule for good."""
    game = game_of(name)
    state = game.begin(np.random.default_rng(1))
    for release in range(400):
        rule = game.fitting(state)
        choice, state = game.choose(state, rule, Style(), np.random.default_rng(release))
        if not len(choice.mistakes):
            break
        assert (game.fitting(state).evaluate(choice.mistakes.x) == choice.mistakes.y).all()
    else:
        pytest.fail("the evader errs for ever against rules that fit")
    assert len(choice.free)


def test_the_middle_evader_keeps_the_larger_side() -> None:
    game = game_of("thresholds:20")
    state = game.begin(np.random.default_rng(0))
    seen = []
    for threshold in (4, 15, 9):
        rule = ThresholdRule(20, threshold)
        _, state = game.choose(state, rule, Style(), np.random.default_rng(0))
        seen.append((state.low, state.high))
    assert seen == [(5, 20), (5, 14), (10, 14)]


def test_targets_that_are_fixed_beforehand_stay() -> None:
    game = game_of("thresholds:256")
    state = game.begin(np.random.default_rng(0), 0.25)
    for threshold in (200, 10, 64):
        rule = ThresholdRule(256, threshold)
        choice, state = game.choose(state, rule, Style(), np.random.default_rng(0))
        assert game.fitting(state) == ThresholdRule(256, 64)
        assert bool(len(choice.mistakes)) == (threshold != 64)


def test_one_example_in_so_many_is_a_mistake_wherever_batches_end() -> None:
    points = np.arange(10, dtype=np.uint8)
    choice = Choice(labelled(points[:3], 1), labelled(points[3:], 0))
    whole = choice.examples(5, 12, 40)
    assert np.flatnonzero(whole.y).tolist() == list(range(3, 40, 5))
    assert set(whole.x.tolist()) == set(range(10))
    parts = [choice.examples(5, first, 8).x for first in range(12, 52, 8)]
    np.testing.assert_array_equal(np.concatenate(parts), whole.x)


@pytest.mark.long
@pytest.mark.parametrize(
    ("plan", "policy", "least", "most"),
    [
        ("adaptive", "greedy", 100, 1_500),
        ("adaptive", "spread", 100, 1_500),
        ("adaptive", "slow", 100, 1_500),
        # without a memory it goes on for as long as it is played
        ("default", "greedy", 3_000, HORIZON),
    ],
)
def test_majorities_of_stumps_alone_end_an_evader(
    plan: str, policy: str, least: int, most: int
) -> None:
    made = measuring.planned("stumps:4:16", plan, HORIZON)
    task = measuring.Task(made, policy, NAMED["stumps"][policy], 1, HORIZON, 3_000)
    assert least <= measuring.perform(task).outcome.mistakes <= most


# --- The search for a length ----------------------------------------------------------------------


@cache
def least_cost(left: int, search: LengthSearch) -> int:
    """The cost of the best places of all, by trying all of them."""
    costs = [0]
    for n in range(1, left + 1):
        found = []
        for count in range(1, search.at_once + 1):
            found += [
                worst_branch(places, n, costs, search) for places in combinations(range(n), count)
            ]
        costs.append(min(found))
    return costs[left]


def worst_branch(places: tuple[int, ...], left: int, costs: list[int], search: LengthSearch) -> int:
    """What the worst branch costs if these places are proposed."""
    branches = [search.up + costs[places[0]]]
    for place, end in zip(places, (*places[1:], left), strict=True):
        if end - place - 1:
            branches.append(search.up + search.down + costs[end - place - 1])
        if place:
            branches.append(search.up + search.down + search.bisect(place))
    return max(branches)


@pytest.mark.parametrize(("up", "down", "at_once"), [(214, 79, 3), (10, 10, 2), (85, 34, 1)])
def test_no_places_cost_less_than_those_that_are_asked_for(
    up: int, down: int, at_once: int
) -> None:
    search = LengthSearch(9, up, down, at_once)
    for left in range(1, 10):
        # where no length is left to tell apart, a search counts the mistake that says so
        assert least_cost(left, search) <= search.search(left) <= least_cost(left, search) + down
        places = search.ask(left)
        assert 1 <= len(places) <= at_once
        assert 1 <= search.costliest(left) <= left


def test_all_lengths_of_an_address_are_found_within_a_thousand_mistakes() -> None:
    """The bound of the search at (1, 1e-6), without the delays of the trigger."""
    assert 800 < LengthSearch(129).search(129) < 1000


# --- Runs -----------------------------------------------------------------------------------------


@cache
def learner(name: str) -> OnlineLearner:
    plan = measuring.planned(name, "default", HORIZON).plan
    assert plan is not None
    return plan.learner("bench")


@pytest.mark.long
@pytest.mark.parametrize("name", ["thresholds:256", "prefixes:128", "sparse_sets:64:4"])
def test_a_run_repeats_with_its_seed(name: str) -> None:
    policy = Policy(Style(pace=3, spread=True))
    found = [
        play(learner(name), Evader(game_of(name), policy, seed), HORIZON, seed, 2000)
        for seed in (1, 1, 2)
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_a_run_ends_at_the_most_mistakes() -> None:
    evader = Evader(game_of("thresholds:256"), Policy(Style()), 1)
    outcome = play(learner("thresholds:256"), evader, HORIZON, 1, 100)
    assert outcome.stopped
    assert 100 <= outcome.mistakes < 200
    assert outcome.examples < HORIZON
    assert outcome.epochs > 1


def test_an_evader_hears_of_every_release() -> None:
    class Listening(Evader):
        heard = 0

        def released(self, rule: Rule) -> None:
            self.heard += 1
            super().released(rule)

    evader = Listening(game_of("points:64"), Policy(Style()), 1)
    outcome = play(learner("points:64"), evader, HORIZON, 1, HORIZON)
    assert evader.heard == 1 + outcome.epochs > 1


def test_users_are_told_apart_by_their_first_words() -> None:
    """Whom only the second word tells apart are looked up one by one: a run took minutes."""
    users = np.concatenate((users_from(0, 700), users_from(700, 300)))
    assert users.shape == (1000, 2)
    assert len(np.unique(users[:, 0])) == 1000


def test_mistakes_before_a_jump_are_not_counted() -> None:
    stream = fixed_stream("thresholds:256", "jump", HORIZON, 3)
    assert stream.counted == HORIZON // 2
    late = play(learner("thresholds:256"), Prepared(stream), HORIZON, 3, HORIZON)
    stream_before = type(stream)(stream.rows)
    whole = play(learner("thresholds:256"), Prepared(stream_before), HORIZON, 3, HORIZON)
    assert 0 < late.mistakes < whole.mistakes
    assert late.epochs == whole.epochs


@pytest.mark.parametrize("name", ["thresholds:256", "prefixes:128", "affine:64:8"])
def test_fixed_streams_are_those_of_the_learning_benchmark(name: str) -> None:
    for kind in FIXED[parsed(name)[0]]:
        rows = fixed_stream(name, kind, 2000, 4).rows
        if kind == "near-again":
            rule = rule_of(stream_of(name, "near-misses", 2000, 4))
            np.testing.assert_array_equal(rule.evaluate(rows.x), rows.y)
            assert rows.y[100:].mean() == pytest.approx(0.01)
        else:
            (usual,) = (known for known in (*KINDS, *ORDERS) if known == kind)
            np.testing.assert_array_equal(rows.x, stream_of(name, usual, 2000, 4).x)


# --- The whole ------------------------------------------------------------------------------------


def arguments_for(folder: Path, options: str) -> argparse.Namespace:
    fixed = "--seeds 2 --horizon 6000 --most 500 --jobs 1 --output"
    return command.parsed_arguments([*options.split(), *fixed.split(), str(folder)])


@pytest.mark.long
def test_a_small_run_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = arguments_for(
        tmp_path, "--classes thresholds:256 points:64 --plans default dense --search 4"
    )
    runs, plans = measuring.measure(arguments)
    (refused,) = (plan for plan in plans if plan.plan is None)
    assert (refused.class_name, refused.name) == ("points:64", "dense")
    command.write(runs, plans, arguments)
    text = (tmp_path / "evasion.md").read_text()
    for row in ("| thresholds:256 | default | middle | evader |", "| points:64 | default | jump |"):
        assert row in text
    assert "## Plans that do not exist" in text
    assert "- thresholds:256, dense: keeps " in text
    rows = [json.loads(line) for line in (tmp_path / "evasion.jsonl").read_text().splitlines()]
    assert {row["policy"] for row in rows if row["plan"] == "dense"} == {
        *measuring.policies_of("thresholds:256"),
        measuring.SEARCHED,
    }
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == len(runs) == 2 * len(rows)
    assert "igure" in capsys.readouterr().out


def test_the_search_takes_the_policy_with_the_most_mistakes(tmp_path: Path) -> None:
    arguments = arguments_for(tmp_path, "--classes points:64 --plans default --policies flips")
    found = []
    for _ in range(2):
        arguments.search = 5
        runs, _ = measuring.measure(arguments)
        found.append([run for run in runs if run.policy == measuring.SEARCHED])
    assert found[0] == found[1]
    assert [run.seed for run in found[0]] == [0, 1]
    assert {run.policy for run in runs} == {"flips", measuring.SEARCHED}


def test_figures_say_where_runs_were_stopped() -> None:
    def run(policy: str, mistakes: int, *, stopped: bool = False) -> measuring.Run:
        outcome = Outcome(mistakes, 10, 3, halted=False, stopped=stopped)
        return measuring.Run("points:64", "default", policy, "keeps larger", 0, outcome)

    plan = measuring.planned("points:64", "default", 1000)
    runs = [run("flips", mistakes) for mistakes in range(1, 21)]
    runs += [run("pace", 30), run("pace", 500, stopped=True)]
    flips, pace = report.figures(runs, [plan])
    assert (flips.mistakes_median, flips.mistakes_p95, flips.mistakes_max) == (10.5, 19, 20)
    text = report.markdown([flips, pace], [plan], 1000, 500)
    assert "| points:64 | default | pace | evader | >= 265 | >= 500 | >= 500 | 3 |" in text
    assert "| points:64 | default | flips | evader | 10 | 19 | 20 | 3 |" in text
    assert "| - | pace: >= 265, >= 500 |" in text


def sentences() -> Iterator[tuple[str, str]]:
    yield "--classes lines:3", "there are no streams for the class 'lines:3'"
    yield "--classes thresholds:0", "thresholds needs a size from 1"
    yield "--plans best", "'best' is no plan: it is default, an adversary"
    yield "--plans users/users", "'users/users' is no plan"
    yield "--plans adaptive/none", "'adaptive/none' is no plan"
    yield "--classes points:64 --policies middle", "no class here has a policy 'middle'"
    yield "--seeds 0", "--seeds must be at least 1, not 0"
    yield "--search -1", "--search must be at least 0, not -1"


@pytest.mark.parametrize(("options", "sentence"), list(sentences()))
def test_wrong_arguments_are_refused_in_one_sentence(
    options: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.parsed_arguments(options.split())
    assert sentence in capsys.readouterr().err.splitlines()[-1]


def test_plans_are_asked_for_by_adversary_selection_or_both() -> None:
    assert measuring.asked("default") == {}
    assert measuring.asked("adaptive/dense") == {"adversary": "adaptive", "selection": "dense"}
    assert measuring.asked("fresh") == {"selection": "fresh"}
