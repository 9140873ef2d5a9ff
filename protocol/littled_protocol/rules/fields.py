"""The fields of rules as JSON has them, by kind: what is written, read and described to others.

Each kind of rule writes the fields of its type and reads no other ones. JSON Schemas are made of
these types (`littled_protocol.described`).
"""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from littled_protocol import limits
from littled_protocol.described import Bytes, Count, Hexadecimal, Says
from littled_protocol.encodings.fields import ReadingFields

Number = Annotated[
    int | Annotated[str, Says(pattern="^[0-9a-f]{1,32}$")],
    Says("an integer; of more than 32 bits hexadecimal digits"),
]
Bits = Annotated[int, Says("bits of a point", minimum=1, maximum=128)]
_Points = Annotated[int, Says(minimum=-(10**6), maximum=10**6)]


class ThresholdFields(TypedDict):
    """1 iff x >= threshold."""

    kind: Literal["threshold"]
    size: Annotated[int, Says("points are 0 to size - 1", minimum=1, maximum=2**32)]
    threshold: Annotated[int, Says("0 for always, size for never", minimum=0, maximum=2**32)]


class PointsFields(TypedDict):
    """1 iff x is one of the members."""

    kind: Literal["points"]
    bits: Bits
    members: Annotated[list[Number], Says(maxItems=limits.rule_members_max)]


class PrefixFields(TypedDict):
    """1 iff the first bits of x are those of a block."""

    kind: Literal["prefix"]
    bits: Bits
    value: Number
    length: Annotated[int | None, Says("null for never")]


class TableFields(TypedDict):
    """1 iff a table of bits has a 1 at x."""

    kind: Literal["table"]
    name: Annotated[str, Says("of the rule")]
    digest: Annotated[Hexadecimal, Says("of the table that it is from")]
    size: Annotated[
        int, Says("points are 0 to size - 1", minimum=1, maximum=limits.table_points_max)
    ]
    values: Annotated[Bytes, Says("the labels of all points, eight to a byte")]


class StumpFields(TypedDict):
    """1 iff one feature of a row is at least, or below, a threshold."""

    kind: Literal["stump"]
    features: Annotated[int, Says(minimum=2, maximum=limits.row_features_max)]
    buckets: Annotated[int, Says(minimum=2, maximum=2**16)]
    feature: Annotated[int, Says("from 0 on", minimum=0)]
    threshold: Count
    at_least: Annotated[bool, Says("false: below the threshold")]


class AffineFields(TypedDict):
    """1 iff x is in an affine subspace of bit vectors."""

    kind: Literal["affine"]
    bits: Bits
    basis: Annotated[list[Number], Says(maxItems=128)]
    offset: Annotated[Number | None, Says("null for never")]


class ConjunctionFields(TypedDict):
    """1 iff some bits of x are 1 and some are 0."""

    kind: Literal["conjunction"]
    bits: Bits
    ones: Number
    zeros: Number


class ScorecardFields(TypedDict):
    """1 iff the constant and the points of each column's bucket sum above 0."""

    kind: Literal["scorecard"]
    constant: _Points
    tables: Annotated[
        list[Annotated[list[_Points], Says(minItems=2, maxItems=2**16)]],
        Says("the points of each column's buckets", minItems=1, maxItems=limits.row_features_max),
    ]


class PrefixSetFields(TypedDict):
    """1 iff x is in one of some blocks."""

    kind: Literal["prefix_set"]
    bits: Bits
    prefixes: Annotated[
        list[Annotated[list[Number], Says("a value and a length in bits", minItems=2, maxItems=2)]],
        Says(maxItems=limits.rule_prefixes_max),
    ]


class AtLeastFields(TypedDict):
    """1 iff x is at least a number."""

    kind: Literal["at_least"]
    bits: Bits
    least: Annotated[Number | None, Says("null for never")]


class StringFields(TypedDict):
    """1 iff x is one text or byte string."""

    kind: Literal["string"]
    size: Annotated[int, Says("bytes of a point", minimum=2, maximum=limits.string_bytes_max)]
    value: Annotated[Bytes | None, Says("null for never")]


class SequenceFields(TypedDict):
    """1 iff x is a place of a one-way sequence from an index on whose bit is 1."""

    kind: Literal["sequence"]
    bits: Annotated[int, Says(minimum=1, maximum=128)]
    index: Annotated[Hexadecimal | None, Says("null for never")]
    sigma: Bytes
    label: Annotated[int, Says(minimum=0, maximum=1)]


_Single = (
    ThresholdFields
    | PointsFields
    | PrefixFields
    | TableFields
    | StumpFields
    | AffineFields
    | ConjunctionFields
    | ScorecardFields
    | PrefixSetFields
    | AtLeastFields
    | StringFields
    | SequenceFields
)
SingleRule = Annotated[_Single, Says(discriminator={"propertyName": "kind"})]
"""A rule that is no majority."""


class MajorityFields(TypedDict):
    """1 iff more than half of the members say 1."""

    kind: Literal["majority"]
    members: Annotated[
        list[SingleRule],
        Says("over one type of points", minItems=1, maxItems=limits.majority_members_max),
    ]


RuleFields = Annotated[_Single | MajorityFields, Says(discriminator={"propertyName": "kind"})]
"""A rule of any kind."""


class WordsFields(TypedDict):
    """What points and labels stand for; what is left out is as usual."""

    x_name: NotRequired[Annotated[str, Says("how points are called, usually x")]]
    unit: NotRequired[Annotated[str, Says("of points, usually none")]]
    offset: NotRequired[Annotated[int, Says("added to a point to get a value, usually 0")]]
    positive: NotRequired[Annotated[str, Says("the word for the label 1")]]
    negative: NotRequired[Annotated[str, Says("the word for the label 0")]]
    reading: NotRequired[
        Annotated[ReadingFields | None, Says("the columns that points are made from")]
    ]


class WordsFacts(TypedDict):
    """What points and labels stand for; the columns of a reading are those of the stream."""

    x_name: str
    unit: str
    offset: Annotated[int, Says("added to a point to get a value")]
    positive: str
    negative: str
    form: NotRequired[Literal["value", "row", "bits", "cell", "number"]]
    reads: NotRequired[Annotated[list[str], Says("names of columns")]]
