"""The private online learner as an estimator of scikit-learn, in this process.

    model = PrivateOnlineClassifier(columns={"income": {"kind": "number", ...}}, epsilon=1.0)
    model.partial_fit(frame, labels, classes=["no", "yes"])
    print(model.rule_)

It runs the engine of the daemon (`littled.engine.Runner`), so a rule is published as a daemon would
publish it. What a process cannot do is keep a budget: see `littled.programs.ledgers.Ledger`.
"""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from littled.configuration import checked_configuration
from littled.engine import PublishedRule, Runner
from littled.planner import StreamPlan, plan_stream
from littled.programs.ledgers import Ledger
from littled.programs.research import key_of
from littled.programs.spending import Spending, spending_of
from littled.written import as_written
from littled_client.encoder import Encoder, columns_of
from littled_client.errors import ExampleError
from littled_client.rule import Rule
from littled_protocol.columns import Labels, Points

STREAM, LEARNER = "stream", "rule"
# Whoever has the labels in the same process can count mistakes without a budget.
QUIET = {"quality": False}
# Classes whose learners keep what they promise whoever chooses the stream.
WITHOUT_ADVERSARY = ("scorecard", "prefix_sets")
Budget = Literal["shared", "each"]


class PrivateOnlineClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A differentially private online classifier for two labels, whose model is a readable rule.

    Guarantee: what is published from a training (`rule_`, `predict`, `charges_`, and when they
    change) is (epsilon, delta)-differentially private for replacing one example, whatever its
    features and label are. Every `horizon` examples a new season with a new budget begins; an
    example is in one season, so this does not add up. Other trainings on the same data do.

    *The budget of a process is not durable.* Clones, copies and repeated calls of `fit` share one
    ledger, which is what the estimator itself may spend once; a training that does not fit is
    refused (LedgerExceeded). But a process that is started again knows nothing of it. Where a
    budget has to hold, feed a daemon.

    rules: the kind of the class, "scorecard", "stumps", "conjunctions", "table:...", "thresholds"
    and others; or columns, without their name. None for what a learner of a configuration without a
    class gets: a scorecard, points for each column that are added up, where there are several
    features and the horizon and the budget suffice; else, and where noise_rate, selection or an
    adaptive adversary is given, the one rule that the planner thinks best for the columns
    (docs/columns.md).
    columns: tables as in a configuration, by name: `{"income": {"kind": "number", "from": 0, ...}}`
    (docs/columns.md). X is then a table with these columns: a frame of pandas, polars or Arrow, a
    dict of columns, or rows that are dicts. Without it X is an array or frame of numbers, each of
    which is put into one of `steps` buckets of equal width between `bounds` (low, high; scalars or
    (n_features,)); what is outside counts as the nearest. **Bounds are public: never take them from
    the data.**
    epsilon, delta, horizon: of a season. noise_rate, adversary, selection: as in a configuration; a
    noise_rate of None tells nothing of the stream, 0.0 that a rule fits it. Scorecards have none of
    them, and protect against every adversary.
    classes: both labels, for `learn_one` and where a first batch has one only; the one that sorts
    last is positive.
    ledger: a `Ledger` that several estimators share. budget: "shared", or "each" where the data is
    public and every training may have a budget of its own.
    random_state: an integer, for noise that can be seen again, and so hides nothing; None for
    secret noise.
    """

    classes_: NDArray[Any]
    n_features_in_: int
    # Of a training: what was planned and is running, and the names of features of single rows.
    _plan: StreamPlan
    _runner: Runner
    _names: list[str] | None
    # The rule of an estimator that was pickled, and what it shares with its clones.
    _last: Rule
    _own: Ledger

    def __init__(
        self,
        rules: str | Mapping[str, Mapping[str, Any]] | None = None,
        *,
        columns: Mapping[str, Mapping[str, Any]] | None = None,
        bounds: tuple[Any, Any] = (-4.0, 4.0),
        steps: int = 64,
        epsilon: float | Fraction = 1.0,
        delta: float | Fraction = 1e-6,
        horizon: int = 1_000_000,
        noise_rate: float | None = None,
        adversary: str = "oblivious",
        selection: str = "auto",
        classes: Sequence[Any] | None = None,
        ledger: Ledger | None = None,
        budget: Budget = "shared",
        random_state: int | None = None,
    ) -> None:
        """Keep the settings; they are looked at when a training begins."""
        self.rules = rules
        self.columns = columns
        self.bounds = bounds
        self.steps = steps
        self.epsilon = epsilon
        self.delta = delta
        self.horizon = horizon
        self.noise_rate = noise_rate
        self.adversary = adversary
        self.selection = selection
        self.classes = classes
        self.ledger = ledger
        self.budget = budget
        self.random_state = random_state

    # -- training ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's name
        """Begin a new training, and learn from n rows and their labels (n,), in their order.

        Raises ValueError for rows or labels that do not fit, LedgerExceeded for a training that
        cannot be paid for; then nothing is learned.
        """
        return self._learn(X, y, self.classes, begin=True)

    def partial_fit(self, X: Any, y: Any, classes: Sequence[Any] | None = None) -> Self:  # noqa: N803
        """Learn from n further rows, in the same training.

        classes: both labels, with the first call. Raises as `fit` does.
        """
        begin = not self.__sklearn_is_fitted__()
        if begin and classes is None and self.classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit")
        return self._learn(X, y, self.classes if classes is None else classes, begin=begin)

    def learn_one(self, x: Mapping[str, Any], y: Any) -> None:
        """Learn from one example, a dict of features; without `classes`, labels are booleans.

        Raises as `fit` does.
        """
        begin = not self.__sklearn_is_fitted__()
        classes = (False, True) if self.classes is None else self.classes
        names = list(x) if begin else self._names
        self._learn(self._row(x, names), [y], classes, begin=begin, names=names)

    def _learn(
        self, table: Any, y: Any, classes: Any, *, begin: bool, names: list[str] | None = None
    ) -> Self:
        """Learn n rows; all are checked, and a new training is paid for, before one is learned."""
        if begin:
            self._names = names
        elif "_runner" not in self.__dict__:
            raise ValueError(
                "a pickle holds the rule and not its training, which cannot go on; begin another "
                "one with fit"
            )
        cells = self._cells(table, reset=begin)
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        known = _two_of(labels, classes) if begin else self.classes_
        if (odd := ~np.isin(labels, known)).any():
            raise ValueError(f"row {int(odd.argmax()) + 1} has a label that is not in classes")
        plan = self._planned(known) if begin else self._plan
        x, encoded = self._encoded(plan, cells, labels == known[-1])
        if begin:
            key = key_of(self.random_state)
            self._pay()
            self.classes_, self._plan = known, plan
            self._runner = Runner(plan, key)
            self.__dict__.pop("_last", None)
        self._runner.learn(x, encoded)
        return self

    def _pay(self) -> None:
        """Charge the ledger with a training."""
        if self.budget not in ("shared", "each"):
            raise ValueError('budget must be "shared" or "each"')
        if self.budget == "shared":
            self._account().spend(as_written(self.epsilon), as_written(self.delta))

    def _account(self) -> Ledger:
        """The ledger that is shared with clones: the one that was given, or its own."""
        if self.ledger is not None:
            return self.ledger
        if "_own" not in self.__dict__:
            self._own = Ledger(self.epsilon, self.delta)
        return self._own

    # -- what was learned --------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Labels of n rows, (n,), by the published rule."""
        check_is_fitted(self)
        labels = self.rule_.labels(self._cells(X, reset=False))
        found: NDArray[Any] = self.classes_[np.minimum(labels, len(self.classes_) - 1)]
        return found

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """The label of one example, a dict of features; None before anything was learned."""
        if not self.__sklearn_is_fitted__():
            return None
        return self.predict(self._row(x, self._names))[0].item()

    @property
    def rule_(self) -> Rule:
        """The rule that is published, with its words."""
        check_is_fitted(self)
        if "_runner" not in self.__dict__:
            return self._last
        return Rule(self._runner.published(LEARNER)[-1].rule, self._plan.plans[0].words)

    @property
    def charges_(self) -> tuple[dict[str, Any], ...]:
        """Everything that was booked in this training, JSON-able, in order."""
        check_is_fitted(self, "_runner")
        return tuple(dict(entry.event) for entry in self._runner.transcript.entries)

    @property
    def releases_(self) -> tuple[PublishedRule, ...]:
        """Everything that was published in this training, the first rule first."""
        check_is_fitted(self, "_runner")
        return self._runner.published(LEARNER)

    @property
    def spending_(self) -> Spending:
        """What of the training's budget was spent at which position."""
        check_is_fitted(self, "_runner")
        return spending_of(self._runner)

    # -- tables ------------------------------------------------------------------------------

    @property
    def _given_columns(self) -> Mapping[str, Mapping[str, Any]] | None:
        """The columns, given by name or in place of a class."""
        return self.rules if isinstance(self.rules, Mapping) else self.columns

    @property
    def _kind(self) -> str | None:
        """The kind of the class; None where none is given."""
        return None if isinstance(self.rules, Mapping) else self.rules

    def _cells(self, table: Any, *, reset: bool) -> Any:
        """A table with the columns, or numbers by the names of their features."""
        if self._given_columns is not None:
            if reset:
                self.n_features_in_ = len(self._given_columns)
            return table
        numbers = validate_data(self, table, reset=reset, dtype=np.float64)
        if reset and self._kind == "stumps" and self.n_features_in_ == 1:
            raise ValueError(
                'rules="stumps" needs at least 2 features, and X has 1 feature(s); take '
                'rules="thresholds"'
            )
        return dict(zip(self._feature_names(), numbers.T, strict=True))

    def _feature_names(self) -> list[str]:
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return self._names or [f"x{number}" for number in range(self.n_features_in_)]

    def _row(self, x: Mapping[str, Any], names: list[str] | None) -> Any:
        """One row as a table."""
        if self._given_columns is not None:
            return [x]
        names = self._feature_names() if names is None else names
        return np.array([[x[name] for name in names]], dtype=np.float64)

    def _encoded(
        self, plan: StreamPlan, cells: Any, positive: NDArray[np.bool_]
    ) -> tuple[Points, Labels]:
        """Points and labels of the stream."""
        schema = plan.schema
        assert schema is not None
        columns = columns_of(cells, schema.names, schema.columns)
        words = np.array([schema.negative, schema.positive])[positive.astype(np.int64)]
        table = {**dict(zip(schema.names, columns, strict=True)), schema.label: words.tolist()}
        try:
            x, y, *_ = Encoder(schema).examples(table)
        except ExampleError as error:
            raise ValueError(str(error)) from None
        return x, y

    def _planned(self, known: NDArray[Any]) -> StreamPlan:
        """The plan of the daemon for a stream of these columns. ConfigurationError, PlanError."""
        given = self._given_columns
        if isinstance(self.rules, Mapping) and self.columns is not None:
            raise ValueError("columns are given twice, once without their name")
        if given is not None and not isinstance(given, Mapping):
            raise ValueError("columns needs tables by the names of columns")
        columns = self._tables() if given is None else dict(given)
        label = "label"
        while label in columns:
            label += "_"
        words = [str(word) for word in known]
        if len(set(words)) < 2 or not all(word and word.isprintable() for word in words):
            words = ["0", "1"]
        stream = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "horizon": self.horizon,
            "label": {"column": label, "negative": words[0], "positive": words[1]},
            "columns": columns,
        }
        raw = {"streams": {STREAM: {**QUIET, **stream, "learners": {LEARNER: self._learner()}}}}
        told = json.loads(json.dumps(raw, default=_plain), parse_float=Decimal)
        return plan_stream(checked_configuration(told, Path()).streams[STREAM].request())

    def _learner(self) -> dict[str, Any]:
        """The learner as a configuration has it: with what was said, and nothing else."""
        said = {"class": self._kind, "noise_rate": self.noise_rate}
        if self.selection != "auto":
            said["selection"] = self.selection
        if (self._kind or "").partition(":")[0] not in WITHOUT_ADVERSARY:
            said["adversary"] = self.adversary
        return {key: value for key, value in said.items() if value is not None}

    def _tables(self) -> dict[str, dict[str, Any]]:
        """Columns of numbers between the bounds."""
        low, high = (np.broadcast_to(bound, self.n_features_in_).tolist() for bound in self.bounds)
        return {
            name: {
                "kind": "number",
                "from": float(low[i]),
                "to": float(high[i]),
                "steps": self.steps,
            }
            for i, name in enumerate(self._feature_names())
        }

    # -- copies ------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a rule."""
        return "_runner" in self.__dict__ or "_last" in self.__dict__

    def __sklearn_clone__(self) -> Self:
        """An estimator with the same settings that spends from the same ledger."""
        clone: Self = super().__sklearn_clone__()
        if self.ledger is None and self.budget != "each":
            clone._own = self._account()
        return clone

    def __copy__(self) -> Self:
        """The same as a clone, which has learned nothing."""
        return self.__sklearn_clone__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """The same as a clone."""
        return self.__sklearn_clone__()

    def __getstate__(self) -> dict[str, Any]:
        """Settings; the rule as well where the data is public. TypeError where it is not."""
        used = self.ledger is not None or "_own" in self.__dict__
        if self.budget != "each" and (used or self.__sklearn_is_fitted__()):
            raise TypeError(
                "a classifier with a budget cannot be pickled, as each copy could be trained; "
                'pickle its rule_, use n_jobs=1, or say budget="each" if the data is public'
            )
        state: dict[str, Any] = {k: v for k, v in super().__getstate__().items() if k != "_runner"}
        if self.__sklearn_is_fitted__():
            state["_last"] = self.rule_
        return state

    def __sklearn_tags__(self) -> Any:
        """Two labels; noise; and a rule that needs more examples than the checks have."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        tags.non_deterministic = self.random_state is None
        return tags


def _two_of(labels: NDArray[Any], classes: Any) -> NDArray[Any]:
    """The classes, sorted: those that were named, or those of the labels; ValueError for three."""
    known = np.unique(labels if classes is None else np.asarray(classes))
    if not len(known) or (classes is not None and len(known) < 2):
        raise ValueError("classes needs two different labels, or y needs rows with both")
    if len(known) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(known)}."
        )
    return known


def _plain(value: Any) -> Any:
    """Numbers of numpy and fractions as JSON has them."""
    if isinstance(value, Fraction):
        return float(value)
    return value.item() if hasattr(value, "item") else list(value)
