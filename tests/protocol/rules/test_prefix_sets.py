"""Sets of prefixes on every point of small domains, and in words."""

from __future__ import annotations

from itertools import combinations

from littled_protocol.rules import PrefixRule, PrefixSetRule, Words
from support.rules import joined, labels_of


def test_every_set_of_three_prefixes_on_every_point() -> None:
    """Each union has exactly one form, whichever prefixes it is made from."""
    bits, points = 3, list(range(8))
    prefixes = [(value, length) for length in range(bits + 1) for value in range(2**length)]
    forms: dict[tuple[int, ...], PrefixSetRule] = {}
    for count in range(4):
        for chosen in combinations(prefixes, count):
            rule = PrefixSetRule(bits, ())
            for value, length in chosen:
                rule = joined(rule, value, length)
            labels = labels_of(rule, points)
            blocks = [PrefixRule(bits, *prefix) for prefix in chosen]
            held = [labels_of(block, points) for block in blocks]
            assert labels == [int(any(column)) for column in zip([0] * 8, *held, strict=True)]
            assert forms.setdefault(tuple(labels), rule) == rule
    # four are needed by (two that need two each) in both halves: not none, one block, or all
    assert len(forms) == 2**8 - 8 * 8


def test_the_largest_blocks_are_said_and_the_others_counted() -> None:
    words = Words("address", positive="US")
    halves = tuple((value, 9) for value in range(40, 60, 2))
    several = PrefixSetRule(32, ((3, 8), (0x04000, 20), (17, 8), *halves))
    assert several.describe(words) == (
        "US if address in 3.0.0.0/8, 17.0.0.0/8, 20.0.0.0/9, 21.0.0.0/9, 22.0.0.0/9 or 8 more"
    )
    one = PrefixSetRule(32, ((3, 8),))
    assert one.describe(words) == PrefixRule(32, 3, 8).describe(words)
    assert PrefixSetRule(8, ((7, 8),)).describe(words) == "US if address is 7"
    late = Words("delay", "min", -30, "late", "on time")
    assert PrefixSetRule(8, ((0, 7), (8, 8))).describe(late) == (
        "late if delay in -30 min..-29 min or -22 min"
    )
