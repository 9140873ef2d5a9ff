"""Public parameters of the window learner: fixed before any data, recorded in the store."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any, Literal, Self, get_args

from littled.budget.events import Accounting
from littled.budget.unit import USER_EXAMPLES_MAX
from littled.learners.online.parameters import plain_values, stored_values
from littled.written import write_exactly

Method = Literal["dense", "histogram", "proposals", "closure", "teachers", "boosted"]

# What a method needs above 0, and what it may have besides; it has none of the others.
_NEEDED: dict[Method, tuple[str, ...]] = {
    "dense": (),
    "histogram": ("bottom_score",),
    "proposals": ("bottom_score", "list_cap"),
    "closure": ("bottom_score", "list_cap", "chunks"),
    "teachers": ("bottom_score", "list_cap", "chunks"),
    "boosted": ("rounds", "step"),
}
_ALLOWED: dict[Method, tuple[str, ...]] = {"teachers": ("tolerance", "stage_rate")}
_CHOSEN = ("bottom_score", "list_cap", "chunks", "tolerance", "stage_rate", "rounds", "step")
_FRACTIONS = ("epsilon", "rate", "noise_rate", "tolerance", "stage_rate")
_INTEGERS = ("horizon", "window", "bottom_score", "list_cap", "chunks", "rounds", "step")
# More rounds would make points that no rule can have.
ROUNDS_MAX, STEP_MAX = 1024, 1000
# Of so many examples nobody waits for the rule.
WINDOW_MAX = 1 << 40


@dataclass(frozen=True, slots=True)
class BatchParameters:
    """Public parameters of the window learner.

    Privacy-critical (they set prices): all but `noise_rate`, `tolerance` and `step`; but whether
    `noise_rate` is 0 decides whether examples of a histogram veto, and so its price.

    - `method`: how a window's rule is drawn.
      - "dense": the exponential mechanism over all rules of the class.
      - "histogram": every id that enough examples name, all at once.
      - "proposals": over the rules that examples propose, and bottom.
      - "closure": over the smallest rules around the positive examples of chunks, and bottom.
      - "teachers": over the essential rules of chunks, and bottom (Lyu, Theorem 3).
      - "boosted": a stump in each of several rounds, which add up to a scorecard.
    - `epsilon`: what is promised for all that is released about an example; finite precision is
      charged for it.
    - `horizon`: examples in a season. `window`: examples in a window, n.
    - `rate`: e of one unit of score. `accounting`: how its price is booked.
    - `noise_rate`: share of labels that may contradict the best rule.
    - `bottom_score`: B, the score of bottom, or the threshold of a histogram.
    - `list_cap`: L, the longest list of one example or chunk.
    - `chunks`: k; example i of a window is in chunk i modulo k.
    - `tolerance`: alpha of the lists of teachers: with d the Littlestone dimension, a rule may err
      on a share of alpha (1 - 1/(2d))^j of its chunk at stage j. 0: on no example.
    - `stage_rate`: e of the stage tests of teachers; None where there is one stage.
    - `rounds`: stumps of a scorecard. `step`: points of the first; the k-th has step / sqrt(k).
    - `user_examples_max`: c of "User-level privacy" (PRIVACY.md): the first c examples of each user
      and season are learned from, and everything is priced for them together; None where one
      example is protected.

    ValueError, one sentence, for values and combinations that no learner can have.
    """

    method: Method
    epsilon: Fraction
    horizon: int
    window: int
    rate: Fraction
    accounting: Accounting = "pure"
    noise_rate: Fraction = Fraction(0)
    bottom_score: int = 0
    list_cap: int = 0
    chunks: int = 0
    tolerance: Fraction = Fraction(0)
    stage_rate: Fraction | None = None
    user_examples_max: int | None = None
    rounds: int = 0
    step: int = 0

    def __post_init__(self) -> None:
        """Say the first thing that is wrong, if anything is."""
        write_exactly(self, *_FRACTIONS)
        # one after the other: amounts are compared only if they are amounts
        for problem in chain(_wrong_types(self), _wrong_values(self), _wrong_combinations(self)):
            raise ValueError(problem)

    @property
    def windows(self) -> int:
        """Windows of a season, each with one release; what is left over at its end is in none."""
        return self.horizon // self.window

    @property
    def user_windows_max(self) -> int:
        """Windows of a season with examples of one user; 1 for an example.

        Of neighbours they are the same ones, as positions alone decide what is learned from.
        """
        return min(self.windows, self.user_examples_max or 1)

    @property
    def vetoes(self) -> bool:
        """Whether an example with label 0 counts against its id in a histogram."""
        return self.noise_rate > 0

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; fractions as "numerator/denominator"."""
        return plain_values(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The parameters that `to_dict` wrote; ValueError names what is missing or unknown.

        Parameters that came later have defaults; what was stored before them lacks them.
        """
        return cls(**stored_values(cls, values, "window learner", _FRACTIONS))


def _wrong_types(p: BatchParameters) -> Iterator[str]:
    """Words that are none, and amounts that are not exact."""
    for name, words in (("method", get_args(Method)), ("accounting", get_args(Accounting))):
        if getattr(p, name) not in words:
            yield f"{name} must be one of {', '.join(words)}"
    for name in _FRACTIONS:
        value = getattr(p, name)
        absent = name == "stage_rate" and value is None
        if not (absent or isinstance(value, Fraction)):
            yield f"{name} must be a Fraction, so that it is exact"
    for name in _INTEGERS:
        if type(getattr(p, name)) is not int:
            yield f"{name} must be an integer"


def _wrong_values(p: BatchParameters) -> Iterator[str]:
    """What no value of one parameter may be."""
    for name in (*_FRACTIONS, *_INTEGERS):
        if (getattr(p, name) or 0) < 0:
            yield f"{name} must not be negative"
    if not 1 <= p.window <= WINDOW_MAX:
        yield "window must be at least 1"
    if p.window > p.horizon:
        yield "window must be at most the horizon, or no window would ever be full"
    if p.tolerance >= 1:
        yield "tolerance must be below 1"
    for name, greatest in (("rounds", ROUNDS_MAX), ("step", STEP_MAX)):
        if getattr(p, name) > greatest:
            yield f"{name} must be at most {greatest:,}"
    most = p.user_examples_max
    if most is not None and not (type(most) is int and 1 <= most <= USER_EXAMPLES_MAX):
        yield f"user_examples_max must be an integer from 1 to {USER_EXAMPLES_MAX:,}"


def _wrong_combinations(p: BatchParameters) -> Iterator[str]:
    """What a method lacks, and what it has no use for."""
    needed, allowed = _NEEDED[p.method], _ALLOWED.get(p.method, ())
    for name in _CHOSEN:
        given = bool(getattr(p, name))
        if name in needed and not given:
            yield f"{p.method} needs {name} above 0"
        if given and name not in (*needed, *allowed):
            yield f"{p.method} has no use for {name}; leave it out"
    if p.stage_rate is not None and not p.stage_rate:
        yield "stage_rate must be above 0, or None without stage tests"
    if p.chunks > p.window:
        yield "chunks must be at most the number of examples in a window"
    if p.method == "closure" and p.list_cap != 1:
        yield "closure needs list_cap 1, as a chunk proposes one closure at the most"
    if p.noise_rate and p.method in ("closure", "teachers"):
        yield f"one wrong label spoils the lists of {p.method}: it needs noise_rate 0"
