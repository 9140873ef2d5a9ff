"""What every part prints."""

import json
from typing import Any


def emit(what: str, **figures: Any) -> None:
    """One JSON line."""
    print(json.dumps({"what": what} | figures), flush=True)
