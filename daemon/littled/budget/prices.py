"""What each privacy event costs.

Every price is computed from public parameters alone, exactly, and rounded up to a multiple of
2^-80. What happens n times is priced once and multiplied, so that n draws in one event cost
exactly what n events of one draw cost. An event that this version does not know is refused, never
guessed.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeGuard, TypeVar

from littled.budget import predictions
from littled.budget.events import (
    EPSILON_MAX,
    Accounting,
    CohenLyuStageTest,
    CohenLyuTrigger,
    CountsSeason,
    DenseSelection,
    HistogramSelection,
    MistakeCounts,
    PrecisionLoss,
    PredictionAnswersAveraging,
    PredictionAnswersDense,
    PredictionAnswersMajority,
    PredictionAnswersRealizable,
    PredictionAnswersRelabelling,
    PredictionAnswersStability,
    PredictionStableVoting,
    PrepaidSelection,
    PrivacyEvent,
    RestoredSeason,
    ScorecardSeason,
    SparseSelection,
    StageTest,
    TallySeason,
    TriggerSeason,
)
from littled.budget.price import Price
from littled.budget.rounding import exp_upper, ln_lower, ln_upper, round_up

Event = TypeVar("Event", bound=PrivacyEvent)


class UnsupportedEvent(ValueError):
    """An event that this version cannot price or read; one sentence."""


_PRICES: dict[type[PrivacyEvent], Callable[[Any], Price]] = {}


def _prices(kind: type[Event]) -> Callable[[Callable[[Event], Price]], Callable[[Event], Price]]:
    """Register the pricing function of one kind of event."""

    def register(function: Callable[[Event], Price]) -> Callable[[Event], Price]:
        _PRICES[kind] = function
        return function

    return register


@_prices(TriggerSeason)
def _trigger_season(event: TriggerSeason) -> Price:
    if not event.user_examples_max:
        return _pure(event.rate)
    return _pure(event.user_examples_max * (event.rate + (event.threshold_rate or event.rate)))


@_prices(StageTest)
def _stage_test(event: StageTest) -> Price:
    return _pure(event.rate)


@_prices(DenseSelection)
def _dense_selection(event: DenseSelection) -> Price:
    return _draw(_user_rate(event), event.accounting) * event.draws


@_prices(SparseSelection)
def _sparse_selection(event: SparseSelection) -> Price:
    failure = Price(Fraction(0), Fraction(0), event.failure)
    return (_draw(_user_rate(event), event.accounting) + failure) * event.draws


@_prices(PrepaidSelection)
def _prepaid_selection(event: PrepaidSelection) -> Price:
    return Price.zero() * event.draws


@_prices(PrecisionLoss)
def _precision_loss(event: PrecisionLoss) -> Price:
    if not event.total_variation:
        return Price.zero()
    delta = Fraction(1)
    if event.epsilon <= EPSILON_MAX:
        delta = min(delta, round_up((1 + exp_upper(event.epsilon)) * event.total_variation))
    return Price(Fraction(0), Fraction(0), delta)


@_prices(CohenLyuTrigger)
def _cohen_lyu_trigger(event: CohenLyuTrigger) -> Price:
    epsilon = max(event.rate, kappa_upper(event.rate) * ln_upper(1 / event.failure))
    return Price(round_up(epsilon), Fraction(0), round_up(event.failure))


@_prices(CohenLyuStageTest)
def _cohen_lyu_stage_test(event: CohenLyuStageTest) -> Price:
    epsilon = event.rate + kappa_upper(event.rate) * ln_upper(1 / event.failure)
    return Price(round_up(epsilon), Fraction(0), round_up(event.failure))


@_prices(HistogramSelection)
def _histogram_selection(event: HistogramSelection) -> Price:
    failure = Price(Fraction(0), Fraction(0), event.failure)
    rate = _user_rate(event)
    if event.accounting == "pure":
        return _pure(2 * rate) + failure
    return Price(Fraction(0), round_up(event.change * rate**2), Fraction(0)) + failure


@_prices(TallySeason)
def _tally_season(event: TallySeason) -> Price:
    return _pure(event.rate + event.threshold_rate) + Price(Fraction(0), Fraction(0), event.failure)


@_prices(ScorecardSeason)
def _scorecard_season(event: ScorecardSeason) -> Price:
    amount = event.rows if event.conversion_delta else max(event.rows, event.drawn)
    if event.accounting == "zcdp":
        return Price(Fraction(0), amount, Fraction(0))
    return Price(Fraction(0), Fraction(0), Fraction(0), amount)


def stands_alone(event: PrivacyEvent) -> TypeGuard[ScorecardSeason]:
    """Whether parts of an event stand side by side, so that its price is for one delta only."""
    return isinstance(event, ScorecardSeason) and bool(event.conversion_delta)


def not_alone(event: PrivacyEvent, caps: Price, delta_z: Fraction) -> str | None:
    """Why a stream with these caps may not be charged for an event; None if it may, as is usual.

    An event with a `conversion_delta` needs all there is of rho and GDP for itself, and the delta
    by which these are converted (PRIVACY.md, "Parts side by side"). `delta_z`: of the stream.
    """
    if not stands_alone(event):
        return None
    own = price(event)
    if (caps.rho, caps.gaussian) == (own.rho, own.gaussian) and delta_z == event.conversion_delta:
        return None
    return (
        f"{event.name} has a conversion_delta, and its stream has a rho, more that is GDP, or "
        "another delta for the conversion"
    )


@_prices(CountsSeason)
def _counts_season(event: CountsSeason) -> Price:
    rate = _user_rate(event)
    if event.accounting == "pure":
        return _pure(2 * rate)
    return Price(Fraction(0), round_up(rate * rate), Fraction(0))


@_prices(MistakeCounts)
def _mistake_counts(event: MistakeCounts) -> Price:
    return _pure(event.rate * (2 * event.user_examples_max or 1))


@_prices(PredictionAnswersDense)
def _prediction_answers_dense(event: PredictionAnswersDense) -> Price:
    return _draw(event.rate, event.accounting) * event.answers


@_prices(PredictionAnswersStability)
def _prediction_answers_stability(event: PredictionAnswersStability) -> Price:
    k = exp_upper(event.rate)
    if event.accounting == "pure":
        one = _pure(ln_upper(predictions.stable_ratio(k, event.subset_rate, event.flip)))
    else:
        one = _odds(predictions.stable_odds(k, event.subset_rate, event.flip))
    return one * event.answers


@_prices(PredictionAnswersRelabelling)
def _prediction_answers_relabelling(event: PredictionAnswersRelabelling) -> Price:
    ratio = predictions.relabelled_ratio(
        event.rate, event.vote_rate, event.subset_rate, event.window, event.net
    )
    failure = event.subset_rate * predictions.no_net(
        event.window, event.net, event.subset_rate, event.labelings
    )
    if event.flip:
        ratio, failure = predictions.flipped_ratio(ratio, failure, event.flip), Fraction(0)
    epsilon = ln_upper(ratio)
    one = _pure(epsilon)
    if event.accounting == "zcdp":
        one = Price(Fraction(0), round_up(epsilon * epsilon / 2), Fraction(0))
    return (one + Price(Fraction(0), Fraction(0), round_up(failure))) * event.answers


@_prices(PredictionAnswersRealizable)
def _prediction_answers_realizable(event: PredictionAnswersRealizable) -> Price:
    return _draw(event.vote_rate, event.accounting) * event.answers


@_prices(PredictionAnswersAveraging)
def _prediction_answers_averaging(event: PredictionAnswersAveraging) -> Price:
    if event.accounting == "pure":
        one = _pure(ln_upper(predictions.averaging_ratio(event.chunks, event.flip)))
    else:
        one = _odds(predictions.averaging_odds(event.chunks, event.flip))
    return one * event.answers


@_prices(PredictionAnswersMajority)
def _prediction_answers_majority(event: PredictionAnswersMajority) -> Price:
    one = _pure(2 * event.vote_rate)
    if event.accounting == "zcdp":
        one = Price(Fraction(0), round_up(event.vote_rate * event.vote_rate), Fraction(0))
    return one * event.answers


@_prices(PredictionStableVoting)
def _prediction_stable_voting(event: PredictionStableVoting) -> Price:
    failure = round_up(predictions.unstable_as_stable(event.rate, event.threshold))
    segment = Price(round_up(event.rate + 2 * event.vote_rate), Fraction(0), failure)
    return segment * event.unstable


@_prices(RestoredSeason)
def _restored_season(event: RestoredSeason) -> Price:
    return Price(event.epsilon_pure, event.rho, event.delta, event.gaussian)


def kappa_upper(rate: Fraction) -> Fraction:
    """A fraction at least kappa(e) = e / ln(1 + exp(-e)), for a rate e from 0 to `EPSILON_MAX`.

    With E above exp(e), ln(1 + exp(-e)) is at least ln(1 + 1 / E), and ln(1 + x) >= x / (1 + x)
    makes it at least 1 / (E + 1), which serves where the logarithm is too small to be told from 0.
    """
    bound = exp_upper(rate)
    return rate / max(ln_lower(1 + 1 / bound), 1 / (bound + 1))


def price(event: PrivacyEvent) -> Price:
    """What the event costs; UnsupportedEvent for a type that is not registered.

    A subclass of a registered event is another event: nobody has proven its price.
    """
    pricing = _PRICES.get(type(event))
    if pricing is None:
        raise UnsupportedEvent(f"no price is known for the privacy event {type(event).__name__}")
    return pricing(event)


def composable_price(event: PrivacyEvent) -> Price:
    """What the event costs beside any other, of any stream: never less than `price`.

    More for one that `not_alone` speaks of, whose price is for its stream's caps only.
    """
    if stands_alone(event):
        event = replace(event, conversion_delta=Fraction(0))
    return price(event)


def priced_events() -> dict[str, type[PrivacyEvent]]:
    """Every kind of event that has a price, by the name that is written for it."""
    return {kind.name: kind for kind in _PRICES}


def _pure(epsilon: Fraction) -> Price:
    return Price(round_up(epsilon), Fraction(0), Fraction(0))


def _draw(rate: Fraction, accounting: Accounting) -> Price:
    """One draw of bounded range 2 * rate."""
    if accounting == "pure":
        return _pure(2 * rate)
    return Price(Fraction(0), round_up(rate * rate / 2), Fraction(0))


def _user_rate(
    event: DenseSelection | SparseSelection | HistogramSelection | CountsSeason,
) -> Fraction:
    """c e, by which a user's examples of either side together change what one changes by e."""
    return event.rate * max(1, event.user_examples_max)


def _odds(ratio: Fraction) -> Price:
    """A bit whose odds change by this ratio at most: bounded range w = ln(ratio)."""
    logarithm = ln_upper(ratio)
    return Price(Fraction(0), round_up(logarithm * logarithm / 8), Fraction(0))
