"""Prefixes on every point of small domains, and as CIDR blocks."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_protocol.rules import PrefixRule, RuleError, Words
from support.rules import labels_of


@pytest.mark.parametrize("bits", [1, 3, 8, 9])
def test_every_prefix_on_every_point(bits: int) -> None:
    points = list(range(2**bits))
    seen = set()
    for length in range(bits + 1):
        for value in range(2**length):
            labels = labels_of(PrefixRule(bits, value, length), points)
            assert labels == [int(x >> (bits - length) == value) for x in points]
            seen.add(tuple(labels))
    assert labels_of(PrefixRule(bits, 0, None), points) == [0] * 2**bits
    # Different prefixes are different rules.
    assert len(seen) == 2 ** (bits + 1) - 1


@given(st.integers(0, 2**128 - 1), st.integers(0, 128))
def test_wide_prefixes_are_said_as_blocks_that_hold_the_same_addresses(
    address: int, length: int
) -> None:
    rule = PrefixRule(128, address >> (128 - length), length)
    block = ip_network(rule.block)
    least, greatest = rule.bounds or (0, 0)
    if block.version == 4:
        assert least >> 32 == 0xFFFF
        least, greatest = least & 0xFFFFFFFF, greatest & 0xFFFFFFFF
    assert int(block.network_address) == least
    assert int(block.broadcast_address) == greatest
    if length:
        assert rule.describe(Words()) == f"1 if x in {block}"


@given(st.integers(0, 2**32 - 1), st.integers(0, 32))
def test_ipv4_inside_ipv6_is_said_as_ipv4(address: int, length: int) -> None:
    narrow = PrefixRule(32, address >> (32 - length), length)
    value = (0xFFFF << length) | (address >> (32 - length))
    wide = PrefixRule(128, value, 96 + length)
    assert wide.block == narrow.block
    assert ip_address(address) in ip_network(narrow.block)


@pytest.mark.parametrize(
    "rule", [PrefixRule(8, 1, 1), PrefixRule(32, 0, None), PrefixRule(128, 0, None)]
)
def test_other_prefixes_are_no_blocks(rule: PrefixRule) -> None:
    with pytest.raises(RuleError):
        _ = rule.block
