"""From the cells of one column, as files and frames have them, to the numbers of a row.

A column of n cells becomes (n, words) numbers of 16 bits, whole columns at a time. Where numpy
cannot take a column as it is, it is looked at cell by cell, so that the first bad cell can be
named. Values never appear in a message.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import compress, repeat
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from littled_client.conversions import (
    MISSING_TEXTS,
    BadRow,
    exact_integer,
    how_missing,
    ipv4_number,
    is_missing,
    sixteen_bytes,
    whole_number,
)
from littled_client.conversions import Column as Cells
from littled_protocol.encodings import (
    PARTS,
    AddressColumn,
    CategoryColumn,
    Column,
    IdColumn,
    NumberColumn,
    Rows,
    TimeColumn,
)
from littled_protocol.encodings.identities import IPV4_BITS, WORD_BITS

_NUMBER: Final = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
# A date, and a time of day without a zone: what numpy reads as it is written.
_NAIVE_CHARACTERS: Final = re.compile(r"[0-9T :.\-]*")
_DATE_CHARACTERS: Final = 10
_SECONDS_CHARACTERS: Final = 19
_TIME_LENGTHS: Final = frozenset({_DATE_CHARACTERS, 13, 16, _SECONDS_CHARACTERS})
_DAY_DASH: Final = 7
_REMEMBERED_IDS_MAX: Final = 1 << 17
_UNKNOWN: Final = -1
_ADDRESS_DIGITS: Final = re.compile(r"[0-9A-Fa-f]{32}")
_EPOCH_WEEKDAY: Final = 3  # 1970-01-01 was a Thursday
# What texts of ISO 8601 and times of Python can say; numpy has others.
_FIRST_TIME: Final = np.datetime64("0001-01-01T00:00:00")
_LAST_TIME: Final = np.datetime64("9999-12-31T23:59:59")
_NO_TIME: Final = np.datetime64("NaT", "s")


def rows_of(column: Column, cells: Cells) -> Rows:
    """Return the numbers (n, words) of n cells of a column.

    cells: a list of texts, numbers, dates or None, or an array; NaN, NaT, None and texts such as ""
    and "NA" are missing. Raises BadRow at the first cell that has no number.
    """
    if isinstance(column, NumberColumn):
        return _numbers(column, cells)
    if isinstance(column, CategoryColumn):
        return _categories(column, cells)
    if isinstance(column, TimeColumn):
        return _times(column, cells)
    if isinstance(column, IdColumn):
        return _ids(column, cells)
    assert isinstance(column, AddressColumn)
    return _addresses(column, cells)


def odd_cells(column: Column, cells: Cells) -> dict[str, int]:
    """Return how many of n cells are "missing", "below", "above", "other" or "wrong", if any.

    Below and above are numbers outside the column's range, other is what a category does not list,
    and wrong is what cannot be read. Nothing is refused: this is for reports on a file.
    """
    if isinstance(column, NumberColumn):
        found = _odd_numbers(column, cells)
    else:
        missing = np.array([_is_missing_in(column, cell) for cell in cells], dtype=np.bool_)
        kind = "other" if isinstance(column, CategoryColumn) else "wrong"
        odd = [
            not gone and not _fits(column, cell) for gone, cell in zip(missing, cells, strict=True)
        ]
        found = {"missing": missing, kind: np.array(odd, dtype=np.bool_)}
    counts = {what: int(np.count_nonzero(flags)) for what, flags in found.items()}
    return {what: number for what, number in counts.items() if number}


def _odd_numbers(column: NumberColumn, cells: Cells) -> dict[str, NDArray[np.bool_]]:
    values, wrong = read_numbers(cells)
    found = {"missing": np.isnan(values) & ~wrong, "wrong": wrong}
    if column.least is not None and column.most is not None:
        found["below"] = values < float(column.least)
        found["above"] = values > float(column.most)
    return found


def _is_missing_in(column: Column, cell: Any) -> bool:
    listed = isinstance(column, CategoryColumn) and cell_text(cell) in column.spellings
    return is_missing(cell) and not listed


def _fits(column: Column, cell: Any) -> bool:
    if isinstance(column, CategoryColumn) and is_word(cell):
        return cell_text(cell) in column.spellings
    try:
        rows_of(column, [cell])
    except BadRow:
        return False
    return True


# --- Numbers --------------------------------------------------------------------------------------


def _numbers(column: NumberColumn, cells: Cells) -> Rows:
    values, wrong = read_numbers(cells)
    _refuse(wrong, column, "does not hold a number such as -1234.5")
    missing = np.isnan(values)
    first = int(column.missing == "bucket")
    if not first and missing.any():
        what = how_missing(cells[int(missing.argmax())])
        _refuse(missing, column, f"{what}, and its missing values are refused")
    if column.outside == "refuse" and column.least is not None and column.most is not None:
        least, most = np.array([column.least, column.most], dtype=values.dtype)
        _refuse(values < least, column, f"is below its least value, {column.least}")
        _refuse(values > most, column, f"is above its greatest value, {column.most}")
    edges = np.array([float(edge) for edge in column.edges], dtype=np.float64).astype(values.dtype)
    buckets = np.searchsorted(edges, values, side="right") + first
    if first:
        buckets[missing] = 0
    return buckets.astype(np.uint16).reshape(-1, 1)


def read_numbers(cells: Cells) -> tuple[NDArray[np.floating[Any]], NDArray[np.bool_]]:
    """Return the values (n,), NaN for what is missing, and which of them are no numbers.

    They are float64, or floats of fewer bits where the cells are an array of these: 0.7 as a
    float32 is to be compared with the 0.7 nearest to it, as it is where it was written to a file.
    """
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf":
        narrow = cells.dtype.kind == "f" and cells.dtype.itemsize < np.dtype(np.float64).itemsize
        values = cells if narrow else cells.astype(np.float64)
        return values, np.isinf(values)
    quick = _quick_numbers(cells)
    if quick is not None:
        return quick, np.isinf(quick)
    slow = [_number(cell) for cell in cells]
    wrong = np.array([value is None for value in slow], dtype=np.bool_)
    values = np.array([math.nan if value is None else value for value in slow], dtype=np.float64)
    return values, wrong


def _quick_numbers(cells: Cells) -> NDArray[np.float64] | None:
    """Return a column of texts or numbers alone as numbers, None where one needs a closer look."""
    kinds = set(map(type, cells))
    if kinds != {str}:
        return _as_floats(cells) if kinds <= {int, float} else None
    texts = list(cells)
    values = _as_floats(texts) if _is_plain(texts) else None
    if values is not None:
        return values
    filled = ["" if text.strip() in MISSING_TEXTS else text for text in texts]
    return _as_floats([cell or "nan" for cell in filled]) if _is_plain(filled) else None


def _is_plain(cells: Sequence[str]) -> bool:
    """Return whether no text is one that Python reads and people do not: "1_0", "inf", "-nan"."""
    together = "".join(cells)
    return together.isascii() and "_" not in together and "n" not in together.lower()


def _as_floats(cells: Cells) -> NDArray[np.float64] | None:
    try:
        return np.array(cells, dtype=np.float64)
    except (ValueError, OverflowError):
        return None


def _number(cell: Any) -> float | None:
    """Return a cell as a number, NaN if it is missing, None if it is something else."""
    if is_missing(cell):
        return math.nan
    if isinstance(cell, str):
        return _finite(float(cell)) if _NUMBER.fullmatch(cell) else None
    if isinstance(cell, bool | np.bool_):
        return None
    if isinstance(cell, int | float | Decimal | np.integer | np.floating):
        try:
            return _finite(float(cell))
        except OverflowError:
            return None
    return None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# --- Categories -----------------------------------------------------------------------------------


def _categories(column: CategoryColumn, cells: Cells) -> Rows:
    values = cells.tolist() if isinstance(cells, np.ndarray) else cells
    first = int(column.missing == "bucket")
    known: dict[Any, int] = {text: first + place for text, place in column.spellings.items()}
    with suppress(KeyError, TypeError):  # often every cell is one of the texts, as it stands there
        return np.fromiter(map(known.__getitem__, values), np.uint16, len(values)).reshape(-1, 1)
    kinds = set(map(type, values))
    if kinds <= {str, type(None)}:  # 1, 1.0 and True would be one key
        buckets = list(map(known.get, values, repeat(_UNKNOWN)))
        for value in set(compress(values, map(_UNKNOWN.__eq__, buckets))):
            known[value] = _category(column, value, values)
        return np.fromiter(map(known.__getitem__, values), np.uint16, len(values)).reshape(-1, 1)
    found = [_category(column, value, values, index) for index, value in enumerate(values)]
    return np.array(found, dtype=np.uint16).reshape(-1, 1)


def _category(
    column: CategoryColumn, value: Any, values: Sequence[Any], index: int | None = None
) -> int:
    """Return the bucket of one cell; BadRow at `index`, or where the value first stands."""
    first = int(column.missing == "bucket")
    place = column.spellings.get(cell_text(value))
    if place is not None:  # a word such as "NA" may be one of them
        return first + place
    if is_missing(value):
        if first:
            return 0
        sentence = f"{how_missing(value)}, and its missing values are refused"
    elif not is_word(value):
        sentence = "does not hold a text, a number or a truth value"
    elif column.other == "bucket":
        return first + len(column.values)
    else:
        sentence = "holds none of its values"
    raise _bad(values.index(value) if index is None else index, column, sentence)


def is_word(value: Any) -> bool:
    """Return whether a cell is something that people write as a word, and no list or bytes."""
    return not isinstance(value, bytes | list | tuple | dict | set | frozenset | np.ndarray)


def cell_text(value: Any) -> str:
    """Return a cell as the text that stands in a configuration."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


# --- Times ----------------------------------------------------------------------------------------


def _times(column: TimeColumn, cells: Cells) -> Rows:
    times, wrong = read_times(cells, ZoneInfo(column.zone))
    _refuse(wrong, column, "does not hold a time such as 2026-05-01 or 2026-05-01T13:45:00")
    missing = np.isnat(times)
    first = int(column.missing == "bucket")
    if not first:
        _refuse(missing, column, "is empty, and its missing values are refused")
    rows = np.empty((len(times), column.words), dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        for place, part in enumerate(column.parts):
            numbers = np.where(missing, 0, _PART_NUMBERS[part](times))
            rows[:, place] = np.where(missing, 0, numbers + first)
    return rows


def read_times(cells: Cells, zone: ZoneInfo) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return local times (n,) as datetime64[s], NaT for what is missing, and which are no times."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        times = cells.astype("datetime64[s]")
        return times, (times < _FIRST_TIME) | (times > _LAST_TIME)
    quick = _naive_times(cells) if set(map(type, cells)) == {str} else None
    if quick is not None:
        return quick, np.zeros(len(quick), dtype=np.bool_)
    slow = [_local_time(cell, zone) for cell in cells]
    wrong = np.array([time is None for time in slow], dtype=np.bool_)
    times = np.array([_NO_TIME if t is None else t for t in slow], dtype="datetime64[s]")
    return times, wrong | (times < _FIRST_TIME) | (times > _LAST_TIME)


def _naive_times(texts: Cells) -> NDArray[Any] | None:
    """Return texts that are all dates and times without a zone, None where one may be other."""
    if _NAIVE_CHARACTERS.fullmatch("".join(texts)) is None or not all(map(_is_plain_time, texts)):
        return None
    try:
        return np.array(texts, dtype="datetime64[s]")
    except ValueError:
        return None


def _is_plain_time(text: str) -> bool:
    """Return whether a text is one that numpy and Python read alike.

    It ends where a part of a time does, has no zone, which numpy drops, and is no number such as
    1746100000 or a year before 1, which numpy has.
    """
    ends = len(text) in _TIME_LENGTHS or text[_SECONDS_CHARACTERS : _SECONDS_CHARACTERS + 1] == "."
    is_date = text[_DAY_DASH : _DAY_DASH + 1] == "-" and text[:4] > "0000"
    return ends and is_date and "-" not in text[_DATE_CHARACTERS:]


def _local_time(cell: Any, zone: ZoneInfo) -> np.datetime64 | None:
    """Return a cell as local time, NaT if it is missing, None if it is no time."""
    if is_missing(cell):
        return _NO_TIME
    if isinstance(cell, np.datetime64):
        return cell
    try:
        if isinstance(cell, str):
            cell = datetime.datetime.fromisoformat(cell.strip())
        if isinstance(cell, datetime.datetime) and cell.tzinfo is not None:
            cell = cell.astimezone(zone).replace(tzinfo=None)
    except (ValueError, OverflowError):  # no time, or none of the years 1 to 9999 in the zone
        return None
    return np.datetime64(cell, "s") if isinstance(cell, datetime.date) else None


def _since(times: NDArray[Any], unit: str, beyond: str) -> NDArray[np.int64]:
    """Return how many of one unit of time lie between the start of a longer one and each time."""
    start = times.astype(f"datetime64[{beyond}]")
    difference = times.astype(f"datetime64[{unit}]") - start.astype(f"datetime64[{unit}]")
    numbers: NDArray[np.int64] = difference.astype(np.int64)
    return numbers


def _weekdays(times: NDArray[Any]) -> NDArray[np.int64]:
    days: NDArray[np.int64] = times.astype("datetime64[D]").astype(np.int64)
    weekdays: NDArray[np.int64] = (days + _EPOCH_WEEKDAY) % len(PARTS["weekday"])
    return weekdays


_PART_NUMBERS: Final[dict[str, Callable[[NDArray[Any]], NDArray[np.int64]]]] = {
    "month": lambda times: _since(times, "M", "Y"),
    "day": lambda times: _since(times, "D", "M"),
    "weekday": _weekdays,
    "hour": lambda times: _since(times, "h", "D"),
    "minute": lambda times: _since(times, "m", "h"),
}

# --- Ids and addresses ----------------------------------------------------------------------------


def id_number(value: Any, bits: int) -> int | None:
    """Return the number of an id, a text, a UUID or a whole number; None if it is none of them."""
    if isinstance(value, UUID):
        value = str(value)
    if isinstance(value, float | np.floating | Decimal):
        value = whole_number(value)
    if isinstance(value, bool | np.bool_) or not isinstance(value, str | int | np.integer):
        return None
    digest = hashlib.sha256(str(value).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest) >> (8 * len(digest) - bits)


def _ids(column: IdColumn, cells: Cells) -> Rows:
    known: dict[Any, bytes] = {}
    packed = bytearray()
    values = cells.tolist() if isinstance(cells, np.ndarray) else cells
    for index, value in enumerate(values):
        words = known.get(value) if type(value) in (str, int) else None  # True is not 1
        if words is None:
            if is_missing(value):
                raise _bad(index, column, f"{how_missing(value)}, and ids cannot be missing")
            number = id_number(value, column.bits)
            if number is None:
                raise _bad(index, column, "does not hold an id (a text or a whole number)")
            words = number.to_bytes(2 * column.words)
            if len(known) < _REMEMBERED_IDS_MAX and type(value) in (str, int):
                known[value] = words
        packed += words
    return _unpacked(packed, column.words)


def _addresses(column: AddressColumn, cells: Cells) -> Rows:
    packed = bytearray()
    for index, value in enumerate(cells):
        wide = _four_bytes(value) if column.bits == IPV4_BITS else _sixteen_bytes(value)
        if wide is None:
            if is_missing(value):
                raise _bad(index, column, f"{how_missing(value)}, and addresses cannot be missing")
            what = "an IPv4 address" if column.bits == IPV4_BITS else "an address"
            raise _bad(index, column, f"does not hold {what}")
        packed += wide
    return _unpacked(packed, column.words)


def _four_bytes(value: Any) -> bytes | None:
    """Return an IPv4 address, in dotted text or as its number, which is what SQL compares."""
    number = ipv4_number(str(value))
    if number is None:
        number = exact_integer(value)
    return None if number is None or not 0 <= number < 2**IPV4_BITS else number.to_bytes(4)


def _sixteen_bytes(value: Any) -> bytes | None:
    """Return an address, also as the 32 hexadecimal digits that SQL compares."""
    if isinstance(value, str) and _ADDRESS_DIGITS.fullmatch(value.strip()):
        return bytes.fromhex(value.strip())
    return sixteen_bytes(value, exact=True)


def _unpacked(packed: bytearray, words: int) -> Rows:
    assert np.dtype(np.uint16).itemsize * 8 == WORD_BITS
    return np.frombuffer(packed, dtype=">u2").reshape(-1, words).astype(np.uint16)


# --- What is wrong --------------------------------------------------------------------------------


def _bad(index: int, column: Column, sentence: str) -> BadRow:
    return BadRow(index, f"column {column.name!r} {sentence}")


def _refuse(wrong: NDArray[np.bool_], column: Column, sentence: str) -> None:
    """Raise BadRow at the first cell that is wrong."""
    if wrong.any():
        raise _bad(int(wrong.argmax()), column, sentence)
