"""Twin runs: neighbouring streams with one tape, and all that they draw, ask and say, in order.

Two runs are twins when their streams differ in one example and their noise does not differ at all:
the daemon binds its noise to the history, `Headless` takes the history out of the addresses. A
`Witness` writes down every request for noise, every query that goes into a mechanism, and all that
becomes public; `compare` checks for a pair of such courses, up to the first thing that they say
differently, what PRIVACY.md rests on:

- the same words are asked for in the same order, except for how many a histogram reads (section 7);
- the mistakes that a trigger sees differ by one c in -1, 0, 1 from the replaced position to the
  end of its epoch, and in no other epoch (Lemma A);
- scores of a dense selection change by -1, 0 or 1; those of a sparse one, bottom's included, within
  an interval of width 2, and what is offered on one side only has a score of at most 1, and at most
  L are (Lemma B); the scores of a histogram by 2 in sum (Lemma E); the largest number of lists that
  one rule is on by 1, as one teacher's list changes (Lemma C); votes of chunks by 1 (section 13);
- calls of a fresh learner see a difference once at the most.

The outcomes of stage tests count as said: the prices pay for them, whether or not they are shown.

Where users are protected, the streams differ in the examples of one user, who may be somebody else
in the other stream; the two of them exchange their secret words (PRIVACY.md, section 14). With c
examples of a user and season that are admitted, `compare` checks instead of the above

- that the count of a trigger differs at the user's positions only, by c mistakes of theirs in a
  season on either side (Lemma U);
- that scores of a dense selection change by c each, within an interval of width 2c; those of
  proposals too, and what is offered on one side only has a score of at most c, and at most c L are;
  scores of a histogram by 2c in sum; with teachers one teacher's list as above;
- that all fresh selections of a season together keep within this, and that no more of them see a
  difference than are paid for;
- that the secret words of the same users are asked for, except for those of the one.

A window of a window learner is a fresh call; a user's examples are in as many as are paid for.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.budget.prices import price
from littled.budget.unit import Unit
from littled.classes.base import Proposals
from littled.classes.hypothesis import HypothesisClass
from littled.engine import Engine
from littled.engine.predictions import AnsweringService, Windows
from littled.learners.batch import BatchLearner, BatchState
from littled.learners.batch.boosting import RESIDUAL_STEPS
from littled.learners.batch.methods import _METHODS as METHODS
from littled.learners.batch.methods import Boosted
from littled.learners.batch.methods import Draw as WindowDraw
from littled.learners.batch.methods import Teachers as WindowTeachers
from littled.learners.online import OnlineState
from littled.learners.online.keeping import Buffers, Counts, Keeping
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.selections.blocks import BlockSearch
from littled.learners.online.selections.teachers import StagedTeachers, Teachers
from littled.learners.prediction import PredictionLearner
from littled.learners.prediction.parameters import PredictionParameters
from littled.learners.prediction.parts import Draw
from littled.learners.prediction.stable import StablePredictor
from littled.learners.users import USER_PURPOSE
from littled.mechanisms.above_threshold import AboveThreshold, Gaps
from littled.mechanisms.cohen_lyu import CohenLyuTest
from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.noise import KEY_BYTES, Address, KeyedNoise, NoiseSource
from littled.mechanisms.noisy_majority import NoisyMajority
from littled.mechanisms.stable_histogram import StableHistogram
from littled.mechanisms.subset import BernoulliSubset
from littled.mechanisms.votes import VoteCoin
from littled.planner import StreamPlan
from littled.planner.batch.plan import BatchPlan
from littled.planner.plans import PublishingPlan
from littled.planner.prediction.plan import PredictionPlan
from littled.store.mark import Point
from littled.store.records import (
    HEAD_BYTES,
    NewPrediction,
    Record,
    StoredPrediction,
    StoredRelease,
    prediction_head,
)
from littled_protocol.codec import decode
from littled_protocol.columns import encode_users, point_type
from littled_protocol.messages import Predict, Release
from littled_protocol.rules import Rule, rule_from_dict
from support.learning import Inline

HEAD = bytes(HEAD_BYTES)
BOTTOM = "bottom"
# Words of tests that begin anew, at a call or at a public position.
SPELL = "tally-spell"
OTHER_COURSE = "one run draws, asks or says where its twin does something else"


class Headless:
    """A store's noise, addressed by everything but the head of the chain.

    In the address of a user's secret word stands the user; those who are `exchanged` have each
    other's.
    """

    def __init__(self, source: NoiseSource, exchanged: Mapping[bytes, bytes] | None = None) -> None:
        """Ask `source` at the same address with an empty head, or with the user."""
        self.source, self.exchanged = source, exchanged or {}

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        """The words of the address, whatever the history."""
        head = b""
        if address.purpose == USER_PURPOSE:
            head = self.exchanged.get(address.chain_head, address.chain_head)
        return self.source.words(replace(address, chain_head=head), count, offset)


def exchange(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> dict[bytes, bytes]:
    """That two users (2,) have each other's words."""
    here, there = (each.astype("<u8").tobytes() for each in (one, other))
    return {here: there, there: here}


# --- Streams --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Examples:
    """A stream: points in the column type of its classes (n,) or (n, m), labels uint8 (n,).

    users: uint64 (n, 2) where users are protected.
    """

    x: NDArray[Any]
    y: NDArray[np.uint8]
    users: NDArray[np.uint64] | None = None

    def replaced(self, position: int, point: Any, label: int) -> "Examples":
        """The neighbour with this example at one position."""
        x, y = self.x.copy(), self.y.copy()
        x[position], y[position] = point, label
        return replace(self, x=x, y=y)

    def columns(self, part: slice, x_type: str) -> tuple[bytes, bytes, bytes]:
        """Some examples as the columns of a record; without users an empty one."""
        users = b"" if self.users is None else encode_users(self.users[part])
        return point_type(x_type).encode(self.x[part]), self.y[part].tobytes(), users


def random_stream(
    points: NDArray[Any], count: int, random: np.random.Generator, noisy: float
) -> Examples:
    """Points in any order; label 1 in a random half of them, or the other one for some."""
    which = random.integers(0, len(points), count)
    target = random.random(len(points)) < random.uniform(0.2, 0.8)
    y = target[which] ^ (random.random(count) < noisy)
    return Examples(points[which], y.astype(np.uint8))


def random_neighbour(
    stream: Examples, points: NDArray[Any], random: np.random.Generator
) -> tuple[int, Examples]:
    """A position anywhere, and the stream with another example there: half of the time only
    another label."""
    position = int(random.integers(len(stream.y)))
    old, label = stream.x[position], int(stream.y[position])
    point = old if random.random() < 0.5 else points[random.integers(len(points))]
    if random.random() < 0.5 or np.array_equal(point, old):
        label = 1 - label
    return position, stream.replaced(position, point, label)


def any_users(random: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """So many random digests (count, 2), of which nobody knows the names."""
    return random.integers(0, 1 << 64, (count, 2), dtype=np.uint64)


DrawUsers = Callable[[np.random.Generator, int], NDArray[np.uint64]]


def with_users(
    stream: Examples, random: np.random.Generator, count: int, draw: DrawUsers = any_users
) -> Examples:
    """The stream of so many users, of whom some give many examples and some few."""
    ids = draw(random, count)
    shares = random.dirichlet(np.full(count, 0.8))
    return replace(stream, users=ids[random.choice(count, len(stream.y), p=shares)])


Kind = Literal["examples", "silent", "name"]


@dataclass(frozen=True)
class UserNeighbour:
    """A stream with another user, or other examples of the same one, at the user's positions."""

    stream: Examples
    positions: tuple[int, ...]
    exchanged: dict[bytes, bytes]


def random_user_neighbour(
    stream: Examples,
    points: NDArray[Any],
    random: np.random.Generator,
    kind: Kind,
    said: "Sequence[Entry]",
    draw: DrawUsers = any_users,
) -> UserNeighbour:
    """Take a user, the sooner the more examples they give; `said`: the course of the stream.

    kind: "examples" for some new ones, "name" for the same ones of somebody else, "silent" for such
    as are no mistakes, of which a learner that keeps mistakes admits none.
    """
    assert stream.users is not None
    user = stream.users[random.integers(len(stream.y))]
    places = np.flatnonzero((stream.users == user).all(axis=1))
    x, y, users = stream.x.copy(), stream.y.copy(), stream.users.copy()
    other = user
    if kind == "name" or random.random() < 0.5:
        other = users[places] = draw(random, 1)[0]
    if kind == "examples" or (kind == "silent" and random.random() < 0.5):
        changed = places[random.random(len(places)) < random.choice([0.3, 1])]
        x[changed] = points[random.integers(0, len(points), len(changed))]
        y[changed] = random.integers(0, 2, len(changed))
    if kind == "silent":
        y[places] = _predicted(x, said)[places]
    twin = Examples(x, y, users)
    return UserNeighbour(twin, tuple(places.tolist()), exchange(user, other))


def _predicted(x: NDArray[Any], said: "Sequence[Entry]") -> NDArray[np.uint8]:
    """What the rule that is published at each position says of its point."""
    labels = np.zeros(len(x), dtype=np.uint8)
    for each in said:
        if isinstance(each, Said) and each.what == "release":
            message = decode(each.value[1])
            assert isinstance(message, Release)
            assert message.rule is not None
            rule = rule_from_dict(message.rule)
            labels[message.position :] = rule.evaluate(x[message.position :])
    return labels


def points_of(hypotheses: HypothesisClass, values: Sequence[Any]) -> NDArray[Any]:
    """These points in the class's own column type."""
    return point_type(hypotheses.point_type).decode(list(values), len(values))


def plan_of(
    plans: Sequence[PublishingPlan[Any] | PredictionPlan],
    horizon: int,
    *,
    name: str = "s",
    share: Fraction = Fraction(1),
) -> StreamPlan:
    """A stream with caps for all that its learners may cost, or for a share of it."""
    caps = Price.zero()
    for plan in plans:
        learner = plan.learner(name)
        if not isinstance(learner, PredictionLearner):
            calls = [learner.call_event()] * learner.calls_max
            events = [*learner.season_events(), *calls]
        else:
            events = list(learner.window_events())
        caps += sum(map(price, events), Price.zero())
    caps = Price(caps.epsilon_pure * share, caps.rho * share, caps.delta, caps.gaussian * share)
    amounts = Fraction(50), Fraction(1, 2), Fraction(1, 100)
    stream = StreamPlan(name, *amounts, horizon, caps, tuple(plans))
    (most,) = {each.parameters.user_examples_max for each in stream.publishing} or {None}
    return replace(stream, unit=Unit(most))


# --- What a run does ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """A request for words of noise."""

    learner: str
    purpose: str
    position: int
    draw: int
    offset: int
    count: int


@dataclass(frozen=True, eq=False)
class Asked:
    """A query that goes into a mechanism: `values`, of `keys` where it has candidates.

    position: of the first value, for what a trigger is asked; else of the call or of the answer.
    """

    what: str
    learner: str
    position: int
    values: Any
    keys: Any = None


@dataclass(frozen=True)
class Said:
    """Something that becomes public, or that is paid for as if it did."""

    what: str
    learner: str
    value: Any


Entry = Drawn | Asked | Said
_ABOVE = "above"


class Diverged(Exception):
    """A run has said something else than its twin: what comes then is of no interest."""


class Witness:
    """Writes down the course of a run; it is the run's source of noise and its outlet.

    With the course of a twin it ends the run, by `Diverged`, where they first say something else.
    """

    def __init__(self, source: NoiseSource, twin: "Sequence[Entry] | None" = None) -> None:
        """Take words from `source`."""
        self.source, self.twin = source, twin
        self.entries: list[Entry] = []
        # draws of votes for candidates that are tested: only where a rule errs
        self.votes: list[Entry] = []
        self.last = Drawn("", "", 0, 0, 0, 0)
        # by learner: the candidates that its class has just offered
        self.keys: dict[str, Any] = {}

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        """The words, and a note of the request; of secret words of users, which they were."""
        if address.purpose == USER_PURPOSE:
            words, asked = self.source.words(address, count, offset), self.entries[-1]
            assert isinstance(asked, Asked), OTHER_COURSE
            asked.values.extend(words.tolist())
            return words
        self.last = Drawn(
            address.learner, address.purpose, address.position, address.draw, offset, count
        )
        (self.votes if address.purpose == "tally" else self.entries).append(self.last)
        return self.source.words(address, count, offset)

    def charge(self, entry: LedgerEntry) -> None:
        """Note a charge."""
        self.say("charge", f"{entry.stream}/{entry.learner}", entry.to_bytes())

    def publish(self, releases: Sequence[StoredRelease], entries: Sequence[LedgerEntry]) -> None:
        """Note releases and charges."""
        for entry in entries:
            self.charge(entry)
        for release in releases:
            self.say("release", release.learner, (release.version, release.body, release.charge))

    def say(self, what: str, learner: str, value: Any) -> None:
        """Note something public."""
        number, said = len(self.entries), Said(what, learner, value)
        self.entries.append(said)
        if self.twin is not None and self.twin[number : number + 1] != [said]:
            raise Diverged

    def ask(self, what: str, values: Any, keys: Any = None, position: int | None = None) -> None:
        """Note a query of the learner that drew noise last."""
        at = self.last.position if position is None else position
        self.entries.append(Asked(what, self.last.learner, at, values, keys))


def _spy(
    patch: pytest.MonkeyPatch,
    kind: type[Any],
    name: str,
    *,
    before: Callable[..., object] | None = None,
    after: Callable[..., object] | None = None,
) -> None:
    """Call `before(self, arguments)` and `after(self, result, arguments)` around a method."""
    method = getattr(kind, name)

    def spied(self: Any, *arguments: Any, **named: Any) -> Any:
        if before is not None:
            before(self, *arguments)
        result = method(self, *arguments, **named)
        if after is not None:
            after(self, result, *arguments)
        return result

    patch.setattr(kind, name, spied)


@dataclass
class Ears:
    """Lets the mechanisms tell whichever witness listens what they are asked."""

    patch: pytest.MonkeyPatch
    witness: Witness = field(default_factory=lambda: Witness(KeyedNoise(bytes(KEY_BYTES))))

    def __post_init__(self) -> None:
        """Begin to listen to the mechanisms and to what learners put into them."""
        for kind in (AboveThreshold, CohenLyuTest):
            _spy(self.patch, kind, "first_fire", before=self._gaps, after=self._fired)
        _spy(self.patch, StagedTeachers, "_stage_test", before=self._most, after=self._stage)
        for keeping in (Buffers, Counts):
            _spy(self.patch, keeping, "with_user_words", before=self._users)
        _spy(self.patch, BatchLearner, "_window", before=self._window_users)
        self._listen_to_lists()
        for method in METHODS.values():
            _spy(self.patch, method, "select", before=self._window_drawn)
        _spy(self.patch, Boosted, "_stump", after=self._stump)
        _spy(self.patch, WindowTeachers, "_lists", after=self._chunk_lists)
        _spy(self.patch, WindowTeachers, "_above", before=self._chunk_most, after=self._chunk_stage)
        _spy(self.patch, ExponentialMechanism, "weighed", before=self._scores)
        _spy(self.patch, BlockSearch, "_moved", before=self._sides, after=self._side)
        _spy(self.patch, StableHistogram, "passing", before=self._histogram)
        _spy(self.patch, VoteCoin, "answers", before=self._votes)
        _spy(self.patch, NoisyMajority, "answer", before=self._counts)
        _spy(self.patch, Draw, "toss", before=self._chance)
        _spy(self.patch, BernoulliSubset, "sample", after=self._subset)
        _spy(self.patch, StablePredictor, "select", after=self._selected)
        _spy(self.patch, AnsweringService, "_made", before=self._window)

    def listen_to(self, hypotheses: HypothesisClass) -> None:
        """Hear which candidates a class offers."""
        if (proposing := hypotheses.proposing) is not None:
            kind: type[Any] = type(proposing)
            _spy(self.patch, kind, "proposals", after=partial(self._rules, kind.proposed_rule))
        if (paths := hypotheses.paths) is not None:
            kind = type(paths)
            _spy(self.patch, kind, "blocks_around", after=partial(self._rules, kind.proposed_rule))
        if (closed := hypotheses.intersection_closed) is not None:
            kind = type(closed)
            _spy(self.patch, kind, "closures", after=partial(self._rules, kind.closed_rule))
        if (sets := hypotheses.id_sets) is not None:
            _spy(self.patch, type(sets), "flips", after=self._ids)

    def _gaps(self, _: object, gaps: Gaps, words: object) -> None:
        last = self.witness.last
        self.witness.ask("gaps", gaps.all(), position=last.position + last.offset)

    def _fired(self, _: object, fired: int | None, gaps: object, words: object) -> None:
        last = self.witness.last
        at = None if fired is None else last.position + last.offset + fired
        self.witness.say(_ABOVE, last.learner, at)

    def _users(self, keeping: Keeping, state: OnlineState, noise: LearnerNoise) -> None:
        if keeping.parameters.user_examples_max is not None:
            self.witness.entries.append(Asked("users", noise.name, state.season, []))

    def _window_users(self, learner: BatchLearner, state: BatchState, _: object) -> None:
        if learner.parameters.user_examples_max is not None:
            self.witness.entries.append(Asked("users", learner.name, state.season, []))

    def _most(self, _: object, state: object, most: int, place: Any, noise: LearnerNoise) -> None:
        self.witness.entries.append(Asked("most", noise.name, place.position, most))

    def _stage(
        self, _: object, found: tuple[Any, bool], state: object, most: int, place: object,
        noise: LearnerNoise,
    ) -> None:  # fmt: skip
        self.witness.say("stage", noise.name, found[1])

    def _listen_to_lists(self) -> None:
        make, names = Teachers._lists, list[str]()

        def lists_of(teachers: Teachers, hypotheses: Any, state: Any, known: Any) -> Iterator[Any]:
            cap, found = teachers.parameters.list_cap, make(teachers, hypotheses, state, known)
            lists = [list(dict.fromkeys(each[:cap])) for each in found]
            at = state.epoch_position
            self.witness.entries.append(Asked("lists", names[-1], at, lists))
            votes = Counter(key for each in lists for key in each)
            self.witness.keys[names[-1]] = [repr(key) for key in sorted(votes, key=repr)]
            return iter(lists)

        for kind in (Teachers, StagedTeachers):
            _spy(self.patch, kind, "select", before=lambda *given: names.append(given[-1].name))
        self.patch.setattr(Teachers, "_lists", lists_of)

    def _window_drawn(self, _: object, window: object, draw: WindowDraw) -> None:
        # its candidates are known before any noise is drawn
        place = draw.place
        self.witness.last = Drawn(place.learner, "select", place.position, 0, 0, 0)

    def _stump(self, _: object, found: int, *__: object) -> None:
        # what a round has drawn is released, as the next round goes by it
        self.witness.say("stump", self.witness.last.learner, found)

    def _chunk_lists(self, _: object, lists: list[list[Any]], *__: object) -> None:
        last = self.witness.last
        self.witness.entries.append(Asked("lists", last.learner, last.position, lists))
        votes = Counter(key for each in lists for key in each)
        self.witness.keys[last.learner] = [repr(key) for key in sorted(votes, key=repr)]

    def _chunk_most(self, _: object, most: int, rho: int, stage: int, draw: WindowDraw) -> None:
        place = draw.place
        self.witness.entries.append(Asked("most", place.learner, place.position, most))

    def _chunk_stage(self, _: object, above: bool, *asked: Any) -> None:
        self.witness.say("stage", asked[-1].place.learner, above)

    def _rules(
        self, rule: Callable[..., Rule], hypotheses: HypothesisClass, offered: Proposals, *_: object
    ) -> None:
        witness = self.witness
        rules = [rule(hypotheses, offered, index) for index in range(len(offered.scores))]
        assert len(set(rules)) == len(rules), "a rule is offered twice"
        witness.keys[witness.last.learner] = rules

    def _ids(self, _: object, flips: Proposals, *__: object) -> None:
        witness = self.witness
        witness.keys[witness.last.learner] = [tuple(row) for row in flips.keys.tolist()]

    def _scores(self, _: object, scores: NDArray[np.int64]) -> None:
        witness = self.witness
        keys = witness.keys.get(witness.last.learner)
        if witness.last.purpose != "select":
            witness.ask("agreements", scores)
        elif keys is None:
            witness.ask("scores", scores)
        else:
            # behind those that the class offers: to start over, or the sides of a path
            beside = [f"beside {k}" for k in range(len(scores) - len(keys) - 1)]
            witness.ask("offered", scores, [*keys, *beside, BOTTOM])

    def _sides(self, _: object, scores: object, place: object, noise: LearnerNoise) -> None:
        # what was proposed in an epoch before are not the candidates of a draw between two sides
        self.witness.keys.pop(noise.name, None)

    def _side(
        self, _: object, side: int, scores: object, place: object, noise: LearnerNoise
    ) -> None:
        # of the transcript, as the proof of a public memory has it, whatever is published for it
        self.witness.say("side", noise.name, side)

    def _histogram(self, _: object, scores: NDArray[np.int64], words: object) -> None:
        witness = self.witness
        witness.ask("histogram", scores, witness.keys.get(witness.last.learner))

    def _window(self, _: object, counter: Any, window: int, *__: object) -> None:
        # the window is prepared before any noise is drawn
        name = counter.maker.learner.name
        self.witness.last = Drawn(name, "predict", 0, 0, 0, 0)
        self.witness.ask("window", window)

    def _votes(self, _: object, ones: NDArray[np.int64], words: object) -> None:
        self.witness.ask("votes", ones)

    def _counts(self, _: object, ones: int, zeros: int, words: object) -> None:
        self.witness.ask("votes", np.array([ones, zeros], dtype=np.int64))

    def _chance(self, draw: Draw, purpose: str, probability: Fraction) -> None:
        self.witness.ask("chance", probability, position=draw.address.position)

    def _subset(self, _: object, subset: NDArray[np.int64], *__: object) -> None:
        self.witness.ask("subset", subset)

    def _selected(self, _: object, found: tuple[Any, int], *__: object) -> None:
        candidates, index = found
        self.witness.ask("selected", index, candidates.keys.tolist())


# --- Running one stream ---------------------------------------------------------------------------


class Shelves:
    """A journal and its predictions in memory, for a desk; every record has the same head."""

    def __init__(self) -> None:
        """Start empty."""
        self.kept: list[Record] = []
        self.predictions: list[StoredPrediction] = []

    def record_at(self, stream: str, position: int) -> int | None:
        """Number of the record that holds the example at a position."""
        ends = (each.first_position + each.count for each in self.kept)
        return next((number for number, end in enumerate(ends) if position < end), None)

    def records(self, stream: str, after: int = -1) -> Iterator[Record]:
        """Records after number `after`."""
        return iter(self.kept[after + 1 :])

    def prediction(self, learner: str, request: bytes) -> StoredPrediction | None:
        """What was answered to a request."""
        asked = (learner, request)
        return next((e for e in self.predictions if (e.learner, e.request) == asked), None)

    def prediction_end(self, stream: str) -> Point:
        """Number and head of the last prediction."""
        if not self.predictions:
            return Point(-1, HEAD)
        return Point(self.predictions[-1].number, self.predictions[-1].head)

    def answers_given(self, learner: str, window: int) -> int:
        """How many points a window has answered."""
        asked = (learner, window)
        return sum(e.count for e in self.predictions if (e.learner, e.window) == asked)

    answers_counted = answers_given

    def answer(self, new: NewPrediction, entry: LedgerEntry) -> StoredPrediction:
        """Keep a prediction."""
        fields = {name: getattr(new, name) for name in NewPrediction.__slots__}
        head = prediction_head(new.question_head, new.y)
        self.predictions.append(StoredPrediction(**fields, charge=0, head=head))
        return self.predictions[-1]


@dataclass(frozen=True)
class Script:
    """What is done with a stream, whatever its examples are: how it is cut, and what is asked.

    cuts: where records end, rising. questions: after which record which request is made.
    """

    cuts: tuple[int, ...]
    questions: tuple[tuple[int, Predict], ...] = ()


def random_script(
    plan: StreamPlan, points: NDArray[Any], count: int, random: np.random.Generator
) -> Script:
    """Records of 1 to 12 examples, and a question or two after each if somebody answers."""
    cuts: list[int] = []
    while not cuts or cuts[-1] < count:
        cuts.append(min(count, (cuts or [0])[-1] + int(random.integers(1, 13))))
    encode = point_type(plan.x_type).encode
    questions: list[tuple[int, Predict]] = []
    for record in range(len(cuts)):
        for each in plan.answering:
            asked = points[random.integers(0, len(points), random.integers(1, 4))]
            name = len(questions).to_bytes(16, "big")
            request = Predict(name, f"{plan.stream}/{each.name}", len(asked), encode(asked))
            questions.append((record, request))
    return Script(tuple(cuts), tuple(questions))


def course(
    plan: StreamPlan,
    stream: Examples,
    script: Script,
    ears: Ears,
    key: bytes,
    twin: Sequence[Entry] | None = None,
    exchanged: Mapping[bytes, bytes] | None = None,
) -> list[Entry]:
    """Everything that a run of this stream draws, asks and says, in order; draws of votes last.

    With the course of a twin, up to the first thing that is said otherwise.
    """
    witness = ears.witness = Witness(Headless(KeyedNoise(key), exchanged), twin)
    with contextlib.suppress(Diverged):
        _follow(plan, stream, script, witness)
    return [*witness.entries, *witness.votes]


def _follow(plan: StreamPlan, stream: Examples, script: Script, witness: Witness) -> None:
    """Run the engine, and the desk if anybody answers."""
    engine = Engine(plan, witness, witness, Inline())
    shelves = Shelves()
    desk = (
        AnsweringService(plan, witness, shelves, lambda season: None, 0) if plan.answering else None
    )
    engine.start()
    for number, (first, stop) in enumerate(pairwise((0, *script.cuts))):
        x, y, users = stream.columns(slice(first, stop), plan.x_type)
        place = (plan.stream, number, first, "p", first, stop - first)
        record = Record(*place, x, y, HEAD, users=users)
        shelves.kept.append(record)
        engine.apply(record)
        witness.say("status", "", engine.status())
        for asked in (each for after, each in script.questions if after == number):
            assert desk is not None
            witness.say("answer", asked.learner, desk.answer(asked, stop))


# --- Comparing two --------------------------------------------------------------------------------


@dataclass
class Verdict:
    """What a pair of courses came to: whether all outputs agreed, and the largest changes seen."""

    agreed: bool = False
    draws: int = 0
    largest: Counter[str] = field(default_factory=Counter)


class Calls(NamedTuple):
    """What is measured of a learner's calls.

    fresh: whether each sees examples of its own only, as that of a window does. histogram, lists:
    whether it counts for ids, and whether chunks or teachers offer lists. user_calls_max: of a
    season's fresh calls, those that may see a difference.
    """

    fresh: bool
    histogram: bool
    lists: bool
    user_calls_max: int


def _calls(plan: PublishingPlan[Any]) -> Calls:
    if isinstance(plan, BatchPlan):
        batch = plan.parameters
        histogram, lists = batch.method == "histogram", batch.chunks > 0
        return Calls(True, histogram, lists, batch.user_windows_max)
    p = plan.parameters
    lists = p.selection == "closure" or p.teachers is not None
    return Calls(p.fresh, p.selection == "histogram", lists, p.user_epochs_max)


def _votes_apart(entries: Sequence[Entry]) -> tuple[set[Drawn], list[Entry]]:
    """The draws of votes for candidates that are tested, and everything else in order."""
    votes = {entry for entry in entries if isinstance(entry, Drawn) and entry.purpose == "tally"}
    return votes, [
        entry for entry in entries if not (isinstance(entry, Drawn) and entry.purpose == "tally")
    ]


def _purpose(entry: Entry) -> str | None:
    """What words are drawn for, where they are."""
    return entry.purpose if isinstance(entry, Drawn) else None


def _same_place(left: Entry, right: Entry) -> bool:
    """Whether both draw words for the same, of as many rules as there are."""
    if not (isinstance(left, Drawn) and isinstance(right, Drawn)):
        return False
    return replace(left, count=0) == replace(right, count=0)


def _next_said(entries: Sequence[Entry]) -> Said | None:
    """The first of them that is public; None if no more is said."""
    return next((entry for entry in entries if isinstance(entry, Said)), None)


@dataclass
class Comparison:
    """One pair of courses of a plan, whose streams differ at one position or at one user's."""

    plan: StreamPlan
    positions: Collection[int]
    verdict: Verdict = field(default_factory=Verdict)
    # by learner: c of Lemma A in the epoch at hand
    shift: Counter[str] = field(default_factory=Counter)
    # by learner: the calls or windows whose queries differed
    differing: dict[str, set[int]] = field(default_factory=dict)
    # by learner: whether the window at hand holds the replaced example, and whether the subset of
    # the answer does; and whether the candidates that were drawn are two different ones
    there: dict[str, bool] = field(default_factory=dict)
    inside: dict[str, bool] = field(default_factory=dict)
    apart: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look the learners up by their full names."""
        self.position, *_ = self.positions
        stream = self.plan.stream
        self.online: dict[str, Any] = {
            f"{stream}/{each.name}": each.parameters for each in self.plan.publishing
        }
        self.calls = {f"{stream}/{each.name}": _calls(each) for each in self.plan.publishing}
        self.answering = {f"{stream}/{each.name}": each for each in self.plan.of(PredictionPlan)}

    def run(self, one: Sequence[Entry], two: Sequence[Entry]) -> Verdict:
        """Go along both up to the first difference in what they say."""
        (votes, one), (others, two) = _votes_apart(one), _votes_apart(two)
        for number, (left, right) in enumerate(zip(one, two, strict=False)):
            if SPELL in (_purpose(left), _purpose(right)) and not _same_place(left, right):
                assert _next_said(one[number:]) != _next_said(two[number:]), "another call"
                return self.verdict  # what passes on one side ends an epoch there
            if isinstance(left, Said) and isinstance(right, Said):
                if left != right:
                    return self.verdict
                self._said(left)
            elif isinstance(left, Drawn) and isinstance(right, Drawn):
                self._same_words(left, right)
            else:
                assert isinstance(left, Asked), OTHER_COURSE
                assert isinstance(right, Asked), OTHER_COURSE
                self._query(left, right)
        further = (*one[len(two) :], *two[len(one) :])
        if further and (votes or others) and isinstance(further[0], Said):
            return self.verdict  # an id passes on one side, and nothing is asked between
        assert not further, OTHER_COURSE
        for learner in {draw.learner for draw in votes ^ others}:
            here, there = ({d for d in side if d.learner == learner} for side in (votes, others))
            self._voters(learner, here, there)
        self.verdict.agreed = True
        return self.verdict

    def _voters(self, learner: str, here: set[Drawn], there: set[Drawn]) -> None:
        """Lemma T: the replaced example may vote on one side only. Lemma J: or its group may."""
        changed = {draw.position for draw in here ^ there}
        if self.online[learner].groups is None:
            assert changed <= set(self.positions), "another example votes"
        assert len(here - there) <= 1, "more than one vote is on one side only"
        assert len(there - here) <= 1, "more than one vote is on one side only"
        assert min(changed) >= self.position, "an example before the replaced one votes"
        self.verdict.largest |= Counter(tally=len(changed))

    def _said(self, said: Said) -> None:
        if said.what == "release" or (said.what == _ABOVE and said.value is not None):
            self.shift[said.learner] = 0

    def _same_words(self, left: Drawn, right: Drawn) -> None:
        if (
            left.learner in self.calls
            and self.calls[left.learner].histogram
            and left.purpose == "select"
        ) or left.purpose == "tally-spell":
            left, right = replace(left, count=0), replace(right, count=0)
        assert left == right, "twins draw other words"
        self.verdict.draws += 1

    def _query(self, left: Asked, right: Asked) -> None:
        place = (left.what, left.learner, left.position)
        assert place == (right.what, right.learner, right.position), "twins ask other questions"
        change = getattr(self, f"_{left.what}")(left, right)
        self._note(left.what, change)

    def _note(self, what: str, change: int) -> None:
        self.verdict.largest[what] = max(self.verdict.largest[what], change)

    def _once(self, asked: Asked, change: int) -> int:
        """All calls of a fresh learner cost what one costs: one of them may see a difference."""
        if change and asked.learner in self.online:
            calls = self.differing.setdefault(asked.learner, set())
            calls.add(asked.position)
            fresh = self.calls[asked.learner].fresh
            assert not fresh or len(calls) == 1, "two calls of a fresh learner differ"
            seasons = {place // self.plan.horizon for place in (asked.position, self.position)}
            assert not fresh or len(seasons) == 1, "a call of another season differs"
        return change

    def _gaps(self, left: Asked, right: Asked) -> int:
        """Lemma A: one c from the replaced position on."""
        change = left.values - right.values
        at = self.position - left.position
        before = np.full(len(change), self.shift[left.learner])
        if 0 <= at < len(change):
            assert self.shift[left.learner] == 0
            before[at:] = self.shift[left.learner] = int(change[at])
        assert np.array_equal(change, before), "the count of mistakes changes by more than one c"
        assert abs(self.shift[left.learner]) <= 1, "a mistake counts more than once"
        return abs(self.shift[left.learner])

    def _unit(self, asked: Asked) -> int:
        """What an example counts in a score at the most: in a round of boosting its residual."""
        boosted = getattr(self.online.get(asked.learner), "method", None) == "boosted"
        return RESIDUAL_STEPS if boosted else 1

    def _scores(self, left: Asked, right: Asked) -> int:
        """Dense selection: -1, 0 or 1 each; boosting: an interval of twice the largest residual."""
        assert left.values.shape == right.values.shape
        unit, change = self._unit(left), left.values - right.values
        if unit > 1:
            width = int(change.max() - change.min())
            assert width <= 2 * unit, "scores of a round change by more than two residuals"
            return self._once(left, -(-width // (2 * unit)))
        most = int(np.abs(change).max())
        assert most <= 1, "a score changes by more than 1"
        return self._once(left, most)

    def _offered(self, left: Asked, right: Asked) -> int:
        """Lemma B: an interval of width 2; on one side only scores of at most 1, L of them."""
        cap: int = self.online[left.learner].list_cap
        here, there = (dict(zip(e.keys, e.values.tolist(), strict=True)) for e in (left, right))
        changes = [here[key] - there[key] for key in here.keys() & there.keys()]
        assert max(changes) - min(changes) <= 2, "scores change by more than a width of 2"
        alone = [[a[key] for key in a.keys() - b.keys()] for a, b in ((here, there), (there, here))]
        for scores in alone:
            assert len(scores) <= cap, "a list is longer than its cap"
            assert max(scores, default=0) <= 1, "a rule that one side offers has two proposals"
        self._note("offered on one side", max(map(len, alone)))
        width = int(max(changes) - min(changes))
        self._once(left, width + len(alone[0]) + len(alone[1]))
        return width

    def _histogram(self, left: Asked, right: Asked) -> int:
        """Lemma E: 2 in sum, an id on one side only counts as 1; without vetoes 1 each."""
        most = 2 if self.online[left.learner].noise_rate else 1
        here, there = (dict(zip(e.keys, e.values.tolist(), strict=True)) for e in (left, right))
        changes = [abs(here[key] - there[key]) for key in here.keys() & there.keys()]
        assert max(changes, default=0) <= most, "a score of a histogram changes by too much"
        for a, b in ((here, there), (there, here)):
            alone = [a[key] for key in a.keys() - b.keys()]
            assert len(alone) <= 1, "two ids are candidates on one side only"
            assert max(alone, default=0) <= 1, "an id that one side offers has two votes"
            changes += [1] * len(alone)
        assert sum(changes) <= 2, "the scores of a histogram change by more than 2"
        return self._once(left, sum(changes))

    def _lists(self, left: Asked, right: Asked) -> int:
        """One teacher's list is replaced, none is longer than its cap or names a rule twice."""
        cap: int = self.online[left.learner].list_cap
        for each in (*left.values, *right.values):
            assert len(each) == len(set(each)) <= cap
        pairs = zip(left.values, right.values, strict=True)
        changed = sum(set(a) != set(b) for a, b in pairs)
        assert changed <= 1, "the lists of two teachers change"
        return changed

    def _most(self, left: Asked, right: Asked) -> int:
        """Lemma C: 1, in either direction."""
        change = abs(left.values - right.values)
        assert change <= 1, "the query of a stage test changes by more than 1"
        return int(change)

    def _window(self, left: Asked, right: Asked) -> int:
        """Which window answers is public, and an example is in one of them."""
        assert left.values == right.values
        name, horizon = left.learner, self.plan.horizon
        first, end = Windows(horizon, self._parameters(left).window).bounds(left.values)
        self.there[name] = first <= self.position < end
        self.inside[name] = self.apart[name] = False
        return 0

    def _parameters(self, asked: Asked) -> PredictionParameters:
        return self.answering[asked.learner].parameters

    def _in_window(self, asked: Asked, change: int) -> int:
        """A change, which only the window of the replaced example may show."""
        assert not change or self.there[asked.learner], "an example is in two windows"
        return change

    def _agreements(self, left: Asked, right: Asked) -> int:
        """Scores of candidates on a window: -1, 0 or 1, of the same candidates."""
        if self.inside[left.learner]:
            return 0  # the proofs allow for any candidates then
        assert left.values.shape == right.values.shape
        change = int(np.abs(left.values - right.values).max())
        assert change <= 1, "agreements change by more than 1"
        return self._in_window(left, change)

    def _subset(self, left: Asked, right: Asked) -> int:
        """The same indices, as they are drawn from the size of the window alone."""
        assert np.array_equal(left.values, right.values), "the subset depends on the examples"
        place = self.position % self.plan.horizon % self._parameters(left).window
        self.inside[left.learner] = self.there[left.learner] and place in left.values
        return 0

    def _selected(self, left: Asked, right: Asked) -> int:
        """The candidates are those of the subset's points; which is drawn may differ."""
        assert self.inside[left.learner] or left.keys == right.keys, "candidates of other examples"
        self.apart[left.learner] = (left.values, left.keys) != (right.values, right.keys)
        return 0

    def _votes(self, left: Asked, right: Asked) -> int:
        """One chunk's vote; after a subset only where the same rule has relabelled the window."""
        change = int(np.abs(left.values - right.values).max())
        if self.apart[left.learner]:
            return 0
        assert change <= 1, "two votes change"
        return self._in_window(left, change)

    def _chance(self, left: Asked, right: Asked) -> int:
        """A coin's probability: by b/k for the rule of a random chunk, else not at all."""
        p = self._parameters(left)
        change = abs(left.values - right.values)
        most = (1 - 2 * p.flip) / p.chunks if p.method == "averaging" and p.chunks else Fraction(0)
        assert change in (0, most), "the probability of a coin changes by more than it may"
        return self._in_window(left, int(change > 0))


@dataclass
class UserComparison(Comparison):
    """One pair of courses whose streams differ at the positions of one user.

    All sums are by learner and season.
    """

    # what every trigger's count has risen and fallen by, and what its last gaps would add
    risen: Counter[tuple[str, int]] = field(default_factory=Counter)
    fallen: Counter[tuple[str, int]] = field(default_factory=Counter)
    pending: dict[str, tuple[int, NDArray[np.int64]]] = field(default_factory=dict)
    # by call what its scores change by, the most of its draws
    changes: dict[tuple[str, int], Counter[int]] = field(default_factory=dict)

    def _most_of(self, asked: Asked) -> int:
        most: int | None = self.online[asked.learner].user_examples_max
        assert most is not None
        return most

    def _season(self, asked: Asked | Said, position: int) -> tuple[str, int]:
        return asked.learner, position // self.plan.horizon

    def _said(self, said: Said) -> None:
        if said.what == _ABOVE:
            first, steps = self.pending.pop(said.learner)
            stop = None if said.value is None else said.value - first + 1
            season = self._season(said, first)
            self.risen[season] += int((steps[:stop] > 0).sum())
            self.fallen[season] += int((steps[:stop] < 0).sum())
            most = self.online[said.learner].user_examples_max
            assert most is not None
            worst = max(self.risen[season], self.fallen[season])
            assert worst <= most, "a trigger counts more mistakes of a user than are admitted"
            self._note("gaps", worst)
            self.shift[said.learner] += int(steps[:stop].sum())
        super()._said(said)

    def _gaps(self, left: Asked, right: Asked) -> int:
        """Lemma U: a mistake of the user's more or less, at their positions only."""
        change = left.values - right.values
        steps = np.diff(change, prepend=self.shift[left.learner])
        places = left.position + np.flatnonzero(steps)
        assert set(places.tolist()) <= set(self.positions), "somebody else's mistakes count anew"
        assert np.abs(steps).max(initial=0) <= 1, "a mistake counts more than once"
        self.pending[left.learner] = left.position, steps
        return 0

    def _users(self, left: Asked, right: Asked) -> int:
        """Words of the same users, each once, except for the one."""
        words = set(left.values) ^ set(right.values)
        assert len(words) <= 1, "the words of two users differ"
        assert all(len(set(each.values)) == len(each.values) for each in (left, right))
        return len(words)

    def _together(self, asked: Asked, change: int) -> int:
        """A change of one call's scores; all fresh selections of a season change by 2c in sum."""
        calls = self.changes.setdefault(self._season(asked, asked.position), Counter())
        calls[asked.position] = max(calls[asked.position], change)
        whole = sum(calls.values()) if self.calls[asked.learner].fresh else change
        assert whole <= 2 * self._most_of(asked), "scores change by more than a user's examples do"
        return whole

    def _once(self, asked: Asked, change: int) -> int:
        """Of the fresh calls of a season no more may see a difference than are paid for."""
        fresh, *_, most = self.calls[asked.learner]
        if change:
            name, season = self._season(asked, asked.position)
            calls = self.differing.setdefault(f"{name} {season}", set())
            calls.add(asked.position)
            assert not fresh or len(calls) <= most, "too many fresh calls differ"
        return change

    def _scores(self, left: Asked, right: Asked) -> int:
        """Dense selection: c each, in an interval of width 2c."""
        assert left.values.shape == right.values.shape
        change, unit = left.values - right.values, self._unit(left)
        if unit == 1:
            assert np.abs(change).max() <= self._most_of(left), "a score changes by more than c"
        width = -(-int(change.max() - change.min()) // unit)
        self._once(left, int(change.any()))
        return self._together(left, width)

    def _offered(self, left: Asked, right: Asked) -> int:
        """Proposals: a width of 2c; on one side only scores of at most c, c L of them."""
        online = self.online[left.learner]
        if self.calls[left.learner].lists:
            return super()._offered(left, right)
        most = self._most_of(left)
        here, there = (dict(zip(e.keys, e.values.tolist(), strict=True)) for e in (left, right))
        changes = [here[key] - there[key] for key in here.keys() & there.keys()]
        alone = [[a[key] for key in a.keys() - b.keys()] for a, b in ((here, there), (there, here))]
        for scores in alone:
            assert len(scores) <= most * online.list_cap, "one side offers more than c lists"
            assert max(scores, default=0) <= most, "a rule that one side offers has too many votes"
        self._note("offered on one side", max(map(len, alone)))
        width = int(max(changes) - min(changes))
        self._once(left, width + len(alone[0]) + len(alone[1]))
        return self._together(left, width)

    def _histogram(self, left: Asked, right: Asked) -> int:
        """2c in sum; ids on one side only have c votes between them."""
        most = self._most_of(left)
        here, there = (dict(zip(e.keys, e.values.tolist(), strict=True)) for e in (left, right))
        change = sum(abs(here[key] - there[key]) for key in here.keys() & there.keys())
        for a, b in ((here, there), (there, here)):
            votes = sum(max(1, a[key]) for key in a.keys() - b.keys())
            assert votes <= most, "ids that one side offers have more than c votes"
            change += votes
        return self._together(left, self._once(left, change))


def compare(
    plan: StreamPlan, positions: Collection[int], one: Sequence[Entry], two: Sequence[Entry]
) -> Verdict:
    """Check a pair of courses; AssertionError, one sentence, where a proof would not hold.

    positions: where the streams differ; one, unless the plan protects users.
    """
    kind = UserComparison if plan.unit.is_user else Comparison
    return kind(plan, positions).run(one, two)


def records_of(stream: Examples, x_type: str, cuts: Sequence[int]) -> list[Record]:
    """The stream as records that end at the cuts."""
    found, head = [], b""
    for number, (first, stop) in enumerate(pairwise([0, *cuts])):
        x, y, users = stream.columns(slice(first, stop), x_type)
        head = blake2b(head + x + y + users, digest_size=32).digest()
        found.append(Record("s", number, first, "p", first, stop - first, x, y, head, users))
    return found
