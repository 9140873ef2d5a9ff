"""The way in: connections are accepted a few at a time, and are sessions once they say something.

A session costs far more than a socket. So a newcomer waits in the *lobby* as a bare socket until
its first byte has arrived; one that leaves before costs next to nothing, one that stays silent is
closed after a time or makes room for others. Every step is taken a few times in each turn of the
event loop, and what is left over waits for the next: the kernel's queue holds the rest. Peers of
the protocol and of HTTP come in the same way, each with a reception of its own.
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
import socket
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from littled.limits import (
    ACCEPT_PAUSE_SECONDS,
    ACCEPT_RETRY_SECONDS,
    ACCEPTS_PER_TURN,
    CONNECT_BACKLOG,
    ENTERING_MAX,
    ENTRIES_PER_TURN,
    LEAVERS_PER_TURN,
    LOBBY_MAX,
    TLS_READ_BYTES,
)
from littled.service.admission import Admission, Full, one_less
from littled.service.handshakes import Handshakes, Place, shake_hands
from littled.service.lines import Line
from littled.service.listeners import Listener, origin_of
from littled.service.logs import Log
from littled_protocol import limits
from littled_protocol.codec import encode_frame
from littled_protocol.errors import ErrorCode, ProtocolError
from littled_protocol.messages import error_message

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_ASKED = select.POLLIN | select.POLLRDHUP
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


class Guest(asyncio.BaseProtocol, ABC):
    """What a reception needs of whom it lets in."""

    @abstractmethod
    def cut(self, code: ErrorCode) -> None:
        """End at once with a code, to make room."""


def protocol_farewell(code: ErrorCode) -> bytes:
    """Return what a peer of the protocol is told that is turned away."""
    return encode_frame(error_message(ProtocolError(code)))


class Reception:
    """Accepts on the listeners, and makes guests of newcomers that have begun to speak."""

    def __init__(
        self,
        listeners: Sequence[Listener],
        admission: Admission[Guest],
        make: Callable[[Newcomer], Guest],
        refused: Callable[[ErrorCode], None],
        log: Log,
        farewell: Callable[[ErrorCode], bytes] = protocol_farewell,
    ) -> None:
        """Accept nothing yet; used on the running loop alone.

        `make` makes a guest of a newcomer; `refused` is told the codes with which others were
        closed, and `farewell` says what these are told.
        """
        self._listeners = listeners
        self._admission = admission
        self._make = make
        self._refused = refused
        self._log = log
        self._farewell = farewell
        self._loop = asyncio.get_running_loop()
        self._lobby: dict[Newcomer, None] = {}
        self._origins: Counter[str] = Counter()
        self._speaking: Line[Newcomer] = Line()
        self._letting_in = False
        # How many are accepted in a turn: more where they all have left when they are looked at.
        self._at_once = [ACCEPTS_PER_TURN] * len(listeners)
        self._tls_buffer = bytearray(TLS_READ_BYTES)
        self._handshakes = Handshakes()
        self._entering: dict[Guest, asyncio.Task[None]] = {}
        self._retries: dict[int, asyncio.TimerHandle] = {}
        self.accepted = 0

    def __len__(self) -> int:
        """Return how many newcomers are waiting."""
        return len(self._lobby) + len(self._speaking)

    def open(self) -> None:
        """Begin to accept."""
        for number, listener in enumerate(self._listeners):
            listener.socket.setblocking(False)
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
        for task in self._entering.values():
            task.cancel()

    def check_time(self, now: float, silent_seconds: float) -> None:
        """Close newcomers that were silent for so long; `now` is the loop's time."""
        for newcomer in list(self._lobby):
            if now - newcomer.accepted_at <= silent_seconds:
                break
            self._turn_away(newcomer, ErrorCode.LIMIT_EXCEEDED)

    # --- Accepting --------------------------------------------------------------------------------

    def _watch(self, number: int) -> None:
        self._retries.pop(number, None)
        self._loop.add_reader(self._listeners[number].socket, self._accept, number)

    def _accept(self, number: int) -> None:
        """Accept what may be accepted in this turn; who has left already costs little."""
        listening = self._listeners[number].socket
        most = min(self._at_once[number], ENTERING_MAX - len(self._speaking))
        poll, found, failure = select.poll(), list[int](), 0
        while len(found) < most and not failure:
            try:
                # An object for each would cost half as much again.
                descriptor, _ = listening._accept()  # type: ignore[attr-defined]
            except OSError as error:
                # Nobody waits, or who waited is gone, or there are no descriptors.
                failure = error.errno or errno.EAGAIN
            else:
                poll.register(descriptor, _ASKED)
                found.append(descriptor)
        self.accepted += len(found)
        states, stayed = dict(poll.poll(0)), 0
        for descriptor in found:
            state = states.get(descriptor, 0)
            if state & _GONE:
                os.close(descriptor)
            else:
                stayed += 1
                self._receive(socket.socket(fileno=descriptor), number, state)
        if failure in _EXHAUSTED:
            self._wait_for_descriptors(number)
        elif not failure:
            # Perhaps there is no end of them: the others on the loop have their time first.
            self._at_once[number] = (
                ACCEPTS_PER_TURN if stayed else min(2 * self._at_once[number], LEAVERS_PER_TURN)
            )
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
            one_less(self._origins, newcomer.origin)

    # --- Letting in -------------------------------------------------------------------------------

    def _speak(self, newcomer: Newcomer) -> None:
        self._speaking.add(newcomer, newcomer.origin)
        if not self._letting_in:
            self._letting_in = True
            self._loop.call_soon(self._let_in)

    def _let_in(self) -> None:
        """Let in the next few; those that have left meanwhile are closed."""
        entries = 0
        for _ in range(min(len(self._speaking), ACCEPTS_PER_TURN)):
            newcomer = self._speaking.take(self._handshakes.has_room)
            if newcomer is None:
                break
            if _state(newcomer.socket) & _GONE:
                newcomer.socket.close()
                continue
            try:
                self._enter(newcomer)
            except Exception as error:  # noqa: BLE001 - whatever it was, the others come in
                self._log.error("connection failed", exc_info=error)
                newcomer.socket.close()
            # A handshake of TLS takes some milliseconds.
            secret = self._listeners[newcomer.listener].tls is not None
            entries += ENTRIES_PER_TURN if secret else 1
            if entries >= ENTRIES_PER_TURN:
                break
        self._letting_in = bool(self._speaking)
        if self._letting_in:
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
        """Give the connection to its guest, which counts itself out in the end."""
        tls = self._listeners[newcomer.listener].tls
        try:
            if tls is None:
                await self._loop.connect_accepted_socket(lambda: guest, newcomer.socket)
            else:
                place = Place(self._handshakes, newcomer.origin, self._tls_buffer)
                await shake_hands(guest, newcomer.socket, tls, place)
        except BaseException as error:
            self._admission.leave(guest)
            newcomer.socket.close()
            # No TLS that we take, or gone, or stopping.
            if not isinstance(error, OSError | asyncio.CancelledError):
                raise

    def _turn_away(self, newcomer: Newcomer, code: ErrorCode) -> None:
        """Close a newcomer; the peer is told the code if it can be done without waiting."""
        self._forget(newcomer)
        self._speaking.leave(newcomer, newcomer.origin)
        with suppress(OSError):
            newcomer.socket.recv(limits.first_frame_bytes_max)
        if self._listeners[newcomer.listener].tls is None:
            with suppress(OSError):
                newcomer.socket.send(self._farewell(code))
        newcomer.socket.close()
        self._refused(code)


def _state(connection: socket.socket) -> int:
    """Return what poll says of a connection at this moment, 0 if there is nothing to say."""
    poll = select.poll()
    poll.register(connection, _ASKED)
    found = poll.poll(0)
    return found[0][1] if found else 0
