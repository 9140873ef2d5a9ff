"""What a buffer holds does not depend on how its examples came, or on what waits to be joined."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.learners.online.buffer import BACKGROUND_SLACK, PIECES_MAX, Buffer

COLUMNS = ("x", "y", "mistake", "priority", "teacher", "users")


def examples(count: int, seed: int = 1, *, users: bool = True) -> Buffer:
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 1 << 63, (4, count)).astype(np.uint64)
    y = rng.integers(0, 2, count).astype(np.uint8)
    x, mistake = np.arange(count, dtype=np.uint32), rng.integers(0, 10, count) == 0
    return Buffer(x, y, mistake, words[0], words[1], words[2:].T.copy() if users else None)


def cut(whole: Buffer, start: int, stop: int) -> Buffer:
    places = np.arange(len(whole))
    return whole.take((places >= start) & (places < stop))


def assert_same(one: Buffer, other: Buffer) -> None:
    for name in COLUMNS:
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None) == (right is None)
        assert left is None or (left.dtype == right.dtype and np.array_equal(left, right))


def kept_one_way(whole: Buffer, background_max: int, *, keep_mistakes: bool) -> list[int]:
    """The positions that are kept, as the definition says."""
    lowest = np.argsort(whole.priority)[:background_max]
    kept = {int(place) for place in lowest}
    if keep_mistakes:
        kept |= {int(place) for place in np.flatnonzero(whole.mistake)}
    return sorted(kept)


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=90),
    st.sampled_from([0, 1, 30, 2_000]),
    st.booleans(),
    st.booleans(),
)
def test_it_holds_the_background_and_the_mistakes(
    sizes: list[int],
    background_max: int,
    keep_mistakes: bool,
    users: bool,
) -> None:
    whole = examples(sum(sizes), users=users)
    held, start = Buffer.empty(whole.x, whole.users), 0
    for size in sizes:
        piece = cut(whole, start, start + size)
        held = held.extend(piece, background_max=background_max, keep_mistakes=keep_mistakes)
        assert len(held.waiting) < PIECES_MAX
        assert len(held) == len(held.joined())
        start += size
    final = held.final(background_max=background_max, keep_mistakes=keep_mistakes)
    assert final.x.tolist() == kept_one_way(whole, background_max, keep_mistakes=keep_mistakes)
    assert_same(final, whole.take(np.isin(whole.x, final.x)))
    assert not final.waiting
    assert_same(held.joined(), held.joined().joined())


def test_a_batch_costs_what_it_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    joins: list[int] = []
    joined = Buffer.joined

    def counting(self: Buffer) -> Buffer:
        joins.append(len(self))
        return joined(self)

    monkeypatch.setattr(Buffer, "joined", counting)
    whole = examples(40_000)
    held = Buffer.empty(whole.x, whole.users)
    for start in range(0, 40_000, 50):
        held = held.extend(cut(whole, start, start + 50), background_max=5_000, keep_mistakes=False)
        assert len(held) <= 2 * 5_000 + BACKGROUND_SLACK
    assert 1 <= len(joins) <= 2 * 800 // PIECES_MAX
