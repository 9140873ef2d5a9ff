"""Orders that are known to hurt, and targets that move: more kinds of streams for every class.

    stream = stream_of("prefixes:128", "near-misses", horizon=1_000_000, seed=3)

Like the usual kinds (`streams.py`) each is a function of (class, kind, horizon, seed) and fixed
beforehand. One rule of the class fits a whole stream of the first four:

- *near-misses*: first 100 examples, and then only examples next to the target's border. Thresholds
  and stumps: usual examples first, then the two values on either side of the threshold, at chance.
  Ids, blocks, subspaces and conjunctions: positives first, then only negatives, positives with one
  bit flipped so that one member, one parity check or one literal is missed (the block is a single
  address). Tables: usual examples first, then the points on which the rule that is most like the
  target differs from it;
- *sorted*: the examples of a uniform stream by their points, in rising order, rows of features by
  the first one, then the second, and so on;
- *grouped*: the examples of a uniform stream, all of one point together, the points in an order of
  chance. Rows of features are grouped by the first one; addresses hardly ever come twice;
- *bursts*: the examples of a uniform stream in runs of one label, 500 of them in the mean, until
  one label is used up.

No rule fits a whole stream of the other two, but one fits each phase. What is counted on them is
what it is; no bound speaks about it:

- *jump*: another target from the middle of the stream on, chosen like the first one. Points are
  those of both targets' uniform streams throughout, half of each;
- *drift*: eight small moves of the target, evenly spread over a uniform stream. A threshold moves
  up by 1/64 of the line, that of a stump by one; one id of a set is replaced by another that is
  seen; a block becomes its neighbour of the same length; an affine subspace is shifted; one literal
  is negated; of a table any other rule comes next. Points move with blocks, subspaces and literals,
  so that positives stay as frequent.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.learning.streams import (
    ADDRESS_BITS,
    BURST_EXAMPLES_MEAN,
    KINDS,
    ORDERS,
    AffineTarget,
    ConjunctionTarget,
    Generator,
    Kind,
    MembersTarget,
    Numbers,
    Points,
    PrefixTarget,
    Stream,
    StumpTarget,
    TableTarget,
    Target,
    ThresholdTarget,
    entropy,
    make_stream,
    parsed,
    starts_of,
    table_matrix,
)

# Examples before the near misses begin.
NEAR_FIRST = 100
DRIFT_MOVES = 8
# The line of thresholds has so many steps of a drift.
DRIFT_STEPS = 64
# Seeds of the streams whose targets others jump to.
JUMP_SEED = 2_000_000


def stream_of(class_name: str, kind: Kind, horizon: int, seed: int) -> Stream:
    """The stream of one class, kind and seed, usual or not, with `horizon` examples.

    ValueError for a class that has no streams here.
    """
    if kind in ("uniform", "clustered", "adversarial"):
        return make_stream(class_name, kind, horizon, seed)
    usual = make_stream(class_name, "uniform", horizon, seed)
    number = len(KINDS) + ORDERS.index(kind)
    rng = np.random.default_rng(entropy(class_name, number, seed))
    made = _ORDERS[kind](usual, rng)
    labels = np.empty(len(made), dtype=bool)
    ends = [*made.phases[1:], len(made)]
    targets = (made.target, *made.later)
    for first, end, target in zip(made.phases, ends, targets, strict=True):
        labels[first:end] = target.labels(made.x[first:end])
    x = np.ascontiguousarray(made.x, dtype=usual.x.dtype)
    return replace(made, kind=kind, x=x, y=labels.view(np.uint8))


# --- Orders of what one rule fits -----------------------------------------------------------------


def _sorted(usual: Stream, _rng: Generator) -> Stream:
    """Of rows the first column decides first."""
    columns = usual.x.reshape(len(usual), -1)
    return replace(usual, x=usual.x[np.lexsort(columns.T[::-1])])


def _grouped(usual: Stream, rng: Generator) -> Stream:
    """Groups have their examples in the order in which they came."""
    rows = usual.x if parsed(usual.class_name)[0] != "stumps" else usual.x[:, 0]
    _, group = np.unique(rows, axis=0, return_inverse=True)
    places = rng.permutation(int(group.max()) + 1)
    return replace(usual, x=usual.x[np.argsort(places[group], kind="stable")])


def _bursts(usual: Stream, rng: Generator) -> Stream:
    """Runs take turns; each has its examples in the order in which they came."""
    waiting = [np.flatnonzero(usual.y == label) for label in (0, 1)]
    order: list[Numbers] = []
    label = 0
    while all(len(left) for left in waiting):
        run = int(rng.geometric(1 / BURST_EXAMPLES_MEAN))
        order.append(waiting[label][:run])
        waiting[label] = waiting[label][run:]
        label = 1 - label
    return replace(usual, x=usual.x[np.concatenate([*order, *waiting])])


def _near_misses(usual: Stream, rng: Generator) -> Stream:
    """The first examples, and behind them the near misses of the family."""
    family, _ = parsed(usual.class_name)
    found = _NEAR[family](usual, rng)
    return replace(found, x=found.x.astype(usual.x.dtype))


def _near_thresholds(usual: Stream, rng: Generator) -> Stream:
    """The threshold and the point below it, as far as they are points."""
    (size,) = parsed(usual.class_name)[1]
    target = usual.target
    assert isinstance(target, ThresholdTarget)
    border = np.clip(target.threshold - rng.integers(0, 2, len(usual)), 0, size - 1)
    border[:NEAR_FIRST] = usual.x[:NEAR_FIRST]
    return replace(usual, x=border.astype(usual.x.dtype))


def _near_stumps(usual: Stream, rng: Generator) -> Stream:
    """Of usual rows the target's feature is at its threshold, or just below."""
    target = usual.target
    assert isinstance(target, StumpTarget)
    x = usual.x.copy()
    x[NEAR_FIRST:, target.feature] = target.threshold - rng.integers(0, 2, len(x) - NEAR_FIRST)
    return replace(usual, x=x)


def _near_ids(usual: Stream, rng: Generator) -> Stream:
    """Members, then members with one bit flipped."""
    target = usual.target
    assert isinstance(target, MembersTarget)
    chosen = rng.integers(0, len(target.members), len(usual))
    members = np.array(target.members, dtype=np.uint64)[chosen]
    return replace(usual, x=_flipped(members, range(parsed(usual.class_name)[1][0]), rng))


def _near_blocks(usual: Stream, rng: Generator) -> Stream:
    """The one address that the block is, then that address with one bit flipped."""
    target = usual.target
    assert isinstance(target, PrefixTarget)
    x = np.repeat(np.array([target.anchor], dtype=np.uint64), len(usual), axis=0)
    bit = rng.integers(0, ADDRESS_BITS, len(usual))
    bit[:NEAR_FIRST] = -1
    for column in (0, 1):
        here = bit // 64 == column
        x[here, column] ^= np.uint64(1) << (bit[here] % 64).astype(np.uint64)
    return replace(usual, x=x, target=PrefixTarget(target.anchor, ADDRESS_BITS))


def _near_subspaces(usual: Stream, rng: Generator) -> Stream:
    """Positives, then positives of which one bit that leads no vector of the basis is flipped."""
    target = usual.target
    assert isinstance(target, AffineTarget)
    leading = {vector.bit_length() - 1 for vector in target.basis}
    checks = [bit for bit in range(parsed(usual.class_name)[1][0]) if bit not in leading]
    return replace(usual, x=_flipped(_positives(usual), checks, rng))


def _near_conjunctions(usual: Stream, rng: Generator) -> Stream:
    """Positives, then positives with one literal violated."""
    target = usual.target
    assert isinstance(target, ConjunctionTarget)
    literals = [bit for bit in range(target.mask.bit_length()) if target.mask >> bit & 1]
    return replace(usual, x=_flipped(_positives(usual), literals, rng))


def _near_rows(usual: Stream, rng: Generator) -> Stream:
    """The points on which the row with the fewest differences differs from the target's."""
    target = usual.target
    assert isinstance(target, TableTarget)
    different = table_matrix(*parsed(usual.class_name)[1]) != np.array(target.row)
    counts = different.sum(axis=1)
    nearest = different[np.where(counts > 0, counts, counts.max() + 1).argmin()]
    x = rng.choice(np.flatnonzero(nearest), len(usual))
    x[:NEAR_FIRST] = usual.x[:NEAR_FIRST]
    return replace(usual, x=x.astype(usual.x.dtype))


def _positives(usual: Stream) -> Points:
    """As many positive points as the stream has examples, those that it has again and again."""
    found: Points = usual.x[usual.y == 1]
    return found.take(np.arange(len(usual)) % len(found), axis=0)


def _flipped(x: Points, bits: range | list[int], rng: Generator) -> Points:
    """Points (n,) of which all but the first ones have one of these bits flipped."""
    chosen = np.uint64(1) << np.array(bits, dtype=np.uint64)[rng.integers(0, len(bits), len(x))]
    chosen[:NEAR_FIRST] = 0
    flipped: Points = x.astype(np.uint64) ^ chosen
    return flipped


# --- Targets that move ----------------------------------------------------------------------------


def _jump(usual: Stream, rng: Generator) -> Stream:
    """Points of both streams, at chance; the labels of the second half are the other target's."""
    other = make_stream(usual.class_name, "uniform", len(usual), JUMP_SEED + usual.seed)
    x = usual.x.copy()
    taken = rng.random(len(usual)) < 0.5
    x[taken] = other.x[taken]
    return replace(usual, x=x, phases=(0, len(usual) // 2), later=(other.target,))


def _drift(usual: Stream, rng: Generator) -> Stream:
    """Every move takes the points of all later phases with it."""
    family, numbers = parsed(usual.class_name)
    starts = starts_of(DRIFT_MOVES + 1, len(usual))
    x, targets = usual.x.copy(), [usual.target]
    for first in starts[1:]:
        shift, target = _MOVES[family](targets[-1], numbers, usual.x, rng)
        x[first:] ^= shift
        targets.append(target)
    return replace(usual, x=x, phases=tuple(starts), later=tuple(targets[1:]))


# What points are shifted by, as bits, and the next target.
Moved = tuple[Points, Target]


def _no_shift(x: Points) -> Points:
    return np.zeros(x.shape[1:], dtype=x.dtype)


def _moved_threshold(target: Target, numbers: tuple[int, ...], x: Points, _: Generator) -> Moved:
    assert isinstance(target, ThresholdTarget)
    step = max(1, numbers[0] // DRIFT_STEPS)
    return _no_shift(x), ThresholdTarget(min(target.threshold + step, numbers[0]))


def _moved_stump(target: Target, numbers: tuple[int, ...], x: Points, _: Generator) -> Moved:
    assert isinstance(target, StumpTarget)
    threshold = min(target.threshold + 1, numbers[1] - 1)
    return _no_shift(x), replace(target, threshold=threshold)


def _moved_members(target: Target, _: tuple[int, ...], x: Points, rng: Generator) -> Moved:
    assert isinstance(target, MembersTarget)
    left = rng.integers(0, len(target.members))
    while (new := int(rng.choice(x))) in target.members:
        pass
    members = tuple(new if i == left else old for i, old in enumerate(target.members))
    return _no_shift(x), MembersTarget(members)


def _moved_block(target: Target, _: tuple[int, ...], x: Points, _rng: Generator) -> Moved:
    assert isinstance(target, PrefixTarget)
    bit = 1 << (ADDRESS_BITS - target.length)
    words = bit >> 64, bit % (1 << 64)
    anchor = target.anchor[0] ^ words[0], target.anchor[1] ^ words[1]
    return np.array(words, dtype=x.dtype), PrefixTarget(anchor, target.length)


def _moved_subspace(target: Target, numbers: tuple[int, ...], x: Points, rng: Generator) -> Moved:
    assert isinstance(target, AffineTarget)
    shift = int(rng.integers(1, 1 << numbers[0], dtype=np.uint64))
    return np.array(shift, dtype=x.dtype), replace(target, offset=target.offset ^ shift)


def _moved_literal(target: Target, _: tuple[int, ...], x: Points, rng: Generator) -> Moved:
    assert isinstance(target, ConjunctionTarget)
    literals = [bit for bit in range(target.mask.bit_length()) if target.mask >> bit & 1]
    bit = 1 << int(rng.choice(literals))
    return np.array(bit, dtype=x.dtype), replace(target, values=target.values ^ bit)


def _moved_row(_: Target, numbers: tuple[int, ...], x: Points, rng: Generator) -> Moved:
    matrix = table_matrix(*numbers)
    row = matrix[int(rng.integers(0, len(matrix)))]
    return _no_shift(x), TableTarget(tuple(bool(label) for label in row))


_ORDERS: dict[Kind, Callable[[Stream, Generator], Stream]] = {
    "near-misses": _near_misses,
    "sorted": _sorted,
    "grouped": _grouped,
    "bursts": _bursts,
    "jump": _jump,
    "drift": _drift,
}
_NEAR: dict[str, Callable[[Stream, Generator], Stream]] = {
    "thresholds": _near_thresholds,
    "points": _near_ids,
    "prefixes": _near_blocks,
    "sparse_sets": _near_ids,
    "affine": _near_subspaces,
    "stumps": _near_stumps,
    "conjunctions": _near_conjunctions,
    "table": _near_rows,
}
_MOVES: dict[str, Callable[[Target, tuple[int, ...], Points, Generator], Moved]] = {
    "thresholds": _moved_threshold,
    "points": _moved_members,
    "prefixes": _moved_block,
    "sparse_sets": _moved_members,
    "affine": _moved_subspace,
    "stumps": _moved_stump,
    "conjunctions": _moved_literal,
    "table": _moved_row,
}
