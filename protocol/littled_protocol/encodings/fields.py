"""The keys of columns and readings, as JSON and configurations have them.

What is written has these types and what is read has no other keys; JSON Schemas are made of them.
"""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from littled_protocol import limits
from littled_protocol.described import Says

Name = Annotated[str, Says("of the column", minLength=1)]
Missing = Annotated[
    Literal["refuse", "bucket"],
    Says("what becomes of a value that is missing: an error, or a bucket of its own"),
]

Part = Literal["month", "day", "weekday", "hour", "minute"]

NumberFields = TypedDict(
    "NumberFields",
    {
        "kind": Literal["number"],
        "name": Name,
        "from": NotRequired[Annotated[str, Says("the least number, in decimal digits")]],
        "to": NotRequired[Annotated[str, Says("the greatest number, in decimal digits")]],
        "steps": NotRequired[Annotated[int, Says("buckets from one to the other", minimum=2)]],
        "scale": NotRequired[Literal["linear", "log"]],
        "edges": NotRequired[
            Annotated[list[str], Says("where buckets begin, instead of from, to and steps")]
        ],
        "unit": NotRequired[str],
        "missing": NotRequired[Missing],
        "outside": NotRequired[Literal["clip", "refuse"]],
    },
)
"""A column of numbers."""


class CategoryFields(TypedDict):
    """A column of words."""

    kind: Literal["category"]
    name: Name
    values: Annotated[list[str], Says("the words that have a bucket of their own", minItems=1)]
    other: NotRequired[Annotated[Literal["bucket", "refuse"], Says("what other words are")]]
    missing: NotRequired[Missing]


class TimeFields(TypedDict):
    """A column of times, by their parts."""

    kind: Literal["time"]
    name: Name
    parts: Annotated[
        list[Part],
        Says("what is read of a time", minItems=1),
    ]
    zone: NotRequired[Annotated[str, Says("a time zone such as Europe/Berlin, usually UTC")]]
    missing: NotRequired[Missing]


class IdFields(TypedDict):
    """A column of ids."""

    kind: Literal["id"]
    name: Name
    bits: NotRequired[Annotated[int, Says("of an id, usually 64", minimum=1, maximum=128)]]


class AddressFields(TypedDict):
    """A column of IP addresses."""

    kind: Literal["address"]
    name: Name
    bits: NotRequired[Annotated[Literal[32, 128], Says("32 for IPv4 alone, usually 128")]]


ColumnFields = Annotated[
    NumberFields | CategoryFields | TimeFields | IdFields | AddressFields,
    Says("a column of a table"),
]
Columns = Annotated[list[ColumnFields], Says(minItems=1, maxItems=limits.row_features_max)]


class ReadingFields(TypedDict):
    """Which columns a learner reads, and the form of its points."""

    form: Literal["value", "row", "bits", "cell", "number"]
    columns: Columns


class SchemaFields(TypedDict):
    """The columns of a stream of tables."""

    columns: Columns
    label: Annotated[str, Says("the column with the labels")]
    positive: Annotated[str, Says("the word for the label 1")]
    negative: Annotated[str, Says("the word for the label 0")]
    user: NotRequired[Annotated[str, Says("the column with the users")]]
