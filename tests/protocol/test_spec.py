"""SPEC.md against the code: whatever stands in one of its tables is compared."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from littled_protocol import limits
from littled_protocol.columns import point_type
from littled_protocol.connection import TRANSITIONS, Role, State
from littled_protocol.errors import (
    ERROR_SENTENCES,
    REFUSAL_SENTENCES,
    ErrorCode,
    ProtocolError,
    RefusalCode,
)
from littled_protocol.messages import (
    PROTOCOL_VERSION,
    RELEASE_KINDS,
    Error,
    message_from_fields,
)
from littled_protocol.rules import rule_from_dict
from littled_protocol.rules.kinds import KINDS
from support.messages import MESSAGES
from support.vectors import PROTOCOL, from_json, load

SPEC = (PROTOCOL / "SPEC.md").read_text(encoding="utf-8")
FRAMES = load("frames.json")["frames"]


def section(title: str, level: int = 2) -> str:
    """The text of one section, without its title."""
    marks = "#" * level
    _, rest = SPEC.split(f"\n{marks} {title}\n", 1)
    return re.split(rf"\n#{{1,{level}}} ", rest, maxsplit=1)[0]


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a text: rows of cells, without the heading."""
    found = []
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        rows = [
            [cell.strip() for cell in line.strip("| ").split("|")] for line in block.splitlines()
        ]
        found.append(rows[2:])
    return found


def plain(cell: str) -> str:
    return cell.strip("`")


def message_sections() -> dict[str, tuple[set[str], list[list[str]]]]:
    """From each message's name to who sends it and its table of fields."""
    found = {}
    for name, senders in re.findall(r"^### `(\w+)` \((.*)\)$", SPEC, re.MULTILINE):
        text = section(f"`{name}` ({senders})", 3)
        found[name] = (set(senders.split(" or ")), (tables(text) or [[]])[0])
    return found


MESSAGE_SECTIONS = message_sections()


def test_the_title_names_the_version() -> None:
    assert SPEC.startswith(f"# The littled protocol, version {PROTOCOL_VERSION}\n")


def test_the_contents_list_every_section() -> None:
    listed = re.findall(r"^- \[(\d+ .*?)\]\(#(.*?)\)$", SPEC, re.MULTILINE)
    titles = re.findall(r"^## (.*)$", SPEC, re.MULTILINE)
    assert [title for title, _ in listed] == titles
    assert [link for _, link in listed] == [t.lower().replace(" ", "-") for t in titles]


def test_the_table_of_states_is_the_table_of_the_code() -> None:
    rows = {
        (Role(sender), State(state), plain(message)): State(following)
        for sender, state, message, following in tables(section("5 States"))[0]
    }
    assert rows == dict(TRANSITIONS)
    assert len(rows) == len(tables(section("5 States"))[0])


def test_every_message_has_its_section_in_order() -> None:
    assert list(MESSAGE_SECTIONS) == list(MESSAGES)


@pytest.mark.parametrize("name", MESSAGES)
def test_senders_are_those_of_the_states(name: str) -> None:
    senders = {role.value for role, _, message in TRANSITIONS if message == name}
    assert MESSAGE_SECTIONS[name][0] == senders


@pytest.mark.parametrize("name", MESSAGES)
def test_fields_are_those_of_the_class(name: str) -> None:
    rows = MESSAGE_SECTIONS[name][1]
    assert [plain(field) for field, _, _ in rows] == [f.name for f in fields(MESSAGES[name])]
    optional = [plain(field) for field, kind, _ in rows if kind.endswith(", optional")]
    assert optional == [f.name for f in fields(MESSAGES[name]) if f.default is None]


def number(text: str) -> int:
    """The value of 255, 2^31 or 2^31-1."""
    power, _, less = text.partition("-")
    base, _, exponent = power.partition("^")
    found: int = int(base) ** int(exponent or 1) - int(less or 0)
    return found


INTEGERS = [
    (name, plain(field), *map(number, match.groups()))
    for name, (_, rows) in MESSAGE_SECTIONS.items()
    for field, kind, _ in rows
    if (match := re.match(r"integer ([\d^-]+)\.\.([\d^-]+)", kind))
]


@pytest.mark.parametrize(("name", "field", "least", "greatest"), INTEGERS)
def test_integers_have_the_bounds_of_the_tables(
    name: str, field: str, least: int, greatest: int
) -> None:
    assert len(INTEGERS) > 20
    values = from_json(next(v["message"] for v in FRAMES if v["message"]["type"] == name))
    if (name, field) == ("examples", "sequence"):
        greatest -= values["count"]
    for good in (least, greatest):
        assert getattr(message_from_fields(values | {field: good}), field) == good
    for bad in (least - 1, greatest + 1):
        with pytest.raises(ProtocolError):
            message_from_fields(values | {field: bad})


TEXTS = [
    (name, plain(field), int(match[1]))
    for name, (_, rows) in MESSAGE_SECTIONS.items()
    for field, kind, _ in rows
    if (match := re.match(r"text (\d+)", kind))
]


@pytest.mark.parametrize(("name", "field", "most"), TEXTS)
def test_texts_have_the_lengths_of_the_tables(name: str, field: str, most: int) -> None:
    values = from_json(next(v["message"] for v in FRAMES if v["message"]["type"] == name))
    assert getattr(message_from_fields(values | {field: "a" * most}), field) == "a" * most
    with pytest.raises(ProtocolError):
        message_from_fields(values | {field: "a" * (most + 1)})


def test_codes_and_sentences_are_those_of_the_code() -> None:
    rows = {plain(code): sentence for code, sentence in tables(section("11 Errors"))[0]}
    assert rows == {code.value: sentence for code, sentence in ERROR_SENTENCES.items()}
    assert list(rows) == [code.value for code in ErrorCode]
    for code, sentence in rows.items():
        assert Error(code, sentence).error_code.value == code


def test_codes_and_sentences_of_refusals_are_those_of_the_code() -> None:
    rows = {plain(code): sentence for code, sentence in tables(section("9 Predicting"))[0]}
    assert rows == {code.value: sentence for code, sentence in REFUSAL_SENTENCES.items()}
    assert list(rows) == [code.value for code in RefusalCode]


def test_limits_are_those_of_the_code() -> None:
    rows = {plain(name): float(value) for name, value in tables(section("12 Limits and waits"))[0]}
    named: dict[str, Any] = {
        name: value
        for name, value in vars(limits).items()
        if not name.startswith("_") and isinstance(value, int | float)
    }
    assert rows == {name: float(value) for name, value in named.items()}
    assert list(rows) == list(named)


def test_every_name_of_a_limit_in_the_text_exists() -> None:
    words = set(re.findall(r"`(\w+_(?:max|min|bytes|seconds))`", SPEC))
    known = set(vars(limits)) | {f.name for cls in MESSAGES.values() for f in fields(cls)}
    assert words > {"first_frame_bytes_max", "send_seconds"}
    assert words <= known


def test_point_types_have_the_bytes_of_the_table() -> None:
    rows = tables(section("6 Points and labels"))[0]
    sizes = {plain(name): text for name, text, _ in rows}
    for name in ("u8", "u16", "u32", "u64", "u128"):
        assert point_type(name).itemsize_bytes == int(re.split(r"\D", sizes.pop(name))[0])
    for prefix, size in (("u16x", 2), ("bytes", 1)):
        (name,) = (name for name in sizes if name.startswith(prefix))
        del sizes[name]
        least, most = map(int, re.findall(r"M = (\d+)\.\.(\d+)", name)[0])
        for many in (least, most):
            assert point_type(f"{prefix}{many}").itemsize_bytes == size * many
        for many in (least - 1, most + 1):
            with pytest.raises(ProtocolError):
                point_type(f"{prefix}{many}")
    assert not sizes


def test_kinds_of_rules_have_the_fields_of_the_table() -> None:
    rows = {
        plain(kind): {plain(name) for name in names.split(", ")}
        for kind, names, _, _ in tables(section("10 Rules"))[0]
    }
    assert list(rows) == list(KINDS)
    for vector in load("rules.json")["rules"]:
        values = rule_from_dict(vector["rule"]).to_dict()
        assert values.keys() - {"kind"} == rows[values["kind"]]


def test_kinds_of_releases_are_those_of_the_code() -> None:
    rows = [plain(kind) for kind, _ in tables(section("8 Subscribing"))[0]]
    assert set(rows) == RELEASE_KINDS
    cell = {plain(field): kind for field, kind, _ in MESSAGE_SECTIONS["release"][1]}["kind"]
    assert re.findall(r"`(\w+)`", cell) == rows


def test_the_table_of_vectors_names_the_files() -> None:
    rows = {plain(name) for name, _ in tables(section("14 Vectors"))[0]}
    assert rows == {path.name for path in (PROTOCOL / "vectors").iterdir()}
    for name in rows:
        assert load(name)["version"] == PROTOCOL_VERSION
