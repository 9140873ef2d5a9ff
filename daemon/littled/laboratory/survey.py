"""Laboratory only: the statements about global stability on every small class there is."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction

from littled.laboratory.global_stability import check
from littled.laboratory.small_classes import ROWS_MAX, SmallClass, all_classes, supports

PROCESSES = 2
CLASSES_AT_ONCE = 16


@dataclass
class Surveyed:
    """What was found of the classes of one dimension.

    least: the least, over all runs, of the largest frequency of a hypothesis in any D_k, k <= d.
    broken: how often each statement did not hold.
    """

    classes: int = 0
    runs: int = 0
    least: Fraction = Fraction(1)
    broken: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Surveyed") -> None:
        """Add what another process found."""
        self.classes += other.classes
        self.runs += other.runs
        self.least = min(self.least, other.least)
        self.broken += other.broken


def survey(
    points: int, sizes: Sequence[int], *, all_supports: bool, rows_max: int = ROWS_MAX
) -> dict[int, Surveyed]:
    """Every class over so many points, every target, n in `sizes`; by Littlestone dimension.

    Distributions are uniform on all points or, with `all_supports`, on every set of points.
    """
    every = [rules.hypotheses for rules in all_classes(points, rows_max)]
    parts = [every[i : i + CLASSES_AT_ONCE] for i in range(0, len(every), CLASSES_AT_ONCE)]
    tasks = [(points, part, tuple(sizes), all_supports) for part in parts]
    found: dict[int, Surveyed] = {}
    with ProcessPoolExecutor(PROCESSES) as pool:
        for done in pool.map(_surveyed, tasks):
            for dimension, part in done.items():
                found.setdefault(dimension, Surveyed()).add(part)
    return dict(sorted(found.items()))


def _surveyed(
    task: tuple[int, Sequence[Sequence[int]], Sequence[int], bool],
) -> dict[int, Surveyed]:
    points, classes, sizes, all_supports = task
    found: dict[int, Surveyed] = {}
    for rows in classes:
        rules = SmallClass(points, rows)
        here = found.setdefault(rules.dimension, Surveyed())
        here.classes += 1
        for target, weights, n in _runs(rules, sizes, all_supports):
            seen = check(rules, target, weights, n)
            here.runs += 1
            here.least = min(here.least, seen.best)
            here.broken.update(seen.broken)
    return found


def _runs(
    rules: SmallClass, sizes: Iterable[int], all_supports: bool
) -> Iterator[tuple[int, list[int], int]]:
    """Targets, weights of the points, and numbers of fresh examples."""
    chosen = list(supports(rules.points)) if all_supports else [tuple(range(rules.points))]
    for n in sizes:
        for support in chosen:
            weights = [int(x in support) for x in range(rules.points)]
            for target in rules.hypotheses:
                yield target, weights, n
