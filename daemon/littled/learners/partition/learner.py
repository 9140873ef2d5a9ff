"""The partition learner: noisy counts of both labels in the parts of a public partition.

Source: noisy histograms, after Dwork, McSherry, Nissim, Smith, "Calibrating Noise to Sensitivity in
Private Data Analysis"; partitions that follow earlier releases, after Cormode, Procopiuc,
Srivastava, Shen, Yu, "Differentially Private Spatial Decompositions". That each epoch pays for one
level alone, as its partition is what the epochs before it have released, is ours. Price and proof:
PRIVACY.md, section 17.

A season is cut into epochs at public positions. In an epoch the learner counts the labels 0 and 1
of each part of a partition that is public when the epoch begins; at its end it adds discrete
Laplace noise to every count, also where nothing was seen. What follows is a function of the noisy
counts alone: sums of them, which older epochs count less in; the union of at most so many blocks
that errs least by these sums; and the partition of the next epoch, finer where labels are mixed.

A season is a pure state machine, `step(state, event, noise)`, with the events and effects of
`littled.learners.contract`.
"""

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from littled.budget.events import CountsSeason, PrecisionLoss, PrepaidSelection, PrivacyEvent
from littled.classes.capabilities import BlockUnions, Integers, needed
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
from littled.learners.partition.parameters import PartitionParameters
from littled.learners.partition.parts import Partition, followed
from littled.learners.snapshot import SnapshotUnusable, counts_from_dict, counts_to_dict
from littled.learners.users import UserCounts
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.noise import Address, NoiseSource
from littled_protocol.rules import Rule, rule_from_dict


@dataclass(frozen=True, slots=True)
class PartitionState:
    """Everything the learner knows. Public: the fields up to `memory`; the rest never leaves.

    `epoch` counts the rules that were published, over all seasons, `calls` those of the season;
    `epoch_position` is where the epoch began. `memory`: sums of what was released, int64 (parts,
    2), labels 0 and 1. `counts`: the same of the epoch so far, without noise.
    """

    rule: Rule
    partition: Partition
    memory: Integers
    counts: Integers
    version: int = 0
    season: int = -1
    epoch: int = 0
    calls: int = 0
    epoch_position: int = 0
    halted: bool = False
    users_kept: UserCounts | None = None


@dataclass(frozen=True)
class PartitionLearner:
    """The partition learner for one class with public parameters.

    `name` is "stream/learner" and separates the noise of learners on one stream.
    """

    name: str
    hypotheses: HypothesisClass
    parameters: PartitionParameters

    # -- public facts ------------------------------------------------------------------------

    def initial(self) -> PartitionState:
        """The state before the first season opens."""
        partition = Partition.first(self.unions.bits, self.parameters.parts_max)
        nothing = np.zeros((len(partition), 2), dtype=np.int64)
        return PartitionState(self.hypotheses.first_rule(), partition, nothing, nothing)

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """Privacy events charged when a season opens: all its releases, and finite precision."""
        p = self.parameters
        season = CountsSeason(p.rate, p.accounting, p.user_examples_max or 0)
        return (season, PrecisionLoss(self.precision_error(), p.epsilon))

    def call_event(self) -> PrivacyEvent:
        """Privacy event of publishing one rule."""
        return PrepaidSelection(draws=1)

    @property
    def calls_max(self) -> int:
        """Rules that a season publishes at the most."""
        return self.parameters.calls_max

    def calls_left(self, state: PartitionState) -> int:
        """Rules that may still be published in this season."""
        return 0 if state.halted else self.calls_max - state.calls

    def precision_error(self) -> Fraction:
        """Bound on the total variation distance of a season from its ideal noise."""
        values = 2 * self.parameters.parts_max * self.calls_max
        return min(Fraction(1), values * self.noise.total_variation)

    # -- the state machine -------------------------------------------------------------------

    def step(self, state: PartitionState, event: Event, noise: NoiseSource) -> Step[PartitionState]:
        """One transition; pure, and total on every state that the learner itself reaches."""
        match event:
            case SeasonOpened():
                return self._open(state, event)
            case Examples():
                return self._observe(state, event)
            case CallAdmitted():
                return self._publish(state, event.place, noise)
            case CallRefused():
                return self._halt(state, event.place)

    def _open(self, state: PartitionState, event: SeasonOpened) -> Step[PartitionState]:
        """A season goes on from what the one before has released; its counts begin anew."""
        opened = replace(
            state,
            version=state.version + 1,
            season=event.season,
            calls=0,
            epoch_position=event.position,
            halted=False,
            counts=np.zeros_like(state.counts),
            users_kept=None if self.parameters.user_examples_max is None else UserCounts(),
        )
        kind = "season" if event.season else "rule"
        effects = (SeasonPriced(self.season_events()), _published(kind, opened, event.position))
        return Step(opened, effects)

    def _halt(self, state: PartitionState, place: Place) -> Step[PartitionState]:
        """The last rule stays published, and nothing is learned until the next season."""
        halted = replace(state, halted=True, version=state.version + 1)
        return Step(halted, (_published("halt", halted, place.position + 1),))

    def _observe(self, state: PartitionState, event: Examples) -> Step[PartitionState]:
        """Count the labels up to the end of the epoch."""
        p, count = self.parameters, len(event.y)
        if (event.users is None) != (p.user_examples_max is None):
            raise ValueError("examples come with their users where users are protected, only there")
        length = p.epoch_length(state.calls)
        if state.halted or not count or length is None:
            return Step(state, consumed=count)  # the season's last epoch, which no rule follows
        left = length - (event.place.position - state.epoch_position)
        state = self._counted(state, event.take(slice(min(count, left))))
        if count < left:
            return Step(state, consumed=count)
        place = event.place_of(left - 1)
        return Step(state, (CallRequested(place, self.call_event()),), left)

    def _counted(self, state: PartitionState, event: Examples) -> PartitionState:
        """The counts with those examples that are admitted."""
        most, x, y = self.parameters.user_examples_max, event.x, event.y
        if event.users is not None and state.users_kept is not None and most is not None:
            wanted = np.ones(len(y), dtype=np.bool_)
            admitted = state.users_kept.admitted(event.users, wanted, most)
            places = np.flatnonzero(admitted)
            kept = state.users_kept.plus(event.users.take(places, axis=0))
            state = replace(state, users_kept=kept)
            x, y = x.take(places, axis=0), y.take(places)
        cells = 2 * state.partition.places(x) + y
        counts = np.bincount(cells, minlength=state.counts.size).reshape(state.counts.shape)
        return replace(state, counts=state.counts + counts)

    def _publish(
        self, state: PartitionState, place: Place, noise: NoiseSource
    ) -> Step[PartitionState]:
        """Release the counts of the epoch with noise, and what follows from them."""
        p = self.parameters
        released = self.release(state.counts, noise, place)
        memory = state.memory * p.decay.numerator // p.decay.denominator + released
        gains = (memory[:, 1] - memory[:, 0]).tolist()
        parts = state.partition
        rule = self.unions.best_rule(parts.starts, parts.lengths, gains, p.block_cost)
        partition, memory = followed(parts, memory, p.divided_from, p.parts_max)
        published = replace(
            state,
            rule=rule,
            partition=partition,
            memory=memory,
            counts=np.zeros_like(memory),
            version=state.version + 1,
            epoch=state.epoch + 1,
            calls=state.calls + 1,
            epoch_position=place.position + 1,
        )
        return Step(published, (_published("rule", published, place.position + 1),))

    def release(self, counts: Integers, noise: NoiseSource, place: Place) -> Integers:
        """What becomes public of counts (parts, 2) at a place: they and discrete Laplace noise."""
        address = Address(place.chain_head, self.name, "counts", place.position)
        words = noise.words(address, counts.size * DiscreteLaplace.WORDS)
        drawn = self.noise.samples(words.reshape(counts.size, DiscreteLaplace.WORDS))
        return counts + drawn.reshape(counts.shape)

    def quiet_until(self, state: PartitionState) -> int | None:
        """The last example of the epoch; not known for the season's last, which no rule follows."""
        length = self.parameters.epoch_length(state.calls)
        return None if length is None else state.epoch_position + length - 1

    def settled(self, state: PartitionState) -> PartitionState:
        """The same state: counts do not show how their examples came in batches."""
        return state

    def after_restore(self, state: PartitionState, version: int) -> PartitionState:
        """The state whose next version is above `version`, the last one that a store had lost."""
        return replace(state, version=max(state.version, version))

    def state_to_dict(self, state: PartitionState) -> dict[str, Any]:
        """Plain values and arrays of a state, for a snapshot."""
        values = {one.name: getattr(state, one.name) for one in fields(state)}
        digits = -(-self.unions.bits // 4)
        return {
            **values,
            "rule": state.rule.to_dict(),
            "partition": {
                "starts": [f"{start:0{digits}x}" for start in state.partition.starts],
                "lengths": list(state.partition.lengths),
            },
            "users_kept": counts_to_dict(state.users_kept),
        }

    def state_from_dict(self, values: dict[str, Any]) -> PartitionState:
        """The state that `state_to_dict` wrote; SnapshotUnusable if it is of another version."""
        if set(values) != {one.name for one in fields(PartitionState)}:
            raise SnapshotUnusable("the snapshot has the fields of another version")
        parts = values["partition"]
        starts = tuple(int(start, 16) for start in parts["starts"])
        read = {
            **values,
            "rule": rule_from_dict(values["rule"]),
            "partition": Partition(self.unions.bits, starts, tuple(parts["lengths"])),
            "users_kept": counts_from_dict(values["users_kept"]),
        }
        return PartitionState(**read)

    # -- parts -------------------------------------------------------------------------------

    @property
    def unions(self) -> BlockUnions:
        """The class's unions of blocks."""
        return needed(self.hypotheses.unions)

    @cached_property
    def noise(self) -> DiscreteLaplace:
        """The noise of each count."""
        return DiscreteLaplace(self.parameters.rate)


def _published(kind: str, state: PartitionState, position: int) -> Published:
    return Published(kind, state.version, state.season, state.epoch, position, state.rule)
