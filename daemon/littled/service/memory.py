"""What the C library does with memory that is freed: keep it for the next batch.

The columns of a batch come and go many times a second. By default glibc gives blocks of some size
back to the system when they are freed, and the system fills new ones with zeros, page by page: for
batches of 10,000 examples that took longer than everything else that the daemon does with them.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

from littled.limits import MEMORY_KEPT_BYTES

# Of <malloc.h>.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3


def keep_freed_memory() -> None:
    """Let the process keep what it frees, up to MEMORY_KEPT_BYTES at a time.

    Does nothing with a C library that cannot be told so.
    """
    with suppress(OSError, AttributeError):
        tell = ctypes.CDLL(None).mallopt
        tell(_M_MMAP_THRESHOLD, MEMORY_KEPT_BYTES)
        tell(_M_TRIM_THRESHOLD, MEMORY_KEPT_BYTES)
