"""What a stored plan lets its learners be charged, and whether a ledger keeps to it.

A learner says what it asks for (`littled.learners.online`); here the same is derived once more,
from the parameters as a store has written them and from nothing else, so that a check of a store
does not take the learner's word for it. Two things need mathematics that is not in this room: the
number of stage tests, d + 1, and the distance of noise of finite precision from the ideal. They
need not be believed either: caps are planned to be what a season costs in which every call is made,
so the charges that open a season and all its calls have to sum to the caps exactly. So it is with
the number of labelings of a class, which the price of answers by relabelling depends on.

How the parameters of a kind of learner are read is in a module of its own beside this one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Protocol

from littled.budget.codec import event_from_dict
from littled.budget.events import MistakeCounts, PrecisionLoss, PrivacyEvent
from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.budget.prices import UnsupportedEvent, not_alone, price
from littled.budget.rounding import from_text
from littled.kinds import UnknownKind, kind_of, load

# The parameter of every kind that says how its rules are measured.
QUALITY: Final = "quality"


class ChargesUnknown(ValueError):
    """Parameters from which nobody can tell what is to be charged; one sentence."""


class UnknownWay(ValueError):
    """A way of learning that no learner of this version has, given by a parameter and its word."""

    def __init__(self, parameter: str, word: object) -> None:
        """Of a parameter that is no word at all, it is damage."""
        super().__init__(f"the {parameter} {word}")
        self.is_word = type(word) is str


@dataclass(frozen=True, slots=True)
class Charges:
    """The events of one season of one learner, in order.

    Those of `trigger`, where mistakes are counted after what that costs; `segment` once or more, if
    there is one; those of `selection`; the precision loss for a promise of `epsilon`, of a total
    variation of at least `precision`; then at most `calls_max` times `call`. A learner that answers
    requests has no calls: its season opens with what one window may cost.
    """

    trigger: tuple[PrivacyEvent, ...]
    segment: PrivacyEvent | None
    selection: tuple[PrivacyEvent, ...]
    epsilon: Fraction
    call: PrivacyEvent
    calls_max: int
    precision: Fraction = Fraction(0)

    @classmethod
    def of(cls, learner: Mapping[str, Any]) -> "Charges":
        """The charges of a learner, given by its "kind" and "parameters" as a store keeps them.

        Raises ChargesUnknown.
        """
        derivation = _derivation(learner)
        try:
            season = derivation.season(learner["parameters"])
            counts = tuple(_mistake_counts(learner["parameters"]))
            return replace(season, trigger=(*counts, *season.trigger))
        except (KeyError, TypeError, ValueError) as error:
            raise ChargesUnknown("the parameters do not say what is to be charged") from error

    def opening(self, events: Sequence[PrivacyEvent | None]) -> int | None:
        """How many of a season's events open it; None if they are not the ones above."""
        segments = 0
        if self.segment is not None:
            segments = max(1, sum(event == self.segment for event in events))
        first = [*self.trigger, *([self.segment] * segments), *self.selection]
        loss = events[len(first)] if len(first) < len(events) else None
        found = [event and event.as_stored() for event in events[: len(first)]]
        if found != first or not isinstance(loss, PrecisionLoss):
            return None
        enough = loss.epsilon == self.epsilon and loss.total_variation >= self.precision
        return len(first) + 1 if enough else None


@dataclass(frozen=True, slots=True)
class AnswerWindows:
    """Of a learner that answers requests: examples in a window, and the most answers from one."""

    size: int
    answers_max: int

    @classmethod
    def of(cls, learner: Mapping[str, Any]) -> "AnswerWindows | None":
        """The windows of a learner, given as to `Charges.of`; None if it answers no requests.

        Raises ChargesUnknown.
        """
        derivation = _derivation(learner)
        try:
            return derivation.windows(learner.get("parameters", {}))
        except (KeyError, TypeError) as error:
            raise ChargesUnknown("the parameters do not say how requests are answered") from error


class KindCharges(Protocol):
    """How the stored parameters of one kind of learner are read.

    `parameters`: the names of all that a learner of the kind can have, "quality" apart.
    KeyError, TypeError or ValueError for parameters that no learner of the kind has; of these
    UnknownWay for a word of a newer version.
    """

    parameters: ClassVar[frozenset[str]]

    def season(self, parameters: Mapping[str, Any]) -> Charges:
        """The charges of a season."""

    def windows(self, parameters: Mapping[str, Any]) -> AnswerWindows | None:
        """The windows that requests are answered from, None for a kind that answers none."""


def unknown_parameters(learner: Mapping[str, Any]) -> list[str]:
    """What of a learner's parameters only a newer version knows, in order.

    "the parameter haste", and behind all of these "the selection novel"; or "the kind novel" alone.
    The learner is given as to `Charges.of`. Nobody can tell what these cost.
    """
    try:
        derivation = _derivation(learner)
    except ChargesUnknown:
        return [f"the kind {learner.get('kind')}"]
    parameters = learner.get("parameters", {})
    unknown = set(parameters) - derivation.parameters - {QUALITY}
    found = [f"the parameter {name}" for name in sorted(unknown)]
    try:
        derivation.season(parameters)
    except UnknownWay as way:
        if way.is_word:
            found.append(str(way))
    except (KeyError, TypeError, ValueError):
        pass  # damage, which is said elsewhere
    return found


def _mistake_counts(parameters: Mapping[str, Any]) -> Iterator[MistakeCounts]:
    """What it costs a season to say how good its rules are, where a plan says it.

    Of a user one example is counted, however many a learner uses.
    """
    asked = parameters.get(QUALITY)
    if asked is not None:
        users = 0 if parameters.get("user_examples_max") is None else 1
        yield MistakeCounts(from_text(asked["rate"]), users)


def _derivation(learner: Mapping[str, Any]) -> KindCharges:
    try:
        derivation: type[KindCharges] = load(kind_of(learner.get("kind")).charges)
    except UnknownKind as error:
        raise ChargesUnknown(str(error)) from None
    return derivation()


def wrong_charges(
    entries: Iterable[LedgerEntry],
    learners: Mapping[str, Charges],
    caps: Price,
    delta_z: Fraction,
) -> list[str]:
    """What a stream's ledger charges otherwise than planned, one sentence each.

    `learners` are all of the stream's; entries for others, and those for answers from a window
    (`rederive` looks at these), are passed over. Every season that has
    entries must begin, for each learner, with the events that open it; after these come at most as
    many calls as planned, and no other event. What opens a season and all its calls must sum to
    `caps`. `delta_z`: by which the stream's caps are converted.
    """
    seasons: dict[int, dict[str, list[LedgerEntry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        if entry.window is None and entry.learner is not None and entry.learner in learners:
            seasons[entry.season][entry.learner].append(entry)
    problems = [
        f"learner {name}: {problem}"
        for name, charges in learners.items()
        for event in charges.trigger
        if (problem := not_alone(event, caps, delta_z)) is not None
    ]
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
