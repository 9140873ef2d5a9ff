"""What a store remembers of a mark that is not in a file."""

import os
from pathlib import Path

import pytest

from littled.store.errors import StoreFailed
from littled.store.witness import Seen, Witness


def test_the_last_note_is_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mark-seen"
    witness = Witness(path)
    assert witness.read() is None
    witness.begin("12", 7)
    assert Witness(path).read() == Seen("12", 7)
    for revision in (8, 1_000, 2**63 - 1):
        witness.note(str(2**64 - 1), revision)
        assert Witness(path).read() == Seen(str(2**64 - 1), revision)
    witness.close()
    witness.close()
    witness.begin("3", 9)
    assert Witness(path).read() == Seen("3", 9)
    assert path.stat().st_mode & 0o777 == 0o600
    witness.close()


def test_a_store_without_a_folder_remembers_nothing() -> None:
    witness = Witness(None)
    witness.begin("1", 2)
    witness.note("1", 3)
    assert witness.read() is None
    witness.close()


@pytest.mark.parametrize("data", [b"", b"1", b"1 x\n", b"1 2 3", b"\xff 1", b"1 " + b"9" * 99])
def test_what_is_no_note_says_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "mark-seen").write_bytes(data)
    assert Witness(tmp_path / "mark-seen").read() is None


def test_a_note_that_cannot_be_made_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="mark-seen cannot be written: No such file"):
        Witness(tmp_path / "none" / "mark-seen").begin("1", 1)
    witness = Witness(tmp_path / "mark-seen")
    witness.begin("1", 1)
    assert witness._descriptor is not None
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, witness._descriptor)
    os.close(full)
    with pytest.raises(StoreFailed, match=r"No space left on device|Invalid"):
        witness.note("1", 2)
    witness.close()
