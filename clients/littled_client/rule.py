"""A published rule as a value of its own: it can be kept, sent to other processes, and asked.

rule = Rule.of(client.latest("loans/default"))
rule.predict(frame)          # "yes" and "no", or whatever the labels are called
Rule.from_dict(json.load(file))
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from littled_client.errors import ClientError
from littled_client.published import Published
from littled_client.values import value_points
from littled_protocol import rules
from littled_protocol.columns import Labels
from littled_protocol.rules import Words


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule and what its points and labels stand for. Immutable, and can be pickled.

    It is a fitted classifier for scikit-learn, to be the last step of a pipeline, to be scored, or
    in a `FrozenEstimator`: it has `classes_`, `predict`, and a `fit` that learns nothing.
    """

    rule: rules.Rule
    words: Words = field(default_factory=Words)

    @classmethod
    def of(cls, published: Published) -> Self:
        """Return the rule of a release.

        Raises ClientError if it carries none, or it is not known what the points stand for.
        """
        if published.rule is None:
            raise ClientError(f"release {published.version} of {published.learner} carries no rule")
        if published.words is None:
            raise ClientError(f"it is not known what the points of {published.learner} stand for")
        return cls(published.rule, published.words)

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Return the rule of a JSON object as files, HTTP and `Published.to_dict` have it.

        Raises RuleError for any other, and for one without words, whose meaning is not known.
        """
        if not isinstance(values, dict) or not isinstance(values.get("rule"), dict):
            raise rules.RuleError("a rule needs a JSON object with the keys rule and words")
        if values.get("words") is None:
            raise rules.RuleError("a rule without words is about points of which nothing is known")
        return cls(rules.rule_from_dict(values["rule"]), Words.from_dict(values["words"]))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `from_dict` reads."""
        return {
            "text": self.describe(),
            "words": self.words.to_dict(),
            "rule": self.rule.to_dict(),
        }

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The words for label 0 and label 1, in this order."""
        return np.array([self.words.negative, self.words.positive])

    def labels(self, values: Any) -> Labels:
        """Return labels 0 and 1, uint8 (n,), of n values.

        values: as `predict` takes. Raises ExampleError for a value that is none of the stream's.
        """
        return self.rule.evaluate(value_points(self.rule.x_type, self.words, values))

    def predict(self, values: Any) -> NDArray[np.str_]:
        """Return the words for the labels of n values, (n,).

        values: a table with the rule's columns (a frame of pandas, polars or Arrow, a dict of
        columns, rows that are dicts), or values in the stream's units where it has no columns.
        Raises ExampleError for a value that is none of the stream's.
        """
        return self.classes_[self.labels(values)]

    def explain(self, values: Any) -> list[rules.Explanation]:
        """Return why each of n values has its label: a scorecard's points, column by column.

        values: as `predict` takes. Raises ExampleError for a value that is none of the stream's,
        RuleError for a rule that is no scorecard.
        """
        return self.rule.explain(value_points(self.rule.x_type, self.words, values), self.words)

    def describe(self) -> str:
        """Return the rule in a sentence, in its own words."""
        return self.rule.describe(self.words)

    def __str__(self) -> str:
        """Return the sentence."""
        return self.describe()

    def fit(self, values: Any, labels: Any = None) -> Self:
        """Return the rule itself, which learns nothing: it is frozen."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Return that it can predict."""
        return True

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn asks of it: a classifier for two labels."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags  # noqa: PLC0415

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=False),
            classifier_tags=ClassifierTags(multi_class=False),
            input_tags=InputTags(),
            requires_fit=False,
        )
