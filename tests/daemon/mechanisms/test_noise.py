"""The keyed stream: equal to an independent reference, addressed injectively, seekable."""

from dataclasses import replace
from hashlib import blake2b
from itertools import combinations
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.mechanisms import noise
from littled.mechanisms.noise import (
    ADDRESS_WORDS_MAX,
    Address,
    GrantedNoise,
    KeyedNoise,
    NotGranted,
    words_of_records,
)

KEY = bytes(range(32))
HEAD = bytes(range(100, 132))
PLACE = Address(HEAD, "flights/late", "trigger", 12_345, 2)

GOLDEN = ["c51d5344aff2a80f", "2bf5de5c923da236", "eb0f2d862fcae040", "06a79312d3bb128d"]

MASK = 0xFFFFFFFF


def chacha20_block(key: bytes, counter: int) -> bytes:
    """One block of ChaCha20 with nonce 0, written from the specification."""
    constants = [int.from_bytes(b"expand 32-byte k"[i : i + 4], "little") for i in range(0, 16, 4)]
    keys = [int.from_bytes(key[i : i + 4], "little") for i in range(0, 32, 4)]
    start = [*constants, *keys, counter & MASK, counter >> 32, 0, 0]
    state = list(start)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for x, y, z, shift in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[x] = (state[x] + state[y]) & MASK
            mixed = state[z] ^ state[x]
            state[z] = ((mixed << shift) | (mixed >> (32 - shift))) & MASK

    for _ in range(10):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for column in range(4):
            quarter(column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4)
    words = ((a + b) & MASK for a, b in zip(start, state, strict=True))
    return b"".join(word.to_bytes(4, "little") for word in words)


def reference(key: bytes, address: Address, count: int, offset: int = 0) -> list[int]:
    """The words by the module's description, one block at a time."""
    subkey = blake2b(
        address.to_bytes(), digest_size=32, key=key, person=b"littled noise 1"
    ).digest()
    first, last = offset // 8, (offset + count + 7) // 8
    stream = b"".join(chacha20_block(subkey, block) for block in range(first, last))
    words = [int.from_bytes(stream[i : i + 8], "little") for i in range(0, len(stream), 8)]
    return words[offset - 8 * first : offset - 8 * first + count]


def test_the_reference_gives_the_published_first_block() -> None:
    assert chacha20_block(bytes(32), 0).hex().startswith("76b8e0ada0f13d90405d6ae55386bd28")


def test_words_are_these_for_ever() -> None:
    words = KeyedNoise(KEY).words(PLACE, 4)
    assert [f"{word:016x}" for word in words.tolist()] == GOLDEN


@given(st.integers(0, 70), st.integers(0, 200))
def test_words_equal_the_reference(count: int, offset: int) -> None:
    words = KeyedNoise(KEY).words(PLACE, count, offset)
    assert words.dtype == np.uint64
    assert words.tolist() == reference(KEY, PLACE, count, offset)


def test_long_requests_continue_without_a_seam() -> None:
    words = KeyedNoise(KEY).words(PLACE, 40_000)
    for start in (0, 16_380, 16_384, 32_766, 39_990):
        assert words[start : start + 10].tolist() == reference(KEY, PLACE, 10, start)


@pytest.mark.parametrize("offset", [(1 << 31) - 3, ADDRESS_WORDS_MAX - 24])
def test_far_offsets_are_reached(offset: int) -> None:
    assert KeyedNoise(KEY).words(PLACE, 24, offset).tolist() == reference(KEY, PLACE, 24, offset)


@given(st.lists(st.integers(0, 300), max_size=8))
def test_slices_of_a_batch_see_the_words_of_the_whole(lengths: list[int]) -> None:
    noise, offset, parts = KeyedNoise(KEY), 0, []
    for length in lengths:
        parts += noise.words(PLACE, length, offset).tolist()
        offset += length
    assert parts == noise.words(PLACE, offset).tolist()


def test_words_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        KeyedNoise(KEY).words(PLACE, 3)[0] = 1


def test_every_field_of_an_address_and_the_key_change_all_words() -> None:
    others = [
        Address(bytes(32), "flights/late", "trigger", 12_345, 2),
        Address(HEAD, "flights/lat", cast("Any", "etrigger"), 12_345, 2),
        Address(HEAD, "flights/later", "trigger", 12_345, 2),
        Address(HEAD, "flights/late", "select", 12_345, 2),
        Address(HEAD, "flights/late", "trigger", 12_346, 2),
        Address(HEAD, "flights/late", "trigger", 12_345, 3),
    ]
    streams = [KeyedNoise(KEY).words(address, 64) for address in (PLACE, *others)]
    streams.append(KeyedNoise(KEY[::-1]).words(PLACE, 64))
    for one, other in combinations(streams, 2):
        assert not (one == other).any()


@given(
    st.tuples(st.binary(max_size=4), st.text("ab/", max_size=4), st.text("ab/", max_size=4)),
    st.tuples(st.binary(max_size=4), st.text("ab/", max_size=4), st.text("ab/", max_size=4)),
)
def test_different_addresses_have_different_encodings(
    one: tuple[bytes, str, str], other: tuple[bytes, str, str]
) -> None:
    encodings = [
        Address(head, learner, cast("Any", purpose), 7).to_bytes()
        for head, learner, purpose in (one, other)
    ]
    assert (encodings[0] == encodings[1]) == (one == other)


@pytest.mark.parametrize(("position", "draw"), [(-1, 0), (0, -1), (1 << 64, 0), (0, 1 << 64)])
def test_numbers_that_do_not_fit_are_refused(position: int, draw: int) -> None:
    with pytest.raises(ValueError, match="position and draw"):
        KeyedNoise(KEY).words(Address(HEAD, "a", "trigger", position, draw), 1)


@pytest.mark.parametrize(("count", "offset"), [(-1, 0), (1, -1), (1, ADDRESS_WORDS_MAX)])
def test_words_outside_an_address_are_refused(count: int, offset: int) -> None:
    with pytest.raises(ValueError, match="outside the key stream"):
        KeyedNoise(KEY).words(PLACE, count, offset)


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_keys_of_another_size_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        KeyedNoise(bytes(size))


def test_the_key_is_not_shown() -> None:
    assert repr(KeyedNoise(KEY)) == "KeyedNoise(...)"


def test_bits_are_balanced() -> None:
    words = KeyedNoise(KEY).words(PLACE, 1 << 17)
    ones = np.unpackbits(words.view(np.uint8)).reshape(-1, 64).sum(axis=0, dtype=np.int64)
    # 64 bits of standard deviation 181 around 65,536: six deviations
    assert np.abs(ones - (1 << 16)).max() < 6 * 181


@pytest.mark.parametrize("least", [1, 1000])
@pytest.mark.parametrize("offset", [0, 1, 5])
def test_words_of_records_are_each_record_s_own(
    least: int, offset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise, "SINGLE_WORDS_MIN", least)
    source = KeyedNoise(bytes(range(32)))
    counts = [7, 1, 1, 20, 1, 1, 1, 9, 1]
    starts = [100 + sum(counts[:number]) for number in range(len(counts))]
    records = [(bytes([number] * 32), start) for number, start in enumerate(starts)]
    exact = [
        source.words(Address(head, "s/l", "buffer", start), count)
        for (head, start), count in zip(records, counts, strict=True)
    ]
    words = words_of_records(source, "s/l", "buffer", records, 100 + sum(counts), offset)
    assert words.tolist() == np.concatenate(exact)[offset:].tolist()


def test_first_words_need_heads_of_records() -> None:
    source = KeyedNoise(bytes(32))
    with pytest.raises(ValueError, match="has 32 bytes"):
        source.first_words([b"short"], "s/l", "trigger", [1])


def test_granted_words_are_those_of_the_key_and_no_others() -> None:
    source = KeyedNoise(KEY)
    granted = GrantedNoise({PLACE: source.subkey(PLACE)})
    assert granted.words(PLACE, 9, 5).tolist() == source.words(PLACE, 9, 5).tolist()
    assert repr(granted) == "GrantedNoise(...)"
    with pytest.raises(ValueError, match="outside the key stream"):
        granted.words(PLACE, -1)
    for other in (
        replace(PLACE, draw=PLACE.draw + 1),
        replace(PLACE, position=PLACE.position + 1),
        replace(PLACE, chain_head=bytes(32)),
    ):
        with pytest.raises(NotGranted) as refused:
            granted.words(other, 1)
        assert refused.value.address == other
