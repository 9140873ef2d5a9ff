"""The requests to each stream are answered in turns, beside its engine.

The answers of all streams share a few threads of their own (`littled.service.courses`), one request
a turn. An answer may take as long as a joint training, and waits for none: it is made from a window
of the journal and not from what the engine has learned. Requests to one stream are answered one
after the other, since each answer is a link of one chain. The event loop hands requests over and
gets the answers back; it never waits. The only thing that an answer waits for is the opening of a
season: the first answer from a season's windows must find them paid for, and it is the engine that
charges. It waits without a thread, as the engine may have much to learn until then.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future

from littled.budget.ledger import LedgerEntry
from littled.engine.predictions import AnsweringService, AnswerStore
from littled.mechanisms.noise import NoiseSource
from littled.planner import StreamPlan
from littled.service.courses import Course, Courses, Next, Rest
from littled.service.host import HostObserver, SeasonAwaited, Seasons
from littled.service.writer import Writer, WriterStopped
from littled.store.mark import Point
from littled.store.records import NewPrediction, Record, StoredPrediction
from littled_protocol.facts import AnsweringFacts
from littled_protocol.messages import Predict, Prediction, PredictionRefused

Answer = Prediction | PredictionRefused
_Job = tuple[Future[Answer], Predict, int]


class WrittenAnswers:
    """A store for answers: read on the thread that answers, written on the writer's."""

    def __init__(self, store: AnswerStore, writer: Writer) -> None:
        """Write to `store` on the thread of `writer`."""
        self._store = store
        self._writer = writer

    def record_at(self, stream: str, position: int) -> int | None:
        """Number of the record that holds the example at a position; None when there is none."""
        return self._store.record_at(stream, position)

    def records(self, stream: str, after: int = -1) -> Iterator[Record]:
        """Records of the stream after number `after`, in order."""
        return self._store.records(stream, after)

    def prediction(self, learner: str, request: bytes) -> StoredPrediction | None:
        """What was answered to a request to the learner "stream/learner"; None if nothing was."""
        return self._store.prediction(learner, request)

    def prediction_end(self, stream: str) -> Point:
        """Number and head of the stream's last prediction."""
        return self._store.prediction_end(stream)

    def answers_given(self, learner: str, window: int) -> int:
        """How many points a window has answered, checked."""
        return self._store.answers_given(learner, window)

    def answers_counted(self, learner: str, window: int) -> int:
        """The same at once, to be told to somebody."""
        return self._store.answers_counted(learner, window)

    def answer(self, new: NewPrediction, entry: LedgerEntry) -> StoredPrediction:
        """Make a prediction and its ledger entry durable in one transaction before returning."""
        return self._writer.call(lambda: self._store.answer(new, entry))


class Answering:
    """The answers of one stream, and the requests that wait for theirs."""

    def __init__(
        self,
        plan: StreamPlan,
        store: AnswerStore,
        writer: Writer,
        seasons: Seasons,
        observer: HostObserver,
        courses: Courses,
    ) -> None:
        """Do nothing before `begin` and `start`; then answer on `courses`."""
        self.stream = plan.stream
        self._plan = plan
        self._store = WrittenAnswers(store, writer)
        self._seasons = seasons
        self._observer = observer
        self._waiting: deque[_Job] = deque()
        self._lock = threading.Lock()
        self._stopping = False
        self._service: AnsweringService | None = None
        self._courses = courses
        self._course: Course | None = None

    def begin(self, noise: NoiseSource, position: int, *, closed: bool = False) -> None:
        """Take over a stream of `position` examples; reads what was answered. Blocks."""
        self._service = AnsweringService(
            *(self._plan, noise, self._store, self._seasons.ensure, position), closed=closed
        )

    def start(self) -> None:
        """Begin to answer."""
        self._course = self._courses.start(self._steps())

    def ask(self, asked: Predict, position: int) -> Future[Answer]:
        """Hand a request over without waiting; `position` is the stream's length at this moment.

        The future raises WriterStopped when there will be no answer. A cancelled one that was not
        begun costs nothing; one that was begun is answered and charged, and stays stored.
        """
        answer: Future[Answer] = Future()
        with self._lock:
            if self._stopping:
                answer.set_exception(WriterStopped("the daemon answers no more requests"))
            else:
                self._waiting.append((answer, asked, position))
        self._wake()
        return answer

    def given(self) -> tuple[tuple[int, int] | None, ...]:
        """What changes in `status` while the stream does not: see `AnsweringService.given`."""
        return self._opened().given()

    def status(self, position: int) -> dict[str, AnsweringFacts]:
        """Public facts about the stream's learners that answer, by name."""
        return self._opened().status(position)

    def wait_no_longer(self) -> None:
        """Let a request that waits for a season, or would have to, get no answer."""
        self._seasons.close()

    def stop(self) -> None:
        """Ask it to end after the request in hand; the others get no answer."""
        with self._lock:
            self._stopping = True
        self.wait_no_longer()
        self._wake()

    def join(self, seconds: float) -> None:
        """Wait for its end, at most so long. Blocks."""
        if self._course is not None:
            self._course.over.wait(seconds)

    def _wake(self) -> None:
        if self._course is not None:
            self._course.wake()

    def _steps(self) -> Iterator[Next]:
        while not self._stopping:
            if not self._waiting:
                yield Rest()
                continue
            answer, asked, position = self._waiting.popleft()
            if answer.set_running_or_notify_cancel():
                while (news := self._answer(answer, asked, position)) is not None:
                    yield news
            yield None
        self._give_up()

    def _answer(self, answer: Future[Answer], asked: Predict, position: int) -> Future[None] | None:
        """Answer a request; returns what has to be waited for before it can be tried again."""
        try:
            found = self._opened().answer(asked, position)
        except SeasonAwaited as awaited:
            return awaited.news
        except WriterStopped as error:
            # The writer told the daemon already what went wrong, if anything did.
            self._stopping = True
            answer.set_exception(error)
        except BaseException as error:  # noqa: BLE001 - whatever it was, nothing more is answered
            self._stopping = True
            self._observer.failed(error)
            answer.set_exception(WriterStopped("the answers of this stream have failed"))
        else:
            answer.set_result(found)
        return None

    def _give_up(self) -> None:
        """Let nobody wait for what will not be answered."""
        with self._lock:
            self._stopping = True
        while self._waiting:
            answer, _, _ = self._waiting.popleft()
            if answer.set_running_or_notify_cancel():
                answer.set_exception(WriterStopped("the daemon answers no more requests"))

    def _opened(self) -> AnsweringService:
        assert self._service is not None, "answers were asked for before `begin`"
        return self._service
