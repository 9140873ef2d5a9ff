"""Places of brokers, and packages that are not there."""

import pytest

from littled_client.brokers.base import imported, place_of, position_of
from littled_client.errors import SourceError
from littled_protocol.limits import resume_bytes_max


def test_a_place_says_of_which_stream_it_is() -> None:
    place = place_of("nats", "0123456789ab", 17, "cafe")
    assert position_of("nats", "0123456789ab", place, "name", 2) == ["17", "cafe"]
    for kind, digest, count in (("redis", "0123456789ab", 2), ("nats", "0" * 12, 2),
                                ("nats", "0123456789ab", 1)):  # fmt: skip
        with pytest.raises(SourceError, match="another source than name"):
            position_of(kind, digest, place, "name", count)
    with pytest.raises(SourceError, match="another source"):
        position_of("nats", "0123456789ab", b"\xff", "name", 2)


def test_the_longest_places_fit() -> None:
    longest = (("nats", 2**64 - 1, "ffffffff"), ("redis", f"{2**64 - 1}-{2**64 - 1}"))
    for kind, *position in longest:
        assert len(place_of(kind, "0" * 12, *position)) <= resume_bytes_max


def test_a_missing_package_is_named_with_its_command() -> None:
    with pytest.raises(SourceError, match=r"pip install 'littled\[kafka\]'"):
        imported("a_package_that_nobody_has", "kafka")
