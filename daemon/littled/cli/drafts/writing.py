"""A draft as the text of a configuration, with what to check beside what it is about."""

import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from littled.cli.drafts.guesses import DraftedColumn, DraftedLabel
from littled_protocol.encodings.numbers import plain

HORIZON_MIN = 100_000
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LISTED_CHARACTERS_MAX = 100
_HINTS = {
    "unit": '# unit = ""',
    "zone": '# zone = "Europe/Berlin"  # in which its parts are meant; else UTC',
}


def draft(
    stream: str, rows: int, label: DraftedLabel, columns: Sequence[DraftedColumn], file: str
) -> Iterator[str]:
    """The lines of a configuration that loads as it is."""
    yield f"# A draft, made by `littled columns` from the {rows:,} rows of {_printable(file)}."
    yield "#"
    yield "# All of it will be public: it stands in the daemon's status and in every rule. So draft"
    yield "# from a sample that anybody may look at, never from private data, and check before use:"
    yield "# - from, to, edges and values: replace them by what is known without the data"
    yield "# - label: which word is the one that rules say yes to"
    yield "# - the budget, the examples of a season, and the classes of rules"
    yield ""
    name = _key(stream)
    yield f"[streams.{name}]"
    yield "epsilon = 1.0"
    yield "delta = 1e-6"
    yield f"horizon = {_round_above(max(rows, HORIZON_MIN)):_}"
    yield ""
    yield f"[streams.{name}.label]"
    if label.guessed:
        yield "# guessed: a column with two values"
    for key in ("column", "positive", "negative"):
        yield f"{key} = {_value(getattr(label, key))}"
    for column in columns:
        yield ""
        yield from _table(name, column)
    yield from _learners(name, columns)


def _table(stream: str, column: DraftedColumn) -> Iterator[str]:
    if not column.table:
        yield f"# {_printable(column.name)} is left out: {column.remark}"
        return
    yield f"[streams.{stream}.columns.{_key(column.name)}]"
    for key, value in column.table.items():
        yield f"{key} = {_value(value)}"
    if column.remark:
        yield _HINTS.get(column.remark, f"# {column.remark}")


def _learners(stream: str, columns: Sequence[DraftedColumn]) -> Iterator[str]:
    """A learner for the columns that rules can compare, and one for each of the others.

    None names a class: which is best depends on the columns, the budget and the horizon, and these
    are there to be edited (`littled.planner.best_class`).
    """
    kinds = {c.name: c.table["kind"] for c in columns if c.table}
    ids = [name for name, kind in kinds.items() if kind == "id"]
    addresses = [name for name, kind in kinds.items() if kind == "address"]
    features = [name for name in kinds if name not in ids + addresses]
    yield ""
    yield "# Without a class a learner has what is best for its columns: `littled check` names it."
    if features:
        yield from _learner(stream, "rule", features)
    for learner, names in (("ids", ids), ("blocks", addresses)):
        for place, name in enumerate(names, start=1):
            yield from _learner(stream, f"{learner}{place if len(names) > 1 else ''}", [name])


def _learner(stream: str, learner: str, names: Sequence[str]) -> Iterator[str]:
    """The table of one learner."""
    yield ""
    yield f"[streams.{stream}.learners.{learner}]"
    yield f"columns = {_value(names)}"


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _quoted(name)


def _value(value: Any) -> str:
    if isinstance(value, Decimal):
        text = plain(value)
        return f"{int(text):_}" if "." not in text and abs(value) >= 10_000 else text
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list | tuple):
        parts = [_value(part) for part in value]
        line = f"[{', '.join(parts)}]"
        if len(line) <= _LISTED_CHARACTERS_MAX:
            return line
        return "\n".join(["[", *_wrapped(parts), "]"])
    return str(value)


def _wrapped(parts: Sequence[str]) -> Iterator[str]:
    """The parts of a list in lines."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) > _LISTED_CHARACTERS_MAX - 2:
            yield line
            line = ""
        line = f"{line} {part}," if line else f"    {part},"
    yield line


def _quoted(text: str) -> str:
    """A basic string of TOML; what it may hold as it is, JSON may as well."""
    return json.dumps(text, ensure_ascii=False)


def _printable(text: str) -> str:
    return text if text.isprintable() else ascii(text)


def _round_above(count: int) -> int:
    """The least of 1, 2 and 5 times a power of ten that is no less."""
    power = int(10 ** (len(str(count)) - 1))
    return next(nice * power for nice in (1, 2, 5, 10) if nice * power >= count)
