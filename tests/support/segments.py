"""Packing in tests: small segments, and stores packed to the end."""

import pytest

from littled.store.store import Store

_MODULES = ("segments", "packing", "journal")


def small_segments(
    monkeypatch: pytest.MonkeyPatch, records: int, examples: int = 1 << 20, size: int = 1 << 20
) -> None:
    """Let segments have at most so many records, examples and bytes of columns."""
    limits = {"RECORDS": records, "EXAMPLES": examples, "BYTES": size}
    for module in _MODULES:
        for name, limit in limits.items():
            place = f"littled.store.{module}.SEGMENT_{name}_MAX"
            monkeypatch.setattr(place, limit, raising=False)


def pack_all(store: Store) -> None:
    """Pack whatever may be packed."""
    while store.pack():
        pass
