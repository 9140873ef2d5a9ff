"""Published rules as values: evaluated, said in words, written as a map, JSON and SQL; no daemon.

A rule maps points to labels. It is public, so everybody evaluates it locally, on whole columns:

    rule = rule_from_dict(release.rule)
    labels = rule.evaluate(points)          # uint8 (n,)
    words = Words("departure delay", "min", offset=-30, positive="late", negative="not late")
    print(rule.describe(words), rule.to_sql(words, "dep_delay"))

Points have the shape and dtype of the rule's `x_type` (see `columns`); other arrays of integers are
converted when every value fits. What a rule or its map cannot be raises RuleError, one sentence.
"""

from littled_protocol.encodings import Dialect
from littled_protocol.rules.affine import AffineRule
from littled_protocol.rules.base import PLAIN, Rule, RuleError, Words
from littled_protocol.rules.conjunctions import ConjunctionRule
from littled_protocol.rules.explanations import Explanation
from littled_protocol.rules.functions import DIALECTS, sql_function
from littled_protocol.rules.kinds import MajorityRule, rule_from_dict
from littled_protocol.rules.least import AtLeastRule
from littled_protocol.rules.points import PointsRule
from littled_protocol.rules.prefix_sets import PrefixSetRule
from littled_protocol.rules.prefixes import PrefixRule
from littled_protocol.rules.scorecards import ScorecardRule
from littled_protocol.rules.sequences import SequenceRule
from littled_protocol.rules.strings import StringRule
from littled_protocol.rules.stumps import StumpRule
from littled_protocol.rules.tables import TableRule
from littled_protocol.rules.thresholds import ThresholdRule

__all__ = [
    "DIALECTS",
    "PLAIN",
    "AffineRule",
    "AtLeastRule",
    "ConjunctionRule",
    "Dialect",
    "Explanation",
    "MajorityRule",
    "PointsRule",
    "PrefixRule",
    "PrefixSetRule",
    "Rule",
    "RuleError",
    "ScorecardRule",
    "SequenceRule",
    "StringRule",
    "StumpRule",
    "TableRule",
    "ThresholdRule",
    "Words",
    "rule_from_dict",
    "sql_function",
]
