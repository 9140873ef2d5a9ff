"""Audits of learners that publish rules: the daemon's engine, run over and over.

A run is the whole engine with the real filter, ledger and learner, as planned from a configuration;
its noise is the daemon's, under a fresh key. It begins where the season has just opened: until then
nothing is drawn, so that all runs begin from one snapshot. What it publishes and charges is written
down in memory, and never comes near a store.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from littled.auditing.bounds import Counts, Transcript, View
from littled.auditing.claims import claims_of
from littled.auditing.noise import derived_key
from littled.auditing.streams import StreamPair, stream_pairs
from littled.auditing.trials import TrialSubject
from littled.budget.ledger import LedgerEntry
from littled.classes.base import Points
from littled.engine import AtOnce, Engine
from littled.engine import Transcript as Opening
from littled.learners.contract import Learner
from littled.learners.online.trigger import trigger_of
from littled.mechanisms.noise import KeyedNoise, NoiseSource
from littled.planner import OnlinePlan, StreamPlan, season_cost
from littled.planner.plans import PublishingPlan
from littled.store.records import HEAD_BYTES, Record, StoredRelease, record_head
from littled_protocol import limits
from littled_protocol.codec import decode
from littled_protocol.columns import encode_labels, point_type
from littled_protocol.messages import Release
from littled_protocol.rules import rule_from_dict

# Runs that are counted at a time: some tenths of a second.
CHUNK = 200
PRODUCER = "audit"

# What a transcript is a tuple of: "charge" and the position; or the kind of a release, its position
# and the labels that its rule gives to the points that are looked at.
Item = tuple[str, int, bytes]
# A fault that is planted in the noise: what the engine gets instead of the source.
Fault = Callable[[NoiseSource], NoiseSource]


def online_subject(
    plan: StreamPlan, learner: OnlinePlan, name: str, fault: Fault | None = None
) -> TrialSubject:
    """The audit of one learner of a plan, as if it were alone on its stream.

    What is claimed is what this learner is charged in a season. NoStreams where none can be made.
    """
    points, pairs = stream_pairs(learner.learner(plan.stream))
    return engine_subject(plan, learner, name, in_words(learner), points, pairs, fault)


def engine_subject(
    plan: StreamPlan,
    learner: PublishingPlan[Any],
    name: str,
    words: str,
    points: Points,
    pairs: Sequence[StreamPair],
    fault: Fault | None = None,
) -> TrialSubject:
    """The audit of a learner of any kind that publishes rules, on these pairs of streams.

    `points` are those whose labels published rules are asked for.
    """
    audited = learner.learner(plan.stream)
    caps = season_cost(audited)
    alone = replace(plan, caps=caps, plans=(learner,))
    looked_at = point_type(plan.x_type).encode(points)
    return TrialSubject(
        name,
        words,
        claims_of(caps, plan.delta_z, audited.season_events()),
        [EngineTrial(alone, pair, looked_at, fault) for pair in pairs],
        VIEWS,
    )


def in_words(learner: OnlinePlan) -> str:
    """Class, selection and trigger of a learner in a few words."""
    trigger = trigger_of(learner.parameters, learner.hypotheses)
    return f"{learner.hypotheses.name}, {learner.selection.words}, {trigger.words}"


# -- runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EngineTrial:
    """Runs of the engine of a plan of one learner on two neighbouring streams.

    `looked_at`: the points, as a column of the wire, whose labels published rules are asked for.
    """

    plan: StreamPlan
    pair: StreamPair
    looked_at: bytes
    fault: Fault | None = None

    @property
    def name(self) -> str:
        """What the streams are."""
        return self.pair.name

    @property
    def chunk(self) -> int:
        """Runs that are counted at a time."""
        return CHUNK

    def counts(self, side: int, runs: int, key: bytes) -> Counts:
        """How often each public transcript came up; run number i has the i-th key of `key`."""
        prepared, opened = _prepared(self.plan)
        record, executor, found = self._record(side), AtOnce(), Counter[Transcript]()
        for run in range(runs):
            noise: NoiseSource = KeyedNoise(derived_key(key, run))
            if self.fault is not None:
                noise = self.fault(noise)
            outlet = _RecordingOutlet(self.plan.x_type, self.looked_at)
            Engine(prepared, noise, outlet, executor, opened).apply(record)
            found[tuple(outlet.items)] += 1
        return found

    def _record(self, side: int) -> Record:
        """The stream of one side as one record of a journal that begins with it."""
        x = point_type(self.plan.x_type).encode(self.pair.x[side])
        y = encode_labels(self.pair.y[side])
        users = b""
        if self.plan.unit.is_user:
            users = b"".join(user.to_bytes(limits.user_bytes, "big") for user in self.pair.users)
        head = record_head(bytes(HEAD_BYTES), 0, 0, len(y), 0, PRODUCER, x, y, users)
        return Record(self.plan.stream, 0, 0, PRODUCER, 0, len(y), x, y, head, users)


@dataclass(frozen=True, slots=True)
class _Prepared(PublishingPlan[Any]):
    """A plan whose learner is made already: its tables of noise are the same in every run."""

    made: Learner[Any]

    def learner(self, stream: str) -> Learner[Any]:
        """The learner itself."""
        return self.made


@lru_cache(maxsize=4)
def _prepared(plan: StreamPlan) -> tuple[StreamPlan, bytes]:
    """The plan with its learner made, and the state in which its first season has opened."""
    (one,) = plan.publishing
    made = one.learner(plan.stream)
    ready = _Prepared(one.name, one.hypotheses, one.parameters, one.words, made)
    prepared = replace(plan, plans=(ready,))
    engine = Engine(prepared, _NoNoise(), Opening(), AtOnce())
    engine.start()
    return prepared, engine.snapshot()


class _NoNoise:
    """What a season is opened with: nothing may be drawn before the first example."""

    def words(self, address: Any, count: int, offset: int = 0) -> Any:
        """Refuse: runs could not begin from one snapshot."""
        raise AssertionError("noise was drawn before the first example of a season")


@dataclass(slots=True)
class _RecordingOutlet:
    """An outlet that writes down, in order, all that becomes public."""

    x_type: str
    looked_at: bytes
    items: list[Item] = field(default_factory=list)

    def charge(self, entry: LedgerEntry) -> None:
        """Write down that something was charged, and where."""
        self.items.append(("charge", entry.position, b""))

    def publish(self, releases: Sequence[StoredRelease], entries: Sequence[LedgerEntry]) -> None:
        """Write down what was charged, and what was released."""
        for entry in entries:
            self.charge(entry)
        for release in releases:
            self.items.append(_released(release.body, self.x_type, self.looked_at))


@lru_cache(maxsize=1 << 14)
def _released(body: bytes, x_type: str, looked_at: bytes) -> Item:
    """Kind and position of a release, and what its rule says to the points that are looked at."""
    message = decode(body)
    assert isinstance(message, Release)
    assert message.rule is not None
    kind = point_type(x_type)
    points = kind.decode(looked_at, len(looked_at) // kind.itemsize_bytes)
    labels = rule_from_dict(message.rule).evaluate(points)
    return message.kind, message.position, labels.tobytes()


# -- views -----------------------------------------------------------------------------------------


def whole(transcript: Transcript) -> Transcript:
    """All of it."""
    return transcript


def first_release(transcript: Transcript) -> Item | None:
    """The first release: where it is, and what its rule says."""
    return next(iter(_releases(transcript)), None)


def first_position(transcript: Transcript) -> int | None:
    """Where the first release is."""
    release = first_release(transcript)
    return None if release is None else release[1]


def two_positions(transcript: Transcript) -> tuple[int, ...]:
    """Where the first two releases are: epochs that share noise have like lengths."""
    return tuple(item[1] for item in _releases(transcript)[:2])


def later_length(transcript: Transcript) -> tuple[int | None, int | None]:
    """Where the first release is, and how long the epochs after it are on average."""
    positions = [item[1] for item in _releases(transcript)]
    if len(positions) < 2:
        return (positions[0] if positions else None), None
    return positions[0], round((positions[-1] - positions[0]) / (len(positions) - 1))


def last_labels(transcript: Transcript) -> tuple[int, bytes]:
    """How many releases there are, and what the last rule says."""
    releases = _releases(transcript)
    return len(releases), releases[-1][2] if releases else b""


def _releases(transcript: Transcript) -> list[Item]:
    assert isinstance(transcript, tuple)
    return [item for item in transcript if item[0] != "charge"]


VIEWS: tuple[View, ...] = (
    *(whole, first_release, first_position, two_positions, later_length, last_labels),
)
