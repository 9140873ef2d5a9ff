"""What the system says of files beside the database is one sentence, and no other error is."""

import errno
import os
import stat
from pathlib import Path

import pytest

from littled.store.disks import DISK, failing, failure
from littled.store.errors import StoreFailed


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_called_full(code: int) -> None:
    assert str(failure(OSError(code, "no"))) == "the disk is full: make room, then start again"


@pytest.mark.parametrize(
    ("code", "name"), [(errno.EIO, "EIO"), (None, "unknown"), (9999, "unknown")]
)
def test_any_other_error_is_named(code: int | None, name: str) -> None:
    error = OSError(code, "no") if code is not None else OSError("no")
    assert str(failure(error)) == f"the disk failed ({name}): look at the system's log"


def test_an_error_of_the_system_is_one_of_the_store_and_keeps_its_cause() -> None:
    with pytest.raises(StoreFailed, match="ENOENT") as raised, failing():
        Path("/nowhere/at all").stat()
    assert isinstance(raised.value.__cause__, FileNotFoundError)


def test_what_is_not_of_the_system_passes() -> None:
    with pytest.raises(KeyError), failing():
        raise KeyError(1)


def test_a_file_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    DISK.create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        DISK.create(path)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(OSError, match="symbolic links") as raised:
        DISK.open(tmp_path / "link", os.O_RDWR)
    assert raised.value.errno == errno.ELOOP


def test_parts_are_written_one_after_the_other_and_read_up_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    DISK.create(path)
    descriptor = DISK.open(path, os.O_RDWR)
    try:
        assert DISK.write(descriptor, path, [b"two ", b"parts"], 3) == 9
        DISK.sync(descriptor, path)
        assert DISK.read(descriptor, path, 100, 0) == b"\0\0\0two parts"
    finally:
        os.close(descriptor)
    DISK.remove(path)
    assert not path.exists()
