"""What a stored plan lets its learners be charged, and whether a ledger keeps to it.

A learner says what it asks for (`littled.learners.online`); here the same is derived once more,
from the parameters as a store has written them and from nothing else, so that a check of a store
does not take the learner's word for it. Two things need mathematics that is not in this room: the
number of stage tests, d + 1, and the distance of noise of finite precision from the ideal. They
need not be believed either: caps are planned to be what a season costs in which every call is made,
so the charges that open a season and all its calls have to sum to the caps exactly. So it is with
the number of labelings of a class, which the price of answers by relabelling depends on.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from littled.budget.events import (
    CohenLyuStageTest,
    CohenLyuTrigger,
    DenseSelection,
    HistogramSelection,
    PrecisionLoss,
    PredictionAnswersAveraging,
    PredictionAnswersDense,
    PredictionAnswersMajority,
    PredictionAnswersRealizable,
    PredictionAnswersRelabelling,
    PredictionAnswersStability,
    PrepaidSelection,
    PrivacyEvent,
    SparseSelection,
    StageTest,
    TriggerSeason,
    UnsupportedEvent,
    event_from_dict,
    price,
)
from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.budget.rounding import from_text


class ChargesUnknown(ValueError):
    """Parameters from which nobody can tell what is to be charged; one sentence."""


@dataclass(frozen=True, slots=True)
class Charges:
    """The events of one season of one learner, in order.

    Those of `trigger`; `segment` once or more, if there is one; those of `selection`; the precision
    loss for a promise of `epsilon`; then at most `calls_max` times `call`. A learner that answers
    requests has no calls: its season opens with what one window may cost.
    """

    trigger: tuple[PrivacyEvent, ...]
    segment: PrivacyEvent | None
    selection: tuple[PrivacyEvent, ...]
    epsilon: Fraction
    call: PrivacyEvent
    calls_max: int

    @classmethod
    def of(cls, learner: Mapping[str, Any]) -> "Charges":
        """The charges of a learner, given by its "kind" and "parameters" as a store keeps them.

        Raises ChargesUnknown.
        """
        try:
            parameters = learner["parameters"]
            return (_window if learner["kind"] == "prediction" else _charges)(parameters)
        except (KeyError, TypeError, ValueError) as error:
            raise ChargesUnknown("the parameters do not say what is to be charged") from error

    def opening(self, events: Sequence[PrivacyEvent | None]) -> int | None:
        """How many of a season's events open it; None if they are not the ones above."""
        segments = 0
        if self.segment is not None:
            segments = max(1, sum(each == self.segment for each in events))
        first = [*self.trigger, *([self.segment] * segments), *self.selection]
        loss = events[len(first)] if len(first) < len(events) else None
        found = [_without_labelings(each) for each in events[: len(first)]]
        if found != first or not isinstance(loss, PrecisionLoss):
            return None
        return len(first) + 1 if loss.epsilon == self.epsilon else None


def wrong_charges(
    entries: Iterable[LedgerEntry], learners: Mapping[str, Charges], caps: Price
) -> list[str]:
    """What a stream's ledger charges otherwise than planned, one sentence each.

    `learners` are all of the stream's; entries for others, and those for answers from a window
    (`rederive` looks at these), are passed over. Every season that has
    entries must begin, for each learner, with the events that open it; after these come at most as
    many calls as planned, and no other event. What opens a season and all its calls must sum to
    `caps`.
    """
    seasons: dict[int, dict[str, list[LedgerEntry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        if entry.window is None and entry.learner is not None and entry.learner in learners:
            seasons[entry.season][entry.learner].append(entry)
    problems = []
    for season, charged in sorted(seasons.items()):
        planned: Price | None = Price.zero()
        for name, charges in learners.items():
            cost, wrong = _season(season, name, charges, charged[name])
            problems += wrong
            planned = None if planned is None or cost is None else planned + cost
        if planned is not None and planned != caps:
            problems.append(
                f"what opens season {season} and all its calls cost ({planned.in_words()}), which "
                f"is not what the caps have room for ({caps.in_words()})"
            )
    return problems


def _season(
    season: int, name: str, charges: Charges, entries: Sequence[LedgerEntry]
) -> tuple[Price | None, list[str]]:
    """What a season of one learner costs with every call, None if that is unclear; and problems."""
    events = [_event(entry) for entry in entries]
    opening = charges.opening(events)
    if opening is None:
        return None, [
            f"season {season} of learner {name} does not begin with the charges that its plan names"
        ]
    calls = entries[opening:]
    problems = [
        f"ledger entry {entry.number} is not the call that the plan of learner {name} names"
        for entry, event in zip(calls, events[opening:], strict=True)
        if event != charges.call
    ]
    if len(calls) > charges.calls_max:
        problems.append(
            f"season {season} of learner {name} has {len(calls)} calls, more than the "
            f"{charges.calls_max} of its plan"
        )
    opened = sum((price(event) for event in events[:opening] if event is not None), Price.zero())
    return opened + price(charges.call) * charges.calls_max, problems


def _event(entry: LedgerEntry) -> PrivacyEvent | None:
    """The entry's event; None for one that nobody can price, which `rederive` speaks of."""
    try:
        return event_from_dict(entry.event)
    except UnsupportedEvent:
        return None


def _without_labelings(event: PrivacyEvent | None) -> PrivacyEvent | None:
    if isinstance(event, PredictionAnswersRelabelling):
        return replace(event, labelings=Fraction(1))
    return event


def _window(parameters: Mapping[str, Any]) -> Charges:
    """What opens a season of a learner that answers requests: all answers of one window."""
    return Charges(
        trigger=(),
        segment=None,
        selection=(_answers(parameters),),
        epsilon=from_text(parameters["epsilon"]),
        call=PrepaidSelection(draws=0),
        calls_max=0,
    )


def _answers(parameters: Mapping[str, Any]) -> PrivacyEvent:
    """All answers of a window, as PRIVACY.md, section 3, lists them."""

    def rate(name: str) -> Fraction:
        return from_text(parameters[name])

    method, answers, accounting = (
        parameters[name] for name in ("method", "answers_max", "accounting")
    )
    if method == "dense":
        return PredictionAnswersDense(rate("rate"), answers, accounting)
    if method == "stability":
        return PredictionAnswersStability(
            rate("rate"), rate("subset_rate"), rate("flip"), answers, accounting
        )
    if method == "relabelling":
        return PredictionAnswersRelabelling(
            rate=rate("rate"),
            vote_rate=rate("vote_rate"),
            subset_rate=rate("subset_rate"),
            flip=rate("flip"),
            net=rate("net"),
            window=parameters["window"],
            labelings=Fraction(1),
            answers=answers,
            accounting=accounting,
        )
    if method == "realizable":
        return PredictionAnswersRealizable(rate("vote_rate"), answers, accounting)
    if method == "averaging":
        return PredictionAnswersAveraging(parameters["chunks"], rate("flip"), answers, accounting)
    if method != "majority":
        raise ValueError(method)
    return PredictionAnswersMajority(rate("vote_rate"), answers, accounting)


def _charges(parameters: Mapping[str, Any]) -> Charges:
    def rate(name: str) -> Fraction:
        return from_text(parameters[name])

    fresh = bool(parameters.get("fresh", False))
    calls_max = parameters["calls_max"]
    if type(calls_max) is not int or calls_max < 0:
        raise TypeError("calls_max")
    user_examples_max = _user_examples_max(parameters)
    # c examples on either side, in the same epochs if their positions alone decide what is kept
    sides = 1 if parameters["buffer"] == "examples" else 2
    epochs = max(1, min(calls_max, sides * user_examples_max)) if fresh else 1
    selection = _selection(parameters, rate("selection_rate"), user_examples_max, epochs)
    call = PrepaidSelection(draws=parameters["draws"]) if fresh else selection
    return Charges(
        trigger=tuple(_trigger(parameters)),
        segment=_segment(parameters),
        selection=(selection,) if fresh else (),
        epsilon=rate("epsilon"),
        call=call,
        calls_max=calls_max,
    )


def _trigger(parameters: Mapping[str, Any]) -> Iterator[PrivacyEvent]:
    """The trigger's event; none where epochs end on a public schedule."""
    if parameters.get("schedule_first") is not None:
        return
    rate = from_text(parameters["trigger_rate"])
    if _has_fresh_noise(parameters):
        yield CohenLyuTrigger(rate=rate, failure=from_text(parameters["tests_failure"]))
    else:
        yield TriggerSeason(rate=rate, user_examples_max=_user_examples_max(parameters))


def _user_examples_max(parameters: Mapping[str, Any]) -> int:
    """c of a plan that protects users, 0 of one that protects examples."""
    most = parameters.get("user_examples_max")
    if most is None:
        return 0
    if type(most) is not int or most < 1 or _has_fresh_noise(parameters):
        raise ValueError("user_examples_max")
    return most


def _segment(parameters: Mapping[str, Any]) -> PrivacyEvent | None:
    """The event of one segment of stage tests."""
    if parameters["stage_rate"] is None:
        return None
    rate = from_text(parameters["stage_rate"])
    if _has_fresh_noise(parameters):
        return CohenLyuStageTest(rate=rate, failure=from_text(parameters["tests_failure"]))
    return StageTest(rate=rate)


def _has_fresh_noise(parameters: Mapping[str, Any]) -> bool:
    return bool(parameters.get("tests", "above_threshold") == "cohen_lyu")


def _selection(
    parameters: Mapping[str, Any], rate: Fraction, user_examples_max: int, epochs: int
) -> PrivacyEvent:
    """One selection, or the fresh ones of so many epochs, as PRIVACY.md, section 3, lists them."""
    draws, accounting = parameters["draws"], parameters["selection_accounting"]
    kind, apart = parameters["selection"], 1 if parameters["buffer"] == "examples" else epochs
    if kind == "dense":
        return DenseSelection(rate, draws, accounting, user_examples_max)
    if kind == "histogram":
        return HistogramSelection(
            rate=rate,
            threshold=parameters["bottom_score"],
            change=2 if from_text(parameters["noise_rate"]) else 1,
            accounting=accounting,
            user_examples_max=user_examples_max,
            epochs=apart,
        )
    if kind not in ("sparse", "closure"):
        raise ValueError(kind)
    if kind == "closure" or parameters["teachers"] is not None:
        # in each epoch the list of one teacher is another one
        draws, user_examples_max, apart = draws * epochs, 0, 1
    return SparseSelection(
        rate=rate,
        list_cap=parameters["list_cap"],
        bottom_score=parameters["bottom_score"],
        draws=draws,
        accounting=accounting,
        user_examples_max=user_examples_max,
        epochs=apart,
    )
