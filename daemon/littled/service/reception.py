"""The way in: connections are accepted a few at a time, and are sessions once they say something.

A session costs far more than a socket. So a newcomer waits in the *lobby* as a bare socket until
its first byte has arrived; one that leaves before costs next to nothing, one that stays silent is
closed after a time or makes room for others. Every step is taken a few times in each turn of the
event loop, and what is left over waits for the next: the kernel's queue holds the rest.
"""

from __future__ import annotations

import asyncio
import errno
import select
import socket
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from littled.limits import (
    ACCEPT_PAUSE_SECONDS,
    ACCEPT_RETRY_SECONDS,
    ACCEPTS_PER_TURN,
    CONNECT_BACKLOG,
    ENTRIES_PER_TURN,
    LOBBY_MAX,
)
from littled.service.admission import Admission, Full
from littled.service.listeners import Listener, origin_of
from littled.service.logs import Log
from littled_protocol import limits
from littled_protocol.codec import encode_frame
from littled_protocol.errors import ErrorCode, ProtocolError
from littled_protocol.messages import error_message

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_TLS_WAITS = {
    "ssl_handshake_timeout": limits.first_frame_seconds,
    "ssl_shutdown_timeout": limits.close_seconds,
}
_GONE = select.POLLRDHUP | select.POLLHUP | select.POLLERR


@dataclass(frozen=True, slots=True, eq=False)
class Newcomer:
    """A connection that was accepted and has no session yet.

    listener: the number of the listener it came through. accepted_at: by the loop's clock.
    """

    socket: socket.socket
    listener: int
    origin: str
    accepted_at: float


class Guest(asyncio.BufferedProtocol, ABC):
    """What a reception needs of a session."""

    @abstractmethod
    def cut(self, code: ErrorCode) -> None:
        """End at once with a code, to make room."""


class Reception:
    """Accepts on the listeners, and makes sessions of newcomers that have begun to speak."""

    def __init__(
        self,
        listeners: Sequence[Listener],
        admission: Admission[Guest],
        make: Callable[[Newcomer], Guest],
        refused: Callable[[ErrorCode], None],
        log: Log,
    ) -> None:
        """Accept nothing yet; used on the running loop alone.

        `make` makes the session of a newcomer; `refused` is told the codes with which others were
        closed.
        """
        self._listeners = listeners
        self._admission = admission
        self._make = make
        self._refused = refused
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._lobby: dict[Newcomer, None] = {}
        self._origins: Counter[str] = Counter()
        self._speaking: deque[Newcomer] = deque()
        self._entering: dict[Guest, asyncio.Task[None]] = {}
        self._retries: dict[int, asyncio.TimerHandle] = {}
        self.accepted = 0

    def __len__(self) -> int:
        """Return how many newcomers are waiting."""
        return len(self._lobby) + len(self._speaking)

    def open(self) -> None:
        """Begin to accept."""
        for number, listener in enumerate(self._listeners):
            listener.socket.listen(CONNECT_BACKLOG)
            self._watch(number)

    def close(self) -> None:
        """Accept nothing more; who waits is told that the daemon stops."""
        for number, listener in enumerate(self._listeners):
            self._loop.remove_reader(listener.socket)
            if number in self._retries:
                self._retries.pop(number).cancel()
        for newcomer in [*self._lobby, *self._speaking]:
            self._turn_away(newcomer, ErrorCode.SHUTTING_DOWN)
        self._speaking.clear()
        for task in self._entering.values():
            task.cancel()

    def check_time(self, now: float) -> None:
        """Close newcomers that were silent for too long; `now` is the loop's time."""
        for newcomer in list(self._lobby):
            if now - newcomer.accepted_at <= limits.first_frame_seconds:
                break
            self._turn_away(newcomer, ErrorCode.LIMIT_EXCEEDED)

    # --- Accepting --------------------------------------------------------------------------------

    def _watch(self, number: int) -> None:
        self._retries.pop(number, None)
        self._loop.add_reader(self._listeners[number].socket, self._accept, number)

    def _accept(self, number: int) -> None:
        """Accept what may be accepted in this turn."""
        listening = self._listeners[number].socket
        for _ in range(ACCEPTS_PER_TURN):
            try:
                accepted, _ = listening.accept()
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._wait_for_descriptors(number)
                # Anything else is that nobody waits, or that who waited is gone.
                return
            self.accepted += 1
            state = _state(accepted)
            if state & _GONE:
                accepted.close()
            else:
                self._receive(accepted, number, state)
        # Perhaps there is no end of them: the others on the loop have their time first.
        self._pause(number, ACCEPT_PAUSE_SECONDS)

    def _pause(self, number: int, seconds: float) -> None:
        self._loop.remove_reader(self._listeners[number].socket)
        self._retries[number] = self._loop.call_later(seconds, self._watch, number)

    def _wait_for_descriptors(self, number: int) -> None:
        """Accept no more for a moment; who is silent makes room."""
        self._pause(number, ACCEPT_RETRY_SECONDS)
        self._log.warning("no file descriptors left")
        for newcomer in list(self._lobby)[:ACCEPTS_PER_TURN]:
            self._turn_away(newcomer, ErrorCode.LIMIT_EXCEEDED)

    def _receive(self, accepted: socket.socket, number: int, state: int) -> None:
        """Let a newcomer wait for its first byte, unless it is there already."""
        accepted.setblocking(False)
        try:
            newcomer = Newcomer(accepted, number, origin_of(accepted), self._loop.time())
        except OSError:  # gone meanwhile
            accepted.close()
            return
        if state:
            self._speak(newcomer)
        else:
            if len(self._lobby) >= LOBBY_MAX:
                self._turn_away(self._first_to_leave(newcomer), ErrorCode.LIMIT_EXCEEDED)
            self._lobby[newcomer] = None
            self._origins[newcomer.origin] += 1
            self._loop.add_reader(newcomer.socket, self._spoke, newcomer)

    def _first_to_leave(self, newcomer: Newcomer) -> Newcomer:
        """Return who was silent for longest; of the same origin if that takes half the lobby."""
        if self._origins[newcomer.origin] >= LOBBY_MAX // 2:
            for waiting in self._lobby:
                if waiting.origin == newcomer.origin:
                    return waiting
        return next(iter(self._lobby))

    def _spoke(self, newcomer: Newcomer) -> None:
        self._forget(newcomer)
        self._speak(newcomer)

    def _forget(self, newcomer: Newcomer) -> None:
        if newcomer in self._lobby:
            del self._lobby[newcomer]
            self._loop.remove_reader(newcomer.socket)
            self._origins[newcomer.origin] -= 1
            if not self._origins[newcomer.origin]:
                del self._origins[newcomer.origin]

    # --- Letting in -------------------------------------------------------------------------------

    def _speak(self, newcomer: Newcomer) -> None:
        self._speaking.append(newcomer)
        if len(self._speaking) == 1:
            self._loop.call_soon(self._let_in)

    def _let_in(self) -> None:
        """Let in the next few; those that have left meanwhile are closed."""
        entries = 0
        for _ in range(min(len(self._speaking), ACCEPTS_PER_TURN)):
            newcomer = self._speaking.popleft()
            if _state(newcomer.socket) & _GONE:
                newcomer.socket.close()
                continue
            self._enter(newcomer)
            entries += 1
            if entries == ENTRIES_PER_TURN:
                break
        if self._speaking:
            self._loop.call_soon(self._let_in)

    def _enter(self, newcomer: Newcomer) -> None:
        listener, origin = newcomer.listener, newcomer.origin
        try:
            while (guest := self._admission.who_makes_room(listener, origin)) is not None:
                self._admission.leave(guest)
                guest.cut(ErrorCode.LIMIT_EXCEEDED)
                if guest in self._entering:  # its handshake of TLS is not done
                    self._entering[guest].cancel()
        except Full:
            self._turn_away(newcomer, ErrorCode.LIMIT_EXCEEDED)
            return
        guest = self._make(newcomer)
        self._admission.enter(guest, listener, origin)
        task = self._loop.create_task(self._connect(guest, newcomer))
        self._entering[guest] = task
        task.add_done_callback(lambda _: self._entering.pop(guest))

    async def _connect(self, guest: Guest, newcomer: Newcomer) -> None:
        """Give the connection to its session, which counts itself out in the end."""
        tls = self._listeners[newcomer.listener].tls
        waits = {} if tls is None else _TLS_WAITS
        try:
            await self._loop.connect_accepted_socket(
                lambda: guest, newcomer.socket, ssl=tls, **waits
            )
        except (OSError, asyncio.CancelledError):  # no TLS that we take, or gone, or stopping
            self._admission.leave(guest)
            newcomer.socket.close()

    def _turn_away(self, newcomer: Newcomer, code: ErrorCode) -> None:
        """Close a newcomer; the peer is told the code if it can be done without waiting."""
        self._forget(newcomer)
        with suppress(OSError):
            newcomer.socket.recv(limits.first_frame_bytes_max)
        if self._listeners[newcomer.listener].tls is None:
            with suppress(OSError):
                newcomer.socket.send(encode_frame(error_message(ProtocolError(code))))
        newcomer.socket.close()
        self._refused(code)


def _state(connection: socket.socket) -> int:
    """Return what poll says of a connection at this moment, 0 if there is nothing to say."""
    poll = select.poll()
    poll.register(connection, select.POLLIN | select.POLLRDHUP)
    found = poll.poll(0)
    return found[0][1] if found else 0
