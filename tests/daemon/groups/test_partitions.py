"""Which partition a name is in, for ever, and what a store of a group refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.groups.partitions import (
    GroupRefused,
    check_store,
    check_streams,
    divided,
    given_away,
    label,
    names_given,
    partition_of,
    told_to_store,
)


def test_the_partition_of_a_name_never_changes() -> None:
    names = ["flights", "addresses", "shop-0001", "shop-0002", "a"]
    assert [partition_of(name, 12) for name in names] == [11, 3, 1, 11, 10]
    assert [partition_of(name, 3) for name in names] == [2, 0, 1, 2, 1]


@given(st.sets(st.text("abc-0123", min_size=1, max_size=6), min_size=40), st.integers(1, 4))
def test_every_name_is_in_exactly_one_partition(names: set[str], partitions: int) -> None:
    found = divided(names, partitions)
    assert sorted(name for each in found for name in each) == sorted(names)
    for number, each in enumerate(found):
        check_streams(each, told_to_store(number, partitions))


def test_partitions_are_alike() -> None:
    sizes = [len(each) for each in divided((f"shop-{n:04}" for n in range(12_000)), 12)]
    assert 850 < min(sizes) <= max(sizes) < 1150


def test_a_partition_without_a_stream_is_refused_with_what_would_fit() -> None:
    names = ["flights", "addresses", "a"]
    with pytest.raises(
        GroupRefused, match=r"2 of 4 partitions .* by their hash: take 3 partitions"
    ):
        divided(names, 4)
    assert [len(each) for each in divided(names, 3)] == [1, 1, 1]


def test_a_stream_of_another_partition_is_refused() -> None:
    mine = told_to_store(partition_of("flights", 12), 12)
    check_streams(["flights"], mine)
    check_streams(["flights", "addresses"], None)
    with pytest.raises(GroupRefused, match="addresses belongs to partition 03 of the group"):
        check_streams(["flights", "addresses"], mine)


@pytest.mark.parametrize(
    ("group", "says"),
    [
        (None, "is of no group"),
        (told_to_store(8, 12), "is partition 08 of 12"),
        (told_to_store(11, 3), "is partition 11 of 3"),
    ],
)
def test_a_store_is_held_against_what_etcd_says_of_it(
    group: dict[str, int] | None, says: str
) -> None:
    check_store(["flights"], told_to_store(11, 12), 11, 12)
    with pytest.raises(GroupRefused, match=f"partition 11 of 12, and the store that it {says}"):
        check_store(["flights"], group, 11, 12)
    with pytest.raises(GroupRefused, match="a stream in two stores would have two budgets"):
        check_store(["flights", "addresses"], told_to_store(11, 12), 11, 12)


def test_a_partition_that_was_added_has_its_names_and_no_other_one() -> None:
    told = told_to_store(12, 12, ["ships", "flights"])
    check_streams(["flights"], told)
    check_store(["flights", "ships"], told, 12, 12, {"flights", "ships"})
    with pytest.raises(GroupRefused, match="12 was added for other streams than trains"):
        check_streams(["trains"], told)
    for names in (None, ["flights"]):
        with pytest.raises(GroupRefused, match="is partition 12 of 12 for its own streams"):
            check_store(["flights"], told, 12, 12, names)
    with pytest.raises(GroupRefused, match="that it is partition 12 of 12: see"):
        check_store(["flights"], told_to_store(12, 12), 12, 12, ["flights"])


def test_a_name_that_was_given_away_is_told_by_its_store() -> None:
    streams = {"flights": {"epsilon": 1}, "ships": given_away({"epsilon": 1}, 12)}
    assert names_given({"streams": streams}) == {"ships": 12}
    assert names_given({}) == {}


def test_labels_sort_as_numbers_do() -> None:
    assert [label(0), label(7), label(11), label(100)] == ["00", "07", "11", "100"]
