"""Columns of tables: how numbers, categories, times, ids and addresses become points of a class.

A column is public: its edges, words and zones are part of a configuration and of every rule that
reads it. None of it may be taken from private data. `littled_client.Encoder` turns values into the
numbers of a row; a `Reading` says which of them make the points of a learner.
"""

from littled_protocol.encodings.base import Column, Dialect, EncodingError, Feature
from littled_protocol.encodings.categories import CategoryColumn, CategoryFeature, spellings
from littled_protocol.encodings.identities import AddressColumn, IdColumn, WideColumn
from littled_protocol.encodings.numbers import NumberColumn
from littled_protocol.encodings.reading import (
    Form,
    Reading,
    Rows,
    column_from_dict,
    flag_masks,
    places_of,
)
from littled_protocol.encodings.schema import TableSchema, chosen_columns
from littled_protocol.encodings.times import PARTS, TimeColumn

__all__ = [
    "PARTS",
    "AddressColumn",
    "CategoryColumn",
    "CategoryFeature",
    "Column",
    "Dialect",
    "EncodingError",
    "Feature",
    "Form",
    "IdColumn",
    "NumberColumn",
    "Reading",
    "Rows",
    "TableSchema",
    "TimeColumn",
    "WideColumn",
    "chosen_columns",
    "column_from_dict",
    "flag_masks",
    "places_of",
    "spellings",
]
