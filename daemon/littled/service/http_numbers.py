"""Whole numbers in the addresses and headers of requests."""

from __future__ import annotations


def number_in(text: str, most: int) -> int | None:
    """Return the number from 0 to `most` that ASCII digits write; None for any other text."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most))):
        return None
    number = int(text)
    return number if number <= most else None
