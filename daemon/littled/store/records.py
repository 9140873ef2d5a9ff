"""Values of the store and the hash chains over them.

Every stream's journal is a chain: the head of a record covers the record and the head before it, so
a head names the whole history up to it. The noise of the learners is bound to these heads. The
ledger of a stream, the releases of a learner and the predictions of a stream have chains of their
own, which begin at a value derived from the stream's genesis.

The chain of predictions has two links for each request. The first covers the prediction before it,
the journal up to the end of the window, and the question: the noise of the answers is bound to it.
The second adds the answers.

All chains use BLAKE2b with 32 bytes, kept apart by its person field. Every variable part is hashed
with its length, so two different histories never feed the hash the same bytes. Columns that stand
beside the database come in as their BLAKE3, which hashes several times as many bytes a second.
"""

from dataclasses import dataclass
from hashlib import blake2b, sha256
from struct import Struct

from blake3 import blake3

from littled.limits import COLUMNS_BESIDE_RECORD_BYTES_MIN

HEAD_BYTES = 32

_GENESIS = b"littled genesis"
_RECORD = b"littled record"
_RECORD_OF_USERS = b"littled of users"
_RECORD_BESIDE = b"littled beside"
_LEDGER_GENESIS = b"littled ledgers"
_LEDGER = b"littled ledger"
_RELEASE_GENESIS = b"littled releases"
_RELEASE = b"littled release"
_SNAPSHOT = b"littled snapshot"
_PREDICTION_GENESIS = b"littled asking"
_QUESTION = b"littled question"
_ANSWER = b"littled answer"
# number, first position, count, sequence, bytes of producer, of x, of y
_RECORD_FRAME = Struct(">7Q")
# number, window, number of points, bytes of learner, of request, of x
_QUESTION_FRAME = Struct(">6Q")
_LENGTH = Struct(">Q")
_NUMBER = Struct(">q")
_RECORD_HASH = blake2b(digest_size=HEAD_BYTES, person=_RECORD)
_RECORD_OF_USERS_HASH = blake2b(digest_size=HEAD_BYTES, person=_RECORD_OF_USERS)
_RECORD_BESIDE_HASH = blake2b(digest_size=HEAD_BYTES, person=_RECORD_BESIDE)


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A place in a producer's source, in the producer's own words, at most 64 bytes.

    sequence: the number of the producer's examples before it.
    """

    sequence: int
    resume: bytes


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A batch of consecutive examples of one producer, not yet in the journal.

    sequence: index of the first example among the producer's on this stream. count: number of
    examples, at least 1. x: their points as a column of the wire. y: their labels, one byte each.
    users: the keyed hash of each example's user, 16 bytes each, on a stream that protects users;
    empty on others. place: the last place of the producer's source among or behind them, None where
    it is not told; it is no part of the record.
    """

    stream: str
    producer: str
    sequence: int
    count: int
    x: bytes
    y: bytes
    users: bytes = b""
    place: SourcePlace | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A record of the journal. Private: x, y and users, which are as in `NewRecord`.

    number: 0, 1, 2, ... within the stream. first_position: of its first example in the stream.
    chain_head: head of the chain with this record as its last. A record without examples is a
    restore (`littled.store.restoration`).
    """

    stream: str
    number: int
    first_position: int
    producer: str
    sequence: int
    count: int
    x: bytes
    y: bytes
    chain_head: bytes
    users: bytes = b""

    @property
    def restores(self) -> bool:
        """Whether it says that the store goes on from an older copy, and has no examples."""
        return not self.count


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A public release of the learner "stream/learner".

    version: 1, 2, 3, ... body: the encoded message that subscribers get. charge: number of the
    ledger entry that paid for it, None where nothing new was paid.
    """

    learner: str
    version: int
    body: bytes
    charge: int | None

    @property
    def stream(self) -> str:
        """Name of the stream that the learner is fed by."""
        return self.learner.partition("/")[0]


@dataclass(frozen=True, slots=True)
class NewPrediction:
    """The answers to one request to the learner "stream/learner", not yet stored. Private: y.

    number: 0, 1, 2, ... among the predictions of the stream. window: number of the window that the
    answers come from; record: number of the journal's record that holds its last example. request:
    what the client calls it. count: number of points, at least 1; x: the points as a column of the
    wire; y: the answers, one byte each. question_head: what the noise of the answers is bound to.
    """

    learner: str
    number: int
    window: int
    record: int
    request: bytes
    count: int
    x: bytes
    y: bytes
    question_head: bytes

    @property
    def stream(self) -> str:
        """Name of the stream that the learner is fed by."""
        return self.learner.partition("/")[0]


@dataclass(frozen=True, slots=True)
class StoredPrediction(NewPrediction):
    """A stored prediction.

    charge: number of the ledger entry that paid for it. head: of the chain with it as the last.
    """

    charge: int
    head: bytes


def genesis(salt: bytes, stream: str, configuration: bytes, plan: bytes) -> bytes:
    """The head before a stream's first record: binds the store's salt and the stream's plan.

    salt: 32 random bytes of the store. configuration, plan: the bytes as they are stored.
    """
    digest = blake2b(salt, digest_size=HEAD_BYTES, person=_GENESIS)
    for part in (stream.encode(), configuration, plan):
        digest.update(_LENGTH.pack(len(part)))
        digest.update(part)
    return digest.digest()


def record_head(
    head: bytes,
    number: int,
    first_position: int,
    count: int,
    sequence: int,
    producer: str,
    x: bytes,
    y: bytes,
    users: bytes = b"",
) -> bytes:
    """The head after a record in the database, from the head before it (32 bytes).

    A record with users is hashed under another person field, the SHA-256 of its users last: they
    are most of its bytes, and where the processor knows SHA-256 it is three times as fast.
    """
    name = producer.encode()
    frame = _RECORD_FRAME.pack(number, first_position, count, sequence, len(name), len(x), len(y))
    # A copy of an empty hash is made faster than a new one; this runs for every record.
    digest = _RECORD_OF_USERS_HASH.copy() if users else _RECORD_HASH.copy()
    digest.update(head + frame + name)
    digest.update(x)
    digest.update(y)
    if users:
        digest.update(sha256(users).digest())
    return digest.digest()


def record_head_beside(
    head: bytes,
    number: int,
    first_position: int,
    count: int,
    sequence: int,
    producer: str,
    x: bytes,
    y: bytes,
    users: bytes = b"",
) -> bytes:
    """The head after a record whose columns stand beside the database, as `record_head`."""
    name = producer.encode()
    frame = _RECORD_FRAME.pack(number, first_position, count, sequence, len(name), len(x), len(y))
    digest = _RECORD_BESIDE_HASH.copy()
    digest.update(head + frame + _LENGTH.pack(len(users)) + name)
    digest.update(blake3(x).update(y).update(users).digest())
    return digest.digest()


def continues(
    stored: bytes,
    head: bytes,
    number: int,
    first_position: int,
    count: int,
    sequence: int,
    producer: str,
    x: bytes,
    y: bytes,
    users: bytes = b"",
) -> bool:
    """Whether `stored` is the head after a record, wherever its columns stand.

    Stores whose first columns stood beside the database before format 9 have heads of either kind.
    """
    large = len(x) + len(y) + len(users) >= COLUMNS_BESIDE_RECORD_BYTES_MIN
    kinds = (record_head_beside, record_head) if large else (record_head, record_head_beside)
    values = head, number, first_position, count, sequence, producer, x, y, users
    return any(kind(*values) == stored for kind in kinds)


def ledger_genesis(stream_genesis: bytes) -> bytes:
    """The head before a stream's first ledger entry."""
    return blake2b(stream_genesis, digest_size=HEAD_BYTES, person=_LEDGER_GENESIS).digest()


def ledger_head(head: bytes, entry: bytes) -> bytes:
    """The head after a ledger entry, given by its canonical bytes."""
    return blake2b(head + entry, digest_size=HEAD_BYTES, person=_LEDGER).digest()


def release_genesis(stream_genesis: bytes, learner: str) -> bytes:
    """The head before a learner's first release."""
    return blake2b(
        stream_genesis + learner.encode(), digest_size=HEAD_BYTES, person=_RELEASE_GENESIS
    ).digest()


def release_head(head: bytes, release: StoredRelease) -> bytes:
    """The head after a release."""
    charge = -1 if release.charge is None else release.charge
    frame = _NUMBER.pack(release.version) + _NUMBER.pack(charge)
    return blake2b(head + frame + release.body, digest_size=HEAD_BYTES, person=_RELEASE).digest()


def snapshot_checksum(head: bytes, record_number: int, state: bytes) -> bytes:
    """Checksum of an engine's state after a record with this chain head."""
    digest = blake2b(head + _NUMBER.pack(record_number), digest_size=32, person=_SNAPSHOT)
    digest.update(state)
    return digest.digest()


def prediction_genesis(stream_genesis: bytes) -> bytes:
    """The head before a stream's first prediction."""
    return blake2b(stream_genesis, digest_size=HEAD_BYTES, person=_PREDICTION_GENESIS).digest()


def question_head(
    head: bytes,
    journal_head: bytes,
    learner: str,
    number: int,
    window: int,
    request: bytes,
    count: int,
    x: bytes,
) -> bytes:
    """The head that the noise of a prediction's answers is bound to; see `NewPrediction`.

    head: after the prediction before it. journal_head: after the record that ends the window.
    """
    name = learner.encode()
    frame = _QUESTION_FRAME.pack(number, window, count, len(name), len(request), len(x))
    digest = blake2b(head + journal_head + frame, digest_size=HEAD_BYTES, person=_QUESTION)
    for part in (name, request, x):
        digest.update(part)
    return digest.digest()


def prediction_head(question: bytes, y: bytes) -> bytes:
    """The head after a prediction, from its `question_head` and its answers."""
    return blake2b(question + y, digest_size=HEAD_BYTES, person=_ANSWER).digest()
