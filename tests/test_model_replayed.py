"""Ways through the model of owners, store and mark are taken by real stores, step by step."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from model.protocol import Bounds
from model.replaying import BOUNDS, FAILOVERS, Replay, held_up
from support.databases import Postgres
from support.etcd import Cluster, etcd_cluster
from support.postgres import lasting_server
from support.servers import needs

pytestmark = needs("etcd")
WAYS = 6


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with lasting_server() as found:
        yield found


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with etcd_cluster(tmp_path_factory.mktemp("etcd"), count=1) as running:
        yield running


@pytest.mark.parametrize("bounds", [BOUNDS, FAILOVERS], ids=["copies", "failovers"])
@pytest.mark.parametrize("part", range(5))
def test_real_stores_go_the_ways_of_the_model(
    part: int, bounds: Bounds, server: Postgres, etcd: Cluster, tmp_path: Path
) -> None:
    taken = tried = met = 0
    with held_up():
        for way in range(WAYS):
            chance = random.Random(f"{part} {way}")
            name = f"{bounds.faults}_{part}_{way}"
            replay = Replay(server, etcd.url(name), tmp_path, name, bounds)
            taken += len(replay.take(chance))
            tried += replay.tried
            met += sum(any(kind in step for kind in bounds.kinds) for step in replay.way)
    assert taken > 15 * WAYS
    assert tried
    assert met > WAYS / 2
