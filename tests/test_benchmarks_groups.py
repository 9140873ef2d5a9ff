"""The benchmark of groups, on a small one."""

from pathlib import Path

import pytest

from benchmarks.groups import STAGES, group_at, measured
from support.databases import NO_POSTGRESQL, postgres
from support.etcd import etcd_cluster
from support.groups import database_url
from support.postgres import SETTINGS
from support.servers import needs

pytestmark = needs("etcd")


def test_streams_are_fed_once_the_lease_has_ended_and_another_member_serves_them(
    tmp_path: Path,
) -> None:
    with postgres(*SETTINGS) as server, etcd_cluster(tmp_path / "etcd", 1) as cluster:
        if server is None:
            pytest.skip(NO_POSTGRESQL)
        with group_at(cluster.url("bench"), database_url(server), 6, 2, 2) as group:
            found = measured(group, 1)
        seconds = [found[stage] for stage in STAGES]
        assert seconds == sorted(seconds)
        assert seconds[0] > 0
        assert 0 < found["lease_share"] <= 1
