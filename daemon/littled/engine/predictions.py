"""Answers to requests for predictions, from the windows of one stream.

Source of the service: Dagan and Feldman, "PAC Learning with Stable and Private Predictions",
everlasting predictions: tumbling windows, each with a budget of its own (PRIVACY.md, section 13).

*Windows.* A window of a learner is n consecutive examples at public positions, inside one season;
what is left over at a season's end is in none. The current window is the last full one, also after
its season, until the next one is full. Which it is depends on the stream's length alone.

*Charges.* What one full window can cost is charged to its season by the engine, when the season
opens: an example is in one window, so all windows of a season together cost it what one does.
Inside a window every answer has a fixed public price, and a filter admits a request only while the
window's answers are paid for. A spent window refuses; the next full one replaces it.

*Order* of a request: was it answered before? then the stored answer, at no charge; else admit, draw
noise and compute, store the answers with their ledger entry and the high-water mark, and only then
answer. A crash before the commit has released nothing and charged nothing, and a crash after it
loses nothing: the same request again gets the stored answer.

*Noise* is bound to the chain of predictions: to the one before, to the journal up to the window's
end, and to the request itself (`littled.store.records.question_head`). The same request in the same
history gets the same bits; in another history, or for another question, independent ones.

Points that are asked about are no secret of the examples, but they are the asker's own affair: they
are stored, so that a repeated request can be recognised, and appear nowhere else.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from littled.budget.codec import event_to_dict
from littled.budget.filter import BudgetRefused, PrivacyFilter
from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.budget.prices import price
from littled.mechanisms.noise import Address, NoiseSource
from littled.planner import StreamPlan
from littled.planner.plans import AnsweringPlan
from littled.store.mark import Point
from littled.store.records import NewPrediction, Record, StoredPrediction, question_head
from littled_protocol.columns import Labels, Points, decode_labels, point_type
from littled_protocol.errors import REFUSAL_SENTENCES, ProtocolError, RefusalCode
from littled_protocol.facts import AnsweringFacts, PriceFacts
from littled_protocol.messages import Predict, Prediction, PredictionRefused


class Journal(Protocol):
    """Where windows are read."""

    def record_at(self, stream: str, position: int) -> int | None:
        """Number of the record that holds the example at a position; None when there is none."""

    def records(self, stream: str, after: int = -1) -> Iterator[Record]:
        """Records of the stream after number `after`, in order."""


class AnswerStore(Journal, Protocol):
    """Where answers become durable, and are found again."""

    def prediction(self, learner: str, request: bytes) -> StoredPrediction | None:
        """What was answered to a request to the learner "stream/learner"; None if nothing was."""

    def prediction_end(self, stream: str) -> Point:
        """Number and head of the stream's last prediction."""

    def answers_given(self, learner: str, window: int) -> int:
        """How many points a window has answered, checked."""

    def answers_counted(self, learner: str, window: int) -> int:
        """The same at once, to be told to somebody."""

    def answer(self, new: NewPrediction, entry: LedgerEntry) -> StoredPrediction:
        """Make a prediction and its ledger entry durable in one transaction before returning."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of `size` examples in seasons of `horizon`, numbered from 0 over all seasons."""

    horizon: int
    size: int

    @property
    def per_season(self) -> int:
        """Windows that fit into a season."""
        return self.horizon // self.size

    def full(self, position: int) -> int:
        """How many windows are full in a stream of `position` examples; the last is current."""
        season, inside = divmod(position, self.horizon)
        return season * self.per_season + inside // self.size

    def season(self, window: int) -> int:
        """The season that a window is in."""
        return window // self.per_season

    def bounds(self, window: int) -> tuple[int, int]:
        """Position of the window's first example, and the one that follows its last."""
        season, inside = divmod(window, self.per_season)
        first = season * self.horizon + inside * self.size
        return first, first + self.size


@dataclass(frozen=True, slots=True)
class _Open:
    """A window that answers are made from. Private: prepared.

    record, head: number and chain head of the journal's record that holds its last example.
    """

    window: int
    record: int
    head: bytes
    prepared: Any


@dataclass(frozen=True, slots=True)
class _Standing:
    """How much a window has answered: replaced as a whole, so that any thread may look."""

    window: int
    given: int
    filter: PrivacyFilter


class _Maker:
    """Makes the answers of one learner; holds one prepared window at a time.

    asked: the type of the points that it is asked about, which are those that it learns from.
    """

    def __init__(self, stream: StreamPlan, plan: AnsweringPlan[Any]) -> None:
        self.stream = stream.stream
        self.learner = plan.learner(stream.stream)
        self.windows = Windows(stream.horizon, self.learner.window)
        self.asked = point_type(plan.hypotheses.point_type)
        self._recorded = point_type(stream.x_type)
        self._view = stream.view(plan)
        self._open: _Open | None = None

    def open(self, window: int, journal: Journal) -> _Open:
        """Read and prepare a window, unless it is at hand."""
        if self._open is None or self._open.window != window:
            self._open = None  # two would not fit into the memory that one may take
            self._open = self._read(window, journal)
        return self._open

    def _read(self, window: int, journal: Journal) -> _Open:
        first, end = self.windows.bounds(window)
        record, last = (journal.record_at(self.stream, position) for position in (first, end - 1))
        assert record is not None, "a window is asked for before it is full"
        assert last is not None, "a window is asked for before it is full"
        xs: list[Points] = []
        ys: list[Labels] = []
        for found in journal.records(self.stream, record - 1):
            part = slice(max(first - found.first_position, 0), end - found.first_position)
            points = self._recorded.decode(found.x, found.count)[part]
            xs.append(points if self._view is None else self._view(points))
            ys.append(decode_labels(found.y, found.count)[part])
            if found.number == last:
                x, y = np.concatenate(xs), np.concatenate(ys)
                return _Open(window, last, found.chain_head, self.learner.prepare(x, y))
        raise AssertionError("the journal ends inside a window that is full")

    def answers(
        self, opened: _Open, points: Points, question: bytes, number: int, noise: NoiseSource
    ) -> bytes:
        """The answers to points (m,), one byte each, with the noise of this question."""
        address = Address(question, self.learner.name, "predict", number)
        answers: NDArray[np.uint8] = self.learner.answer(opened.prepared, points, noise, address)
        return answers.astype(np.uint8, copy=False).tobytes()


@dataclass(slots=True)
class _Answerer:
    """One learner with what its current window has answered."""

    plan: AnsweringPlan[Any]
    maker: _Maker
    caps: Price
    one: Price
    standing: _Standing | None = None

    @property
    def answers_max(self) -> int:
        """Answers that a window is paid for."""
        return self.maker.learner.answers_max


class AnsweringService:
    """Answers the requests to the learners of one stream that answer; used by one thread at a time.

    `answer` may take long and blocks. `status` and `given` may be called on any thread.
    """

    def __init__(
        self,
        plan: StreamPlan,
        noise: NoiseSource,
        store: AnswerStore,
        opened: Callable[[int], None],
        position: int,
        *,
        closed: bool = False,
    ) -> None:
        """Take over a stream of `position` examples; reads how much its windows have answered.

        opened: returns if the charges of a season, given by its number, are durable; raises if not.
        closed: answer nothing but what was answered before.
        """
        self._closed = closed
        self.stream = plan.stream
        self._noise = noise
        self._store = store
        self._opened = opened
        self._others = frozenset(f"{plan.stream}/{one.name}" for one in plan.publishing)
        self._answerers = {
            f"{plan.stream}/{one.name}": _answerer(plan, one) for one in plan.answering
        }
        for answerer in self._answerers.values():
            full = answerer.maker.windows.full(position)
            if full:
                answerer.standing = self._stand(answerer, full - 1)

    # -- public facts ------------------------------------------------------------------------

    def given(self) -> tuple[tuple[int, int] | None, ...]:
        """Of each learner the last window that was asked and how much it has answered, if any.

        With the stream's position, all that ever changes in `status`.
        """
        standings = [answerer.standing for answerer in self._answerers.values()]
        return tuple(None if each is None else (each.window, each.given) for each in standings)

    def status(self, position: int) -> dict[str, AnsweringFacts]:
        """Public facts about each learner of a stream of `position` examples, by its name."""
        return {
            answerer.plan.name: _facts(answerer, position) for answerer in self._answerers.values()
        }

    # -- answers -----------------------------------------------------------------------------

    def answer(self, asked: Predict, position: int) -> Prediction | PredictionRefused:
        """Answer a request, as a whole or not at all, from a stream of `position` examples.

        Positions never fall from one call to the next. What is returned may be sent: it is durable.
        Raises what the store raises; nothing was answered then, and nothing more may be asked.
        Raises what `opened` raises; then nothing has changed, and the same may be asked again.
        """
        answerer = self._answerers.get(asked.learner)
        if answerer is None:
            known = asked.learner in self._others
            return refusal(
                asked, RefusalCode.NO_PREDICTIONS if known else RefusalCode.UNKNOWN_LEARNER
            )
        points = self._decoded(answerer, asked)
        if points is None:
            return _refused(asked, RefusalCode.INVALID_POINTS, answerer, position)
        x = answerer.maker.asked.encode(points)
        stored = self._store.prediction(asked.learner, asked.request)
        if stored is None and self._closed:
            return _refused(asked, RefusalCode.STREAM_CLOSED, answerer, position)
        if stored is None:
            return self._answer_new(answerer, asked, points, x, position)
        if (stored.count, stored.x) != (asked.count, x):
            return _refused(asked, RefusalCode.REQUEST_REUSED, answerer, position)
        return self._again(answerer, stored)

    def _answer_new(
        self, answerer: _Answerer, asked: Predict, points: Points, x: bytes, position: int
    ) -> Prediction | PredictionRefused:
        """Answer what was not answered before: admit, compute, store."""
        standing = self._turned(answerer, position)
        if standing is None:
            return _refused(asked, RefusalCode.NO_WINDOW, answerer, position)
        try:
            after = _admitted(answerer, standing, asked.count)
        except BudgetRefused:
            return _refused(asked, RefusalCode.WINDOW_SPENT, answerer, position)
        new = self._made(answerer, standing.window, asked, points, x)
        self._store.answer(new, self._entry(answerer, new))
        answerer.standing = after
        return _answered(new, answerer.answers_max - after.given, repeated=False)

    def _decoded(self, answerer: _Answerer, asked: Predict) -> Points | None:
        """The points of a request, None unless all are points of the learner's domain."""
        try:
            points = answerer.maker.asked.decode(asked.x, asked.count)
        except ProtocolError:
            return None
        return points if answerer.plan.hypotheses.contains(points) else None

    def _again(self, answerer: _Answerer, stored: StoredPrediction) -> Prediction:
        """The answer that a request got before."""
        given = self._store.answers_counted(stored.learner, stored.window)
        return _answered(stored, answerer.answers_max - given, repeated=True)

    def _turned(self, answerer: _Answerer, position: int) -> _Standing | None:
        """The standing of the current window, which must be paid for; None without a window."""
        full = answerer.maker.windows.full(position)
        if not full:
            return None
        self._opened(answerer.maker.windows.season(full - 1))
        if answerer.standing is None or answerer.standing.window != full - 1:
            answerer.standing = self._stand(answerer, full - 1)
        return answerer.standing

    def _stand(self, answerer: _Answerer, window: int) -> _Standing:
        """How much a window has answered, by what is stored."""
        given = self._store.answers_given(answerer.maker.learner.name, window)
        return _Standing(window, given, PrivacyFilter(answerer.caps, answerer.one * given))

    def _made(
        self, answerer: _Answerer, window: int, asked: Predict, points: Points, x: bytes
    ) -> NewPrediction:
        """The answers to an admitted request, not yet durable."""
        opened = answerer.maker.open(window, self._store)
        end = self._store.prediction_end(self.stream)
        number = end.number + 1
        question = question_head(
            end.head, opened.head, asked.learner, number, window, asked.request, asked.count, x
        )
        y = answerer.maker.answers(opened, points, question, number, self._noise)
        return NewPrediction(
            learner=asked.learner,
            number=number,
            window=window,
            record=opened.record,
            request=asked.request,
            count=asked.count,
            x=x,
            y=y,
            question_head=question,
        )

    def _entry(self, answerer: _Answerer, new: NewPrediction) -> LedgerEntry:
        """What a prediction costs; the store sets the entry's number."""
        windows = answerer.maker.windows
        return LedgerEntry(
            number=0,
            stream=self.stream,
            season=windows.season(new.window),
            learner=answerer.plan.name,
            position=windows.bounds(new.window)[1] - 1,
            event=event_to_dict(answerer.maker.learner.answers_event(new.count)),
            price=answerer.one * new.count,
            window=new.window,
        )


def refusal(asked: Predict, code: RefusalCode) -> PredictionRefused:
    """The refusal of a request that no window was asked for."""
    return PredictionRefused(
        request=asked.request,
        learner=asked.learner,
        code=code,
        message=REFUSAL_SENTENCES[code],
        asked=asked.count,
        spent=0,
        left=0,
    )


def differing(
    plan: StreamPlan, noise: NoiseSource, journal: Journal, stored: Iterable[StoredPrediction]
) -> Iterator[str]:
    """One sentence for each stored prediction of a stream that its journal does not lead to.

    Every answer is computed again, from its window and the noise of its question. Whether the
    predictions are a chain is checked by whoever reads them.
    """
    makers = {f"{plan.stream}/{one.name}": _Maker(plan, one) for one in plan.answering}
    for found in stored:
        maker = makers.get(found.learner)
        same = False
        if maker is not None:
            opened = maker.open(found.window, journal)
            asked = maker.asked.decode(found.x, found.count)
            y = maker.answers(opened, asked, found.question_head, found.number, noise)
            same = (opened.record, y) == (found.record, found.y)
        if not same:
            yield f"prediction {found.number} of {plan.stream} is not what the journal leads to"


def _answerer(stream: StreamPlan, plan: AnsweringPlan[Any]) -> _Answerer:
    maker = _Maker(stream, plan)
    event = maker.learner.answers_event
    return _Answerer(plan, maker, price(event(maker.learner.answers_max)), price(event(1)))


def _admitted(answerer: _Answerer, standing: _Standing, count: int) -> _Standing:
    """The standing after so many answers more; BudgetRefused if the window has not paid for them.

    No method answers for nothing, so the price of `answers_max` answers pays for no more.
    """
    budget = standing.filter.admit(answerer.one * count)
    return _Standing(standing.window, standing.given + count, budget)


def _answered(new: NewPrediction, left: int, *, repeated: bool) -> Prediction:
    return Prediction(
        request=new.request,
        learner=new.learner,
        y=new.y,
        window=new.window,
        left=left,
        repeated=repeated,
    )


def _window(answerer: _Answerer, position: int) -> tuple[int, int] | None:
    """The current window and how much it has answered; None before the first is full."""
    full, standing = answerer.maker.windows.full(position), answerer.standing
    if not full:
        return None
    known = standing is not None and standing.window == full - 1
    return full - 1, standing.given if standing is not None and known else 0


def _next_window(answerer: _Answerer, position: int) -> int:
    """Length of the stream with which the next window will be full."""
    windows = answerer.maker.windows
    return windows.bounds(windows.full(position))[1]


def _refused(
    asked: Predict, code: RefusalCode, answerer: _Answerer, position: int
) -> PredictionRefused:
    window = _window(answerer, position)
    given = 0 if window is None else window[1]
    return PredictionRefused(
        request=asked.request,
        learner=asked.learner,
        code=code,
        message=REFUSAL_SENTENCES[code],
        asked=asked.count,
        spent=given,
        left=0 if window is None else answerer.answers_max - given,
        window=None if window is None else window[0],
        next_window=_next_window(answerer, position),
    )


def _facts(answerer: _Answerer, position: int) -> AnsweringFacts:
    """What anybody may know about a learner: parameters, positions, and how much was answered."""
    learner = answerer.maker.learner
    window = _window(answerer, position)
    bounds = None if window is None else answerer.maker.windows.bounds(window[0])
    given = 0 if window is None else window[1]
    facts: AnsweringFacts = {
        "kind": answerer.plan.kind,
        "words": answerer.plan.words.to_status(),
        "method": learner.method,
        "window_examples": learner.window,
        "window": None if window is None else window[0],
        "window_first": None if bounds is None else bounds[0],
        "window_last": None if bounds is None else bounds[1] - 1,
        "answers_given": given,
        "answers_left": 0 if window is None else answerer.answers_max - given,
        "answer_price": cast("PriceFacts", answerer.one.to_dict()),
        "next_window": _next_window(answerer, position),
    }
    if answerer.plan.words.reading is not None:
        facts["x_type"] = answerer.maker.asked.name
    return facts
