"""Streams whose learners answer requests: small plans, stores, examples and questions."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from littled.budget.price import Price
from littled.budget.prices import price
from littled.classes.names import class_from_name
from littled.engine import Engine
from littled.engine.predictions import AnsweringService
from littled.learners.online.parameters import OnlineParameters
from littled.learners.prediction import PredictionParameters
from littled.mechanisms.noise import KeyedNoise
from littled.planner import OnlinePlan, StreamPlan
from littled.planner.prediction.plan import PredictionPlan
from littled.store.records import NewRecord, Record
from littled.store.store import Store
from littled_protocol.messages import Predict, Prediction, PredictionRefused
from littled_protocol.rules import Words

STREAM = "s"
EPSILON = Fraction(30)
HORIZON = 350
CLASS = class_from_name("thresholds:64")
TARGET = 20

ONLINE = OnlineParameters(
    epsilon=EPSILON,
    horizon=HORIZON,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1, 2),
    trigger_threshold=25,
    selection="dense",
    selection_rate=Fraction(1, 2),
    selection_accounting="pure",
    draws=1,
    calls_max=8,
    buffer="examples",
)
# 3 windows of 100 in a season of 350, 20 answers each, and 5 windows of 64 with 7 answers each.
DENSE = PredictionParameters("dense", EPSILON, 100, 20, rate=Fraction(1, 10))
VOTES = PredictionParameters("realizable", EPSILON, 64, 7, chunks=8, vote_rate=Fraction(1, 4))


def prediction_plan(name: str, parameters: PredictionParameters) -> PredictionPlan:
    """A learner over the thresholds below 64."""
    return PredictionPlan(name, CLASS, parameters, Words())


def stream_plan(
    predictions: Sequence[PredictionPlan] | None = None, horizon: int = HORIZON
) -> StreamPlan:
    """One online learner, "late", and some that answer: "near" and "votes" by default."""
    if predictions is None:
        predictions = prediction_plan("near", DENSE), prediction_plan("votes", VOTES)
    online = OnlinePlan("late", CLASS, replace(ONLINE, horizon=horizon), Words())
    learner = online.learner(STREAM)
    events = [*learner.season_events(), *[learner.call_event()] * ONLINE.calls_max]
    for plan in predictions:
        events += plan.learner(STREAM).window_events()
    caps = sum(map(price, events), Price.zero())
    return StreamPlan(
        STREAM, EPSILON, Fraction(1, 10), Fraction(1, 100), horizon, caps, (online, *predictions)
    )


def make_store(path: Path, plan: StreamPlan | None = None, **options: Any) -> Path:
    """A new store with one stream, by default that of `stream_plan`."""
    Store.create(path, {}, {STREAM: (plan or stream_plan()).to_dict()}, **options)
    return path


def examples(count: int, seed: int = 0) -> tuple[bytes, bytes]:
    """Columns of points below 64, label 1 from `TARGET` on."""
    x = np.random.default_rng(seed).integers(0, 64, count).astype(np.uint8)
    return x.tobytes(), (x >= TARGET).astype(np.uint8).tobytes()


def question(number: int, x: bytes = bytes([5, 19, 40]), name: str = "near") -> Predict:
    """A request with this number as its name."""
    return Predict(number.to_bytes(16, "big"), f"{STREAM}/{name}", len(x), x)


@dataclass
class Bench:
    """An open store with its engine and its desk, in one thread."""

    store: Store
    position: int = 0
    records: list[Record] = field(default_factory=list)
    waited: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Replay what is stored, as a daemon does at its start."""
        self.plan = StreamPlan.from_dict(self.store.plans[STREAM])
        self.noise = KeyedNoise(self.store.noise_key)
        self.executor = ThreadPoolExecutor(1)
        self.engine = Engine(self.plan, self.noise, self.store, self.executor)
        self.engine.start()
        self.position = self.store.position(STREAM)
        for record in self.store.records(STREAM):
            self.engine.apply(record)
        self.desk = self.open_desk()

    def open_desk(self, shelf: Any = None) -> AnsweringService:
        """A new desk, on the store unless another shelf is given."""
        self.waited = []
        return AnsweringService(
            self.plan, self.noise, shelf or self.store, self.catch_up, self.position
        )

    def feed(self, count: int, seed: int | None = None, *, learn: bool = True) -> None:
        """Append a record of examples; the engine learns it at once, or when it has to."""
        x, y = examples(count, self.position if seed is None else seed)
        sequence = self.store.producer_next(STREAM, "p")
        self.records += self.store.append([NewRecord(STREAM, "p", sequence, count, x, y)])
        self.position += count
        if learn:
            self.catch_up(-1)

    def catch_up(self, season: int) -> None:
        """Let the engine learn until it has opened a season; -1: all that it has not learned."""
        self.waited.append(season)
        while self.records and not 0 <= season <= self.engine.status()["season"]:
            self.engine.apply(self.records.pop(0))

    def ask(
        self, number: int, x: bytes = bytes([5, 19, 40]), name: str = "near"
    ) -> Prediction | PredictionRefused:
        """Ask and get an answer."""
        return self.desk.answer(question(number, x, name), self.position)

    def answered(
        self, number: int, x: bytes = bytes([5, 19, 40]), name: str = "near"
    ) -> Prediction:
        """Ask and get labels."""
        found = self.ask(number, x, name)
        assert isinstance(found, Prediction), found
        return found

    def refused(
        self, number: int, x: bytes = bytes([5, 19, 40]), name: str = "near"
    ) -> PredictionRefused:
        """Ask and be refused."""
        found = self.ask(number, x, name)
        assert isinstance(found, PredictionRefused), found
        return found

    def close(self) -> None:
        """Close the store."""
        self.executor.shutdown()
        self.store.close()
