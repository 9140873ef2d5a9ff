"""Rules against the vectors, brute force over whole domains, SQLite, and themselves."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError
from ipaddress import ip_address, ip_network
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled_protocol import limits
from littled_protocol.codec import decode, encode
from littled_protocol.columns import point_type
from littled_protocol.messages import Release
from littled_protocol.rules import (
    RULE_CLASSES,
    MajorityRule,
    PointsRule,
    PrefixRule,
    Rule,
    RuleError,
    TableRule,
    ThresholdRule,
    Words,
    rule_from_dict,
)
from support.vectors import load

VECTORS = load("rules.json")
RULES = VECTORS["rules"]
REFUSED = VECTORS["refused"]


def column(rule: Rule, points: Sequence[int]) -> NDArray[Any]:
    """The array of points given as integers."""
    kind = point_type(rule.x_type)
    if kind.name == "u128":
        pairs = [[point >> 64, point % 2**64] for point in points]
        return np.array(pairs, dtype=np.uint64).reshape(-1, 2)
    return np.array(points, dtype=kind.dtype)


def labels_of(rule: Rule, points: Sequence[int]) -> list[int]:
    labels = rule.evaluate(column(rule, points))
    assert labels.dtype == np.uint8
    assert labels.shape == (len(points),)
    found: list[int] = labels.tolist()
    return found


def labels_by_sql(rule: Rule, points: Sequence[int], offset: int = 0) -> list[int]:
    """What SQLite makes of the rule's expression over a table with a column of that name."""
    name = 'a "strange" column'
    values = [f"{p:032x}" if rule.x_type == "u128" else p + offset for p in points]
    with sqlite3.connect(":memory:") as database:
        database.execute('CREATE TABLE t (number INTEGER, "a ""strange"" column")')
        database.executemany("INSERT INTO t VALUES (?, ?)", enumerate(values))
        expression = rule.to_sql(name, offset)
        rows = database.execute(f"SELECT {expression} FROM t ORDER BY number").fetchall()  # noqa: S608
    database.close()
    return [label for (label,) in rows]


# --- Strategies, each with a function that says the label of one point in the plainest way --------

Brute = Callable[[int], bool]
Case = tuple[Rule, Brute, int]  # the rule, the label of a point, the number of bits of points


@st.composite
def thresholds(draw: st.DrawFn) -> Case:
    size = draw(st.sampled_from([1, 2, 255, 256, 257, 65536, 65537, 2**32]) | st.integers(1, 300))
    threshold = draw(st.integers(0, size) | st.sampled_from([0, size]))
    rule = ThresholdRule(size, threshold)
    return rule, lambda x: size > threshold <= x, (size - 1).bit_length()


widths = st.sampled_from([1, 7, 8, 9, 16, 17, 32, 33, 63, 64, 65, 100, 128])


@st.composite
def points_rules(draw: st.DrawFn) -> Case:
    bits = draw(widths)
    members = tuple(sorted(draw(st.sets(st.integers(0, 2**bits - 1), max_size=20))))
    return PointsRule(bits, members), lambda x: x in members, bits


@st.composite
def prefixes(draw: st.DrawFn) -> Case:
    bits = draw(widths)
    length = draw(st.none() | st.integers(0, bits) | st.sampled_from([0, bits]))
    value = draw(st.integers(0, 2 ** (length or 0) - 1))

    def brute(x: int) -> bool:
        digits = f"{x:0{bits}b}"
        return length is not None and digits[:length] == (f"{value:0{length}b}" if length else "")

    return PrefixRule(bits, value, length), brute, bits


@st.composite
def tables(draw: st.DrawFn) -> Case:
    size = draw(st.sampled_from([1, 255, 256, 257, 65536, 65537]) | st.integers(1, 600))
    part = draw(st.lists(st.booleans(), min_size=1, max_size=20))
    row = (part * (size // len(part) + 1))[:size]
    values = np.packbits(np.array(row, dtype=np.uint8)).tobytes()
    name = draw(st.sampled_from(["a", "two words", "ümlaut"]))
    rule = TableRule(name, "0123456789abcdef", values, len(row))
    return rule, lambda x: x < len(row) and row[x], (len(row) - 1).bit_length()


@st.composite
def majorities(draw: st.DrawFn) -> Case:
    kind = draw(st.sampled_from([thresholds(), points_rules(), prefixes()]))
    first = draw(kind)
    others = st.lists(kind.filter(lambda c: c[0].x_type == first[0].x_type), max_size=3)
    cases = [first, *draw(others)]
    members = tuple(case[0] for case in cases)

    def brute(x: int) -> bool:
        return 2 * sum(case[1](x) for case in cases) > len(cases)

    return MajorityRule(members), brute, min(case[2] for case in cases)


cases = st.one_of(thresholds(), points_rules(), prefixes(), tables(), majorities())


@st.composite
def cases_with_points(draw: st.DrawFn) -> tuple[Rule, Brute, list[int]]:
    """A rule with points of its domain, many of them where the labels change."""
    rule, brute, bits = draw(cases)
    edges = {0, 2**bits - 1}
    parts = rule.members if isinstance(rule, MajorityRule) else (rule,)
    for part in parts:
        if isinstance(part, ThresholdRule):
            edges |= {part.threshold - 1, part.threshold, part.threshold + 1}
        if isinstance(part, PointsRule):
            edges |= {m + d for m in part.members for d in (-1, 0, 1)}
            edges |= {m ^ (1 << 64) for m in part.members}
        if isinstance(part, PrefixRule) and part.bounds is not None:
            edges |= {bound + d for bound in part.bounds for d in (-1, 0, 1)}
    points = sorted(edge for edge in edges if 0 <= edge < 2**bits)
    more = draw(st.lists(st.integers(0, 2**bits - 1), max_size=30))
    return rule, brute, points + more


# --- Vectors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", RULES, ids=lambda v: json.dumps(v["rule"])[:80])
def test_rules_of_the_vectors(vector: dict[str, Any]) -> None:
    rule = rule_from_dict(vector["rule"])
    assert rule.to_dict() == vector["rule"]
    assert list(rule.to_dict()) == list(vector["rule"])
    assert json.loads(rule.to_json()) == vector["rule"]
    assert rule.x_type == vector["x_type"]
    assert rule.describe(Words(**vector.get("words", {}))) == vector["describe"]
    assert rule.to_sql("x", vector["offset"]) == vector["sql"]
    points = [int(p, 16) if isinstance(p, str) else p for p in vector["points"]]
    assert labels_of(rule, points) == vector["labels"]


@pytest.mark.parametrize("vector", REFUSED, ids=lambda v: v["name"])
def test_maps_that_are_no_rules(vector: dict[str, Any]) -> None:
    with pytest.raises(RuleError):
        rule_from_dict(vector["rule"])


def test_the_vectors_hold_every_kind() -> None:
    kinds = [cls.kind for cls in RULE_CLASSES]
    assert kinds[:5] == ["threshold", "points", "prefix", "table", "majority"]
    assert {vector["rule"]["kind"] for vector in RULES} == set(kinds)


# --- Against brute force --------------------------------------------------------------------------


@given(cases_with_points())
@settings(max_examples=600)
def test_labels_equal_brute_force(case: tuple[Rule, Brute, list[int]]) -> None:
    rule, brute, points = case
    assert labels_of(rule, points) == [int(brute(point)) for point in points]


@pytest.mark.parametrize("size", [1, 2, 5, 256])
def test_every_threshold_on_every_point(size: int) -> None:
    points = list(range(size))
    for threshold in range(size + 1):
        rule = ThresholdRule(size, threshold)
        assert labels_of(rule, points) == [int(x >= threshold) for x in points]


@pytest.mark.parametrize("bits", [1, 3, 8, 9])
def test_every_prefix_on_every_point(bits: int) -> None:
    points = list(range(2**bits))
    seen = set()
    for length in range(bits + 1):
        for value in range(2**length):
            labels = labels_of(PrefixRule(bits, value, length), points)
            assert labels == [int(x >> (bits - length) == value) for x in points]
            seen.add(tuple(labels))
    assert labels_of(PrefixRule(bits, 0, None), points) == [0] * 2**bits
    # Different prefixes are different rules.
    assert len(seen) == 2 ** (bits + 1) - 1


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


def test_points_beyond_a_table_have_label_0() -> None:
    assert labels_of(TableRule("r", "00", b"\xe0", 3), [2, 3, 255]) == [1, 0, 0]
    assert labels_of(TableRule("r", "00", b"\xff" * 40, 320), [319, 320, 65535]) == [1, 0, 0]


@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("count", [0, 1, 2, limits.rule_members_max])
def test_many_members_among_many_points(bits: int, count: int) -> None:
    generator = np.random.default_rng(count + bits)
    # Few different high and low words, so that points often share one of the two with a member.
    words = generator.integers(0, 2**64, size=200, dtype=np.uint64)
    pairs = generator.choice(words, size=(60_000, 2))
    wide = [(int(h) << 64 if bits == 128 else 0) | int(low) for h, low in pairs[: 2 * count]]
    members = tuple(sorted(set(wide))[:count])
    rule = PointsRule(bits, members)
    points = [(int(h) << 64 if bits == 128 else 0) | int(low) for h, low in pairs[:20_000]]
    chosen = set(members)
    assert labels_of(rule, points) == [int(point in chosen) for point in points]


def test_members_whose_search_keys_collide_are_told_apart() -> None:
    # With keys high * M + low mod 2^64 these two collide under the first multiplier M.
    multiplier = 0x9E3779B97F4A7C15
    first, second = multiplier, 1 << 64
    other = (2 << 64) | ((-multiplier) % 2**64)
    rule = PointsRule(128, tuple(sorted((first, second))))
    points = [first, second, other, 0, first + 1]
    assert labels_of(rule, points) == [1, 1, 0, 0, 0]
    assert labels_of(PointsRule(128, (5, second)), points) == [0, 1, 0, 0, 0]


# --- Other arrays ---------------------------------------------------------------------------------


def test_arrays_of_other_integers_are_converted_when_they_fit() -> None:
    rule = ThresholdRule(256, 54)
    assert rule.evaluate(np.array([53, 54, 255])).tolist() == [0, 1, 1]
    assert rule.evaluate(np.array([53, 54], dtype=np.uint64)).tolist() == [0, 1]
    assert rule.evaluate(np.array([], dtype=np.float64)).tolist() == []
    pairs = np.array([[0, 1], [1, 0]])
    assert PointsRule(128, (1,)).evaluate(pairs).tolist() == [1, 0]


@pytest.mark.parametrize(
    "x",
    [
        np.array([256]),
        np.array([-1]),
        np.array([1.0]),
        np.array([True]),
        np.array(["1"]),
        np.zeros((2, 2), dtype=np.uint8),
        np.zeros((), dtype=np.uint8),
    ],
)
def test_arrays_of_anything_else_are_refused(x: NDArray[Any]) -> None:
    with pytest.raises(RuleError, match="points of type u8 need"):
        ThresholdRule(256, 54).evaluate(x)


@pytest.mark.parametrize("shape", [(2,), (2, 1), (2, 3), (2, 2, 2), ()])
def test_wide_points_need_two_columns(shape: tuple[int, ...]) -> None:
    with pytest.raises(RuleError, match=r"points of type u128 need an array \(n, 2\)"):
        PrefixRule(128, 1, 1).evaluate(np.zeros(shape, dtype=np.uint64))


@given(cases_with_points())
def test_evaluation_leaves_the_points_alone(case: tuple[Rule, Brute, list[int]]) -> None:
    rule, _, points = case
    x = column(rule, points)
    before = x.copy()
    x.flags.writeable = False
    first = rule.evaluate(x)
    second = rule.evaluate(x[::-1])
    np.testing.assert_array_equal(first[::-1], second)
    np.testing.assert_array_equal(x, before)


# --- Maps, JSON, messages -------------------------------------------------------------------------


@given(cases)
@settings(max_examples=300)
def test_rules_survive_maps_json_and_the_wire(case: Case) -> None:
    rule = case[0]
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


@given(cases, st.data())
@settings(max_examples=300)
def test_every_field_of_a_map_is_needed_and_no_other(case: Case, data: st.DataObject) -> None:
    values = case[0].to_dict()
    name = data.draw(st.sampled_from(sorted(values)))
    for wrong in (
        {key: value for key, value in values.items() if key != name},
        {**values, "further": 1},
        {**values, name: None if values[name] is not None else "none"},
        {**values, name: [values[name]]},
        {**values, name: float("nan")},
    ):
        if wrong == {**values, "length": None} and values.get("value") in (0, "0"):
            continue
        with pytest.raises(RuleError):
            rule_from_dict(wrong)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
field_names = [
    "size",
    "threshold",
    "bits",
    "members",
    "value",
    "length",
    "name",
    "digest",
    "values",
]
some_maps = st.fixed_dictionaries(
    {"kind": st.sampled_from([cls.kind for cls in RULE_CLASSES])},
    optional=dict.fromkeys(field_names, json_values),
)


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


# --- SQL ------------------------------------------------------------------------------------------


@given(cases_with_points(), st.integers(-1000, 1000))
@settings(max_examples=300)
def test_sqlite_agrees(case: tuple[Rule, Brute, list[int]], offset: int) -> None:
    rule, _, points = case
    shift = 0 if rule.x_type == "u128" else offset
    # SQLite's integers end at 2^63; beyond, a column of u64 needs another engine's numeric type.
    narrow = [p for p in points if rule.x_type == "u128" or p + shift < 2**63]
    if rule.x_type == "u64" and _names_wide_numbers(rule, shift):
        return
    assert labels_by_sql(rule, narrow, shift) == labels_of(rule, narrow)


def _names_wide_numbers(rule: Rule, offset: int) -> bool:
    parts = rule.members if isinstance(rule, MajorityRule) else (rule,)
    numbers = [m for part in parts if isinstance(part, PointsRule) for m in part.members]
    numbers += [b for part in parts if isinstance(part, PrefixRule) for b in part.bounds or ()]
    return any(number + offset >= 2**63 for number in numbers)


def test_sqlite_takes_the_largest_rules() -> None:
    members = tuple(ThresholdRule(2**32, 7 + i) for i in range(limits.majority_members_max))
    half = limits.majority_members_max // 2
    points = [0, 7 + half - 1, 7 + half, 2**31]
    assert labels_by_sql(MajorityRule(members), points) == [0, 0, 1, 1]
    rule = PointsRule(32, tuple(range(0, 2 * limits.rule_members_max, 2)))
    assert labels_by_sql(rule, [0, 1, 8190, 8192]) == [1, 0, 1, 0]
    size = limits.table_points_max
    table = TableRule("odd", "00", b"\x55" * (size // 8), size)
    assert labels_by_sql(table, [0, 1, size - 1, size - 2]) == [0, 1, 1, 0]


def test_names_of_columns_cannot_end_the_expression() -> None:
    assert ThresholdRule(4, 1).to_sql('x" OR 1=1 --') == '("x"" OR 1=1 --" >= 1)'
    for name in ("", "a\nb", "a\x00"):
        with pytest.raises(RuleError):
            ThresholdRule(4, 1).to_sql(name)


def test_wide_points_have_no_offset_in_sql() -> None:
    for rule in (PointsRule(128, (1,)), PrefixRule(128, 1, 1)):
        with pytest.raises(RuleError, match="u128 have no offset"):
            rule.to_sql("x", 1)


# --- Words ----------------------------------------------------------------------------------------


def test_words_shift_name_and_label() -> None:
    words = Words("delay", "min", -30, "late", "on time")
    assert words.value(54) == "24 min"
    assert (words.label(1), words.label(0)) == ("late", "on time")
    assert PointsRule(8, (30, 31)).describe(words) == "late if delay is 0 min or 1 min"
    assert PrefixRule(8, 1, 4).describe(words) == "late if delay in -14 min..1 min"
    assert ThresholdRule(4, 1).describe() == "1 if x >= 1"


@given(st.integers(0, 2**128 - 1), st.integers(0, 128))
def test_wide_prefixes_are_said_as_blocks_that_hold_the_same_addresses(
    address: int, length: int
) -> None:
    rule = PrefixRule(128, address >> (128 - length), length)
    block = ip_network(rule.block)
    least, greatest = rule.bounds or (0, 0)
    if block.version == 4:
        assert least >> 32 == 0xFFFF
        least, greatest = least & 0xFFFFFFFF, greatest & 0xFFFFFFFF
    assert int(block.network_address) == least
    assert int(block.broadcast_address) == greatest
    if length:
        assert rule.describe() == f"1 if x in {block}"


@given(st.integers(0, 2**32 - 1), st.integers(0, 32))
def test_ipv4_inside_ipv6_is_said_as_ipv4(address: int, length: int) -> None:
    narrow = PrefixRule(32, address >> (32 - length), length)
    value = (0xFFFF << length) | (address >> (32 - length))
    wide = PrefixRule(128, value, 96 + length)
    assert wide.block == narrow.block
    assert ip_address(address) in ip_network(narrow.block)


@pytest.mark.parametrize(
    "rule", [PrefixRule(8, 1, 1), PrefixRule(32, 0, None), PrefixRule(128, 0, None)]
)
def test_other_prefixes_are_no_blocks(rule: PrefixRule) -> None:
    with pytest.raises(RuleError):
        _ = rule.block


@given(cases)
def test_every_rule_is_said_in_one_short_line(case: Case) -> None:
    sentence = case[0].describe(Words("x", "", 0, "yes", "no"))
    assert sentence.startswith(("yes if ", "always yes", "never yes"))
    assert sentence.isprintable()
    assert len(sentence) < 2000
