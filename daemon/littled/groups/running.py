"""A member of a group at work: a lease that is renewed, daemons that are started and stopped.

What to do next is decided by `littled.groups.membership`; here it is done, one thing after the
other, so that nothing that is seen in etcd is older than what was done there.
"""

import asyncio
import os
import signal
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from littled.groups.agreement import Agreement, Directory, GroupUnreachable, Present, Served
from littled.groups.daemons import Daemon
from littled.groups.membership import (
    NEEDS_ATTENTION,
    Acquire,
    Acquired,
    Action,
    Announce,
    Ended,
    Event,
    Go,
    Leased,
    LeaseLost,
    Leave,
    Member,
    Phase,
    Publish,
    Published,
    Ready,
    Release,
    Seen,
    Start,
    StopDaemon,
    step,
)
from littled.groups.partitions import GroupRefused
from littled.limits import GROUP_POLL_SECONDS
from littled.service.logs import Log, tell_left_out
from littled.service.notify import Notifier
from littled.store.etcd import Patience
from littled.store.etcd_place import MarkInEtcd

_WATCH_SECONDS = 0.2
_NOT_STARTED = 1


class CannotServe(Exception):
    """A partition cannot be served by this member, as it was started; one sentence."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a member is told.

    name: unlike that of any other. lease_seconds: how long its lease lasts. address: where clients
    reach the daemon of a partition. command: arguments of `littled` that serve a partition of a
    directory; raises CannotServe.
    """

    place: MarkInEtcd
    name: str
    directory: Directory
    lease_seconds: int
    address: Callable[[int], str]
    command: Callable[[Directory, int], Sequence[str]]


class Running:
    """A member that runs; `run` does it once."""

    def __init__(self, settings: Settings, log: Log) -> None:
        """Ask nothing yet."""
        self._settings = settings
        self._log = log
        self._loop = asyncio.get_running_loop()
        seconds = settings.lease_seconds
        patience = Patience(request=seconds / 4, wait=seconds / 2, retry=0.1)
        self._leasing = Agreement(settings.place, patience)
        self._agreement = Agreement(settings.place, patience)
        self._notifier = Notifier.from_environment(os.environ, os.getpid())
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._directory = settings.directory
        self._member = Member(settings.name, settings.directory.partitions)
        self._lease: int | None = None
        self._lost: int | None = None
        self._lease_until = 0.0
        self._daemons: dict[int, Daemon] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._folder = Path()

    async def run(self) -> None:
        """Serve what is this member's share until SIGTERM or SIGINT, and hand it over then."""
        stops = (signal.SIGTERM, signal.SIGINT)
        for number in stops:
            self._loop.add_signal_handler(number, self._events.put_nowait, Leave())
        self._loop.add_signal_handler(signal.SIGHUP, self._pass_on, signal.SIGHUP)
        beside = [asyncio.create_task(self._keep_lease()), asyncio.create_task(self._watch())]
        try:
            with tempfile.TemporaryDirectory(prefix="littled-") as folder:
                self._folder = Path(folder)
                try:
                    await self._decide(beside)
                finally:
                    for daemon in self._daemons.values():
                        daemon.signal(signal.SIGKILL)
                    for task in beside:
                        task.cancel()
                    await asyncio.gather(*beside, *self._tasks, return_exceptions=True)
            with suppress(GroupUnreachable):
                if self._lease is not None:
                    await asyncio.to_thread(self._leasing.revoke, self._lease)
        finally:
            for number in (*stops, signal.SIGHUP):
                self._loop.remove_signal_handler(number)
            self._agreement.close()
            self._leasing.close()
            self._notifier.close()
            tell_left_out(self._log, at_once=True)

    # -- deciding --------------------------------------------------------------------------------

    async def _decide(self, beside: Sequence[asyncio.Task[None]]) -> None:
        """Do what follows from whatever happens, until there is nothing left to do."""
        look = self._loop.time()
        while True:
            for task in beside:
                if task.done():
                    task.result()
            try:
                async with asyncio.timeout_at(look):
                    event: Event | None = await self._events.get()
            except TimeoutError:
                event = await self._seen()
                look = self._loop.time() + GROUP_POLL_SECONDS
            waiting = deque([] if event is None else [event])
            while waiting:
                self._member, actions = step(self._member, waiting.popleft())
                for action in actions:
                    if isinstance(action, Go):
                        return
                    answer = await self._do(action)
                    if answer is not None:
                        waiting.append(answer)

    async def _seen(self) -> Seen | None:
        """What etcd has; None if it does not say."""
        held, name = self._member.held, self._member.name
        try:
            present = await asyncio.to_thread(self._agreement.present)
            await self._grow(present)
            for p, served in present.tenures.items():
                # Got or let go by a try whose answer was lost.
                if served.member == name and p not in held:
                    await asyncio.to_thread(self._agreement.release, p, served.number)
        except (GroupUnreachable, GroupRefused) as error:
            self._log.warning("group cannot be seen", reason=str(error))
            return None
        return Seen(
            self._loop.time(),
            frozenset(each for each, fit in present.members.items() if fit),
            {p: served.number for p, served in present.tenures.items()},
            frozenset(p for p, served in present.tenures.items() if served.addresses),
            self._directory.partitions,
            present.paused,
        )

    async def _grow(self, present: Present) -> None:
        """Get to know of partitions that were added."""
        if present.added > len(self._directory.added):
            self._directory = await asyncio.to_thread(self._agreement.directory)
            self._log.info("partitions added", partitions=self._directory.partitions)

    async def _do(self, action: Action) -> Event | None:
        """Do one thing; what came of it. What etcd did not answer is done again when it is seen."""
        match action:
            case StopDaemon(p, hurried):
                if p in self._daemons and self._daemons[p].stop(hurried=hurried):
                    self._log.info("partition given up", partition=p)
            case Start(p):
                self._log.info("partition taken", partition=p)
                task = asyncio.create_task(self._serve(p))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            case _:
                try:
                    return await self._say(action)
                except (GroupUnreachable, GroupRefused) as error:
                    self._log.warning("group cannot be told", reason=str(error))
        return None

    async def _say(self, action: Action) -> Event | None:
        """Write something into etcd, and what came of it."""
        name, lease, agreement = self._member.name, self._lease, self._agreement
        match action:
            case Release(p, number):
                await asyncio.to_thread(agreement.release, p, number)
            case Announce(fit) if lease is not None:
                await asyncio.to_thread(agreement.announce, name, lease, fit=fit)
            case Acquire(p) if lease is not None:
                return Acquired(p, await asyncio.to_thread(agreement.acquire, p, name, lease))
            case Publish(p, number) if lease is not None:
                since = datetime.now(UTC).isoformat(timespec="seconds")
                served = Served(name, number, (self._settings.address(p),), since)
                had = await asyncio.to_thread(agreement.publish, p, lease, served)
                if had:
                    self._log.info("partition served", partition=p, address=served.addresses[0])
                return Published(p, had)
        return None

    # -- beside ----------------------------------------------------------------------------------

    async def _serve(self, partition: int) -> None:
        """Run a daemon until it ends."""
        settings = self._settings
        try:
            daemon = Daemon(self._folder, partition, lambda p: self._events.put_nowait(Ready(p)))
            self._daemons[partition] = daemon
            arguments = settings.command(self._directory, partition)
            status = await daemon.run(arguments, os.environ)
        except (CannotServe, OSError) as error:
            self._log.error(
                "partition cannot be served here", partition=partition, reason=str(error)
            )
            status = NEEDS_ATTENTION if isinstance(error, CannotServe) else _NOT_STARTED
        self._daemons.pop(partition, None)
        tenure = self._member.held.get(partition)
        wanted = tenure is not None and tenure.phase is Phase.STOPPING
        if wanted:
            self._log.info("partition stopped", partition=partition, status=status)
        else:
            self._log.error("partition failed", partition=partition, status=status)
        self._events.put_nowait(Ended(partition, status, self._loop.time()))

    async def _keep_lease(self) -> None:
        """Have a lease, and renew it in a third of its time."""
        seconds = self._settings.lease_seconds
        while True:
            asked = self._loop.time()
            try:
                await self._ask_for_lease(asked)
            except (GroupUnreachable, GroupRefused) as error:
                self._log.warning("lease not renewed", reason=str(error))
            await asyncio.sleep(max(asked + seconds / 3 - self._loop.time(), 0.05))

    async def _ask_for_lease(self, asked: float) -> None:
        """Get a lease, or renew it."""
        seconds = self._settings.lease_seconds
        if self._lost is not None:
            await asyncio.to_thread(self._leasing.revoke, self._lost)
            self._lost = None
        lease = self._lease
        if lease is None:
            self._lease = await asyncio.to_thread(self._leasing.grant, seconds)
            self._lease_until = asked + seconds
            self._log.info("lease granted", member=self._settings.name)
            self._notifier.ready(f"a member of a group of {self._directory.partitions} partitions")
            self._events.put_nowait(Leased())
        elif not await asyncio.to_thread(self._leasing.renew, lease):
            self._lose(lease, "etcd has ended it")
        elif lease == self._lease:
            self._lease_until = asked + seconds

    def _lose(self, lease: int, reason: str) -> None:
        """Go on without a lease: another member may have taken everything."""
        if lease != self._lease:
            return
        self._log.warning("lease lost", member=self._settings.name, reason=reason)
        self._lease, self._lost = None, lease
        self._events.put_nowait(LeaseLost())

    async def _watch(self) -> None:
        """See that the lease is renewed in time and that daemons live, and say that this does."""
        watchdog = 0.0
        while True:
            now = self._loop.time()
            if self._lease is not None and now >= self._lease_until:
                self._lose(self._lease, "it could not be renewed in its time")
            for partition, daemon in self._daemons.items():
                if daemon.kill_if_silent():
                    self._log.error("daemon killed, as it was silent", partition=partition)
            if now >= watchdog:
                self._notifier.watchdog()
                tell_left_out(self._log)
                watchdog = now + (self._notifier.watchdog_seconds or 30.0) / 3
            await asyncio.sleep(_WATCH_SECONDS)

    def _pass_on(self, number: signal.Signals) -> None:
        """Send all daemons a signal."""
        for daemon in self._daemons.values():
            daemon.signal(number)
