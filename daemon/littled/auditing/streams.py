"""Neighbouring streams that are hard to tell apart: worst cases of triggers and of selections.

Two streams differ in one example, the first one or one right before the trigger would fire; or,
where users are protected, in as many examples of one user as are admitted. What is around them
decides how much they show:

- The trigger of Lemma A (PRIVACY.md) shows most of its rate where the count of mistakes stays near
  the threshold, so that it fires late only if the threshold's noise is large: mistakes up to about
  the threshold, and then right examples for a while; or mistakes all along. And where it fires at
  the very example, which made a mistake or did not.
- A selection shows most where one example more makes an unlikely rule likelier and all others less
  so: nearly even votes between two rules, or votes next to the score of bottom.
- Both together where the same example is a mistake and a vote.
- Labels that nothing fits keep every epoch short, so that many of them follow each other.
- The draws of a warm-up have the trigger's part of epsilon too. So they are tried by themselves,
  and the trigger behind a warm-up that leaves the first rule in force.

All of it is for one learner, by its public parameters. The points are the first ones of its class
that differ for it; nothing here is tuned to a class.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.budget.unit import Unit
from littled.classes.base import Labels, Points
from littled.classes.hypothesis import HypothesisClass
from littled.learners.online import OnlineLearner
from littled.learners.online.parameters import OnlineParameters
from littled_protocol.columns import point_type

# Runs repeat a stream very often.
EXAMPLES_MAX = 1 << 14
# Points to choose from, and those whose labels by a published rule are looked at.
POINTS, LOOKED_AT = 64, 3
# Noise is seldom beyond so many times its scale.
SPREAD = 3
# Where a trigger with a small threshold may fire many times.
RESTLESS_EPOCHS, RESTLESS_EXAMPLES_MAX = 6, 64
# Right examples, in scales of noise, for which a trigger is kept near its threshold.
PLATEAU_SCALES = 8

# Number of a point, and whether its label is the other one than the first rule's.
Example = tuple[int, bool]


class NoStreams(ValueError):
    """No streams can be made for a learner; one sentence with the reason."""


@dataclass(frozen=True, slots=True)
class StreamPair:
    """Two streams (n,) that differ in the examples of one user, or in one example.

    Points `x` and labels `y` of both, the side first. `users`: the user of each example, the same
    on both sides; all differing examples are of user 0, and every other one is of its own.
    """

    name: str
    x: tuple[Points, Points]
    y: tuple[Labels, Labels]
    users: tuple[int, ...]


@dataclass(frozen=True)
class Scene:
    """Some points of a class, with the labels that its first rule gives them.

    The first point is one to which the first rule says 0, where there is any: most classes learn
    more from examples with label 1. `copies`: in so many examples at the most two streams differ.
    `start`: what all streams begin with.
    """

    points: Points
    labels: Labels
    copies: int = 1
    start: tuple[Example, ...] = ()

    @classmethod
    def of(cls, hypotheses: HypothesisClass, copies: int = 1) -> "Scene":
        """The scene of a class; NoStreams if it has a single point only."""
        points = np.concatenate(list(_candidates(hypotheses)))
        labels = hypotheses.first_rule().evaluate(points).astype(np.uint8)
        order = np.argsort(labels, kind="stable")
        if len(order) < 2:
            raise NoStreams(f"{hypotheses.name} has no two points to tell apart")
        return cls(points[order], labels[order], copies)

    def pair(
        self,
        name: str,
        here: Example,
        there: Example,
        rest: Sequence[Example],
        before: Sequence[Example] = (),
    ) -> StreamPair:
        """The two streams with `here` or `there`, after start and what is before, before the rest.

        Where streams may differ in more examples, these take the place of those next to them.
        """
        if before:
            more = min(self.copies, len(before) + 1)
            before = before[: len(before) + 1 - more]
        else:
            more = min(self.copies, len(rest) + 1)
            rest = rest[more - 1 :]
        before = [*self.start, *before]
        x, y = zip(
            *(self._columns([*before, *[example] * more, *rest]) for example in (here, there)),
            strict=True,
        )
        first, length = len(before), len(before) + more + len(rest)
        users = [0 if first <= i < first + more else 1 + i for i in range(length)]
        return StreamPair(name, x, y, tuple(users))

    def _columns(self, examples: Sequence[Example]) -> tuple[Points, Labels]:
        numbers: NDArray[np.int64] = np.array([point for point, _ in examples], dtype=np.int64)
        wrong = np.array([is_wrong for _, is_wrong in examples], dtype=np.uint8)
        numbers %= len(self.points)
        return self.points[numbers], self.labels[numbers] ^ wrong


def stream_pairs(learner: OnlineLearner) -> tuple[Points, list[StreamPair]]:
    """Points to look at in published rules, and the pairs of streams to audit a learner with.

    NoStreams where runs would take too long, or the class has too few points.
    """
    p = learner.parameters
    scene = Scene.of(learner.hypotheses, Unit(p.user_examples_max).examples)
    too_late = max(p.first_threshold, p.schedule_first or 0) > EXAMPLES_MAX
    if too_late or max(p.warmup_ends, default=0) > EXAMPLES_MAX:
        late = "publishes its first rule" if too_late else "ends its warm-up"
        raise NoStreams(
            f"learner {learner.name.partition('/')[2]} {late} after more than "
            f"{EXAMPLES_MAX:,} examples, too many for runs to be repeated; audit it with a smaller "
            "horizon or a larger epsilon"
        )
    if p.warmup_ends:
        pairs = _warmed_up(scene, p)
    else:
        pairs = _triggered(scene, p) if p.schedule_first is None else _scheduled(scene, p)
    found = {_identity(pair): pair for pair in pairs if len(pair.y[0]) <= p.horizon}
    return scene.points[:LOOKED_AT], list(found.values())


def selection_pairs(
    hypotheses: HypothesisClass, length: int, rate: Fraction, bottom: int, copies: int
) -> tuple[Points, list[StreamPair]]:
    """The same for a single selection from `length` examples, which may differ in `copies`.

    NoStreams where the class has too few points.
    """
    scene = Scene.of(hypotheses, copies)
    found = {_identity(pair): pair for pair in _of_length(scene, length, rate, bottom)}
    return scene.points[:LOOKED_AT], list(found.values())


def _identity(pair: StreamPair) -> tuple[bytes, ...]:
    return tuple(column.tobytes() for column in (*pair.x, *pair.y))


WRONG_A, RIGHT_A, WRONG_B, RIGHT_B = (0, True), (0, False), (1, True), (1, False)


def _triggered(scene: Scene, p: OnlineParameters) -> Iterator[StreamPair]:
    """Pairs for a learner whose epochs end when its trigger fires."""
    scale = ceil(1 / min(rate for rate in (p.trigger_rate, p.threshold_rate) if rate))
    longest = min(p.horizon - len(scene.start), EXAMPLES_MAX)
    # the trigger does not count what the noise rate explains
    near = ceil(p.first_threshold / max(1 - p.noise_rate, p.noise_rate))
    climb = max(min(near + SPREAD * scale, longest) - 1, 1)
    yield scene.pair("a mistake less", WRONG_A, RIGHT_A, [WRONG_A] * climb)
    yield scene.pair("a mistake elsewhere", WRONG_A, WRONG_B, [WRONG_A] * climb)
    even = [WRONG_A, WRONG_B] * climb
    yield scene.pair("a mistake less, of two kinds", WRONG_A, RIGHT_A, even[:climb])
    yield scene.pair("a mistake elsewhere, of two kinds", WRONG_A, WRONG_B, even[:climb])
    for step in (-1, 0, 1, 2):
        mistakes = min(max(near + step * scale, 1), longest) - 1
        waiting = min(longest - 1 - mistakes, PLATEAU_SCALES * scale)
        early, name = [WRONG_A] * mistakes, f"waiting after {mistakes + 1} mistakes"
        rest = early + [RIGHT_A] * waiting
        yield scene.pair(f"{name}, the first or none", WRONG_A, RIGHT_A, rest)
        rest = [RIGHT_B] * waiting
        yield scene.pair(f"{name}, the last or none", WRONG_A, RIGHT_A, rest, before=early)
    restless = min(longest, RESTLESS_EPOCHS * 2 * near, RESTLESS_EXAMPLES_MAX)
    labels = [(0, bool(number % 2)) for number in range(max(restless - 1, 1))]
    yield scene.pair("labels that nothing fits", WRONG_A, RIGHT_A, labels)
    waiting = PLATEAU_SCALES * scale
    rest = ([WRONG_A] * (near - 1) + [RIGHT_A] * waiting + labels)[: longest - 1]
    yield scene.pair("waiting, then labels that nothing fits", WRONG_A, RIGHT_A, rest)
    for votes in _votes(p.bottom_score):
        others = [(2 + number, True) for number in range(max(climb + 1 - votes, 0))]
        rest = ([WRONG_A] * (votes - 1) + others)[:climb]
        yield scene.pair(f"{votes} votes of {climb + 1}", WRONG_A, (2, True), rest)


def _warmed_up(scene: Scene, p: OnlineParameters) -> Iterator[StreamPair]:
    """Pairs for a learner with a warm-up: its first epoch, and what comes behind it.

    There all examples of the warm-up are as the first rule says, which is drawn nearly always then.
    """
    yield from _of_length(scene, p.warmup_ends[0], p.warmup_rate, 0)
    start = tuple((number, False) for number in range(p.warmup_ends[-1]))
    yield from _triggered(replace(scene, start=start), p)


def _scheduled(scene: Scene, p: OnlineParameters) -> Iterator[StreamPair]:
    """Pairs for a learner whose epochs end at public times: the first epoch."""
    assert p.schedule_first is not None
    yield from _of_length(scene, p.schedule_first, p.selection_rate, p.bottom_score)


def _of_length(scene: Scene, length: int, rate: Fraction, bottom: int) -> Iterator[StreamPair]:
    """Pairs for one selection of this rate from so many examples."""
    scale = max(round(1 / rate), 1)
    for step in (-3, -2, -1, 0, 1, 2, 3):
        wrong = min(max(length // 2 + step * scale, 1), length)
        rest = [WRONG_A] * (wrong - 1) + [RIGHT_A] * (length - wrong)
        yield scene.pair(f"{wrong} mistakes of {length}", WRONG_A, RIGHT_A, rest)
    yield scene.pair("mistakes only", WRONG_A, RIGHT_A, [WRONG_A] * (length - 1))
    for votes in _votes(bottom):
        mine, theirs = min(votes, length) - 1, min(max(votes - 1, 0), max(length - votes, 0))
        others = [RIGHT_B] * max(length - 1 - mine - theirs, 0)
        rest = ([WRONG_A] * mine + [WRONG_B] * theirs + others)[: length - 1]
        yield scene.pair(f"{votes} votes and {theirs}", WRONG_A, WRONG_B, rest)
        rest = ([WRONG_A] * mine + others + [RIGHT_B] * theirs)[: length - 1]
        yield scene.pair(f"{votes} votes or one less", WRONG_A, RIGHT_B, rest)


def _votes(bottom: int) -> Iterable[int]:
    """Votes for one rule, about as many as bottom has; none where there is no bottom."""
    return range(max(bottom - 1, 1), bottom + 2) if bottom else ()


def _candidates(hypotheses: HypothesisClass) -> Iterator[Points]:
    """Points (1,) of the class, each another one: small numbers, or rows of small features.

    Or those that the class names itself.
    """
    if (named := hypotheses.telling_points) is not None:
        yield from (named[at : at + 1] for at in range(len(named)))
        return
    kind = point_type(hypotheses.point_type)
    rows = kind.name.startswith("u16x")
    for number in range(POINTS):
        if number > kind.greatest:
            return
        values: Any = [number] * kind.columns if rows else number
        if kind.is_string:
            values = bytes([number] * kind.columns)
        point = kind.decode([values], 1)
        if hypotheses.contains(point):
            yield point
