"""The blocking client: the same verbs as the asyncio client, without an event loop.

    with Client() as client:
        with client.feed("flights") as feeder:
            feeder.send(delays, late)
        for published in client.subscribe("flights/late"):
            print(published.describe(), published.predict([10, 60]))

Every feeder and every subscription has a connection of its own and may be used in a thread of its
own; one of them must not be used in two threads at a time. A lost connection is noticed, and got
back, by the next call. A thread of a feeder's own only sends single examples that waited for others
when no call does; it neither waits for the daemon nor comes back to it.
"""

from __future__ import annotations

import math
import os
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from weakref import WeakSet

from littled_client.addresses import Address, UnixAddress
from littled_client.batches import FRAME_OVERHEAD_BYTES_MAX, Piece
from littled_client.conversation import (
    Conversation,
    Identity,
    Witness,
    changed_store,
    given_up,
    greeting,
    is_passing,
    join_page,
    naming,
    newest_version,
    random_producer,
    rest_of,
    words_of,
    x_types_of,
)
from littled_client.conversions import Batch
from littled_client.errors import (
    ClientError,
    ConnectionLostError,
    RecordingError,
    RedirectedError,
    again,
)
from littled_client.joining import JOINED_SECONDS_MAX, lone
from littled_client.outbox import Outbox
from littled_client.places import MOVED_AWAY, Addresses, Place, Places
from littled_client.predictions import Predictions, Questions
from littled_client.published import Published
from littled_client.recordings import RecordingWriter
from littled_client.sources import Source, skip_examples
from littled_client.tails import Tail
from littled_client.tls import Tls, tls_failure
from littled_client.unix import has_connected, pauses
from littled_client.values import value_points
from littled_client.waits import Retry, Waits
from littled_protocol.columns import point_type
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import (
    VERSION_OF_MOVED,
    Ack,
    Examples,
    Message,
    Moved,
    Opened,
    Ping,
    Pong,
    Prediction,
    PredictionRefused,
    Release,
    Status,
    StatusRequest,
    Subscribe,
    Welcome,
)

_CHANNEL = 0
_RECEIVE_BYTES = 64 * 1024
# Asked of the kernel for a Unix socket, which counts almost 1 KiB for the smallest frame.
_SEND_BUFFER_BYTES = 1024 * 1024
# Acknowledgements are looked for whenever about this much was sent.
_BUNCH_BYTES = 64 * 1024
# A single example that comes so soon after others left is one of a burst, even where a daemon on
# the same processor has acknowledged them already: alone it costs as much as hundreds together.
_BURST_SECONDS = 0.00005
# How often the thread looks whether the daemon has room again for what it could not send.
_RETRY_SECONDS = 0.002
# A day; who has to wait longer than that waits again.
_WAIT_SECONDS_MAX = 86_400.0

_Answer = TypeVar("_Answer", bound=Message)
_Found = TypeVar("_Found")
_Kinds = type[_Answer] | tuple[type[_Answer], ...]
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_LOST = (ConnectionLostError, ProtocolError)
_ANSWERS = (Prediction, PredictionRefused)
_TOLD: _Kinds[Release | Moved] = (Release, Moved)


class Client:
    """A client of a daemon, or of several that share streams; a context manager.

    address: "unix:PATH", "HOST:PORT" or "tls://HOST:PORT", or several of them, in a list or with
    commas between them; see `default_address` for None. Each is asked for a stream in turn, and the
    client goes where a daemon says that it is, if that is as safe; it shows its token there too.
    token: what the daemon asks for on TCP. tls: whom to trust and what to show, see `Tls`; makes an
    address of TCP one of TLS. producer: this program's lasting name as a source of examples, under
    which it can resume in another process; a random one for each feeder if None.

    Entering raises UnreachableError when no daemon answers, RemoteProtocolError (unauthorized,
    unsupported_version) when it refuses, and TlsError when TLS cannot be; see `Waits` for how long
    it is tried. Whatever is about one stream raises StreamElsewhereError when the stream is not
    found in that time, or at once when it is where it is not safe to go.
    """

    def __init__(
        self,
        address: Addresses = None,
        *,
        token: str | None = None,
        producer: str | None = None,
        waits: Waits | None = None,
        tls: Tls | None = None,
    ) -> None:
        """Prepare; nothing is connected yet. Raises AddressError for an address that is none."""
        self._places = Places(address, tls, has_token=token is not None)
        self.address = self._places.addresses[0]
        self.producer = producer
        self.waits = waits or Waits()
        self._token = token
        self._identity = Identity()
        # One connection to each daemon for all that is not fed or subscribed to.
        self._links: dict[Address, _Link] = {}
        _clients.add(self)

    @property
    def instance(self) -> str | None:
        """The public name of the store that was met first; None before the first greeting."""
        return self._identity.instance

    def instance_of(self, stream: str) -> str:
        """Return the public name of the store that a stream is in; asks for it once.

        Raises what `status` does.
        """
        while (known := self._identity.instance_of(stream)) is None:
            self.status(stream)
        return known

    def __enter__(self) -> Self:
        """Connect and greet."""
        self._reached(None, self._retry(), _nothing)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the client's own connection; feeders and subscriptions close theirs."""
        self._leave()

    def _leave(self) -> None:
        """Close connections without a word; the next question makes new ones."""
        for link in self._links.values():
            link.close()
        self._links.clear()

    def feed(
        self,
        stream: str,
        *,
        producer: str | None = None,
        record: str | Path | None = None,
        resumes: bool = False,
    ) -> Feeder:
        """Return a feeder of a stream, to be used as a context manager.

        producer: overrides the client's. record: file to which the frames are recorded as well.
        resumes: places of the producer's source are kept with its examples (`send`), and the last
        durable one is had back (`resume`); entering raises ClientError where the daemon is too old.
        """
        name = producer or self.producer or random_producer()
        return Feeder(self, stream, name, record, resumes=resumes)

    def subscribe(
        self, learner: str, since: int = 0, *, wait_seconds: float | None = None
    ) -> Generator[Published, None, None]:
        """Yield what a learner has published after version `since`, and whatever it will publish.

        learner: "stream/learner". wait_seconds: end when nothing came for so long; None never ends.
        After a lost connection it goes on where it was, and so it does in a forked process, over a
        connection of its own. Raises UnreachableError when the daemon does not come back in time,
        ChangedStoreError when it comes back with another store, ProtocolError for an unknown
        learner or an ill-formed name.
        """
        retry, seen = self._retry(), Witness(since)
        reason, heard = None, time.monotonic()
        while True:
            begin = partial(self._begin, Subscribe(learner, seen.since()))
            link = self._linked(learner.partition("/")[0], retry, reason, begin)
            _subscribed.add(link)
            try:
                while True:
                    try:
                        release = link.next(_TOLD, _left(heard, wait_seconds))
                    except _LOST as lost:
                        reason = lost
                        break
                    if release is None:
                        return
                    if isinstance(release, Moved):
                        reason = ConnectionLostError(MOVED_AWAY)
                        break
                    if not seen.is_new(release):
                        continue
                    retry.progressed()
                    yield Published.from_release(release, self._identity.words.get(learner))
                    heard = time.monotonic()
            finally:
                link.close()
            if not is_passing(reason, coming_back=False):
                raise reason

    def latest(self, learner: str) -> Published | None:
        """Return what a learner has published last, None when it has not published anything yet.

        Raises ClientError when the daemon has no such learner, and whatever `subscribe` raises.
        """
        version = newest_version(self.status(learner.partition("/")[0]), learner)
        if not version:
            return None
        with closing(self.subscribe(learner, version - 1)) as releases:
            return next(releases)

    def predict(self, learner: str, values: Any, *, request: bytes | None = None) -> Predictions:
        """Return a learner's predictions for m values, an array or a sequence of any length.

        learner: "stream/learner". values: in the stream's own units, as `Published.predict` takes
        them. request: 16 bytes that name the call; the same call again under the same name, also
        later and elsewhere, gets the same answer and is not charged again. Random if None: then
        every call is a new question.

        After a lost connection the unanswered values are asked about again under the same name.
        Values beyond `predict_points_max` are asked about in several requests, one after another.
        Raises PredictionRefused when the learner gives no answer (with the labels of the requests
        before), ExampleError for values that do not fit, ClientError for an unknown stream or
        learner, ProtocolError for an ill-formed name and for a daemon that knows no predictions,
        and UnreachableError when the daemon does not come back in time.
        """
        questions = Questions(learner, request)
        stream = self._x_type(questions.stream)
        words = self._identity.words_of(learner)
        x_type = words.x_type_of(stream)
        points = value_points(x_type, words, values)
        return self._predicted(questions, x_type, points)

    def predict_points(
        self, learner: str, points: Any, *, request: bytes | None = None
    ) -> Predictions:
        """Return a learner's predictions for points (m,), or (m, columns), of the stream's type.

        The same as `predict` for who has points, which are values less the stream's offset.
        """
        questions = Questions(learner, request)
        stream, words = self._x_type(questions.stream), self._identity.words.get(learner)
        x_type = stream if words is None else words.x_type_of(stream)
        return self._predicted(questions, x_type, points)

    def _x_type(self, stream: str) -> str:
        """Return the type of a stream's points; ask once for those of all, and for all words."""
        known = self._identity.x_types
        if stream not in known:
            known.update(x_types_of(self.status(stream), stream))
        return known[stream]

    def _predicted(self, questions: Questions, x_type: str, points: Any) -> Predictions:
        retry = self._retry()
        for message in questions.cut(point_type(x_type), points, self._identity.frame_bytes_max):
            ask = partial(_Link.ask, message=message, kind=_ANSWERS)
            answer = self._reached(questions.stream, retry, ask)
            retry.progressed()
            questions.take(cast("Prediction | PredictionRefused", answer))
        return questions.result()

    def status(self, stream: str | None = None) -> dict[str, Any]:
        """Return the daemon's public facts about itself, as its protocol lists them.

        stream: of this one among its streams, where the daemon knows how to; None for all that it
        serves itself.

        Raises UnreachableError when the daemon does not come back in time.
        """
        return self._reached(stream, self._retry(), partial(self._said, stream=stream))

    def _said(self, link: _Link, stream: str | None) -> dict[str, Any]:
        """Return what the daemon says of itself over a link, and keep the words of its learners."""
        body = link.ask(StatusRequest(stream), Status).body
        while (last := rest_of(body)) is not None:
            join_page(body, link.ask(StatusRequest(stream, last), Status).body)
        self._identity.words.update(words_of(body))
        return body

    def _begin(self, subscribe: Subscribe, link: _Link) -> None:
        """Subscribe over a link, after asking whether the stream is there, and for words.

        Older daemons, which serve what they know of, are asked for words alone, once.
        """
        if link.knows_moved or subscribe.learner not in self._identity.words:
            self._said(link, subscribe.learner.partition("/")[0])
        link.send(subscribe)

    def _retry(self) -> Retry:
        """Return the patience for something new: that for coming back once the daemon is known."""
        retry = Retry(self.waits, time.monotonic())
        if self.instance is not None:
            retry.connected(time.monotonic())
        return retry

    def _linked(
        self,
        stream: str,
        retry: Retry,
        reason: Exception | None,
        prepare: Callable[[_Link], object],
    ) -> _Link:
        """Return a link of its own to where a stream is, prepared; see `_searched`."""

        def begin(place: Place) -> _Link:
            link = self._greeted(place)
            try:
                self._begun(link, stream, prepare)
            except BaseException:
                link.close()
                raise
            return link

        return self._searched(stream, retry, reason, begin)

    def _reached(self, stream: str | None, retry: Retry, ask: Callable[[_Link], _Found]) -> _Found:
        """Return what is said where a stream is, over the one link there that serves all calls."""

        def begin(place: Place) -> _Found:
            link = self._links.pop(place.address, None) or self._greeted(place)
            try:
                found = self._begun(link, stream, ask)
            except RedirectedError:
                self._links[place.address] = link
                raise
            except BaseException:
                # Also when interrupted: a link with an unanswered request is of no use.
                link.close()
                raise
            self._links[place.address] = link
            return found

        return self._searched(stream, retry, None, begin)

    def _searched(
        self,
        stream: str | None,
        retry: Retry,
        reason: Exception | None,
        begin: Callable[[Place], _Found],
    ) -> _Found:
        """Return what `begin` comes to where a stream is, looking for it as long as `retry` allows.

        reason: why the last link ended, None when there was none.
        """
        coming_back, again_seconds = reason is not None, 0.0
        while True:
            if reason is not None:
                pause = retry.pause(time.monotonic(), again_seconds)
                if pause is None:
                    raise given_up(self._places.addresses, reason) from reason
                time.sleep(pause)
            walk = self._places.walk(stream)
            while (place := walk.next()) is not None:
                try:
                    found = begin(place)
                except RedirectedError as redirected:
                    walk.redirected(redirected.moved)
                except _LOST as failure:
                    if not is_passing(failure, coming_back=coming_back):
                        raise
                    walk.failed(failure)
                else:
                    retry.connected(time.monotonic())
                    self._places.reached(place)
                    return found
            reason, again_seconds = walk.failure(), walk.again_seconds

    def _begun(self, link: _Link, stream: str | None, begin: Callable[[_Link], _Found]) -> _Found:
        """Return what `begin` comes to, unless the stream was in another store before."""
        welcome = link.welcome
        if self._identity.is_other(stream, welcome) and not (
            stream is None and len(self._places.given) > 1
        ):
            if stream is not None and link.knows_moved:
                link.ask(StatusRequest(stream), Status)  # which may say where the stream is
            raise changed_store()
        found = begin(link)
        if stream is not None:
            self._identity.serves(stream, welcome)
        return found

    def _greeted(self, place: Place) -> _Link:
        """Return a link after one try; raise ConnectionLostError or ProtocolError."""
        link = _Link(place, self.waits)
        try:
            self._identity.met(link.ask(greeting(self._token), Welcome))
        except BaseException:
            link.close()
            raise
        return link


class Feeder:
    """Feeds one stream under one producer's name; a context manager made by `feed`.

    Entering opens the stream. Leaving waits until every example is durable; leaving by an exception
    waits for nothing. Examples keep their order. When the daemon's credit is used up, sending
    waits. A lost connection comes back by itself, and unacknowledged examples are sent again, to be
    learned once.

    Batches leave at once. So does a single example when everything sent before is acknowledged;
    otherwise it waits for others, and all that have joined leave as one frame when 1,024 have, when
    the first one has waited 0.4 milliseconds, or with the next batch or `flush`. A thread sends
    the last of them, within a millisecond if the program lets other threads run. The program may
    not go on using a feeder in a forked process: every method then raises ClientError.

    Every method raises UnreachableError when the daemon stays away, ChangedStoreError when it comes
    back with another or an older store, RemoteProtocolError when it refuses (unknown_stream,
    invalid_examples, producer_busy when another program uses the name).
    """

    def __init__(
        self,
        client: Client,
        stream: str,
        producer: str,
        record: str | Path | None,
        *,
        resumes: bool = False,
    ) -> None:
        """Prepare; made by `Client.feed`."""
        self.stream = stream
        self.producer = producer
        self._client = client
        self._record = record
        self._recorder: RecordingWriter | None = None
        self._outbox = Outbox(_CHANNEL, resumes=resumes)
        self._retry = client._retry()
        self._link: _Link | None = None
        self._unread_bytes = 0
        # Held by every call, and by the tail's thread while it sends.
        self._lock = RLock()
        # Whether a call is at work: who holds the lock then calls from the handler of a signal.
        self._busy = False
        self._tail = Tail(self._tick, JOINED_SECONDS_MAX)
        self._resting = True
        self._due = math.inf
        # When the last frame left, if the program has not waited for its acknowledgement since.
        self._left = -math.inf
        # What the thread met, or has interrupted a call, until another connection stands in place
        # of this one; the next call sees to that, or raises.
        self._broken: Exception | None = None
        self._failure: Exception | None = ClientError("the feeder is not open")

    @property
    def x_type(self) -> str:
        """The type of the stream's points, such as "u8"; see `littled_protocol.columns`."""
        return self._outbox.x_type

    @property
    def names_users(self) -> bool:
        """Whether the stream protects users, so that every example needs its user."""
        return self._outbox.names_users

    @property
    def next_sequence(self) -> int:
        """How many examples were taken under this producer's name, in earlier programs too.

        Those that wait to be sent with others are among them.
        """
        return self._outbox.next_sequence

    @property
    def acknowledged(self) -> int:
        """How many of them are known to be durable."""
        return self._outbox.acknowledged

    @property
    def resume(self) -> bytes:
        """The last durable place of the producer's source when the feeder was entered.

        Empty where there is none, and where the feeder keeps no places.
        """
        return self._outbox.resume

    @property
    def resume_sequence(self) -> int:
        """How many of the producer's examples stand before `resume`.

        Those up to `next_sequence` came without a place, or were lost with a store that goes on
        from an older copy; a source that goes on at `resume` has to leave so many out.
        """
        return self._outbox.resume_sequence

    @property
    def position(self) -> int:
        """The stream's durable examples, of all producers, at the last acknowledgement."""
        return self._outbox.position

    def __enter__(self) -> Self:
        """Connect and open the stream."""
        self._link = self._client._linked(self.stream, self._retry, None, self._open)
        self._link.midway = False
        # Nothing is left of an earlier block: its thread has ended, and so has what that met.
        self._tail, self._resting = Tail(self._tick, JOINED_SECONDS_MAX), True
        self._due, self._broken = math.inf, None
        self._outbox.hear_next()
        self._failure = None
        _open_feeders.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for the last acknowledgement, unless an exception is on its way; disconnect."""
        try:
            if error is None:
                self.flush()
            else:
                self._leave_behind()
        finally:
            self._failure = self._failure or ClientError("the feeder is closed")
            _open_feeders.discard(self)
            self._tail.close()
            if self._link is not None:
                self._link.close()
            if self._recorder is not None:
                self._recorder.close()

    def send(self, x: Any, y: Any, users: Any = None, *, resume: bytes | None = None) -> None:
        """Send a batch: points x and labels y (n,), arrays or sequences, n of any size.

        The points have the shape that `littled_protocol.columns` lists for `x_type`; for u128 they
        may be integers or IP addresses too. users: the user of each example, a str, bytes or an
        integer, for a stream that protects users (`names_users`), and for no other; only digests
        are sent, which may be given instead (`littled_client.hash_users`). resume: the place of the
        producer's source behind the batch, at most 64 bytes that mean something to the program
        alone; it becomes durable together with the last example. Raises ExampleError, and sends
        nothing, when one of them does not fit. A batch leaves at once; one of a single
        example is sent as `send_one` does.
        """
        if resume is None and (single := lone(x, y, users)) is not None:
            self.send_one(*single)
            return
        self._alone(self._send_all, self._outbox.cut(x, y, users, resume))

    def send_one(self, x: Any, y: Any, user: Any = None) -> None:
        """Send a single example, at once or together with others; see `Feeder`.

        x: one point, an integer or what else `send` takes; y: its label, 0 or 1; user: as in
        `send`. Raises ExampleError, and sends nothing of it, when it is none.
        """
        if self._failure is not None:
            raise again(self._failure)
        # Without the lock, which would take a fifth of the time of a call: an example joins in one
        # step, and whoever sends what waits meanwhile takes it along or leaves it (`Rows`).
        if self._outbox.join(x, y, user):
            with self._lock:
                self._joined()

    def send_rest(self, batches: Iterable[Batch]) -> int:
        """Send a source from the first example on that the daemon does not have yet.

        batches: all examples of this producer since its first, such as a `Source`. Returns how many
        were sent. What has come by a pipe is waited for until it is durable, before more is read.
        Raises SourceError when the source is shorter than what was fed before.
        """
        before = self.next_sequence
        for batch in skip_examples(batches, before):
            self.send(*batch)
            if isinstance(batches, Source) and batches.waiting:
                self.flush()
        return self.next_sequence - before

    def flush(self) -> None:
        """Wait until everything sent before is durable."""
        self._alone(self._settle)

    def _alone(self, work: Callable[..., object], *arguments: Any) -> None:
        """Do the work of a call.

        The handler of a signal may raise anything anywhere: examples have their numbers then and
        may not have been written, or half of a frame, or what was read is lost. So a link on which
        a call has not come to its end is given up by the next one, and all that is not acknowledged
        is sent again over another; the daemon passes over what it knows.
        """
        with self._lock:
            if self._busy:
                raise ClientError(
                    "a signal has interrupted another call of this feeder: its handler may raise "
                    "an exception, but not call the feeder"
                )
            self._busy = True
            try:
                self._begin()
                work(*arguments)
                self._end()
            finally:
                self._busy = False

    def _begin(self) -> None:
        """Take note that a call is at work, and whether the last one did not come to its end."""
        if self._link is not None:
            if self._link.midway and self._broken is None:
                self._broken = ConnectionLostError("a call was interrupted")
            self._link.midway = True

    def _end(self) -> None:
        if self._link is not None:
            self._link.midway = False

    def _settle(self) -> None:
        self._depart()
        while self._outbox.under_way:
            self._acknowledgements(wait=True)
        self._left = -math.inf

    def _send_all(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            self._send(piece)

    def _send(self, piece: Piece) -> None:
        """Send a piece of a batch after all that has joined; a single example joins that."""
        if piece.count == 1 and piece.resume is None:
            self._check()
            if self._outbox.join_piece(piece):
                self._see_to_joined()
            return
        self._depart()
        while (message := self._outbox.take(piece)) is None:
            if self._outbox.joined:  # from another thread
                self._depart()
            elif not self._outbox.fits(piece):
                self._send_all(self._outbox.cut_again(piece))
                return
            else:
                self._acknowledgements(wait=True)
        self._transmit(message)

    def _joined(self) -> None:
        """Send what has joined, or see that it is sent when something else is under way.

        Called for the first example that waits, for every eighth after it, which leave together
        when it is time, and for the last one that a frame takes.
        """
        outbox = self._outbox
        if self._due < math.inf and not outbox.full and time.monotonic() < self._due:
            outbox.heard()
        elif self._busy:  # from the handler of a signal: the thread sends it
            self._tail.ring()
        else:
            self._alone(self._see_to_joined)

    def _see_to_joined(self) -> None:
        outbox = self._outbox
        outbox.heard()
        if not outbox.joined:  # the thread, or another one, was quicker
            return
        if not outbox.full:
            if self._due < math.inf:
                if time.monotonic() >= self._due:
                    self._depart_if_room()
                return
            if outbox.under_way:
                self._check()
                self._acknowledgements(wait=False)
            now = time.monotonic()
            if outbox.under_way or now - self._left < _BURST_SECONDS:
                self._due = now + JOINED_SECONDS_MAX
                if self._woken():
                    return
        self._depart()

    def _woken(self) -> bool:
        """Have the thread see to what waits; return whether there is one."""
        # No thread can be started when the interpreter ends.
        with suppress(RuntimeError):
            if self._resting:
                self._tail.ring()
                self._resting = False
            return True
        return False

    def _depart(self) -> None:
        """Send all that has joined; waits for room."""
        self._check()
        outbox, self._due = self._outbox, math.inf
        while outbox.joined:
            while (message := outbox.take_joined()) is None:
                self._acknowledgements(wait=True)
            self._transmit(message)

    def _depart_if_room(self) -> None:
        """Send what has joined for long enough; without room it goes on joining."""
        self._check()
        outbox = self._outbox
        while outbox.joined:
            message = outbox.take_joined()
            if message is None:
                self._acknowledgements(wait=False)
                message = outbox.take_joined()
            if message is None:
                self._due = time.monotonic() + _RETRY_SECONDS
                self._woken()
                return
            self._transmit(message)
        self._due = math.inf

    def _transmit(self, message: Examples) -> None:
        if self._recorder is not None:
            self._write_down(message)
        try:
            cast("_Link", self._link).send(message)
        except _LOST as lost:
            self._come_back(lost)
        self._left = time.monotonic()
        self._unread_bytes += len(message.x) + FRAME_OVERHEAD_BYTES_MAX
        if self._unread_bytes > _BUNCH_BYTES:
            self._acknowledgements(wait=False)

    def _write_down(self, message: Examples) -> None:
        if self._recorder is not None:
            try:
                self._recorder.write(message)
            except RecordingError as failure:
                self._failure = failure
                raise

    def _check(self) -> None:
        """Raise what made the feeder fail; get back the connection that the thread found lost."""
        if self._failure is not None:
            raise again(self._failure)
        if self._broken is not None:
            self._come_back(self._broken)

    def _acknowledgements(self, *, wait: bool) -> None:
        """Take the acknowledgements that have arrived; wait for at least one if asked to."""
        try:
            self._take_acknowledgements(None if wait else 0.0)
        except _LOST as lost:
            self._come_back(lost)
        except ClientError as failure:
            self._failure = failure
            raise

    def _take_acknowledgements(self, seconds: float | None) -> None:
        link = cast("_Link", self._link)
        self._unread_bytes = 0
        message = link.next(Ack, seconds)
        while message is not None:
            self._outbox.acknowledge(message)
            self._retry.progressed()
            message = link.waiting(Ack)
        self._send_again(link)

    def _come_back(self, reason: Exception) -> None:
        cast("_Link", self._link).close()
        try:
            if not is_passing(reason, coming_back=False):
                raise reason
            link = self._client._linked(self.stream, self._retry, reason, self._open)
        except (ClientError, ProtocolError) as failure:
            self._failure = failure
            raise
        self._link, self._broken = link, None

    # --- without waiting ------------------------------------------------------------------------

    def _tick(self) -> float | None:
        """Send what has waited long enough; called by the tail's thread."""
        with self._lock:
            try:
                self._begin()
                pause = self._finish(time.monotonic())
                self._end()
            except Exception as failure:  # noqa: BLE001 - whatever it is, the next call raises it
                self._broken, pause = failure, None
            if self._broken is not None:
                self._due = -math.inf
                self._outbox.hear_next()
            self._resting = pause is None
            return pause

    def _finish(self, now: float) -> float | None:
        """Send as much as the daemon takes at once; return in how many seconds to go on, or None.

        Raises what ends the connection.
        """
        link = self._link
        if link is None or self._failure is not None or self._broken is not None:
            return None
        # What joins just now, and has no time yet, is seen to by whoever joined it.
        if self._outbox.joined and now < self._due < math.inf:
            return self._due - now
        if not link.push():
            return _RETRY_SECONDS
        while self._outbox.joined:
            message = self._outbox.take_joined()
            if message is None:
                self._take_acknowledgements(0.0)
                message = self._outbox.take_joined()
            if message is None:
                return _RETRY_SECONDS
            self._write_down(message)
            if not link.post(message):
                return _RETRY_SECONDS
        self._due = math.inf
        return None

    def _leave_behind(self) -> None:
        """Send what has joined as far as that takes no waiting, whatever fails."""
        with suppress(Exception):
            self._alone(self._finish, math.inf)

    def _forget_parent(self) -> None:
        """Be of no use in a forked process, whose socket and thread are another's."""
        self._lock = RLock()
        self._tail = Tail(self._tick, JOINED_SECONDS_MAX)
        if self._recorder is not None:
            self._recorder.forget()
        self._failure = ClientError(
            "the feeder belongs to the process that opened it; open one in each process"
        )

    def _open(self, link: _Link) -> None:
        with naming(self.stream):
            opened = link.ask(self._outbox.request(self.stream, self.producer), Opened)
        self._outbox.opened(link.welcome, opened)
        if self._record is not None and self._recorder is None:
            self._recorder = RecordingWriter(self._record, link.welcome, opened)
        if self._recorder is not None:  # what an interrupted call has not come to
            for message in self._outbox.since(self._recorder.next_sequence):
                self._recorder.write(message)
        self._send_again(link)

    def _send_again(self, link: _Link) -> None:
        for message in self._outbox.again():
            link.send(message)


class _Link:
    """One connection over a socket that never blocks; waiting happens in `_exchange` alone.

    midway: whether something is done that cannot be left in the middle; whoever works with the link
    says so, and it is not so while the link waits.
    """

    def __init__(self, place: Place, waits: Waits) -> None:
        self.conversation = Conversation()
        self.midway = True
        self._waits = waits
        self._inbox: deque[Message] = deque()
        self._unsent = bytearray()
        self._failure: Exception | None = None
        self._socket = _connected(place.address, _waitable(waits.answer_seconds), place.tls)
        self._socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)

    @property
    def welcome(self) -> Welcome:
        """The daemon's greeting, after `_greeted`."""
        return cast("Welcome", self.conversation.welcome)

    @property
    def knows_moved(self) -> bool:
        """Whether the daemon may say that a stream is elsewhere."""
        return self.welcome.version >= VERSION_OF_MOVED

    def send(self, message: Message) -> None:
        """Send a message; return when the socket has taken all of it.

        What arrives meanwhile is read, so that two full sockets cannot wait for each other.
        """
        self.post(message)
        moved = time.monotonic()
        while self._unsent:
            before, left = len(self._unsent), moved + self._waits.send_seconds - time.monotonic()
            read = self._exchange(max(0.0, left))
            if self._failure is not None:
                raise again(self._failure)
            # TLS takes a record as a whole, for which a socket that can be written may be too full.
            if read or len(self._unsent) < before:
                moved = time.monotonic()
            elif left <= 0:
                raise ConnectionLostError("the daemon takes no data")

    def post(self, message: Message) -> bool:
        """Send a message without waiting; return whether the socket has taken all of it.

        The rest goes with `push`, and before whatever is sent next. Raises what has ended the
        connection, also where that came together with an answer.
        """
        if self._failure is not None:
            raise again(self._failure)
        frame = self.conversation.send(message)
        sent = 0 if self._unsent else self._write(frame)
        self._unsent += frame[sent:]
        return not self._unsent

    def push(self) -> bool:
        """Send what a message left over, without waiting; return whether nothing is left."""
        if self._unsent:
            del self._unsent[: self._write(self._unsent)]
        return not self._unsent

    def ask(self, message: Message, kind: _Kinds[_Answer]) -> _Answer:
        """Send a message and return the first answer of this kind, or of one of several.

        Raises RedirectedError when it says that the stream is elsewhere, ConnectionLostError when
        it takes too long, and whatever else ends the link.
        """
        self.send(message)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        answer = self.next((*kinds, Moved), self._waits.answer_seconds)
        if answer is None:
            raise ConnectionLostError("no answer in time")
        if isinstance(answer, Moved):
            raise RedirectedError(answer)
        return cast("_Answer", answer)

    def next(self, kind: _Kinds[_Answer], seconds: float | None) -> _Answer | None:
        """Return the next message of a kind, None when none came within `seconds`.

        With None for seconds it waits as long as the daemon gives signs of life.
        """
        heard = time.monotonic()
        deadline = math.inf if seconds is None else heard + seconds
        asked = False
        while (message := self.waiting(kind)) is None:
            if self._failure is not None:
                raise again(self._failure)
            silent = heard + self._waits.idle_seconds + asked * self._waits.pong_seconds
            if self._exchange(max(0.0, min(silent, deadline) - time.monotonic())):
                heard, asked = time.monotonic(), False
                continue
            now = time.monotonic()
            if now >= deadline:
                return None
            if now >= silent:
                if asked:
                    raise ConnectionLostError("the daemon fell silent")
                self.send(Ping(0))
                asked = True
        return message

    def waiting(self, kind: _Kinds[_Answer]) -> _Answer | None:
        """Return the next message of a kind that has arrived already, dropping others."""
        while self._inbox:
            message = self._inbox.popleft()
            if isinstance(message, kind):
                return message
        return None

    def close(self) -> None:
        """Close the socket; what was not sent is not wanted any more."""
        self._socket.close()

    def forget_parent(self) -> None:
        """Be over in a forked process: what comes next is for its parent to read."""
        self._failure = self._failure or ConnectionLostError("the connection is another process's")
        self.close()

    def _exchange(self, seconds: float) -> bool:
        """Wait until the socket can be read or written and do so; return whether it was read.

        Raises ConnectionLostError when the connection is over and nothing arrived before its end.
        """
        mask = select.POLLIN | (select.POLLOUT if self._unsent else 0)
        self._poll.modify(self._socket, mask)
        midway, self.midway = self.midway, False
        events = self._poll.poll(_waitable(seconds) * 1000.0)
        self.midway = midway
        if not events:
            return False
        if self._unsent and events[0][1] & select.POLLOUT:
            del self._unsent[: self._write(self._unsent)]
        if not events[0][1] & ~select.POLLOUT:
            return False
        self._read()
        # What TLS has taken from the socket, which poll says nothing of.
        while self._failure is None and self._pending():
            self._read()
        return True

    def _pending(self) -> bool:
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def _read(self) -> bool:
        """Take what has arrived; return whether anything has.

        An error of the daemon becomes the link's failure, behind which there is nothing to read.
        """
        try:
            data = self._socket.recv(_RECEIVE_BYTES)
        except _NOT_NOW:
            return False
        except ssl.SSLError as error:
            raise tls_failure(error) from None
        except OSError as error:
            raise ConnectionLostError(_broken(error)) from None
        if not data:
            raise ConnectionLostError("the daemon closed the connection")
        asked = []
        try:
            for message in self.conversation.receive(data):
                if isinstance(message, Ping):
                    asked.append(message.nonce)
                elif not isinstance(message, Pong):
                    self._inbox.append(message)
        except ProtocolError as error:
            # What arrived before the error is handed out first.
            self._failure = error
        # Only now, as sending may wait, and nothing may be half read then.
        for nonce in asked if self._failure is None else ():
            self.send(Pong(nonce))
        return True

    def _write(self, data: bytes | bytearray) -> int:
        """Return how many bytes the socket took."""
        try:
            return self._socket.send(data)
        except _NOT_NOW:
            return 0
        except OSError as error:
            broken = error
        # The daemon may have said why before it closed the connection, behind acknowledgements.
        while self._failure is None and self._read():
            pass
        raise again(self._failure or ConnectionLostError(_broken(broken)))


def _connected(address: Address, seconds: float, tls: Tls | None) -> socket.socket:
    """Return a connected socket; raise ConnectionLostError when nobody answers in time.

    Raises TlsError when TLS cannot be.
    """
    try:
        if isinstance(address, UnixAddress):
            return _connected_to_unix(address.path, seconds)
        connection = socket.create_connection((address.host, address.port), seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            connection = _shaken(connection, tls, tls.server_name or address.host)
    except TimeoutError:
        failure = "no answer in time"
    except ssl.SSLError as error:
        raise tls_failure(error) from None
    except OSError as error:
        failure = _broken(error)
    else:
        return connection
    raise ConnectionLostError(failure)


def _connected_to_unix(path: str, seconds: float) -> socket.socket:
    """Return a connected socket; raise OSError, of which TimeoutError where no place is free."""
    ends = time.monotonic() + seconds
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        connection.setblocking(False)
        for pause in pauses():
            if has_connected(connection, path):
                break
            if time.monotonic() > ends:
                raise TimeoutError
            time.sleep(pause)
        connection.settimeout(seconds)
    except BaseException:
        connection.close()
        raise
    return connection


def _shaken(connection: socket.socket, tls: Tls, server_name: str) -> ssl.SSLSocket:
    """Return a connection after the handshake of TLS; close it when that fails."""
    try:
        return tls.context().wrap_socket(connection, server_hostname=server_name)
    except BaseException:
        connection.close()
        raise


def _broken(error: OSError) -> str:
    return error.strerror or str(error)


def _left(since: float, seconds: float | None) -> float | None:
    """Return what is left of some seconds that began at `since`; None never ends."""
    return None if seconds is None else max(0.0, since + seconds - time.monotonic())


def _waitable(seconds: float) -> float:
    """Return how long to wait at a time, as the system cannot be told to wait without an end."""
    return min(seconds, _WAIT_SECONDS_MAX)


def _nothing(_link: _Link) -> None:
    """Prepare nothing after the greeting."""


# Between entering and leaving; a forked process has to know which are its parent's.
_open_feeders: WeakSet[Feeder] = WeakSet()
_clients: WeakSet[Client] = WeakSet()
_subscribed: WeakSet[_Link] = WeakSet()


def _after_fork() -> None:
    for feeder in list(_open_feeders):
        feeder._forget_parent()
    for client in list(_clients):
        client._leave()  # to the parent, whose connections they are
    for link in list(_subscribed):
        link.forget_parent()  # each process comes back for what it has not seen


os.register_at_fork(after_in_child=_after_fork)
