"""The classifier in the hands of River, and of people who would spend its budget twice."""

import copy
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from river import checks, compose, evaluate, metrics
from river.base import Classifier

from littled import Ledger, LedgerExceeded, PrivateRiverClassifier

PAGE = Path(__file__).parents[3] / "docs/python.md"
PUBLIC = next(iter(PrivateRiverClassifier._unit_test_params()))
CHECKS = list(checks.yield_checks(PrivateRiverClassifier(**PUBLIC)))
# They leave features out, and an example without a column is refused.
EXCEPTIONS = {
    "check_emerging_features",
    "check_disappearing_features",
    "check_radically_disappearing_features",
}
COLUMNS = {"load": {"kind": "number", "from": 0, "to": 100, "steps": 64}}
ROWS = [({"load": float(n * 37 % 100)}, n * 37 % 100 >= 40) for n in range(2000)]


def model(**settings: Any) -> PrivateRiverClassifier:
    return PrivateRiverClassifier(
        **{"rules": "thresholds", "columns": COLUMNS, "horizon": 5000, "seed": 1, **settings}
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "check", [one for one in CHECKS if one.__name__ not in EXCEPTIONS],
    ids=lambda check: check.__name__,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
def test_it_is_an_estimator_of_river(check: Any) -> None:
    check(PrivateRiverClassifier(**PUBLIC).clone())


def test_exceptions_are_those_that_are_written_down() -> None:
    assert PrivateRiverClassifier(**PUBLIC)._unit_test_skips() == EXCEPTIONS
    section = PAGE.read_text(encoding="utf-8").partition("### With River")[2]
    assert set(re.findall(r"`(check_\w+_features)`", section.partition("## ")[0])) == EXCEPTIONS
    assert {check.__name__ for check in CHECKS} >= EXCEPTIONS


@pytest.mark.parametrize(
    "check", [one for one in CHECKS if one.__name__ in EXCEPTIONS],
    ids=lambda check: check.__name__,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
def test_what_is_excepted_is_refused(check: Any) -> None:
    with pytest.raises((ValueError, KeyError)):
        check(PrivateRiverClassifier(**PUBLIC).clone())


@pytest.mark.long
def test_it_is_evaluated_as_a_stream_goes() -> None:
    learned = model()
    assert isinstance(learned, Classifier)
    found = evaluate.progressive_val_score(ROWS, learned, metrics.Accuracy())
    assert found.get() > 0.9
    assert learned.rule.describe().startswith("True if load >= ")
    assert learned.predict_one({"load": 90.0}) is True
    assert len(learned.ledger.charges) == 1


@pytest.mark.long
def test_words_for_labels_and_a_pipeline() -> None:
    learned = model(classes=["calm", "storm"])
    steps = compose.Select("load") | learned
    for x, y in ROWS:
        steps.learn_one({**x, "other": 3}, "storm" if y else "calm")
    assert steps.predict_one({"load": 90.0, "other": 3}) == "storm"
    assert steps.predict_one({"load": 5.0, "other": 3}) == "calm"


def test_clones_and_copies_spend_one_budget() -> None:
    learned = model()
    learned.learn_one(*ROWS[0])
    for again in (
        learned.clone(),
        learned.clone({"epsilon": 0.5}),
        learned.clone(include_attributes=True),
        copy.deepcopy(learned),
        copy.deepcopy(learned).clone(),
    ):
        with pytest.raises(LedgerExceeded):
            again.learn_one(*ROWS[1])
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(learned)


def test_a_ledger_for_two_pays_for_two() -> None:
    ledger = Ledger(2, 2e-6)
    first = model(ledger=ledger)
    second = first.clone()
    for one in (first, second):
        one.learn_one(*ROWS[0])
    with pytest.raises(LedgerExceeded):
        second.clone().learn_one(*ROWS[0])
    assert len(ledger.charges) == 2


def test_public_data_is_learned_by_each_clone() -> None:
    first = model(budget="each")
    assert first.ledger is None
    for one in (first, first.clone(), first.clone()):
        one.learn_one(*ROWS[0])


def test_river_is_asked_for_where_it_is_used_only() -> None:
    code = "import sys; sys.modules['river'] = None; import littled\n"
    code += "try: littled.PrivateRiverClassifier\nexcept ImportError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "PrivateRiverClassifier needs River; install it with: pip install 'littled[river]'\n"
    )
