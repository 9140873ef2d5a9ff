"""Laboratory only: how a number is shared out, for sums over all outcomes."""

from collections.abc import Iterator


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as an ordered sum of so many parts of 0 or more."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)
