"""What an action takes in memory."""

import tracemalloc
from collections.abc import Callable


def peak_bytes(action: Callable[[], object]) -> int:
    """The most memory that an action takes beyond what was taken before."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
