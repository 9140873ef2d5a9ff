"""A stream that is run in this process: no daemon, no store, nothing that outlives it.

    runner = Runner(plan, key)
    runner.learn(x, y)
    runner.published("late")[-1].rule

What it publishes is what a daemon with the same noise key publishes of the same records. It is for
trying and for research: a budget that is only in memory is not a hard one, as whoever runs the same
examples once more has spent it twice.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.engine.journal import Engine, Transcript
from littled.learners.users import Users
from littled.mechanisms.noise import KeyedNoise
from littled.planner import StreamPlan
from littled.store.records import HEAD_BYTES, Record, record_head
from littled_protocol.codec import decode
from littled_protocol.columns import Labels, Points, encode_labels, encode_users, point_type
from littled_protocol.errors import ErrorCode, ProtocolError
from littled_protocol.facts import EngineFacts
from littled_protocol.figures import Figure, figures_of
from littled_protocol.messages import Release
from littled_protocol.rules import Rule, rule_from_dict

PRODUCER = "in-process"
EXAMPLES_AT_ONCE = 1 << 16  # no record is longer

Part = tuple[int, bytes, bytes, bytes]


@dataclass(frozen=True, slots=True)
class PublishedRule:
    """A rule, and the number of examples after which it was published.

    kind: "season" for the rule that a season begins with, "rule" for one that was learned, "halt"
    for the last one of a season whose budget is spent.
    """

    kind: str
    version: int
    season: int
    position: int
    rule: Rule


class AtOnce(Executor):
    """Runs what it is given at once, where there is nothing else to do meanwhile."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The result, already there."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Runner:
    """The learners of one stream that publish rules, with all that they publish and are charged.

    key: 32 bytes, from which all noise follows; the same examples in the same batches, with the
    same key, lead to the same rules.
    """

    def __init__(self, plan: StreamPlan, key: bytes) -> None:
        """Open the first season."""
        self.plan = plan
        self.transcript = Transcript()
        self._points = point_type(plan.x_type)
        self._engine = Engine(plan, KeyedNoise(key), self.transcript, AtOnce())
        self._engine.start()
        self._head, self._number = bytes(HEAD_BYTES), 0
        self._published: dict[str, list[PublishedRule]] = {p.name: [] for p in plan.publishing}
        self._read = 0
        self._read_releases()

    @property
    def position(self) -> int:
        """Examples that were learned so far."""
        return self._engine.position

    def learn(self, x: Points, y: Labels, users: Users | None = None) -> None:
        """Learn n examples: points of the plan's type, labels (n,), users (n, 2) where it has them.

        Raises ProtocolError for columns that do not fit, and then learns none of them.
        """
        for part in list(self._parts(x, y, users)):  # all of them fit before one is learned
            self._learn(*part)
        self._read_releases()

    def published(self, learner: str) -> tuple[PublishedRule, ...]:
        """Everything that a learner has published so far, the first rule first."""
        return tuple(self._published[learner])

    def figures(self, learner: str) -> tuple[Figure, ...]:
        """How good a learner's rules were, as far as that was released; none if unmeasured."""
        name = figures_of(f"{self.plan.stream}/{learner}")
        found = (one for one in self.transcript.figures if one.learner == name)
        return tuple(Figure.from_bytes(one.body) for one in found)

    def status(self) -> EngineFacts:
        """Public facts, as a daemon's status has them for the stream."""
        return self._engine.status()

    def _parts(self, x: Points, y: Labels, users: Users | None) -> Iterator[Part]:
        """The columns of records: how many examples, points, labels, users."""
        if (users is None) == self.plan.unit.is_user:
            wanted = "needs users" if self.plan.unit.is_user else "protects single examples"
            raise ProtocolError(ErrorCode.INVALID_EXAMPLES, f"{self.plan.stream} {wanted}")
        if len({len(y), len(x), len(y if users is None else users)}) > 1:
            raise ProtocolError(ErrorCode.INVALID_EXAMPLES, "columns need the same length")
        for start in range(0, len(y), EXAMPLES_AT_ONCE):
            part = slice(start, start + EXAMPLES_AT_ONCE)
            digests = b"" if users is None else encode_users(users[part])
            yield len(y[part]), self._points.encode(x[part]), encode_labels(y[part]), digests

    def _learn(self, count: int, x: bytes, y: bytes, users: bytes) -> None:
        number, position = self._number, self.position
        facts = (number, position, count, position, PRODUCER)
        self._head = record_head(self._head, *facts, x, y, users)
        record = Record(
            stream=self.plan.stream,
            number=number,
            first_position=position,
            producer=PRODUCER,
            sequence=position,
            count=count,
            x=x,
            y=y,
            chain_head=self._head,
            users=users,
        )
        self._number += 1
        self._engine.apply(record)

    def _read_releases(self) -> None:
        """Decode what was published since the last time."""
        for release in self.transcript.releases[self._read :]:
            message = decode(release.body)
            assert isinstance(message, Release)
            assert message.rule is not None
            self._published[message.learner.partition("/")[2]].append(
                PublishedRule(
                    message.kind,
                    message.version,
                    message.season,
                    message.position,
                    rule_from_dict(message.rule),
                )
            )
        self._read = len(self.transcript.releases)


@dataclass(slots=True)
class Progress:
    """How often the rules of one learner were wrong about examples that they had not learned yet.

    wrong: bool, one array for each batch, in order.
    """

    wrong: list[NDArray[np.bool_]]

    @property
    def mistakes(self) -> int:
        """Mistakes of the rule that was published at the time, over all examples."""
        return sum(int(np.count_nonzero(part)) for part in self.wrong)


def progressive(
    runner: Runner, batches: Iterable[tuple[Points, Labels] | tuple[Points, Labels, Users]]
) -> dict[str, Progress]:
    """Learn all batches, and say of each learner where its rules were wrong.

    Each example is judged by the rule that was published when it came. The result is not private.
    """
    found = {one.name: Progress([]) for one in runner.plan.publishing}
    views = {one.name: runner.plan.view(one) for one in runner.plan.publishing}
    for batch in batches:
        start = runner.position
        x, y = batch[0], batch[1]
        runner.learn(*batch)
        for name, progress in found.items():
            view = views[name]
            seen = x if view is None else view(x)
            progress.wrong.append(_wrong(runner.published(name), start, seen, y))
    return found


def _wrong(
    published: tuple[PublishedRule, ...], start: int, x: Points, y: Labels
) -> NDArray[np.bool_]:
    """Where the rule of the moment was wrong about examples from position `start` on."""
    labels, end = np.zeros(len(y), dtype=np.uint8), len(y)
    for release in reversed(published):
        first = max(release.position - start, 0)
        if first < end:
            labels[first:end] = release.rule.evaluate(x[first:end])
            end = first
        if not end:
            break
    wrong: NDArray[np.bool_] = labels != y
    return wrong
