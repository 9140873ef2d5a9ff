"""Questions to the client in JavaScript, answered by Node in a process of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

_ANSWER = Path(__file__).parents[1] / "clients" / "javascript" / "answer.mjs"
_SAFE = 2**53
_WIDE = re.compile(r"[0-9]+n")


def node() -> str:
    """The path of Node; where there is none tests fail in CI, and are skipped elsewhere."""
    found = shutil.which("node")
    if found is None:
        missing = "Node (18 or later) is not installed, and runs the client in JavaScript"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


def answers(questions: list[dict[str, Any]]) -> list[Any]:
    """What `tests/clients/javascript/answer.mjs` answers to each question."""
    done = subprocess.run(
        [node(), str(_ANSWER)],
        input=json.dumps(_written(questions)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    read: list[Any] = _read(json.loads(done.stdout))
    return read


def _written(value: Any) -> Any:
    """JSON's reader in JavaScript keeps 53 bits: larger numbers are texts that end with n."""
    if isinstance(value, dict):
        return {key: _written(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_written(item) for item in value]
    if type(value) is int and value >= _SAFE:
        return f"{value}n"
    return value


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _read(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_read(item) for item in value]
    if isinstance(value, str) and _WIDE.fullmatch(value):
        return int(value[:-1])
    return value
