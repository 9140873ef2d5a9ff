"""The daemon: all rooms put together, from the first check to the clean stop.

Order of a start: addresses are bound, the store is opened and checked, every engine replays what
its last snapshot does not hold, to the last charge and release at least, and only then does the
daemon listen and say that it is ready. What takes longer to learn waits as what comes in does.
Order of a stop: nobody new is let in and nothing more is read, what was accepted is committed and
acknowledged or answered, sessions end with `shutting_down`, engines save snapshots, the store is
closed. A request whose answer takes longer gets none: asked again, it has the answer that is stored
by then, or gets its first one.

A commit that fails, an engine that fails, a replay that contradicts the store: the daemon ends at
once, without acknowledging anything more, and raises what happened.
"""

from __future__ import annotations

import asyncio
import gc
import math
import os
import signal
import socket
import ssl
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from littled.budget.price import Price
from littled.budget.spending import epsilon_of
from littled.engine import Engine
from littled.engine.predictions import refusal
from littled.limits import (
    ANSWERING_THREADS,
    DESCRIPTORS_MAX,
    ENGINE_THREADS,
    FIGURES_IN_MEMORY_MAX,
    LOOP_THREADS,
    PULSE_SECONDS,
    PULSES_PER_WATCHDOG,
    RELEASES_IN_MEMORY_MAX,
    RELEASES_READ_BYTES,
    REPLAY_EXTENSION_SECONDS,
    START_LEARNING_SECONDS,
    STOP_SECONDS,
    SWEEP_SECONDS,
    SWITCH_SECONDS,
    TAIL_SECONDS,
    UNHEALTHY_SECONDS,
)
from littled.mechanisms.noise import KeyedNoise
from littled.planner import StreamPlan
from littled.service.access import Access, AccessError, Gate
from littled.service.admission import Admission
from littled.service.answering import Answer, Answering
from littled.service.channels import ExampleSchema
from littled.service.courses import Courses
from littled.service.elsewhere import Elsewhere, Nowhere
from littled.service.feeding import Feeding
from littled.service.figures import Figures
from littled.service.host import BuildEngine, Catching, Host, Status, publish_first
from littled.service.http_turns import HttpTurns
from littled.service.intake import Intake
from littled.service.listeners import (
    Listener,
    ListenError,
    bind_tcp,
    bind_unix,
    ensure_descriptors,
)
from littled.service.logs import Log, guard_loop, tell_left_out
from littled.service.memory import keep_freed_memory
from littled.service.notify import Notifier, inherited_sockets
from littled.service.packing import Packer
from littled.service.queues import Held
from littled.service.reception import Newcomer, Reception
from littled.service.rows import StreamRows
from littled.service.samples import Sample
from littled.service.sessions import ServerContext, Session, TransportName
from littled.service.statuses import StatusFrames
from littled.service.stored_plans import refuse_unknown, stored_plan
from littled.service.subscribers import Releases
from littled.service.tls import TlsFiles
from littled.service.training import Trainers
from littled.service.turns import Making
from littled.service.users import UserHash
from littled.service.writer import Writer
from littled.store.place import MarkPlace, StorePath
from littled.store.records import Record, StoredRelease
from littled.store.store import Store
from littled_client.addresses import Address
from littled_protocol import limits
from littled_protocol.columns import Points, point_type
from littled_protocol.errors import ErrorCode, RefusalCode
from littled_protocol.figures import figures_of, measured_by
from littled_protocol.messages import Predict
from littled_protocol.rules import PLAIN, rule_from_dict

# The name that a socket unit gives to a socket for HTTP; every other name means the protocol.
HTTP_SOCKET_NAME = "http"


class Numbers(Protocol):
    """All metrics, as the daemon knows them before it imports what writes them."""

    def text(
        self, accepted: str = "", sees: Callable[[str], bool] = lambda _: True
    ) -> Making[tuple[bytes, str]]:
        """Make those of the streams that are seen, in a format that is accepted; and its type."""


class Pages(Protocol):
    """The HTTP side on one socket, as the daemon knows it before it imports what speaks HTTP."""

    async def start(self, listener: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        """Begin to answer on a bound socket."""

    def check_rights(self) -> None:
        """Look again at who may see what, as the rules have changed."""

    async def stop(self) -> None:
        """Stop answering."""


async def serve(
    store_path: StorePath,
    unix: Path | None = None,
    tcp: Address | str | None = None,
    http: Address | str | None = None,
    *,
    log: Log,
    rules: Callable[[], Access] = Access,
    tls: TlsFiles | None = None,
    http_names: Collection[str] = (),
    page: bool | None = None,
    key_path: Path | None = None,
    mark_path: MarkPlace | None = None,
    archive: Path | None = None,
    environment: MutableMapping[str, str] = os.environ,
    build: BuildEngine = Engine,
    elsewhere: Elsewhere | None = None,
    take_over: bool = False,
    check: Callable[[Store], Collection[str]] = lambda _: (),
    trainings: Executor | None = None,
    learn_first: bool = False,
) -> None:
    """Serve a store until SIGTERM or SIGINT.

    unix, tcp, http: where to listen, beside the sockets that the service manager hands over. rules:
    reads who may do what, at the start and on SIGHUP. tls: makes TCP and HTTP speak TLS.
    http_names: by which HTTP on the loopback interface may be called, beside localhost. page: has
    HTTP the operator's page; None for on this machine alone. key_path, mark_path: where key and
    mark are, if not in the store. build: makes the engines. elsewhere: who serves other streams.
    take_over: put off another process (`Store.open`). check: raises for a store that is not to be
    served, returns its streams that are others'. trainings: see `Trainers`. learn_first: whether
    the whole journal is learned before anybody is let in.

    Raises ListenError and AccessError for addresses and rules that cannot be, StoreRefused when the
    store must not be served, StoreFailed or StoreDamaged when it failed, and what an engine raised.
    """
    guard_loop(log, asyncio.get_running_loop())
    sys.setswitchinterval(SWITCH_SECONDS)
    keep_freed_memory()
    access = rules()
    notifier = Notifier.from_environment(environment, os.getpid())
    context = None if tls is None else tls.context()
    listeners = _listeners(unix, tcp, http, access, context, environment)
    try:
        opened = partial(Store.open, store_path, key_path, mark_path, archive=archive)
        store = await asyncio.to_thread(_checked, opened, notifier, log, take_over=take_over)
        try:
            others = check(store)
            access.check_streams(store.plans, elsewhere)
            daemon = Daemon(
                *(store, listeners, Gate(access), _again(rules, tls, context), notifier, log),
                *(build, http_names, page, trainings, learn_first),
                elsewhere=elsewhere or Nowhere(),
                others=others,
            )
            await daemon.run()
        finally:
            await asyncio.to_thread(store.close)
    finally:
        for listener in listeners.all:
            listener.close()
        notifier.close()
        tell_left_out(log, at_once=True)


def _checked(
    opened: Callable[..., Store], notifier: Notifier, log: Log, *, take_over: bool
) -> Store:
    """Open a store, and ask the service manager for the time that checking it takes."""
    extend = partial(notifier.extend_start, REPLAY_EXTENSION_SECONDS, "checking the store")
    extend()
    return opened(
        progress=extend,
        waiting=lambda reason: log.warning("waiting for the mark", reason=reason),
        take_over=take_over,
        known=refuse_unknown,
    )


def _again(
    rules: Callable[[], Access], tls: TlsFiles | None, context: ssl.SSLContext | None
) -> Callable[[], Access]:
    """What reads the rules again, and the certificate."""

    def read() -> Access:
        if tls is not None and context is not None:
            tls.renew(context)
        return rules()

    return read


def _published_by(plan: StreamPlan) -> list[str]:
    """The full names of a stream's learners that publish rules."""
    return [f"{plan.stream}/{one.name}" for one in plan.publishing]


def _plans_of(store: Store, others: Collection[str]) -> list[StreamPlan]:
    """The plans of a store's streams, but for those that are others'."""
    return [stored_plan(store, name) for name in store.plans if name not in others]


class Listeners:
    """The sockets of the daemon: those for the protocol and those for HTTP."""

    def __init__(self) -> None:
        """Start with none."""
        self.protocol: list[Listener] = []
        self.http: list[Listener] = []

    @property
    def all(self) -> tuple[Listener, ...]:
        """Every socket."""
        return (*self.protocol, *self.http)

    def check(self, access: Access) -> None:
        """Raise AccessError where these rules do not allow one of them to be open."""
        for purpose, listeners in (("TCP", self.protocol), ("HTTP", self.http)):
            for listener in listeners:
                access.check_listener(listener.socket, purpose, tls=listener.tls is not None)


def _listeners(
    unix: Path | None,
    tcp: Address | str | None,
    http: Address | str | None,
    access: Access,
    tls: ssl.SSLContext | None,
    environment: MutableMapping[str, str],
) -> Listeners:
    """Bind what was asked for and take over what was inherited; all or nothing."""
    found = Listeners()
    try:
        for inherited in inherited_sockets(environment, os.getpid()):
            kind = found.http if inherited.name == HTTP_SOCKET_NAME else found.protocol
            plain = inherited.socket.family == socket.AF_UNIX
            kind.append(Listener(inherited.socket, tls=None if plain else tls))
        if unix is not None:
            found.protocol.append(bind_unix(unix))
        if tcp is not None:
            found.protocol.append(bind_tcp(tcp, tls))
        if http is not None:
            found.http.append(bind_tcp(http, tls))
        found.check(access)
        ensure_descriptors(DESCRIPTORS_MAX)
        if not found.protocol:
            raise ListenError("there is nothing to listen on; give a Unix socket or a TCP address")
    except BaseException:
        for listener in found.all:
            listener.close()
        raise
    return found


class Daemon:
    """One store being served; `run` does it once."""

    def __init__(
        self,
        store: Store,
        listeners: Listeners,
        gate: Gate,
        rules: Callable[[], Access],
        notifier: Notifier,
        log: Log,
        build: BuildEngine,
        http_names: Collection[str] = (),
        page: bool | None = None,
        trainings: Executor | None = None,
        learn_first: bool = False,
        *,
        elsewhere: Elsewhere,
        others: Collection[str] = (),
    ) -> None:
        """Put the rooms together; nothing runs yet except the thread that writes."""
        self._learn_first = learn_first
        self._store = store
        self._listeners = listeners
        self._protocol, self._http = listeners.protocol, listeners.http
        self._gate = gate
        self._rules = rules
        self._pages: list[Pages] = []
        self._notifier = notifier
        self._log = log
        self._build = build
        self._http_names = frozenset(name.lower() for name in http_names)
        self._page = page
        self.elsewhere = elsewhere
        self._trainings = trainings
        self._loop = asyncio.get_running_loop()
        self._server = f"littled/{version('littled')}"
        self._over, self._failed = asyncio.Event(), asyncio.Event()
        self._failure: BaseException | None = None
        self._context: ServerContext | None = None
        self._reception: Reception | None = None
        self._pulse_seconds = min(
            PULSE_SECONDS, (notifier.watchdog_seconds or math.inf) / PULSES_PER_WATCHDOG
        )
        self._committed_at = self._notified_at = self._loop.time()
        self._status: dict[str, Status] = {}
        self._facts: dict[str, tuple[object, dict[str, Any]]] = {}
        self._plans = _plans_of(store, others)
        self._plan_of = {plan.stream: plan for plan in self._plans}
        self._closed = store.closed
        self.words = {
            f"{plan.stream}/{name}": words
            for plan in self._plans
            for name, words in plan.words.items()
        }
        publishing = [learner for plan in self._plans for learner in _published_by(plan)]
        self.releases = Releases(publishing, partial(store.releases, bytes_max=RELEASES_READ_BYTES))
        self.figures = Figures.of(self._plans)
        observer = _LoopObserver(self, self._loop)
        self._writer = Writer(observer.failed)
        self._packer = Packer(store, self._writer, self._loop)
        self.intake = Intake(store, self._writer, self._loop, self._committed)
        self._engine_courses = Courses(ENGINE_THREADS, "littled-engines", observer.failed)
        self._answering_courses = Courses(ANSWERING_THREADS, "littled-answers", observer.failed)
        self._spending = {plan.stream: _Spending(plan) for plan in self._plans}
        self._domains = {plan.stream: _domain(plan) for plan in self._plans}
        self.feeding = Feeding(self.intake, self._stream_rows())
        self._hosts = self._make_hosts(observer)
        self._answering = self._make_answering(observer)
        self._workers: list[Answering | Host] = [*self._answering.values(), *self._hosts]
        self._asked = 0
        self._all_answered = asyncio.Event()
        self._all_answered.set()

    def _make_hosts(self, observer: _LoopObserver) -> list[Host]:
        """A host for the engine of each stream."""
        store, courses = self._store, self._engine_courses
        return [
            Host(plan, store, self._writer, observer, self._log, courses, len(self._plans))
            for plan in self._plans
        ]

    def _make_answering(self, observer: _LoopObserver) -> dict[str, Answering]:
        """What answers questions, for each stream with learners that do."""
        store, courses = self._store, self._answering_courses
        return {
            plan.stream: Answering(plan, store, self._writer, host.seasons, observer, courses)
            for plan, host in zip(self._plans, self._hosts, strict=True)
            if plan.answering
        }

    # --- From start to stop -----------------------------------------------------------------------

    async def run(self) -> None:
        """Start, serve until told to stop, and stop; raises what ended the daemon otherwise."""
        # The usual number depends on the machine; what a unit allows does not.
        self._loop.set_default_executor(ThreadPoolExecutor(LOOP_THREADS, "littled-loop"))
        trainers = Trainers(self._trainings, self._log)
        stops = (signal.SIGTERM, signal.SIGINT)
        for number in stops:
            self._loop.add_signal_handler(number, self._stop_on, number)
        self._loop.add_signal_handler(signal.SIGHUP, self._read_rules_again)
        try:
            await self._prepare(trainers)
            if not self._over.is_set():
                async with asyncio.TaskGroup() as tasks:
                    await self._serve(tasks)
        finally:
            for number in (*stops, signal.SIGHUP):
                self._loop.remove_signal_handler(number)
            for worker in self._workers:
                worker.stop()
            for host in self._hosts:
                host.abandon()
            trainers.close()
            await asyncio.to_thread(self._writer.close)
            for courses in (self._engine_courses, self._answering_courses):
                courses.close()
        if self._failure is not None:
            raise self._failure

    async def _prepare(self, trainers: Trainers) -> None:
        """Load what was published, and let every engine catch up with its journal."""
        latest = self._store.latest_releases
        for learner in self.releases.learners:
            rules = await asyncio.to_thread(latest, learner, RELEASES_IN_MEMORY_MAX)
            self.releases.announce(rules)
        for learner in self.figures.learners:
            measured = figures_of(learner)
            self.figures.announce(await asyncio.to_thread(latest, measured, FIGURES_IN_MEMORY_MAX))
        noise = KeyedNoise(self._store.noise_key)
        executors = [await asyncio.to_thread(trainers.executor, plan) for plan in self._plans]
        await asyncio.gather(
            *(
                asyncio.to_thread(host.begin, self._build, noise, executor)
                for host, executor in zip(self._hosts, executors, strict=True)
            )
        )
        await self._writer.ask(partial(publish_first, self._hosts, self._store))
        left = await self._catch_up()
        for host, records in zip(self._hosts, left, strict=True):
            position = await self._writer.ask(partial(self._store.position, host.stream))
            closed = host.stream in self._closed
            self.intake.add_stream(
                host.stream, position, host.put, unlearned=records, closed=closed
            )
            if host.stream in self._answering and not self._over.is_set():
                begin = partial(self._answering[host.stream].begin, closed=closed)
                await asyncio.to_thread(begin, noise, position)

    async def _catch_up(self) -> list[list[Record]]:
        """Let every engine replay what is public of it; return what each of them learns later."""
        behind = sum(host.behind_bytes for host in self._hosts)
        bytes_max = Held(len(self._hosts), unlearned_bytes=behind).unlearned_bytes_max
        # Found before the time begins: the store is asked for each of thousands of streams.
        shown = await asyncio.to_thread(self._shown_positions)
        until = math.inf if self._learn_first else time.monotonic() + START_LEARNING_SECONDS
        # Threads cannot be interrupted: on a stop each ends after the record in hand.
        return await asyncio.gather(
            *(
                asyncio.to_thread(host.replay, Catching(position, bytes_max, until))
                for host, position in zip(self._hosts, shown, strict=True)
            )
        )

    def _shown_positions(self) -> list[int]:
        return [self._shown_position(host.stream) for host in self._hosts]

    def _shown_position(self, stream: str) -> int:
        """The position of the last release, figure, charge or restore of a stream; -1 without."""
        store = self._store
        positions = [store.charged_position(stream), store.restored_position(stream)]
        for learner in _published_by(self._plan_of[stream]):
            release = self.releases.latest(learner)
            positions += [self.figures.end(learner), -1 if release is None else release.position]
        return max(positions)

    async def _serve(self, tasks: asyncio.TaskGroup) -> None:
        """Let peers in until the end begins, then see everybody out."""
        context = self._context = self._make_context(tasks)
        for worker in self._workers:
            worker.start()
        pages = self._pages = [self._pages_for(listener) for listener in self._http]
        reception = self._reception = self._open_reception(context)
        for page, listener in zip(pages, self._http, strict=True):
            await page.start(listener.socket, listener.tls)
        reception.open()
        background = [
            tasks.create_task(self._sweep(context, reception)),
            tasks.create_task(self._pulse()),
            tasks.create_task(self._bring_in()),
        ]
        gc.freeze()
        self._say_ready()
        await self._over.wait()
        self._notifier.stopping()
        reception.close()
        stop_at = self._loop.time() + STOP_SECONDS
        if self._failure is None:
            await self._drain(context)
        await self._see_out(context)
        for page in pages:
            await page.stop()
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            await asyncio.to_thread(worker.join, max(0.0, stop_at - self._loop.time()))
        for task in background:
            task.cancel()

    async def _drain(self, context: ServerContext) -> None:
        """Read nothing more, and wait until what was accepted is acknowledged and answered."""
        self.feeding.close()
        for session in context.sessions:
            session.hold(self)
        drained = asyncio.ensure_future(self._settle())
        failed = asyncio.ensure_future(self._failed.wait())
        await asyncio.wait(
            (drained, failed), timeout=STOP_SECONDS / 2, return_when=asyncio.FIRST_COMPLETED
        )
        drained.cancel()
        failed.cancel()

    async def _settle(self) -> None:
        await self.intake.drain()
        # An engine may have too much to learn for who waits until it opens a season. Whose question
        # gets no answer loses its session: what that has fed is acknowledged before.
        for answering in self._answering.values():
            answering.wait_no_longer()
        await self._all_answered.wait()

    async def _see_out(self, context: ServerContext) -> None:
        """End every session, and wait until the peers have taken note."""
        code = ErrorCode.SHUTTING_DOWN if self._failure is None else ErrorCode.INTERNAL_ERROR
        leaving = list(context.sessions)
        for session in leaving:
            session.fail(code)
        try:
            async with asyncio.timeout(2 * limits.close_seconds):
                for session in leaving:
                    await session.ended.wait()
        except TimeoutError:  # some had ended before, and do not take what waits for them
            for session in leaving:
                session.forget_unsent()

    def _say_ready(self) -> None:
        for listener in self._listeners.all:
            kind = "unix" if listener.is_unix else "http" if listener in self._http else "tcp"
            self._log.info("listening", transport=kind, address=listener.address)
        self._say_if_closed()
        self._log.info("ready", streams=len(self._plans))
        self._notifier.ready(f"serving {len(self._plans)} streams")

    # --- What ends it -----------------------------------------------------------------------------

    def _stop_on(self, number: signal.Signals) -> None:
        self._log.info("stopping", signal=number.name)
        for host in self._hosts:
            host.interrupt_replay()
        self._over.set()

    def _read_rules_again(self) -> None:
        """Read who may do what once more; rules that are wrong leave those in force."""
        try:
            access = self._rules()
            access.check_streams(self._store.plans, self.elsewhere)
            self._listeners.check(access)
        except AccessError as error:
            self._log.error("rules not changed", reason=str(error))
            return
        self._gate.access = access
        self._log.info("rules read again")
        self._say_if_closed()
        for session in list(self._context.sessions if self._context is not None else ()):
            session.check_rights()
        for page in self._pages:
            page.check_rights()

    def _say_if_closed(self) -> None:
        """Say so where a port is open and the rules let nobody in there."""
        if self._gate.access.closes_ports and not all(each.is_unix for each in self._listeners.all):
            self._log.warning(
                "nobody may come in by TCP or HTTP",
                reason="the token file names neither a token nor a certificate",
            )

    def fail(self, error: BaseException) -> None:
        """End the daemon because of `error`; the first error counts."""
        if self._failure is None:
            self._failure = error
            self._log.critical("failed", exc_info=error)
            self._failed.set()
            self._over.set()

    # --- Sockets ----------------------------------------------------------------------------------

    def _make_context(self, tasks: asyncio.TaskGroup) -> ServerContext:
        return ServerContext(
            server=self._server,
            instance=self.instance,
            credit_bytes=limits.credit_bytes,
            intake=self.intake,
            schemas=self._schemas,
            releases=self.releases,
            statuses=StatusFrames(self.status, self.x_types),
            predict=self.predict,
            spawn=tasks.create_task,
            log=self._log,
            admission=Admission(len(self._protocol)),
            elsewhere=self.elsewhere,
        )

    @cached_property
    def _schemas(self) -> dict[str, ExampleSchema]:
        """What examples look like, whichever way they come in."""
        key = self._store.noise_key
        return {plan.stream: _example_schema(plan, key) for plan in self._plans}

    def _stream_rows(self) -> dict[str, StreamRows]:
        """What rows look like that come in over HTTP."""
        return {
            plan.stream: StreamRows(
                plan.x_type,
                self._schemas[plan.stream],
                next(iter(plan.words.values()), PLAIN),
                plan.schema,
                self._domains[plan.stream].get("x_greatest"),
            )
            for plan in self._plans
        }

    def _open_reception(self, context: ServerContext) -> Reception:
        def make(newcomer: Newcomer) -> Session:
            is_unix = self._protocol[newcomer.listener].is_unix
            name: TransportName = "unix" if is_unix else "tcp"
            return Session(context, name, self._gate, newcomer.origin)

        def refused(code: ErrorCode) -> None:
            context.counters.errors[code.value] += 1
            self._log.info("connection refused", code=code.value)

        return Reception(self._protocol, context.admission, make, refused, self._log)

    def _pages_for(self, listener: Listener) -> Pages:
        """Return the HTTP side of a listener, which lets those in whom the protocol lets in.

        Only where nobody but this machine comes in is it known which names it goes by.
        """
        # A sixth of what a start imports; most daemons never need it.
        from littled.service.http import HttpServer  # noqa: PLC0415
        from littled.service.planning import Plans  # noqa: PLC0415

        hosts = listener.host_names | self._http_names if listener.is_local else None
        page = listener.is_local if self._page is None else self._page
        plans = Plans() if listener.is_local else None
        return HttpServer(
            *(self, self._gate, self._server, hosts),
            page=page,
            plans=plans,
            log=self._log,
            turns=self._http_turns,
        )

    @cached_property
    def _http_turns(self) -> HttpTurns:
        """The turns of all HTTP clients, whichever listener they come through."""
        assert self._context is not None, "HTTP was begun before there are turns"
        return HttpTurns(self._context.turns)

    async def _sweep(self, context: ServerContext, reception: Reception) -> None:
        """Look for sessions that have broken a time limit, over and over."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = self._loop.time()
            for session in list(context.sessions):
                try:
                    session.check_time(now)
                except Exception as error:  # noqa: BLE001 - whatever it was, the others go on
                    self._log.error("session failed", exc_info=error)
                    session.forget_unsent()
            reception.check_time(now, limits.first_frame_seconds)
            tell_left_out(self._log)

    # --- Commits and the watchdog -----------------------------------------------------------------

    def _committed(self) -> None:
        """Feed the watchdog: called on the loop, after a commit that the writer has finished."""
        now = self._committed_at = self._loop.time()
        if now - self._notified_at >= self._pulse_seconds / 2:
            self._notified_at = now
            self._notifier.watchdog()
        self._packer.committed()

    async def _bring_in(self) -> None:
        """Let other processes find what was acknowledged, over and over."""
        while True:
            await asyncio.sleep(TAIL_SECONDS)
            self._writer.submit(self._store.bring_in)

    async def _pulse(self) -> None:
        """Make an empty commit when there was none for a while."""
        while True:
            await asyncio.sleep(self._pulse_seconds)
            if self._loop.time() - self._committed_at >= self._pulse_seconds:
                # A failure reaches `fail` by the writer itself.
                with suppress(Exception):
                    await self._writer.ask(partial(self._store.append, ()))
                    self._committed()

    # --- Predictions ------------------------------------------------------------------------------

    async def predict(self, asked: Predict) -> Answer:
        """Answer a request for predictions; what is returned is durable.

        Which window answers follows from what was acknowledged so far. Raises WriterStopped when
        the daemon ends before there is an answer.
        """
        stream = asked.learner.partition("/")[0]
        answering = self._answering.get(stream)
        if answering is None:
            known = asked.learner in self.releases
            return refusal(
                asked, RefusalCode.NO_PREDICTIONS if known else RefusalCode.UNKNOWN_LEARNER
            )
        self._asked += 1
        self._all_answered.clear()
        try:
            return await asyncio.wrap_future(answering.ask(asked, self.intake.position(stream)))
        finally:
            self._asked -= 1
            if not self._asked:
                self._all_answered.set()

    # --- Public facts -----------------------------------------------------------------------------

    def healthy(self) -> bool:
        """Return whether commits go through."""
        return self._loop.time() - self._committed_at < UNHEALTHY_SECONDS

    @cached_property
    def _heard(self) -> Counter[str]:
        """How often something was heard of each stream from its engine."""
        return Counter()

    @cached_property
    def x_types(self) -> dict[str, str]:
        """The type of the points of every stream."""
        return {plan.stream: plan.x_type for plan in self._plans}

    def status(self, streams: Sequence[str]) -> dict[str, Any]:
        """Return the body of a status message: public facts, as of each stream's last release.

        streams: the names of those that it tells of.
        """
        return {
            "server": self._server,
            "instance": self.instance,
            "streams": {stream: self._stream_facts(self._plan_of[stream]) for stream in streams},
        }

    def _stream_facts(self, plan: StreamPlan) -> dict[str, Any]:
        """Public facts about a stream; made anew when something has changed."""
        stream, state = plan.stream, self._state(plan.stream)
        known = self._facts.get(stream)
        if known is not None and known[0] == state:
            return known[1]
        status = self._status[stream]
        facts = {
            **status,
            "x_type": plan.x_type,
            **({} if plan.schema is None else {"schema": plan.schema.to_dict()}),
            **_protected(plan),
            **self._spending[stream].facts(status),
            **self._domains[stream],
            "position": self.intake.position(stream),
            **({"closed": True} if stream in self._closed else {}),
            "learners": self._learners(stream),
        }
        self._facts[stream] = state, facts
        return facts

    def _state(self, stream: str) -> object:
        """What is the same as long as the public facts about a stream are.

        To be taken before them: answers are counted on other threads.
        """
        answering = self._answering.get(stream)
        given = () if answering is None else answering.given()
        return self._heard[stream], self.intake.position(stream), given

    @cached_property
    def instance(self) -> str:
        """What the store is called, which no other is."""
        return self._store.instance

    def positions(self) -> dict[str, int]:
        """Return of every stream how many of its examples are durable."""
        return {plan.stream: self.intake.position(plan.stream) for plan in self._plans}

    def _learners(self, stream: str) -> dict[str, Any]:
        """Facts about the stream's learners of both kinds."""
        learners: dict[str, Any] = {
            name: self._with_newest_release(stream, name, facts)
            for name, facts in self._status[stream]["learners"].items()
        }
        answering = self._answering.get(stream)
        if answering is None:
            return learners
        return learners | answering.status(self.intake.position(stream))

    def _with_newest_release(self, stream: str, name: str, facts: Status) -> Status:
        """Facts about a learner, which are never behind what its subscribers have seen.

        An engine tells its facts after each record, which may have many releases with a long
        training before each.
        """
        newest = self.releases.latest(f"{stream}/{name}")
        if newest is None or newest.version <= facts["version"]:
            return facts
        said = {**facts, "version": newest.version, "epoch": newest.epoch}
        if newest.rule is not None:
            rule = rule_from_dict(newest.rule)
            said["rule"] = rule.describe(self._plan_of[stream].words[name])
        said["halted"] = newest.kind == "halt"
        return said | {"calls_left": 0, "next_call": None} if said["halted"] else said

    def metrics(self, accepted: str, sees: Callable[[str], bool]) -> Making[tuple[bytes, str]]:
        """Make metrics in a format that is accepted, and the type of the content."""
        return self._metrics.text(accepted, sees)

    @cached_property
    def _metrics(self) -> Numbers:
        from littled.service.metrics import Metrics  # noqa: PLC0415 - only HTTP needs it

        return Metrics(self._samples, self._plan_of, self._state, self._stream_samples)

    def _samples(self) -> Iterator[Sample]:
        assert self._context is not None, "metrics were asked for before the daemon was ready"
        assert self._reception is not None, "metrics were asked for before the daemon was ready"
        counters = self._context.counters
        yield Sample("littled_healthy", (), self.healthy())
        yield Sample("littled_connections", (), len(self._context.sessions) + len(self._reception))
        yield Sample("littled_connections_accepted", (), self._reception.accepted)
        yield Sample("littled_received_bytes", (), counters.received_bytes)
        for code in ErrorCode:
            yield Sample("littled_session_errors", (code.value,), counters.errors[code.value])

    def _stream_samples(self, stream: str) -> Iterator[Sample]:
        """What `_state` is the state of, as numbers."""
        position, facts = self.intake.position(stream), self._status[stream]
        yield Sample("littled_stream_position", (stream,), position)
        yield from _budget_samples(stream, facts, self._spending[stream].facts(facts))
        for name, learner_facts in facts["learners"].items():
            full = f"{stream}/{name}"
            yield Sample("littled_learner_calls_left", (full,), learner_facts["calls_left"])
        for plan in self._plan_of[stream].publishing:
            learner = f"{stream}/{plan.name}"
            last = self.releases.latest(learner)
            if last is not None:
                yield Sample("littled_learner_version", (learner,), last.version)
                yield Sample("littled_learner_epoch", (learner,), last.epoch)
                yield Sample("littled_learner_season", (learner,), last.season)
                yield Sample("littled_learner_halted", (learner,), last.kind == "halt")
            yield from _quality_samples(learner, self.figures.latest(learner))
        answering = self._answering.get(stream)
        if answering is not None:
            for name, window_facts in answering.status(position).items():
                yield from _window_samples(f"{stream}/{name}", window_facts)

    # --- What engines show, called on the loop ----------------------------------------------------

    def announce(self, releases: Sequence[StoredRelease]) -> None:
        """Show durable releases to subscribers; of rules, and of how good they were."""
        rules = [each for each in releases if measured_by(each.learner) is None]
        for release in self.releases.announce(rules):
            self._heard[release.learner.partition("/")[0]] += 1
            self._log.info(
                "released", learner=release.learner, version=release.version, kind=release.kind
            )
        measured = (each for each in releases if measured_by(each.learner) is not None)
        for learner, figure in self.figures.announce(measured):
            self._heard[learner.partition("/")[0]] += 1
            self._log.info("measured", learner=learner, position=figure.end)

    def set_status(self, stream: str, status: Status) -> None:
        """Replace what is said about a stream."""
        self._status[stream] = status
        self._heard[stream] += 1

    def extend_start(self, stream: str) -> None:
        """Ask the service manager for time to replay."""
        self._notifier.extend_start(REPLAY_EXTENSION_SECONDS, f"replaying {stream}")


class _LoopObserver:
    """Carries what an engine's thread has to say over to the loop."""

    def __init__(self, daemon: Daemon, loop: asyncio.AbstractEventLoop) -> None:
        self._daemon = daemon
        self._loop = loop

    def releases(self, releases: Sequence[StoredRelease]) -> None:
        self._post(self._daemon.announce, releases)

    def status(self, stream: str, status: Status) -> None:
        self._post(self._daemon.set_status, stream, status)

    def learned(self, stream: str, records: Sequence[Record]) -> None:
        self._daemon.intake.learned(stream, records)

    def progress(self, stream: str) -> None:
        self._post(self._daemon.extend_start, stream)

    def failed(self, error: BaseException) -> None:
        self._post(self._daemon.fail, error)

    def _post(self, call: Callable[..., None], *arguments: object) -> None:
        # A loop that is closed belongs to a daemon that gave up waiting for this thread.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)


def _protected(plan: StreamPlan) -> dict[str, Any]:
    """What the stream protects: single examples, or users with all their examples of a season."""
    return plan.unit.to_dict() if plan.unit.is_user else {"unit": plan.unit.word}


def _domain(plan: StreamPlan) -> dict[str, int]:
    """The greatest number that points, or their features, may have, where their type has greater.

    With a point a domain has all that are not greater, so it is found by halving. Nothing is said
    of points of 128 bits, whose numbers a message has no integers for, nor of tables.
    """
    points = point_type(plan.x_type)
    classes = [learner_plan.hypotheses for learner_plan in plan.plans]
    if plan.schema is not None or points.name == "u128":
        return {}

    def contains(number: int) -> bool:
        shape = (1, points.columns) if points.columns > 1 else (1,)
        point = np.full(shape, number, dtype=points.dtype)
        return all(hypotheses.contains(point) for hypotheses in classes)

    if contains(points.greatest):
        return {}
    least, most = 0, points.greatest
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if contains(middle) else (least, middle)
    return {"x_greatest": least}


class _Spending:
    """The budget of a stream as numbers: worked out once, and then when something was charged."""

    def __init__(self, plan: StreamPlan) -> None:
        self._delta_z = plan.delta_z
        self._spent: Mapping[str, str] = {}
        self._facts = {
            "epsilon": float(plan.epsilon),
            "epsilon_spent": 0.0,
            "epsilon_prepaid": epsilon_of(plan.prepaid, plan.delta_z),
        }

    def facts(self, status: Status) -> dict[str, float]:
        """What there is, what was spent of it, and what a season pays before any example."""
        if status["spent"] != self._spent:
            self._spent = status["spent"]
            spent = Price.from_dict(self._spent)
            self._facts = self._facts | {"epsilon_spent": epsilon_of(spent, self._delta_z)}
        return self._facts


def _example_schema(plan: StreamPlan, key: bytes) -> ExampleSchema:
    points = point_type(plan.x_type)
    users = UserHash(key, plan.stream) if plan.unit.is_user else None
    if plan.schema is not None:
        return ExampleSchema(points, plan.schema.contains, users)
    greatest = points.decode(b"\xff" * points.itemsize_bytes, 1)
    # A domain with the greatest point has every point, and nothing needs to be looked at.
    classes = [learner_plan.hypotheses for learner_plan in plan.plans]
    domains = [hypotheses.contains for hypotheses in classes if not hypotheses.contains(greatest)]

    def contains(points: Points) -> bool:
        return all(domain(points) for domain in domains)

    return ExampleSchema(points, contains if domains else None, users)


def _quality_samples(learner: str, facts: Mapping[str, Any] | None) -> Iterator[Sample]:
    """What the last figure of a learner says, if there is one."""
    if facts is None:
        return
    for name in ("error_rate", "error_rate_lower", "error_rate_upper"):
        yield Sample(f"littled_learner_{name}", (learner,), facts[name])
    yield Sample("littled_learner_error_rate_position", (learner,), facts["position"])


def _window_samples(learner: str, facts: Status) -> Iterator[Sample]:
    if facts["window"] is not None:
        yield Sample("littled_window", (learner,), facts["window"])
        yield Sample("littled_window_answers_given", (learner,), facts["answers_given"])
        yield Sample("littled_window_answers_left", (learner,), facts["answers_left"])
    yield Sample("littled_window_next", (learner,), facts["next_window"])


def _budget_samples(stream: str, status: Status, epsilons: Mapping[str, float]) -> Iterator[Sample]:
    for name, key in (("littled_stream_spent", "spent"), ("littled_stream_cap", "caps")):
        for part, amount in status[key].items():
            yield Sample(name, (stream, part), float(Fraction(amount)))
    for key, epsilon in epsilons.items():
        yield Sample(f"littled_stream_{key}", (stream,), epsilon)
