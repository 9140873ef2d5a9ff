"""From a name in a configuration, or a stored description, to a class."""

from collections.abc import Callable
from typing import Any

from littled.classes.affine import AffineSubspaces
from littled.classes.base import ClassError
from littled.classes.conjunctions import Conjunctions
from littled.classes.hypothesis import HypothesisClass
from littled.classes.points import PointFunctions
from littled.classes.prefixes import Prefixes
from littled.classes.sparse_sets import SparseSets
from littled.classes.stumps import Stumps
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds

# A class is written with its parameters, NAME:FIRST:SECOND; in small letters they are the fields of
# its description. `table` is not here: its rules come from a file, which the configuration reads.
_BY_NUMBERS: dict[str, tuple[tuple[str, ...], Callable[..., HypothesisClass]]] = {
    "thresholds": (("SIZE",), Thresholds),
    "points": (("BITS",), PointFunctions),
    "prefixes": (("BITS",), Prefixes),
    "sparse_sets": (("BITS", "MEMBERS"), SparseSets),
    "affine": (("BITS", "DIMENSION"), AffineSubspaces),
    "stumps": (("FEATURES", "BUCKETS"), Stumps),
    "conjunctions": (("BITS",), Conjunctions),
}


def class_from_name(name: str) -> HypothesisClass:
    """The class behind a name such as `thresholds:256` or `stumps:16:64`.

    Raises ClassError for a class that does not exist or parameters it cannot have. A table is
    read from a file by the configuration, so it is not known here.
    """
    kind, *numbers = name.split(":")
    if kind not in _BY_NUMBERS:
        known = ", ".join(map(_written, _BY_NUMBERS))
        raise ClassError(f"there is no class {name!r}; the classes are {known}, table:FILE")
    parameters, make = _BY_NUMBERS[kind]
    whole = all(number.isascii() and number.isdigit() and len(number) < 20 for number in numbers)
    if len(numbers) != len(parameters) or not whole:
        what = "a whole number" if len(parameters) == 1 else f"{len(parameters)} whole numbers"
        raise ClassError(f"the class {kind} is written {_written(kind)}, {what}, not {name!r}")
    return make(*map(int, numbers))


def class_from_dict(description: dict[str, Any]) -> HypothesisClass:
    """The class that `to_dict` described; ClassError for an unknown one."""
    kind = description.get("class")
    if kind == "table":
        return Table.from_dict(description)
    if kind not in _BY_NUMBERS:
        raise ClassError(f"a stored plan names a class {kind!r}, unknown to this version")
    parameters, make = _BY_NUMBERS[kind]
    return make(*(description[parameter.lower()] for parameter in parameters))


def _written(kind: str) -> str:
    """How a class is written: `stumps:FEATURES:BUCKETS`."""
    return ":".join((kind, *_BY_NUMBERS[kind][0]))
