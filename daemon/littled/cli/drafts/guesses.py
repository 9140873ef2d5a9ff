"""From what was seen of the columns of a file to a draft: kinds, edges, values, and the label."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from littled.cli.drafts.profiles import DISTINCT_MAX, Profile
from littled.cli.drafts.ranges import round_range
from littled_client.conversions import MISSING_TEXTS
from littled_protocol import limits
from littled_protocol.encodings import EncodingError, column_from_dict
from littled_protocol.encodings.base import NAME_CHARACTERS_MAX

VALUES_MAX = 128
# A value that fewer rows have is left to the others: it may be one person's.
VALUE_ROWS_MIN = 5
SMALL_FILE_ROWS = 100
# A column of whole numbers with such a name, and many of them, is one of ids.
_ID_NAME = re.compile(r"(?i:(^|[_\s-])(id|ids|uuid|guid|account|card|number|key))$|[a-z]Id$")
_EXACT_MAX = 2.0**53  # a float64 keeps whole numbers up to here
_ID_NUMBERS_MIN = 1000
_LABEL_NAME = re.compile(r"^(label|target|class|y|outcome|positive)$|^is_", re.I)
_POSITIVE = (
    "1",
    "1.0",
    "true",
    "yes",
    "y",
    "t",
    "positive",
    "bad",
    "spam",
    "fraud",
    "late",
    "malignant",
)
_NEGATIVE = ("0", "0.0", "false", "no", "n", "f", "negative", "good", "ham", "benign")


class DraftError(ValueError):
    """There is no draft for a file: one sentence that says what is missing."""


@dataclass(frozen=True, slots=True)
class DraftedColumn:
    """One column: its table in a configuration, or {} and `remark` says why it is left out.

    remark: else what to look at, "" for nothing.
    """

    name: str
    table: dict[str, Any]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class DraftedLabel:
    """The column with the labels and its two words; `guessed`: whether nobody named it."""

    column: str
    positive: str
    negative: str
    guessed: bool


def drafted_label(profiles: Sequence[Profile], named: str | None) -> DraftedLabel:
    """The label in the column that is named, or in the likeliest of those with two values.

    Raises DraftError where no column can be one.
    """
    if named is None:
        two = [profile for profile in profiles if _why_no_label(profile) is None]
        if not two:
            raise DraftError(
                "no column has two values and no empty cell, so none can be the label; name one "
                "with --label COLUMN to see what is in its way"
            )
        spoken = [profile for profile in two if _LABEL_NAME.search(profile.name)]
        profile = (spoken or two)[-1]
    else:
        found = next((profile for profile in profiles if profile.name == named), None)
        if found is None:
            known = ", ".join(profile.name for profile in profiles)
            raise DraftError(f"there is no column {named!r} in every row; there are {known}")
        profile = found
        if problem := _why_no_label(profile):
            raise DraftError(f"column {named!r} cannot be the label: {problem}")
    assert profile.texts is not None
    positive, negative = _words(profile.texts)
    return DraftedLabel(profile.name, positive, negative, named is None)


def _why_no_label(profile: Profile) -> str | None:
    if profile.nested:
        return "it holds lists or objects"
    if profile.missing:
        return f"{_cells(profile.missing)} empty; leave these rows out of the file"
    if profile.texts is None or len(profile.texts) != 2:
        count = f"more than {DISTINCT_MAX:,}" if profile.texts is None else len(profile.texts)
        more = "" if count == 1 else "; add a column that says yes or no"
        return f"it has {count} value{'s' * (count != 1)}, and a label has two{more}"
    if any(problem := _why_no_word(text) for text in profile.texts):
        return f"one of its words {problem}"
    return None


def _words(texts: dict[str, int]) -> tuple[str, str]:
    """Which of two words is 1: the one that says so, else the one that is said less often."""
    first, second = sorted(texts, key=lambda text: (texts[text], text))
    for positive, negative in ((first, second), (second, first)):
        if positive.lower() in _POSITIVE or negative.lower() in _NEGATIVE:
            return positive, negative
    return first, second


def drafted_columns(profiles: Iterable[Profile]) -> list[DraftedColumn]:
    """A draft for each column, in order; what has no kind, or no room in a row, is left out."""
    drafted, width = [], 0
    for profile in profiles:
        column = _drafted(profile)
        if column.table:
            try:
                words = column_from_dict({**column.table, "name": column.name}).words
            except EncodingError as error:
                column = DraftedColumn(column.name, {}, str(error))
            else:
                if width + words > limits.row_features_max:
                    column = DraftedColumn(column.name, {}, "there is no more room in a row")
                else:
                    width += words
        drafted.append(column)
    return drafted


def _drafted(profile: Profile) -> DraftedColumn:
    """The first kind that fits all cells."""
    name, missing = profile.name, {"missing": "bucket"} if profile.missing else {}
    if problem := _why_left_out(profile):
        return DraftedColumn(name, {}, problem)
    if profile.is_number and not _numbers_ids(profile) and _differ(profile):
        cut = round_range(profile.numbers, whole=profile.whole)
        return DraftedColumn(name, {"kind": "number", **cut.to_dict(), **missing}, "unit")
    if profile.is_time and not profile.is_number:
        if not profile.parts:
            return DraftedColumn(name, {}, "its times differ in no part but the year")
        parts = [part for part in profile.parts if part not in ("day", "minute")]
        table = {"kind": "time", "parts": parts or list(profile.parts), **missing}
        return DraftedColumn(name, table, "zone")
    if profile.is_address and not profile.missing:
        bits = {"bits": profile.address_bits} if profile.address_bits != 128 else {}
        return DraftedColumn(name, {"kind": "address", **bits})
    return _in_words(profile, missing)


def _why_left_out(profile: Profile) -> str | None:
    if problem := _why_no_word(profile.name):
        return f"its name {problem}"
    if profile.nested:
        return "it holds lists or objects"
    if not profile.present:
        return "all its cells are empty"
    if profile.texts is not None and len(profile.texts) == 1 and not profile.missing:
        return "all its cells are the same"
    return None


def _in_words(profile: Profile, missing: dict[str, str]) -> DraftedColumn:
    """A category of values that are few, or ids."""
    least = VALUE_ROWS_MIN if profile.rows >= SMALL_FILE_ROWS else 1
    values = [
        text
        for text, count in (profile.texts or {}).items()
        if count >= least and _why_no_word(text) is None and text not in MISSING_TEXTS
    ]
    if values and profile.texts is not None and len(values) <= VALUES_MAX:
        table = {"kind": "category", "values": _in_order(values), **missing}
        left = len(profile.texts) - len(values)
        remark = f"{left:,} more, of which few rows have any, are taken for other" if left else ""
        if left <= len(values) or not profile.is_id:
            return DraftedColumn(profile.name, table, remark)
    if profile.missing:
        reason = f"its values are many, and {_cells(profile.missing)} empty, which ids cannot be"
        return DraftedColumn(profile.name, {}, reason)
    if not profile.is_id:
        return DraftedColumn(profile.name, {}, "its cells are no numbers, times, texts or ids")
    return DraftedColumn(profile.name, {"kind": "id"})


def _in_order(values: list[str]) -> list[str]:
    """Numbers by size, other words by letters: not by how often they are said."""
    try:
        return sorted(values, key=Decimal)
    except ArithmeticError:
        return sorted(values)


def _numbers_ids(profile: Profile) -> bool:
    """Whether numbers are ids: whole, many and called so, or too large to be compared."""
    if not (profile.whole and profile.is_id and profile.present) or profile.missing:
        return False
    many = profile.texts is None or len(profile.texts) > _ID_NUMBERS_MIN
    large = float(abs(profile.numbers).max()) > _EXACT_MAX
    return large or (many and _ID_NAME.search(profile.name) is not None)


def _differ(profile: Profile) -> bool:
    return bool(len(profile.numbers)) and bool(profile.numbers[0] < profile.numbers[-1])


def _why_no_word(text: str) -> str | None:
    """Why a text cannot stand in a configuration; None if it can."""
    if not text:
        return "is empty"
    if not text.isprintable():
        return "has characters that are not printable"
    if len(text) > NAME_CHARACTERS_MAX:
        return f"has more than {NAME_CHARACTERS_MAX} characters"
    return None


def _cells(count: int) -> str:
    return f"{count:,} cell{'s are' if count != 1 else ' is'}"
