"""From a name in a configuration, or a stored description, to a class."""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, get_args

from littled.classes.base import ClassError
from littled.classes.hypothesis import HypothesisClass
from littled.classes.registry import CLASSES, all_written
from littled_protocol.encodings import CategoryFeature, Feature, Form, Reading

# The parameters of classes that follow from a reading.
_SIZES: dict[str, Callable[[Reading], int | str]] = {
    "COLUMNS": lambda reading: "x".join(map(_written, reading.features)),
    "SIZE": lambda reading: reading.size,
    "BITS": lambda reading: reading.bits,
    "FEATURES": lambda reading: len(reading.features),
    "BUCKETS": lambda reading: reading.size,
}


def class_from_name(name: str) -> HypothesisClass:
    """The class behind a name such as `thresholds:256` or `stumps:16:64`.

    Raises ClassError for a class that does not exist or parameters it cannot have. A table is
    read from a file by the configuration, so it is not known here.
    """
    kind, *numbers = name.split(":")
    entry = CLASSES.get(kind)
    if entry is None or entry.from_file:
        raise ClassError(f"there is no class {name!r}; the classes are {all_written()}")
    of_columns = entry.parameters == ("COLUMNS",)
    whole = all(number.isascii() and number.isdigit() and len(number) < 20 for number in numbers)
    if len(numbers) != len(entry.parameters) or not (whole or of_columns):
        several = len(entry.parameters) > 1
        what = f"{len(entry.parameters)} whole numbers" if several else "a whole number"
        if of_columns:
            what = "the buckets of each column as 64x2x7c"
        raise ClassError(f"the class {kind} is written {entry.written}, {what}, not {name!r}")
    made: HypothesisClass = resolve_name(entry.made_by)(
        *(numbers if of_columns else map(int, numbers))
    )
    return made


def reads_columns(name: str) -> bool:
    """Whether this is a class whose sizes, or some of them, are left to the columns that it reads.

    `stumps`, `sparse_sets:4` and `conjunctions` are; `stumps:16:64` is a class already.
    """
    kind, *numbers = name.split(":")
    entry = CLASSES.get(kind)
    if entry is None or entry.from_file:
        return False
    own = [parameter for parameter in entry.parameters if parameter not in _SIZES]
    return len(numbers) == len(own) < len(entry.parameters)


def class_of_reading(name: str, reading: Reading) -> HypothesisClass:
    """The class of a name over the points of a reading, whose sizes the name may leave out.

    Raises ClassError for a class that cannot be, and for sizes other than those of the reading.
    """
    kind, *numbers = name.split(":")
    entry = CLASSES.get(kind)
    if entry is None or entry.from_file:
        return class_from_name(name)
    sizes = {
        parameter: _SIZES[parameter](reading)
        for parameter in entry.parameters
        if parameter in _SIZES
    }
    if len(numbers) == len(entry.parameters) - len(sizes):
        own = iter(numbers)
        numbers = [str(sizes[p]) if p in sizes else next(own) for p in entry.parameters]
    found = class_from_name(":".join((kind, *numbers)))
    for parameter, number in zip(entry.parameters, numbers, strict=True):
        if str(sizes.get(parameter, number)) != number:
            raise ClassError(
                f"the columns of {name} make {parameter} {sizes[parameter]}, not {number}; leave "
                f"the sizes away: {kind}"
            )
    return found


def _written(feature: Feature) -> str:
    """A column as a class is written: its buckets, and which of them are missing or other."""
    column = getattr(feature, "column", None)
    missing = getattr(column, "missing", "") == "bucket"
    is_category = isinstance(feature, CategoryFeature)
    has_other = is_category and getattr(column, "other", "") == "bucket"
    return f"{'m' * missing}{feature.size}{'c' * is_category}{'o' * has_other}"


def forms_of(name: str) -> tuple[Form, ...]:
    """The forms of points that a class of this name can have; ClassError for no class."""
    entry = CLASSES.get(name.partition(":")[0])
    if entry is None:
        raise ClassError(f"there is no class {name!r}; the classes are {all_written()}")
    known: dict[str, Form] = {form: form for form in get_args(Form)}
    return tuple(known[form] for form in entry.forms)


def class_from_dict(description: dict[str, Any]) -> HypothesisClass:
    """The class that `to_dict` described; ClassError for an unknown one."""
    kind = description.get("class")
    entry = CLASSES.get(kind) if isinstance(kind, str) else None
    if entry is None:
        raise ClassError(f"a stored plan names a class {kind!r}, unknown to this version")
    made: HypothesisClass
    if entry.from_file:
        made = resolve_name(entry.made_by).from_dict(description)
    else:
        made = resolve_name(entry.made_by)(
            *(description[name.lower()] for name in entry.parameters)
        )
    return made
