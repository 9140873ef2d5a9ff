"""Users: which ids are one user, and the digests that travel in their place."""

import hashlib
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_client import users as module
from littled_client.errors import ExampleError
from littled_client.users import UserDigests, hash_users, user_digest
from littled_protocol.columns import encode_users
from support.vectors import from_json, load

ids = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    st.binary(min_size=1),
    st.integers(),
)


def digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16).digest()


def column(users: Any) -> bytes:
    return encode_users(hash_users(users))


@pytest.mark.parametrize("vector", load("users.json")["users"], ids=lambda vector: vector["name"])
def test_digests_are_those_of_the_protocol(vector: dict[str, Any]) -> None:
    user = from_json(vector["id"])
    assert user_digest(user).hex() == column([user]).hex() == vector["digest"]


@given(st.lists(ids, max_size=20))
def test_every_way_to_give_users_comes_to_the_same(users: list[Any]) -> None:
    texts = [
        user if isinstance(user, bytes) else str(user).encode("utf-8", "strict") for user in users
    ]
    expected = b"".join(map(digest, texts))
    seen = UserDigests()
    given = [users, tuple(users), iter(users), np.array([*users, None], dtype=object)[:-1]]
    for way in given:
        assert encode_users(seen.array(way)) == expected
    assert encode_users(seen.array(hash_users(users))) == expected


KINDS: dict[str, st.SearchStrategy[Any]] = {
    "texts": st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    "with zeros": st.text("ab\0", min_size=1, max_size=3),
    "long": st.text("abc", min_size=60, max_size=70),
    "bytes": st.binary(min_size=1),
    "large": st.integers(-(2**65), 2**65),
    "small": st.integers(-2, 2),
    "mixed": ids,
}


@given(st.sampled_from([*KINDS.values()]).flatmap(lambda kind: st.lists(st.lists(kind))))
def test_a_batch_that_is_looked_up_as_a_whole_gives_the_same(batches: list[list[Any]]) -> None:
    seen = UserDigests()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGE_BATCH_MIN", 1)
        for batch in (*batches, *batches, *[[*batch, *batch] for batch in batches]):
            expected = b"".join(map(user_digest, batch))
            assert encode_users(seen.array(batch)) == expected
            array = np.array(batch if len(set(map(type, batch))) == 1 else [], dtype=None)
            # Numpy takes zero bytes off the ends of texts, and floats for some integers.
            if array.dtype.kind in "iuSU" and array.tolist() == batch:
                assert encode_users(seen.array(array)) == expected


def test_large_batches_of_one_kind_are_remembered_in_a_table() -> None:
    """Bytes and texts of the same user are one, and digits another key than the integer."""
    numbers = list(range(1000))
    texts = [f"{number}" for number in numbers]
    digests, expected = UserDigests(), b"".join(map(user_digest, numbers))
    for users in (texts, numbers):  # the first time each table is asked
        assert encode_users(digests.array(users)) == expected
        assert (digests._texts.count, digests._integers.count) == (0, 0)
    ways: list[Any] = [texts, np.array(texts), [text.encode() for text in texts]]
    for users in (*ways, np.array(texts, dtype="S")):
        assert encode_users(digests.array(users)) == expected
        assert (digests._texts.count, digests._integers.count) == (1000, 0)
    ways = [numbers, np.array(numbers), np.array(numbers, np.uint16)]
    for users in ways:
        assert encode_users(digests.array(users)) == expected
        assert (digests._texts.count, digests._integers.count) == (1000, 1000)
    assert not digests._known


@pytest.mark.parametrize("nobody", ["", b"", True, 1.0, None, "\ud800"], ids=range(6))
def test_one_who_is_nobody_among_many_is_refused(nobody: Any) -> None:
    many: list[Any]
    for many in (["ann"] * 1000, [b"ann"] * 1000, [1] * 1000):
        digests = UserDigests()
        digests.array(many)
        with pytest.raises(ExampleError, match="needs a name"):
            digests.array([*many, nobody])
    with pytest.raises(ExampleError, match="needs a name"):
        hash_users(np.array([b"ann", b""] * 1000))
    with pytest.raises(ExampleError, match="needs a name"):
        hash_users(np.array([True] * 1000))


def test_an_integer_and_its_digits_are_one_user() -> None:
    for user in (17, "17", b"17", np.uint8(17), np.int64(17), np.str_("17"), np.bytes_(b"17")):
        assert user_digest(user) == digest(b"17")
    for users in (np.array([17, 17]), np.array(["17", "17"]), np.array([b"17", b"17"]), [17, "17"]):
        assert column(users) == 2 * digest(b"17")


@pytest.mark.parametrize(
    "user",
    ["", b"", None, True, np.True_, 1.0, np.float64(1), ["a"], ("a",), "\ud800", 10**5000],
    ids=range(11),
)
def test_what_names_nobody_is_refused_and_not_repeated(user: Any) -> None:
    with pytest.raises(ExampleError, match="needs a name") as caught:
        user_digest(user)
    assert not re.search(r"1\.0|ud800|0000|\[", str(caught.value))
    for users in (["ann", user], [1, user]):
        with pytest.raises(ExampleError, match="needs a name"):
            hash_users(users)


@pytest.mark.parametrize(
    "users", ["ann", b"ann", 5, None, np.zeros((2, 2), np.int64), np.zeros((2, 3), np.uint64)]
)
def test_users_come_as_a_sequence(users: Any) -> None:
    with pytest.raises(ExampleError, match="one user for each example"):
        hash_users(users)


@pytest.mark.parametrize("count", [3, module.LARGE_BATCH_MIN])
@pytest.mark.parametrize("dtype", [np.int64, "S1"])
def test_masked_users_are_refused(count: int, dtype: Any) -> None:
    users = np.ma.masked_array([1] * count, mask=False, dtype=dtype)
    assert hash_users(users).tolist() == hash_users([1] * count).tolist()
    users[1] = np.ma.masked
    digests = np.ma.masked_array(hash_users([1] * count), mask=[[True, True]] * count)
    for masked in (users, digests):
        with pytest.raises(ExampleError, match=r"^some of users is masked"):
            hash_users(masked)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED_USERS_MAX", 100)
    digests = UserDigests()
    for start in range(0, 1000, 70):
        users = [f"user {i}" for i in range(start, start + 70)]
        assert encode_users(digests.array(users)) == column(users)
        assert len(digests._known) <= 100
    many = list(range(300))
    assert encode_users(digests.array(many)) == b"".join(digest(b"%d" % i) for i in many)


def test_long_ids_are_not_remembered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED_BYTES_MAX", 10_000)
    digests = UserDigests()
    for start in range(0, 50, 5):
        users = [f"{i}" * 1000 for i in range(start, start + 5)]
        assert encode_users(digests.array(users)) == b"".join(digest(u.encode()) for u in users)
        assert sum(map(len, map(str, digests._known))) <= 10_000


@given(st.lists(st.lists(ids, max_size=8), max_size=8), st.integers(1, 10))
def test_what_is_remembered_is_never_another_users(batches: list[list[Any]], most: int) -> None:
    """Batches of one kind of id and of several, with repeats, and a memory that overflows."""
    digests = UserDigests()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "REMEMBERED_USERS_MAX", most)
        for batch in (*batches, *batches, *[[*batch, *batch] for batch in batches]):
            expected = b"".join(map(user_digest, batch))
            assert encode_users(digests.array(batch)) == expected
            assert len(digests._known) <= most


def test_true_is_not_taken_for_a_user_who_was_seen() -> None:
    digests = UserDigests()
    digests.array([1])
    with pytest.raises(ExampleError):
        digests.array([True])
