"""One meaning everywhere: the same values get the same labels, whichever way a rule went.

Rules of every class, in words of every kind, go out over the wire, HTTP, events, files and SQL, as
an expression and as a function; a real daemon with a learner of each class shows that it says what
these ways say. PostgreSQL is asked where it runs, and a test is skipped where it does not.
"""

import contextlib
import io
import json
import urllib.error
from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from littled.classes.hypothesis import HypothesisClass
from littled.cli.entry import run
from littled_client import Client
from littled_protocol.columns import text_of_bytes
from littled_protocol.rules import (
    MajorityRule,
    Rule,
    RuleError,
    Words,
    rule_from_dict,
    sql_function,
)
from support.class_cases import CASES
from support.databases import NO_POSTGRESQL, Postgres, Value, duckdb_labels, sqlite_labels
from support.rules import Case, Point, column, sequences, strings
from support.serving import Serving
from support.ways import LEARNER, Ways, event, got, latest, littled, open_ways

pytestmark = pytest.mark.long

SQLITE_MOST = 2**63 - 10**7
NUMBERS = [
    *range(10),
    *(2**n + d for n in (6, 8, 16, 31, 32, 40, 63, 64, 127, 128) for d in (-1, 0)),
]


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    with open_ways(tmp_path_factory.mktemp("ways")) as found:
        yield found


# --- Values ---------------------------------------------------------------------------------------


def value_of(rule: Rule, words: Words, point: Point) -> Value:
    """What people call a point."""
    if isinstance(point, tuple) and rule.x_type.startswith("bytes"):
        return text_of_bytes(bytes(point))
    if isinstance(point, tuple):
        return tuple(feature + words.offset for feature in point)
    return str(IPv6Address(point)) if rule.x_type == "u128" else point + words.offset


def argument_of(value: Value) -> str:
    """A value on the command line."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def cell_of(rule: Rule, value: Value) -> Value:
    """A value in the column of a database."""
    is_address = isinstance(value, str) and rule.x_type == "u128"
    return f"{int(IPv6Address(value)):032x}" if is_address else value


names = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=9
)
labels = st.sampled_from([("1", "0"), ("late", "not late"), ("yes", "no"), ("0", "1")])


@st.composite
def some_words(draw: st.DrawFn) -> Words:
    offset = draw(st.sampled_from([0, -30, 1]) | st.integers(-(10**6), 10**6))
    unit = draw(st.sampled_from(["", "min", "EUR/m²"]))
    return Words(draw(names), unit, offset, *draw(labels))


def pool_of(hypotheses: HypothesisClass) -> list[Point]:
    """Points of a class."""
    rule = hypotheses.first_rule()
    if rule.x_type.startswith("u16x"):
        width = int(rule.x_type[4:])
        rows = [tuple((start + 7 * i) % 64 for i in range(width)) for start in range(64)]
        rows += [tuple((number >> i) & 1 for i in range(width)) for number in range(4)]
        return [row for row in rows if hypotheses.contains(column(rule, [row]))]
    most = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "u128": 128}[rule.x_type]
    inside = [number for number in NUMBERS if number < 2**most]
    return [number for number in inside if hypotheses.contains(column(rule, [number]))]


# Classes whose points are bytes. Nothing selects among their rules, which learners make.
BYTES: dict[str, st.SearchStrategy[Case]] = {"strings": strings(), "oneway": sequences()}


@st.composite
def rules_of(draw: st.DrawFn, name: str) -> tuple[Rule, list[Point]]:
    """A rule that a learner of this class may publish, alone or as a majority, and points."""
    if name in BYTES:
        told = draw(BYTES[name])
        return told.rule, [*told.edges, *draw(st.lists(told.points, max_size=6))]
    case = CASES[name]
    streams = [hypotheses for hypotheses, _ in case.streams.values()]
    hypotheses = draw(
        st.sampled_from(
            [*([] if case.suite is None else [case.suite]), *case.named.values(), *streams]
        )
    )
    pool = st.sampled_from(pool_of(hypotheses))
    found = []
    for _ in range(draw(st.sampled_from([1, 1, 3]))):
        points = draw(st.lists(pool, min_size=1, max_size=5))
        x = column(hypotheses.first_rule(), points)
        y = [draw(st.integers(0, 1)) for _ in points]
        found.append(hypotheses.empirical_rule(x, np.array(y, dtype=np.uint8)))
    rule = found[0] if len(found) == 1 else MajorityRule(tuple(found))
    return rule, draw(st.lists(pool, min_size=1, max_size=12))


# --- The meaning ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(CASES))
@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # no smaller example: each takes many commands
)
@given(data=st.data())
def test_a_value_gets_one_label_whichever_way_its_rule_went(
    ways: Ways, postgresql: Postgres | None, name: str, data: st.DataObject
) -> None:
    rule, points = data.draw(rules_of(name))
    words = data.draw(some_words())
    ways.publish(rule, words)
    values = [value_of(rule, words, point) for point in points]
    expected: list[int] = rule.evaluate(column(rule, points)).tolist()
    agree(ways, rule, words, values, expected)
    agree_in_databases(ways, postgresql, rule, words, values, expected)


def test_postgresql_was_asked(postgresql: Postgres | None) -> None:
    if postgresql is None:
        pytest.skip(NO_POSTGRESQL)


def agree(
    ways: Ways, rule: Rule, words: Words, values: Sequence[Value], expected: Sequence[int]
) -> None:
    """Fail unless all ways give values these labels, and say the same of the rule."""
    where = [LEARNER, "-a", ways.address]
    over_http, exported = ways.folder / "http.json", ways.folder / "exported.json"
    over_http.write_text(got(ways.url))
    exported.write_text(littled("rule", "export", *where))
    told = json.loads(exported.read_text())
    assert told == json.loads(over_http.read_text()) == event(f"{ways.url}/events")
    assert told["text"] == rule.describe(words) == got(f"{ways.url}?format=text").rstrip("\n")
    assert (rule_from_dict(told["rule"]), Words.from_dict(told["words"])) == (rule, words)

    written = [argument_of(value) for value in values]
    for place in ([over_http], [exported], where):
        said = littled("rule", "eval", *place, "--", *written).split()
        assert said == [str(label) for label in expected]
        said = littled("rule", "eval", *place, "--words", "--", *written).splitlines()
        assert said == [words.label(label) for label in expected]
        assert littled("rule", "show", *place).splitlines()[0] == told["text"]
    for published in latest(ways.address, LEARNER):
        assert published.predict(list(values)).tolist() == expected
        assert (published.describe(), published.to_dict()) == (told["text"], told)


def agree_in_databases(
    ways: Ways,
    postgresql: Postgres | None,
    rule: Rule,
    words: Words,
    values: Sequence[Value],
    expected: Sequence[int],
) -> None:
    """Fail unless all ways give the same SQL, and it gives values these labels."""
    exports: list[list[str | Path]] = [
        [ways.folder / "exported.json"],
        [LEARNER, "-a", ways.address],
    ]
    asked = {"sql": "column=v", "sql-function": f"column=v&name={quote(FUNCTION)}"}
    try:
        written = [
            rule.to_sql(words, "v"), sql_function(rule, words, FUNCTION, "postgresql", "v"),
        ]  # fmt: skip
    except RuleError as error:
        refused(ways, exports, str(error))
        return
    for (form, query), sql in zip(asked.items(), written, strict=True):
        named = ["--name", FUNCTION] if form == "sql-function" else []
        for where in exports:
            said = littled("rule", "export", *where, "--format", form, "--column", "v", *named)
            assert said == f"{sql}\n"
        assert got(f"{ways.url}?format={form}&{query}") == f"{sql}\n"
    cells = [cell_of(rule, value) for value in values]
    assert duckdb_labels(rule, words, cells) == expected
    if postgresql is not None:
        assert postgresql.labels(rule, words, cells) == expected
    kept = [(c, e) for c, e in zip(cells, expected, strict=True) if not _beyond_sqlite(rule, c)]
    if kept and not (rule.x_type == "u64" and any(map(_beyond, rule.to_sql(words).split()))):
        assert sqlite_labels(rule, words, [c for c, _ in kept]) == [e for _, e in kept]


def refused(ways: Ways, exports: Sequence[Sequence[str | Path]], sentence: str) -> None:
    """Fail unless every way refuses SQL with this sentence."""
    for where in exports:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            assert run([*map(str, ["rule", "export", *where, "--format", "sql"])]) != 0
        assert sentence in " ".join(said.getvalue().split())
    with pytest.raises(urllib.error.HTTPError) as error:
        got(f"{ways.url}?format=sql")
    assert error.value.read().decode() == f"{sentence}\n"
    error.value.close()


def _beyond_sqlite(rule: Rule, cell: Value) -> bool:
    return rule.x_type == "u64" and isinstance(cell, int) and cell >= SQLITE_MOST


def _beyond(part: str) -> bool:
    digits = part.strip("(),")
    return digits.isdigit() and int(digits) >= SQLITE_MOST


# --- A real daemon --------------------------------------------------------------------------------

STREAMS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "thresholds": ("thresholds:256", lambda x: x >= 53),
    "points": ("points:16", lambda x: x == 7),
    "sparse_sets": ("sparse_sets:16:3", lambda x: x in (3, 7)),
    "prefixes": ("prefixes:32", lambda x: x < 128),
    "prefix_sets": ("prefix_sets:8:3", lambda x: x < 40 or x >= 224),
    "affine": ("affine:8:3", lambda x: x < 8),
    "stumps": ("stumps:3:64", lambda x: x[1] >= 20),
    "scorecard": ("scorecard:64x64x64", lambda x: x[0] + x[2] >= 64),
    "conjunctions": ("conjunctions:8", lambda x: x & 3 == 3),
    "table": ("table:rules.csv", lambda x: x % 2 == 1),
}
OFFSET = -30
FUNCTION = 'a "strange" name'
EXAMPLES = 4_000


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A daemon with a stream for each class, each fed with examples of one rule."""
    folder = tmp_path_factory.mktemp("real")
    rows = "never,0,0,0,0\nodd,0,1,0,1\nalways,1,1,1,1\n"
    (folder / "rules.csv").write_text(f"name,0,1,2,3\n{rows}")
    stream = "[streams.{0}]\nepsilon = 8.0\ndelta = 1e-6\nhorizon = 100_000\n".format
    words = (
        f'x = {{ name = "delay", unit = "min", offset = {OFFSET} }}\ny = {{ positive = "bad" }}\n'
    )
    tables = [
        f'{stream(name)}{words}learners.it = {{ class = "{of_class}", noise_rate = 0 }}\n'
        for name, (of_class, _) in STREAMS.items()
    ]
    (folder / "littled.toml").write_text("\n".join(tables))
    littled("init", folder / "store", "--config", folder / "littled.toml")
    serving = Serving.start(folder / "store", http=["127.0.0.1", 0])
    try:
        with Client(f"unix:{serving.unix}") as client:
            for name, (_, label) in STREAMS.items():
                points = real_points(name) * (EXAMPLES // len(real_points(name)))
                with client.feed(name) as feeder:
                    feeder.send(points, [int(label(point)) for point in points])
        # What is acknowledged need not be learned yet. A daemon that starts learns it before it is
        # ready, and publishes nothing more then.
        assert serving.stop() == 0
        serving = Serving.start(folder / "store", http=["127.0.0.1", 0])
        yield serving
        assert serving.stop() == 0
    finally:
        if serving.process.poll() is None:
            serving.kill()


def real_points(name: str) -> list[Any]:
    """Points of a stream, as many with a label of 1 as without where that can be."""
    if name in ("stumps", "scorecard"):
        return [(i % 64, 7 * i % 64, 3 * i % 64) for i in range(64)]
    if name in ("points", "sparse_sets"):
        return [7, 8, 7, 9, 7, 10, 3, 11]
    return list(range(4 if name == "table" else 256))


def test_every_class_has_a_stream() -> None:
    # Values of windows and sequences have daemons of their own, in test_cli_window_values.py and
    # test_cli_sequences.py.
    assert set(STREAMS) == set(CASES) - {"integers", "strings", "oneway"}


@pytest.mark.parametrize("name", STREAMS)
def test_a_daemon_and_its_clients_and_files_agree(real: Serving, tmp_path: Path, name: str) -> None:
    learner, address = f"{name}/it", f"unix:{real.unix}"
    path, url = tmp_path / "rule.json", real.url(f"/rules/{name}/it")
    first, second = latest(address, learner)
    path.write_text(got(url))
    told = json.loads(path.read_text())
    assert told == first.to_dict() == second.to_dict()
    assert told == json.loads(littled("rule", "export", learner, "-a", address))
    assert event(f"{url}/events")["words"] == told["words"]
    assert first.words == Words("delay", "min", OFFSET, "bad", "0")
    assert first.rule is not None
    points = real_points(name)
    values = [value_of(first.rule, first.words, point) for point in points]
    expected = first.rule.evaluate(column(first.rule, points)).tolist()
    assert first.predict(values).tolist() == expected
    assert second.predict(values).tolist() == expected
    said = littled("rule", "eval", path, "--", *map(argument_of, values)).split()
    assert said == [str(label) for label in expected]
    sql = got(f"{url}?format=sql").rstrip("\n")
    assert sql == first.rule.to_sql(first.words)
    assert sqlite_labels(first.rule, first.words, values) == expected
    assert duckdb_labels(first.rule, first.words, values) == expected


def test_some_daemons_rules_came_from_examples(real: Serving) -> None:
    """What the ways agree on is not only what was published before any data."""
    with Client(f"unix:{real.unix}") as client:
        streams = client.status()["streams"]
    learned = [name for name, facts in streams.items() if facts["learners"]["it"]["version"] > 1]
    assert len(learned) >= 6, learned
