"""The engine: one per stream. Orders events, opens seasons, asks the filter, publishes.

The engine is a deterministic function of (plan, noise key, journal): fed the same records it
charges and publishes the same bytes. A crash therefore changes nothing; what was already charged
or published is handed to the outlet again and recognised there.

Order of every call (PRIVACY.md, section 7): the records are durable before they arrive here;
the charge is durable before a joint training draws noise; the release is durable before anybody
sees it. A call that asks for another one at the same position is followed by it at once, each in
this order; a record is applied when all of them are settled, so no snapshot lies between two.

A call that the season has paid for is charged nothing more: its price was durable when the season
opened. Its entry and its release become durable in one transaction, and those of short calls, which
need no training, wait for each other: up to `SHORT_CALLS_AT_ONCE` of them are one transaction.

Of learners that answer requests the engine knows what one window costs, which it charges when a
season opens; the rest is done by `littled.engine.predictions`, as it depends on more than the
journal. So that it need not know what was asked in between, the engine numbers its ledger
entries as if there were no answers; the store puts them in their places.

A restore (`littled.store.restoration`) is a record like any other: it ends the season, and whatever
was kept from the examples before it is forgotten.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from littled.budget.codec import event_to_dict
from littled.budget.events import PrivacyEvent, RestoredSeason
from littled.budget.filter import BudgetRefused, PrivacyFilter
from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.budget.prices import price
from littled.budget.spending import next_call
from littled.engine.quality import quality_facts
from littled.learners import snapshot
from littled.learners.contract import (
    CallAdmitted,
    CallRefused,
    CallRequested,
    Examples,
    Learner,
    LearnerState,
    Measured,
    Place,
    Published,
    SeasonOpened,
    SeasonPriced,
    Step,
    public_facts,
)
from littled.learners.measured import MeasuredLearner, MeasuredState
from littled.mechanisms.noise import NoiseSource
from littled.planner import StreamPlan
from littled.planner.plans import PublishingPlan
from littled.store.records import Record, StoredRelease
from littled.store.restoration import Restoration, closing_position
from littled_protocol.codec import encode
from littled_protocol.columns import decode_users, point_type
from littled_protocol.facts import (
    CallFacts,
    CallsFacts,
    EngineFacts,
    LearnerFacts,
    MeasuredFacts,
    PriceFacts,
)
from littled_protocol.figures import figures_of, measured_by
from littled_protocol.messages import Release

Built = TypeVar("Built")
SNAPSHOT_FORMAT = 2
# Examples that a learner looks at in one step: so many words of noise take 1 MiB.
EXAMPLES_AT_ONCE = 1 << 17
# Records of one turn: so many of one example take about 20 ms.
RECORDS_AT_ONCE = 1 << 12
# Short calls that become durable together: so many rules take about 50 ms.
SHORT_CALLS_AT_ONCE = 32


# The trainings that somebody has to wait for, one after the other, and None in between.
Trainings = Iterator[Future[Step[Any]] | None]


class OutOfOrder(Exception):
    """A record arrived before its predecessor: whoever feeds the engine has a defect."""


class Outlet(Protocol):
    """Where charges and releases become durable, and releases then visible."""

    def charge(self, entry: LedgerEntry) -> None:
        """Make a charge durable before returning."""

    def publish(self, releases: Sequence[StoredRelease], entries: Sequence[LedgerEntry]) -> None:
        """Make releases and charges durable in one transaction, then show the releases."""


@dataclass(slots=True)
class _Course:
    """What changes while a stream runs: small, replaced field by field, never shared."""

    record_number: int = -1
    position: int = 0
    season: int = -1
    entries: int = 0
    filter: PrivacyFilter | None = None
    restores: int = 0
    states: dict[str, LearnerState] = field(default_factory=dict)


@dataclass(slots=True)
class _Waiting:
    """Entries and releases of short calls, in order, which are not durable yet, nor shown."""

    releases: list[StoredRelease] = field(default_factory=list)
    entries: list[LedgerEntry] = field(default_factory=list)


class Engine:
    """Runs the learners of one stream over its journal.

    `state` is a snapshot of an earlier engine with the same plan and key, or None to begin (or
    replay) at the journal's start. Calls of joint training run on `executor`.

    Raises `littled.learners.snapshot.SnapshotUnusable` for a snapshot of another version.
    """

    def __init__(
        self,
        plan: StreamPlan,
        noise: NoiseSource,
        outlet: Outlet,
        executor: Executor,
        state: bytes | None = None,
    ) -> None:
        """Begin at the start of the journal, or where the snapshot was taken."""
        self._plan = plan
        self._noise = noise
        self._outlet = outlet
        self._executor = executor
        self._short_calls = _Waiting()
        self._points = point_type(plan.x_type)
        self._learners: dict[str, Learner[Any]] = {
            one.name: one.running(plan.stream) for one in plan.publishing
        }
        self._views = {one.name: plan.view(one) for one in plan.publishing}
        self._windows = {
            one.name: one.learner(plan.stream).window_events() for one in plan.answering
        }
        if state is None:
            self._course = _Course(
                states={name: learner.initial() for name, learner in self._learners.items()}
            )
        else:
            self._course = self._restored(state)

    # -- what may be seen --------------------------------------------------------------------

    @property
    def record_number(self) -> int:
        """Number of the last record applied, -1 before the first."""
        return self._course.record_number

    @property
    def position(self) -> int:
        """Examples consumed so far."""
        return self._course.position

    def status(self) -> EngineFacts:
        """Public facts only: positions, versions, rules, prices and spend.

        What is public about learners that answer requests, `littled.engine.predictions` knows.
        """
        course, plan = self._course, self._plan
        spent = course.filter.spent if course.filter is not None else Price.zero()
        facts: EngineFacts = {
            "stream": plan.stream,
            "position": course.position,
            "season": max(course.season, 0),
            "horizon": plan.horizon,
            "epsilon": float(plan.epsilon),
            "delta": float(plan.delta),
            "spent": cast("PriceFacts", spent.to_dict()),
            "caps": cast("PriceFacts", plan.caps.to_dict()),
            "learners": {one.name: self._facts(one, spent) for one in plan.publishing},
        }
        if course.restores:
            facts["restores"] = course.restores
        return facts

    def _facts(self, one: PublishingPlan[Any], spent: Price) -> LearnerFacts:
        """What is public of a learner."""
        return {
            **public_facts(self._course.states[one.name], one.words),
            **self._calls(one.name, spent),
            **one.facts,
            **self._quality(one),
        }

    def _calls(self, name: str, spent: Price) -> CallsFacts:
        """How many calls a learner may still make, and what the next of them costs, if any."""
        learner, plan = self._learners[name], self._plan
        left = learner.calls_left(self._course.states[name])
        cost = price(learner.call_event())
        call = next_call(spent, cost, plan.caps, plan.delta_z) if left else None
        return {"calls_left": left, "next_call": cast("CallFacts | None", call)}

    def _quality(self, one: PublishingPlan[Any]) -> MeasuredFacts:
        """How good the rules of a learner were, where they are measured."""
        state = self._course.states[one.name]
        if one.quality is None or not isinstance(state, MeasuredState):
            return {}
        season = max(self._course.season, 0) * self._plan.horizon
        facts = quality_facts(one.quality, state.last, season, self._course.position)
        return {"quality": facts}

    # -- events ------------------------------------------------------------------------------

    def start(self) -> None:
        """Open the first season: the first rules are published before any data."""
        if self._course.season < 0:
            self._open_season(0)

    def apply(self, record: Record) -> None:
        """Step the learners over one durable record, season by season.

        Blocks while a joint training runs. Records already applied are ignored.

        Raises OutOfOrder, before anything is drawn, for a record that does not follow the last one.
        """
        _finish(self._applying(record))
        self._settle()

    def apply_all(self, records: Sequence[Record]) -> None:
        """Apply these durable records in their order, small ones together: the same, sooner.

        Blocks and raises as `apply` does; records before the one that raises are applied.
        """
        _finish(self.learning(records))

    def learning(self, records: Sequence[Record]) -> Trainings:
        """`apply_all` for who does not want to wait: yields each training that has to be done.

        Every future that it yields must be done before it goes on. Where it yields None a record is
        settled: it may be left there, or let others go first. Elsewhere nothing else may be asked
        of the engine.

        Learners step over many records at once; where one of them has something to say on the way,
        the record in which it first does is applied by itself. So charges and releases come in the
        order, and with the noise, that they have one record after the other.
        """
        self.start()
        start = 0
        while start < len(records):
            stop = self._stop_of_run(records, start)
            quiet = self._apply_quiet(records[start:stop]) if stop > start + 1 else 0
            if start + quiet < stop:
                yield from self._applying(records[start + quiet])
                quiet += 1
                if not self._short_calls.entries:
                    yield None
            start += quiet
        if self._short_calls.entries:
            self._settle()
            yield None

    def _applying(self, record: Record) -> Trainings:
        """Apply one record; yields as `learning` does."""
        course = self._course
        if record.number <= course.record_number:
            return
        if record.number != course.record_number + 1:
            self._settle()
            raise OutOfOrder(
                f"record {record.number} of stream {record.stream} cannot follow record "
                f"{course.record_number}"
            )
        self.start()
        if record.restores:
            self._restore(record)
            return
        whole: Examples | None = None
        offset = 0
        while offset < record.count:
            position = record.first_position + offset
            season = position // self._plan.horizon
            if season > course.season:
                self._open_season(season)
            stop = min(record.count, offset + (season + 1) * self._plan.horizon - position)
            for name, learner in self._learners.items():
                if not _sleeps(course.states[name]):  # nobody reads what it would skip
                    whole = self._examples([record]) if whole is None else whole
                    yield from self._run(name, learner, self._seen(name, whole), offset, stop)
            offset = stop
            course.position = record.first_position + stop
        course.record_number = record.number

    def _stop_of_run(self, records: Sequence[Record], start: int) -> int:
        """Where a run of records ends that follow the last one and are short and of one season.

        It ends before the record in which something happens, where public facts say so.
        """
        number, quiet_until = self._course.record_number, self._quiet_until()
        examples = 0
        for index in range(start, len(records)):
            record = records[index]
            number += 1
            examples += record.count
            if (
                record.number != number
                or record.restores
                or record.first_position + record.count > quiet_until
                or examples > EXAMPLES_AT_ONCE
            ):
                return max(index, start + 1)
        return len(records)

    def _quiet_until(self) -> int:
        """The first position, the season's end at the latest, from which on something may happen.

        As far as it is public.
        """
        course, found = self._course, (self._course.season + 1) * self._plan.horizon
        for name, learner in self._learners.items():
            state = course.states[name]
            known = None if state.halted else learner.quiet_until(state)
            found = found if known is None else min(found, known)
        return found

    def _apply_quiet(self, records: Sequence[Record]) -> int:
        """Apply a run of records up to the first in which a learner asks for a call or publishes.

        Returns how many were applied. Steps are pure: those that were not needed are forgotten.
        """
        course, found = self._course, {}
        awake = [name for name, state in course.states.items() if not _sleeps(state)]
        if awake:
            whole = self._examples(records)
            for name in awake:
                seen = self._seen(name, whole)
                step = self._learners[name].step(course.states[name], seen, self._noise)
                if step.effects:
                    position = whole.place_of(step.consumed - 1).record_position
                    quiet = bisect_left(records, position, key=lambda record: record.first_position)
                    return self._apply_quiet(records[:quiet]) if quiet else 0
                assert step.consumed == len(seen.y), "a step without effects takes all examples in"
                found[name] = step.state
        course.states.update(found)
        course.position = records[-1].first_position + records[-1].count
        course.record_number = records[-1].number
        return len(records)

    def _examples(self, records: Sequence[Record]) -> Examples:
        """The columns of consecutive records, joined."""
        first, count = records[0], sum([record.count for record in records])
        x, y, users = first.x, first.y, first.users
        if len(records) > 1:
            x = b"".join([record.x for record in records])
            y = b"".join([record.y for record in records])
            users = b"".join([record.users for record in records])
        return Examples(
            Place(first.chain_head, first.first_position, first.first_position),
            self._points.decode(x, count),
            np.frombuffer(y, dtype=np.uint8),  # which were looked at before they were stored
            decode_users(users, count) if self._plan.unit.is_user else None,
            tuple([(record.chain_head, record.first_position) for record in records[1:]]),
        )

    def _seen(self, name: str, examples: Examples) -> Examples:
        """The examples as a learner sees them, whose points may be made from rows of a table."""
        view = self._views[name]
        return examples if view is None else replace(examples, x=view(examples.x))

    def _restore(self, record: Record) -> None:
        """Close the season, and go on in a new one above all that was lost."""
        course, plan = self._course, self._plan
        self._settle()
        restoration = Restoration.from_record(record)
        assert course.filter is not None
        cost = restoration.charge(course.season, course.filter.spent, plan.caps, plan.horizon)
        position = closing_position(course.position, course.season, plan.horizon)
        entry = self._charge(None, position, RestoredSeason(**_amounts(cost)))
        course.states = {
            name: _after_restore(
                learner, course.states[name], f"{plan.stream}/{name}", restoration.versions
            )
            for name, learner in self._learners.items()
        }
        course.restores += 1
        self._open_season(record.first_position // plan.horizon, entry)
        course.record_number = record.number

    def _run(
        self, name: str, learner: Learner[Any], whole: Examples, start: int, stop: int
    ) -> Trainings:
        """Feed one learner a part of a record; every call inside it is settled on the way.

        Long parts come in pieces, so that what is made of one stays close to the processor.
        """
        done = start
        while done < stop:
            piece = _slice(whole, done, min(stop, done + EXAMPLES_AT_ONCE))
            step = learner.step(self._course.states[name], piece, self._noise)
            self._course.states[name] = step.state
            done += step.consumed
            if any(not isinstance(effect, CallRequested) for effect in step.effects):
                self._publish(name, step)
            for effect in step.effects:
                if isinstance(effect, CallRequested):
                    yield from self._call(name, learner, effect)

    def _call(self, name: str, learner: Learner[Any], request: CallRequested) -> Trainings:
        """Price first; then reserve, train and publish, or refuse and halt."""
        state = self._course.states[name]
        try:
            entry = self._charge(name, request.place.position, request.event)
        except BudgetRefused:
            step = learner.step(state, CallRefused(request.place), self._noise)
            self._publish(name, step)
            return
        prepaid = entry.price == Price.zero()
        if prepaid and request.short:
            step = learner.step(state, CallAdmitted(request.place), self._noise)
            self._wait(name, step, entry)
            return
        self._settle()
        if not prepaid:
            self._outlet.charge(entry)
        training = self._executor.submit(
            learner.step, state, CallAdmitted(request.place), self._noise
        )
        yield training
        releases = self._releases(name, training.result(), entry)
        self._outlet.publish(releases, (entry,) if prepaid else ())
        self._course.states[name] = training.result().state

    def _publish(self, name: str, step: Step[Any]) -> None:
        """Publish what no call has led to."""
        self._settle()
        self._outlet.publish(self._releases(name, step, None), ())
        self._course.states[name] = step.state

    def _wait(self, name: str, step: Step[Any], entry: LedgerEntry) -> None:
        """Let what a short call has led to wait for others, if there are not enough yet."""
        waiting = self._short_calls
        waiting.entries.append(entry)
        waiting.releases += self._releases(name, step, entry)
        self._course.states[name] = step.state
        if len(waiting.entries) >= SHORT_CALLS_AT_ONCE:
            self._settle()

    def _settle(self) -> None:
        """Make durable in one transaction, and then visible, whatever waits for it."""
        waiting, self._short_calls = self._short_calls, _Waiting()
        if waiting.entries:
            self._outlet.publish(waiting.releases, waiting.entries)

    def _releases(
        self, name: str, step: Step[Any], charge: LedgerEntry | None
    ) -> list[StoredRelease]:
        """What a step has published; `charge` is the entry of the call that has led to it."""
        number = None if charge is None else charge.number
        return [
            self._release(name, effect, number)
            for effect in step.effects
            if isinstance(effect, (Published, Measured))
        ]

    def _open_season(self, season: int, *closing: LedgerEntry) -> None:
        """Season's end is public: a new budget over new examples only; rules are carried over.

        closing: charged to the season before, in the same transaction.
        """
        course = self._course
        self._settle()
        position = season * self._plan.horizon
        course.filter = PrivacyFilter(caps=self._plan.caps, spent=Price.zero())
        course.season = season
        entries, releases, states = list(closing), [], {}
        for name, learner in self._learners.items():
            step = learner.step(course.states[name], SeasonOpened(season, position), self._noise)
            states[name] = step.state
            for effect in step.effects:
                if isinstance(effect, SeasonPriced):
                    entries += [self._charge(name, position, event) for event in effect.events]
                elif isinstance(effect, Published):
                    releases.append(self._release(name, effect, None))
        for name, events in self._windows.items():
            entries += [self._charge(name, position, event) for event in events]
        self._outlet.publish(releases, entries)
        course.states.update(states)
        course.position = max(course.position, position)

    def _charge(self, name: str | None, position: int, event: PrivacyEvent) -> LedgerEntry:
        """Admit an event and number its ledger entry; BudgetRefused changes nothing."""
        course = self._course
        assert course.filter is not None
        cost = price(event)
        course.filter = course.filter.admit(cost)
        entry = LedgerEntry(
            number=course.entries,
            stream=self._plan.stream,
            season=course.season,
            learner=name,
            position=position,
            event=event_to_dict(event),
            price=cost,
        )
        course.entries += 1
        return entry

    def _release(
        self, name: str, published: Published | Measured, charge: int | None
    ) -> StoredRelease:
        learner = f"{self._plan.stream}/{name}"
        if isinstance(published, Measured):  # which a season has paid for when it opened
            figure = published.figure
            return StoredRelease(figures_of(learner), figure.number, figure.to_bytes(), None)
        message = Release(
            learner=learner,
            version=published.version,
            kind=published.kind,
            season=published.season,
            epoch=published.epoch,
            position=published.position,
            rule=published.rule.to_dict(),
        )
        return StoredRelease(learner, published.version, encode(message), charge)

    # -- snapshots ---------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The state after the last record, private; `Engine(..., state=...)` continues from it."""
        course = self._course
        assert not self._short_calls.entries, "a snapshot is taken where nothing waits"
        spent = None if course.filter is None else course.filter.spent.to_dict()
        return snapshot.pack({
            "format": SNAPSHOT_FORMAT,
            "record_number": course.record_number,
            "position": course.position,
            "season": course.season,
            "entries": course.entries,
            "spent": spent,
            "restores": course.restores,
            "learners": {
                name: learner.state_to_dict(learner.settled(course.states[name]))
                for name, learner in self._learners.items()
            },
        })  # fmt: skip

    def _restored(self, state: bytes) -> _Course:
        values = snapshot.unpack(state)
        if values.get("format") != SNAPSHOT_FORMAT or set(values["learners"]) != set(
            self._learners
        ):
            raise snapshot.SnapshotUnusable("the snapshot belongs to another version or plan")
        spent = values["spent"]
        return _Course(
            record_number=values["record_number"],
            position=values["position"],
            season=values["season"],
            entries=values["entries"],
            restores=values.get("restores", 0),
            filter=None
            if spent is None
            else PrivacyFilter(caps=self._plan.caps, spent=Price.from_dict(spent)),
            states={
                name: self._learners[name].state_from_dict(state)
                for name, state in values["learners"].items()
            },
        )


def _sleeps(state: LearnerState) -> bool:
    """Whether examples make no difference: a learner has halted, and nobody measures its rule."""
    return state.halted and not isinstance(state, MeasuredState)


def _after_restore(
    learner: Learner[Any], state: Any, full_name: str, lost: Mapping[str, int]
) -> LearnerState:
    """The state of a learner above all versions and figures that were lost."""
    state = learner.after_restore(state, lost.get(full_name, 0))
    if isinstance(learner, MeasuredLearner):
        state = learner.with_figures(state, lost.get(figures_of(full_name), 0))
    after: LearnerState = state
    return after


def _amounts(cost: Price) -> dict[str, Fraction]:
    return {part.name: getattr(cost, part.name) for part in fields(cost)}


@dataclass(slots=True)
class Transcript:
    """An outlet that only remembers: the public transcript of a stream."""

    releases: list[StoredRelease] = field(default_factory=list)
    entries: list[LedgerEntry] = field(default_factory=list)
    figures: list[StoredRelease] = field(default_factory=list)

    def charge(self, entry: LedgerEntry) -> None:
        """Remember a charge."""
        self.entries.append(entry)

    def publish(self, releases: Sequence[StoredRelease], entries: Sequence[LedgerEntry]) -> None:
        """Remember releases, figures apart from rules, and charges."""
        for release in releases:
            rules = measured_by(release.learner) is None
            (self.releases if rules else self.figures).append(release)
        self.entries.extend(entries)


def replay(
    plan: StreamPlan, noise: NoiseSource, records: Iterable[Record], executor: Executor
) -> Transcript:
    """The transcript that a journal leads to, from its start and without touching any store."""
    transcript = Transcript()
    engine = Engine(plan, noise, transcript, executor)
    engine.start()
    for together in in_turns(records):
        engine.apply_all(together)
    return transcript


def newest_usable(
    states: Iterable[tuple[int, bytes]], build: Callable[[bytes | None], Built]
) -> tuple[Built, int, bool]:
    """The engine of the newest state of which this version has a use, or of none.

    states: newest first, each behind the number of the last record in it. Returns what was built,
    that number, -1 without a state, and whether a newer state was of no use.
    """
    passed_over = False
    for number, state in states:
        try:
            return build(state), number, passed_over
        except snapshot.SnapshotUnusable:
            passed_over = True
    return build(None), -1, passed_over


def in_turns(records: Iterable[Record]) -> Iterator[list[Record]]:
    """The records in their order, as many at a time as are worth one turn of an engine."""
    turn: list[Record] = []
    examples = 0
    for record in records:
        turn.append(record)
        examples += record.count
        if examples >= EXAMPLES_AT_ONCE or len(turn) >= RECORDS_AT_ONCE:
            yield turn
            turn, examples = [], 0
    if turn:
        yield turn


def _finish(trainings: Trainings) -> None:
    """Wait for each training, until there are none."""
    for training in trainings:
        if training is not None:
            wait_for(training)


def wait_for(training: Future[Any]) -> None:
    """Wait until a training is done, has failed or is cancelled, which its result will tell.

    `concurrent.futures.wait` never returns for one that a shutdown cancelled while it was queued.
    """
    with suppress(Exception):
        training.exception()


def _slice(examples: Examples, start: int, stop: int) -> Examples:
    """Some of these examples, as a slice of the same record."""
    if start == 0 and stop >= len(examples.y):
        return examples
    place = replace(examples.place, position=examples.place.position + start)
    users = None if examples.users is None else examples.users[start:stop]
    return Examples(place, examples.x[start:stop], examples.y[start:stop], users)
