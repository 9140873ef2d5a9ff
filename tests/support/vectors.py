"""Reading the protocol's vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROTOCOL = Path(__file__).parents[2] / "protocol"


def load(name: str) -> dict[str, Any]:
    """Return the contents of one file of vectors."""
    values: dict[str, Any] = json.loads((PROTOCOL / "vectors" / name).read_text(encoding="utf-8"))
    return values


def from_json(value: Any) -> Any:
    """Return a value of the vectors with its binaries: {"hex": digits, "times": repetitions}."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if isinstance(value, dict):
        if "hex" in value:
            return bytes.fromhex(value["hex"]) * value.get("times", 1)
        return {key: from_json(item) for key, item in value.items()}
    return value
