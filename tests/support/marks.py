"""High-water marks in files, as tests look at them and replace them."""

from pathlib import Path

from littled.store.files import replace_private
from littled.store.mark import HighWaterMark
from littled.store.register import FileRegister


def read_mark(path: Path) -> HighWaterMark:
    """The mark in a file. StoreRefused when it is missing or damaged."""
    return FileRegister(path).read()[0]


def write_mark(path: Path, mark: HighWaterMark) -> None:
    """Put a mark into a file, whatever is there."""
    replace_private(path, mark.to_bytes())
