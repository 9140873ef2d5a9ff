"""Whole seasons by exact enumeration, one user's examples against all others in their place.

A *family* is every stream that one user's examples can make of a pattern, all contents and labels
at these positions, the other examples being given; any two of its streams are neighbours. Laws of
transcripts are as in `support.transcripts`. What a season is charged must hold for every two of a
family, and is shown to be nearly reached. Variants of the learner that forget a part of the proof
(PRIVACY.md, "User-level privacy") must exceed it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.budget.conversion import guarantee
from littled.classes import Thresholds, class_from_name
from littled.learners.online import Examples, OnlineLearner, OnlineState, Place
from littled.learners.parameters import OnlineParameters, Rung
from littled.learners.users import UserCounts, Users
from littled.mechanisms.noise import NoiseSource
from support.learning import HEAD
from support.small_classes import Cubes, Sets
from support.transcripts import SecretWords, Stream, charged, law_of

# An example, or None for one of the user's.
Pattern = tuple[tuple[int, int, int] | None, ...]
Laws = NDArray[np.float64]

USER, OTHER_USER = 1, 9
WORDS = SecretWords({USER: 0, 2: 1, 3: 2, 4: 0, 5: 1, 6: 3})
# So little that no mistake is expected, but enough for examples to veto.
SLIGHT = Fraction(1, 10**6)
# One call, after four examples; nothing is spent on a trigger.
ONCE = OnlineParameters(
    epsilon=Fraction(8),
    horizon=8,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(0),
    trigger_threshold=0,
    selection="histogram",
    selection_rate=Fraction(2),
    selection_accounting="pure",
    draws=1,
    calls_max=1,
    buffer="mistakes",
    list_cap=1,
    bottom_score=4,
    fresh=True,
    schedule_first=4,
    mistakes_max=8,
    user_examples_max=1,
)
# Epochs end after 1, 2 and 4 examples.
SCHEDULED = replace(ONCE, schedule_first=1, calls_max=3)
TRIGGERED = replace(
    ONCE, schedule_first=None, mistakes_max=0, trigger_rate=Fraction(1), trigger_threshold=1,
    selection_rate=Fraction(3, 4), calls_max=2, fresh=False,
)  # fmt: skip
PROPOSING = replace(ONCE, selection="sparse", list_cap=2, buffer="both", background_max=8)
VETOING = replace(ONCE, noise_rate=SLIGHT, buffer="both", background_max=8)
CLOSING = replace(ONCE, selection="closure", teachers=2, bottom_score=3)
COUNTING = replace(ONCE, selection="dense", buffer="examples", mistakes_max=0)


def streams_of(pattern: Pattern, points: int) -> Iterator[Stream]:
    free = [place for place, each in enumerate(pattern) if each is None]
    examples = list(product(range(points), (0, 1)))
    for contents in product(examples, repeat=len(free)):
        chosen = dict(zip(free, contents, strict=True))
        yield tuple(
            (*chosen[place], USER) if each is None else each for place, each in enumerate(pattern)
        )


def laws_of(
    learner: OnlineLearner, pattern: Pattern, points: int = 2, words: SecretWords = WORDS
) -> Laws:
    """A row for each law of the family, once each, a column for each transcript."""
    found = [law_of(learner, stream, words) for stream in streams_of(pattern, points)]
    said = {each: column for column, each in enumerate({said for law in found for said in law})}
    laws = np.zeros((len(found), len(said)))
    for row, law in zip(laws, found, strict=True):
        row[[said[each] for each in law]] = list(law.values())
    return np.unique(laws.round(14), axis=0)


def failure(laws: Laws, epsilon: float) -> float:
    """The largest hockey-stick divergence of two laws of a family."""
    return max(float(np.maximum(law - np.exp(epsilon) * laws, 0).sum(axis=1).max()) for law in laws)


def epsilon_at(laws: Laws, delta: float) -> float:
    """The least epsilon at which the family keeps delta, up to 10^-6."""
    low, high = 0.0, 40.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if failure(laws, middle) > delta + 1e-11 else (low, middle)
    return high


def season(hypotheses: Any, parameters: OnlineParameters, most: int | None = 1) -> OnlineLearner:
    return OnlineLearner("s/l", hypotheses, replace(parameters, user_examples_max=most))


# --- what a season is charged ---------------------------------------------------------------------

PREFIXES = class_from_name("prefixes:1")
CASES: dict[str, tuple[Any, OnlineParameters]] = {
    "fires": (Sets(1), replace(TRIGGERED, calls_max=0)),
    "histograms": (Sets(1), TRIGGERED),
    "fresh histograms": (Sets(1), replace(TRIGGERED, fresh=True)),
    "scheduled histograms": (Sets(1), SCHEDULED),
    "histograms with vetoes": (
        Sets(1),
        replace(TRIGGERED, noise_rate=SLIGHT, buffer="both", background_max=1),
    ),
    "two histograms with vetoes": (Sets(1), replace(VETOING, schedule_first=2, calls_max=2)),
    "rules": (Thresholds(3), replace(TRIGGERED, selection="dense", buffer="examples")),
    "rules by mistakes": (Thresholds(3), replace(TRIGGERED, selection="dense")),
    "fresh rules": (
        Thresholds(3),
        replace(TRIGGERED, selection="dense", buffer="examples", fresh=True),
    ),
    "scheduled rules": (
        Thresholds(3),
        replace(SCHEDULED, selection="dense", buffer="examples", mistakes_max=0),
    ),
    "proposals": (
        PREFIXES,
        replace(TRIGGERED, selection="sparse", list_cap=2, buffer="both", background_max=1),
    ),
    "fresh proposals": (
        PREFIXES,
        replace(
            TRIGGERED, selection="sparse", list_cap=2, buffer="both", background_max=1, fresh=True
        ),
    ),
    "scheduled proposals": (
        PREFIXES,
        replace(
            SCHEDULED, selection="sparse", list_cap=2, buffer="examples", background_max=8,
            mistakes_max=0,
        ),
    ),
    "closures of users": (Cubes(2), replace(TRIGGERED, selection="closure")),
    "closures of teachers": (Cubes(2), replace(CLOSING, schedule_first=2, calls_max=2)),
    "fresh closures": (
        Cubes(2),
        replace(TRIGGERED, selection="closure", ladder=(Rung(0, 2),), fresh=True),
    ),
    "scheduled closures": (Cubes(2), replace(SCHEDULED, selection="closure", teachers=2)),
    "essential lists": (
        Cubes(1),
        replace(
            TRIGGERED, selection="sparse", teachers=2, list_cap=2, bottom_score=6, calls_max=1
        ),
    ),
}  # fmt: skip
SHORT: Pattern = (None, None)
LONG: tuple[Pattern, ...] = (
    SHORT,
    (None, (1, 1, 2), None),
    (None, None, None, (1, 1, 2)),
    ((1, 1, 2), None, (1, 0, 3), None),
    (None, (0, 1, 2), None, (0, 1, 2), None),
)


def check_season(case: str, most: int, pattern: Pattern) -> None:
    hypotheses, parameters = CASES[case]
    learner = season(hypotheses, parameters, most)
    cost, laws = charged(learner), laws_of(learner, pattern)
    assert failure(laws, float(cost.epsilon_pure)) <= float(cost.delta) + 1e-11
    # the enumeration does see losses: a price that is much too low is exceeded
    assert failure(laws, 0.05) > 0.001
    zcdp = charged(season(hypotheses, replace(parameters, selection_accounting="zcdp"), most))
    delta_z = Fraction(1, 20)
    epsilon, delta = guarantee(zcdp, delta_z)
    assert failure(laws, float(epsilon)) <= float(delta) + 1e-11


@pytest.mark.parametrize(("case", "most"), [*product(CASES, [1]), *product(list(CASES)[::2], [2])])
def test_seasons_cost_at_most_what_they_are_charged(case: str, most: int) -> None:
    check_season(case, most, SHORT)


@pytest.mark.campaign
@pytest.mark.parametrize("pattern", LONG)
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_longer_seasons_cost_at_most_what_they_are_charged(
    case: str, most: int, pattern: Pattern
) -> None:
    check_season(case, most, pattern)


@pytest.mark.parametrize("case", ["closures of teachers", "fresh closures", "essential lists"])
def test_another_user_in_the_place_of_one_is_like_other_examples_of_theirs(case: str) -> None:
    """The coupling of the proof: the two of them exchange their secret words."""
    learner = season(*CASES[case], 2)
    exchanged = SecretWords({**WORDS.users, OTHER_USER: WORDS.users[USER]})
    for stream in list(streams_of((None, (1, 1, 2), None, (0, 1, 2)), 2))[::5]:
        renamed = tuple((x, y, OTHER_USER if user == USER else user) for x, y, user in stream)
        assert law_of(learner, renamed, exchanged) == law_of(learner, stream, WORDS)


@pytest.mark.parametrize("rules", [True, False])
def test_renyi_divergences_of_dense_seasons_are_within_rho(rules: bool) -> None:
    """Without a failure mass every order can be looked at, over all fresh selections at once."""
    name = "scheduled rules" if rules else "rules by mistakes"
    hypotheses, parameters = CASES[name]
    learner = season(hypotheses, replace(parameters, selection_accounting="zcdp"), 2)
    cost, laws = charged(learner), laws_of(learner, (None, (1, 1, 2), None) if rules else SHORT)
    worst = 0.0
    for order in (1.001, 1.5, 2.0, 4.0, 16.0):
        ratios = (laws[:, None, :] / laws) ** (order - 1)
        divergence = np.log((laws[:, None, :] * ratios).sum(axis=2)).max() / (order - 1)
        assert divergence <= float(cost.epsilon_pure) + order * float(cost.rho) + 1e-9
        worst = max(worst, divergence / (order * float(cost.rho)))
    assert worst > 0.2


# --- prices are hardly more than they must be -----------------------------------------------------

# The user's mistake may come before others' chances to fire, or after them.
AROUND: Pattern = (None, (0, 0, 2), (0, 0, 2), (0, 0, 3), (0, 0, 3), None)


def test_a_trigger_costs_nearly_twice_its_rate() -> None:
    learner = season(Sets(1), replace(TRIGGERED, calls_max=0))
    (trigger, *_) = learner.season_events()
    laws = laws_of(learner, AROUND, points=1)
    needed = epsilon_at(laws, 0.0)
    assert 1.9 < needed <= 2
    assert charged(season(Sets(1), replace(TRIGGERED, calls_max=0), None)).epsilon_pure == (
        charged(learner).epsilon_pure - 1
    )
    assert trigger.name == "trigger_season"


TIGHT: dict[str, tuple[Any, OnlineParameters, Pattern, float]] = {
    "a histogram with vetoes": (
        Sets(1), replace(VETOING, bottom_score=3), (None, (1, 1, 2), None, (1, 1, 3)), 0.99
    ),
    "rules": (Thresholds(3), COUNTING, (None, (0, 1, 2), (1, 0, 3), (1, 0, 4)), 0.9),
    "proposals": (
        PREFIXES, replace(PROPOSING, bottom_score=4), (None, (1, 1, 2), None, (1, 1, 3)), 0.9
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TIGHT)
def test_a_selection_costs_nearly_what_it_is_charged(case: str) -> None:
    hypotheses, parameters, pattern, share = TIGHT[case]
    learner = season(hypotheses, parameters)
    cost = charged(learner)
    needed = epsilon_at(laws_of(learner, pattern), float(cost.delta))
    assert share * float(cost.epsilon_pure) < needed <= float(cost.epsilon_pure)


@pytest.mark.parametrize(("most", "share"), [(1, 0.999), (2, 0.999)])
def test_the_failure_of_a_histogram_is_what_it_is_charged(most: int, share: float) -> None:
    """All of a user's votes for an id that nobody else votes for."""
    learner = season(Sets(1), replace(VETOING, bottom_score=3), most)
    laws = laws_of(learner, (None, None, None, (1, 1, 2)))
    cost = charged(learner)
    mass = failure(laws, float(cost.epsilon_pure))
    assert share * float(cost.delta) < mass <= float(cost.delta) + 1e-11


# --- variants that must be caught -----------------------------------------------------------------


def exceeded(
    learner: OnlineLearner, pattern: Pattern, words: SecretWords = WORDS, points: int = 2
) -> bool:
    cost = charged(learner)
    laws = laws_of(learner, pattern, points, words)
    return failure(laws, float(cost.epsilon_pure)) > 1.2 * float(cost.delta) + 0.01


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("case", ["rules", "histogram", "fires"])
def test_a_cap_that_is_not_kept_is_caught(
    case: str, broken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken:
        monkeypatch.setattr(UserCounts, "admitted", lambda _, users, wanted, most: wanted)
    hypotheses, parameters, pattern = {
        "rules": (Thresholds(3), COUNTING, (None, None, None, (1, 0, 2))),
        "histogram": (Sets(1), replace(VETOING, bottom_score=4), (None, None, None, (1, 0, 2))),
        "fires": (Sets(1), replace(TRIGGERED, calls_max=0, trigger_threshold=4), (None,) * 6),
    }[case]
    learner = season(hypotheses, parameters)
    assert exceeded(learner, pattern, points=1 if case == "fires" else 2) == broken


def words_of_positions(self: OnlineLearner, state: OnlineState, noise: NoiseSource) -> OnlineState:
    """The example-level way: each kept example has a word of its own."""
    last = state.archive[-1]
    last = replace(last, teacher=np.arange(len(last), dtype=np.uint64))
    return replace(state, archive=(*state.archive[:-1], last))


@pytest.mark.parametrize("broken", [False, True])
def test_teachers_by_position_instead_of_user_are_caught(
    broken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken:
        monkeypatch.setattr(OnlineLearner, "_with_user_words", words_of_positions)
    learner = season(Cubes(2), CLOSING, 2)
    assert exceeded(learner, (None, None, (1, 1, 2), (1, 1, 4))) == broken


def without_the_full(self: OnlineLearner, state: OnlineState) -> OnlineState:
    """The background chosen among the examples that are within their users' caps."""
    buffer, counts, most = state.buffer, state.users_kept, self.parameters.user_examples_max
    assert buffer is not None
    assert buffer.users is not None
    assert counts is not None
    assert most is not None
    within = counts.admitted(buffer.users, ~buffer.mistake, most) | buffer.mistake
    return _close_epoch(self, replace(state, buffer=buffer.take(within)))


_close_epoch: Callable[[OnlineLearner, OnlineState], OnlineState] = OnlineLearner._close_epoch


@pytest.mark.parametrize("broken", [False, True])
def test_a_place_that_is_given_to_somebody_else_is_caught(
    broken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's mistake uses up the cap, so that the place at the end would fall to user 6."""
    if broken:
        monkeypatch.setattr(OnlineLearner, "_close_epoch", without_the_full)
    learner = season(
        Sets(1),
        replace(
            VETOING, background_max=1, bottom_score=3, selection_rate=Fraction(1), schedule_first=7
        ),
    )
    others = ((0, 1, 2), (0, 1, 3), (1, 1, 4), (1, 1, 5), (1, 0, 6))
    words = SecretWords(priorities=(5, 6, 7, 8, 9, 2, 1))
    assert exceeded(learner, (None, *others, None), words) == broken


@pytest.mark.parametrize("case", ["fires", "rules", "histogram"])
def test_the_price_of_an_example_is_not_enough_for_a_user(case: str) -> None:
    hypotheses, parameters, most, pattern = {
        "fires": (Sets(1), replace(TRIGGERED, calls_max=0), 1, AROUND),
        "rules": (Thresholds(3), COUNTING, 2, (None, None, (0, 1, 2), (1, 0, 3))),
        "histogram": (Sets(1), replace(VETOING, bottom_score=3), 2, (None, None, None, (1, 1, 2))),
    }[case]
    laws = laws_of(season(hypotheses, parameters, most), pattern, 1 if case == "fires" else 2)
    cost, right = (charged(season(hypotheses, parameters, each)) for each in (None, most))
    assert failure(laws, float(right.epsilon_pure)) <= float(right.delta) + 1e-11
    assert failure(laws, float(cost.epsilon_pure)) > float(cost.delta) + 0.001


def test_fresh_closures_of_a_user_cost_more_than_one_call() -> None:
    """A user's examples are in several epochs: what an example is charged does not pay for them."""
    parameters = replace(CLOSING, schedule_first=1, calls_max=3, bottom_score=2)
    laws = laws_of(season(Cubes(2), parameters, 2), (None, (0, 0, 2), (0, 0, 3), None))
    one, all_of_them = (charged(season(Cubes(2), parameters, each)) for each in (None, 2))
    assert all_of_them.epsilon_pure == 3 * one.epsilon_pure
    assert failure(laws, float(one.epsilon_pure)) > 1.2 * float(one.delta)
    assert failure(laws, float(all_of_them.epsilon_pure)) <= float(all_of_them.delta)


def test_examples_without_users_are_refused_where_users_are_protected() -> None:
    point, label = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.uint8)
    users: Users = np.zeros((1, 2), dtype=np.uint64)
    for most, given in ((1, None), (None, users)):
        learner = season(Sets(1), TRIGGERED, most)
        with pytest.raises(ValueError, match="with their users where users are protected"):
            learner.step(learner.initial(), Examples(Place(HEAD, 0, 0), point, label, given), WORDS)


def test_tests_with_fresh_noise_are_not_for_users() -> None:
    with pytest.raises(ValueError, match="protect single examples only"):
        replace(TRIGGERED, tests="cohen_lyu", tests_failure=Fraction(1, 20))
