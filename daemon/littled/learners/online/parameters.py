"""Public parameters of the learners: fixed before any data, recorded in the store."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from itertools import chain
from typing import Any, Literal, Self, get_args

from littled.budget.rounding import to_text
from littled_protocol.limits import majority_members_max

Selection = Literal["dense", "sparse", "closure", "histogram"]
Accounting = Literal["pure", "zcdp"]
Keep = Literal["examples", "mistakes", "both"]
Tests = Literal["above_threshold", "cohen_lyu"]

# Thresholds of a trigger, either way: with every count and noise added, 63 bits hold them.
THRESHOLD_MAX = 1 << 62
# Examples that one user may have in a season: more than any budget pays for.
USER_EXAMPLES_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung of the ladder: the trigger's threshold U, and for closures the teachers k."""

    trigger_threshold: int
    teachers: int | None = None


@dataclass(frozen=True, slots=True)
class OnlineParameters:
    """Public parameters of the online learner.

    Privacy-critical (they set prices): `epsilon`, `horizon`, `trigger_rate`, `selection`,
    `selection_rate`, `selection_accounting`, `draws`, `list_cap`, `bottom_score`, `teachers`,
    `stage_rate`, `calls_max`, `fresh`, `tests`, `tests_failure`, `user_examples_max`. Utility only:
    `noise_rate`, `trigger_threshold`, `buffer`, `background_max`, `ladder`, `schedule_first`,
    `mistakes_max`; but where a histogram is booked as zCDP, whether `noise_rate` is 0 sets its
    price.

    - `horizon`: examples in a season.
    - `noise_rate`: share of labels that may contradict the best rule; the trigger counts mistakes
      beyond it.
    - `trigger_rate`, `trigger_threshold`: e and U of Lemma A (PRIVACY.md).
    - `selection`: "dense", the exponential mechanism over all rules; "sparse", over what examples
      or teachers propose; "closure", over the closures that teachers propose; "histogram", every
      id whose score passes `bottom_score`, all at once.
    - `selection_rate`: e of one unit of score; `draws`: R, odd.
    - `teachers`: k of Algorithm 4 or of the closures; None where every example is a teacher of its
      own.
    - `stage_rate`: e of the stage test of Algorithm 4, or None where bottom is taken as Below.
    - `calls_max`: calls of joint training that the season's caps have room for.
    - `buffer`: what an epoch keeps: a background sample of all examples, mistakes, or both;
      `background_max`: size of the background (0 for "mistakes").
    - `ladder`: after j >= 1 calls in a row that kept the rule, rung min(j, length) is in force in
      place of `trigger_threshold` and, for closures, of `teachers`; a call that changes the rule
      goes back to those. For dense selection, which hardly ever keeps a rule, j counts all calls of
      the season.
    - `fresh`: a call sees what its own epoch has kept and nothing older, so an example is in one
      selection at most; all selections of a season are charged as one, when it opens.
    - `tests`: how the trigger and the stage test are made private; `tests_failure`: f of Lemma D
      (PRIVACY.md), the failure mass of the trigger and of each segment of stage tests.
    - `schedule_first`: epochs end at public times instead of when a trigger fires: once the season
      has had so many examples, twice as many, four times, and so on; or None for a trigger.
      `calls_max` is then the number of these times before the season's last example.
    - `mistakes_max`: with a schedule, about how many mistakes an epoch keeps at the most: those at
      a public share of its positions, which secret words choose.
    - `user_examples_max`: c of "User-level privacy" (PRIVACY.md): of one user and season so many
      mistakes are counted by the trigger and so many examples kept, at the most, and everything is
      priced for a user's examples together; None where one example is protected.

    ValueError, one sentence, for values and combinations that no learner can have.
    """

    epsilon: Fraction
    horizon: int
    noise_rate: Fraction
    trigger_rate: Fraction
    trigger_threshold: int
    selection: Selection
    selection_rate: Fraction
    selection_accounting: Accounting
    draws: int
    calls_max: int
    buffer: Keep
    background_max: int = 0
    list_cap: int = 0
    bottom_score: int = 0
    teachers: int | None = None
    stage_rate: Fraction | None = None
    ladder: tuple[Rung, ...] = ()
    fresh: bool = False
    tests: Tests = "above_threshold"
    tests_failure: Fraction = Fraction(0)
    schedule_first: int | None = None
    mistakes_max: int = 0
    user_examples_max: int | None = None

    def __post_init__(self) -> None:
        """Say the first thing that is wrong, if anything is."""
        problems = chain(_wrong_values(self), _wrong_combinations(self), _wrong_schedule(self))
        for problem in problems:
            raise ValueError(problem)

    @property
    def keeps_mistakes(self) -> bool:
        """Whether the epoch's mistakes are kept whatever their priority."""
        return self.buffer != "examples"

    @property
    def user_epochs_max(self) -> int:
        """Epochs of fresh selections in which kept examples of one user can be; 1 for an example.

        c of the user and c of whoever takes their place: in the same epochs, if all that decides
        which examples are kept is their positions; in up to 2c, if mistakes are kept.
        """
        if self.user_examples_max is None:
            return 1
        sides = 2 if self.keeps_mistakes else 1
        return max(1, min(self.calls_max, sides * self.user_examples_max))

    @property
    def rungs(self) -> tuple[Rung, ...]:
        """Every rung that can be in force: the one that a season begins with, then the ladder."""
        return (Rung(self.trigger_threshold, self.teachers), *self.ladder)

    @property
    def chooses_teachers(self) -> bool:
        """Whether any rung shares the kept examples out to a number of teachers."""
        return any(rung.teachers is not None for rung in self.rungs)

    def rung(self, calls: int) -> Rung:
        """The rung in force after so many of the calls that the ladder counts; public."""
        return self.rungs[min(calls, len(self.ladder))]

    def epoch_length(self, calls: int) -> int | None:
        """Examples of the scheduled epoch after so many calls; None: it has no end of its own.

        A call after the season's last example would be of no use. Public.
        """
        first = self.schedule_first
        if first is None or first << calls >= self.horizon:
            return None
        return first << max(calls - 1, 0)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; fractions as "numerator/denominator", rungs as maps."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The parameters that `to_dict` wrote; ValueError names what is missing or unknown.

        Parameters that came later have defaults; what was stored before them lacks them.
        """
        check_stored(cls, values, "online learner")
        return cls(**{name: _read(name, value) for name, value in values.items()})


def check_stored(kind: type[Any], values: Mapping[str, Any], learner: str) -> None:
    """ValueError, naming the `learner`, unless the values can be a `kind` that was stored."""
    known = {each.name for each in fields(kind)}
    needed = {each.name for each in fields(kind) if each.default is MISSING}
    if not needed <= set(values) <= known:
        odd = ", ".join(sorted((needed - set(values)) | (set(values) - known)))
        raise ValueError(f"stored parameters of the {learner} differ in: {odd}")


_FRACTIONS = frozenset(
    {"epsilon", "noise_rate", "trigger_rate", "selection_rate", "stage_rate", "tests_failure"}
)


def scheduled_calls(first: int, horizon: int) -> int:
    """Calls of a season with a schedule: at first, 2 first, 4 first, ... below the horizon."""
    return (-(-horizon // first) - 1).bit_length()


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return to_text(value)
    if isinstance(value, tuple):
        return [
            {"trigger_threshold": each.trigger_threshold, "teachers": each.teachers}
            for each in value
        ]
    return value


def _read(name: str, value: Any) -> Any:
    if name == "ladder":
        return tuple(_read_rung(each) for each in value)
    return Fraction(value) if name in _FRACTIONS and value is not None else value


def _read_rung(value: Any) -> Rung:
    if not isinstance(value, dict) or set(value) != {each.name for each in fields(Rung)}:
        raise ValueError("a stored rung of the ladder must have a trigger_threshold and teachers")
    return Rung(**value)


def _wrong_values(p: OnlineParameters) -> Iterator[str]:
    """What no value of one parameter may be."""
    for name, words in (
        ("selection", get_args(Selection)),
        ("selection_accounting", get_args(Accounting)),
        ("buffer", get_args(Keep)),
        ("tests", get_args(Tests)),
    ):
        if getattr(p, name) not in words:
            yield f"{name} must be one of {', '.join(words)}"
    if p.horizon < 1:
        yield "horizon must be at least 1"
    if p.schedule_first is not None and not (
        type(p.schedule_first) is int and p.schedule_first >= 1
    ):
        yield "schedule_first must be an integer of at least 1"
    if type(p.mistakes_max) is not int or p.mistakes_max < 0:
        yield "mistakes_max must be an integer of at least 0"
    most = p.user_examples_max
    if most is not None and not (type(most) is int and 1 <= most <= USER_EXAMPLES_MAX):
        yield f"user_examples_max must be an integer from 1 to {USER_EXAMPLES_MAX:,}"
    if p.calls_max < 0 or p.background_max < 0 or p.noise_rate < 0:
        yield "calls_max, background_max and noise_rate must not be negative"
    if not (1 <= p.draws <= majority_members_max and p.draws % 2):
        yield f"draws must be an odd number up to {majority_members_max}, for a majority"
    thresholds = [rung.trigger_threshold for rung in p.rungs]
    if not all(type(each) is int and abs(each) <= THRESHOLD_MAX for each in thresholds):
        yield "a threshold of the trigger must be an integer from -2^62 to 2^62"
    teachers = [rung.teachers for rung in p.rungs if rung.teachers is not None]
    if not all(type(each) is int and each >= 1 for each in teachers):
        yield "a number of teachers must be an integer of at least 1"


def _wrong_combinations(p: OnlineParameters) -> Iterator[str]:
    """What parameters may not be together."""
    of_essential_lists = p.selection == "sparse" and p.teachers is not None
    if p.selection in ("dense", "histogram") and p.teachers is not None:
        yield f"{p.selection} selection has no teachers; use sparse or closure"
    if p.selection != "closure" and any(rung.teachers is not None for rung in p.ladder):
        yield "only closure selection changes its teachers on a ladder"
    if p.stage_rate is not None and not of_essential_lists:
        yield "a stage test needs sparse selection with a number of teachers"
    if p.fresh and of_essential_lists:
        yield "fresh needs selections without essential lists"
    if p.selection == "closure" and p.list_cap != 1:
        yield "closure selection needs list_cap 1, as a teacher proposes one closure at the most"
    if p.selection == "closure" and p.draws != 1:
        yield (
            "closure selection needs draws 1, as a majority is no rule of the class from which "
            "the next closure could grow; for adaptive adversaries use dense or sparse"
        )
    if p.selection == "histogram" and p.draws != 1:
        yield "histogram selection needs draws 1, as it releases everything that passes"
    if p.tests == "cohen_lyu" and not 0 < p.tests_failure < 1:
        yield "cohen_lyu tests need a tests_failure above 0 and below 1"
    if p.tests != "cohen_lyu" and p.tests_failure:
        yield "only cohen_lyu tests have a tests_failure"
    if p.tests == "cohen_lyu" and p.user_examples_max is not None:
        yield "cohen_lyu tests protect single examples only; take above_threshold tests for users"


def _wrong_schedule(p: OnlineParameters) -> Iterator[str]:
    """What a schedule does not go with, and what goes with a schedule only."""
    if p.schedule_first is None:
        if p.mistakes_max:
            yield "only an epoch of a schedule has a mistakes_max; a trigger bounds its mistakes"
        return
    if not p.fresh:
        yield "a schedule needs fresh selections"
    if p.trigger_rate or p.trigger_threshold or p.ladder or p.tests != "above_threshold":
        yield "a schedule has no trigger: neither rate nor threshold, ladder or tests with failure"
    calls = scheduled_calls(p.schedule_first, p.horizon)
    if p.calls_max != calls:
        yield f"a schedule from {p.schedule_first} over {p.horizon} examples has calls_max {calls}"
    if p.selection != "dense" and p.keeps_mistakes and not p.mistakes_max:
        yield "epochs of a schedule that keep mistakes need a mistakes_max"
