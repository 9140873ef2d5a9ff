"""`littled systemd print` prints the units that are shipped, byte for byte."""

from __future__ import annotations

from importlib.resources import files

import pytest
from click.testing import CliRunner

from littled.cli.entry import group
from littled.cli.units import UNITS


def test_all_units_that_are_shipped_can_be_printed() -> None:
    assert sorted(UNITS) == sorted(
        one.name for one in files("littled").joinpath("systemd").iterdir()
    )


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_is_printed(unit: str) -> None:
    printed = CliRunner().invoke(group, ["systemd", "print", unit])
    assert printed.exit_code == 0
    assert printed.stdout == files("littled").joinpath("systemd", unit).read_text()


def test_another_unit_is_refused() -> None:
    refused = CliRunner().invoke(group, ["systemd", "print", "none.service"])
    assert refused.exit_code == 2
    assert "'none.service' is not one of 'littled.service'" in refused.output
