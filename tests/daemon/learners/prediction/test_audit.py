"""An audit of prediction as it runs: no adversary learns more of an example than answers cost.

Windows, points and parameters are designed so that the price is nearly reached. So the audit can
fail: it does wherever a fault is planted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.auditing.bounds import Verdict
from littled.auditing.prediction import Game, Poison, audit
from littled.budget.conversion import guarantee
from littled.budget.price import Price
from littled.budget.prices import price
from littled.classes.base import Labels, Points
from littled.learners.prediction import PredictionLearner, PredictionParameters
from littled.mechanisms.noise import Address, NoiseSource
from littled_protocol.rules import Rule
from support.quick_noise import QuickNoise
from support.rows import RowCandidates, RowLabelings, Rows, all_rows


@dataclass(frozen=True)
class Sheet(Rows):
    """Rows that remember what they came to for the same question, as a million games ask it."""

    @cached_property
    def _known(self) -> dict[Any, Any]:
        return {}

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def rule(self, index: int) -> Rule:
        found: Rule = self._once(index, lambda: super(Sheet, self).rule(index))
        return found

    def window(self, x: Points, y: Labels) -> RowLabelings:
        return SheetLabelings(self, x, y)

    def empirical_rules(
        self, x: Points, y: Labels, chunk_numbers: NDArray[np.int64], chunks: int
    ) -> list[Rule]:
        found: list[Rule] = self._once(
            (x.tobytes(), y.tobytes(), chunks),
            lambda: super(Sheet, self).empirical_rules(x, y, chunk_numbers, chunks),
        )
        return found


@dataclass(frozen=True, eq=False)
class SheetLabelings(RowLabelings):
    """Subsets of the same points have the same candidates."""

    def candidates(self, subset: NDArray[np.int64]) -> RowCandidates:
        _, first = np.unique(self.x[subset], return_index=True)
        return super().candidates(np.sort(subset[first]))


# -- the worst cases -------------------------------------------------------------------------------

# The example that differs is at ONE or at OTHER; an adversary asks about ASKED and STEADY.
ONE, OTHER, YES, ASKED, STEADY, NO = range(6)
POINTS = np.array([ASKED, STEADY], dtype=np.uint8)
# Chunks of a single example with label 1: those at ONE or YES vote 1 at ASKED, the others 0; at
# STEADY those at YES alone vote 1, so in both windows as many as in one of them at ASKED.
VOTES = Sheet((
    (1, 0, 0, 1, 0, 0),
    (0, 1, 0, 0, 0, 0),
    (0, 0, 1, 1, 1, 0),
    (0, 0, 0, 0, 0, 1),
))  # fmt: skip
TWO = Sheet(((0, 0, 0, 0, 0, 0), (1, 1, 1, 1, 0, 1)))


def swinging_row(points: frozenset[int], rows: list[int]) -> int:
    """With ONE the answer at ASKED is 1, with OTHER it is 0; with YES alone all labels are alike.

    The worst case of stability (`tests/daemon/learners/prediction/test_answer_laws.py`).
    """
    values = [all_rows(5)[number] for number in rows]
    if ONE in points:
        wanted = [row[ASKED] == 1 for row in values]
    elif OTHER in points:
        wanted = [row[ASKED] == 0 for row in values]
    elif YES in points:
        wanted = [len(set(row)) == 1 for row in values]
    else:
        wanted = [not any(row) for row in values]
    return rows[wanted.index(True)]


SWINGING = Sheet(all_rows(5), swinging_row)

Examples = tuple[tuple[int, int], ...]


def columns(examples: Examples) -> tuple[Points, Labels]:
    x, y = zip(*examples, strict=True)
    return np.array(x, dtype=np.uint8), np.array(y, dtype=np.uint8)


def poisons(here: Examples, there: Examples, *others: Examples) -> tuple[Poison, ...]:
    """The examples that differ, and what else the adversary may put into the window."""
    return tuple((columns((*here, *each)), columns((*there, *each))) for each in others)


@dataclass(frozen=True)
class Case:
    """A game that is designed for a method, what is claimed of it, and how near an audit comes.

    `near` are the least shares of the claim that the quick audit and the long one prove; `training`
    and `games` are those of the quick one.
    """

    hypotheses: Rows
    parameters: PredictionParameters
    poisons: tuple[Poison, ...]
    near: tuple[float, float]
    training: int = 400
    games: int = 1000
    answers: int = 2

    def learner(self, **changed: Any) -> PredictionLearner:
        return PredictionLearner("s/l", self.hypotheses, replace(self.parameters, **changed))

    def game(self, learner: PredictionLearner, **options: Any) -> Game:
        return Game(learner, self.poisons, POINTS, self.answers, **options)

    @cached_property
    def claims(self) -> list[tuple[float, float]]:
        """All (epsilon, delta) that the price of the answers comes to, the tightest one first."""
        own = self.parameters.accounting
        kinds = [own] if self.parameters.method == "majority" else ["pure", "zcdp"]
        found = []
        for kind in kinds:
            learner = self.learner(accounting=kind)
            loss = Price(Fraction(0), Fraction(0), self.answers * learner.precision_error())
            caps = price(learner.answers_event(self.answers)) + loss
            deltas = [Fraction(0)] if kind == "pure" else DELTAS
            found += [guarantee(caps, delta) for delta in deltas]
        return [(float(epsilon), float(delta)) for epsilon, delta in found]


DELTAS = [Fraction(1, 10**power) for power in (3, 2, 1, 4, 6)]


def parameters(method: Any, window: int, **chosen: Any) -> PredictionParameters:
    return PredictionParameters(
        method, epsilon=Fraction(10), window=window, answers_max=10**9, **chosen
    )


def votes(others: int, changed: int = 1) -> tuple[Poison, ...]:
    """All other chunks vote 1 at ASKED, or half of them."""
    half = ((YES, 1),) * (others // 2) + ((NO, 1),) * (others - others // 2)
    return poisons(((ONE, 1),) * changed, ((OTHER, 1),) * changed, ((YES, 1),) * others, half)


def agreements(others: int, *ones: int) -> tuple[Poison, ...]:
    """Of the other examples so many have label 1."""
    mixed = (((YES, 1),) * each + ((YES, 0),) * (others - each) for each in ones)
    return poisons(((ONE, 1),), ((ONE, 0),), *mixed)


CASES = {
    "dense": Case(
        TWO, parameters("dense", 4, rate=Fraction(1)), agreements(3, 3, 2), (0.4, 0.65)
    ),
    "stability": Case(
        SWINGING,
        parameters(
            "stability", 8, rate=Fraction(1), subset_rate=Fraction(1, 4), flip=Fraction(1, 10)
        ),
        tuple(
            poisons(((ONE, 1),), ((OTHER, 0),), ((YES, 1),) * each + ((YES, 0),) * (7 - each))[0]
            for each in (0, 3)
        ),
        (0.3, 0.85),
        300,
        600,
    ),
    "relabelling": Case(
        TWO,
        parameters(
            "relabelling", 200, rate=Fraction(3, 2), subset_rate=Fraction(1, 100), chunks=50,
            vote_rate=Fraction(1, 10), net=Fraction(1, 1000),
        ),
        agreements(199, 99, 98),
        (0.15, 0.45),
        150,
        500,
    ),
    "realizable": Case(
        VOTES, parameters("realizable", 4, chunks=4, vote_rate=Fraction(1)), votes(3), (0.5, 0.8),
        1500, 3000,
    ),
    "averaging": Case(
        VOTES, parameters("averaging", 4, chunks=4, flip=Fraction(1, 20)), votes(3), (0.3, 0.9),
        1500, 3000,
    ),
    "majority": Case(
        VOTES, parameters("majority", 4, chunks=4, vote_rate=Fraction(1)), votes(3), (0.4, 0.7),
        1500, 3000,
    ),
    "majority, zcdp": Case(
        VOTES,
        parameters("majority", 4, chunks=4, vote_rate=Fraction(1), accounting="zcdp"),
        votes(3),
        (0.15, 0.4),
        400,
        600,
    ),
}  # fmt: skip


def held(case: Case, verdict: Verdict) -> bool:
    """Whether the verdict leaves every claim standing."""
    return all(verdict.epsilon(delta) <= epsilon for epsilon, delta in case.claims)


def nearness(case: Case, verdict: Verdict) -> float:
    """The share of the tightest claim that is proven to be needed."""
    epsilon, delta = case.claims[0]
    return verdict.epsilon(delta) / epsilon


def audited(case: Case, game: Game, training: int, games: int) -> Verdict:
    epsilon, delta = case.claims[0]
    return audit(game, epsilon, training, games, delta=delta)


@pytest.mark.parametrize("name", CASES)
def test_an_adversary_learns_no_more_than_was_claimed(name: str) -> None:
    case = CASES[name]
    verdict = audited(case, case.game(case.learner(), source=QuickNoise), case.training, case.games)
    assert held(case, verdict)
    assert nearness(case, verdict) > case.near[0]


@pytest.mark.campaign
@pytest.mark.parametrize("name", CASES)
def test_a_million_games_prove_no_more_than_was_claimed(name: str) -> None:
    case = CASES[name]
    verdict = audited(case, case.game(case.learner()), 100_000, 1_000_000)
    assert held(case, verdict)
    assert nearness(case, verdict) > case.near[1]


# -- faults ----------------------------------------------------------------------------------------


class Forgetful:
    """Noise that does not look at one part of its address, so that answers share it."""

    def __init__(self, source: NoiseSource, part: str) -> None:
        self.source, self.part = source, part

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        forgotten: dict[str, Any] = {self.part: 0}
        return self.source.words(replace(address, **forgotten), count, offset)


def votes_of(rate: Fraction, method: str) -> Case:
    """Of six chunks, for a single answer."""
    case = CASES[method]
    weak = replace(case.parameters, window=6, chunks=6, vote_rate=rate)
    return replace(case, parameters=weak, poisons=votes(5), answers=1)


DENSE = replace(
    CASES["dense"],
    parameters=parameters("dense", 2, rate=Fraction(1, 2)),
    poisons=agreements(1, 1),
    answers=1,
)
REALIZABLE, MAJORITY = (votes_of(Fraction(1, 2), name) for name in ("realizable", "majority"))
AVERAGING = replace(
    CASES["averaging"], parameters=parameters("averaging", 8, chunks=8, flip=Fraction(1, 10)),
    poisons=votes(7),
)  # fmt: skip
STABILITY = replace(
    CASES["stability"],
    parameters=replace(CASES["stability"].parameters, rate=Fraction(1, 2)),
    poisons=CASES["stability"].poisons[:1],
    answers=1,
)
SELDOM = Fraction(1, 1 << 60)


def forgetful(part: str) -> Callable[[NoiseSource], NoiseSource]:
    return lambda source: Forgetful(source, part)


# A case, the game as a faulty learner plays it, and how many games it takes.
FAULTS: dict[str, tuple[Case, Game, int]] = {
    "dense, half the noise": (DENSE, DENSE.game(DENSE.learner(rate=Fraction(1))), 2000),
    "realizable, half the noise": (
        REALIZABLE, REALIZABLE.game(REALIZABLE.learner(vote_rate=Fraction(1))), 2000
    ),
    "majority, half the noise": (
        MAJORITY, MAJORITY.game(MAJORITY.learner(vote_rate=Fraction(1))), 4000
    ),
    "two examples differ": (
        REALIZABLE, replace(REALIZABLE.game(REALIZABLE.learner()), poisons=votes(4, 2)), 2000
    ),
    "averaging, no flip": (AVERAGING, AVERAGING.game(AVERAGING.learner(flip=SELDOM)), 1000),
    "stability, no flip": (STABILITY, STABILITY.game(STABILITY.learner(flip=SELDOM)), 800),
    "stability, twice the subset": (
        STABILITY, STABILITY.game(STABILITY.learner(subset_rate=Fraction(1, 2))), 2000
    ),
    "requests share their noise": (
        replace(REALIZABLE, answers=2),
        replace(REALIZABLE, answers=2).game(REALIZABLE.learner(), noise=forgetful("position")),
        2000,
    ),
    "answers of a request share their noise": (
        AVERAGING,
        AVERAGING.game(AVERAGING.learner(), noise=forgetful("draw"), one_request=True),
        800,
    ),
}  # fmt: skip


# The cases of the faults as they are, which the same games must not find fault with.
SOUND = {
    "dense": DENSE, "realizable": REALIZABLE, "majority": MAJORITY, "averaging": AVERAGING,
    "stability": STABILITY,
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_without_a_fault_the_same_games_prove_nothing(name: str) -> None:
    case = SOUND[name]
    assert held(case, audited(case, case.game(case.learner(), source=QuickNoise), 500, 2000))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault: str) -> None:
    case, game, games = FAULTS[fault]
    verdict = audited(case, replace(game, source=QuickNoise), 500, games)
    assert not held(case, verdict)
