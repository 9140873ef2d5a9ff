"""Batches whose kind a test knows: with users, or without."""

from littled_client.conversions import Batch
from littled_protocol.columns import Labels, Points, Users


def pair(batch: Batch) -> tuple[Points, Labels]:
    """Points and labels of a batch that names no users."""
    assert len(batch) == 2
    return batch


def triple(batch: Batch) -> tuple[Points, Labels, Users]:
    """Points, labels and users."""
    assert len(batch) == 3
    return batch
