"""Names of classes, as configurations write them, and stored descriptions."""

from decimal import Decimal
from typing import Any

import pytest

from littled.classes.base import ClassError
from littled.classes.names import (
    class_from_dict,
    class_from_name,
    class_of_reading,
    forms_of,
    reads_columns,
)
from littled_protocol.encodings import CategoryColumn, IdColumn, NumberColumn, Reading
from support.class_cases import NAMED


@pytest.mark.parametrize("name", NAMED)
def test_names_and_descriptions_make_the_class(name: str) -> None:
    found = class_from_name(name)
    assert found == NAMED[name]
    assert found.name == name
    description = found.to_dict()
    assert description["class"] == name.partition(":")[0]
    assert class_from_dict(description) == found


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("threshold:256", "there is no class 'threshold:256'; the classes are thresholds:SIZE, "),
        (
            "",
            "there is no class ''; .*, strings:LENGTH, oneway:BITS, conjunctions:BITS, table:FILE$",
        ),
        ("table:rules.csv", "there is no class"),
        ("thresholds", "is written thresholds:SIZE, a whole number, not 'thresholds'$"),
        ("thresholds:", "a whole number"),
        ("thresholds:x", "a whole number"),
        ("thresholds:-1", "a whole number"),
        ("thresholds:²", "a whole number"),
        ("thresholds:8:8", "a whole number"),
        ("thresholds:" + "9" * 5000, "a whole number"),
        ("stumps:16", "is written stumps:FEATURES:BUCKETS, 2 whole numbers, not 'stumps:16'$"),
        ("stumps:16:", "2 whole numbers"),
        ("stumps:16:64:2", "2 whole numbers"),
        ("sparse_sets:16", "is written sparse_sets:BITS:MEMBERS, 2 whole numbers"),
        ("affine:16", "is written affine:BITS:DIMENSION, 2 whole numbers"),
        ("thresholds:0", "size from 1"),
        ("thresholds:99999999", "size from 1"),
        ("points:129", "bits from 1 to 128"),
        ("prefixes:0", "bits from 1 to 128"),
        ("sparse_sets:0:1", "bits from 1 to 128"),
        ("sparse_sets:8:0", "members from 1"),
        ("affine:8:9", "dimension from 0 to 8"),
        ("stumps:1:2", "2 to 1024 features"),
        ("stumps:1024:1024", "use fewer features or buckets"),
        ("conjunctions:129", "bits from 1 to 128"),
    ],
)
def test_bad_names_get_a_sentence(name: str, sentence: str) -> None:
    with pytest.raises(ClassError, match=sentence) as caught:
        class_from_name(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("description", [{}, {"class": "forest"}, {"class": None, "size": 8}])
def test_unknown_descriptions_get_a_sentence(description: dict[str, Any]) -> None:
    with pytest.raises(ClassError, match="unknown to this version"):
        class_from_dict(description)


# -- classes of columns ----------------------------------------------------------------------------

SCORE = NumberColumn("score", given=tuple(map(Decimal, (1, 2, 3))))
GRADE = CategoryColumn("grade", ("a", "b"))
CARD = IdColumn("card", 20)


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("stumps", True),
        ("thresholds", True),
        ("sparse_sets:4", True),
        ("sparse_sets", False),
        ("stumps:16", False),
        ("stumps:16:64", False),
        ("table", False),
        ("table:rules.csv", False),
        ("nothing", False),
    ],
)
def test_sizes_may_be_left_to_columns(name: str, reads: bool) -> None:
    assert reads_columns(name) is reads


@pytest.mark.parametrize(
    ("name", "reading", "found"),
    [
        ("stumps", Reading((SCORE, GRADE), "row"), "stumps:2:4"),
        ("stumps:2:4", Reading((SCORE, GRADE), "row"), "stumps:2:4"),
        ("thresholds", Reading((SCORE,), "value"), "thresholds:4"),
        ("conjunctions", Reading((SCORE, GRADE), "bits"), "conjunctions:5"),
        ("points", Reading((CARD,), "number"), "points:20"),
        ("sparse_sets:4", Reading((CARD,), "number"), "sparse_sets:20:4"),
        ("sparse_sets:20:4", Reading((CARD,), "number"), "sparse_sets:20:4"),
        ("affine:2", Reading((SCORE, GRADE), "bits"), "affine:5:2"),
    ],
)
def test_classes_of_columns(name: str, reading: Reading, found: str) -> None:
    hypotheses = class_of_reading(name, reading)
    assert hypotheses.name == found
    assert hypotheses.point_type == reading.x_type


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("stumps:2:5", "the columns of stumps:2:5 make BUCKETS 4, not 5; leave the sizes away"),
        ("stumps:2", "the class stumps is written stumps:FEATURES:BUCKETS"),
        ("nothing", "there is no class 'nothing'"),
    ],
)
def test_classes_that_columns_do_not_have(name: str, sentence: str) -> None:
    with pytest.raises(ClassError, match=sentence):
        class_of_reading(name, Reading((SCORE, GRADE), "row"))


def test_forms() -> None:
    assert forms_of("stumps") == ("row",)
    assert forms_of("affine:2") == ("number", "bits")
    with pytest.raises(ClassError, match="there is no class 'nothing'"):
        forms_of("nothing")
