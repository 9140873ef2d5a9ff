"""The estimator in the hands of scikit-learn, and of people who would spend its budget twice."""

import copy
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from littled import Ledger, LedgerExceeded, PrivateOnlineClassifier
from littled_client import Rule

COLUMNS = {
    "income": {"kind": "number", "from": 0, "to": 200_000, "steps": 64, "unit": "EUR"},
    "grade": {"kind": "category", "values": ["A", "B", "C", "D"]},
}
RNG = np.random.default_rng(7)
INCOMES = RNG.integers(0, 200_000, 4000)
GRADES = RNG.choice(["A", "B", "C", "D"], 4000)
PAID = np.where(INCOMES >= 50_000, "yes", "no")
FRAME = pd.DataFrame({"income": INCOMES, "grade": GRADES})


# Public data, so that every check may train anew; noise that can be seen again.
PUBLIC = [
    PrivateOnlineClassifier(budget="each", random_state=0, horizon=10_000, steps=16),
    PrivateOnlineClassifier(rules="stumps", budget="each", random_state=0, horizon=1000, steps=16),
]


@parametrize_with_checks(PUBLIC)  # type: ignore[untyped-decorator]
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_it_is_an_estimator_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def model(**settings: Any) -> PrivateOnlineClassifier:
    return PrivateOnlineClassifier(
        **{"columns": COLUMNS, "horizon": 10_000, "random_state": 3, **settings}
    )


def test_a_rule_is_learned_in_its_own_words() -> None:
    learned = model(rules="stumps").fit(FRAME, PAID)
    assert learned.rule_.describe().startswith("yes if income >= 5")
    assert (learned.predict(FRAME) == PAID).mean() > 0.97
    assert learned.classes_.tolist() == ["no", "yes"]
    assert "prepaid_selection" in {charge["type"] for charge in learned.charges_}


def test_columns_or_a_class_need_no_name() -> None:
    settings: dict[str, Any] = {"horizon": 10_000, "random_state": 3}
    by_name = model().fit(FRAME, PAID).rule_
    assert PrivateOnlineClassifier(COLUMNS, **settings).fit(FRAME, PAID).rule_ == by_name
    stump = PrivateOnlineClassifier("stumps", columns=COLUMNS, **settings).fit(FRAME, PAID)
    assert stump.rule_ == model(rules="stumps").fit(FRAME, PAID).rule_
    with pytest.raises(ValueError, match=r"^columns are given twice"):
        PrivateOnlineClassifier(COLUMNS, columns=COLUMNS).fit(FRAME, PAID)


def test_points_of_columns_are_learned_and_explained() -> None:
    learned = model().fit(FRAME, PAID)
    assert re.match(r"yes if points are above .* if income >= ", learned.rule_.describe())
    assert (learned.predict(FRAME) == PAID).mean() > 0.95
    (found,) = learned.rule_.explain(FRAME[:1])
    assert found.word == learned.predict(FRAME[:1])[0]
    assert found.shares[0].column == "income"
    assert learned.classes_.tolist() == ["no", "yes"]
    assert "prepaid_selection" in {charge["type"] for charge in learned.charges_}


@pytest.mark.parametrize(
    "table",
    [
        FRAME,
        pl.DataFrame({"income": INCOMES, "grade": GRADES}),
        {"income": INCOMES, "grade": GRADES},
        FRAME.to_dict("records"),
    ],
    ids=["pandas", "polars", "columns", "rows"],
)
def test_every_kind_of_table_has_one_meaning(table: Any) -> None:
    learned = model().fit(table, PAID)
    assert learned.rule_ == model().fit(FRAME, PAID).rule_
    assert (learned.predict(table) == learned.predict(FRAME)).all()


def test_parts_and_single_rows_are_one_training() -> None:
    learned = model(classes=["no", "yes"])
    for row, label in zip(FRAME.to_dict("records")[:300], PAID[:300], strict=True):
        assert learned.predict_one(row) in (None, "no", "yes")
        learned.learn_one(row, label)
    learned.partial_fit(FRAME[300:], PAID[300:])
    assert learned.predict_one({"income": 150_000, "grade": "A"}) == "yes"
    assert learned.predict_one({"income": 10_000, "grade": "A"}) == "no"
    assert len(learned._account().charges) == 1


def test_numbers_without_columns_are_cut_at_public_bounds() -> None:
    cancer = load_breast_cancer(as_frame=True)
    # public ranges, as a textbook has them
    high = cancer.data.max().to_numpy() * 1.5
    learned = PrivateOnlineClassifier(bounds=(0.0, high), horizon=10_000, random_state=1)
    for _ in range(1):
        learned.fit(pd.concat([cancer.data] * 8), np.tile(cancer.target, 8))
    assert (learned.predict(cancer.data) == cancer.target).mean() > 0.8
    name = learned.rule_.describe()
    assert any(column in name for column in cancer.data.columns)


@pytest.mark.long
def test_single_rows_of_numbers_have_names() -> None:
    learned = PrivateOnlineClassifier(bounds=(0, 10), horizon=2000, random_state=0)
    for x in RNG.integers(0, 10, 1500).tolist():
        learned.learn_one({"load": x, "heat": 3.0}, x >= 5)
    assert "load" in learned.rule_.describe()
    assert learned.predict_one({"load": 9.0, "heat": 3.0}) is True


# -- budgets ---------------------------------------------------------------------------------------


def test_what_was_trained_once_is_not_trained_again() -> None:
    learned = model().fit(FRAME, PAID)
    rule = learned.rule_
    for again in (learned, clone(learned), copy.deepcopy(learned), copy.copy(learned)):
        with pytest.raises(
            LedgerExceeded, match='ledger of what all of them may spend, or budget="each"'
        ):
            again.fit(FRAME, PAID)
    assert learned.rule_ == rule


def test_cross_validation_needs_a_ledger_for_all_its_trainings() -> None:
    first = model()
    with pytest.raises(LedgerExceeded):
        cross_val_score(first, FRAME, PAID, cv=3, error_score="raise")
    ledger = Ledger(3, 3e-6)
    scores = cross_val_score(model(ledger=ledger), FRAME, PAID, cv=3, error_score="raise")
    assert scores.mean() > 0.9
    assert len(ledger.charges) == 3
    with pytest.raises(LedgerExceeded):
        model(ledger=ledger).fit(FRAME, PAID)


def test_public_data_may_be_trained_on_as_often_as_one_likes() -> None:
    scores = cross_val_score(model(budget="each"), FRAME, PAID, cv=3, error_score="raise")
    assert scores.mean() > 0.9


def test_a_training_that_is_refused_leaves_nothing_behind() -> None:
    poor = model(ledger=Ledger(Fraction(1, 2), 0.5))
    with pytest.raises(LedgerExceeded, match="costs epsilon 1 and delta 1e-06"):
        poor.fit(FRAME, PAID)
    with pytest.raises(NotFittedError):
        poor.predict(FRAME)
    assert poor.ledger is not None
    assert poor.ledger.charges == ()


@pytest.mark.parametrize(
    ("table", "labels", "said"),
    [
        (FRAME[["grade"]], PAID, "no column 'income'"),
        (FRAME.assign(income="many"), PAID, "row 1: column 'income'"),
        (FRAME, np.where(INCOMES > 1000, PAID, "maybe"), "Only binary classification"),
        (FRAME, PAID[1:], "same length"),
    ],
)
def test_what_does_not_fit_costs_nothing(table: Any, labels: NDArray[Any], said: str) -> None:
    ledger = Ledger(1, 1e-6)
    with pytest.raises(ValueError, match=said):
        model(ledger=ledger).fit(table, labels)
    assert ledger.charges == ()


def test_a_pickled_training_would_be_a_second_one() -> None:
    learned = model().fit(FRAME, PAID)
    for held in (learned, clone(learned), model(ledger=Ledger(1, 1e-6))):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(held)
    rule = pickle.loads(pickle.dumps(learned.rule_))  # noqa: S301 - our own
    assert isinstance(rule, Rule)
    assert (rule.predict(FRAME) == learned.predict(FRAME)).all()


def test_a_public_classifier_predicts_after_it_was_pickled() -> None:
    learned = model(budget="each").fit(FRAME, PAID)
    again = pickle.loads(pickle.dumps(learned))  # noqa: S301 - our own
    assert (again.predict(FRAME) == learned.predict(FRAME)).all()
    assert again.rule_ == learned.rule_
    for learn in (again.partial_fit, lambda *rows: again.learn_one({}, True)):
        with pytest.raises(ValueError, match="begin another one with fit"):
            learn(FRAME, PAID)
    with pytest.raises(NotFittedError):
        assert not again.charges_
    assert again.fit(FRAME, PAID).charges_


def kind_of(table: Any = FRAME, **settings: Any) -> str:
    learned = model(**settings).fit(table, PAID[: len(table)])
    return str(learned.rule_.rule.kind)


def test_a_class_is_chosen_for_the_columns() -> None:
    assert kind_of() == "scorecard"
    assert kind_of(rules="stumps") == "stump"
    # what scorecards have no use for, and what is too little for them
    assert kind_of(noise_rate=0.1) == kind_of(selection="capped") == "stump"
    assert kind_of(FRAME[:400], horizon=1000) == kind_of(epsilon=0.001) == "stump"
    income = {"income": COLUMNS["income"]}
    assert kind_of(FRAME[["income"]], columns=income) == "threshold"
    hosts = pd.DataFrame({"host": [f"10.0.{n % 7}.1" for n in range(500)]})
    by_host = {"host": {"kind": "address"}}
    assert kind_of(hosts, columns=by_host) == "prefix_set"
    assert kind_of(hosts, columns=by_host, horizon=1_000) == "prefix"


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"noise_rate": 0.1}, "a scorecard does not need"), ({"selection": "capped"}, "selection")],
)
def test_scorecards_are_told_nothing(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        model(rules="scorecard", **settings).fit(FRAME, PAID)
    learned = model(rules="scorecard", adversary="adaptive").fit(FRAME, PAID)
    assert learned.rule_ == model().fit(FRAME, PAID).rule_


def test_settings_that_make_no_sense_are_said() -> None:
    with pytest.raises(ValueError, match='budget must be "shared" or "each"'):
        model(budget="none").fit(FRAME, PAID)
    with pytest.raises(ValueError, match="epsilon"):
        model(epsilon=0).fit(FRAME, PAID)
    with pytest.raises(ValueError, match="columns needs tables by the names of columns"):
        model(columns=["income"]).fit(FRAME, PAID)
    for settings, labels in (({}, []), ({"classes": ["yes"]}, PAID)):
        with pytest.raises(ValueError, match="classes needs two different labels"):
            model(**settings).fit(FRAME[: len(labels)], labels)
    ledger = Ledger(1, 0.5)
    with pytest.raises(ValueError, match="a seed is an integer"):
        model(random_state=1.5, ledger=ledger).fit(FRAME, PAID)
    assert ledger.charges == ()
    with pytest.raises(ValueError, match="first call to partial_fit"):
        model().partial_fit(FRAME, PAID)


def test_it_is_a_step_of_a_pipeline() -> None:
    steps = make_pipeline(FunctionTransformer(), model())
    assert steps.fit(FRAME, PAID).score(FRAME, PAID) > 0.97


def test_threads_do_not_spend_a_ledger_twice() -> None:
    ledger = Ledger(2, 2e-6)

    def train(number: int) -> bool:
        try:
            model(ledger=ledger, random_state=number).fit(FRAME, PAID)
        except LedgerExceeded:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(train, range(6))) == 2


PAGE = Path(__file__).parents[3] / "docs/python.md"


def test_the_page_runs_as_it_is_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 7
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    (quoted,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert quoted in printed
    assert re.search(r"yes if points are above [0-9]+: up to \+[0-9]+ if income ", printed)
    assert re.search(r"\n +\+[0-9]+  income >= 18750 EUR and income < 21875 EUR\n", printed)
    assert "late if delay >= 23 min ['on time' 'late']" in printed
    assert re.search(r"after [0-9]+ examples it asks for PrepaidSelection", printed)
    assert re.search(r"^1 if x >= [0-9]+$", printed, re.MULTILINE)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "Bounds(lower=2, upper=2)\npoint 1 = 0\n" in printed
