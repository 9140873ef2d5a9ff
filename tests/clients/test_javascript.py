"""The client in JavaScript gives every value the meaning that it has in Python."""

from __future__ import annotations

import datetime
import json
import random
import subprocess
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from littled_client import ExampleError, Rule, points_of
from littled_client.published import Published
from littled_protocol.columns import Points
from littled_protocol.encodings import (
    Column,
    EncodingError,
    NumberColumn,
    Reading,
    column_from_dict,
)
from littled_protocol.rules import ScorecardRule, Words, rule_from_dict
from support.javascript import answers, node
from support.tables import (
    ADDRESS,
    AMOUNT,
    CARD,
    CLOSED,
    GRADE,
    HOST,
    INCOME,
    OPENED,
    OWNER,
    SCORE,
)
from support.vectors import load

CASES = load("rules.json")["rules"]
NUMBERS: list[Any] = [
    0, -1, 3125, 3124.999, 1e300, 2**53, "17", " 3125.0 ", "+5", "1e3", ".5", "5.", "1_0", "inf",
    "nan", "NA", "", None, "0x10", "٣", "1,5", True, "abc", "1e400", "-0", 0.1, 1e-7,
]  # fmt: skip
WORDS: list[Any] = [
    "A", " B ", "C", "Z", "rent", "own", "", None, "NA", True, False, 3, 3.0, 0.1, 1e-7,
    1e16, 2**40, "true", "True", "TRUE", "tRUE", "false", "1", "1.0", "01", 1, 2, "2", "2.0", [1],
]  # fmt: skip
SPELLED = [
    column_from_dict({"kind": "category", "name": f"spelled {i}", "values": values})
    for i, values in enumerate((["True", "FALSE"], ["1", "2.0"], ["true", "True", "1", "1.0"]))
]
TIMES: list[Any] = [
    "2026-05-01", "2026-05-01T13:45", "2026-05-01 13:45:59", "20260501", "20260501T1345",
    "2026-05-01T13:45:00Z", "2026-05-01T13:45:00+02:00", "2026-03-29T01:30:00Z",
    "1969-12-31T23:59", "2026-10-25T00:30:00+00:00", "2026-02-30", "2026-13-01",
    "1746100000", "2026050113", "0000-01-01", "10000-01-01",
    "2026-05-01T24:00", "05/01/2026", "2026", "2024-02-29T23:59:59.999",
    "2024-02-29T23:59:59,5", "0050-01-01", "2026-0501", "2026-05-01T13:4500", "", None,
    "NA", 5, "soon", "2026-05-01T13:60", "2026-05-01T13:45-11:30", "2026-05-01T2:00",
]  # fmt: skip
IDS: list[Any] = [
    0, "0", 17, 17.0, "17.0", " a ", "ä", "😀" * 9, "x" * 200, 2**60, "", None, True, 1.5,
]  # fmt: skip
ADDRESSES: list[Any] = [
    "10.0.0.1", " 10.0.0.1 ", "010.0.0.1", "256.0.0.1", "1.2.3", "::1", "2001:db8::", "::",
    ":::", "1::2::3", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::ffff:1.2.3.4", "1.2.3.4::",
    "g::1", "12345::", "", None, "12345678-1234-5678-1234-567812345678",
    "1234567-81234-5678-1234-567812345678", 5, "5", "0x1f", "5.0", 2**128 - 1, 2**128, -1,
    "2001:DB8::A", "1:2:3:4:5:6:1.2.3.4", "::1.2.3.4:5", "fe80::1%eth0",
    "00000000000000000000ffff01020304", "20010000000000000000000000000001", 2**32, 2**32 - 1,
    "4294967296", "167772161",
]  # fmt: skip


def reading(form: Any, *columns: Column) -> Reading:
    return Reading(columns, form)


def point_in_python(one: Reading, row: dict[str, Any]) -> Any:
    """The point of a row, or None where it is refused."""
    try:
        return plain(points_of([row], one), one.x_type)[0]
    except ExampleError:
        return None


def plain(points: Points, x_type: str) -> list[Any]:
    """Points as the client in JavaScript has them."""
    if x_type == "u128":
        return [high << 64 | low for high, low in points.tolist()]
    listed: list[Any] = points.tolist()
    return listed


def same_points(asked: Sequence[tuple[Reading, list[dict[str, Any]]]]) -> None:
    """Both clients make the same points of these rows, and refuse the same ones."""
    questions = [{"ask": "points", "reading": one.to_dict(), "rows": rows} for one, rows in asked]
    for (one, rows), found in zip(asked, answers(questions), strict=True):
        for row, point in zip(rows, found, strict=True):
            wanted = point_in_python(one, row)
            got = None if isinstance(point, dict) else point
            if one.form == "bits":  # always of any width
                got = None if got is None else int(str(got).removesuffix("n"))
            assert got == wanted, (one.to_dict(), row, point)


def test_rules_give_the_labels_of_the_vectors() -> None:
    points = [
        [int(p, 16) for p in case["points"]] if case["x_type"] == "u128" else case["points"]
        for case in CASES
    ]
    questions = [
        {"ask": "labels", "rule": case["rule"], "words": case.get("words"), "points": these}
        for case, these in zip(CASES, points, strict=True)
    ]
    found = answers(questions)
    assert found == [case["labels"] for case in CASES]
    types = answers([{"ask": "xType", "rule": case["rule"]} for case in CASES])
    assert types == [case["x_type"] for case in CASES]


def test_every_kind_of_rule_has_a_vector_here() -> None:
    from littled_protocol.rules.kinds import KINDS

    assert {case["rule"]["kind"] for case in CASES} == set(KINDS)


@pytest.mark.parametrize(
    ("columns", "values"),
    [
        ((INCOME, AMOUNT, SCORE), NUMBERS),
        ((GRADE, OWNER, *SPELLED), WORDS),
        ((OPENED, CLOSED), TIMES),
        ((CARD,), IDS),
        ((ADDRESS, HOST), ADDRESSES),
    ],
    ids=["numbers", "categories", "times", "ids", "addresses"],
)
def test_values_have_the_same_points(columns: tuple[Column, ...], values: list[Any]) -> None:
    asked = []
    for column in columns:
        form = "number" if not column.features else "row" if len(column.features) > 1 else "value"
        asked.append((reading(form, column), [{column.name: value} for value in values]))
    same_points(asked)


def test_rows_bits_and_cells_are_put_together_alike() -> None:
    draw = random.Random(4)
    rows = [
        {
            "income": draw.choice([0, 99_999.5, 200_000, draw.uniform(0, 2e5)]),
            "amount": draw.choice([None, 1, 10, 100, 1e5, draw.uniform(0, 1e6)]),
            "score": draw.uniform(-2, 4),
            "grade": draw.choice("ABCDEZ"),
            "owner's home": draw.choice(["rent", "own", None]),
            "opened": (
                datetime.datetime(2026, 1, 1) + datetime.timedelta(minutes=draw.randrange(525_600))
            ).isoformat(),
        }
        for _ in range(60)
    ]
    same_points(
        [
            (reading("row", INCOME, AMOUNT, GRADE, OPENED), rows),
            (reading("bits", AMOUNT, SCORE, GRADE, OWNER), rows),
            (reading("bits", INCOME, OPENED), rows),
            (reading("cell", SCORE, GRADE, OWNER), rows),
            (reading("cell", OWNER), rows),
        ]
    )


def test_edges_are_cut_alike() -> None:
    columns = [INCOME, AMOUNT, SCORE, *drawn_columns(150)]
    found = answers([{"ask": "edges", "column": column.to_dict()} for column in columns])
    for column, edges in zip(columns, found, strict=True):
        assert isinstance(column, NumberColumn)
        assert edges == [float(edge) for edge in column.edges], column.to_dict()


def drawn_columns(count: int) -> list[NumberColumn]:
    """Columns of numbers with ranges and steps of all sizes."""
    draw = random.Random(7)
    columns: list[NumberColumn] = []
    while len(columns) < count:
        scale = draw.choice(["linear", "log"])
        digits = draw.randrange(1, 17)
        ends = sorted(
            Decimal(draw.randrange(1, 10**digits)).scaleb(draw.randrange(-digits - 6, 1))
            for _ in range(2)
        )
        if scale == "linear" and draw.random() < 0.5:
            ends[0] = -ends[0]
        values = {"name": "n", "from": str(ends[0]), "to": str(ends[1]), "scale": scale}
        try:
            columns.append(
                NumberColumn.from_dict({**values, "steps": draw.choice([2, 3, 7, 10, 64])})
            )
        except EncodingError:
            continue
    return columns


def scorecard() -> tuple[Rule, dict[str, Any]]:
    """A scorecard over columns, and the release it came in."""
    draw = np.random.default_rng(3)
    one = reading("row", INCOME, AMOUNT, GRADE, OPENED)
    tables = tuple(tuple(draw.integers(-90, 90, feature.size).tolist()) for feature in one.features)
    words = Words(positive="bad", negative="good", reading=one)
    release = Published("loans/bad", 3, "rule", 0, 2, 100, ScorecardRule(-5, tables), words)
    return Rule.of(release), {**release.to_dict()}


def test_a_decision_is_explained_alike() -> None:
    rule, release = scorecard()
    rows = [
        {"income": 0, "amount": None, "grade": "A", "opened": "2026-05-01T13:45:00Z"},
        {"income": 199_999, "amount": 12, "grade": "Q", "opened": "2026-10-25"},
        {"income": 3125, "amount": 1e9, "grade": "D", "opened": "2024-02-29T00:00"},
    ]
    explained, words = answers(
        [{"ask": ask, "release": release, "values": rows} for ask in ("explain", "words")]
    )
    assert explained == [one.to_dict() for one in rule.explain(rows)]
    assert words == rule.predict(rows).tolist()


def test_values_without_columns_have_the_same_words() -> None:
    rules: list[tuple[dict[str, Any], dict[str, Any], list[Any]]] = [
        ({"kind": "threshold", "size": 256, "threshold": 54}, {"offset": -30, "unit": "min"},
         [23, 24, "24", "24.0", "2.4e1", 24.5, -31, 226, None, "x", True, "+24", "1_0"]),
        ({"kind": "prefix", "bits": 32, "value": 10, "length": 8}, {},
         ["10.1.2.3", "11.1.2.3", 167772160, "1.2.3", 2**32, "::1"]),
        ({"kind": "points", "bits": 128, "members": ["20010db8000000000000000000000001"]}, {},
         ["2001:db8::1", "2001:db8::2", 2**128, "7", "7.0", "0x7"]),
        ({"kind": "points", "bits": 64, "members": ["ffffffffffffffff"]}, {},
         [2**64 - 1, str(2**64 - 1), 2**64, 0]),
        ({"kind": "stump", "features": 3, "buckets": 8, "feature": 1, "threshold": 3,
          "at_least": False}, {}, [[1, 2, 3], [1, 3, 3], [1, 2], 5, ["1", "2.0", "0x3"]]),
        ({"kind": "at_least", "bits": 64, "least": "0000000065e1be40"}, {"unit": "unix s"},
         [1_709_293_119, 1_709_293_120, "1709293120", 2**64 - 1, 2**64, -1, "soon"]),
        ({"kind": "string", "size": 6, "value": "c3a420620000"}, {},
         ["ä b", "ä  b", "a b", "ä b c", "0xc3a420620000", "0xC3A420620000", "0x", "", 7, None,
          "a\nb", "a\u00a0b"]),
    ]  # fmt: skip
    questions = []
    for fields, words, values in rules:
        release = {"rule": fields, "words": words | {"positive": "yes", "negative": "no"}}
        questions.append({"ask": "words", "release": release, "values": values})
    for (fields, words, values), found in zip(rules, answers(questions), strict=True):
        rule = Rule(
            rule_from_dict(fields), Words.from_dict(words | {"positive": "yes", "negative": "no"})
        )
        for value, word in zip(values, found, strict=True):
            try:
                wanted = rule.predict([value])[0]
            except ExampleError:
                wanted = None
            assert (None if isinstance(word, dict) else word) == wanted, (fields, value, word)


def test_what_cannot_be_used_is_refused_in_a_sentence_without_the_value() -> None:
    _, release = scorecard()
    secret = {"income": "twelve thousand", "amount": 1, "grade": "A", "opened": "2026-05-01"}
    refused, none, wordless, unknown = answers(
        [
            {"ask": "words", "release": release, "values": [secret]},
            {"ask": "refused", "release": {**release, "rule": None}},
            {"ask": "refused", "release": {**release, "words": None}},
            {"ask": "refused", "release": {**release, "rule": {"kind": "forest"}}},
        ]
    )
    assert refused == [{"refused": "column income does not hold a number"}]
    assert none == {"refused": "this release carries no rule"}
    assert wordless["refused"].startswith("a rule without words")
    assert unknown == {"refused": "a rule of kind forest is not known here"}


def test_the_releases_of_a_store_in_the_place_of_another_are_told_from_its_own() -> None:
    """Its versions are lower than those that the reader knows of the other."""
    script = Path(__file__).parent / "javascript" / "another_store.mjs"
    done = subprocess.run(
        [node(), str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    asked, told = json.loads(done.stdout)
    assert asked[0] == asked[2] == "/events"
    assert asked[1].endswith("after=loans%2Fdefault%3A10")
    new = ["hello", "new"]
    assert told == [["hello", "old"], ["release", 10], new, new, ["release", 3]]
