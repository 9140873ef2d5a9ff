"""The asyncio client: feed examples, follow rules, ask for the status.

    async with AsyncClient() as client:
        async with client.feed("flights") as feeder:
            await feeder.send(delays, late)
        async for published in client.subscribe("flights/late"):
            print(published.describe(), published.predict([10, 60]))

Every feeder and every subscription has a connection of its own, and so have all predictions
together, so none waits for another. Lost connections come back by themselves; examples are
numbered, so none is learned twice, and requests are named, so none is paid for twice.
"""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from littled_client.addresses import Address, TcpAddress, UnixAddress
from littled_client.batches import Piece
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
from littled_client.sources import skip_examples
from littled_client.tls import Tls, tls_failure
from littled_client.unix import has_connected, pauses
from littled_client.values import value_points
from littled_client.waits import Retry, Waits
from littled_protocol import limits
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
    Predict,
    Prediction,
    PredictionRefused,
    Release,
    Status,
    StatusRequest,
    Subscribe,
    Welcome,
)

_CHANNEL = 0
# Frames are handed to the socket in bunches of about this size, or when the program pauses.
_BUNCH_BYTES = 64 * 1024
# Releases that wait for the program; beyond that the socket is not read.
_RELEASES_MAX = 64

_Answer = TypeVar("_Answer", bound=Message)
_Found = TypeVar("_Found")
_Asked = asyncio.Future[Prediction | PredictionRefused | Moved | None]


class AsyncClient:
    """A client of a daemon, or of several that share streams; an async context manager.

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
        self._asking = asyncio.Lock()
        # One connection to each daemon for statuses, one after another, and one for predictions.
        self._telling, self._answering = _Shared(), _Shared()
        self._links: set[_Link] = set()
        self._closed = False

    @property
    def instance(self) -> str | None:
        """The public name of the store that was met first; None before the first greeting."""
        return self._identity.instance

    async def instance_of(self, stream: str) -> str:
        """Return the public name of the store that a stream is in; asks for it once.

        Raises what `status` does.
        """
        while (known := self._identity.instance_of(stream)) is None:
            await self.status(stream)
        return known

    async def __aenter__(self) -> Self:
        """Connect and greet."""
        self._closed = False
        await self._reached(None, self._retry(), self._telling, _nothing)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close every connection; feeders and subscriptions still in use fail."""
        self._closed = True
        for link in list(self._links):
            link.end(ClientError("the client is closed"))
            link.abort()
            await link.closed.wait()

    def feed(
        self,
        stream: str,
        *,
        producer: str | None = None,
        record: str | Path | None = None,
        resumes: bool = False,
    ) -> AsyncFeeder:
        """Return a feeder of a stream, to be used as an async context manager.

        producer: overrides the client's. record: file to which the frames are recorded as well.
        resumes: places of the producer's source are kept with its examples (`send`), and the last
        durable one is had back (`resume`); entering raises ClientError where the daemon is too old.
        """
        name = producer or self.producer or random_producer()
        return AsyncFeeder(self, stream, name, record, resumes=resumes)

    async def subscribe(self, learner: str, since: int = 0) -> AsyncGenerator[Published, None]:
        """Yield what a learner has published after version `since`, and whatever it will publish.

        learner: "stream/learner". After a lost connection it goes on where it was. Raises
        UnreachableError when the daemon does not come back in time, ChangedStoreError when it comes
        back with another store, ProtocolError for an unknown learner or an ill-formed name.
        """
        retry, seen, reason = self._retry(), Witness(since), None
        while True:
            releases = _Releases()
            begin = partial(self._begin, Subscribe(learner, seen.since()), releases)
            stream = learner.partition("/")[0]
            link = await self._linked(stream, retry, reason, releases.deliver, begin)
            try:
                while (release := await releases.next()) is not None:
                    if not seen.is_new(release):
                        continue
                    retry.progressed()
                    yield Published.from_release(release, self._identity.words.get(learner))
            finally:
                link.end()
            reason = link.over
            if not is_passing(reason, coming_back=False):
                raise reason

    async def latest(self, learner: str) -> Published | None:
        """Return what a learner has published last, None when it has not published anything yet.

        Raises ClientError when the daemon has no such learner, and whatever `subscribe` raises.
        """
        version = newest_version(await self.status(learner.partition("/")[0]), learner)
        if not version:
            return None
        async with aclosing(self.subscribe(learner, version - 1)) as releases:
            return await anext(releases)

    async def predict(
        self, learner: str, values: Any, *, request: bytes | None = None
    ) -> Predictions:
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
        stream = await self._x_type(questions.stream)
        words = self._identity.words_of(learner)
        x_type = words.x_type_of(stream)
        points = value_points(x_type, words, values)
        return await self._predicted(questions, x_type, points)

    async def predict_points(
        self, learner: str, points: Any, *, request: bytes | None = None
    ) -> Predictions:
        """Return a learner's predictions for points (m,), or (m, columns), of the stream's type.

        The same as `predict` for who has points, which are values less the stream's offset.
        """
        questions = Questions(learner, request)
        stream, words = await self._x_type(questions.stream), self._identity.words.get(learner)
        x_type = stream if words is None else words.x_type_of(stream)
        return await self._predicted(questions, x_type, points)

    async def _x_type(self, stream: str) -> str:
        """Return the type of a stream's points; ask once for those of all, and for all words."""
        known = self._identity.x_types
        if stream not in known:
            known.update(x_types_of(await self.status(stream), stream))
        return known[stream]

    async def _predicted(self, questions: Questions, x_type: str, points: Any) -> Predictions:
        retry = self._retry()
        for message in questions.cut(point_type(x_type), points, self._identity.frame_bytes_max):
            ask = partial(_Link.predict, message=message)
            answer = await self._reached(questions.stream, retry, self._answering, ask)
            retry.progressed()
            questions.take(answer)
        return questions.result()

    async def status(self, stream: str | None = None) -> dict[str, Any]:
        """Return the daemon's public facts about itself, as its protocol lists them.

        stream: of this one among its streams, where the daemon knows how to; None for all that it
        serves itself.

        Raises UnreachableError when the daemon does not come back in time.
        """
        async with self._asking:
            ask = partial(self._said, stream=stream)
            return await self._reached(stream, self._retry(), self._telling, ask)

    async def _said(self, link: _Link, stream: str | None) -> dict[str, Any]:
        """Return what the daemon says of itself over a link, and keep the words of its learners."""
        body = (await link.ask(StatusRequest(stream), Status)).body
        while (last := rest_of(body)) is not None:
            join_page(body, (await link.ask(StatusRequest(stream, last), Status)).body)
        self._identity.words.update(words_of(body))
        return body

    async def _begin(self, subscribe: Subscribe, releases: _Releases, link: _Link) -> None:
        """Subscribe over a link, after asking whether the stream is there, and for words.

        Older daemons, which serve what they know of, are asked for words alone, once.
        """
        if link.knows_moved or subscribe.learner not in self._identity.words:
            await self._said(link, subscribe.learner.partition("/")[0])
        releases.come_over(link)
        link.send(subscribe)

    def _retry(self) -> Retry:
        """Return the patience for something new: that for coming back once the daemon is known."""
        retry = Retry(self.waits, _now())
        if self.instance is not None:
            retry.connected(_now())
        return retry

    async def _linked(
        self,
        stream: str,
        retry: Retry,
        reason: Exception | None,
        deliver: Callable[[Message | None], None],
        prepare: Callable[[_Link], Awaitable[None]],
    ) -> _Link:
        """Return a link of its own to where a stream is, prepared; see `_searched`."""

        async def begin(place: Place) -> _Link:
            link = await self._greeted(place, deliver)
            try:
                await self._begun(link, stream, prepare)
                if link.reason is not None:
                    raise link.reason
            except BaseException:
                link.end()
                raise
            return link

        return await self._searched(stream, retry, reason, begin)

    async def _reached(
        self,
        stream: str | None,
        retry: Retry,
        shared: _Shared,
        ask: Callable[[_Link], Awaitable[_Found]],
    ) -> _Found:
        """Return what is said where a stream is, over the one link there that is shared."""

        async def begin(place: Place) -> _Found:
            async with shared.linking:
                link = shared.links.get(place.address)
                if link is None or link.reason is not None:
                    link = shared.links[place.address] = await self._greeted(place, _ignore)
            return await self._begun(link, stream, ask)

        return await self._searched(stream, retry, None, begin)

    async def _searched(
        self,
        stream: str | None,
        retry: Retry,
        reason: Exception | None,
        begin: Callable[[Place], Awaitable[_Found]],
    ) -> _Found:
        """Return what `begin` comes to where a stream is, looking for it as long as `retry` allows.

        reason: why the last link ended, None when there was none.
        """
        coming_back, again_seconds = reason is not None, 0.0
        while True:
            if reason is not None:
                pause = retry.pause(_now(), again_seconds)
                if pause is None:
                    raise given_up(self._places.addresses, reason) from reason
                await asyncio.sleep(pause)
            walk = self._places.walk(stream)
            while (place := walk.next()) is not None:
                if self._closed:
                    raise ClientError("the client is closed")
                try:
                    found = await begin(place)
                except RedirectedError as redirected:
                    walk.redirected(redirected.moved)
                except (ConnectionLostError, ProtocolError) as failure:
                    if not is_passing(failure, coming_back=coming_back):
                        raise
                    walk.failed(failure)
                else:
                    retry.connected(_now())
                    self._places.reached(place)
                    return found
            reason, again_seconds = walk.failure(), walk.again_seconds

    async def _begun(
        self, link: _Link, stream: str | None, begin: Callable[[_Link], Awaitable[_Found]]
    ) -> _Found:
        """Return what `begin` comes to, unless the stream was in another store before."""
        welcome = link.welcome
        if self._identity.is_other(stream, welcome) and not (
            stream is None and len(self._places.given) > 1
        ):
            if stream is not None and link.knows_moved:
                async with link.asking:
                    await link.ask(StatusRequest(stream), Status)  # which may say where it is
            raise changed_store()
        found = await begin(link)
        if stream is not None:
            self._identity.serves(stream, welcome)
        return found

    async def _greeted(self, place: Place, deliver: Callable[[Message | None], None]) -> _Link:
        """Return a link after one try; raise ConnectionLostError or ProtocolError."""
        link = await _Link.connect(place, self.waits, deliver)
        if self._closed:  # meanwhile, by whoever closed all others
            link.end()
            raise ClientError("the client is closed")
        self._links.add(link)
        link.forget = self._links.discard
        try:
            self._identity.met(await link.ask(greeting(self._token), Welcome))
        except BaseException:
            link.end()
            raise
        return link


class AsyncFeeder:
    """Feeds one stream under one producer's name; an async context manager made by `feed`.

    Entering opens the stream. Leaving takes nothing new and waits until every example is durable;
    leaving by an exception waits for nothing. Examples keep their order. When the daemon's credit
    is used up, sending waits. A lost connection comes back by itself, and unacknowledged examples
    are sent again, to be learned once.

    Batches leave at once. So does a single example, at the end of the present turn of the event
    loop, when everything sent before is acknowledged; otherwise it waits for others as long as
    every turn brings some. All that have joined leave as one frame after a turn that brought none,
    when 1,024 have, when the first one has waited 0.4 milliseconds, or with the next batch or
    `flush`.

    Every method raises UnreachableError when the daemon stays away, ChangedStoreError when it comes
    back with another or an older store, RemoteProtocolError when it refuses (unknown_stream,
    invalid_examples, producer_busy when another program uses the name).
    """

    def __init__(
        self,
        client: AsyncClient,
        stream: str,
        producer: str,
        record: str | Path | None,
        *,
        resumes: bool = False,
    ) -> None:
        """Prepare; made by `AsyncClient.feed`."""
        self.stream = stream
        self.producer = producer
        self._client = client
        self._record = record
        self._recorder: RecordingWriter | None = None
        self._outbox = Outbox(_CHANNEL, resumes=resumes)
        self._retry = client._retry()
        self._link: _Link | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._due = math.inf
        # How many single examples had joined a turn of the event loop ago, None when none had.
        self._joined_before: int | None = None
        # While the block is left, which waits for all that was taken before.
        self._leaving = False
        self._failure: BaseException | None = ClientError("the feeder is not open")

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
        """How many of them are durable."""
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

    async def __aenter__(self) -> Self:
        """Connect and open the stream."""
        self._link = await self._linked(None)
        self._failure, self._leaving = None, False
        self._keeper = asyncio.create_task(self._keep(self._link))
        self._keeper.add_done_callback(self._kept)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for the last acknowledgement, unless an exception is on its way; disconnect."""
        # Nothing new from now on, which could go on and on in other tasks.
        self._leaving = True
        try:
            if error is not None:
                self._depart()
            else:
                self._check_failure()
                await self._wait(self._is_settled)
        finally:
            if self._failure is None:
                self._failure = ClientError("the feeder is closed")
            self._changed.set()  # for who waits in another task, also without a connection
            if self._keeper is not None:
                self._keeper.cancel()
            if self._link is not None:
                self._link.finish()
            if self._keeper is not None:
                await asyncio.wait([self._keeper])
            if self._recorder is not None:
                self._recorder.close()

    async def send(self, x: Any, y: Any, users: Any = None, *, resume: bytes | None = None) -> None:
        """Send a batch: points x and labels y (n,), arrays or sequences, n of any size.

        The points have the shape that `littled_protocol.columns` lists for `x_type`; for u128 they
        may be integers or IP addresses too. users: the user of each example, a str, bytes or an
        integer, for a stream that protects users (`names_users`), and for no other; only digests
        are sent, which may be given instead (`littled_client.hash_users`). resume: the place of the
        producer's source behind the batch, at most 64 bytes that mean something to the program
        alone; it becomes durable together with the last example. Raises ExampleError, and sends
        nothing, when one of them does not fit. A batch leaves at once; one of a single
        example is sent as `send_one` does. When cancelled, a part may have been sent:
        `next_sequence` tells.
        """
        if resume is None and (single := lone(x, y, users)) is not None:
            await self.send_one(*single)
            return
        self._check()
        for piece in self._outbox.cut(x, y, users, resume):
            await self._send(piece)

    async def send_one(self, x: Any, y: Any, user: Any = None) -> None:
        """Send a single example, at once or together with others; see `AsyncFeeder`.

        x: one point, an integer or what else `send` takes; y: its label, 0 or 1; user: as in
        `send`. Raises ExampleError, and sends nothing of it, when it is none. When cancelled, the
        example is sent all the same.
        """
        if self._leaving or self._failure is not None:
            self._check()
        if self._outbox.join(x, y, user):
            await self._joined()

    async def send_rest(self, batches: Iterable[Batch]) -> int:
        """Send a source from the first example on that the daemon does not have yet.

        batches: all examples of this producer since its first, such as a `Source` of a file; one of
        a pipe would hold up the loop. Returns how many were sent. Raises SourceError when the
        source is shorter than what was fed before.
        """
        before = self.next_sequence
        for batch in skip_examples(batches, before):
            await self.send(*batch)
        return self.next_sequence - before

    async def flush(self) -> None:
        """Wait until everything sent before is durable, whatever other tasks send meanwhile.

        Raises ClientError outside of the feeder's block.
        """
        self._check_failure()
        await self._wait(partial(self._are_durable, self._outbox.next_sequence))

    def _are_durable(self, examples: int) -> bool:
        """Whether so many examples are; sends what has joined, as far as there is room now."""
        self._depart()
        return self._outbox.acknowledged >= examples

    def _is_settled(self) -> bool:
        return self._depart() and self._outbox.settled

    def _check(self) -> None:
        """Raise what made the feeder fail, or that its block is being left."""
        self._check_failure()
        if self._leaving:
            raise ClientError("the feeder is closed")

    def _check_failure(self) -> None:
        if self._failure is not None:
            raise again(self._failure)

    async def _send(self, piece: Piece) -> None:
        """Send a piece of a batch after all that has joined; a single example joins that."""
        if piece.count == 1 and piece.resume is None:
            self._check_failure()
            if self._outbox.join_piece(piece):
                await self._joined()
            return
        while not self._has_room(piece.size_bytes):
            if not self._outbox.fits(piece):
                for part in self._outbox.cut_again(piece):
                    await self._send(part)
                return
            await self._wait(partial(self._is_ready_for, piece))
        message = self._outbox.take(piece)
        assert message is not None
        self._write_down(message)
        self._check_failure()
        if cast("_Link", self._link).send(message):
            # Others get their turn, and acknowledgements are read.
            await asyncio.sleep(0)

    def _is_ready_for(self, piece: Piece) -> bool:
        return self._has_room(piece.size_bytes) or not self._outbox.fits(piece)

    def _has_room(self, payload_bytes: int) -> bool:
        return self._depart() and self._link is not None and self._outbox.has_room(payload_bytes)

    async def _joined(self) -> None:
        """Have what has joined sent soon.

        Called for the first one, for every eighth after it, and for the last that fits.
        """
        self._outbox.heard()
        if self._outbox.full:
            await self._depart_in_time()
        elif self._outbox.joined > 1:
            if time.monotonic() >= self._due:
                await self._depart_in_time()
        else:
            self._due = time.monotonic() + JOINED_SECONDS_MAX
            if self._joined_before is None:
                self._joined_before = 0
                asyncio.get_running_loop().call_soon(self._turn)

    async def _depart_in_time(self) -> None:
        """Send what has joined, and give others their turn; wait while there is no room for more.

        What has joined for a while and has no room goes on joining, until a frame is full.
        """
        if not self._depart():
            self._due = math.inf
            await self._wait(self._has_room_to_join)
        await asyncio.sleep(0)

    def _has_room_to_join(self) -> bool:
        return self._depart() or not self._outbox.full

    def _turn(self) -> None:
        """Send what has joined; let it wait while others are under way and every turn brings more.

        Called in the turn of the event loop after the first one joined, and in those after it.
        """
        joined, before = self._outbox.joined, self._joined_before
        if self._outbox.under_way and joined != before and time.monotonic() < self._due:
            self._joined_before = joined
            asyncio.get_running_loop().call_soon(self._turn)
            return
        self._joined_before = None
        self._depart()

    def _depart(self) -> bool:
        """Send all that has joined as far as there is room now; return whether nothing is left."""
        while self._outbox.joined:
            link = self._link
            if link is None or self._failure is not None:
                return False
            message = self._outbox.take_joined()
            if message is None:
                return False
            self._write_down(message)
            if self._failure is None:
                link.send_now(message)
        return True

    def _write_down(self, message: Examples) -> None:
        """Record a message that is about to be sent, if that is wanted; or fail for good."""
        if self._recorder is not None:
            try:
                self._recorder.write(message)
            except RecordingError as failure:
                self._failure = failure
                self._changed.set()

    async def _wait(self, ready: Callable[[], bool]) -> None:
        while not ready():
            self._check_failure()
            self._changed.clear()
            await self._changed.wait()

    async def _linked(self, reason: Exception | None) -> _Link:
        """Return a link on which the stream is open; reason: why the last one ended."""
        return await self._client._linked(
            self.stream, self._retry, reason, self._deliver, self._open
        )

    async def _open(self, link: _Link) -> None:
        with naming(self.stream):
            opened = await link.ask(self._outbox.request(self.stream, self.producer), Opened)
        self._outbox.opened(link.welcome, opened)
        if self._record is not None and self._recorder is None:
            self._recorder = RecordingWriter(self._record, link.welcome, opened)
        self._send_again(link)

    def _send_again(self, link: _Link) -> None:
        for message in self._outbox.again():
            link.send(message)

    def _deliver(self, message: Message | None) -> None:
        if message is None:
            self._link = None
        elif isinstance(message, Ack):
            self._outbox.acknowledge(message)
            self._retry.progressed()
            if self._link is not None:
                self._send_again(self._link)
                self._depart()
        self._changed.set()

    async def _keep(self, link: _Link) -> None:
        """Get a lost connection back, again and again, until it is not worth trying."""
        while True:
            await link.ended.wait()
            reason = link.over
            if not is_passing(reason, coming_back=False):
                raise reason
            link = await self._linked(reason)
            self._link = link
            self._depart()
            self._changed.set()

    def _kept(self, keeper: asyncio.Task[None]) -> None:
        """Whatever ended the keeper is what every method says from now on."""
        if not keeper.cancelled():
            self._failure = keeper.exception()
            self._changed.set()


class _Shared:
    """Links that many calls share, one to each daemon, and who makes one."""

    def __init__(self) -> None:
        self.links: dict[Address, _Link] = {}
        self.linking = asyncio.Lock()


class _Releases:
    """The releases that arrived on one link and wait for the program."""

    def __init__(self) -> None:
        self._link: _Link | None = None
        self._waiting: deque[Release] = deque()
        self._over = False
        self._changed = asyncio.Event()

    def come_over(self, link: _Link) -> None:
        """Take what this link brings, and hold it back when too much waits.

        Others that were tried before it are over, which does not count.
        """
        self._link, self._over = link, False

    def deliver(self, message: Message | None) -> None:
        """Keep a release; None says that the link is over."""
        if isinstance(message, Release):
            self._waiting.append(message)
            if self._link is not None and len(self._waiting) >= _RELEASES_MAX:
                self._link.pause()
        self._over |= message is None
        self._changed.set()

    async def next(self) -> Release | None:
        """Return the next release, None when the link is over and nothing is left."""
        while not self._waiting:
            if self._over:
                return None
            self._changed.clear()
            await self._changed.wait()
        release = self._waiting.popleft()
        if self._link is not None and len(self._waiting) < _RELEASES_MAX:
            self._link.resume()
        return release


class _Link(asyncio.Protocol):
    """One connection: bunches frames, hands messages to `deliver`, notices a silent daemon.

    `deliver(None)` says that the link is over; `reason` then says why.
    """

    def __init__(self, waits: Waits, deliver: Callable[[Message | None], None]) -> None:
        self.conversation = Conversation()
        self.reason: Exception | None = None
        self.ended = asyncio.Event()
        self.closed = asyncio.Event()
        self.forget: Callable[[_Link], None] = _ignore
        # One question at a time that is no request for predictions.
        self.asking = asyncio.Lock()
        self._waits = waits
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._expected: tuple[type[Message], asyncio.Future[Any]] | None = None
        # Unanswered requests for predictions by their names; None says that the link is over.
        self._asked: dict[bytes, _Asked] = {}
        self._bunch: list[bytes] = []
        self._bunch_bytes = 0
        self._written_bytes = 0
        self._stall: asyncio.TimerHandle | None = None
        self._paused = False
        self._heard = self._loop.time()
        self._watcher: asyncio.TimerHandle | None = None

    @classmethod
    async def connect(
        cls, place: Place, waits: Waits, deliver: Callable[[Message | None], None]
    ) -> _Link:
        """Return a link that is not greeted yet; raise ConnectionLostError when nobody answers.

        Raises TlsError when TLS cannot be.
        """
        loop, address, tls = asyncio.get_running_loop(), place.address, place.tls
        secret: dict[str, Any] = {}
        if tls is not None and isinstance(address, TcpAddress):
            secret = {"ssl": tls.context(), "server_hostname": tls.server_name or address.host}
        try:
            async with asyncio.timeout(waits.answer_seconds):
                if isinstance(address, UnixAddress):
                    connection = await _connected_to_unix(address.path)
                    connecting = loop.create_unix_connection(
                        lambda: cls(waits, deliver), sock=connection
                    )
                    return (await connecting)[1]
                host, port = address.host, address.port
                connecting = loop.create_connection(
                    lambda: cls(waits, deliver), host, port, **secret
                )
                return (await connecting)[1]
        except TimeoutError:
            failure = "no answer in time"
        except ssl.SSLError as error:
            raise tls_failure(error) from None
        except OSError as error:
            failure = error.strerror or str(error)
        raise ConnectionLostError(failure)

    @property
    def welcome(self) -> Welcome:
        """The daemon's greeting, after `_greeted`."""
        return cast("Welcome", self.conversation.welcome)

    @property
    def knows_moved(self) -> bool:
        """Whether the daemon may say that a stream is elsewhere."""
        return self.welcome.version >= VERSION_OF_MOVED

    @property
    def over(self) -> Exception:
        """Why the link ended, for one that did."""
        return self.reason or ConnectionLostError("the connection is closed")

    def send(self, message: Message) -> bool:
        """Send a message soon; return whether a bunch went out, so that it is time for a pause."""
        if self.reason is not None:
            raise again(self.reason)
        frame = self.conversation.send(message)
        if not self._bunch:
            self._loop.call_soon(self._flush)
        self._bunch.append(frame)
        self._bunch_bytes += len(frame)
        if self._bunch_bytes < _BUNCH_BYTES:
            return False
        self._flush()
        return True

    def send_now(self, message: Message) -> None:
        """Send a message, and before it what was sent in this turn of the event loop."""
        if self.reason is not None:
            raise again(self.reason)
        frame = self.conversation.send(message)
        self._bunch.append(frame)
        self._bunch_bytes += len(frame)
        self._flush()

    async def ask(self, message: Message, kind: type[_Answer]) -> _Answer:
        """Send a message and return the first answer of this kind.

        Raises RedirectedError when it says that the stream is elsewhere, the link's reason when it
        ends before, ConnectionLostError when it takes too long.
        """
        answer: asyncio.Future[_Answer] = self._loop.create_future()
        self._expected = (kind, answer)
        try:
            self.send(message)
            async with asyncio.timeout(self._waits.answer_seconds):
                return await answer
        except TimeoutError:
            self.end(ConnectionLostError("no answer in time"))
        except asyncio.CancelledError:
            self.end()  # the answer would be taken for that to the next question
            raise
        finally:
            self._expected = None
        raise again(self.over)

    async def predict(self, message: Predict) -> Prediction | PredictionRefused:
        """Send a request for predictions and return its answer, among other such requests.

        Waits while the daemon has as many unanswered requests as it may, or one of this name, whose
        caller went away. Raises as `ask` does.
        """
        while self.reason is None and (
            message.request in self._asked or len(self._asked) >= limits.predict_requests_max
        ):
            await self._wait_for_one(self._asked.values())
        self.send(message)
        answer: _Asked = self._loop.create_future()
        self._asked[message.request] = answer
        await self._wait_for_one([answer])
        found = answer.result()
        if found is None:
            raise again(self.over)
        if isinstance(found, Moved):
            raise RedirectedError(found)
        return found

    async def _wait_for_one(self, answers: Iterable[asyncio.Future[Any]]) -> None:
        """Wait until one of several answers is there, or the link is over."""
        # This cancels no answer when the caller is cancelled, unlike awaiting one.
        done, _ = await asyncio.wait(
            answers,
            timeout=self._waits.answer_seconds,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if not done:
            self.end(ConnectionLostError("no answer in time"))

    def end(self, reason: Exception | None = None) -> None:
        """End the link, once; without a reason, because it is not needed any more."""
        if self.reason is None:
            self._bunch.clear()
            self._end_for(reason or self.over)
            self.abort()

    def finish(self) -> None:
        """End the link when what it was given to send is written."""
        if self.reason is None and self._transport is not None:
            self._flush()
            self._end_for(self.over)
            self._transport.close()

    def abort(self) -> None:
        """Close the connection now."""
        if self._transport is not None:
            self._transport.abort()

    def _end_for(self, reason: Exception) -> None:
        self.reason = reason
        if self._watcher is not None:
            self._watcher.cancel()
        if self._stall is not None:
            self._stall.cancel()
        if self._expected is not None and not self._expected[1].done():
            self._expected[1].set_exception(self.reason)
        for answer in self._asked.values():
            answer.set_result(None)
        self._asked.clear()
        self.ended.set()
        self._deliver(None)

    def pause(self) -> None:
        """Read no more from the daemon for now."""
        if not self._paused and self._transport is not None and self.reason is None:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._paused and self._transport is not None and self.reason is None:
            self._paused = False
            self._heard = self._loop.time()
            self._transport.resume_reading()

    # --- called by the event loop ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._watcher = self._loop.call_later(self._waits.idle_seconds, self._watch)

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        try:
            for message in self.conversation.receive(data):
                self._handle(message)
        except (ProtocolError, ClientError) as error:
            self.end(error)

    def connection_lost(self, exc: Exception | None) -> None:
        lost = "the daemon closed the connection" if exc is None else "the connection broke"
        self.end(tls_failure(exc) if isinstance(exc, ssl.SSLError) else ConnectionLostError(lost))
        self.closed.set()
        self.forget(self)

    def _handle(self, message: Message) -> None:
        if self._expected is not None and isinstance(message, self._expected[0]):
            if not self._expected[1].done():
                self._expected[1].set_result(message)
        elif isinstance(message, Prediction | PredictionRefused):
            self._asked.pop(message.request).set_result(message)
        elif isinstance(message, Moved):
            self._redirect(message)
        elif isinstance(message, Ping):
            self.send(Pong(message.nonce))
        elif not isinstance(message, Pong):
            self._deliver(message)

    def _redirect(self, moved: Moved) -> None:
        """Give the answer that a stream is elsewhere to who asked for it."""
        if moved.request is not None:
            self._asked.pop(moved.request).set_result(moved)
        elif moved.learner is not None:
            self.end(ConnectionLostError(MOVED_AWAY))
        elif self._expected is not None and not self._expected[1].done():
            self._expected[1].set_exception(RedirectedError(moved))

    def _flush(self) -> None:
        if self._bunch and self._transport is not None:
            self._transport.write(b"".join(self._bunch))
            self._written_bytes += self._bunch_bytes
            self._bunch.clear()
            self._bunch_bytes = 0
            if self._stall is None and self._transport.get_write_buffer_size():
                self._watch_sending(self._heard)

    def _watch_sending(self, heard: float) -> None:
        """Look again later whether the daemon has taken anything, or has been heard."""
        taken = self._taken_bytes()
        self._stall = self._loop.call_later(self._waits.send_seconds, self._sent, taken, heard)

    def _sent(self, taken: int, heard: float) -> None:
        """Take a daemon for lost that has neither taken nor said anything since the last look."""
        self._stall = None
        if self._taken_bytes() == self._written_bytes:
            return
        if self._taken_bytes() == taken and self._heard == heard:
            self.end(ConnectionLostError("the daemon takes no data"))
        else:
            self._watch_sending(self._heard)

    def _taken_bytes(self) -> int:
        """How many bytes of those written the system has taken, or TLS."""
        transport = cast("asyncio.Transport", self._transport)
        return self._written_bytes - transport.get_write_buffer_size()

    def _watch(self) -> None:
        """Ask a silent daemon for a sign of life; take it for lost when it gives none."""
        now, idle, pong = self._loop.time(), self._waits.idle_seconds, self._waits.pong_seconds
        if self._paused:
            self._heard = now
        silence = now - self._heard
        if silence >= idle + pong:
            self.end(ConnectionLostError("the daemon fell silent"))
            return
        asked = silence >= idle
        if asked:
            self.send(Ping(0))
        self._watcher = self._loop.call_later(idle + asked * pong - silence, self._watch)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _ignore(_anything: object) -> None:
    """Deliver to nobody."""


async def _nothing(_link: _Link) -> None:
    """Prepare nothing after the greeting."""


async def _connected_to_unix(path: str) -> socket.socket:
    """Return a connected socket, however long that takes; raise OSError."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        for pause in pauses():
            if has_connected(connection, path):
                break
            await asyncio.sleep(pause)
    except BaseException:
        connection.close()
        raise
    return connection
