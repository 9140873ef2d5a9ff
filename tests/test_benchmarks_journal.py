"""`benchmarks.journal` counts all that a store has on disk, wherever its columns stand."""

import json
from pathlib import Path

import pytest

from benchmarks import journal


@pytest.mark.long
def test_no_example_takes_less_than_its_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal.sizes(tmp_path, 200_000, 1_000)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["batch"], line["point_bytes"]) for line in lines] == [*journal.SIZES]
    assert all(line["bytes_an_example"] >= line["point_bytes"] + 1 for line in lines)
    assert all(
        list(path.glob("columns-*")) for path in (tmp_path / "10000 8", tmp_path / "10000 1")
    )
