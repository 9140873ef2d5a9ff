"""The benchmark of addresses: its streams, what is best in hindsight, and the command."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from benchmarks import addresses
from benchmarks.addresses import Stream, block_in_hindsight, sets, sets_in_hindsight, table

pytest.importorskip("geoip2fast")
COUNT = 3_000


@pytest.fixture(scope="module")
def small() -> Stream:
    return addresses.stream_of("US", COUNT)


def test_addresses_are_of_the_allocated_space(small: Stream) -> None:
    assert len(small.x) == len(small.y) == COUNT
    assert 0.38 < small.never < 0.45
    first = small.x >> 24
    assert not np.isin(first, [0, 10, 127, *range(224, 256)]).any()
    # 3.0.0.0/8 and 17.0.0.0/8 are two companies'
    assert small.y[(first == 3) | (first == 17)].mean() > 0.7


def test_a_stream_that_moves_is_of_two_countries() -> None:
    before, after = (addresses.stream_of(name, COUNT).y for name in ("CN", "JP"))
    moving, half = addresses.stream_of("CN>JP", COUNT).y, COUNT // 2
    assert (moving[:half] == before[:half]).all()
    assert (moving[half:] == after[half:]).all()


@pytest.mark.long
def test_more_blocks_are_better_in_hindsight_and_one_is_the_best_block(small: Stream) -> None:
    errors = [sets_in_hindsight(small, blocks) for blocks in (1, 2, 8, 64)]
    assert errors == sorted(errors, reverse=True)
    assert abs(errors[0] - block_in_hindsight(small)) < 0.002  # which may be smaller than a /16
    assert errors[-1] < 0.6 * small.never


def test_a_learner_without_noise_to_speak_of_wins_much_back(small: Stream) -> None:
    error = sets(small, Fraction(20), 64)
    assert error is not None
    assert error < 0.8 * small.never


@pytest.mark.long
def test_the_command_prints_a_table_and_renews_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, found = tmp_path / "page.md", tmp_path / "found.json"
    page.write_text("before\n\n<!-- addresses -->\n| old |\n\n## after\n")
    asked = ["--countries", "US", "--addresses", str(COUNT), "--epsilon", "20"]
    addresses.main([*asked, "--no-peers", "--json", str(found), "--page", str(page)])
    rows = json.loads(found.read_text())
    assert page.read_text() == f"before\n\n<!-- addresses -->\n{table(rows)}\n\n## after\n"
    assert table(rows) in capsys.readouterr().out
    assert rows[0]["Hoeffding tree"] is None
