"""From a name in a configuration, or a stored description, to a class."""

from pkgutil import resolve_name
from typing import Any

from littled.classes.base import ClassError
from littled.classes.hypothesis import HypothesisClass
from littled.classes.registry import CLASSES, all_written


def class_from_name(name: str) -> HypothesisClass:
    """The class behind a name such as `thresholds:256` or `stumps:16:64`.

    Raises ClassError for a class that does not exist or parameters it cannot have. A table is
    read from a file by the configuration, so it is not known here.
    """
    kind, *numbers = name.split(":")
    entry = CLASSES.get(kind)
    if entry is None or entry.from_file:
        raise ClassError(f"there is no class {name!r}; the classes are {all_written()}")
    whole = all(number.isascii() and number.isdigit() and len(number) < 20 for number in numbers)
    if len(numbers) != len(entry.parameters) or not whole:
        several = len(entry.parameters) > 1
        what = f"{len(entry.parameters)} whole numbers" if several else "a whole number"
        raise ClassError(f"the class {kind} is written {entry.written}, {what}, not {name!r}")
    made: HypothesisClass = resolve_name(entry.made_by)(*map(int, numbers))
    return made


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
