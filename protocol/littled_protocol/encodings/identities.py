"""Columns whose values are one wide number each: ids, and addresses of the Internet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from littled_protocol.described import keys_of
from littled_protocol.encodings.base import (
    Column,
    EncodingError,
    Feature,
    known_keys,
    some_text,
    whole,
)
from littled_protocol.encodings.fields import AddressFields, IdFields

WORD_BITS: Final = 16
ID_BITS: Final = 64
IPV4_BITS: Final = 32
IPV6_BITS: Final = 128


@dataclass(frozen=True, slots=True)
class WideColumn(Column):
    """A value is one number of `bits` bits, which a row holds in words of 16, the highest first."""

    bits: int

    @property
    def features(self) -> tuple[Feature, ...]:
        """None: no rule reads a part of the number."""
        return ()

    @property
    def words(self) -> int:
        """Enough for all bits."""
        return -(-self.bits // WORD_BITS)


@dataclass(frozen=True, slots=True)
class IdColumn(WideColumn):
    """Ids, texts or whole numbers: the first `bits` bits of the SHA-256 of their UTF-8 text.

    The function is public, and 3 and "3" are the same id. Two ids out of n share a number with
    probability at most n^2 / 2^(bits + 1).
    """

    kind: ClassVar[str] = "id"

    def to_dict(self) -> IdFields:
        """Return the keys of a configuration."""
        values: IdFields = {"kind": "id", "name": self.name}
        if self.bits != ID_BITS:
            values["bits"] = self.bits
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the column of a map; EncodingError for any other."""
        known_keys(values, keys_of(IdFields))
        name = some_text(values.get("name"), "name")
        return cls(name, whole(values.get("bits", ID_BITS), "bits", 1, 128))


@dataclass(frozen=True, slots=True)
class AddressColumn(WideColumn):
    """Addresses: 128 bits with IPv4 inside ::ffff:0:0/96, or 32 bits of IPv4 alone."""

    kind: ClassVar[str] = "address"

    def to_dict(self) -> AddressFields:
        """Return the keys of a configuration."""
        values: AddressFields = {"kind": "address", "name": self.name}
        if self.bits != IPV6_BITS:
            values["bits"] = IPV4_BITS
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the column of a map; EncodingError for any other."""
        known_keys(values, keys_of(AddressFields))
        bits = values.get("bits", IPV6_BITS)
        if type(bits) is not int or bits not in (IPV4_BITS, IPV6_BITS):
            raise EncodingError("bits", f"must be {IPV4_BITS} for IPv4 alone, or {IPV6_BITS}")
        return cls(some_text(values.get("name"), "name"), bits)
