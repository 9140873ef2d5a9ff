"""The register: which way of selection stored parameters are of, and what each says of itself."""

from dataclasses import replace
from fractions import Fraction

import pytest

from littled.classes.names import class_from_name
from littled.learners.online import OnlineLearner, OnlineParameters
from littled.learners.online.chain_memory import ChainSettings
from littled.learners.online.majority_memory import MajoritySettings
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.chain import Chain
from littled.learners.online.selections.closure import Closures
from littled.learners.online.selections.closure_tally import ClosureTally
from littled.learners.online.selections.dense import Dense
from littled.learners.online.selections.histogram import Histogram
from littled.learners.online.selections.lengths import Lengths
from littled.learners.online.selections.majority import WeightedMajority
from littled.learners.online.selections.path import Path
from littled.learners.online.selections.proposals import Proposing
from littled.learners.online.selections.register import SELECTIONS, selection_of
from littled.learners.online.selections.tally import Tally
from littled.learners.online.selections.teachers import StagedTeachers, Teachers
from littled.learners.online.values import EpochSettings
from support.class_cases import STREAMS
from support.learner_cases import LEARNERS, ONLINE, USERS

MEMORY = ChainSettings(3, evidence=7, fading=0, full_length=1000, floor=20, median_after=0)
MAJORITY = MajoritySettings(step=2, levels=3, cap=5, doubt=1, slack=9)
LADDER = (EpochSettings(2),)
KINDS: dict[str, tuple[type[Selection], str]] = {
    "dense": (Dense, "dense"),
    "dense fresh": (Dense, "fresh dense"),
    "sparse": (Proposing, "sparse"),
    "teachers": (Teachers, "4 teachers"),
    "stages": (StagedTeachers, "4 teachers"),
    "fresh stages": (StagedTeachers, "4 teachers"),
    "closure": (Closures, "closure"),
    "closure of teachers": (Closures, "closure"),
    "histogram": (Histogram, "histogram"),
    "tally": (Tally, "tally"),
    "closure tally": (ClosureTally, "closure tally"),
    "closure tally of affine spaces": (ClosureTally, "closure tally"),
    "path": (Path, "path with public memory"),
    "lengths": (Lengths, "search for the length"),
    "chain": (Chain, "chain with public memory"),
    "chain halving": (Chain, "halving of a chain"),
    "majority": (WeightedMajority, "weighted majority with public memory"),
}


def test_the_words_that_a_store_has_keep_their_order() -> None:
    assert list(SELECTIONS) == [
        *(
            "dense",
            "sparse",
            "closure",
            "histogram",
            "tally",
            "closure-tally",
            "chain",
            "path",
            "lengths",
            "majority",
        )
    ]


@pytest.mark.parametrize("name", KINDS)
def test_parameters_have_their_way_of_selection(name: str) -> None:
    kind, words = KINDS[name]
    selection = selection_of(ONLINE[name][1])
    assert type(selection) is kind
    assert selection.words == words
    assert selection.lists_by_teacher == issubclass(kind, Teachers)
    assert selection.keeps_rows == (
        kind not in (Dense, Chain, Tally, ClosureTally, WeightedMajority)
    )


@pytest.mark.parametrize("name", [*ONLINE, *USERS])
def test_every_selection_goes_with_its_parameters_and_its_class(name: str) -> None:
    hypotheses, parameters = STREAMS[LEARNERS[name][0]][0], LEARNERS[name][1]
    selection = selection_of(parameters)
    assert list(selection.wrong()) == list(selection.misfits(hypotheses)) == []
    assert 0 < selection.precision_error(hypotheses) < Fraction(1, 1 << 40)


@pytest.mark.parametrize(
    ("name", "of_class", "said"),
    [
        ("dense", "points:16", "too many rules for dense selection"),
        ("sparse", "thresholds:8", "no short lists of rules"),
        ("sparse", "prefixes:32", "proposes up to 33 rules, more than list_cap 9"),
        ("closure", "thresholds:8", "not closed under intersection"),
        ("histogram", "prefixes:3", "no rules that are sets of ids"),
        ("chain", "stumps:2:4", "are no chain, one inside the other; use dense"),
        ("chain halving", "conjunctions:4", "are no chain, one inside the other; use dense"),
        ("majority", "thresholds:8", "are no thresholds of single features; use dense"),
    ],
)
def test_a_class_that_a_selection_cannot_use_is_refused(
    name: str, of_class: str, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        OnlineLearner("s/l", class_from_name(of_class), ONLINE[name][1])


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("dense", {"teachers": 3}, "dense selection has no teachers"),
        ("histogram", {"teachers": 3}, "histogram selection has no teachers"),
        ("histogram", {"draws": 3}, "releases everything that passes"),
        ("closure", {"list_cap": 2}, "list_cap 1"),
        ("closure", {"draws": 3}, "draws 1"),
        ("closure", {"stage_rate": Fraction(1)}, "a stage test needs"),
        ("sparse", {"stage_rate": Fraction(1)}, "a stage test needs"),
        ("teachers", {"fresh": True}, "without essential lists"),
        ("dense", {"selection": "other"}, "must be one of dense, sparse, closure, histogram"),
        ("dense fresh", {"memory": MEMORY}, "dense selection has no memory of releases"),
        ("histogram", {"memory": MEMORY}, "histogram selection has no memory of releases"),
        ("chain", {"memory": None}, "needs a memory with the settings of a chain"),
        ("chain", {"teachers": 3}, "chain selection has no teachers"),
        ("chain", {"fresh": False}, "is fresh, with one draw, and counts all examples"),
        ("chain", {"draws": 3}, "is fresh, with one draw, and counts all examples"),
        ("chain", {"buffer": "mistakes"}, "is fresh, with one draw, and counts all examples"),
        ("chain", {"background_max": 3}, "counts all examples, unless users are protected"),
        ("chain", {"noise_rate": Fraction(1, 10)}, "needs a trigger, and a noise_rate of 0"),
        ("chain", {"ladder": ()}, "one threshold, for halving after direct calls"),
        ("chain halving", {"ladder": LADDER}, "one threshold, for halving after direct calls"),
        ("chain", {"memory": replace(MEMORY, direct_calls=-1)}, "must be from 0 to 10,000"),
        ("chain", {"stage_rate": Fraction(1)}, "a stage test needs"),
        ("majority", {"memory": MEMORY}, "needs a memory with the settings of a majority"),
        ("majority", {"fresh": False}, "is fresh, with one draw of a label"),
        ("majority", {"draws": 3}, "is fresh, with one draw of a label"),
        ("majority", {"buffer": "examples"}, "is fresh, with one draw of a label"),
        ("majority", {"noise_rate": Fraction(1, 10)}, "needs a trigger, and a noise_rate of 0"),
        ("majority", {"user_examples_max": 1}, "protects single examples only, not users"),
        ("majority", {"memory": replace(MAJORITY, step=0)}, "must be from 1 to 16"),
        ("majority", {"memory": replace(MAJORITY, cap=0)}, "must be from 1 to 65,536"),
        ("majority", {"memory": replace(MAJORITY, slack=-1)}, "must be from 0 to 4,096"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(
    name: str, changes: dict[str, object], said: str
) -> None:
    parameters: OnlineParameters = ONLINE[name][1]
    with pytest.raises(ValueError, match=said):
        replace(parameters, **changes)  # type: ignore[arg-type]
