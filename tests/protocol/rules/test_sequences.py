"""One-way sequences: Bun's Propositions 5 and 6 as far as a program can check them, and rules."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_protocol.rules import MajorityRule, RuleError, SequenceRule, Words, sequences
from littled_protocol.rules.sequences import (
    LABEL_BYTES,
    NO_LABEL,
    forward,
    index_and_string,
    is_formed,
    leaf_of,
    point_bytes,
    point_of,
)
from support.rules import plain_leaf
from support.vectors import from_json, load

VECTORS = from_json(load("sequences.json"))
SEED = bytes(range(16))


def test_the_vectors_are_sequences() -> None:
    for each in VECTORS["leaves"]:
        bits, index = each["bits"], int(each["index"], 16)
        leaf = leaf_of(each["seed"], index, bits)
        assert tuple(leaf) == (each["sigma"], each["bit"])
        assert tuple(leaf) == plain_leaf(each["seed"], index, bits)
        assert point_of(index, leaf.sigma, bits) == each["point"]
        assert index_and_string(each["point"], bits) == (index, leaf.sigma)
        assert len(each["point"]) == point_bytes(bits)
    for each in VECTORS["forward"]:
        index, before = int(each["index"], 16), int(each["before"], 16)
        found = forward(index, before, each["sigma"], each["bits"])
        assert found == (each["follows"], each["bit"])
    for each in VECTORS["forms"]:
        index, sigma = int(each["index"], 16), each["sigma"]
        assert is_formed(index, sigma, each["bits"]) == each["is_formed"], each["name"]


def test_a_point_of_64_bits_has_1032_bytes() -> None:
    """K bits of an index and K labels of kappa = 128 bits, which the paper has as one number k."""
    assert [point_bytes(bits) for bits in (16, 64, 128)] == [258, 1032, 2064]


@given(st.sampled_from([1, 2, 3, 16, 64, 128]), st.binary(min_size=16, max_size=16), st.data())
def test_every_later_string_follows_from_an_earlier_one(
    bits: int, seed: bytes, data: st.DataObject
) -> None:
    """Proposition 5: ComputeForward(j, i, G(i, s)) = (G(j, s), f(j, s)) for every j > i."""
    places = st.integers(0, 2**bits - 1)
    before, index = sorted(data.draw(st.lists(places, min_size=2, max_size=2, unique=True)))
    assert forward(index, before, leaf_of(seed, before, bits).sigma, bits) == leaf_of(
        seed, index, bits
    )


def test_all_pairs_of_a_small_tree_follow_forward_alone() -> None:
    leaves = [leaf_of(SEED, index, 4) for index in range(16)]
    for before in range(16):
        for index in range(16):
            if before < index:
                assert forward(index, before, leaves[before].sigma, 4) == leaves[index]
            else:
                with pytest.raises(ValueError, match="follows"):
                    forward(index, before, leaves[before].sigma, 4)


def nodes_of(index: int, sigma: bytes, bits: int) -> set[str]:
    """Paths of the nodes whose labels a string gives away: its own and all below them."""
    path = f"{index:0{bits}b}"
    known = set()
    for place in range(bits):
        label = sigma[LABEL_BYTES * place : LABEL_BYTES * (place + 1)]
        if label != NO_LABEL:
            sibling = path[:place] + "1"
            free = bits - len(sibling)
            known |= {
                sibling + f"{below:0{length}b}" * bool(length)
                for length in range(free + 1)
                for below in range(1 << length)
            }
    return known


def test_a_string_gives_away_nothing_on_the_way_to_its_own_bit() -> None:
    """What Proposition 6 rests on: a string punctures the tree at its own path.

    No label above leaf i, or of it, is in sigma_i or follows from it; all those of later leaves do.
    So whoever predicts b_i from sigma_i, and from all that comes after it, tells the labels of a
    pseudorandom function at a punctured point from random ones.
    """
    bits = 5
    for index in range(1 << bits):
        known = nodes_of(index, leaf_of(SEED, index, bits).sigma, bits)
        path = f"{index:0{bits}b}"
        assert not known & {path[:depth] for depth in range(bits + 1)}
        leaves = {node for node in known if len(node) == bits}
        assert leaves == {f"{later:0{bits}b}" for later in range(index + 1, 1 << bits)}


def test_a_bit_may_be_either_whatever_its_string_and_all_later_ones_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Proposition 6, its other half: another label at leaf i changes b_i, and nothing after it."""
    bits, index = 6, 21
    before = [leaf_of(SEED, later, bits) for later in range(index, 1 << bits)]
    parent = SEED
    for turn in f"{index:0{bits}b}"[:-1]:
        parent = sequences._child(parent, int(turn))
    last = (parent, index & 1)
    child, seen = sequences._child, set()
    for number in range(1, 20):
        other = bytes([number]) * LABEL_BYTES

        def punctured(label: bytes, right: int, other: bytes = other) -> bytes:
            return other if (label, right) == last else child(label, right)

        monkeypatch.setattr(sequences, "_child", punctured)
        after = [leaf_of(SEED, later, bits) for later in range(index, 1 << bits)]
        assert after[1:] == before[1:]
        assert after[0].sigma == before[0].sigma
        seen.add(after[0].bit)
    assert seen == {0, 1}


def test_bits_are_as_even_as_a_coin() -> None:
    """Of the last leaf, whose string is empty, over seeds; of all leaves of a seed; in pairs."""
    seeds = [hashlib.sha256(b"%d" % number).digest()[:16] for number in range(4000)]
    last = sum(leaf_of(seed, 255, 8).bit for seed in seeds)
    assert all(leaf_of(seed, 255, 8).sigma == bytes(8 * LABEL_BYTES) for seed in seeds[:3])
    assert abs(last - 2000) < 5 * 32
    row = [leaf_of(SEED, index, 12).bit for index in range(4096)]
    assert abs(sum(row) - 2048) < 5 * 32
    same = sum(a == b for a, b in pairwise(row))
    assert abs(same - 2047) < 5 * 32


@pytest.mark.parametrize(
    ("index", "sigma", "label"),
    [
        (8, b"\x01" * 48, 0),
        (2, b"\x01" * 47, 0),
        (2, b"\x01" * 48, 0),
        (0, b"\x01" * 48, 2),
        (None, b"\x01" * 48, 0),
        (None, b"", 1),
        (0, "01" * 48, 0),
    ],
)
def test_rules_that_cannot_be_are_refused(index: Any, sigma: Any, label: int) -> None:
    with pytest.raises(RuleError, match=r"index needs|sigma needs|label needs"):
        SequenceRule(3, index, sigma, label)


def test_a_rule_is_said_in_words_and_has_no_sql() -> None:
    rule = SequenceRule(3, 2, leaf_of(SEED, 2, 3).sigma, 1)
    words = Words("ticket", positive="valid")
    assert rule.describe(words) == (
        "valid if ticket is in the one-way sequence that is known from index 2 on, and its bit "
        "there is 1"
    )
    for refused in (rule, MajorityRule((rule,))):
        with pytest.raises(RuleError, match="chains of SHA-256, which SQL does not compute"):
            refused.to_sql(words)
    never = SequenceRule(3, None, b"", 0)
    assert never.describe(words) == "never valid"
    assert never.to_sql(words) == "(1 = 0)"


def test_forged_strings_have_the_label_0() -> None:
    bits, index = 16, 300
    rule = SequenceRule(bits, index, leaf_of(SEED, index, bits).sigma, 1)
    places = range(index, index + 200)
    honest = [point_of(place, leaf_of(SEED, place, bits).sigma, bits) for place in places]
    forged = [point_of(place, leaf_of(bytes(16), place, bits).sigma, bits) for place in places]
    x = np.frombuffer(b"".join(honest + forged), dtype=np.uint8).reshape(400, -1)
    labels = rule.evaluate(x).tolist()
    assert labels[:200] == [1, *(leaf_of(SEED, place, bits).bit for place in places[1:])]
    assert labels[200:] == [0] * 200
