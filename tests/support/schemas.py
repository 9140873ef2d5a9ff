"""JSON Schemas as tests hold answers against them: closed, so that no further key passes."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

from littled.service.schemas import schemas_of


def closed(schema: Any) -> Any:
    """The same schema, whose maps have no keys but those that it names."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if isinstance(made.get("properties"), dict) and made.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


def validator(kind: Any) -> Draft202012Validator:
    """What checks values of a type."""
    schemas, definitions = schemas_of({"it": kind}, "#/$defs/")
    return Draft202012Validator(closed({**schemas["it"], "$defs": definitions}))
