"""The exact law of whole public transcripts of a stream, and what its neighbours' differ by.

A stream is run by the real engine, one example a record, from snapshots: for each state and each
move of the adversary every outcome of the noise is tried (`support.outcomes`), and what is said
(releases, ledger entries, answers) and the state that follows are remembered. That is a table of
transitions; all the rest is arithmetic with it.

*The adversary* (`worst`) sees everything that is said and adapts. It chooses one step at which the
two streams get different examples, and at every other step one example for both; so streams of all
lengths up to the number of steps and all positions of the difference are compared, and every
adversary whose examples depend on what was said, which fixed streams are a special case of. Secret
words (of teachers and of the background) are the same on both sides, and are moves of the adversary
as well: the guarantee holds for each of them. What it can reach is computed by going through its
tree. At a node the two streams have said the same so far; it holds, for each private state, its
probability on either side together with what was said. An adversary does best by doing its best at
each node, since a measure of transcripts is a sum over them.

*Going no further.* Once it can be seen what a node comes to, the tree is left: with one state for
both sides, whatever follows has the same law on both; and where every state is, say, less likely
here than there times exp(epsilon), so is all that can be said later. (Not before all steps
are past at which the streams may still differ.)

*Users* (unit = "user"). The steps of the user's examples are fixed (`of_user`). At each of them the
adversary chooses two examples, one for either side, or one for both, also if the streams have
differed before. A user's secret word is the second half of who they are.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, permutations
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from littled.budget.conversion import guarantee
from littled.budget.events import PrivacyEvent
from littled.budget.filter import PrivacyFilter
from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.budget.prices import price
from littled.budget.rounding import exp_upper
from littled.budget.unit import Unit
from littled.engine import Engine, Transcript
from littled.engine.predictions import AnsweringService
from littled.learners.online import OnlineLearner, OnlineState
from littled.planner import OnlinePlan, StreamPlan
from littled.planner.plans import PublishingPlan
from littled.planner.prediction.plan import PredictionPlan
from littled.store.mark import Point
from littled.store.records import NewPrediction, Record, StoredPrediction, prediction_head
from littled_protocol.codec import encode
from littled_protocol.columns import encode_labels, encode_users, point_type
from littled_protocol.messages import Predict
from littled_protocol.rules import Words
from support.learning import HEAD, Inline, column
from support.outcomes import BITS, ONE, Drawing, Noises, Outcomes, unmarked

STREAM = "s"
TAIL_BITS = 24

# -- plans -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VariantPlan(OnlinePlan):
    """A plan for another learner than the real one."""

    learner_class: type[OnlineLearner] = OnlineLearner

    def learner(self, stream: str) -> OnlineLearner:
        return self.learner_class(f"{stream}/{self.name}", self.hypotheses, self.parameters)


def stream_of(
    *plans: PublishingPlan[Any] | PredictionPlan,
    delta_z: Fraction = Fraction(0),
    refused: int = 0,
) -> StreamPlan:
    """A stream with these learners. Its caps are all that they book in a season.

    `refused`: for so many calls of the last online learner the caps have no room.
    """
    events: list[PrivacyEvent] = []
    calls: list[PrivacyEvent] = []
    publishing = [plan for plan in plans if isinstance(plan, PublishingPlan)]
    for plan in publishing:
        learner = plan.running(STREAM)
        events += learner.season_events()
        calls += [learner.call_event()] * learner.calls_max
    for other_plan in plans:
        if isinstance(other_plan, PredictionPlan):
            events += other_plan.learner(STREAM).window_events()
    caps = sum(map(price, events + calls[: len(calls) - refused]), Price.zero())
    epsilon, delta = guarantee(caps, delta_z)
    p = publishing[0].parameters
    stream = StreamPlan(STREAM, epsilon, delta, delta_z, p.horizon, caps, plans)
    return replace(stream, unit=Unit(p.user_examples_max))


def online_plan(name: str, hypotheses: Any, parameters: Any) -> OnlinePlan:
    return OnlinePlan(name, hypotheses, parameters, Words())


# -- transitions -----------------------------------------------------------------------------------


class Example(NamedTuple):
    """One example, with the secret words of its position.

    user: whose it is, where users are protected; `teacher` is this user's secret word then.
    """

    x: Any
    y: int
    teacher: int = 0
    priority: int = 0
    user: int = 0


class Question(NamedTuple):
    """A request for one answer from the learner with this name."""

    learner: str
    x: Any


Move = Example | Question
Pair = tuple[int, int]


class Branch(NamedTuple):
    """What a move can lead to: what is said, by number, the state, by number, and how likely."""

    said: int
    state: int
    mass: int


@dataclass(frozen=True, slots=True)
class _State:
    """What a stream knows, by its snapshot; the examples only where windows are made of them.

    course: what the engine holds of it, which is quicker to go on from than the snapshot. Both have
    marks in place of the noise of thresholds.
    """

    snapshot: bytes
    course: Any = field(compare=False)
    examples: tuple[Example, ...] = ()
    answered: tuple[StoredPrediction, ...] = ()

    @property
    def marked(self) -> list[int]:
        """The places of thresholds whose noise is still needed."""
        states = (getattr(state, "learner", state) for state in self.course.states.values())
        noises = (state.threshold_noise for state in states if isinstance(state, OnlineState))
        marks = (unmarked(noise)[1:] for noise in noises if noise is not None)
        return sorted({place for times in marks for place, n in enumerate(times) if n})


class _Way(NamedTuple):
    """What one run comes to: what is said and what the stream knows, by number, and how likely.

    marked: the places of thresholds whose noise is still needed; needs_held: whether some of it was
    held before.
    """

    said: int
    after: int
    marked: list[int]
    needs_held: bool
    drawings: list[Drawing]


class _Shelf:
    """A journal and its answers in memory."""

    def __init__(self, records: Sequence[Record], answered: Sequence[StoredPrediction]) -> None:
        self._records, self.answered = records, list(answered)
        self.entries: list[LedgerEntry] = []

    def record_at(self, stream: str, position: int) -> int | None:
        return position if position < len(self._records) else None

    def records(self, stream: str, after: int = -1) -> Any:
        return iter(self._records[after + 1 :])

    def prediction(self, learner: str, request: bytes) -> StoredPrediction | None:
        found = (e for e in self.answered if (e.learner, e.request) == (learner, request))
        return next(found, None)

    def prediction_end(self, stream: str) -> Point:
        return Point(len(self.answered) - 1, self.answered[-1].head if self.answered else HEAD)

    def answers_given(self, learner: str, window: int) -> int:
        found = (e for e in self.answered if (e.learner, e.window) == (learner, window))
        return sum(stored.count for stored in found)

    answers_counted = answers_given

    def answer(self, new: NewPrediction, entry: LedgerEntry) -> StoredPrediction:
        values = {name: getattr(new, name) for name in new.__dataclass_fields__}
        head = prediction_head(new.question_head, new.y)
        stored = StoredPrediction(**values, charge=entry.number, head=head)
        self.answered.append(stored)
        self.entries.append(entry)
        return stored


class Side:
    """One side at a node: for each state how likely it is together with all that was said."""

    def __init__(self, masses: dict[int, int]) -> None:
        self.masses, self.total = masses, sum(masses.values())
        # by move: the laws that follow, by what is said, and what is lost
        self.following: dict[Move, tuple[dict[int, Side], int]] = {}

    def beside(self, other: "Side") -> list[Pair]:
        """For each state how likely it is on both sides."""
        states = self.masses.keys() | other.masses.keys()
        return [(self.masses.get(state, 0), other.masses.get(state, 0)) for state in states]


NOWHERE = Side({})


class Transitions:
    """What every move leads to in every state of one stream, found out when it is asked for."""

    def __init__(
        self, plan: StreamPlan, tail_bits: int = TAIL_BITS, last: int | None = None
    ) -> None:
        """`last`: the position of the last example; what is known after it is not asked for."""
        self.plan = plan
        self.outcomes = Outcomes(tail_bits, plan.unit.examples, last)
        self.spent = Price.zero()
        self._points = point_type(plan.x_type)
        self._engine = Engine(plan, self.outcomes.noise, Transcript(), Inline())
        self._engine.start()
        self._values: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self._known: dict[tuple[int, Move], tuple[Branch, ...]] = {}
        self._ways: dict[tuple[int, Example], list[_Way]] = {}
        self._answers: dict[Any, list[tuple[Any, int]]] = {}
        first = self._number(_State(self._engine.snapshot(), self._engine._course))
        # a state is what a stream knows, by number, and the noise that is held
        self.start = Side({self._number((first, ())): ONE})

    def spread(self, law: Side, move: Move) -> tuple[dict[int, Side], int]:
        """The laws after a move, by what is said, and what is lost by rounding or leaving out."""
        if move not in law.following:
            said: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
            for state, mass in law.masses.items():
                for branch in self.branches(state, move):
                    said[branch.said][branch.state] += (mass * branch.mass) >> BITS
            laws = {number: Side(dict(masses)) for number, masses in said.items()}
            lost = law.total - sum(side.total for side in laws.values())
            law.following[move] = laws, lost
        return law.following[move]

    def branches(self, state: int, move: Move) -> tuple[Branch, ...]:
        """The outcomes of a move, each pair of what is said and what follows once."""
        found = self._known.get((state, move))
        if found is None:
            find = self._fed if isinstance(move, Example) else self._asked
            known, held = self._values[state]
            found = self._known[state, move] = find(known, held, move)
        return found

    def _fed(self, known: int, held: Noises, example: Any) -> tuple[Branch, ...]:
        """What one more example leads to; one run serves for every value of noise that is held."""
        if (known, example) not in self._ways:
            self._ways[known, example] = [*self._run(self._values[known], example)]
        ways: dict[tuple[int, int], int] = defaultdict(int)
        before = dict(held)
        for said, after, marked, needs_held, drawings in self._ways[known, example]:
            for kept, drawn_mass, tests in drawings:
                mass, left = drawn_mass, kept
                for chance, tested, times in tests:
                    gap = tested + sum(n * before[place] for place, n in times)
                    mass = (mass * chance[gap]) >> BITS
                if not mass:
                    continue
                if needs_held:
                    noises = {**before, **dict(kept)}
                    left = tuple((place, noises[place]) for place in marked)
                ways[said, self._number((after, left))] += mass
        return tuple(Branch(*way, mass) for way, mass in ways.items())

    def _run(self, state: _State, example: Any) -> Iterator[_Way]:
        """Every run with one more example."""
        kept = (*state.examples, example) if self.plan.answering else ()

        def run() -> tuple[Any, _State | None]:
            engine, transcript = copy(self._engine), Transcript()
            engine._outlet = transcript
            # all that it holds is replaced, never changed, except for the table of learners' states
            engine._course = replace(state.course, states=dict(state.course.states))
            secrets = dict.fromkeys(("buffer", "pool"), example.priority)
            secrets["teacher"] = example.teacher
            self.outcomes.noise.begin(engine.position, secrets)
            engine.apply(self._record(engine.position, example))
            self._spends(engine._course.filter)
            released = (*transcript.releases, *transcript.figures)
            said = (*released, *(entry.to_bytes() for entry in transcript.entries))
            if self.outcomes.noise.position == self.outcomes.last:
                return said, None
            return said, _State(engine.snapshot(), engine._course, kept, state.answered)

        for (said, after), mass in self.outcomes.all(run):
            known, marked = self._number(after), after.marked if after else []
            thresholds = self.outcomes.thresholds
            drawn = {place for place, _ in thresholds.drawn}
            needs_held = not drawn.issuperset(marked)
            drawings = thresholds.drawings(mass, marked)
            yield _Way(self._number(said), known, marked, needs_held, drawings)

    def _asked(self, known: int, held: Noises, question: Any) -> tuple[Branch, ...]:
        """What one more question leads to; the engine and its learners know nothing of it."""
        state = self._values[known]
        key = state.examples, state.answered, question
        if key not in self._answers:
            self._answers[key] = [*self.outcomes.all(lambda: self._answer(*key))]
        ways: dict[tuple[int, int], int] = defaultdict(int)
        for (said, answered), mass in self._answers[key]:
            after = self._number(replace(state, answered=answered))
            ways[self._number(said), self._number((after, held))] += mass
        return tuple(Branch(*way, mass) for way, mass in ways.items())

    def _answer(
        self, examples: Sequence[Example], answered: Sequence[Any], question: Question
    ) -> tuple[Any, tuple[StoredPrediction, ...]]:
        """What is said to one more question, and all answers then."""
        records = [self._record(*example) for example in enumerate(examples)]
        shelf = _Shelf(records, answered)
        noise = self.outcomes.noise
        noise.begin(len(answered), {})
        desk = AnsweringService(self.plan, noise, shelf, lambda _: None, len(records))
        request = len(answered).to_bytes(16, "big")
        x = self._points.encode(column(self.plan.plans[0].hypotheses, [question.x]))
        found = desk.answer(Predict(request, f"{STREAM}/{question.learner}", 1, x), len(records))
        said = (encode(found), *(entry.to_bytes() for entry in shelf.entries))
        return said, tuple(shelf.answered)

    def _record(self, position: int, example: Example) -> Record:
        x = self._points.encode(column(self.plan.plans[0].hypotheses, [example.x]))
        y = encode_labels(np.array([example.y], dtype=np.uint8))
        whose = np.array([[example.user, example.teacher]], dtype=np.uint64)
        users = encode_users(whose) if self.plan.unit.is_user else b""
        return Record(STREAM, position, position, "p", position, 1, x, y, HEAD, users=users)

    def _spends(self, budget: PrivacyFilter | None) -> None:
        """Keep the most that any path spends in a season."""
        if budget is None or budget.spent <= self.spent:
            return
        names = (field.name for field in fields(Price))
        self.spent = Price(*(max(getattr(budget.spent, n), getattr(self.spent, n)) for n in names))

    def _number(self, value: Any) -> int:
        """The number of a state, of what a stream knows, or of what is said."""
        number = self._numbers.setdefault(value, len(self._numbers))
        if number == len(self._values):
            self._values.append(value)
        return number


# -- measures --------------------------------------------------------------------------------------

Value_co = TypeVar("Value_co", int, float, covariant=True)


class Measure(Protocol[Value_co]):
    """A sum over transcripts of a function of their probabilities on both sides."""

    def of(self, here: int, there: int) -> Value_co:
        """A transcript's part."""

    def settled(self, rows: Sequence[Pair]) -> Value_co | None:
        """What a node with these states comes to whatever follows, where that can be seen."""

    def lost(self, here: int, there: int) -> Value_co:
        """What has to be added for probabilities that were lost on the way."""


RATIO_BITS = 64


@dataclass(frozen=True)
class HockeyStick:
    """P[A] - exp(epsilon) P'[A] at its largest, in units of 2^-(BITS + RATIO_BITS).

    With `upper` never too small: exp(epsilon) is rounded down, and what was lost is added as if all
    of it spoke for P. Otherwise never too large: the other way round.
    """

    epsilon: Fraction
    upper: bool = True

    @cached_property
    def _ratio(self) -> int:
        if self.upper:
            return int((1 << RATIO_BITS) / exp_upper(-self.epsilon))
        return int(exp_upper(self.epsilon) * (1 << RATIO_BITS)) + 1

    def of(self, here: int, there: int) -> int:
        return max(0, (here << RATIO_BITS) - self._ratio * there)

    def settled(self, rows: Sequence[Pair]) -> int | None:
        signed = [(p << RATIO_BITS) - self._ratio * q for p, q in rows]
        if max(signed) <= 0:
            return 0
        return sum(signed) if len(signed) == 1 or min(signed) >= 0 else None

    def lost(self, here: int, there: int) -> int:
        return here << RATIO_BITS if self.upper else -self._ratio * there

    def share(self, value: int) -> Fraction:
        return Fraction(value, 1 << (BITS + RATIO_BITS))


@dataclass(frozen=True)
class Renyi:
    """The sum of P^a P'^(1 - a), whose logarithm over a - 1 is the divergence of order a > 1.

    It is that of all of P that was not lost, and not too small where parts of P' were.
    """

    order: float

    def of(self, here: int, there: int) -> float:
        if not here:
            return 0.0
        if not there:
            return math.inf
        p, q = math.log(here / ONE), math.log(there / ONE)
        return math.exp(self.order * p + (1 - self.order) * q)

    def settled(self, rows: Sequence[Pair]) -> float | None:
        return self.of(*rows[0]) if len(rows) == 1 else None

    def lost(self, here: int, there: int) -> float:
        return 0.0

    def divergence(self, value: float) -> float:
        return math.log(value) / (self.order - 1)


# -- adversaries -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    """What the adversary may do at one step: the same on both sides, or a pair that differs.

    again: whether the streams may differ here though they have differed before.
    """

    moves: tuple[Move, ...]
    pairs: tuple[tuple[Move, Move], ...] = ()
    again: bool = False

    def apart(self) -> list[tuple[Move, Move]]:
        """What may be done on the two sides once the streams have differed."""
        return [*((move, move) for move in self.moves), *(self.pairs if self.again else ())]


def anything(
    points: Sequence[Any], teachers: Sequence[int] = (0,), priorities: Sequence[int] = (0,)
) -> Turn:
    """Any example and, once, any two examples, with the same secret words on both sides."""
    words = [(k, p) for k in teachers for p in priorities]
    choices = [[Example(x, y, *word) for x in points for y in (0, 1)] for word in words]
    return Turn(
        tuple(z for choice in choices for z in choice),
        tuple((z, w) for choice in choices for z in choice for w in choice if z != w),
    )


def worst(transitions: Transitions, turns: Sequence[Turn], measure: Measure[Value_co]) -> Value_co:
    """The largest value that any adaptive adversary reaches in these turns."""
    last = max((at for at, turn in enumerate(turns) if turn.pairs), default=-1)
    last_again = max((at for at, turn in enumerate(turns) if turn.again), default=-1)
    # what may be done at each step once the streams have differed
    apart = [turn.apart() for turn in turns]

    def before(law: Side, at: int) -> Value_co:
        """Both streams are the same so far."""
        if at > last:
            return measure.of(law.total, law.total)
        turn = turns[at]
        same = [together(law, move, at) for move in turn.moves]
        return max(same + [on(law, law, pair, at) for pair in turn.pairs])

    def together(law: Side, move: Move, at: int) -> Value_co:
        parts, lost = transitions.spread(law, move)
        return sum((before(part, at + 1) for part in parts.values()), measure.lost(lost, lost))

    def after(here: Side, there: Side, at: int) -> Value_co:
        """The streams have differed."""
        if at == len(turns):
            return measure.of(here.total, there.total)
        if at > last_again:
            value = measure.settled(here.beside(there))
            if value is not None:
                return value
        return max([on(here, there, pair, at) for pair in apart[at]])

    def on(here: Side, there: Side, moves: tuple[Move, Move], at: int) -> Value_co:
        """What is only said there is worth nothing, whatever follows."""
        ours, left = transitions.spread(here, moves[0])
        theirs, missing = transitions.spread(there, moves[1])
        value = measure.lost(left, missing)
        for said, part in ours.items():
            value += after(part, theirs.get(said, NOWHERE), at + 1)
        return value

    return before(transitions.start, 0)


def of_user(points: Sequence[Any], user: int = 1, teacher: int = 0, priority: int = 0) -> Turn:
    """One of the user's steps: any two examples, or any one, whatever the streams were before."""
    found = [Example(x, y, teacher, priority, user) for x in points for y in (0, 1)]
    return Turn(tuple(found), tuple(permutations(found, 2)), again=True)


def fixed(stream: Sequence[Example], points: Sequence[Any]) -> tuple[Turn, ...]:
    """This stream against every stream that differs from it at one step, both ways."""
    turns = []
    for example in stream:
        others = (example._replace(x=x, y=y) for x in points for y in (0, 1))
        pairs = (pair for z in others if z != example for pair in ((example, z), (z, example)))
        turns.append(Turn((example,), tuple(pairs)))
    return tuple(turns)


def transcripts(transitions: Transitions, stream: Sequence[Example]) -> dict[tuple[int, ...], int]:
    """How likely each transcript of this stream is; what is said at each step, by number."""
    laws: dict[tuple[int, ...], Side] = {(): transitions.start}
    for example in stream:
        laws = {
            (*before, said): law
            for before, whole in laws.items()
            for said, law in transitions.spread(whole, example)[0].items()
        }
    return {said: law.total for said, law in laws.items()}


def asked(learner: str, points: Sequence[Any]) -> Turn:
    """A question about any of these points."""
    return Turn(tuple(Question(learner, x) for x in points))


# -- claims ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A stream and what the adversary may do, against what its learners book.

    `factor` and `delta_factor`: by how much the claimed epsilon, and the claimed delta, may exceed
    what is true of these few steps. 0 where nothing is said about it.
    """

    plan: StreamPlan
    turns: Sequence[Turn]
    factor: float
    delta_factor: float = 0
    tail_bits: int = TAIL_BITS

    def transitions(self) -> Transitions:
        moves = [move for turn in self.turns for move in (*turn.moves, *chain(*turn.pairs))]
        asks = self.plan.answering or any(isinstance(move, Question) for move in moves)
        last = None if asks or not moves else len(self.turns) - 1
        return Transitions(self.plan, self.tail_bits, last)

    def at_most(self, transitions: Transitions, epsilon: Fraction) -> Fraction:
        """The hockey-stick divergence of the worst adversary, or a little more."""
        measure = HockeyStick(epsilon)
        return measure.share(worst(transitions, self.turns, measure))

    def at_least(self, transitions: Transitions, epsilon: Fraction) -> Fraction:
        """The same, or a little less."""
        measure = HockeyStick(epsilon, upper=False)
        return measure.share(worst(transitions, self.turns, measure))

    def left_out(self, transitions: Transitions) -> Fraction:
        """What values of noise that are not tried can come to on all steps, and roundings."""
        tails = len(self.turns) * transitions.outcomes.tails
        return Fraction(tails, ONE) + Fraction(1, 1 << 64)

    def exceeds(self) -> bool:
        """Whether some adversary proves the claim wrong; certain, as both roundings favour it."""
        return self.at_least(self.transitions(), self.plan.epsilon) > self.plan.delta

    def holds(self, transitions: Transitions, epsilon: Fraction, delta: Fraction) -> None:
        """No adversary proves this claim wrong."""
        found = self.at_most(transitions, epsilon)
        assert found <= delta + self.left_out(transitions), (float(found), float(delta))

    def check(self) -> Transitions:
        """The claim holds, and is within its factors of the truth."""
        plan, transitions = self.plan, self.transitions()
        self.holds(transitions, plan.epsilon, plan.delta)
        # some path spends all of it: the claim is that of calls that these few steps can use
        assert transitions.spent == plan.caps
        if self.factor:
            less = plan.epsilon / Fraction(self.factor)
            assert self.at_least(transitions, less) > plan.delta, "epsilon is overcharged"
        if self.delta_factor:
            true = self.at_least(transitions, plan.epsilon)
            assert true * Fraction(self.delta_factor) >= plan.delta, "delta is overcharged"
        return transitions

    def orders(self, transitions: Transitions, orders: Sequence[float]) -> list[float]:
        """For every Renyi order what is claimed over what the worst adversary reaches.

        Only for streams whose failure mass is not in play: there the divergence is bounded.
        """
        caps, factors = self.plan.caps, []
        for order in orders:
            measure = Renyi(order)
            reached = measure.divergence(worst(transitions, self.turns, measure))
            factors.append(
                float(caps.epsilon_pure + Fraction(order) * (caps.rho + caps.gaussian)) / reached
            )
        return factors

    def measured(self, steps: int = 8) -> float:
        """The factor of epsilon that these steps show, up to one in 2^steps of the claim."""
        transitions, low, high = self.transitions(), Fraction(0), Fraction(1)
        for _ in range(steps):
            middle = (low + high) / 2
            over = self.at_least(transitions, self.plan.epsilon * middle) > self.plan.delta
            low, high = (middle, high) if over else (low, middle)
        return float(1 / low) if low else math.inf
