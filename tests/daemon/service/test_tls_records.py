"""Counts of records of TLS; `test_handshakes.py` has what becomes of who sends too many."""

import pytest

from littled.limits import TLS_EMPTY_RECORDS_MAX, TLS_READ_BYTES, TLS_READ_BYTES_MIN
from littled.service.tls_records import Records
from support.key_updates import KeyUpdates


@pytest.mark.parametrize("size", [1, 3, 5, 26, 27, 28, 1000])
def test_records_are_counted_in_any_pieces(size: int) -> None:
    keys = KeyUpdates(bytes(48))
    sent = keys.records([b"", bytes(300)]) + keys.updates(TLS_EMPTY_RECORDS_MAX)
    for more, are_too_many in ((b"", False), (keys.updates(1), True)):
        records, data = Records(), memoryview(sent + more)
        for at in range(0, len(data), size):
            records.came(data[at : at + size])
        assert records.are_empty(2) is are_too_many


def test_a_read_grows_with_the_records_and_no_faster_than_twice() -> None:
    keys, records, read = KeyUpdates(bytes(48)), Records(), []
    long, short = keys.records([bytes(8_000)]), keys.records([b"x"] * 80)
    for data in (long, long, long, long, short):
        read.append(records.read_bytes)
        records.came(memoryview(data))
    assert read == [min(TLS_READ_BYTES_MIN << more, TLS_READ_BYTES) for more in range(5)]
    assert records.read_bytes == TLS_READ_BYTES_MIN
