"""Every kind of rule alike: vectors, brute force, SQLite, maps; and majorities of them."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled_protocol import limits
from littled_protocol.codec import decode, encode
from littled_protocol.columns import bytes_of_text, point_type
from littled_protocol.messages import Release
from littled_protocol.rules import (
    AffineRule,
    MajorityRule,
    PointsRule,
    PrefixRule,
    PrefixSetRule,
    Rule,
    RuleError,
    StumpRule,
    TableRule,
    ThresholdRule,
    Words,
    rule_from_dict,
)
from littled_protocol.rules.kinds import KINDS
from support.rules import (
    Case,
    Point,
    cases,
    cases_with_points,
    column,
    every_case,
    labels_by_sql,
    labels_of,
)
from support.vectors import load

VECTORS = load("rules.json")
RULES = VECTORS["rules"]
REFUSED = VECTORS["refused"]

Brute = Callable[[Any], bool]

# --- Vectors --------------------------------------------------------------------------------------


def point_of(value: Any, x_type: str) -> Point:
    """A point of the vectors: a number, hexadecimal digits, a row, or a text."""
    if isinstance(value, list):
        return tuple(value)
    if x_type.startswith("bytes"):
        return tuple(bytes_of_text(value, point_type(x_type).itemsize_bytes) or b"")
    return int(value, 16) if isinstance(value, str) else value


@pytest.mark.parametrize("vector", RULES, ids=lambda v: json.dumps(v["rule"])[:80])
def test_rules_of_the_vectors(vector: dict[str, Any]) -> None:
    rule = rule_from_dict(vector["rule"])
    assert rule.to_dict() == vector["rule"]
    assert list(rule.to_dict()) == list(vector["rule"])
    assert json.loads(rule.to_json()) == vector["rule"]
    assert rule.x_type == vector["x_type"]
    words = Words.from_dict(vector.get("words", {}))
    assert rule.describe(words) == vector["describe"]
    if vector["sql"] is None:
        with pytest.raises(RuleError, match="SQL does not compute"):
            rule.to_sql(words)
    else:
        assert rule.to_sql(words) == vector["sql"]
    points = [point_of(p, rule.x_type) for p in vector["points"]]
    assert labels_of(rule, points) == vector["labels"]


@pytest.mark.parametrize("vector", REFUSED, ids=lambda v: v["name"])
def test_maps_that_are_no_rules(vector: dict[str, Any]) -> None:
    with pytest.raises(RuleError):
        rule_from_dict(vector["rule"])


@pytest.mark.parametrize("vector", VECTORS["words_refused"], ids=lambda v: v["name"])
def test_maps_that_are_no_words(vector: dict[str, Any]) -> None:
    with pytest.raises(RuleError, match="words need"):
        Words.from_dict(vector["words"])


def test_the_vectors_hold_every_kind() -> None:
    kinds = list(KINDS)
    assert kinds[:5] == ["threshold", "points", "prefix", "table", "majority"]
    assert kinds[5:9] == ["stump", "affine", "conjunction", "scorecard"]
    assert kinds[9:13] == ["prefix_set", "at_least", "string", "sequence"]
    assert {vector["rule"]["kind"] for vector in RULES} == set(kinds)


# --- Labels ---------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.no_cover
@given(cases_with_points(every_case))
@settings(max_examples=600)
def test_labels_equal_brute_force(case: tuple[Rule, Brute, list[Point]]) -> None:
    rule, brute, points = case
    assert labels_of(rule, points) == [int(brute(point)) for point in points]


@given(cases_with_points(every_case))
def test_evaluation_leaves_the_points_alone(case: tuple[Rule, Brute, list[Point]]) -> None:
    rule, _, points = case
    x = column(rule, points)
    before = x.copy()
    x.flags.writeable = False
    first = rule.evaluate(x)
    second = rule.evaluate(x[::-1])
    np.testing.assert_array_equal(first[::-1], second)
    np.testing.assert_array_equal(x, before)


def test_every_table_of_a_few_points_and_every_majority_of_three() -> None:
    points = list(range(4))
    tables = []
    for number in range(16):
        row = [number >> i & 1 for i in range(4)]
        rule = TableRule("r", "00", np.packbits(row).tobytes(), 4)
        assert labels_of(rule, points) == row
        tables.append((rule, row))
    for a, b, c in [(a, b, c) for a in tables for b in tables for c in tables]:
        votes = [int(sum(v) >= 2) for v in zip(a[1], b[1], c[1], strict=True)]
        assert labels_of(MajorityRule((a[0], b[0], c[0])), points) == votes


def test_a_majority_of_stumps_votes_row_by_row() -> None:
    members = (
        StumpRule(2, 4, 0, 2, True),
        StumpRule(2, 4, 1, 2, True),
        StumpRule(2, 4, 1, 1, False),
    )
    rows = [(x, y) for x in range(4) for y in range(4)]
    votes = [(x >= 2) + (y >= 2) + (y < 1) for x, y in rows]
    assert labels_of(MajorityRule(members), rows) == [int(vote >= 2) for vote in votes]
    with pytest.raises(RuleError, match="one type of points"):
        MajorityRule((members[0], StumpRule(3, 4, 0, 2, True)))


# --- Maps, JSON, messages -------------------------------------------------------------------------


@pytest.mark.no_cover
@given(every_case)
@settings(max_examples=300)
def test_rules_survive_maps_json_and_the_wire(case: Case) -> None:
    rule = case.rule
    assert rule_from_dict(rule.to_dict()) == rule
    assert rule_from_dict(json.loads(rule.to_json())) == rule
    assert rule_from_dict(msgpack.unpackb(msgpack.packb(rule.to_dict()))) == rule
    release = Release("s/l", 1, "rule", 0, 0, 0, rule.to_dict())
    received = decode(encode(release))
    assert isinstance(received, Release)
    assert received.rule is not None
    assert rule_from_dict(received.rule) == rule
    assert rule.to_json() == rule_from_dict(received.rule).to_json()
    assert "\n" not in rule.to_json()
    assert hash(rule) == hash(rule_from_dict(rule.to_dict()))


@pytest.mark.no_cover
@given(every_case, st.data())
@settings(max_examples=300)
def test_every_field_of_a_map_is_needed_and_no_other(case: Case, data: st.DataObject) -> None:
    values = case.rule.to_dict()
    name = data.draw(st.sampled_from(sorted(values)))
    for wrong in (
        {key: value for key, value in values.items() if key != name},
        {**values, "further": 1},
        {**values, name: None if values[name] is not None else "none"},
        {**values, name: [values[name]]},
        {**values, name: float("nan")},
    ):
        if says_never(wrong):
            continue
        with pytest.raises(RuleError):
            rule_from_dict(wrong)


def says_never(values: dict[str, Any]) -> bool:
    """Whether nil in a map is its rule that is always 0."""
    if values.get("kind") == "prefix":
        return values.get("length", 0) is None and values.get("value") in (0, "0")
    if values.get("kind") in ("at_least", "string"):
        return None in (values.get("least", 0), values.get("value", 0))
    return values.get("kind") == "affine" and values.get("basis") == [] and "offset" in values


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
kinds_with_fields = {
    vector["rule"]["kind"]: sorted(vector["rule"].keys() - {"kind"}) for vector in RULES
}
maps_of_kinds: list[st.SearchStrategy[Any]] = [
    st.fixed_dictionaries({"kind": st.just(kind)}, optional=dict.fromkeys(fields, json_values))
    for kind, fields in kinds_with_fields.items()
]
some_maps = st.one_of(maps_of_kinds)


@pytest.mark.long
@given(some_maps | json_values)
@settings(max_examples=500)
def test_any_value_is_a_rule_or_refused(values: Any) -> None:
    try:
        rule = rule_from_dict(values)
    except RuleError:
        return
    assert rule.to_dict() == values


def test_rules_are_values() -> None:
    rule = ThresholdRule(256, 3)
    assert rule == ThresholdRule(256, 3) != ThresholdRule(257, 3)
    assert len({PointsRule(8, (1, 2)), PointsRule(8, (1, 2)), PointsRule(16, (1, 2))}) == 2
    with pytest.raises(FrozenInstanceError):
        rule.threshold = 4  # type: ignore[misc]
    assert repr(PointsRule(8, (1, 2))) == "PointsRule(bits=8, members=(1, 2))"


@pytest.mark.parametrize(
    "make",
    [
        lambda: ThresholdRule(256, 257),
        lambda: ThresholdRule(256, True),
        lambda: PointsRule(8, [1]),  # type: ignore[arg-type]
        lambda: PointsRule(8, (2, 1)),
        lambda: PointsRule(16, tuple(range(limits.rule_members_max + 1))),
        lambda: PrefixRule(8, 1, None),
        lambda: PrefixRule(8, 256, 8),
        lambda: PrefixSetRule(8, [(1, 1)]),  # type: ignore[arg-type]
        lambda: PrefixSetRule(8, ((1, 4), (0, 4))),
        lambda: PrefixSetRule(8, ((1, 4), (17, 8))),
        lambda: PrefixSetRule(8, ((0, 1), (1, 1))),
        lambda: PrefixSetRule(
            12, tuple((2 * value, 12) for value in range(limits.rule_prefixes_max + 1))
        ),
        lambda: TableRule("a", "00", b"\xff", 7),
        lambda: TableRule("a", "00", bytearray(1), 8),  # type: ignore[arg-type]
        lambda: TableRule("a\n", "00", b"\xff", 8),
        lambda: TableRule("a" * 129, "00", b"\xff", 8),
        lambda: TableRule("a", "0" * 129, b"\xff", 8),
        lambda: TableRule("a", "00", bytes(2**16 + 1), limits.table_points_max + 8),
        lambda: MajorityRule(()),
        lambda: MajorityRule((ThresholdRule(4, 1),) * (limits.majority_members_max + 1)),
        lambda: MajorityRule((MajorityRule((ThresholdRule(4, 1),)),)),
        lambda: MajorityRule((ThresholdRule(256, 1), ThresholdRule(257, 1))),
        lambda: MajorityRule((1,)),  # type: ignore[arg-type]
        lambda: Words(x_name="a\nb"),
        lambda: Words(unit=1),  # type: ignore[arg-type]
        lambda: Words(offset=1.0),  # type: ignore[arg-type]
    ],
)
def test_rules_that_cannot_be(make: Callable[[], object]) -> None:
    with pytest.raises(RuleError):
        make()


# --- SQL and sentences ----------------------------------------------------------------------------


@pytest.mark.no_cover
@given(cases_with_points(cases), st.integers(-1000, 1000))
@settings(max_examples=400)
def test_sqlite_agrees(case: tuple[Rule, Brute, list[Point]], offset: int) -> None:
    rule, _, points = case
    shift = Words(offset=offset).offset_of(rule.x_type)
    if rule.x_type == "u64":
        # SQLite's integers end at 2^63; beyond, a column of u64 needs another engine's numbers.
        if any(
            int(number) >= 2**63
            for number in re.findall(r"\d{19,}", rule.to_sql(Words(offset=shift)))
        ):
            return
        numbers = [point for point in points if isinstance(point, int)]
        points = [point for point in numbers if max(point, point + shift) < 2**63]
    assert labels_by_sql(rule, points, shift) == labels_of(rule, points)


@given(cases, st.integers(-1000, 1000))
def test_nothing_has_no_label_in_sql(case: Case, offset: int) -> None:
    """NULL is no point: whatever the rule, an expression is never true of it."""
    database = sqlite3.connect(":memory:")
    width = len(case.edges[0]) if case.rule.x_type.startswith("u16x") else 0  # type: ignore[arg-type]
    columns = [f'"x_{feature}"' for feature in range(width)] or ['"x"']
    nothing = ", ".join(f"NULL AS {column}" for column in columns)
    expression = case.rule.to_sql(Words(offset=offset))
    (found,) = database.execute(f"SELECT {expression} FROM (SELECT {nothing})").fetchone()  # noqa: S608
    database.close()
    assert found in (None, 0)


def test_sqlite_takes_the_largest_rules() -> None:
    members = tuple(ThresholdRule(2**32, 7 + i) for i in range(limits.majority_members_max))
    half = limits.majority_members_max // 2
    points = [0, 7 + half - 1, 7 + half, 2**31]
    assert labels_by_sql(MajorityRule(members), points) == [0, 0, 1, 1]
    rule = PointsRule(32, tuple(range(0, 2 * limits.rule_members_max, 2)))
    assert labels_by_sql(rule, [0, 1, 8190, 8192]) == [1, 0, 1, 0]
    many = PrefixSetRule(32, tuple((2 * value, 30) for value in range(limits.rule_prefixes_max)))
    assert labels_by_sql(many, [0, 3, 4, 7, 8, 8187, 8188]) == [1, 1, 0, 0, 1, 1, 0]
    size = limits.table_points_max
    table = TableRule("odd", "00", b"\x55" * (size // 8), size)
    assert labels_by_sql(table, [0, 1, size - 1, size - 2]) == [0, 1, 1, 0]
    dense = tuple(2**bit | 2**64 - 1 - bit for bit in range(127, 63, -1))
    wide = AffineRule(128, dense, 0)
    points = [dense[0], dense[0] ^ dense[9], dense[0] ^ 1, 0]
    assert labels_by_sql(wide, points) == labels_of(wide, points) == [1, 1, 0, 1]


@given(every_case)
def test_every_rule_is_said_in_one_short_line(case: Case) -> None:
    sentence = case.rule.describe(Words("x", "", 0, "yes", "no"))
    assert sentence.startswith(("yes if ", "always yes", "never yes"))
    assert sentence.isprintable()
    assert len(sentence) < 2000
