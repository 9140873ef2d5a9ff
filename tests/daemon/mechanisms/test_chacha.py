"""Many key streams side by side are those of the cipher, bit for bit."""

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from littled.mechanisms import chacha
from littled.mechanisms.chacha import SUBKEY_BYTES, first_chacha_words


def ciphered(key: bytes) -> int:
    """The first 64 bits of a key stream by the library."""
    cipher = Cipher(ChaCha20(key, bytes(16)), mode=None)
    return int.from_bytes(cipher.encryptor().update(bytes(8)), "little")


@pytest.mark.parametrize("count", [0, 1, 2, 77, 300])
def test_first_words_are_those_of_the_cipher(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chacha, "KEYS_AT_ONCE", 128)
    keys = np.random.default_rng(count).bytes(count * SUBKEY_BYTES)
    each = [keys[start : start + SUBKEY_BYTES] for start in range(0, len(keys), SUBKEY_BYTES)]
    words = first_chacha_words(keys)
    assert words.dtype == np.uint64
    assert words.tolist() == [ciphered(key) for key in each]


def test_extreme_keys() -> None:
    keys = [bytes(32), b"\xff" * 32, bytes(31) + b"\x80", b"\x01" + bytes(31)]
    assert first_chacha_words(b"".join(keys)).tolist() == [ciphered(key) for key in keys]


def test_the_vector_of_rfc_7539_a_1() -> None:
    assert first_chacha_words(bytes(32)).tolist() == [
        int.from_bytes(bytes.fromhex("76b8e0ada0f13d90"), "little")
    ]


def test_keys_have_32_bytes() -> None:
    with pytest.raises(ValueError, match="32 bytes each"):
        first_chacha_words(bytes(33))
