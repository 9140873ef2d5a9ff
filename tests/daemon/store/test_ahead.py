"""What opening has read is handed on in order, from the right place, as far as there is room."""

import pytest

from littled.store import ahead as ahead_module
from littled.store.ahead import ReadAhead
from littled.store.records import Record


def record(number: int) -> Record:
    return Record("flights", number, 2 * number, "p", 2 * number, 2, b"ab", b"\0\1", bytes(32))


def kept(after: int, numbers: range, streams: int = 1) -> ReadAhead:
    made = ReadAhead(after, streams)
    for number in numbers:
        made.keep(record(number))
    return made


def taken(ahead: ReadAhead, after: int) -> list[int]:
    return [each.number for each in ahead.taken(after)]


@pytest.mark.parametrize(("after", "expected"), [(3, [4, 5, 6]), (4, [5, 6]), (6, []), (9, [])])
def test_it_has_what_follows(after: int, expected: list[int]) -> None:
    assert taken(kept(3, range(2, 7)), after) == expected


def test_it_has_nothing_for_who_begins_earlier() -> None:
    assert taken(kept(3, range(4, 7)), 2) == []


def test_there_is_room_for_so_many_bytes_of_all_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead_module, "RECORD_OVERHEAD_BYTES", 96)
    monkeypatch.setattr(ahead_module, "STORE_AHEAD_BYTES_MAX", 1_000)
    assert taken(kept(-1, range(50)), -1) == list(range(11))
    assert taken(kept(-1, range(50), streams=2), -1) == list(range(6))
