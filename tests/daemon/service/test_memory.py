"""Freed memory stays with the process, where the C library can be told so."""

import ctypes
import platform
import subprocess
import sys
from types import SimpleNamespace

import pytest

from littled.service import memory

COUNT_FAULTS = """
import resource
import sys

from littled.service.memory import keep_freed_memory

if sys.argv[1] == "keep":
    keep_freed_memory()
for _ in range(50):
    blocks = [b"x" * (len(sys.argv[1]) << 20) for _ in range(4)]
    del blocks
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


def page_faults(how: str) -> int:
    """Pages that a process asks for that makes and frees sixteen MiB fifty times."""
    run = [sys.executable, "-c", COUNT_FAULTS, how]
    return int(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_freed_memory_is_used_again() -> None:
    # 4,096 pages fifty times, against once
    assert page_faults("keep") + 100_000 < page_faults("give")


@pytest.mark.parametrize("library", [SimpleNamespace(), None])
def test_another_library_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, library: SimpleNamespace | None
) -> None:
    def load(_name: None) -> SimpleNamespace:
        if library is None:
            raise OSError
        return library

    monkeypatch.setattr(ctypes, "CDLL", load)
    memory.keep_freed_memory()
