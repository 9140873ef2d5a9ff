"""Private files, durable names, and the lock."""

import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from littled.store.errors import StoreRefused
from littled.store.files import (
    FolderLock,
    HeldBriefly,
    create_private,
    read_limited,
    refuse_readable,
    replace_private,
    sync_folder,
)

HOLDER = """
import sys, time
from pathlib import Path
from littled.store.files import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    """Set the umask for one test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_a_private_file_has_one_mode_whatever_the_umask(
    tmp_path: Path, umask: Callable[[int], int], mask: int
) -> None:
    umask(mask)
    create_private(tmp_path / "made", b"secret")
    replace_private(tmp_path / "replaced", b"secret")
    assert mode(tmp_path / "made") == mode(tmp_path / "replaced") == 0o600
    assert (tmp_path / "made").read_bytes() == b"secret"


def test_a_private_file_is_never_written_over(tmp_path: Path) -> None:
    create_private(tmp_path / "key", b"first")
    with pytest.raises(FileExistsError):
        create_private(tmp_path / "key", b"second")
    assert (tmp_path / "key").read_bytes() == b"first"


def test_neither_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"mine")
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "mark.new").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="key"):
        create_private(tmp_path / "key", b"theirs")
    with pytest.raises(OSError, match="mark"):
        replace_private(tmp_path / "mark", b"theirs")
    assert (tmp_path / "elsewhere").read_bytes() == b"mine"


def test_replacing_leaves_the_new_contents_and_nothing_else(tmp_path: Path) -> None:
    for text in (b"long contents that came first", b"short"):
        replace_private(tmp_path / "mark", text)
        assert (tmp_path / "mark").read_bytes() == text
    assert [each.name for each in tmp_path.iterdir()] == ["mark"]


def test_replacing_works_over_the_rest_of_an_interrupted_one(tmp_path: Path) -> None:
    (tmp_path / "mark").write_bytes(b"old")
    (tmp_path / "mark.new").write_bytes(b"half of something longer")
    replace_private(tmp_path / "mark", b"new")
    assert (tmp_path / "mark").read_bytes() == b"new"


def test_a_failed_replacement_keeps_the_old_contents(tmp_path: Path) -> None:
    replace_private(tmp_path / "mark", b"old")
    (tmp_path / "mark.new").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_private(tmp_path / "mark", b"new")
    assert (tmp_path / "mark").read_bytes() == b"old"


def test_a_name_is_synced_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order that survives a power cut: contents, then name, then the folder that has it."""
    calls = []
    real_sync, real_replace = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        calls.append(kind)
        real_sync(descriptor)

    def replace(self: Path, target: Path) -> Path:
        calls.append("rename")
        return real_replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    replace_private(tmp_path / "mark", b"new")
    assert calls == ["file", "rename", "folder"]


def test_syncing_what_is_no_folder_is_an_error(tmp_path: Path) -> None:
    create_private(tmp_path / "file", b"")
    with pytest.raises(NotADirectoryError):
        sync_folder(tmp_path / "file")


def test_reading_stops_at_the_limit(tmp_path: Path) -> None:
    create_private(tmp_path / "file", bytes(10))
    assert read_limited(tmp_path / "file", 10) == bytes(10)
    with pytest.raises(StoreRefused, match="longer than 9 bytes"):
        read_limited(tmp_path / "file", 9)


@pytest.mark.parametrize(
    ("bits", "strict", "lenient"),
    [
        (0o600, True, True),
        (0o400, True, True),
        (0o640, False, True),
        (0o604, False, False),
        (0o601, False, False),
    ],
)
def test_what_others_can_reach_is_refused(
    tmp_path: Path, bits: int, strict: bool, lenient: bool
) -> None:
    path = tmp_path / "noise.key"
    create_private(path, b"")
    path.chmod(bits)
    for group_may_read, allowed in ((False, strict), (True, lenient)):
        if allowed:
            refuse_readable(path, group_may_read=group_may_read)
        else:
            with pytest.raises(StoreRefused, match="chmod 600"):
                refuse_readable(path, group_may_read=group_may_read)


def test_a_second_lock_in_one_process_is_refused_and_costs_nothing(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / "lock")
    with pytest.raises(StoreRefused, match="this process has opened"):
        FolderLock(tmp_path / "lock")
    assert held_elsewhere(tmp_path / "lock"), "the refusal must not have given up the first lock"
    lock.release()
    lock.release()
    assert not held_elsewhere(tmp_path / "lock")
    FolderLock(tmp_path / "lock").release()


def test_a_lock_says_whether_it_is_held_only_for_a_moment(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for briefly in (True, False):
        lock = FolderLock(path, briefly=briefly)
        with pytest.raises(StoreRefused) as raised:
            FolderLock(path)
        assert isinstance(raised.value, HeldBriefly) == briefly
        lock.release()
    program = HOLDER.replace("sys.argv[1])", "sys.argv[1]), briefly=True")
    with subprocess.Popen(
        [sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(HeldBriefly):
            FolderLock(path)
        holder.send_signal(signal.SIGKILL)
    FolderLock(path).release()
    assert path.read_bytes() == b"", "whoever has it next does not say so"


def held_elsewhere(path: Path) -> bool:
    """Whether another process is refused the lock."""
    command = HOLDER.replace("time.sleep(60)", "")
    ended = subprocess.run(
        [sys.executable, "-c", command, path], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0 or "another process serves the store" in ended.stderr
    return ended.returncode != 0


def test_a_lock_that_cannot_be_had_is_no_other_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lockf(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.lockf", lockf)
    before = set(Path("/proc/self/fd").iterdir())
    with pytest.raises(OSError, match="No locks available"):
        FolderLock(tmp_path / "lock")
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreRefused, match="another process serves the store"):
            FolderLock(path)
        holder.send_signal(signal.SIGKILL)
    FolderLock(path).release()


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    """A worker process that outlives its daemon must not keep the next daemon out."""
    path = tmp_path / "lock"
    program = HOLDER.replace(
        'print("held", flush=True)',
        "import os\nchild = os.fork()\nif child: print(child, flush=True)",
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        child = int(holder.stdout.readline())
        try:
            holder.send_signal(signal.SIGKILL)
            holder.wait()
            FolderLock(path).release()
            os.kill(child, 0)
        finally:
            os.kill(child, signal.SIGKILL)
