"""The measurement of stores in PostgreSQL runs and says what it promises, without standbys."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.databases import NO_POSTGRESQL, postgres
from support.postgres import SETTINGS, url_of


@pytest.mark.long
def test_a_store_is_measured_beside_bare_commits_and_a_folder() -> None:
    with postgres(*SETTINGS) as server:
        if server is None:
            pytest.skip(NO_POSTGRESQL)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "benchmarks.postgres", "--url", url_of(server, "public")),
                *("--examples", "20000", "--singles", "5", "--commits", "4"),
            ],
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 7
    for line in lines[:3]:
        assert line["ratio"] > 0
        assert line["bare_examples_per_second"] > 0
    for line in lines[3:]:
        assert line["examples_per_second"] > 0
        assert line["folder_examples_per_second"] > 0
