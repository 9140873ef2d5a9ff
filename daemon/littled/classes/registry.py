"""From a name in a configuration, or a stored description, to a class."""

from collections.abc import Callable
from typing import Any

from littled.classes.base import ClassError, HypothesisClass
from littled.classes.points import PointFunctions
from littled.classes.prefixes import Prefixes
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds

# `table` is not here: its rules come from a file, which the configuration reads.
_BY_NUMBER: dict[str, tuple[str, Callable[[int], HypothesisClass]]] = {
    "thresholds": ("SIZE", Thresholds),
    "points": ("BITS", PointFunctions),
    "prefixes": ("BITS", Prefixes),
}


def class_from_name(name: str) -> HypothesisClass:
    """The class behind a name such as `thresholds:256` or `prefixes:128`.

    Raises ClassError for a class that does not exist or a parameter it cannot have. A table is
    read from a file by the configuration, so it is not known here.
    """
    kind, _, parameter = name.partition(":")
    if kind not in _BY_NUMBER:
        known = ", ".join(f"{each}:{what}" for each, (what, _) in _BY_NUMBER.items())
        raise ClassError(f"there is no class {name!r}; the classes are {known}, table:FILE")
    what, make = _BY_NUMBER[kind]
    if not (parameter.isascii() and parameter.isdigit()):
        raise ClassError(f"the class {kind} is written {kind}:{what}, a whole number, not {name!r}")
    return make(int(parameter))


def class_from_dict(description: dict[str, Any]) -> HypothesisClass:
    """The class that `to_dict` described; ClassError for an unknown one."""
    kind = description.get("class")
    if kind == "thresholds":
        return Thresholds(size=description["size"])
    if kind == "points":
        return PointFunctions(bits=description["bits"])
    if kind == "prefixes":
        return Prefixes(bits=description["bits"])
    if kind == "table":
        return Table.from_dict(description)
    raise ClassError(f"a stored plan names the class {kind!r}, which this version does not know")
