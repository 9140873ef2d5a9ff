"""The class of unions of blocks: dimensions and best rules against brute force, and its name."""

from itertools import combinations, product

import numpy as np
import pytest

from littled.classes.base import ClassError
from littled.classes.names import class_from_dict, class_from_name
from littled.classes.prefix_sets import PrefixSets
from littled.littlestone.dimension import littlestone_dimension
from littled_protocol.columns import point_type
from littled_protocol.rules import PrefixSetRule
from support.rules import joined, labels_of


def all_rules(bits: int, most: int) -> list[PrefixSetRule]:
    """Every union of at most so many blocks."""
    prefixes = [(value, length) for length in range(bits + 1) for value in range(2**length)]
    found = {PrefixSetRule(bits, ())}
    for count in range(1, most + 1):
        for chosen in combinations(prefixes, count):
            rule = PrefixSetRule(bits, ())
            for value, length in chosen:
                rule = joined(rule, value, length)
            if len(rule.prefixes) <= most:
                found.add(rule)
    return sorted(found, key=lambda rule: rule.prefixes)


SIZES = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)]


@pytest.mark.parametrize(("bits", "most"), SIZES)
def test_dimensions_are_what_brute_force_finds_or_bound_it(bits: int, most: int) -> None:
    points = list(range(2**bits))
    matrix = np.array([labels_of(rule, points) for rule in all_rules(bits, most)], dtype=bool)
    hypotheses = PrefixSets(bits, most)
    found = littlestone_dimension(matrix)
    assert found <= hypotheses.littlestone_dimension
    if most == 1:
        assert found == hypotheses.littlestone_dimension
    shattered = max(
        size
        for size in range(2**bits + 1)
        if any(
            len({tuple(row) for row in matrix[:, list(chosen)].tolist()}) == 2**size
            for chosen in combinations(points, size)
        )
    )
    assert shattered == hypotheses.vc_dimension


@pytest.mark.no_cover
@pytest.mark.parametrize(("bits", "most"), [(2, 2), (3, 2)])
def test_the_empirical_rule_has_the_fewest_errors(bits: int, most: int) -> None:
    points, rules = list(range(2**bits)), all_rules(bits, most)
    hypotheses = PrefixSets(bits, most)
    dtype = point_type(hypotheses.point_type).dtype
    chosen = [0, 1, 2, 3] if bits == 2 else [0, 1, 3, 4, 6]
    for zeros, ones in product(product(range(2), repeat=len(chosen)), repeat=2):
        examples = [(p, 0) for p, n in zip(chosen, zeros, strict=True) for _ in range(2 * n)]
        examples += [(p, 1) for p, n in zip(chosen, ones, strict=True) for _ in range(3 * n)]
        x = np.array([p for p, _ in examples], dtype=dtype)
        y = np.array([label for _, label in examples], dtype=np.uint8)
        found = hypotheses.empirical_rule(x, y)
        least = min(int((rule.evaluate(x) != y).sum()) for rule in rules)
        assert int((found.evaluate(x) != y).sum()) == least
    assert points


def test_the_bound_of_many_blocks_is_the_number_of_their_sets() -> None:
    assert PrefixSets(32, 1).littlestone_dimension == 6
    assert 300 < PrefixSets(32, 16).littlestone_dimension < 16 * 33
    assert PrefixSets(3, 1024).littlestone_dimension == 8
    assert PrefixSets(128, 1024).littlestone_dimension > 100_000
    assert PrefixSets(128, 1024).vc_dimension == 2048


@pytest.mark.parametrize("name", ["prefix_sets:1:1", "prefix_sets:32:128", "prefix_sets:128:1024"])
def test_classes_are_named_and_described(name: str) -> None:
    hypotheses = class_from_name(name)
    assert hypotheses.name == name
    assert class_from_dict(hypotheses.to_dict()) == hypotheses
    assert hypotheses.first_rule().prefixes == ()  # type: ignore[attr-defined]
    longest = hypotheses.longest_rule
    assert isinstance(longest, PrefixSetRule)
    assert longest.x_type == hypotheses.point_type


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("prefix_sets:0:1", "bits from 1 to 128"),
        ("prefix_sets:129:1", "bits from 1 to 128"),
        ("prefix_sets:32:0", "blocks from 1 to 1024"),
        ("prefix_sets:32:1025", "blocks from 1 to 1024"),
        ("prefix_sets:32", "prefix_sets:BITS:BLOCKS, 2 whole numbers"),
    ],
)
def test_what_is_no_class_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(ClassError, match=sentence):
        class_from_name(name)
