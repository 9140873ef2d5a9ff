"""Trainings on other machines: the same bytes, never the key, and done here where they fail."""

import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from copy import copy
from functools import partial
from typing import Any, get_args

import numpy as np
import pytest
import structlog
from structlog.testing import capture_logs

from littled.auditing.subjects import SMALL, small_plan
from littled.engine import Transcript, replay
from littled.mechanisms.noise import IN_CALLS, Address, KeyedNoise, Purpose
from littled.planner import StreamPlan
from littled.service.training import Trainers
from littled.store.records import Record
from littled_protocol.columns import encode_users, point_type

KEY = bytes(range(32))
SEASONS = 6
RECORDS_A_SEASON = 8


class Wire(Executor):
    """A worker on the other end of a wire: what it gets and gives is bytes, which are kept."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self._pool = ThreadPoolExecutor(1)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.sent.append(pickle.dumps((fn, args, kwargs)))
        return self._pool.submit(self._run, self.sent[-1])

    def _run(self, sent: bytes) -> Any:
        fn, args, kwargs = pickle.loads(sent)  # noqa: S301 - our own
        return pickle.loads(pickle.dumps(fn(*args, **kwargs)))  # noqa: S301 - the same

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)


class Worker(Wire):
    """A worker that says the same whatever it is asked."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        super().__init__()
        self._answer = answer

    def _run(self, sent: bytes) -> Any:
        return self._answer()


@pytest.fixture(autouse=True)
def _tried_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings are sent although the one before failed."""
    monkeypatch.setattr("littled.service.training.TRAININGS_HERE_SECONDS", 0.0)


@pytest.fixture
def wire() -> Iterator[Wire]:
    made = Wire()
    yield made
    made.shutdown()


def journal(plan: StreamPlan) -> list[Record]:
    """Some seasons of two points, with labels of which rules are wrong again and again."""
    count, kind = plan.horizon * SEASONS, point_type(plan.x_type)
    random = np.random.default_rng(5)
    shape = (count,) if kind.columns == 1 else (count, kind.columns)
    x = random.integers(0, 2, shape).astype(kind.dtype)
    late = np.arange(count) % plan.horizon >= plan.horizon // 2
    y = np.where(late, random.integers(0, 2, count), 1).astype(np.uint8)
    size = plan.horizon // RECORDS_A_SEASON
    users = random.integers(0, 1 << 63, (count, 2), dtype=np.uint64)
    return [
        Record(
            stream=plan.stream,
            number=at // size,
            first_position=at,
            producer="me",
            sequence=at,
            count=size,
            x=kind.encode(x[at : at + size]),
            y=y[at : at + size].tobytes(),
            chain_head=bytes([at // size]) * 32,
            users=encode_users(users[at : at + size]) if plan.unit.is_user else b"",
        )
        for at in range(0, count, size)
    ]


def replayed(plan: StreamPlan, elsewhere: Executor | None) -> Transcript:
    trainers = Trainers(elsewhere, structlog.get_logger())
    try:
        return replay(plan, KeyedNoise(KEY), journal(plan), trainers.executor(plan))
    finally:
        trainers.close()


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in SMALL if not name.startswith("answers")])
def test_another_machine_comes_to_the_same_bytes_without_the_key(name: str, wire: Wire) -> None:
    plan = small_plan(name)
    with capture_logs() as told:
        there = replayed(plan, wire)
    assert there == replayed(plan, None)
    assert not told
    assert not any(KEY in sent for sent in wire.sent)
    # prepaid calls that are short are settled where the state is
    expects = not plan.unit.is_user and not name.startswith("scorecard")
    assert bool(wire.sent) == expects, len(wire.sent)


@pytest.mark.long
def test_later_calls_are_granted_at_once_what_earlier_ones_drew(wire: Wire) -> None:
    plan = small_plan("dense")
    calls = len(replayed(plan, wire).releases) - SEASONS  # each season begins with a release
    assert calls > 3
    assert calls <= len(wire.sent) < calls + 3


@pytest.mark.parametrize("error", [BrokenProcessPool, RuntimeError, TimeoutError])
def test_what_fails_elsewhere_is_done_here(error: type[Exception]) -> None:
    def fails() -> None:
        raise error("private")

    plan = small_plan("dense")
    with capture_logs() as told:
        assert replayed(plan, Worker(fails)) == replayed(plan, None)
    assert {(line["event"], line["error_type"]) for line in told} == {
        ("training not done elsewhere", error.__name__)
    }
    assert "private" not in str(told)


def test_streams_share_who_sends_for_them(wire: Wire) -> None:
    trainers = Trainers(wire)
    plans = [small_plan(name) for name in ("dense", "fresh", "sparse", "window-dense")]
    assert len({trainers.executor(plan) for plan in plans}) == 1
    assert trainers.executor(small_plan("users")) not in {trainers.executor(plans[0])}
    trainers.close()


def test_after_one_that_failed_the_others_are_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("littled.service.training.TRAININGS_HERE_SECONDS", 60.0)
    plan, worker = small_plan("dense"), Worker(lambda: None)
    with pytest.raises(AttributeError):
        replayed(plan, worker)  # what is no step is not taken for a failure elsewhere
    lost = Worker(partial(next, iter(())))
    assert replayed(plan, lost) == replayed(plan, None)
    assert len(lost.sent) == 1


def test_who_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("littled.service.training.TRAINING_ELSEWHERE_SECONDS", 0.01)
    plan = small_plan("window-dense")
    slow = Worker(lambda: time.sleep(0.3))
    assert replayed(plan, slow) == replayed(plan, None)
    slow.shutdown(wait=False, cancel_futures=True)


@pytest.mark.parametrize("purpose", sorted({*get_args(Purpose)} - IN_CALLS))
def test_a_worker_does_not_get_what_is_drawn_outside_of_calls(purpose: Any) -> None:
    plan = small_plan("dense")
    learner = f"{plan.stream}/{plan.publishing[0].name}"
    asked: list[Address] = []

    class Asking(Wire):
        """Asks for this purpose at the place of the call."""

        def _run(self, sent: bytes) -> Any:
            _, (_, _, call, _), _ = pickle.loads(sent)  # noqa: S301 - our own
            asked.append(Address(call.place.chain_head, learner, purpose, call.place.position))
            return asked[-1]

    worker = Asking()
    with capture_logs() as told:
        assert replayed(plan, worker) == replayed(plan, None)
    assert {line["error_type"] for line in told} == {"NotGranted"}
    subkeys = [KeyedNoise(KEY).subkey(address) for address in asked]
    assert not any(subkey in sent for subkey in subkeys for sent in worker.sent)
    worker.shutdown()


def test_a_worker_does_not_get_what_is_drawn_in_other_calls_or_by_other_learners() -> None:
    plan = small_plan("dense")
    learner = f"{plan.stream}/{plan.publishing[0].name}"
    for asked in (
        Address(bytes(32), "another/learner", "select", 0),
        Address(bytes(32), learner, "select", 5),
        Address(b"\xff" * 32, learner, "select", 1),
    ):
        worker = Worker(partial(copy, asked))
        with capture_logs() as told:
            assert replayed(plan, worker) == replayed(plan, None)
        assert {line["error_type"] for line in told} == {"NotGranted"}


def test_a_worker_that_asks_for_ever_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("littled.service.training.GRANTS_MAX", 5)
    plan = small_plan("window-dense")

    class Greedy(Wire):
        """Asks for one draw after the other."""

        draws = 0

        def _run(self, sent: bytes) -> Any:
            _, (_, _, call, _), _ = pickle.loads(sent)  # noqa: S301 - our own
            self.draws += 100
            learner = f"{plan.stream}/{plan.publishing[0].name}"
            place = call.place
            return Address(place.chain_head, learner, "select", place.position, self.draws)

    greedy = Greedy()
    with capture_logs() as told:
        assert replayed(plan, greedy) == replayed(plan, None)
    assert {line["error_type"] for line in told} == {"TimeoutError"}
    assert len(greedy.sent) == 5 * len(told)
    greedy.shutdown()
