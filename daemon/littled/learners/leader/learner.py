"""The scorecard learner: follow the regularised leader with noise that is spread over batches.

Source: follow-the-regularised-leader with correlated noise, after Kairouz, McMahan, Song, Thakkar,
Thakurta, Xu, "Practical and Private (Deep) Learning without Sampling or Shuffling"; the square root
of the matrix of prefix sums as its factor, after Fichtenberger, Henzinger, Upadhyay, "Constant
Matters". Centring, the residual's limit and averaging are ours. Price and proof: PRIVACY.md,
section 16.

A season is cut into batches at public positions. Each example becomes a vector of limited length
(`features`) that depends on the public weights of its batch; G_t is the sum of the vectors of batch
t. At its end the learner releases, with discrete Gaussian noise Z_t,

    O_t = c_t G_0 + c_(t-1) G_1 + ... + c_0 G_t + Z_t,

and the next weights, their average and the published scorecard follow from the O alone. The warm-up
at the season's beginning is one such sequence, and releases the mean and the squared length of the
features once; the rest of the season is another sequence on features less that mean.

A season is a pure state machine, `step(state, event, noise)`, with the events and effects of
`littled.learners.contract`. Rules are published at the ends of public batches, at first after each,
later less and less often; what a rule costs is charged when the season opens.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np

from littled.budget.events import PrecisionLoss, PrepaidSelection, PrivacyEvent, ScorecardSeason
from littled.classes.capabilities import AdditiveRules, Integers, needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import (
    CallAdmitted,
    CallRefused,
    CallRequested,
    Event,
    Examples,
    Place,
    Published,
    SeasonOpened,
    SeasonPriced,
    Step,
)
from littled.learners.leader.columns import Columns
from littled.learners.leader.features import WEIGHT_BITS, FeatureMap, contribution
from littled.learners.leader.parameters import (
    DROPPED_BITS,
    LENGTH_MAX,
    LeaderParameters,
)
from littled.learners.leader.shaping import monotone, narrow_columns
from littled.learners.snapshot import SnapshotUnusable, counts_from_dict, counts_to_dict
from littled.learners.users import UserCounts
from littled.mechanisms import discrete_gaussian
from littled.mechanisms.noise import Address, NoiseSource, Purpose
from littled_protocol.rules import Rule, ScorecardRule, rule_from_dict

# Points of a scorecard for one unit of the logarithm of the odds of a usual row.
POINTS: Final = 100
# Powers of the decay are multiples of 2^-30, and weights limited so that products stay below 2^63.
_POWER_BITS: Final = 30
_WEIGHT_MAX: Final = 1 << 32
# Rows of releases, whose products with 15 bits have to fit as well.
_ROW_MAX: Final = 1 << 46
# Rules are published after each of the first batches, and about so often in a season in all.
PUBLISHED_AT_ONCE, PUBLISHED_LATER = 8, 4096
# Rows less their mean are not stretched to more than a tenth of the usual squared length.
_LEAST_SHARE: Final = 10
USUAL_LENGTH: Final = AdditiveRules.USUAL_LENGTH


@dataclass(frozen=True, slots=True)
class Sequence:
    """One sequence of batches: the sums G of all so far, and what was released, a column for each.

    Public: `released` (O without its lowest bits), `start` (the weights that it began with),
    `centre` and `bound`. Private: `summed` (G), `partial`, the sum of the batch that is not full.
    """

    summed: Columns
    released: Columns
    partial: Integers
    start: Integers
    centre: Integers
    bound: int


@dataclass(frozen=True, slots=True)
class LeaderState:
    """Everything the learner knows. Public: the fields up to `average`; the rest never leaves.

    `epoch` counts the rules that were published, over all seasons; `epoch_position` is where the
    season began. `batches` of the season are done, the warm-up's counted. `weights` and `average`
    are of features of length 1, in units of 2^-24, int64 (dimensions,); `average` is what is
    published, and moves half-way to the weights after each batch. `moments`
    are those of the warm-up so far.
    """

    rule: Rule
    weights: Integers
    average: Integers
    sequence: Sequence | None = None
    moments: Integers | None = None
    version: int = 0
    season: int = -1
    epoch: int = 0
    epoch_position: int = 0
    halted: bool = False
    batches: int = 0
    users_kept: UserCounts | None = None


@dataclass(frozen=True)
class LeaderLearner:
    """The scorecard learner for one class with public parameters.

    `name` is "stream/learner" and separates the noise of learners on one stream.
    """

    name: str
    hypotheses: HypothesisClass
    parameters: LeaderParameters

    # -- public facts ------------------------------------------------------------------------

    def initial(self) -> LeaderState:
        """The state before the first season opens."""
        nothing = np.zeros(self.features.dimensions, dtype=np.int64)
        return LeaderState(self.hypotheses.first_rule(), nothing, nothing)

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """Privacy events charged when a season opens: all its releases, and finite precision."""
        loss = PrecisionLoss(self.precision_error(), self.parameters.epsilon)
        return (season_event(self.parameters), loss)

    def call_event(self) -> PrivacyEvent:
        """Privacy event of publishing one rule."""
        return PrepaidSelection(draws=1)

    @property
    def calls_max(self) -> int:
        """Rules that a season publishes at the most."""
        return len(self._published_after)

    def calls_left(self, state: LeaderState) -> int:
        """Rules that may still be published in this season."""
        done = int(np.searchsorted(self._published_after, state.batches, side="right"))
        return 0 if state.halted else self.calls_max - done

    def precision_error(self) -> Fraction:
        """Bound on the total variation distance of a season from its ideal noise."""
        p, dimensions = self.parameters, self.features.dimensions
        values = (p.batches + p.warmup) * dimensions + bool(p.warmup) * (dimensions + 1)
        return min(Fraction(1), values * discrete_gaussian.TOTAL_VARIATION)

    # -- the state machine -------------------------------------------------------------------

    def step(self, state: LeaderState, event: Event, noise: NoiseSource) -> Step[LeaderState]:
        """One transition; pure, and total on every state that the learner itself reaches."""
        match event:
            case SeasonOpened():
                return self._open(state, event)
            case Examples():
                return self._observe(state, event, noise)
            case CallAdmitted():
                return self._publish(state, event.place)
            case CallRefused():
                return self._halt(state, event.place)

    def _open(self, state: LeaderState, event: SeasonOpened) -> Step[LeaderState]:
        """A season goes on from the weights of the one before: they are public."""
        p = self.parameters
        carried = state.average
        if state.sequence is not None:
            carried = self._at_usual_length(state.average, state.sequence)
        none = np.zeros(self.features.dimensions, dtype=np.int64)
        opened = replace(
            state,
            version=state.version + 1,
            season=event.season,
            epoch_position=event.position,
            halted=False,
            batches=0,
            weights=carried,
            average=carried,
            sequence=self._sequence(carried, none, USUAL_LENGTH),
            moments=np.zeros(len(none) + 1, dtype=np.int64) if p.warmup else None,
            users_kept=None if p.user_examples_max is None else UserCounts(),
        )
        kind = "season" if event.season else "rule"
        effects = (SeasonPriced(self.season_events()), _published(kind, opened, event.position))
        return Step(opened, effects)

    def _halt(self, state: LeaderState, place: Place) -> Step[LeaderState]:
        """The last rule stays published, and nothing is learned until the next season."""
        halted = replace(state, halted=True, version=state.version + 1)
        return Step(halted, (_published("halt", halted, place.position + 1),))

    def _publish(self, state: LeaderState, place: Place) -> Step[LeaderState]:
        """The scorecard of the averaged weights."""
        assert state.sequence is not None, "a rule is published in a season"
        rule = self._rule(state.average, state.sequence)
        published = replace(state, rule=rule, version=state.version + 1, epoch=state.epoch + 1)
        return Step(published, (_published("rule", published, place.position + 1),))

    def _observe(
        self, state: LeaderState, event: Examples, noise: NoiseSource
    ) -> Step[LeaderState]:
        """A batch after the other, up to the end of one after which a rule is published."""
        p, count = self.parameters, len(event.y)
        if (event.users is None) != (p.user_examples_max is None):
            raise ValueError("examples come with their users where users are protected, only there")
        if state.halted or not count:
            return Step(state, consumed=count)
        since = event.place.position - state.epoch_position
        end = self._next_published(state.batches) * p.batch_examples - since
        event = event.take(slice(min(count, end)))
        working = _Working(self, state, event, noise)
        for first, last, ends in _pieces(since, len(event.y), p.batch_examples):
            if working.batches == p.warmup + p.batches:
                break  # left over at the season's end
            working.add(first, last)
            if ends:
                working.finish(event.place_of(last - 1))
        state = working.result()
        if count < end:
            return Step(state, consumed=count)
        place = event.place_of(end - 1)
        return Step(state, (CallRequested(place, self.call_event()),), end)

    def quiet_until(self, state: LeaderState) -> int:
        """The last example of the next batch that ends with a rule."""
        end = self._next_published(state.batches) * self.parameters.batch_examples
        return state.epoch_position + end - 1

    def settled(self, state: LeaderState) -> LeaderState:
        """The same state: sums do not show how their examples came in batches."""
        return state

    def after_restore(self, state: LeaderState, version: int) -> LeaderState:
        """The state whose next version is above `version`, the last one that a store had lost."""
        return replace(state, version=max(state.version, version))

    def state_to_dict(self, state: LeaderState) -> dict[str, Any]:
        """Plain values and arrays of a state, for a snapshot; of sums only what is there."""
        values = {one.name: getattr(state, one.name) for one in fields(state)}
        return {
            **values,
            "rule": state.rule.to_dict(),
            "sequence": None if state.sequence is None else _to_dict(state.sequence),
            "users_kept": counts_to_dict(state.users_kept),
        }

    def state_from_dict(self, values: dict[str, Any]) -> LeaderState:
        """The state that `state_to_dict` wrote; SnapshotUnusable if it is of another version."""
        if set(values) != {one.name for one in fields(LeaderState)}:
            raise SnapshotUnusable("the snapshot has the fields of another version")
        sequence = values["sequence"]
        read = {
            **values,
            "rule": rule_from_dict(values["rule"]),
            "sequence": None if sequence is None else _from_dict(sequence),
            "users_kept": counts_from_dict(values["users_kept"]),
        }
        return LeaderState(**read)

    # -- parts -------------------------------------------------------------------------------

    @cached_property
    def features(self) -> FeatureMap:
        """The features of the class's rows."""
        return FeatureMap(needed(self.hypotheses.additive))

    @cached_property
    def _published_after(self) -> Integers:
        """The numbers of batches after which a rule is published, rising; public."""
        return np.array(list(published_after(self.parameters)), dtype=np.int64)

    def _next_published(self, batches: int) -> int:
        """The first of them above so many batches; beyond the season's end if there is none."""
        place = int(np.searchsorted(self._published_after, batches, side="right"))
        if place == len(self._published_after):
            return self.parameters.horizon + 1
        return int(self._published_after[place])

    def coefficients(self, *, warming: bool) -> Integers:
        """The coefficients of a sequence from the last to the first, int64."""
        p = self.parameters
        found = p.warmup_coefficients if warming else p.coefficients
        return np.array(found[::-1], dtype=np.int64)

    @cached_property
    def _reversed(self) -> dict[bool, Integers]:
        return {warming: self.coefficients(warming=warming) for warming in (False, True)}

    def row(self, columns: Columns, *, warming: bool) -> Integers:
        """c_t G_0 + ... + c_0 G_t of all columns, 0..t: int64 (dimensions,).

        As a sum over indices, which numpy does for integers in half the time of a product.
        """
        coefficients = self._reversed[warming][-columns.count :]
        found: Integers = np.einsum("ij,j->i", columns.cells, coefficients)
        return found

    def release(
        self, values: Integers, noise: NoiseSource, place: Place, purpose: Purpose
    ) -> Integers:
        """What becomes public of values (n,) at a place: they and discrete Gaussian noise."""
        address = Address(place.chain_head, self.name, purpose, place.position)
        words = noise.words(address, len(values) * discrete_gaussian.WORDS)
        drawn = discrete_gaussian.sample(words.reshape(len(values), discrete_gaussian.WORDS))
        return values + drawn

    def _sequence(self, start: Integers, centre: Integers, bound: int) -> Sequence:
        rows = self.features.dimensions
        nothing = np.zeros(rows, dtype=np.int64)
        return Sequence(Columns(rows), Columns(rows), nothing, start, centre, bound)

    @cached_property
    def _powers(self) -> tuple[int, ...]:
        """1, g, g^2, ... in units of 2^-30, g the decay, each rounded down."""
        p, current = self.parameters, 1 << 64
        found = []
        for _ in range(max(p.batches, p.warmup) + 1):
            found.append(current >> (64 - _POWER_BITS))
            current = current * p.decay.numerator // p.decay.denominator
        return tuple(found)

    @cached_property
    def _rates(self) -> dict[bool, tuple[int, int]]:
        """Weight for a unit of a row of releases: a number of 15 bits, and its shift."""
        p, found = self.parameters, {}
        for warming, scale in ((False, p.scale), (True, p.warmup_scale)):
            above = p.learning_rate.numerator << (WEIGHT_BITS + DROPPED_BITS)
            below = p.learning_rate.denominator * max(scale, 1) ** 2 * 2 * LENGTH_MAX
            shift = 14 + below.bit_length() - above.bit_length()
            found[warming] = ((above << max(shift, 0)) // (below << max(-shift, 0)), shift)
        return found

    def after(self, sequence: Sequence, *, warming: bool) -> Integers:
        """The weights that follow from the releases of a sequence, all of them public."""
        row = self.row(sequence.released, warming=warming)
        multiple, shift = self._rates[warming]
        moved = np.minimum(np.maximum(row, -_ROW_MAX), _ROW_MAX) * multiple
        moved = moved >> shift if shift >= 0 else moved << -shift
        decayed = sequence.start * self._powers[sequence.released.count] >> _POWER_BITS
        found: Integers = np.minimum(np.maximum(decayed + moved, -_WEIGHT_MAX), _WEIGHT_MAX)
        return found

    def centred(self, average: Integers, released: Integers) -> Sequence:
        """The sequence after the warm-up, whose noisy moments were released, times their scale."""
        p = self.parameters
        rows = p.warmup * p.batch_examples * p.moments_scale
        *moments, square = released.tolist()
        moments[0] = 0  # the constant is the same for every row
        centre = [max(-USUAL_LENGTH, min(USUAL_LENGTH, _nearest(m, rows))) for m in moments]
        # the squared length of the mean, less what noise adds to it
        noise = (self.features.dimensions - 1) * discrete_gaussian.VARIANCE
        of_mean = max(0, sum(m * m for m in moments) - noise) // rows**2
        spread = square * USUAL_LENGTH // rows - of_mean
        least = USUAL_LENGTH**2 // _LEAST_SHARE
        bound = min(math.isqrt(max(spread, least)) + 1, 2 * USUAL_LENGTH)
        around = np.array(centre, dtype=np.int64)
        return self._sequence(self._around(average, around, bound), around, bound)

    def _around(self, weights: Integers, centre: Integers, bound: int) -> Integers:
        """Weights of features around 0 at the usual length, as those around a centre."""
        found = weights * bound // USUAL_LENGTH
        found[0] += int((found * centre).sum()) // self.features.rules.constant
        return np.clip(found, -_WEIGHT_MAX, _WEIGHT_MAX)

    def _at_usual_length(self, weights: Integers, sequence: Sequence) -> Integers:
        """The other way round."""
        found = weights.copy()
        found[0] -= int((weights * sequence.centre).sum()) // self.features.rules.constant
        return np.clip(found * USUAL_LENGTH // sequence.bound, -_WEIGHT_MAX, _WEIGHT_MAX)

    def _rule(self, weights: Integers, sequence: Sequence) -> Rule:
        """The scorecard of weights around a centre: the constant takes up the centre's score.

        Of columns that are left out too, which are then as if all rows had the mean there.
        """
        found = self._whole_rule(weights, sequence)
        most = self.parameters.columns_max
        if most is None or most >= len(found.tables):
            return found
        kept, sides = weights.copy(), self.features.rules.places
        for place in narrow_columns(found, most):
            kept[sides[place]] = 0
        return self._whole_rule(kept, sequence)

    def _whole_rule(self, weights: Integers, sequence: Sequence) -> ScorecardRule:
        """The same of all columns, monotone where that was asked for."""
        rules, unit, score = self.features.rules, sequence.bound << WEIGHT_BITS, weights * POINTS
        constant = int(score[0]) * rules.constant - int((score * sequence.centre).sum())
        points = (2 * self.features.sums(score) + unit) // (2 * unit)
        found = rules.rule_of(_nearest(constant, unit), points)
        return monotone(found, self.parameters.monotone, rules.ordered)


class _Working:
    """What one step changes, until its `result`: the state that it began with stays as it is."""

    def __init__(
        self, learner: LeaderLearner, state: LeaderState, event: Examples, noise: NoiseSource
    ) -> None:
        """Look up what does not change within a sequence: cells, and who is learned from."""
        sequence = state.sequence
        assert sequence is not None, "examples come after a season was opened"
        self.learner, self.event, self.source = learner, event, noise
        self.batches, self.weights, self.average = state.batches, state.weights, state.average
        self.partial, self.moments = sequence.partial, state.moments
        self.cells = learner.features.cells(event.x)
        self.admitted = np.ones(len(event.y), dtype=np.bool_)
        most = learner.parameters.user_examples_max
        if event.users is not None and state.users_kept is not None and most is not None:
            self.admitted = state.users_kept.admitted(event.users, self.admitted, most)
            kept = state.users_kept.plus(event.users[self.admitted])
            state = replace(state, users_kept=kept)
        self._state = state
        self._begin(sequence, 0)

    def _begin(self, sequence: Sequence, first: int) -> None:
        """Take up a sequence from example `first` on."""
        self.sequence = sequence
        self._example = contribution(self.learner.features, sequence.centre, sequence.bound)
        self._first = first
        self._lengths = self._example.lengths(self.cells[:, first:])
        self._scores = self._example.scores(self.weights)

    def add(self, first: int, last: int) -> None:
        """Add the examples first..last-1, all of one batch, to its sum."""
        cells, y = self.cells[:, first:last], self.event.y[first:last]
        lengths = self._lengths[first - self._first : last - self._first]
        multiples = self._example.multiples(self._scores, cells, lengths, y)
        multiples *= self.admitted[first:last]
        features = self.learner.features
        self.partial = self.partial + features.vector(cells, multiples, self.sequence.centre)
        if self.moments is not None:
            moments = self._example.moments(cells[:, self.admitted[first:last]])
            self.moments = self.moments + moments

    def finish(self, place: Place) -> None:
        """Release the row of the batch that is full now, and what follows from it."""
        learner, sequence, warming = self.learner, self.sequence, self.moments is not None
        summed = sequence.summed.plus(self.partial)
        row = learner.row(summed, warming=warming)
        released = learner.release(row, self.source, place, "scorecard")
        heard = sequence.released.plus(released >> DROPPED_BITS)
        self.sequence = replace(sequence, summed=summed, released=heard)
        self.partial = np.zeros_like(self.partial)
        self.weights = learner.after(self.sequence, warming=warming)
        self.average = self.average + self.weights >> 1
        self.batches += 1
        if self.moments is not None and self.batches == learner.parameters.warmup:
            moments = learner.parameters.moments_scale * self.moments
            released = learner.release(moments, self.source, place, "scorecard-moments")
            sequence = learner.centred(self.average, released)
            self.weights = self.average = sequence.start
            self.moments = None
            self._begin(sequence, place.position + 1 - self.event.place.position)
        else:
            self._scores = self._example.scores(self.weights)

    def result(self) -> LeaderState:
        """The state after what was added and finished."""
        return replace(
            self._state,
            weights=self.weights,
            average=self.average,
            sequence=replace(self.sequence, partial=self.partial),
            moments=self.moments,
            batches=self.batches,
        )


def season_event(p: LeaderParameters) -> ScorecardSeason:
    """Everything that a season releases: squared lengths by which neighbours' rows differ."""
    most = p.user_examples_max or 1
    apart = (2 * LENGTH_MAX * most) ** 2
    return ScorecardSeason(
        warmup=apart * sum(c * c for c in p.warmup_coefficients),
        moments=5 * (p.moments_scale * USUAL_LENGTH * most) ** 2,
        rest=apart * sum(c * c for c in p.coefficients),
        variance=discrete_gaussian.VARIANCE,
    )


def published_after(p: LeaderParameters) -> Iterator[int]:
    """The numbers of batches after which a rule is published: public, rising."""
    total_batches = p.warmup + p.batches
    most = max(1, -(-total_batches // PUBLISHED_LATER))
    for batch in range(1, total_batches + 1):
        between = min(most, 1 << max(0, (batch // PUBLISHED_AT_ONCE).bit_length() - 1))
        if batch % between == 0:
            yield batch


def _pieces(since: int, count: int, batch: int) -> Iterator[tuple[int, int, bool]]:
    """The parts of `count` examples that are in one batch each, and whether they end it.

    `since`: examples of the season before them.
    """
    first = 0
    while first < count:
        last = min(count, first + batch - (since + first) % batch)
        yield first, last, (since + last) % batch == 0
        first = last


def _nearest(above: int, below: int) -> int:
    """The integer nearest to a fraction."""
    return (2 * above + below) // (2 * below)


def _to_dict(sequence: Sequence) -> dict[str, Any]:
    values = {one.name: getattr(sequence, one.name) for one in fields(sequence)}
    for name in ("summed", "released"):
        values[name] = np.ascontiguousarray(values[name].cells)
    return values


def _from_dict(values: dict[str, Any]) -> Sequence:
    if set(values) != {one.name for one in fields(Sequence)}:
        raise SnapshotUnusable("the snapshot has the fields of another version")
    grown = {name: Columns(len(values[name]), values[name]) for name in ("summed", "released")}
    return Sequence(**{**values, **grown})


def _published(kind: str, state: LeaderState, position: int) -> Published:
    return Published(kind, state.version, state.season, state.epoch, position, state.rule)
