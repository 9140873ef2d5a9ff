"""Laboratory only: how tables and numbers are printed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from littled.laboratory.stable_learner import Infeasible

Lines = Iterator[str]


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Lines:
    """A table of Markdown; the first column is text, all others are numbers."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join(['---', *['---:'] * (len(head) - 1)])}|"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def shown(value: float | Fraction | None, digits: int = 3) -> str:
    """A number with so many digits, None as "-"."""
    return "-" if value is None else f"{float(value):.{digits}g}"


def power(log2: float) -> str:
    """A power of two by its logarithm."""
    return f"2^{log2:.1f}"


def refusal(make: Callable[[], int]) -> str:
    """What is made, or the sentence with which it is refused."""
    try:
        return f"{make():,}"
    except Infeasible as error:
        return f"refused: {error}"
