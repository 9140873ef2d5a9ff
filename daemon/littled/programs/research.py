"""A stream in a few lines, for research: what is published, how often it was wrong, what it cost.

plan = plan_of("thresholds:256", epsilon=1, delta=1e-6, horizon=100_000)
found = run(plan, [(x, y)], seed=1)
found.mistakes, found.releases[-1].rule, found.charges
"""

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.engine import PublishedRule, Runner, progressive
from littled.learners.given import typed
from littled.planner import OnlineRequest, StreamPlan, StreamRequest, plan_stream
from littled.programs.spending import Spending, spending_of
from littled.written import as_written
from littled_protocol.columns import Labels, Points

KEY_BYTES = 32
LEARNER = "rule"


@dataclass(frozen=True, slots=True)
class Run:
    """What one learner did on a stream. `mistakes` is not private: no daemon tells it.

    releases: everything published, the first rule first. mistakes: of the rule that was published
    when each example came. charges: what was booked, in order, each a JSON-able map. spending: the
    same in epsilons, by position. wrong: bool (n,), where the mistakes were; not private either.
    """

    releases: tuple[PublishedRule, ...]
    mistakes: int
    charges: tuple[dict[str, Any], ...]
    spending: Spending
    wrong: NDArray[np.bool_] = field(repr=False, compare=False)


def plan_of(
    hypotheses: str | HypothesisClass,
    *,
    epsilon: float | Fraction,
    delta: float | Fraction,
    horizon: int,
    noise_rate: float | Fraction | None = None,
    **asked: Any,
) -> StreamPlan:
    """The plan of a stream with one learner, named "rule".

    Floats are taken as they are written. noise_rate: as in a configuration; None if nothing is told
    of the stream. asked: further fields of
    `littled.planner.OnlineRequest`, such as `selection` or `adversary`. Raises ClassError for a
    class that there is not, PlanError where nothing can be planned, ValueError for a delta or a
    horizon that makes no sense.
    """
    if not isinstance(horizon, Integral) or horizon < 1:
        raise ValueError("a horizon is a whole number of examples, at least 1")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be above 0 and below 1, not {float(delta):g}")
    found = class_from_name(hypotheses) if isinstance(hypotheses, str) else hypotheses
    asked.setdefault("nothing_told", noise_rate is None)
    learner = OnlineRequest(LEARNER, found, noise_rate=as_written(noise_rate or 0), **asked)
    amounts = as_written(epsilon), as_written(delta)
    return plan_stream(StreamRequest("stream", *amounts, int(horizon), (learner,)))


def run(plan: StreamPlan, batches: Iterable[tuple[Any, Any]], seed: int | None = None) -> Run:
    """Run the first learner of a plan over batches of examples, in this process.

    batches: points and labels of n examples each, as `littled.learners.examples_of` takes them,
    integers (n,) or (n, columns), and True and False, or 1 and 0, (n,). seed: an integer, for noise
    to be seen again; without one it is new. Raises ValueError, with the number of the batch from 1
    on, for examples that do not fit.
    """
    runner = Runner(plan, key_of(seed))
    name = plan.publishing[0].name
    progress = progressive(runner, _checked(plan, batches))[name]
    charges = tuple(dict(entry.event) for entry in runner.transcript.entries)
    wrong = np.concatenate([np.zeros(0, dtype=np.bool_), *progress.wrong])
    return Run(runner.published(name), progress.mistakes, charges, spending_of(runner), wrong)


def _checked(plan: StreamPlan, batches: Iterable[Any]) -> Iterator[tuple[Points, Labels]]:
    """The batches as arrays of the plan's types."""
    name = plan.publishing[0].hypotheses.name if plan.schema is None else plan.stream
    for number, batch in enumerate(batches, start=1):
        if not isinstance(batch, Sequence) or len(batch) != 2:
            raise ValueError(f"batch {number}: it is no pair of points and labels")
        try:
            points, labels = typed(plan.x_type, name, *batch)
        except ValueError as error:
            raise ValueError(f"batch {number}: {error}") from None
        yield points, labels


def key_of(seed: int | None) -> bytes:
    """The noise key of a seed, or a new secret one; ValueError for a seed that is no integer."""
    if seed is None:
        return secrets.token_bytes(KEY_BYTES)
    if not isinstance(seed, Integral):
        raise ValueError("a seed is an integer, or None for new noise")
    return hashlib.blake2b(
        str(int(seed)).encode(), digest_size=KEY_BYTES, person=b"research"
    ).digest()
