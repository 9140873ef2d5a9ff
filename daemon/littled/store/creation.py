"""Making a store: everything or nothing, and durable including the names of its files."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any

from littled.budget.price import Price
from littled.store.database import (
    NUMBER_BITS,
    Facts,
    StreamFacts,
    Undo,
    answer_windows,
    is_of_users,
    json_bytes,
    write_facts,
)
from littled.store.errors import StoreFailed, StoreRefused
from littled.store.files import create_private, sync_folder
from littled.store.keys import fingerprint, key_text, new_key, read_key
from littled.store.mark import (
    HighWaterMark,
    Numbers,
    Point,
    StreamMark,
    no_predictions,
)
from littled.store.place import Place
from littled.store.records import genesis, ledger_genesis
from littled.store.registers import open_register
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import check_name

_SALT_BYTES = 32
_INSTANCE_BYTES = 16
# With more streams, each has a configuration of its own (`littled.store.growth`). No version before
# that could make a store with so many.
STREAMS_TOGETHER_MAX = 256
# Keys of rows, 63 bits, have so many bits left for the stream.
STREAMS_MAX = (1 << (63 - NUMBER_BITS)) - 1


def create_store(
    place: Place, configuration: Mapping[str, Any], plans: Mapping[str, Mapping[str, Any]]
) -> None:
    """Make a store; raises StoreRefused and leaves nothing behind when that is not possible.

    The folder may exist if it is empty. A key in a place named by the operator is used if it is
    there already. An interrupted creation never leaves something that opens as a store.
    """
    check_plans(plans)
    made: list[Undo] = []
    try:
        with ExitStack() as opened, undone_on_failure(made):
            _make(place, opened, configuration, plans, made)
    except StoreFailed as error:
        raise StoreRefused(f"cannot make a store in {place.name}: {error}") from error
    except OSError as error:
        raise StoreRefused(
            f"cannot make a store in {place.name}: {error.filename or place.name}: {error.strerror}"
        ) from error


def check_plans(plans: Mapping[str, Mapping[str, Any]], streams: int = 0) -> None:
    """StoreRefused unless these can be streams of a store that has so many already."""
    if not plans:
        raise StoreRefused("a store needs at least one stream")
    if streams + len(plans) > STREAMS_MAX:
        raise StoreRefused(f"a store has room for {STREAMS_MAX} streams: make another one")
    for stream, plan in plans.items():
        try:
            check_name(stream, "the name of a stream")
            Price.from_dict(plan["caps"])
            horizon = plan["horizon"]
        except ProtocolError as error:
            raise StoreRefused(str(error)) from error
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise StoreRefused(f"the plan of {stream} needs caps and a horizon") from error
        if type(horizon) is not int or horizon < 1:
            raise StoreRefused(f"the plan of {stream} needs a horizon of at least one example")
        answer_windows(stream, plan)


@contextmanager
def undone_on_failure(made: list[Undo]) -> Iterator[None]:
    """Take back what `made` lists, last first, unless everything went well."""
    try:
        yield
    except BaseException:
        for undo in reversed(made):
            with suppress(OSError, StoreFailed):
                undo()
        raise


def _make(
    place: Place,
    opened: ExitStack,
    configuration: Mapping[str, Any],
    plans: Mapping[str, Mapping[str, Any]],
    made: list[Undo],
) -> None:
    named = place.database.prepare(made)
    if place.key_given and place.key.exists():
        key = read_key(place.key, handed_over=True)
    else:
        key = new_key()
        create_private(place.key, key_text(key))
        made.append(place.key.unlink)
        named.append(place.key.parent)
    facts = _facts(key, configuration, plans)
    register = opened.enter_context(closing(open_register(place, key)))
    with place.database.creating(lambda connection: write_facts(connection, facts), made):
        register.create(HighWaterMark(facts.instance, first_marks(facts.streams), {}))
        made.append(register.discard)
    for folder in named:
        sync_folder(folder)


def _facts(
    key: bytes, configuration: Mapping[str, Any], plans: Mapping[str, Mapping[str, Any]]
) -> Facts:
    instance = secrets.token_hex(_INSTANCE_BYTES)
    salt = secrets.token_bytes(_SALT_BYTES)
    if len(plans) > STREAMS_TOGETHER_MAX:
        text = json_bytes({**configuration, "streams": {}})
        streams = new_streams(salt, configuration, plans, 1)
    else:
        text, streams = json_bytes(configuration), {}
        for identity, (stream, values) in enumerate(plans.items(), start=1):
            plan = json_bytes(values)
            start = genesis(salt, stream, text, plan)
            streams[stream] = StreamFacts(identity, plan, start, of_users=is_of_users(plan))
    return Facts(instance, salt, fingerprint(key, instance), text, streams)


def new_streams(
    salt: bytes,
    configuration: Mapping[str, Any],
    plans: Mapping[str, Mapping[str, Any]],
    first: int,
) -> dict[str, StreamFacts]:
    """Streams that each have their part of a configuration; `first` is the first one's identity."""
    found = {}
    for identity, (stream, values) in enumerate(plans.items(), start=first):
        part = {"streams": {stream: configuration.get("streams", {}).get(stream, {})}}
        text, plan = json_bytes(part), json_bytes(values)
        start = genesis(salt, stream, text, plan)
        found[stream] = StreamFacts(identity, plan, start, is_of_users(plan), text)
    return found


def first_marks(streams: Mapping[str, StreamFacts]) -> dict[str, StreamMark]:
    """How far streams have come that have nothing yet."""
    return {stream: _first_mark(facts.genesis) for stream, facts in streams.items()}


def lost_marks(facts: Facts) -> dict[str, StreamMark]:
    """What a mark says of streams that a restore has lost, if it does not know of them: closed."""
    return {stream: _first_mark(genesis, closed=True) for stream, genesis in facts.lost.items()}


def _first_mark(start: bytes, *, closed: bool = False) -> StreamMark:
    return StreamMark(
        genesis=start,
        journal=Point(-1, start),
        position=0,
        ledger=Point(-1, ledger_genesis(start)),
        season=0,
        spent=Price.zero(),
        predictions=no_predictions(start),
        numbers=Numbers({}),
        closed=closed,
    )
