"""A broad table of plans: every kind, class, selection, adversary, method, users; hashed.

`python -m support.plan_table [EVERY [FIRST]]` prints a row for every EVERY-th case of each part
from FIRST on: its digest and its name. Two machines that plan alike print the same.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from littled.budget.conversion import epsilon_of_rho, rho_of_epsilon
from littled.budget.unit import Unit
from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.classes.table import Table
from littled.planner import (
    OnlineRequest,
    PaperConstants,
    PlanError,
    StreamRequest,
    compare_ways,
    plan_stream,
)
from littled.planner.batch.request import BATCH_METHODS, BatchRequest
from littled.planner.leader.request import LeaderRequest
from littled.planner.minimum.plan import MinimumRequest
from littled.planner.most_frequent.plan import MostFrequentRequest
from littled.planner.online.request import Adversary
from littled.planner.partition.request import PartitionRequest
from littled.planner.prediction.request import METHODS, PredictionRequest
from littled.planner.prediction.search import compare_predictions
from littled.planner.requests import Request
from littled.planner.sequences.plan import SequencesRequest
from littled.planner.window_values import ValueRequest
from littled.ways import Asked
from oracle.planner.relabelling import relabelling_parameters, stability_parameters

TINY = Fraction(1, 10**6)
TENTH = Fraction(1, 10)
CLASSES = (
    "thresholds:256", "thresholds:100000", "points:16", "points:64", "sparse_sets:64:4",
    "sparse_sets:32:20", "prefixes:32", "affine:16:3", "stumps:8:32", "conjunctions:6",
    "conjunctions:20",
)  # fmt: skip
SELECTIONS: tuple[Asked, ...] = ("auto", "dense", "fresh", "sparse", "closure", "histogram")
ADVERSARIES: tuple[Adversary, ...] = ("none", "oblivious", "adaptive")
BUDGETS = ((1, TINY), (Fraction(1, 4), Fraction(1, 10**9)), (6, Fraction(1, 10**4)))
Case = tuple[str, Callable[[], object]]


def digest(case: Callable[[], object]) -> str:
    """What a case comes to; a refusal counts with its words."""
    try:
        found = case()
    except PlanError as error:
        found = f"refused: {error}"
    text = json.dumps(found, sort_keys=True, default=_exact)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _exact(value: object) -> str:
    return f"{value.numerator}/{value.denominator}" if isinstance(value, Fraction) else repr(value)


def _table() -> HypothesisClass:
    matrix = np.random.default_rng(5).integers(0, 2, (40, 30)).astype(np.bool_)
    return Table.from_matrix([f"rule {row}" for row in range(len(matrix))], matrix)


def _classes() -> Iterator[tuple[str, HypothesisClass]]:
    yield from ((name, class_from_name(name)) for name in CLASSES)
    yield "table", _table()


def _planned(request: StreamRequest) -> Callable[[], object]:
    return lambda: plan_stream(request).to_dict()


def _compared(request: StreamRequest) -> Callable[[], object]:
    """The plan with every figure that is shown beside it."""
    online = isinstance(request.learners[0], OnlineRequest)
    compare = compare_ways if online else compare_predictions
    return lambda: [astuple(row) for row in compare(request)]


def _stream(learner: Request, *, budget: int = 0) -> StreamRequest:
    epsilon, delta = BUDGETS[budget]
    return StreamRequest("s", Fraction(epsilon), delta, 200_000, (learner,))


def _online() -> Iterator[Case]:
    for (name, hypotheses), selection, adversary in product(
        list(_classes()), SELECTIONS, ADVERSARIES
    ):
        noises = (Fraction(0), TENTH) if selection == "auto" else (Fraction(0),)
        budgets = range(len(BUDGETS)) if selection == "auto" and name in CLASSES[:6:2] else (0,)
        for noise, budget in product(noises, budgets):
            learner = OnlineRequest("l", hypotheses, noise, selection, adversary=adversary)
            title = f"{name} {selection} {adversary} noise {noise} budget {budget}"
            yield title, _planned(_stream(learner, budget=budget))
    for name, hypotheses in _classes():
        learner = OnlineRequest("l", hypotheses, selection="sparse", teachers=300)
        yield f"{name} teachers", _planned(_stream(learner, budget=2))
        yield f"{name} compared", _compared(_stream(OnlineRequest("l", hypotheses)))
        constants = PaperConstants(teachers=Fraction(60))
        paper = OnlineRequest("l", hypotheses, selection="paper", paper=constants)
        yield f"{name} paper", _planned(_stream(paper))


def _users() -> Iterator[Case]:
    for (name, hypotheses), adversary, most in product(list(_classes()), ADVERSARIES, (1, 5)):
        learner = OnlineRequest("l", hypotheses, adversary=adversary)
        request = StreamRequest("s", Fraction(2), TINY, 200_000, (learner,), unit=Unit(most))
        yield f"{name} users {most} {adversary}", _planned(request)


def _predictions() -> Iterator[Case]:
    for (name, hypotheses), method, noise in product(
        list(_classes()), METHODS, (Fraction(0), TENTH)
    ):
        for answers in (None, 20):
            excess = Fraction(1, 20) if answers is None else None
            learner = PredictionRequest("l", hypotheses, 50_000, noise, excess, answers, method)
            yield f"{name} {method} noise {noise} answers {answers}", _planned(_stream(learner))
    for name, hypotheses in _classes():
        yield (
            f"{name} answers compared",
            _compared(_stream(PredictionRequest("l", hypotheses, 50_000))),
        )


def _batches() -> Iterator[Case]:
    names = (*CLASSES, "scorecard:12x7x24")
    for name, method, (alpha, window) in product(
        names, BATCH_METHODS, ((TENTH, None), (None, 500))
    ):
        learner = BatchRequest("l", class_from_name(name), window, alpha, method=method)
        yield f"batch {name} {method} {alpha} {window}", _planned(_stream(learner))


def _leaders() -> Iterator[Case]:
    for name, most, budget in product(
        ("64x64x7cox2", "12x7x24", "8", "x".join(["8"] * 40)), (None, 1, 3), range(len(BUDGETS))
    ):
        learner = LeaderRequest("l", class_from_name(f"scorecard:{name}"), columns_max=most)
        yield f"scorecard {name} {most} {budget}", _planned(_stream(learner, budget=budget))


def _partitions() -> Iterator[Case]:
    for name, budget in product(("32:128", "128:1024", "8:4", "16:4"), range(len(BUDGETS))):
        learner = PartitionRequest("l", class_from_name(f"prefix_sets:{name}"))
        yield f"prefix_sets {name} {budget}", _planned(_stream(learner, budget=budget))


def _windows() -> Iterator[tuple[Fraction | None, int | None]]:
    """The error of a window's value, or how many examples it has."""
    yield from ((TENTH, None), (Fraction(1, 3), None), (None, 500), (None, 20_000))


def _values(asked: type[ValueRequest], names: Sequence[str]) -> Iterator[Case]:
    """Learners that publish a value of each window."""
    for name, (alpha, window), budget in product(names, _windows(), range(len(BUDGETS))):
        learner = asked("l", class_from_name(name), window, alpha)
        title = f"{name} {alpha} {window} budget {budget}"
        yield title, _planned(_stream(learner, budget=budget))


def _others() -> Iterator[Case]:
    yield from _conversions()
    prefixes = class_from_name("prefixes:32")
    both = (OnlineRequest("a", prefixes), PredictionRequest("b", prefixes, 50_000))
    points = class_from_name("points:64")
    sets = class_from_name("sparse_sets:64:8")
    yield "two kinds", _planned(StreamRequest("s", Fraction(1), TINY, 1_000_000, both))
    three = tuple(OnlineRequest(n, c) for n, c in (("a", points), ("b", sets), ("c", points)))
    yield "three", _planned(StreamRequest("s", Fraction(3), TINY, 1_000_000, three))


def _conversions() -> Iterator[Case]:
    """Prices converted, and parameters with proven errors."""
    for numerator, digits in product((1, 37, 999), (3, 6, 12, 30)):
        rho, delta = Fraction(numerator, 1000), Fraction(1, 10**digits)
        yield f"epsilon of {rho} {delta}", partial(epsilon_of_rho, rho, delta)
        yield f"rho of {rho} {delta}", partial(rho_of_epsilon, rho, delta)

    def labelings(n: int) -> int:
        return n + 1

    yield "stability", lambda: astuple(stability_parameters(Fraction(1), 10_000, labelings))
    yield (
        "relabelling",
        lambda: astuple(relabelling_parameters(Fraction(1), TINY, 200_000, labelings)),
    )


# By kind of learner, and whatever else there is.
KINDS: dict[str, Callable[[], Iterator[Case]]] = {
    "online": _online,
    "prediction": _predictions,
    "batch": _batches,
    "leader": _leaders,
    "partition": _partitions,
    "minimum": partial(_values, MinimumRequest, ("integers:8", "integers:32")),
    "most_frequent": partial(_values, MostFrequentRequest, ("strings:8", "strings:32")),
    "sequences": partial(_values, SequencesRequest, ("oneway:8", "oneway:32")),
}
PARTS = (*KINDS.values(), _users, _others)


def main(every: str = "1", first: str = "0") -> None:
    """Print the rows."""
    for part in PARTS:
        for name, case in list(part())[int(first) :: int(every)]:
            print(digest(case), name, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
