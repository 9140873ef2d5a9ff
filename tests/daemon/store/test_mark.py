"""The high-water mark: whole or refused."""

import json
from dataclasses import replace
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.budget.price import Price
from littled.store.errors import StoreRefused
from littled.store.mark import (
    HighWaterMark,
    Numbers,
    Point,
    StreamMark,
    no_predictions,
)
from support.marks import read_mark, write_mark

HEADS = st.binary(min_size=32, max_size=32)
NUMBERS = st.integers(0, 2**63 - 1)
POINTS = st.builds(Point, st.integers(-1, 2**63 - 1), HEADS)
AMOUNTS = st.fractions(min_value=0, max_value=10**6)
PRICES = st.builds(Price, AMOUNTS, AMOUNTS, AMOUNTS)
NAMES = st.text(min_size=1, max_size=8)
BOUNDS = st.builds(Numbers, st.dictionaries(NAMES, NUMBERS, max_size=3), NUMBERS)
STREAMS = st.builds(
    StreamMark, HEADS, POINTS, NUMBERS, POINTS, NUMBERS, PRICES, POINTS, st.none() | BOUNDS
)
MARKS = st.builds(
    HighWaterMark,
    NAMES,
    st.dictionaries(NAMES, STREAMS, max_size=3),
    st.dictionaries(NAMES, POINTS, max_size=3),
    st.dictionaries(NAMES, NUMBERS, max_size=3),
)


def small_mark() -> HighWaterMark:
    point = Point(3, bytes(range(32)))
    spent = Price(Fraction(1, 3), Fraction(0), Fraction(1, 10**7))
    stream = StreamMark(bytes(32), point, 77, point, 1, spent, Point(1, bytes(range(32, 64))))
    return HighWaterMark("instance", {"flights": stream}, {"flights/late": point})


@given(MARKS)
def test_a_mark_reads_as_it_was_written(mark: HighWaterMark) -> None:
    assert HighWaterMark.from_bytes(mark.to_bytes()) == mark


def as_json(mark: HighWaterMark) -> bytes:
    """The first line of a mark's file, written without remembering any part of it."""
    values = {
        "format": 1,
        "instance": mark.instance,
        "releases": {name: point.to_list() for name, point in mark.releases.items()},
        "streams": {name: stream.to_dict() for name, stream in mark.streams.items()},
        **({"versions": dict(mark.versions)} if mark.versions else {}),
    }
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode() + b"\n"


@given(MARKS, POINTS, NUMBERS)
def test_remembered_parts_make_the_same_file(
    mark: HighWaterMark, point: Point, position: int
) -> None:
    assert mark.to_bytes().splitlines(keepends=True)[0] == as_json(mark)
    streams = {name: stream.with_journal(point, position) for name, stream in mark.streams.items()}
    moved = replace(mark, streams={**mark.streams, **dict([*streams.items()][:1])})
    assert moved.to_bytes().splitlines(keepends=True)[0] == as_json(moved)


@given(BOUNDS, st.dictionaries(NAMES, NUMBERS, max_size=6), NUMBERS, st.integers(1, 4))
def test_raised_numbers_bound_all_that_is_known(
    numbers: Numbers, known: dict[str, int], first: int, names_max: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("littled.store.mark.MARK_PRODUCERS_MAX", names_max)
        raised = numbers.raised(known, first)
    for name in {*numbers.named, *known, "never seen"}:
        assert raised.bound(name) >= max(numbers.bound(name), known.get(name, first))
    assert len(raised.named) <= max(names_max, len(numbers.named))
    assert not raised.missing(known, first)
    assert raised.others >= first


def test_a_mark_is_read_from_its_file(tmp_path: Path) -> None:
    write_mark(tmp_path / "mark", small_mark())
    assert read_mark(tmp_path / "mark") == small_mark()


def test_a_mark_without_predictions_knows_of_none() -> None:
    """Marks were written without them at first."""
    line = small_mark().to_bytes().splitlines()[0]
    values = json.loads(line)
    del values["streams"]["flights"]["predictions"]
    early = json.dumps(values, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    checksum = blake2b(early, digest_size=16, person=b"littled mark").hexdigest().encode()
    mark = HighWaterMark.from_bytes(early + checksum + b"\n")
    assert mark.streams["flights"].predictions == no_predictions(bytes(32))
    assert mark.streams["flights"].predictions.number == -1


def test_a_producer_that_is_not_named_shares_the_number_of_all_others() -> None:
    numbers = Numbers({"a": 3, "b": 0}, 7)
    assert [numbers.bound(name) for name in ("a", "b", "c")] == [3, 0, 7]


def test_a_mark_names_so_many_producers_and_bounds_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("littled.store.mark.MARK_PRODUCERS_MAX", 2)
    numbers = Numbers({}).with_bounds({"a": 5}).with_bounds({"b": 3}).with_bounds({"a": 6})
    assert numbers == Numbers({"b": 3, "a": 6})
    numbers = numbers.with_bounds({"c": 1})
    assert (list(numbers.named), numbers.others) == (["a", "c"], 3)
    numbers = numbers.with_bounds({"d": 1, "e": 1})
    assert (list(numbers.named), numbers.others) == (["d", "e"], 6)


def test_the_last_version_is_the_one_released_or_the_one_lost() -> None:
    mark = replace(small_mark(), versions={"flights/late": 2, "flights/early": 9})
    versions = [mark.version(f"flights/{name}") for name in ("late", "early", "none")]
    assert versions == [3, 9, 0]


def test_every_damaged_byte_and_every_cut_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    data = small_mark().to_bytes()
    wrong = [
        data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :] for at in range(len(data))
    ]
    wrong += [data[:at] for at in range(len(data))] + [data + b"\n"]
    for each in wrong:
        path.write_bytes(each)
        with pytest.raises(StoreRefused, match="damaged: put back"):
            read_mark(path)


def test_a_mark_of_a_later_format_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.store.mark._FORMAT", 2)
    write_mark(tmp_path / "mark", small_mark())
    monkeypatch.undo()
    with pytest.raises(StoreRefused, match="damaged"):
        read_mark(tmp_path / "mark")


def test_a_missing_mark_says_why_it_matters(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="missing: put it back; without it nobody can tell"):
        read_mark(tmp_path / "mark")


def test_a_folder_is_no_mark(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="cannot be read"):
        read_mark(tmp_path)
