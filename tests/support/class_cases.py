"""Every hypothesis class in the tests that all classes pass: one entry for each.

A class that is in the register and not here is noticed by `tests/daemon/classes/test_registry.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from littled.classes.affine import AffineSubspaces
from littled.classes.conjunctions import Conjunctions
from littled.classes.hypothesis import HypothesisClass
from littled.classes.integers import Integers
from littled.classes.oneway import OneWay
from littled.classes.points import PointFunctions
from littled.classes.prefix_sets import PrefixSets
from littled.classes.prefixes import Prefixes
from littled.classes.scorecard import Scorecards
from littled.classes.sparse_sets import SparseSets
from littled.classes.strings import Strings
from littled.classes.stumps import Stumps
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds
from support.labelings import Small, by_sets, dense, rows, spread, table
from support.sequences import sequence_points
from support.small_classes import Cubes, Sets
from support.version_spaces import all_blocks, all_sets, all_subspaces

EIGHT = range(8)


@dataclass(frozen=True, eq=False)
class Law:
    """What one selection among the rules of a tiny class may cost: `learners/online/test_laws.py`.

    It is made once, of so many `examples` at these points; `factors` by how much the claim, and
    its failure mass, may exceed what is true; 0 where nothing is said.
    """

    selection: str
    hypotheses: HypothesisClass
    factors: tuple[float, float]
    points: Sequence[Any] = (0, 1)
    examples: int = 3


@dataclass(frozen=True, eq=False)
class ClassCase:
    """One class: what each of the shared tests takes of it.

    - `suite`: over the points 0..7, against brute force (`classes/test_classes.py`);
    - `small`: whose labelings brute force lists (`classes/test_labelings.py`, `test_chunks.py`);
    - `streams`: with the points of streams, by a name of their own, for twins and growing streams;
    - `laws`: what selections among its rules cost;
    - `named`: as a configuration writes it, where it can (`classes/test_names.py`).

    A class that has a kind of learner of its own is in no suite, as nothing selects among its
    rules: its tests, and its learner's laws, have files of their own.
    """

    suite: HypothesisClass | None
    small: tuple[Small, ...]
    streams: Mapping[str, tuple[HypothesisClass, Any]]
    laws: tuple[Law, ...]
    named: Mapping[str, HypothesisClass] = field(default_factory=dict)


CASES: dict[str, ClassCase] = {
    "thresholds": ClassCase(
        suite=Thresholds(8),
        small=tuple(dense(Thresholds(size), list(range(size))) for size in (1, 8, 300)),
        streams={"thresholds": (Thresholds(8), EIGHT)},
        # 2e is reached as the number of rules and examples grows
        laws=(Law("dense", Thresholds(3), (1.1, 0), points=(0, 2)),),
        named={"thresholds:256": Thresholds(256)},
    ),
    "points": ClassCase(
        suite=PointFunctions(3),
        small=tuple(spread(PointFunctions(3 + n), all_sets(3, 1), n) for n in (0, 61, 100)),
        streams={"points": (PointFunctions(3), EIGHT)},
        # half of delta's share of the outcomes shows the other half of epsilon
        laws=(Law("histogram", PointFunctions(1), (1.55, 1.01)),),
        named={"points:64": PointFunctions(64)},
    ),
    "sparse_sets": ClassCase(
        suite=SparseSets(3, 2),
        small=(
            *(spread(SparseSets(3 + n, 2), all_sets(3, 2), n) for n in (0, 62)),
            spread(SparseSets(2, 1000), all_sets(2, 4)),
        ),
        streams={
            "sets": (SparseSets(3, 3), EIGHT),
            "wide sets": (SparseSets(128, 2), [id_ << 100 for id_ in EIGHT]),
        },
        laws=(Law("histogram", SparseSets(1, 2), (1.55, 1.01)),),
        named={"sparse_sets:128:16": SparseSets(128, 16)},
    ),
    "prefixes": ClassCase(
        suite=Prefixes(3),
        small=(
            spread(Prefixes(1), all_blocks(1)),
            *(spread(Prefixes(4 + n), all_blocks(4), n) for n in (0, 30, 60, 62, 124)),
        ),
        streams={
            "prefixes": (Prefixes(3), EIGHT),
            "long prefixes": (Prefixes(12), [address << 9 for address in EIGHT]),
        },
        # nobody vetoes, and a proposal that goes elsewhere counts once: half of 2e, all of delta
        laws=(Law("proposals", Prefixes(1), (2.1, 1.01)),),
        named={"prefixes:128": Prefixes(128)},
    ),
    "prefix_sets": ClassCase(
        suite=None,
        small=(),
        streams={"prefix sets": (PrefixSets(3, 2), EIGHT)},
        laws=(),
        named={"prefix_sets:128:16": PrefixSets(128, 16)},
    ),
    "affine": ClassCase(
        suite=AffineSubspaces(3, 2),
        small=tuple(
            spread(AffineSubspaces(bits, n), all_subspaces(bits, n))
            for bits, n in ((1, 0), (3, 1), (4, 3))
        ),
        streams={"affine": (AffineSubspaces(3, 2), EIGHT)},
        # three examples cannot make two candidates that both exceed bottom
        laws=(Law("closures", AffineSubspaces(2, 1), (2.42, 1.14)),),
        named={"affine:64:3": AffineSubspaces(64, 3)},
    ),
    "scorecard": ClassCase(
        suite=None,
        small=(),
        streams={
            "scorecard": (Scorecards("3x2c"), [[a, b] for a in range(3) for b in range(2)]),
            "categories": (Scorecards("3cx2"), [[a, b] for a in range(3) for b in range(2)]),
        },
        laws=(),
        named={"scorecard:64x7cox2": Scorecards("64x7cox2")},
    ),
    "stumps": ClassCase(
        suite=Stumps(3, 2),
        small=tuple(dense(made, rows(made)) for made in (Stumps(2, 4), Stumps(3, 3), Stumps(4, 2))),
        streams={"stumps": (Stumps(2, 3), [[a, b] for a in range(3) for b in range(3)])},
        laws=(Law("dense", Stumps(2, 2), (1.5, 0), points=((0, 0), (0, 1), (1, 0)), examples=2),),
        named={"stumps:16:64": Stumps(16, 64)},
    ),
    "integers": ClassCase(
        suite=None,
        small=(),
        streams={
            "integers": (Integers(3), EIGHT),
            "wide integers": (Integers(128), [number << 125 for number in EIGHT]),
        },
        laws=(),
        named={"integers:64": Integers(64)},
    ),
    "strings": ClassCase(
        suite=None,
        small=(),
        streams={"strings": (Strings(2), [[97, number] for number in EIGHT])},
        laws=(),
        named={"strings:64": Strings(64)},
    ),
    "oneway": ClassCase(
        suite=None,
        small=(),
        streams={"sequences": (OneWay(2), sequence_points(2))},
        laws=(),
        named={"oneway:64": OneWay(64)},
    ),
    "conjunctions": ClassCase(
        suite=Conjunctions(3),
        small=tuple(dense(Conjunctions(bits), list(range(1 << bits))) for bits in (1, 2, 4)),
        streams={"conjunctions": (Conjunctions(3), EIGHT)},
        laws=(
            Law("dense", Conjunctions(1), (1.25, 0)),
            Law("closures", Conjunctions(1), (2.42, 1.14)),
        ),
        named={"conjunctions:100": Conjunctions(100)},
    ),
    "table": ClassCase(
        suite=Table.from_matrix(
            [f"r{row}" for row in range(6)],
            np.array([[bool(row * 5 >> bit & 1) for bit in range(8)] for row in range(6)]),
        ),
        small=tuple(
            dense(made, list(range(made.points))) for made in (table(6, 8), table(50, 130))
        ),
        streams={
            "table": (
                Table.from_matrix(
                    ["none", "low", "odd", "all"],
                    np.array([[0] * 8, [1] * 4 + [0] * 4, [0, 1] * 4, [1] * 8], dtype=np.bool_),
                ),
                EIGHT,
            )
        },
        laws=(
            Law(
                "dense",
                Table.from_matrix(
                    ["never", "late", "always"], np.array([[0, 0], [0, 1], [1, 1]], dtype=np.bool_)
                ),
                (1.13, 0),
            ),
        ),
    ),
}

SUITE = [case.suite for case in CASES.values() if case.suite is not None]
SMALL = [
    *(small for case in CASES.values() for small in case.small),
    *(by_sets(Cubes(2)), by_sets(Sets(2))),
]
STREAMS: dict[str, tuple[HypothesisClass, Any]] = {
    **{name: stream for case in CASES.values() for name, stream in case.streams.items()},
    "cubes": (Cubes(3), EIGHT),
    "all sets": (Sets(3), EIGHT),
}
LAWS = {f"{law.selection}, {name}": law for name, case in CASES.items() for law in case.laws}
NAMED = {name: made for case in CASES.values() for name, made in case.named.items()}

every_class = pytest.mark.parametrize("small", SMALL, ids=lambda small: small.hypotheses.name)
