"""Keys of audits are many, and follow from a seed; quick words are uniform and of one stream."""

from itertools import product

import numpy as np

from littled.auditing.noise import SEED_MAX, derived_key, key_of_seed
from littled.mechanisms.noise import KEY_BYTES, Address
from support.quick_noise import QuickNoise

HERE = Address(bytes(32), "s/l", "select", 7)


def test_every_place_has_a_key_of_its_own() -> None:
    key = key_of_seed(0)
    places = [(), (0,), (0, 0), (1,), (0, 1), (1, 0), (256,)]
    keys = {derived_key(key, *place) for place in places} | {key_of_seed(1), key_of_seed(SEED_MAX)}
    assert len(keys) == len(places) + 2
    assert {len(each) for each in keys} == {KEY_BYTES}
    assert derived_key(key, 3, 4) == derived_key(key_of_seed(0), 3, 4)


def test_quick_words_are_one_stream_for_each_address() -> None:
    noise = QuickNoise(b"key")
    words = noise.words(HERE, 1000)
    assert words.dtype == np.uint64
    assert (noise.words(HERE, 10, 5) == words[5:15]).all()
    other = Address(bytes(32), "s/l", "select", 8)
    assert not (noise.words(other, 1000) == words).any()
    bits = np.unpackbits(words.view(np.uint8)).reshape(1000, 64).mean(axis=0)
    assert (abs(bits - 0.5) < 0.1).all()


def test_sides_and_stages_share_no_key() -> None:
    keys = [derived_key(key_of_seed(1), *each) for each in product(range(3), range(2), range(50))]
    assert len(set(keys)) == len(keys)
