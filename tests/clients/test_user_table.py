"""The table of digests: what it finds is what was put in, and it stays small."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_client import user_table as module
from littled_client.user_table import UserTable, cell_words, integer_words, text_words

texts = st.text("ab\u00e9", min_size=1, max_size=12).map(str.encode)


def digests_of(count: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(1, 2**64, (count, 2), dtype=np.uint64)


@given(st.lists(texts, min_size=1, max_size=9))
def test_rows_tell_texts_apart_and_are_the_same_from_an_array(users: list[bytes]) -> None:
    joined, cells = text_words(b"".join(user + b"\0" for user in users), len(users)), None
    assert joined is not None
    for user, row in zip(users, joined, strict=True):
        assert row.astype("<u8").tobytes().rstrip(b"\0") == user
    cells = cell_words(np.array(users))
    assert cells is not None
    assert cells.tolist() == joined.tolist()


@pytest.mark.parametrize(
    ("joined", "count"), [(b"a\0\0", 2), (b"a\0b\0", 1), (b"a" * 65 + b"\0", 1)]
)
def test_texts_that_are_not_for_the_table(joined: bytes, count: int) -> None:
    assert text_words(joined, count) is None
    assert text_words(b"a" * 64 + b"\0", 1) is not None
    assert cell_words(np.array([b"a" * 65])) is None
    assert cell_words(np.array([b"a", b""])) is None


@pytest.mark.parametrize("colliding", [False, True])
@given(batches=st.lists(st.lists(st.integers(-40, 40), min_size=1, max_size=30), max_size=9))
def test_what_is_found_is_what_was_put_in(batches: list[list[int]], colliding: bool) -> None:
    """Also where all come to one place, and then most of them are not known."""
    table, known = UserTable(), dict(enumerate(digests_of(81), -40))
    there: set[int] = set()
    with pytest.MonkeyPatch.context() as patch:
        if colliding:
            patch.setattr(module, "_FACTORS", np.zeros_like(module._FACTORS))
        for batch in batches:
            users = np.array(batch)
            found, missing = table.find(integer_words(users))
            seen = np.delete(np.arange(len(users)), missing)
            assert all((found[at] == known[batch[at]]).all() for at in seen)
            assert there.isdisjoint(users[missing]) or len(there) >= module.PROBES
            new = np.unique(users[missing])
            table.add(
                integer_words(new),
                np.array([known[user] for user in new], dtype=np.uint64).reshape(-1, 2),
            )
            there.update(new)
            assert table.count == len(there) if not colliding else table.count <= module.PROBES


def test_ids_that_begin_alike_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also at one and the same place."""
    monkeypatch.setattr(module, "_FACTORS", np.zeros_like(module._FACTORS))
    table = UserTable()
    words = text_words(b"someone 1\0someone 2\0someone\0", 3)
    assert words is not None
    table.add(words[:1], digests_of(1))
    assert table.find(words)[1].tolist() == [1, 2]
    table.add(words[1:], digests_of(2, 2))
    found, missing = table.find(words)
    assert not len(missing)
    assert (found == np.concatenate((digests_of(1), digests_of(2, 2)))).all()


def test_longer_ids_make_the_rows_wider_and_nothing_is_forgotten() -> None:
    table = UserTable()
    short, long = (b"ab\0" * 1, b"ab" * 30 + b"\0" + b"b\0")
    for texts, count, seed in ((short, 1, 1), (long, 2, 2)):
        words = text_words(texts, count)
        assert words is not None
        assert len(table.find(words)[1]) == count
        table.add(words, digests_of(count, seed))
    for texts, count, seed in ((short, 1, 1), (long, 2, 2)):
        words = text_words(texts, count)
        assert words is not None
        found, missing = table.find(words)
        assert not len(missing)
        assert (found == digests_of(count, seed)).all()


def test_a_table_grows_to_its_size_and_is_emptied_then() -> None:
    table, most = UserTable(), module.USERS_MAX
    users = integer_words(np.arange(most) << 8)
    for start in range(0, most, 10_000):
        part = users[start : start + 10_000]
        table.add(part, digests_of(len(part)))
    assert most >= table.count > 0.99 * most
    missing = table.find(users)[1]
    assert len(missing) == most - table.count
    table.add(users[missing], digests_of(len(missing)))  # as they come again
    assert most - 10 <= table.count <= most
    table.add(integer_words(np.arange(-2000, 0)), digests_of(2000))
    assert table.count == 2000
    assert len(table.find(users)[1]) == most
    table.add(integer_words(np.arange(3 * most)), digests_of(3 * most))
    assert 0.99 * most < table.count <= most
    assert len(table._rows) <= 4 * most


def test_a_digest_that_looks_like_a_free_place_is_not_remembered() -> None:
    table = UserTable()
    words = integer_words(np.array([0, 7]))
    table.add(words, np.array([[0, 5], [0, 0]], dtype=np.uint64))
    assert sorted(table.find(words)[1]) == [0, 1]
