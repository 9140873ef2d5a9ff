"""Rows of tables on all their points and beyond."""

from __future__ import annotations

import numpy as np

from littled_protocol.rules import TableRule
from support.rules import labels_of


def test_points_beyond_a_table_have_label_0() -> None:
    assert labels_of(TableRule("r", "00", b"\xe0", 3), [2, 3, 255]) == [1, 0, 0]
    assert labels_of(TableRule("r", "00", b"\xff" * 40, 320), [319, 320, 65535]) == [1, 0, 0]


def test_every_row_of_a_few_points() -> None:
    for number in range(16):
        row = [number >> i & 1 for i in range(4)]
        rule = TableRule("r", "00", np.packbits(row).tobytes(), 4)
        assert labels_of(rule, range(4)) == row
