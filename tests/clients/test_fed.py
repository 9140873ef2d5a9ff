"""What was fed: kept for its owner, found again by content, and gone when it is too old."""

import gzip
import os
import stat
from hashlib import blake2b
from pathlib import Path

import pytest

from littled_client import fed
from littled_client.errors import SourceError
from littled_client.fed import Fed, FedFiles, digests, rest_after
from littled_client.sources import Mark

ROWS = b"x,y\n1,0\n2,1\n3,1\n"


def mark(examples: int, content: bytes) -> Mark:
    return Mark(examples, len(content), blake2b(content, digest_size=16).hexdigest())


def record(*marks: Mark, acknowledged: int = 0, producer: str = "p", instance: str = "i") -> Fed:
    return Fed(instance, "s", producer, "/a.csv", acknowledged, marks)


def test_records_are_kept_for_their_owner_alone(tmp_path: Path) -> None:
    files = FedFiles(tmp_path / "state" / "fed")
    kept = record(mark(2, ROWS[:12]), acknowledged=2)
    files.keep(kept)
    (found,) = files.of("i", "s")
    assert (found.marks, found.acknowledged, found.path) == (kept.marks, 2, "/a.csv")
    (path,) = files.folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(files.folder.stat().st_mode) == 0o700
    files.keep(record(mark(3, ROWS), acknowledged=3))
    assert [one.acknowledged for one in files.of("i", "s")] == [3]


def test_a_restored_store_knows_what_was_fed_under_its_old_name(tmp_path: Path) -> None:
    files = FedFiles(tmp_path)
    files.keep(record(producer="old", instance="i"))
    assert [one.producer for one in files.of("j", "s")] == ["old"]
    files.keep(record(producer="new", instance="j"))
    assert [one.producer for one in files.of("j", "s")] == ["new"]
    assert files.of("j", "t") == []


def test_a_record_that_cannot_be_read_was_never_written(tmp_path: Path) -> None:
    files = FedFiles(tmp_path)
    files.keep(record())
    for path, text in zip(("a", "b", "c"), ("{", "[]", '{"marks": 1}'), strict=True):
        (tmp_path / f"{path}.json").write_text(text)
    assert len(files.of("i", "s")) == 1


def test_the_oldest_records_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fed, "RECORDS_MAX", 2)
    files = FedFiles(tmp_path)
    for index in range(4):
        files.keep(record(producer=str(index)))
        for path in tmp_path.glob("*.json"):
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 10))
    files.tidy()
    assert {one.producer for one in files.of("i", "s")} == {"2", "3"}


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"XDG_STATE_HOME": "/state", "HOME": "/home/a"}, "/state/littled/fed"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/home/a"}, "/home/a/.local/state/littled/fed"),
        ({"HOME": "/home/a"}, "/home/a/.local/state/littled/fed"),
    ],
)
def test_the_folder_is_that_of_the_user(environment: dict[str, str], folder: str) -> None:
    files = FedFiles.usual(environment)
    assert files is not None
    assert files.folder == Path(folder)
    assert FedFiles.usual({}) is None


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_grew_holds_what_was_fed_and_one_that_changed_does_not(
    tmp_path: Path, packed: bool
) -> None:
    path = tmp_path / "a.csv"
    was = record(mark(1, ROWS[:8]), mark(3, ROWS), acknowledged=3)
    for content, holds in (
        (ROWS, True),
        (ROWS + b"4,0\n", True),
        (ROWS[:8], False),
        (ROWS.replace(b"3,1", b"3,0"), False),
        (b"", False),
    ):
        path.write_bytes(gzip.compress(content) if packed else content)
        assert was.is_in(digests(str(path), [was]), 3) == holds
    path.write_bytes(ROWS[:8] + b"9,9\n")
    assert was.is_in(digests(str(path), [was]), 2), "what was not fed yet may change"


def test_a_last_line_that_went_on_is_another_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    was = record(mark(3, ROWS[:-1]), acknowledged=3)
    for rest, holds in ((b"", True), (b"\n4,0\n", True), (b"\r\n", True), (b"1\n", False)):
        path.write_bytes(ROWS[:-1] + rest)
        assert was.is_in(digests(str(path), [was]), 3) == holds


def test_long_files_are_looked_at_block_by_block(tmp_path: Path) -> None:
    content = b"0123456\n" * 100_000
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    lengths = [8, 256 * 1024, 256 * 1024 + 8, 512 * 1024, len(content) - 8, len(content)]
    marks = [mark(index, content[:length]) for index, length in enumerate(lengths)]
    found = digests(str(path), [record(*marks), record(mark(9, content + b"7\n"))])
    assert found == {one.bytes: one.digest for one in marks}


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    assert digests(str(tmp_path / "none"), []) == {}
    with pytest.raises(SourceError, match=r"^cannot read .*none: No such file"):
        digests(str(tmp_path / "none"), [record(mark(1, b"1\n"))])


def test_marks_beyond_what_is_durable_are_kept_and_the_last_before_it() -> None:
    first, second, third = (mark(count, ROWS[: 4 + 4 * count]) for count in (1, 2, 3))
    known = record().with_mark(first, 0).with_mark(second, 1)
    assert known.marks == (first, second)
    known = known.with_mark(third, 2)
    assert (known.marks, known.acknowledged) == ((second, third), 2)
    assert known.mark_at(2) == second
    assert known.mark_at(9) == third
    assert known.mark_at(1) == second, "the first of them, where none is so early"
    assert record().mark_at(5) is None
    assert not record().is_in({}, 0)


def test_where_no_record_can_be_written_is_known_before(tmp_path: Path) -> None:
    assert FedFiles(tmp_path / "state" / "fed").can_keep()
    (tmp_path / "file").write_text("")
    assert not FedFiles(tmp_path / "file" / "fed").can_keep()


@pytest.mark.parametrize("packed", [False, True])
def test_what_comes_after_the_part_that_was_fed_is_found(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "a.csv"
    was = record(mark(3, ROWS), acknowledged=3)
    for content, rest in ((ROWS, False), (ROWS + b"4,0\n", True), (ROWS[:-2], None)):
        path.write_bytes(gzip.compress(content) if packed else content)
        assert rest_after(str(path), was) is rest
    assert rest_after(str(path), record()) is None
