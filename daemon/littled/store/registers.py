"""Which register keeps the mark of a store."""

from collections.abc import Callable

from littled.store.etcd_place import MarkInEtcd
from littled.store.etcd_register import EtcdRegister
from littled.store.place import Place
from littled.store.register import FileRegister, Register
from littled.store.sealing import Seal
from littled.store.witness import Witness


def silent(_: str) -> None:
    """Nobody wants to know that a mark is being waited for."""


def open_register(
    place: Place, key: bytes | None, waiting: Callable[[str], None] = silent
) -> Register:
    """The register of a store; nothing is read or asked yet.

    key: the noise key, None where it cannot be read: then a mark in etcd cannot be, either.
    waiting: told a sentence when the mark cannot be had at once.
    """
    if isinstance(place.mark, MarkInEtcd):
        return EtcdRegister(place.mark, Seal(key), Witness(place.witness), waiting)
    return FileRegister(place.mark.path)
