"""What a configuration asks of a window learner."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from littled.classes.hypothesis import HypothesisClass
from littled.learners.batch import Method
from littled_protocol.rules import Words

AskedBatchMethod = Method | Literal["auto"]
BATCH_METHODS: tuple[Method, ...] = get_args(Method)

# Chance that a window's rule is worse than asked for.
BETA = Fraction(1, 10)
# Share of examples with label 1, for estimates.
POSITIVES = Fraction(1, 10)


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """What a configuration asks of one window learner.

    Either `window`, n examples in each, or `alpha`, the error of its rule: then the planner finds
    n. In both cases a rule may be worse with probability `beta`. `noise_rate`: the share of labels
    that may contradict the best rule; an error is in excess of that rule's. `positives`: about the
    share of examples with label 1, which estimates depend on and chunks are chosen by; no price
    does.
    """

    kind: ClassVar[str] = "batch"

    name: str
    hypotheses: HypothesisClass
    window: int | None = None
    alpha: Fraction | None = None
    beta: Fraction = BETA
    method: AskedBatchMethod = "auto"
    noise_rate: Fraction = Fraction(0)
    positives: Fraction = POSITIVES
    words: Words = field(default_factory=Words)


def problem(request: BatchRequest, horizon: int) -> str | None:
    """What is wrong with a request whatever the budget, in a sentence; None if nothing is."""
    window, alpha = request.window, request.alpha
    wrong = (
        (
            (window is None) == (alpha is None),
            "give either window or alpha, and the planner finds the other",
        ),
        (
            window is not None and not 1 <= window <= horizon,
            f"window must be from 1 to the stream's horizon of {horizon:,} examples, or no window "
            "would ever be full",
        ),
        (
            alpha is not None and request.hypotheses.additive is not None,
            "what a scorecard errs is not known beforehand; give window instead of alpha",
        ),
        (
            request.noise_rate > 0 and request.hypotheses.additive is not None,
            "a scorecard does not need a noise_rate; leave it out",
        ),
        (alpha is not None and not 0 < alpha < 1, "alpha must be between 0 and 1"),
        (not 0 < request.beta < 1, "beta must be between 0 and 1"),
        (
            not 0 <= request.noise_rate < Fraction(1, 2),
            "noise_rate must be at least 0 and below 0.5",
        ),
        (not 0 < request.positives < 1, "positives must be between 0 and 1"),
    )
    return next((sentence for holds, sentence in wrong if holds), None)
