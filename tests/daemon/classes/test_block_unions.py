"""The best union of few blocks against all unions of blocks."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from littled.classes.block_unions import best_union

BITS = 4
BLOCKS = [(v << (BITS - n), n) for n in range(BITS + 1) for v in range(1 << n)]


def holds(block: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether the other block lies in a block."""
    (start, length), (begin, _) = block, other
    return length <= other[1] and begin >> (BITS - length) == start >> (BITS - length)


@st.composite
def weighted(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[int]]:
    """Some blocks that are apart, in rising order, with gains."""
    chosen: list[tuple[int, int]] = []
    for block in draw(st.lists(st.sampled_from(BLOCKS), max_size=9)):
        if not any(holds(block, one) or holds(one, block) for one in chosen):
            chosen.append(block)
    chosen.sort()
    return chosen, draw(st.lists(st.integers(-6, 6), min_size=len(chosen), max_size=len(chosen)))


def gained(
    union: tuple[tuple[int, int], ...], blocks: list[tuple[int, int]], gains: list[int]
) -> int:
    """What a union gains; None of the weighted blocks may be taken in part."""
    return sum(
        gain
        for block, gain in zip(blocks, gains, strict=True)
        if any(holds(one, block) for one in union)
    )


@given(weighted(), st.integers(1, 4), st.sampled_from([0, 0, 1, 3]))
@settings(max_examples=120)
def test_no_union_of_as_many_blocks_gains_more_and_none_of_fewer_as_much(
    given_: tuple[list[tuple[int, int]], list[int]], most: int, cost: int
) -> None:
    blocks, gains = given_
    union = best_union(BITS, blocks, gains, most, cost)
    assert len(union) <= most
    assert list(union) == sorted(union)
    for one, other in combinations(union, 2):
        assert not holds(one, other)
        assert not holds(other, one)
        assert not (one[1] == other[1] and one[0] ^ other[0] == 1 << (BITS - one[1]))
    # what a union takes of the weighted blocks: any sets of them under some blocks
    under = {frozenset(b for b in blocks if holds(node, b)) for node in BLOCKS} - {frozenset()}
    gain_of = dict(zip(blocks, gains, strict=True))
    reached: dict[frozenset[tuple[int, int]], int] = {frozenset(): 0}
    for count in range(1, most + 1):
        for taken in [t for t, n in reached.items() if n == count - 1]:
            for more in under:
                reached.setdefault(taken | more, count)
    best, fewest = max(
        (sum(gain_of[block] for block in taken) - cost * count, -count)
        for taken, count in reached.items()
    )
    assert (gained(union, blocks, gains) - cost * len(union), -len(union)) == (best, fewest)


def test_nothing_is_taken_of_nothing_or_of_losses() -> None:
    assert best_union(8, [], [], 3) == ()
    assert best_union(8, [(0, 1), (128, 1)], [-1, 0], 3) == ()


def test_many_blocks_share_few_places() -> None:
    blocks = [(address << 1, 15) for address in range(0, 1 << 15, 8)]
    gains = [1 + number % 7 for number in range(len(blocks))]
    gains[1::2] = [-100] * (len(blocks) // 2)
    union = best_union(16, blocks, gains, 100)
    assert len(union) == 100
    gain_of = dict(zip(blocks, gains, strict=True))
    assert sum(gain_of[block] for block in union) == 700
