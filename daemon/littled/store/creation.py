"""Making a store: everything or nothing, and durable including the names of its files."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any

from littled.budget.price import Price
from littled.store.database import (
    Facts,
    StreamFacts,
    answer_windows,
    is_of_users,
    json_bytes,
    make_database,
)
from littled.store.errors import StoreFailed, StoreRefused
from littled.store.files import PRIVATE_FOLDER, create_private, sync_folder
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
from littled.store.register import Register, open_register
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import check_name

Undo = Callable[[], None]
"""Takes back one thing that was made; OSError or StoreFailed where that is not possible."""

_SALT_BYTES = 32
_INSTANCE_BYTES = 16


def create_store(
    place: Place, configuration: Mapping[str, Any], plans: Mapping[str, Mapping[str, Any]]
) -> None:
    """Make a store; raises StoreRefused and leaves nothing behind when that is not possible.

    The folder may exist if it is empty. A key in a place named by the operator is used if it is
    there already. An interrupted creation never leaves something that opens as a store.
    """
    _check_plans(plans)
    _check_free(place)
    made: list[Undo] = []
    try:
        with closing(open_register(place.mark)) as register, _undone_on_failure(made):
            _make(place, register, configuration, plans, made)
    except StoreFailed as error:
        raise StoreRefused(f"cannot make a store in {place.folder}: {error}") from error
    except OSError as error:
        raise StoreRefused(
            f"cannot make a store in {place.folder}: {error.filename or place.folder}: "
            f"{error.strerror}"
        ) from error


def _check_plans(plans: Mapping[str, Mapping[str, Any]]) -> None:
    if not plans:
        raise StoreRefused("a store needs at least one stream")
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


def _check_free(place: Place) -> None:
    try:
        if place.folder.exists() and any(place.folder.iterdir()):
            raise StoreRefused(
                f"{place.folder} is not empty: name a new folder, or remove what is left there"
            )
    except OSError as error:
        raise StoreRefused(f"{place.folder} cannot hold a store: {error.strerror}") from error


@contextmanager
def _undone_on_failure(made: list[Undo]) -> Iterator[None]:
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
    register: Register,
    configuration: Mapping[str, Any],
    plans: Mapping[str, Mapping[str, Any]],
    made: list[Undo],
) -> None:
    named = [place.folder]
    if not place.folder.exists():
        place.folder.mkdir(PRIVATE_FOLDER)
        made.append(place.folder.rmdir)
        named.append(place.folder.absolute().parent)
    if place.key_given and place.key.exists():
        key = read_key(place.key, handed_over=True)
    else:
        key = new_key()
        create_private(place.key, key_text(key))
        made.append(place.key.unlink)
        named.append(place.key.parent)
    facts = _facts(key, configuration, plans)
    arriving = place.database.with_name(f"{place.database.name}.new")
    # SQLite gives its log the same permissions as the file itself.
    create_private(arriving, b"")
    made += [arriving.with_name(f"{arriving.name}{end}").unlink for end in ("", "-wal", "-shm")]
    make_database(arriving, facts)
    register.create(_first_mark(facts))
    made.append(register.discard)
    create_private(place.lock, b"")
    made.append(place.lock.unlink)
    place.folder.chmod(PRIVATE_FOLDER)
    # Only now does the folder hold a store.
    made.append(place.database.unlink)
    arriving.rename(place.database)
    for folder in named:
        sync_folder(folder)


def _facts(
    key: bytes, configuration: Mapping[str, Any], plans: Mapping[str, Mapping[str, Any]]
) -> Facts:
    instance = secrets.token_hex(_INSTANCE_BYTES)
    salt = secrets.token_bytes(_SALT_BYTES)
    text = json_bytes(configuration)
    streams = {}
    for identity, (stream, values) in enumerate(plans.items(), start=1):
        plan = json_bytes(values)
        start = genesis(salt, stream, text, plan)
        streams[stream] = StreamFacts(identity, plan, start, of_users=is_of_users(plan))
    return Facts(instance, salt, fingerprint(key, instance), text, streams)


def _first_mark(facts: Facts) -> HighWaterMark:
    return HighWaterMark(
        instance=facts.instance,
        streams={
            stream: StreamMark(
                genesis=stream_facts.genesis,
                journal=Point(-1, stream_facts.genesis),
                position=0,
                ledger=Point(-1, ledger_genesis(stream_facts.genesis)),
                season=0,
                spent=Price.zero(),
                predictions=no_predictions(stream_facts.genesis),
                numbers=Numbers({}),
            )
            for stream, stream_facts in facts.streams.items()
        },
        releases={},
    )
