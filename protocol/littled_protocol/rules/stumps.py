"""Stumps: one feature of a row against a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol import limits
from littled_protocol.columns import Points
from littled_protocol.encodings import Reading
from littled_protocol.rules.base import ALWAYS, NEVER, SQL_NEVER, Parts, Rule, RuleError, Words
from littled_protocol.rules.fields import StumpFields
from littled_protocol.rules.writing import identifier, integer, sql_always


@dataclass(frozen=True, slots=True)
class StumpRule(Rule):
    """1 iff x[feature] >= threshold, or < threshold where `at_least` is false.

    Points are rows of `features` numbers 0..buckets-1; features count from 0. threshold:
    1..buckets-1, or 0, with feature 0, for the rule that is always 1 (`at_least`) or always 0.
    """

    kind: ClassVar[str] = "stump"
    features: int
    buckets: int
    feature: int
    threshold: int
    at_least: bool

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        integer(self.features, 2, limits.row_features_max, "features")
        integer(self.buckets, 2, 2**16, "buckets")
        integer(self.feature, 0, self.features - 1, "feature")
        integer(self.threshold, 0, self.buckets - 1, "threshold")
        if type(self.at_least) is not bool:
            raise RuleError("at_least needs true or false")
        if not self.threshold and self.feature:
            raise RuleError("a rule that is always the same needs feature 0 and threshold 0")

    @property
    def x_type(self) -> str:
        """u16x<features>."""
        return f"u16x{self.features}"

    def _condition(self, words: Words) -> str:
        """Return for example "feature 3 of x >= 7"."""
        if not self.threshold:
            return ALWAYS if self.at_least else NEVER
        name = f"feature {self.feature} of {words.x_name}"
        return f"{name} {self._sign} {words.value(self.threshold)}"

    def _sql(self, column: str, offset: int) -> str:
        """Return a comparison of the feature's own column, for example "x_3"."""
        name = f"{column}_{self.feature}" if column else column
        if not self.threshold:
            return sql_always(name) if self.at_least else SQL_NEVER
        return f"({identifier(name)} {self._sign} {self.threshold + offset})"

    def _parts(self, reading: Reading) -> Parts | None:
        feature = reading.features[self.feature]
        above = np.arange(feature.size) >= self.threshold
        return [(feature, above if self.at_least else ~above)]

    @property
    def _sign(self) -> str:
        return ">=" if self.at_least else "<"

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        feature = points[:, self.feature]
        labels: NDArray[np.bool_] = (
            feature >= self.threshold if self.at_least else feature < self.threshold
        )
        return labels

    def _fields(self) -> StumpFields:
        return {
            "kind": "stump",
            "features": self.features,
            "buckets": self.buckets,
            "feature": self.feature,
            "threshold": self.threshold,
            "at_least": self.at_least,
        }

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        return cls(**fields)
