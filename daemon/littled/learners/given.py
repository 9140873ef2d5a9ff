"""Examples for `step` from whatever a program has: checked once, before anything is learned."""

from typing import Any

import numpy as np

from littled.classes.base import Labels
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Examples, Place
from littled_protocol.columns import Points, point_type

# In a program there is no journal, and so no head of its chain.
NO_HEAD = bytes(32)


def examples_of(
    hypotheses: HypothesisClass, x: Any, y: Any, *, position: int = 0, chain_head: bytes = NO_HEAD
) -> Examples:
    """Examples of n points and labels, as a learner of this class takes them, at a position.

    x: integers (n,), or (n, columns) for rows and ids of 128 bits, in the range of
    `hypotheses.point_type`. y: True and False, or 1 and 0, (n,). chain_head: what noise is bound to
    besides the position; batches at different positions may share one. ValueError, one sentence,
    for anything else.
    """
    points, labels = typed(hypotheses.point_type, hypotheses.name, x, y)
    return Examples(Place(chain_head, position, position), points, labels)


def typed(x_type: str, name: str, x: Any, y: Any) -> tuple[Points, Labels]:
    """n points of a type by its name and labels, of the types that learners and views of rows take.

    name: whose points they are, as a message is to say it. ValueError as `examples_of`.
    """
    labels = _labels(y)
    points = np.asarray(x)
    wanted = point_type(x_type)
    shape = (len(labels),) if wanted.columns == 1 else (len(labels), wanted.columns)
    fits = points.dtype.kind in "biu" and points.shape == shape
    if not fits or not ((points >= 0) & (points <= wanted.greatest)).all():
        raise ValueError(
            f"points of {name} are integers from 0 to {wanted.greatest}, in an array of "
            f"shape {shape} for {len(labels)} labels"
        )
    return points.astype(wanted.dtype), labels


def _labels(y: Any) -> Labels:
    """Labels, uint8 (n,); ValueError for what is neither True nor False, 1 nor 0."""
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind not in "biuf" or not np.isin(labels, (0, 1)).all():
        raise ValueError("labels are True and False, or 1 and 0, in one dimension")
    return labels.astype(np.uint8)
