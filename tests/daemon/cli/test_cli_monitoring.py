"""`littled monitoring` prints the files that are shipped, byte for byte."""

from __future__ import annotations

from importlib.resources import files

import pytest
from click.testing import CliRunner

from littled.cli.entry import group
from littled.cli.monitoring import FILES


@pytest.mark.parametrize("name", FILES)
def test_the_command_prints_each_file(name: str) -> None:
    printed = CliRunner().invoke(group, ["monitoring", name])
    assert printed.exit_code == 0
    assert printed.stdout == files("littled").joinpath("monitoring", FILES[name]).read_text()


def test_another_file_is_refused() -> None:
    refused = CliRunner().invoke(group, ["monitoring", "alert"])
    assert refused.exit_code == 2
    assert "'alert' is not one of 'alerts', 'dashboard', 'prometheus'" in refused.output
