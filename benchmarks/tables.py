"""How fast tables become points, and how long a backtest of a large file takes.

    python -m benchmarks.tables [--rows 1000000] [--rounds 3]

A table of ten columns (seven numbers, two categories, a time of which two parts are read) and a
label is made from a seed. Each line is one JSON object. First cells a second of the encoder, for
frames of polars, pandas and Arrow, beside scikit-learn's KBinsDiscretizer and OrdinalEncoder, which
cut the same numbers and look up the same categories (times and labels are left out there). Then
rows a second of reading the table from CSV and Parquet, beside Python's csv module, which only
splits the lines. Last the command `littled backtest` from its start to its end. All take turns;
figures are medians, `ratio` the median of the ratios to the peer within the turns.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from littled.configuration import load_configuration
from littled_client import Encoder
from littled_client.sources import Source
from littled_protocol.encodings import NumberColumn, TableSchema

GRADES = [f"grade {letter}" for letter in "ABCDE"]
CITIES = [f"city {number}" for number in range(40)]
NUMBERS = 6  # and a count
STEPS = 50
HEAD = """\
[streams.s]
epsilon = 1.0
delta = 1e-6
horizon = {rows}
[streams.s.label]
column = "label"
positive = "yes"
negative = "no"
"""
NUMBER = '[streams.s.columns.{name}]\nkind = "number"\nfrom = 0\nto = {most}\nsteps = {steps}\n'
CATEGORY = '[streams.s.columns.{name}]\nkind = "category"\nvalues = {values}\n'
TIME = '[streams.s.columns.opened]\nkind = "time"\nparts = ["hour", "weekday"]\n'
LEARNER = '[streams.s.learners.rule]\nclass = "stumps"\n'


def table(rows: int) -> Any:
    """A frame of pandas; the label says whether the first number is above 60, with some noise."""
    import pandas as pd  # noqa: PLC0415 - of the tests, as are polars, pyarrow and scikit-learn

    random = np.random.default_rng(1)
    columns: dict[str, Any] = {
        f"number {place}": random.normal(50, 20, rows).round(2) for place in range(NUMBERS)
    }
    columns["count"] = random.integers(0, 1000, rows)
    columns["grade"] = random.choice(GRADES, rows)
    columns["city"] = random.choice(CITIES, rows)
    since = random.integers(0, 30_000_000, rows).astype("timedelta64[s]")
    columns["opened"] = np.datetime64("2026-01-01T00:00:00") + since
    positive = (columns["number 0"] > 60) ^ (random.random(rows) < 0.05)
    columns["label"] = np.where(positive, "yes", "no")
    return pd.DataFrame(columns)


def configuration(rows: int) -> str:
    """The configuration for the table."""
    names = [(f'"number {place}"', 100, STEPS) for place in range(NUMBERS)] + [("count", 1000, 20)]
    numbers = [NUMBER.format(name=name, most=most, steps=steps) for name, most, steps in names]
    categories = [
        CATEGORY.format(name=name, values=json.dumps(values))
        for name, values in (("grade", GRADES), ("city", CITIES))
    ]
    return "".join((HEAD.format(rows=rows), *numbers, *categories, TIME, LEARNER))


def peer(frame: Any, schema: TableSchema) -> Callable[[], object]:
    """What scikit-learn does with the numbers and the categories."""
    from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder  # noqa: PLC0415

    cut = [column.name for column in schema.columns if isinstance(column, NumberColumn)]
    cells = frame[cut].to_numpy(dtype=np.float64)
    bins = KBinsDiscretizer(n_bins=STEPS, encode="ordinal", strategy="uniform").fit(cells)
    texts = frame[["grade", "city"]]
    ordinal = OrdinalEncoder(categories=[GRADES, CITIES]).fit(texts)

    def both() -> None:
        bins.transform(frame[cut].to_numpy(dtype=np.float64))
        ordinal.transform(texts)

    return both


def read(file: Path, schema: TableSchema) -> None:
    """Every row of a file as points."""
    for _ in Source(str(file), schema.x_type, schema):
        pass


def split(file: Path) -> None:
    """Every line of a file as texts."""
    with file.open(newline="") as lines:
        for _ in csv.reader(lines):
            pass


def backtest(file: Path, toml: Path) -> None:
    """The command, in a process of its own."""
    asked = ["backtest", "s", str(file), "--config", str(toml), "--seed", "1"]
    subprocess.run([sys.executable, "-m", "littled.cli", *asked], check=True, capture_output=True)


@dataclass(frozen=True)
class Run:
    """Seconds that one work took in one round: by the clock, and of processors."""

    clock: float
    processor: float


def in_turns(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[Run]]:
    """What each work took in each round; every round begins with another one."""
    runs: dict[str, list[Run]] = {name: [] for name in works}
    names = list(works)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            started, used = time.perf_counter(), processor_seconds()
            works[name]()
            run = Run(time.perf_counter() - started, processor_seconds() - used)
            runs[name].append(run)
    return runs


def processor_seconds() -> float:
    """Processor time of this process, and of the commands that it has run to their end."""
    return sum(os.times()[:4])


def show(found: dict[str, list[Run]], what: dict[str, int], unit: str, beside: str) -> None:
    """Print a line for each work: `what` it did in one run, in `unit`."""
    against = [what[beside] / run.clock for run in found[beside]]
    for name, runs in found.items():
        rates = [what[name] / run.clock for run in runs]
        ratios = [own / others for own, others in zip(rates, against, strict=True)]
        facts = {"work": name, f"{unit}_a_second": round(median(rates))}
        took = {
            "seconds": round(median(run.clock for run in runs), 2),
            "processor_seconds": round(median(run.processor for run in runs), 2),
        }
        told = {} if name == beside else {"ratio": round(median(ratios), 2), "beside": beside}
        print(json.dumps({**facts, **took, **told}), flush=True)


def main() -> None:
    """Read the arguments, and measure."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tables", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the table")
    parser.add_argument("--rounds", type=int, default=3, help="turns that each work has")
    asked = parser.parse_args()

    import polars as pl  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    frame = table(asked.rows)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        toml, as_csv, as_parquet = (
            folder / file for file in ("s.toml", "table.csv", "table.parquet")
        )
        toml.write_text(configuration(asked.rows))
        schema = load_configuration(toml).streams["s"].table_schema
        assert schema is not None
        encoder = Encoder(schema)
        frames = {
            "polars": pl.from_pandas(frame),
            "pandas": frame,
            "Arrow": pa.Table.from_pandas(frame),
        }
        works: dict[str, Callable[[], object]] = {
            f"encode {kind}": lambda kind=kind: encoder.examples(frames[kind])  # type: ignore[misc]
            for kind in frames
        }
        others = "encode with scikit-learn"
        works[others] = peer(frame, schema)
        cells = asked.rows * (len(schema.columns) + 1)
        what = dict.fromkeys(works, cells) | {others: asked.rows * (len(schema.columns) - 1)}
        show(in_turns(works, asked.rounds), what, "cells", others)

        frames["polars"].write_csv(as_csv)
        frames["polars"].write_parquet(as_parquet)
        others = "split CSV"
        files: dict[str, Callable[[], object]] = {
            "read CSV": lambda: read(as_csv, schema),
            "read Parquet": lambda: read(as_parquet, schema),
            "backtest of CSV": lambda: backtest(as_csv, toml),
            "backtest of Parquet": lambda: backtest(as_parquet, toml),
            others: lambda: split(as_csv),
        }
        show(in_turns(files, asked.rounds), dict.fromkeys(files, asked.rows), "rows", others)


if __name__ == "__main__":
    main()
