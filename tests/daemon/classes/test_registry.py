"""The register of classes: what it names exists, and the name of each is its own."""

from dataclasses import fields
from importlib import import_module

import pytest

from littled.classes.hypothesis import HypothesisClass
from littled.classes.registry import CLASSES, Entry, all_written
from littled.kinds import KINDS
from support.class_cases import CASES

every_entry = pytest.mark.parametrize("entry", CLASSES.values(), ids=lambda entry: entry.name)


@every_entry
def test_every_class_is_where_the_register_says(entry: Entry) -> None:
    module, _, name = entry.made_by.partition(":")
    assert module == f"littled.classes.{entry.name}"
    made = getattr(import_module(module), name)
    assert issubclass(made, HypothesisClass)
    if not entry.from_file:
        assert tuple(field.name.upper() for field in fields(made)) == entry.parameters


def test_every_class_is_written_with_its_parameters() -> None:
    assert CLASSES["stumps"].written == "stumps:FEATURES:BUCKETS"
    assert all_written().split(", ") == [entry.written for entry in CLASSES.values()]


@every_entry
def test_every_class_is_in_the_tests_that_all_classes_pass(entry: Entry) -> None:
    case = CASES[entry.name]
    # a class with a kind of its own has laws of its own, as nothing selects among its rules
    own = any(entry.name in kind.classes for kind in KINDS.values())
    assert bool(case.small) != own
    assert case.streams
    assert bool(case.laws) != own
    assert (case.suite is None) == own
    assert entry.from_file or case.named
    module, _, name = entry.made_by.partition(":")
    kind = getattr(import_module(module), name)
    made = [
        *([] if case.suite is None else [case.suite]),
        *(small.hypotheses for small in case.small),
        *(hypotheses for hypotheses, _ in case.streams.values()),
        *(law.hypotheses for law in case.laws),
        *case.named.values(),
    ]
    assert all(type(hypotheses) is kind for hypotheses in made)
