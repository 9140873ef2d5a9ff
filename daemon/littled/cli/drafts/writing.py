"""A draft as the text of a configuration, with what to check beside what it is about."""

import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from littled.classes.choices import BLOCKS
from littled.cli.drafts.guesses import DraftedColumn, DraftedLabel
from littled_protocol.encodings.numbers import plain

HORIZON_MIN = 100_000
SCORECARD = "scorecard"
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
    """A learner for the columns that rules can compare, and one for each of the others."""
    ids = [c.name for c in columns if c.table.get("kind") == "id"]
    addresses = [c.name for c in columns if c.table.get("kind") == "address"]
    features = [c.name for c in columns if c.table and c.name not in ids + addresses]
    if features:
        yield ""
        yield f"[streams.{stream}.learners.rule]"
        rules = _class_of(features, columns, beside_ids=bool(ids))
        yield f"class = {_value(rules)}"
        if rules == SCORECARD:
            yield '# points for every column, added up; or class = "stumps", one cut of one column'
        yield f"columns = {_value(features)}"
        if rules != SCORECARD:
            yield 'adversary = "none"  # nobody chooses the order of the examples'
    yield from _alone(stream, "ids", "sparse_sets:16", ids)
    yield from _alone(stream, "blocks", f"prefix_sets:{BLOCKS}", addresses)


def _alone(stream: str, learner: str, rules: str, names: Sequence[str]) -> Iterator[str]:
    """A learner for each of these columns, numbered where there are several."""
    for place, name in enumerate(names, start=1):
        yield ""
        yield f"[streams.{stream}.learners.{learner}{place if len(names) > 1 else ''}]"
        yield f"class = {_value(rules)}"
        yield f"columns = {_value([name])}"


def _class_of(names: Sequence[str], columns: Sequence[DraftedColumn], *, beside_ids: bool) -> str:
    """A class of rules for columns that rules can compare: of one feature, or of several.

    No scorecard beside learners of ids: in the accounting that it needs they would cost too much.
    """
    tables = [column.table for column in columns if column.name in names]
    features = sum(len(table.get("parts", [0])) for table in tables)
    if features > 1:
        return "stumps" if beside_ids else SCORECARD
    return "thresholds" if tables[0]["kind"] == "number" else "conjunctions"


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
