"""What is made a little at a time, made at once."""

from typing import TypeVar

from littled.service.turns import Making

T = TypeVar("T")


def made(making: Making[T]) -> tuple[T, list[float]]:
    """What was made, and what work its pieces were."""
    pieces = []
    while True:
        try:
            pieces.append(next(making))
        except StopIteration as end:
            return end.value, pieces
