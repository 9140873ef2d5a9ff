"""Public parameters of the learners: fixed before any data, recorded in the store."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from itertools import chain, pairwise
from typing import Any, Self, get_args

from littled.budget.rounding import to_text
from littled.budget.unit import USER_EXAMPLES_MAX
from littled.learners.online.groups import GroupSettings
from littled.learners.online.memories import settings_from_dict
from littled.learners.online.memory import MemorySettings
from littled.learners.online.pool import PoolSettings
from littled.learners.online.selections.register import SELECTIONS, selection_of
from littled.learners.online.values import (
    Accounting,
    EpochSettings,
    Keep,
    ParameterValues,
    Tests,
    scheduled_calls,
)
from littled.written import write_exactly
from littled_protocol.limits import majority_members_max

# Thresholds of a trigger, either way: with every count and noise added, 63 bits hold them.
THRESHOLD_MAX = 1 << 62
# Parameters that are not written where they are None or false: there were plans before there were
# these.
LEFT_OUT = frozenset(
    {
        *("memory", "threshold_rate", "pool", "groups", "schedule_cap", "published_score"),
        *("starts_over", "starts_over_together", "warmup_ends"),
    }
)


@dataclass(frozen=True, slots=True)
class OnlineParameters(ParameterValues):
    """Public parameters of the online learner; ValueError, one sentence, unless they go together.

    What each of them is stands in `ParameterValues`.
    """

    def __post_init__(self) -> None:
        """Say the first thing that is wrong, if anything is."""
        write_exactly(self, *_FRACTIONS)
        problems = chain(_wrong_values(self), _wrong_combinations(self), _wrong_schedule(self))
        for problem in problems:
            raise ValueError(problem)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; fractions as "numerator/denominator", settings as maps.

        A parameter of `LEFT_OUT` that a plan does not have is left out, as it always was.
        """
        values = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return {name: value for name, value in values.items() if value or name not in LEFT_OUT}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The parameters that `to_dict` wrote; ValueError names what is missing or unknown.

        Parameters that came later have defaults; what was stored before them lacks them.
        """
        check_stored(cls, values, "online learner")
        read = {name: _read(name, value) for name, value in values.items()}
        return cls(**read)


def check_stored(kind: type[Any], values: Mapping[str, Any], learner: str) -> None:
    """ValueError, naming the `learner`, unless the values can be a `kind` that was stored."""
    known = {field.name for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    if not needed <= set(values) <= known:
        odd = ", ".join(sorted((needed - set(values)) | (set(values) - known)))
        raise ValueError(f"stored parameters of the {learner} differ in: {odd}")


def plain_values(parameters: Any) -> dict[str, Any]:
    """The fields of parameters without lists, JSON-able; fractions as "numerator/denominator"."""
    values = ((one.name, getattr(parameters, one.name)) for one in fields(parameters))
    return {name: to_text(v) if isinstance(v, Fraction) else v for name, v in values}


def stored_values(
    kind: type[Any], values: Mapping[str, Any], learner: str, fractions: Collection[str]
) -> dict[str, Any]:
    """What `plain_values` wrote of a `kind`, as it was; some `fractions` may be None.

    ValueError as from `check_stored`.
    """
    check_stored(kind, values, learner)
    return {
        name: Fraction(value) if name in fractions and value is not None else value
        for name, value in values.items()
    }


_FRACTIONS = frozenset(
    {
        *("epsilon", "noise_rate", "trigger_rate", "threshold_rate"),
        *("selection_rate", "stage_rate", "tests_failure"),
    }
)


_SETTINGS: dict[str, Callable[[Any], object]] = {
    "memory": settings_from_dict,
    "pool": PoolSettings.from_dict,
    "groups": GroupSettings.from_dict,
}


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return to_text(value)
    if isinstance(value, EpochSettings):
        return {"trigger_threshold": value.trigger_threshold, "teachers": value.teachers}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, (MemorySettings, PoolSettings, GroupSettings)):
        return value.to_dict()
    return value


def _read(name: str, value: Any) -> Any:
    if name == "ladder":
        return tuple(_read_epoch_settings(settings) for settings in value)
    if name == "warmup_ends":
        return tuple(value)
    if name in _SETTINGS:
        return None if value is None else _SETTINGS[name](value)
    return Fraction(value) if name in _FRACTIONS and value is not None else value


def _read_epoch_settings(value: Any) -> EpochSettings:
    if not isinstance(value, dict) or set(value) != {field.name for field in fields(EpochSettings)}:
        raise ValueError("stored settings of the ladder must have a trigger_threshold and teachers")
    return EpochSettings(**value)


def _wrong_values(p: OnlineParameters) -> Iterator[str]:
    """What no value of one parameter may be."""
    for name, words in (
        ("selection", SELECTIONS),
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
    score = p.published_score
    if score is not None and not (type(score) is int and 1 <= score <= THRESHOLD_MAX):
        yield "published_score must be an integer from 1 to 2^62"
    yield from _wrong_flags(p)
    yield from _wrong_ends(p)
    if p.calls_max < 0 or p.background_max < 0 or p.noise_rate < 0:
        yield "calls_max, background_max and noise_rate must not be negative"
    if not (1 <= p.draws <= majority_members_max and p.draws % 2):
        yield f"draws must be an odd number up to {majority_members_max}, for a majority"
    thresholds = [settings.trigger_threshold for settings in p.all_settings]
    if not all(
        type(threshold) is int and abs(threshold) <= THRESHOLD_MAX for threshold in thresholds
    ):
        yield "a threshold of the trigger must be an integer from -2^62 to 2^62"
    teachers = [settings.teachers for settings in p.all_settings if settings.teachers is not None]
    if not all(type(number) is int and number >= 1 for number in teachers):
        yield "a number of teachers must be an integer of at least 1"


def _wrong_flags(p: OnlineParameters) -> Iterator[str]:
    for name in ("starts_over", "starts_over_together"):
        if type(getattr(p, name)) is not bool:
            yield f"{name} must be true or false"


def _wrong_ends(p: OnlineParameters) -> Iterator[str]:
    """What the ends of a warm-up may not be."""
    ends = p.warmup_ends
    if not all(type(end) is int for end in ends) or not all(
        before < end for before, end in pairwise((0, *ends, p.horizon))
    ):
        yield "warmup_ends must be integers of at least 1 that rise, all below the horizon"
    if len(ends) > max(p.calls_max, 0):
        yield "calls_max must be at least the number of warmup_ends"


def _wrong_combinations(p: OnlineParameters) -> Iterator[str]:
    """What parameters may not be together."""
    for settings in (p.memory, p.pool, p.groups):
        if settings is not None and (problem := settings.wrong()) is not None:
            yield problem
    yield from selection_of(p).wrong()
    yield from selection_of(p).wrong_pool()
    yield from selection_of(p).wrong_groups()
    yield from selection_of(p).wrong_published_score()
    yield from selection_of(p).wrong_start()
    yield from selection_of(p).wrong_warmup()
    if p.user_examples_max is not None and p.buffer == "mistakes" and p.background_max:
        yield "epochs that keep mistakes alone have no background of users; take buffer both"
    if p.tests == "cohen_lyu" and not 0 < p.tests_failure < 1:
        yield "cohen_lyu tests need a tests_failure above 0 and below 1"
    if p.tests != "cohen_lyu" and p.tests_failure:
        yield "only cohen_lyu tests have a tests_failure"
    if p.tests == "cohen_lyu" and p.user_examples_max is not None:
        yield "cohen_lyu tests protect single examples only; take above_threshold tests for users"
    if p.threshold_rate is not None and p.threshold_rate <= 0:
        yield "a threshold_rate of its own must be above 0"
    if p.threshold_rate is not None and not (p.user_examples_max or p.has_tallies):
        yield "a threshold_rate of its own must be above 0, and is for streams that protect users"


def _wrong_schedule(p: OnlineParameters) -> Iterator[str]:
    """What a schedule does not go with, and what goes with a schedule only."""
    if p.schedule_first is None:
        if p.mistakes_max:
            yield "only an epoch of a schedule has a mistakes_max; a trigger bounds its mistakes"
        if p.schedule_cap is not None:
            yield "only epochs of a schedule have a schedule_cap; it needs a schedule_first"
        return
    cap = p.schedule_cap
    if cap is not None and not (type(cap) is int and cap >= p.schedule_first):
        yield "schedule_cap must be an integer of at least schedule_first"
    if not p.fresh:
        yield "a schedule needs fresh selections"
    rates = p.trigger_rate or p.threshold_rate
    if rates or p.trigger_threshold or p.ladder or p.tests != "above_threshold":
        yield "a schedule has no trigger: neither rate nor threshold, ladder or tests with failure"
    calls = scheduled_calls(p.schedule_first, p.horizon, cap)
    if p.calls_max != calls:
        capped = "" if cap is None else f", with epochs of at most {cap},"
        yield (
            f"a schedule from {p.schedule_first} over {p.horizon} examples{capped} has "
            f"calls_max {calls}"
        )
    if selection_of(p).keeps_rows and p.keeps_mistakes and not p.mistakes_max:
        yield "epochs of a schedule that keep mistakes need a mistakes_max"
