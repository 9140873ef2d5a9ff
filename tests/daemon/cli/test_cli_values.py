"""Values on a command line become points, or are refused without being quoted."""

import pytest

from littled.cli.failures import Failure
from littled.cli.values import Values

NO_INTEGER = "does not hold an integer (digits 0 to 9, without a fraction)"


def test_numbers_addresses_and_rows() -> None:
    assert Values("u8", -30, None).points(["-30", "225"]).tolist() == [0, 255]
    assert Values("u8", 0, (0, 255)).points(["-7", "1000"]).tolist() == [0, 255]
    assert Values("u32", 0, None).points(["10.0.0.1"]).tolist() == [0x0A000001]
    assert Values("u128", 0, None).points(["::1"]).tolist() == [[0, 1]]
    assert Values("u16x2", 0, None).points(["1,2", "3, 4"]).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("x_type", "values", "sentence"),
    [
        ("u8", ["1", "31337"], "value 12: column 'x' is outside 0 to 255"),
        ("u8", ["late31337"], f"value 11: column 'x' {NO_INTEGER}"),
        ("u8", ["1", "24.0"], f"value 12: column 'x' {NO_INTEGER}"),
        ("u32", ["1_0"], f"value 11: column 'x' {NO_INTEGER}"),
        ("u16x2", ["1,2", "3"], "value 12: a row has 2 features, with commas between them"),
        ("u16x2", ["1,2,3"], "value 11: a row has 2 features, with commas between them"),
        (
            "u16x2",
            ["1,2", "3,z"],
            f"value 12: column 'feature 1' {NO_INTEGER}",
        ),
    ],
)
def test_what_is_no_point_is_named_by_its_number(
    x_type: str, values: list[str], sentence: str
) -> None:
    with pytest.raises(Failure) as raised:
        Values(x_type, 0, None).points(values, before=10)
    assert raised.value.sentence == sentence


def test_an_offset_of_wide_points_is_wrong_use() -> None:
    with pytest.raises(Failure) as raised:
        Values("u128", 5, None)
    assert (raised.value.status, "do not apply" in raised.value.sentence) == (2, True)
