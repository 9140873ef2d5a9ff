"""The keyed hash on arrival: against single blocks of AES, and apart between streams and keys."""

import hashlib

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, modes
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from hypothesis import given
from hypothesis import strategies as st

from littled.service.users import UserHash

KEY = bytes(range(32))
USERS = st.lists(st.binary(min_size=16, max_size=16), max_size=20)


def reference(key: bytes, stream: str, user: bytes) -> bytes:
    """The hash of one user as its module documents it."""
    person = b"littled users 1"
    subkey = hashlib.blake2b(stream.encode(), digest_size=32, key=key, person=person).digest()
    block = Cipher(AES(subkey), modes.CBC(bytes(16))).encryptor().update(user)
    return bytes(one ^ other for one, other in zip(block, user, strict=True))


@given(USERS, USERS)
def test_a_column_is_hashed_user_by_user(first: list[bytes], second: list[bytes]) -> None:
    users = UserHash(KEY, "visits")
    for part in (first, second, first):
        expected = b"".join(reference(KEY, "visits", user) for user in part)
        assert users.column(b"".join(part)) == expected


def test_hashes_never_change_between_versions() -> None:
    """A season's counts are kept under them, also over a restart with a newer version."""
    assert UserHash(KEY, "visits").column(bytes(16)).hex() == "0b2610c9a08de1c59b27df2a51193772"


def test_streams_and_keys_keep_users_apart() -> None:
    user = hashlib.blake2b(b"ann", digest_size=16).digest()
    hashes = {
        bytes(UserHash(key, stream).column(user))
        for key in (KEY, KEY[::-1], bytes(32))
        for stream in ("visits", "visit", "clicks")
    }
    assert len(hashes) == 9
    assert user not in hashes


def test_different_users_stay_different() -> None:
    users = b"".join(number.to_bytes(16, "big") for number in range(50_000))
    column = bytes(UserHash(KEY, "visits").column(users))
    assert len({column[at : at + 16] for at in range(0, len(column), 16)}) == 50_000


@pytest.mark.parametrize("length", [1, 15, 17, 31])
def test_half_a_user_is_refused_and_forgotten(length: int) -> None:
    users = UserHash(KEY, "visits")
    with pytest.raises(ValueError, match="16 bytes"):
        users.column(bytes(length))
    assert users.column(bytes(16)) == reference(KEY, "visits", bytes(16))


def test_the_key_is_not_shown() -> None:
    assert repr(UserHash(KEY, "visits")) == "UserHash(...)"
