"""Public parameters of the prediction learner: fixed before any data."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any, Literal, Self, get_args

from littled.budget.events import Accounting
from littled.learners.online.parameters import plain_values, stored_values
from littled.written import write_exactly

Method = Literal["dense", "stability", "relabelling", "realizable", "averaging", "majority"]

# What a method needs above 0, and what it may have besides; it has none of the others.
_NEEDED: dict[Method, tuple[str, ...]] = {
    "dense": ("rate",),
    "stability": ("rate", "subset_rate", "flip"),
    "relabelling": ("rate", "subset_rate", "chunks", "vote_rate", "net"),
    "realizable": ("chunks", "vote_rate"),
    "averaging": ("chunks", "flip"),
    "majority": ("chunks", "vote_rate"),
}
_ALLOWED: dict[Method, tuple[str, ...]] = {"relabelling": ("flip",)}
_CHOSEN = ("rate", "subset_rate", "flip", "chunks", "vote_rate", "net")
_FRACTIONS = ("epsilon", "rate", "subset_rate", "flip", "vote_rate", "net")


@dataclass(frozen=True, slots=True)
class PredictionParameters:
    """Public parameters of the prediction learner. All of them set prices.

    - `method`: how an answer is made.
      - "dense": h(x), h from the exponential mechanism over all rules (Kasiviswanathan and others).
      - "stability": h(x), h from the exponential mechanism over one rule for each labeling of a
        random subset, then a flip (Dagan and Feldman, Corollary 2).
      - "relabelling": the window is relabelled by such an h; chunks of it vote (Theorem 12).
      - "realizable": chunks of the window vote; the coin of the exponential mechanism (Lemma 9).
      - "averaging": the rule of one random chunk, then a flip.
      - "majority": chunks vote, with noise on their lead (`littled.mechanisms.noisy_majority`).
    - `epsilon`: what is promised for all that is released about an example; finite precision is
      charged for it.
    - `window`: examples in a window; an example belongs to one window.
    - `answers_max`: answers that a window serves at most.
    - `accounting`: whether answers are booked as pure or as zCDP; for "majority" also their law.
    - `rate`: e of one unit of score. `subset_rate`: q. `flip`: a. `vote_rate`: v of one vote.
    - `chunks`: k; example i of a window is in chunk i modulo k.
    - `net`: eta; two rules that agree on the subset are taken to differ on a share of at most eta
      of the other examples.

    ValueError, one sentence, for values and combinations that no learner can have.
    """

    method: Method
    epsilon: Fraction
    window: int
    answers_max: int
    accounting: Accounting = "pure"
    rate: Fraction = Fraction(0)
    subset_rate: Fraction = Fraction(0)
    flip: Fraction = Fraction(0)
    chunks: int | None = None
    vote_rate: Fraction = Fraction(0)
    net: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Say the first thing that is wrong, if anything is."""
        write_exactly(self, *_FRACTIONS)
        # one after the other: amounts are compared only if they are amounts
        for problem in chain(_wrong_types(self), _wrong_values(self), _wrong_combinations(self)):
            raise ValueError(problem)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; fractions as "numerator/denominator"."""
        return plain_values(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The parameters that `to_dict` wrote; ValueError names what is missing or unknown.

        Parameters that came later have defaults; what was stored before them lacks them.
        """
        return cls(**stored_values(cls, values, "prediction learner", _FRACTIONS))


def _wrong_types(p: PredictionParameters) -> Iterator[str]:
    """Words that are none, and amounts that are not exact."""
    for name, words in (("method", get_args(Method)), ("accounting", get_args(Accounting))):
        if getattr(p, name) not in words:
            yield f"{name} must be one of {', '.join(words)}"
    for name in _FRACTIONS:
        if not isinstance(getattr(p, name), Fraction):
            yield f"{name} must be a Fraction, so that it is exact"
    for name in ("window", "answers_max", *(("chunks",) if p.chunks is not None else ())):
        if type(getattr(p, name)) is not int:
            yield f"{name} must be an integer"


def _wrong_values(p: PredictionParameters) -> Iterator[str]:
    """What no value of one parameter may be."""
    for name in _FRACTIONS:
        if getattr(p, name) < 0:
            yield f"{name} must not be negative"
    if p.window < 1 or p.answers_max < 1:
        yield "window and answers_max must be at least 1"
    if p.subset_rate >= 1:
        yield "subset_rate must be below 1, as a subset without an example must be possible"
    if 2 * p.flip >= 1:
        yield "flip must be below 1/2, as nothing is said by a fair coin"
    if p.chunks is not None and not 1 <= p.chunks <= p.window:
        yield "chunks must be from 1 to the number of examples in a window"


def _wrong_combinations(p: PredictionParameters) -> Iterator[str]:
    """What a method lacks, and what it has no use for."""
    needed, allowed = _NEEDED[p.method], _ALLOWED.get(p.method, ())
    for name in _CHOSEN:
        given = bool(getattr(p, name))
        if name in needed and not given:
            yield f"{p.method} needs {name} above 0"
        if given and name not in (*needed, *allowed):
            yield f"{p.method} has no use for {name}; leave it out"
