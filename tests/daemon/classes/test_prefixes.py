"""Prefixes against brute force."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.classes.base import ClassError
from littled.classes.capabilities import needed
from littled.classes.prefixes import Prefixes
from littled.littlestone import dual_vapnik_chervonenkis_dimension, littlestone_dimension
from littled_protocol.rules import PrefixRule
from support.version_spaces import Part, a_part, all_blocks, data_set


@pytest.mark.parametrize("bits", range(1, 8))
def test_dimension_is_exact(bits: int) -> None:
    assert littlestone_dimension(all_blocks(bits)) == Prefixes(bits).littlestone_dimension


@pytest.mark.parametrize("bits", range(1, 4))
def test_dual_dimension_is_exact(bits: int) -> None:
    exact = dual_vapnik_chervonenkis_dimension(all_blocks(bits))
    assert exact == Prefixes(bits).dual_vc_dimension


@pytest.mark.parametrize(("bits", "dimension"), [(32, 6), (62, 6), (63, 7), (128, 8)])
def test_dimensions_of_addresses(bits: int, dimension: int) -> None:
    assert Prefixes(bits).littlestone_dimension == dimension


@pytest.mark.parametrize("bits", [0, 129])
def test_widths_outside_the_domain_are_refused(bits: int) -> None:
    with pytest.raises(ClassError, match="bits from 1 to 128"):
        Prefixes(bits)


@given(part=a_part(8, sizes=20), shift=st.sampled_from([0, 3, 61, 62, 120]))
def test_proposals_of_any_width_are_votes_for_all_prefixes(part: Part, shift: int) -> None:
    hypotheses = Prefixes(3 + shift)
    part = [(point << shift, label) for point, label in part]
    proposals = hypotheses.proposals(*data_set(hypotheses, part))
    votes: Counter[PrefixRule] = Counter()
    proposed = set()
    for address, label in part:
        for length in range(hypotheses.bits + 1):
            value = address >> (hypotheses.bits - length)
            rule = PrefixRule(bits=hypotheses.bits, value=value, length=length)
            votes[rule] += 1 if label else -1
            proposed |= {rule} if label else set()
    rules = [hypotheses.proposed_rule(proposals, index) for index in range(len(proposals.scores))]
    found = dict(zip(rules, proposals.scores.tolist(), strict=True))
    assert len(found) == len(rules)
    assert found == {rule: votes[rule] for rule in proposed}


@given(
    part=a_part(8, sizes=20),
    shift=st.sampled_from([0, 3, 61, 62, 120]),
    lengths=st.sets(st.integers(0, 3), min_size=1),
)
def test_proposals_of_some_lengths_are_those_among_all(
    part: Part, shift: int, lengths: set[int]
) -> None:
    hypotheses = Prefixes(3 + shift)
    examples = data_set(hypotheses, [(point << shift, label) for point, label in part])
    everything = hypotheses.proposals(*examples)
    chosen = [length in lengths for length in hypotheses.block_lengths(everything).tolist()]
    found = hypotheses.blocks_around(*examples, sorted(lengths))
    assert found.scores.tolist() == everything.scores[chosen].tolist()
    assert found.keys.tolist() == everything.keys[chosen].tolist()
    for index, length in enumerate(hypotheses.block_lengths(found).tolist()):
        rule = hypotheses.proposed_rule(found, index)
        value, its_length = needed(hypotheses.block_of(rule))
        assert its_length == length
        assert value < 1 << length
        assert hypotheses.block(value, length) == rule


def test_the_constant_0_is_no_block() -> None:
    assert Prefixes(8).block_of(Prefixes(8).first_rule()) is None
    assert Prefixes(8).longest == 8
