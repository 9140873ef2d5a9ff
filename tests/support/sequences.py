"""Points of one-way sequences, for tests."""

from functools import cache

from littled_protocol.rules.sequences import leaf_of, point_of

SEEDS = (bytes(range(16)), bytes(range(16, 32)))


@cache
def sequence_point(index: int, bits: int, seed: bytes = SEEDS[0]) -> tuple[int, ...]:
    """The point of an index in the sequence of a seed, its bytes."""
    return tuple(point_of(index, leaf_of(seed, index, bits).sigma, bits))


def sequence_points(bits: int) -> list[tuple[int, ...]]:
    """All points of both seeds."""
    return [sequence_point(index, bits, seed) for seed in SEEDS for index in range(1 << bits)]
