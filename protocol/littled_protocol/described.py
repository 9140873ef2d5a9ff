"""What JSON Schemas say of fields besides their types: sentences, and narrower sets of values."""

from typing import Annotated, Any


class Says:
    """What a schema says of a field besides its type: a sentence, and keywords of JSON Schema."""

    def __init__(self, sentence: str = "", /, **keywords: Any) -> None:
        """Keep them; the sentence becomes the description."""
        self.keywords = {**({"description": sentence} if sentence else {}), **keywords}

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Add them to the schema of a type; called by what makes schemas."""
        return {**handler(schema), **self.keywords}


Hexadecimal = Annotated[str, Says(pattern="^[0-9a-f]*$")]
"""Small hexadecimal digits."""
Bytes = Annotated[str, Says(pattern="^([0-9a-f]{2})*$")]
"""Bytes, two small hexadecimal digits each."""
Count = Annotated[int, Says(minimum=0)]
"""An integer from 0 on."""


def keys_of(fields: Any) -> tuple[str, ...]:
    """Return the keys of a type of maps in their order, without `kind`, which is read first."""
    return tuple(key for key in fields.__annotations__ if key != "kind")
