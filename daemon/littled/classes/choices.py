"""Classes for columns of tables where nobody named one."""

from collections.abc import Iterable, Sequence

from littled.classes.base import ClassError
from littled.classes.conjunction_rules import DENSE_BITS_MAX
from littled_protocol.encodings import AddressColumn, Column, NumberColumn

# What a block list, or an allow list, is taken to hold at the most.
MEMBERS = (64, 16, 4)
BLOCKS = 128


def fitting_classes(columns: Sequence[Column]) -> tuple[str, ...]:
    """The names of classes of rules for these columns, those that can say most first.

    Conjunctions only of so few bits that all of them are weighed: learners of longer ones only
    ever take literals away, so a few labels that no rule fits would make them always 1. Scorecards
    where several features are added up, or one has more values than that. Of one number they are
    no better than a threshold (docs/which-class.md), which says it in a line. Raises ClassError
    where nobody can say what is meant.
    """
    wide = [column.name for column in columns if not column.features]
    if wide and len(columns) > 1:
        raise ClassError(
            "rules read numbers, categories and times, or one id or address; name what the "
            f"learner reads with columns = [...], as {', '.join(wide)} cannot be with others"
        )
    if wide:
        blocks = (f"prefix_sets:{BLOCKS}", "prefixes")
        return blocks if isinstance(columns[0], AddressColumn) else _sets(MEMBERS)
    features = [feature for column in columns for feature in column.features]
    few = sum(len(feature.flags) for feature in features) <= DENSE_BITS_MAX
    first = ("conjunctions",) if few else ()
    if len(features) > 1:
        return ("scorecard", *first, "stumps")
    if isinstance(columns[0], NumberColumn):
        return (*first, "thresholds")
    # a set of more than half of the values would be said the other way round
    members = (most for most in MEMBERS if 2 * most <= features[0].size)
    return (*(first or ("scorecard",)), *_sets(members))


def _sets(members: Iterable[int]) -> tuple[str, ...]:
    """Sets of so many members, the largest first, and single points."""
    return (*(f"sparse_sets:{most}" for most in members), "points")
