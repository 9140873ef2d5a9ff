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
later less and less often, and only if rows score differently enough to be worth a rule; what rules
cost is charged when the season opens.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

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
from littled.learners.leader.drift import is_longer_than_noise, recent_noise
from littled.learners.leader.features import SCORE_BITS, WEIGHT_BITS, FeatureMap
from littled.learners.leader.judging import COUNTED, Candidate, Judgement, candidate_scores
from littled.learners.leader.parameters import (
    LENGTH_MAX,
    POINTS,
    RATE_BITS,
    ROOT_BITS,
    LeaderParameters,
)
from littled.learners.leader.shaping import (
    change_squared,
    monotone,
    narrow_columns,
    points_of_cells,
)
from littled.learners.leader.state import (
    Base,
    LeaderState,
    Sequence,
    state_from_dict,
    state_to_dict,
)
from littled.learners.leader.stumps import NOTHING_DRAWN, Stumps
from littled.learners.leader.working import Working
from littled.learners.users import UserCounts
from littled.mechanisms import discrete_gaussian
from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.noise import Address, NoiseSource, Purpose
from littled_protocol.rules import Rule, ScorecardRule

# Powers of the decay are multiples of 2^-30, and weights limited so that products stay below 2^63.
_POWER_BITS: Final = 30
_WEIGHT_MAX: Final = 1 << 32
# Rows of releases, whose products with 15 bits have to fit as well.
_ROW_MAX: Final = 1 << 46
# Rules are published after each of the first batches, and about so often in a season in all.
PUBLISHED_AT_ONCE, PUBLISHED_LATER = 8, 4096
# A stump is drawn at a quarter of its batches, and at their end. The one that was drawn first
# weighs exp(4) times as much then as another one that is as good.
STAGES, STANDING = 4, 4
# In a trial the scorecard weighs exp(1) times as much as another candidate that is as good: it goes
# on learning.
TRIAL_STANDING = 1
# Rows less their mean are not stretched to more than a tenth of the usual squared length.
_LEAST_SHARE: Final = 10
USUAL_LENGTH: Final = AdditiveRules.USUAL_LENGTH


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
        gaussian = p.accounting == "gaussian"
        one = discrete_gaussian.ROUNDED_VARIATION if gaussian else discrete_gaussian.TOTAL_VARIATION
        found = (values + COUNTED * len(p.periods)) * one
        if p.stump_batches:
            drawn = ExponentialMechanism(p.stump_rate).total_variation(len(self.stumps.drawn))
            found += len(self.stages) * drawn
        if p.trial_batches:
            found += ExponentialMechanism(p.stump_rate).total_variation(len(Candidate))
        return min(Fraction(1), found)

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
            base=Base(state.base.number, self.base_score(state.base, state.batches)),
            judgement=Judgement(choice=state.judgement.choice),
            judged=self._nothing_judged if not p.stump_batches else None,
            cell_sums=None,
        )
        kind = "season" if event.season else "rule"
        effects = (SeasonPriced(self.season_events()), _published(kind, opened, event.position))
        return Step(opened, effects)

    def _halt(self, state: LeaderState, place: Place) -> Step[LeaderState]:
        """The last rule stays published, and nothing is learned until the next season."""
        halted = replace(state, halted=True, version=state.version + 1)
        return Step(halted, (_published("halt", halted, place.position + 1),))

    def _publish(self, state: LeaderState, place: Place) -> Step[LeaderState]:
        """The rule that was chosen: without a choice the scorecard of the averaged weights."""
        rule = self._chosen(state) if self.parameters.publish_every else self._rule(state)
        published = replace(state, rule=rule, version=state.version + 1, epoch=state.epoch + 1)
        return Step(published, (_published("rule", published, place.position + 1),))

    def _observe(
        self, state: LeaderState, event: Examples, noise: NoiseSource
    ) -> Step[LeaderState]:
        """A batch after the other, up to the end of one after which a rule is published."""
        p, done = self.parameters, 0
        if (event.users is None) != (p.user_examples_max is None):
            raise ValueError("examples come with their users where users are protected, only there")
        if state.halted:
            return Step(state, consumed=len(event.y))
        step = Step(state)
        while done < len(event.y) and not step.effects:
            step = self._to_public_time(step.state, event.rest(done), noise)
            done += step.consumed
        return replace(step, consumed=done)

    def _to_public_time(
        self, state: LeaderState, event: Examples, noise: NoiseSource
    ) -> Step[LeaderState]:
        """Examples up to the next public time; a call, if there is a rule to be published."""
        p, count = self.parameters, len(event.y)
        since = event.place.position - state.epoch_position
        end = self._next_published(state.batches) * p.batch_examples - since
        event = event.take(slice(min(count, end)))
        working = Working(self, state, event, noise)
        for first, last, ends in _pieces(since, len(event.y), p.batch_examples):
            if working.batches == p.all_batches:
                break  # left over at the season's end
            working.add(first, last)
            if ends:
                working.finish(event.place_of(last - 1))
        state = working.result()
        if count < end:
            return Step(state, consumed=count)
        if p.publish_every:
            if state.batches >= p.stump_batches:
                state = replace(state, card=self._card(state))
            if self._chosen(state) == state.rule:
                return Step(state, consumed=end)
        place = event.place_of(end - 1)
        return Step(state, (CallRequested(place, self.call_event(), short=True),), end)

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
        return state_to_dict(state)

    def state_from_dict(self, values: dict[str, Any]) -> LeaderState:
        """The state that `state_to_dict` wrote; SnapshotUnusable if it is of another version."""
        return state_from_dict(values)

    # -- parts -------------------------------------------------------------------------------

    @cached_property
    def features(self) -> FeatureMap:
        """The features of the class's rows."""
        p = self.parameters
        return FeatureMap(needed(self.hypotheses.additive), p.cosines, p.flags_from)

    @cached_property
    def stumps(self) -> Stumps:
        """The stumps that are compared."""
        return Stumps(self.features, self.parameters.monotone)

    @property
    def stages(self) -> tuple[int, ...]:
        """Batches of a season after which a stump is drawn; public, rising."""
        batches = self.parameters.stump_batches
        return tuple(sorted({-(-batches // STAGES), batches})) if batches else ()

    @cached_property
    def period_ends(self) -> dict[int, int]:
        """Batches of a season after which candidates are judged, and those of the period."""
        ends = self.parameters.periods
        starts = (self.parameters.unjudged, *ends[:-1])
        return {end: end - start for start, end in zip(starts, ends, strict=False)}

    @property
    def _nothing_judged(self) -> Integers | None:
        return np.zeros(COUNTED, dtype=np.int64) if self.parameters.judging_scale else None

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

    def kept(self, *, warming: bool) -> int | None:
        """So many columns of a sequence are kept: those with a coefficient; None for all."""
        return len(self._reversed[warming]) if self.parameters.damping else None

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

    def draw(self, sums: Integers, standing: int, noise: NoiseSource, place: Place) -> int:
        """The number of the stump that is drawn from a stage's examples.

        sums: of each cell how many more ones than zeros. standing: the number drawn before.
        """
        p, drawn = self.parameters, self.stumps.drawn
        offset = math.ceil(STANDING / p.stump_rate) * (drawn == standing)
        address = Address(place.chain_head, self.name, "scorecard-stump", place.position)
        words = noise.words(address, ExponentialMechanism.WORDS)
        mechanism = ExponentialMechanism(p.stump_rate)
        return int(drawn[mechanism.sample(self.stumps.scores(sums) + offset, words)])

    def draw_candidate(self, sums: Integers, noise: NoiseSource, place: Place) -> Candidate:
        """The candidate that is drawn from a trial's examples.

        sums: how much more often each that is counted was right than wrong.
        """
        mechanism = ExponentialMechanism(self.parameters.stump_rate)
        scores = candidate_scores(sums)
        scores[Candidate.SCORECARD] += math.ceil(TRIAL_STANDING / self.parameters.stump_rate)
        address = Address(place.chain_head, self.name, "scorecard-trial", place.position)
        return Candidate(mechanism.sample(scores, noise.words(address, mechanism.WORDS)))

    def base_score(self, base: Base, batches: int) -> int:
        """What is left of a base's score after so many batches of a season, in 2^-16 log odds."""
        p = self.parameters
        if base.number == NOTHING_DRAWN or not p.stump_fade:
            return 0
        faded = min(p.stump_fade, max(0, batches - p.stump_batches))
        return base.score * (p.stump_fade - faded) // p.stump_fade

    def base_scores(self, base: Base, batches: int, cells: NDArray[np.uint32]) -> Integers | int:
        """The same of each of n rows, with the sign of what the stump says: int64 (n,), or 0."""
        score = self.base_score(base, batches)
        if not score:
            return 0
        found: Integers = np.where(self.stumps.labels(base.number, cells), score, -score)
        return found

    def card_points(self, state: LeaderState) -> tuple[int, Integers]:
        """The constant and the points of all cells of the scorecard that is judged."""
        if state.card is None:
            return 0, np.zeros(self.features.cell_count, dtype=np.int64)
        return state.card.constant, points_of_cells(state.card)

    def _sequence(self, start: Integers, centre: Integers, bound: int) -> Sequence:
        p, rows = self.parameters, self.features.dimensions
        nothing = np.zeros(rows, dtype=np.int64)
        return Sequence(
            Columns(rows), Columns(rows), nothing, start, centre, bound,
            level=nothing if p.damping else None,
            recent=nothing if p.drift_batches else None,
        )  # fmt: skip

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
            above = p.learning_rate.numerator << (WEIGHT_BITS + p.dropped_bits)
            below = p.learning_rate.denominator * max(scale, 1) * 2 * LENGTH_MAX
            below *= 1 << ROOT_BITS if p.damping else max(scale, 1)
            shift = 14 + below.bit_length() - above.bit_length()
            found[warming] = ((above << max(shift, 0)) // (below << max(-shift, 0)), shift)
        return found

    @cached_property
    def _lasting(self) -> int:
        return self.parameters.lasting

    @cached_property
    def _reversed_roots(self) -> Integers:
        return np.array(self.parameters.roots[::-1], dtype=np.int64)

    @cached_property
    def _recent_noise(self) -> tuple[int, ...]:
        return recent_noise(self.parameters)

    def following(self, sequence: Sequence, released: Columns, batches: int) -> Sequence:
        """A sequence with one more release, the last one, after so many batches of it; public.

        What a damped one adds to its decaying sum are the releases convolved with what undoes their
        coefficients: the batch's sum, in units of 2^-16, and noise; times the learning rate, where
        that falls.
        """
        if sequence.level is None:
            return replace(sequence, released=released)
        p, since, recent = self.parameters, sequence.since, sequence.recent
        coefficients = self._reversed_roots[-released.count :]
        added: Integers = np.einsum("ij,j->i", released.cells, coefficients)
        if p.falling_after:
            added = np.minimum(np.maximum(added, -_ROW_MAX), _ROW_MAX)
            if recent is not None:
                recent = recent - recent // p.drift_batches + added
                if is_longer_than_noise(recent, self._recent_noise[batches - 1], p.drift_lead):
                    since = 0
            added, since = added * p.falling(since) >> RATE_BITS, since + 1
        level = sequence.level - sequence.level // self._lasting + added
        return replace(sequence, released=released, level=level, since=since, recent=recent)

    def after(self, sequence: Sequence, batches: int, *, warming: bool) -> Integers:
        """The weights that follow from the releases of so many batches of a sequence; public."""
        row = sequence.level
        if row is None:
            row = self.row(sequence.released, warming=warming)
        multiple, shift = self._rates[warming]
        moved = np.minimum(np.maximum(row, -_ROW_MAX), _ROW_MAX) * multiple
        moved = moved >> shift if shift >= 0 else moved << -shift
        decayed = sequence.start * self._powers[batches] >> _POWER_BITS
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
        bound = max(1, bound * p.short_share.numerator // p.short_share.denominator)
        around = np.array(centre, dtype=np.int64)
        return self._sequence(self._around(average, around, bound), around, bound)

    def _around(self, weights: Integers, centre: Integers, bound: int) -> Integers:
        """Weights of features around 0 at the usual length, as those around a centre."""
        found = weights * bound // USUAL_LENGTH
        found[0] += int((found * centre).sum()) // self.features.constant
        return np.clip(found, -_WEIGHT_MAX, _WEIGHT_MAX)

    def _at_usual_length(self, weights: Integers, sequence: Sequence) -> Integers:
        """The other way round."""
        found = weights.copy()
        found[0] -= int((weights * sequence.centre).sum()) // self.features.constant
        return np.clip(found * USUAL_LENGTH // sequence.bound, -_WEIGHT_MAX, _WEIGHT_MAX)

    def _chosen(self, state: LeaderState) -> Rule:
        """What is published of the candidates; public."""
        choice = state.judgement.choice
        if choice is Candidate.SCORECARD:
            return self.hypotheses.first_rule() if state.card is None else state.card
        number = self.stumps.never + (choice is Candidate.ALWAYS)
        constant, parts = self.stumps.points(state.stump if choice is Candidate.STUMP else number)
        return self.features.rules.rule_of(constant * POINTS, parts * POINTS)

    def _card(self, state: LeaderState) -> ScorecardRule:
        """The scorecard of a public time: the last one, if rows score nearly the same; public."""
        p, least = self.parameters, self.parameters.least_change
        if state.card is None or not least:
            return self._rule(state)
        if p.monotone or p.columns_max is not None:
            new = self._rule(state)
            moved = change_squared(state.card, new.constant, points_of_cells(new))
            return state.card if moved < least * least else new
        assert state.sequence is not None, "a public time is in a season"
        points = self._points(state.average, state.sequence, self._base_left(state))
        moved = change_squared(state.card, *points)
        return state.card if moved < least * least else self.features.rules.rule_of(*points)

    def _base_left(self, state: LeaderState) -> Base:
        """What is left of the base."""
        return Base(state.base.number, self.base_score(state.base, state.batches))

    def _rule(self, state: LeaderState) -> ScorecardRule:
        """The scorecard of averaged weights around a centre, and of what is left of the base.

        The constant takes up the centre's score, and that of columns that are left out: these are
        as if all rows had the mean there.
        """
        assert state.sequence is not None, "a rule is published in a season"
        base = self._base_left(state)
        found = self._whole_rule(state.average, state.sequence, base)
        most = self.parameters.columns_max
        if most is None or most >= len(found.tables):
            return found
        kept, sides = state.average.copy(), self.features.encoded.places
        for place in narrow_columns(found, most):
            kept[sides[place]] = 0
            if place == self.stumps.column(base.number):
                base = Base()
        return self._whole_rule(kept, state.sequence, base)

    def _whole_rule(self, weights: Integers, sequence: Sequence, base: Base) -> ScorecardRule:
        """The same of all columns, monotone where that was asked for."""
        rules = self.features.rules
        found = rules.rule_of(*self._points(weights, sequence, base))
        return monotone(found, self.parameters.monotone, rules.ordered)

    def _points(self, weights: Integers, sequence: Sequence, base: Base) -> tuple[int, Integers]:
        """Its constant, and the points of all cells."""
        unit, score = sequence.bound << WEIGHT_BITS, weights * POINTS
        constant = int(score[0]) * self.features.constant - int((score * sequence.centre).sum())
        constant, points = (
            _nearest(constant, unit),
            (2 * self.features.sums(score) + unit) // (2 * unit),
        )
        if base.score:
            own, parts = self.stumps.points(base.number)
            most = base.score * POINTS >> SCORE_BITS
            constant, points = constant + own * most, points + parts * most
        return constant, points


def season_event(p: LeaderParameters) -> ScorecardSeason:
    """Everything that a season releases: squared lengths by which neighbours' rows differ."""
    most = p.user_examples_max or 1
    apart = (2 * LENGTH_MAX * most) ** 2
    return ScorecardSeason(
        warmup=apart * sum(c * c for c in p.warmup_coefficients),
        moments=5 * (p.moments_scale * USUAL_LENGTH * most) ** 2,
        rest=apart * sum(c * c for c in p.coefficients),
        variance=discrete_gaussian.VARIANCE,
        judging=COUNTED * (2 * p.judging_scale * most) ** 2,
        stump_rate=p.stump_rate * most,
        accounting=p.accounting,
        conversion_delta=p.conversion_delta,
    )


def published_after(p: LeaderParameters) -> Iterator[int]:
    """The numbers of batches after which a rule may be published: public, rising."""
    most = p.publish_every or max(1, -(-p.all_batches // PUBLISHED_LATER))
    for batch in range(1, p.all_batches + 1):
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


def _published(kind: str, state: LeaderState, position: int) -> Published:
    return Published(kind, state.version, state.season, state.epoch, position, state.rule)
