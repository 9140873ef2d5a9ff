"""JSON in bodies: what is a value, and what is refused in one sentence without quoting it."""

import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from littled.limits import (
    HTTP_JSON_ELEMENT_CHARACTERS_MAX,
    HTTP_JSON_FIRST_PIECE_CHARACTERS,
    HTTP_JSON_PIECE_CHARACTERS,
)
from littled.service import json_bodies
from littled.service.json_bodies import NotJson, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    # not half of a pair, which UTF-8 cannot write
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
)  # fmt: skip


@given(VALUES, st.booleans())
def test_every_value_is_read_as_it_was_written(value: Any, ascii_alone: bool) -> None:
    assert read_json(json.dumps(value, ensure_ascii=ascii_alone).encode("utf-8")) == value


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "is not JSON"),
        (b'{"a": 4711', "is not JSON"),
        (b"[4711]\0", "is not JSON"),
        (b"\xef\xbb\xbf[4711]", "is not JSON"),
        ("[4711]".encode("utf-16"), "is not JSON that can be read"),
        ("[4711]".encode("utf-16-be"), "is not JSON"),
        ("[4711]".encode("utf-32-le"), "is not JSON"),
        (b'["\xff4711"]', "is not JSON that can be read"),
        (b'{"a": 4711, "a": 4711}', "has an object in which a key comes twice"),
        (b'[{"a": {"b": 1, "c": 2, "\\u0062": 4711}}]', "has an object in which a key comes twice"),
        (b"[4711, NaN]", "has NaN or Infinity, which JSON has no numbers for"),
        (b"[4711, -Infinity]", "has NaN or Infinity, which JSON has no numbers for"),
        (b"[" * 100_000, "is nested too deep"),
        (b"4711" * 2000, "is not JSON that can be read"),
    ],
)
def test_what_is_no_value(text: bytes, sentence: str) -> None:
    for line, where in ((None, "the body"), (7, "line 7")):
        with pytest.raises(NotJson) as caught:
            read_json(text, line)
        at = " (line 1)" if line is None and sentence == "is not JSON" else ""
        assert str(caught.value) == f"{where} {sentence}{at}"


# --- In pieces ------------------------------------------------------------------------------------

PIECE, ELEMENT = 12, 4096


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the shortest bodies are read in pieces, and those are short."""
    monkeypatch.setattr(json_bodies, "HTTP_JSON_PIECE_CHARACTERS", PIECE)
    monkeypatch.setattr(json_bodies, "HTTP_JSON_ELEMENT_CHARACTERS_MAX", ELEMENT)


def outcome(text: bytes) -> Any:
    try:
        return read_json(text)
    except NotJson as error:
        return str(error)


def at_once(text: bytes) -> Any:
    """The same of a reader that has the whole body at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_bodies, "HTTP_JSON_PIECE_CHARACTERS", len(text))
        return outcome(text)


ROWS = st.lists(VALUES) | st.dictionaries(st.text(max_size=3), st.lists(VALUES)) | VALUES
BREAKS = st.sampled_from([*'[]{},:"\\ \n\t0-.eN', "NaN", '"a":1,"a":2', "[1],[", '",'])


@pytest.mark.usefixtures("pieces")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, st.sampled_from([None, 1]), st.lists(st.tuples(st.floats(0, 1), BREAKS), max_size=2))
def test_pieces_come_to_what_the_whole_is(
    value: Any, indent: int | None, breaks: list[tuple[float, str]]
) -> None:
    """Also of what is broken somewhere: the same value, or the same sentence."""
    text = json.dumps(value, indent=indent)
    for share, piece in breaks:
        place = round(share * len(text))
        text = text[:place] + piece + text[place:]
    assert outcome(text.encode()) == at_once(text.encode())


BLANKS = st.sampled_from(["", " ", "\n", "\t \r\n", " " * PIECE])


@pytest.mark.usefixtures("pieces")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, BLANKS, BLANKS, BLANKS, st.booleans())
def test_pieces_do_not_depend_on_blanks(
    value: Any, before: str, after: str, beside: str, ascii_alone: bool
) -> None:
    """Wherever a text may have some: around commas and colons, and inside of brackets."""
    text = json.dumps(
        value,
        ensure_ascii=ascii_alone,
        separators=(f"{before},{after}", f"{before}:{after}"),
    )
    # whatever else a text has in its strings, no blank among these is one
    spread = json_bodies._STRINGS.split(text), json_bodies._STRINGS.findall(text)
    outside = [re.sub(r"([\[{])|([\]}])", rf"\1{beside}\2", each) for each in spread[0]]
    spaced = "".join(itertools.chain(*itertools.zip_longest(outside, spread[1], fillvalue="")))
    assert json.loads(spaced) == value
    assert outcome(spaced.encode()) == value


class Handled(str):
    """Counts how much of it is handed out in parts."""

    characters = 0

    def __getitem__(self, part: Any) -> str:
        found = super().__getitem__(part)
        self.characters += len(found)
        return found


ELEMENTS = [
    "1",
    '""',
    "[]",
    "[1,0]",
    "[[1],0]",
    "{}",
    '{"x":1,"y":0}',
    '"\\" ,\\\\"',
    '"[],{}, \u00e9"',
    '"\U0001f600"',
    '1,"", [2],{"a":3}',
    # the last commas of a piece are often those of a long one among short ones
    "1," * 8_000 + "[" + "1," * 9_000 + "1]",
]


@pytest.mark.parametrize("comma", [",", " ,", "\n,", " , ", "\t\r\n,\n"])
@pytest.mark.parametrize("element", ELEMENTS)
def test_no_part_of_a_body_is_read_often(
    element: str, comma: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part is copied, and read, a few times at the most, whatever stands around the commas."""
    read = 0

    class Watched(json.JSONDecoder):
        def raw_decode(self, text: str, idx: int = 0) -> tuple[Any, int]:
            nonlocal read
            try:
                value, end = super().raw_decode(text, idx)
            except json.JSONDecodeError as error:
                read += error.pos - idx
                raise
            read += end - idx
            return value, end

    monkeypatch.setattr(json_bodies, "_DECODER", Watched())
    count = min(9_000, 300_000 // (len(element) + len(comma)))
    listed = "[" + comma.join([element] * count) + "]"
    lists = ",".join(f'"{key}":[[],{element}{comma}{element}]' for key in range(min(count, 1000)))
    for body in (listed, f'{{"x":{listed},"y":{listed}}}', f"{{{lists}}}"):
        text, read = Handled(body), 0
        assert json_bodies._Pieces(text).value() == json.loads(body)
        many = body.count(":[") if body[0] == "{" else 1
        aside = 3 * many * HTTP_JSON_FIRST_PIECE_CHARACTERS + HTTP_JSON_ELEMENT_CHARACTERS_MAX
        assert text.characters < 8 * len(body) + aside
        assert read < 3 * len(body) + aside


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 9_000 + b"[]]",
        b"[" + b"{}," * 9_000 + b"{}]",
        b'{"x":[' + b"1," * 20_000 + b'1],"y":[' + b'"a,b",' * 9_000 + b"0]}",
        b"[" + b"[1],2," * 9_000 + b"3]",
        b"[" + b'["],[",{}],' * 9_000 + b"3]",
        b"[" + b"[[1,2],0], " * 9_000 + b"[]]",
    ],
)
def test_no_call_of_the_reader_is_given_much(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else has the interpreter while it reads."""
    given: list[int] = []

    class Watched(json.JSONDecoder):
        def raw_decode(self, text: str, idx: int = 0) -> tuple[Any, int]:
            value, end = super().raw_decode(text, idx)
            given.append(end - idx)
            return value, end

    monkeypatch.setattr(json_bodies, "_DECODER", Watched())
    assert read_json(body) == json.loads(body)
    assert max(given) <= HTTP_JSON_PIECE_CHARACTERS + 2
    assert sum(given) >= len(body) // 2


def test_elements_are_whole_wherever_a_window_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also numbers, of which a part is one as well."""
    monkeypatch.setattr(json_bodies, "HTTP_JSON_PIECE_CHARACTERS", PIECE)
    monkeypatch.setattr(json_bodies, "HTTP_JSON_ELEMENT_CHARACTERS_MAX", 40)
    for digits in range(1, 40):
        # the last comma of a piece is often one of a list, so that elements are read one by one
        for number in ("12345678901234567890", "0.25", "-1e5", "1.5E+7"):
            body = f"[{'7' * digits},{f'{number},[1,2] ,[[3,4],5],' * 10}6]"
            assert outcome(body.encode()) == json.loads(body)


def test_what_is_too_long_for_a_piece_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    most = HTTP_JSON_ELEMENT_CHARACTERS_MAX
    rest = b"," + b"1," * most + b"1]"
    row = b"[" + b"1," * (most // 2 - 1) + b"1]"
    assert len(outcome(b"[" + row[:-3] + b"]" + rest)) == most + 2
    assert outcome(b"[" + row + rest) == (
        f"the body is not JSON (line 1), or has a value of more than {most} characters in a list "
        "or an object"
    )
    monkeypatch.setattr(json_bodies, "HTTP_JSON_KEYS_MAX", 2)
    monkeypatch.setattr(json_bodies, "HTTP_JSON_PIECE_CHARACTERS", PIECE)
    assert outcome(b'{"first":1,"second":2}') == {"first": 1, "second": 2}
    assert outcome(b'{"a":1,"b":2,"c":3}') == "the body has an object with more than 2 keys"


def test_a_body_has_so_many_lists_and_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_bodies, "HTTP_JSON_LISTS_MAX", 3)
    monkeypatch.setattr(json_bodies, "HTTP_JSON_PIECE_CHARACTERS", PIECE)
    assert outcome(b"[[  ],{ },[  ]]") == [[], {}, []]
    for many in (b"[[  ],{ },[[]]]", b'{"a":[[],1],"b":[{},[],{}]}', b"[[{},[],[],[]]  ]"):
        assert outcome(many) == "the body has more than 3 lists and objects"


@pytest.mark.usefixtures("pieces")
def test_keys_of_what_is_read_in_pieces_come_once() -> None:
    twice = "the body has an object in which a key comes twice"
    for body in (
        b'{"a":[1,2,3],"a":[4]}',
        b'{"a":1,"b":[], "\\u0061":2}',
        b'[1,1,1,1,1,1,{"a":1,"a":2}]',
    ):
        assert outcome(body) == twice


def test_lists_and_objects_are_counted_wherever_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in texts, where their brackets mean nothing."""
    monkeypatch.setattr(json_bodies, "HTTP_JSON_LISTS_MAX", 3)
    monkeypatch.setattr(json_bodies, "HTTP_JSON_PIECE_CHARACTERS", PIECE)
    texts = ["[[[[[[[[", '"[{', "\\", '\\"{{{{[', "", "]]["]
    for value in ([[texts[0]], {texts[1]: 1}, texts], {"[[[[": "{{{{", "[": texts}):
        assert outcome(json.dumps(value).encode()) == value
    for many in (
        b'{"a":{"b":[[],[]]}}',
        b'{"a":{},"b":{"c":{}},"d":{}}',
        b'{"a":["[",[],[],{},[]]}',
    ):
        assert outcome(many) == "the body has more than 3 lists and objects"
