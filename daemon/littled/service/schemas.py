"""JSON Schemas (2020-12) of what the program writes and reads, made of the types that it uses.

Maps that are read strictly have no other keys than their schema says. What a daemon tells may have
further ones in later versions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from littled.service.http_routes import SCHEMAS
from littled_protocol.facts import PointsQuestion, ValuesQuestion
from littled_protocol.rules.kinds import KINDS

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_STRICT_MODULES: Final = ("littled_protocol.rules.fields", "littled_protocol.encodings.fields")
_STRICT_TYPES: Final = (ValuesQuestion, PointsQuestion)
_RULES: Final = [kind.fields.__name__ for kind in KINDS.values()]
_COLUMNS: Final = ("Number", "Category", "Time", "Id", "Address")
_NAMES: Final = {
    **{name: name.replace("Fields", "Rule") for name in _RULES},
    **{f"{name}Fields": f"{name}Column" for name in _COLUMNS},
    "WordsFacts": "StatusWords",
}


class _Generator(GenerateJsonSchema):
    """Closes the maps that are read strictly, and leaves titles out that only repeat names."""

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> dict[str, Any]:
        """A map with known keys."""
        made = super().typed_dict_schema(schema)
        cls: Any = schema.get("cls")
        if cls in _STRICT_TYPES or cls.__module__ in _STRICT_MODULES:
            made["additionalProperties"] = False
        return made

    def field_title_should_be_set(self, schema: Any) -> bool:
        """No titles of fields."""
        return False


def schemas_of(types: Mapping[str, Any], place: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a schema for each of these types, and by name the definitions that they refer to.

    place: where the definitions will be, "#/$defs/".
    """
    adapters = [(name, "serialization", TypeAdapter(each)) for name, each in types.items()]
    made, rest = TypeAdapter.json_schemas(
        adapters,  # type: ignore[arg-type]
        ref_template=f"{place}{{model}}",
        schema_generator=_Generator,
    )
    found = {name: made[name, "serialization"] for name in types}
    both = json.dumps([found, rest.get("$defs", {})])
    for name in rest.get("$defs", {}):
        new = _NAMES.get(name, name.removesuffix("Facts").removesuffix("Fields").strip("_"))
        for old, given in (
            (f'"{name}": {{', f'"{new}": {{'),
            (f'"{place}{name}"', f'"{place}{new}"'),
            (f'"title": "{name}"', f'"title": "{new}"'),
        ):
            both = both.replace(old, given)
    schemas, definitions = json.loads(both)
    return schemas, definitions


def schema(name: str) -> dict[str, Any]:
    """Return a JSON Schema that stands by itself: of a rule, a release or a status."""
    schemas, definitions = schemas_of({name: SCHEMAS[name]}, "#/$defs/")
    return {"$schema": DIALECT, "title": name, **schemas[name], "$defs": definitions}
