"""Names of classes, as configurations write them, and stored descriptions."""

from typing import Any

import pytest

from littled.classes.base import ClassError
from littled.classes.names import class_from_dict, class_from_name
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
        ("", "there is no class ''; .*, stumps:FEATURES:BUCKETS, conjunctions:BITS, table:FILE$"),
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
