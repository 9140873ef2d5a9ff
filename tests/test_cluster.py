"""A few faults of the campaign `cluster`: real servers, daemons and peers, and what they were told.

PostgreSQL does not run as root: then it is run by the user postgres.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.faults import BY_NAME, FAULTS
from cluster.life import Life, Wrong
from cluster.run import LIFE_FAULTS, clusters, fault_of, live, living
from cluster.servers import Servers
from support.commands import kill_leftovers
from support.databases import NO_POSTGRESQL, server_programs
from support.etcd import Cluster
from support.servers import needs

KEPT: list[int] = json.loads(
    Path(__file__).with_name("cluster").joinpath("failing_seeds.json").read_text()
)
cluster = [*needs("etcd"), pytest.mark.skipif(server_programs() is None, reason=NO_POSTGRESQL)]


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Servers, Cluster]]:
    """Servers that every life leaves as they were, if in other parts."""
    with clusters() as found:
        yield found


# The seeds choose that a wait is cancelled with a warning, and whether failovers follow.
LIVES = {
    "put_off_the_owner": [(1, "put_off_the_owner"), (2, "lose_connections")],
    # A connection may still be lost when the copy is served.
    "serve_an_old_copy": [(116, "lose_connections"), (117, "serve_an_old_copy")],
    "serve_a_copy_of_a_frozen_owner": [(4, "serve_a_copy_of_a_frozen_owner")],
    "cancel_a_wait": [(2, "cancel_a_wait")],
    "show_what_no_standby_has": [(3, "show_what_no_standby_has")],
    "keep_what_no_standby_had": [(seed, "show_what_no_standby_has") for seed in (1, 2, 8, 14)],
}


def marked(value: object) -> object:
    """A case that needs servers."""
    return pytest.param(value, marks=cluster)


@pytest.mark.timeout(115)
@pytest.mark.parametrize("name", [marked(name) for name in LIVES])
def test_a_life_with_faults_keeps_the_promises(
    name: str, running: tuple[Servers, Cluster], capsys: pytest.CaptureFixture[str]
) -> None:
    named = LIVES[name]
    try:
        with living(*running, f"life_{name}") as life:
            live(life, named, print)
    finally:
        kill_leftovers()
    assert f"a life of {len(named)} faults: " in capsys.readouterr().out


@pytest.mark.timeout(115)
@pytest.mark.parametrize("seed", [marked(seed) for seed in KEPT])
def test_faults_that_once_failed_hold(seed: int, running: tuple[Servers, Cluster]) -> None:
    """Each alone: a whole life takes longer than a test may."""
    try:
        with living(*running, f"life_{seed}") as life:
            live(life, [(seed, fault_of(seed))], print)
    finally:
        kill_leftovers()


def test_a_number_is_always_the_same_fault_and_all_faults_come() -> None:
    assert len(BY_NAME) == len(FAULTS)
    assert [fault_of(seed) for seed in range(5)] == [fault_of(seed) for seed in range(5)]
    assert {fault_of(seed) for seed in range(30 * LIFE_FAULTS)} == set(BY_NAME)


def told(folder: Path, **lines: str) -> Life:
    """A life of which nothing is left but what was written down."""
    for name, text in lines.items():
        (folder / name.replace("_", "-")).write_text(text)
    life = object.__new__(Life)
    life.folder = folder
    return life


def test_two_versions_of_one_number_are_wrong(tmp_path: Path) -> None:
    life = told(tmp_path, watch_0="shown 1 aa\nshown 2 bb\n", watch_1="shown 1 aa\nshown 2 b")
    assert life.shown() == {1: b"\xaa", 2: b"\xbb"}
    life = told(tmp_path, watch_1="shown 1 aa\nshown 2 bc\n")
    with pytest.raises(Wrong, match="version 2 was shown in two ways"):
        life.shown()


def test_what_was_acknowledged_is_known_and_never_less(tmp_path: Path) -> None:
    sent = "told 0 0\nsent 0 400\nsent 400 800\nacked 400\ntold 400 0\nsent 400 800\nacked 800\n"
    life = told(tmp_path, feed_tower=sent)
    assert life.ranges("tower") == [(0, 400), (400, 800)]
    life = told(tmp_path, feed_tower=f"{sent}told 400 400\n")
    with pytest.raises(Wrong, match="tower goes on at 400, and was at 800"):
        life.look()


@pytest.mark.parametrize("place", [400, 801])
def test_a_source_goes_on_where_its_examples_are(tmp_path: Path, place: int) -> None:
    """The batch from 400 on had its place in the source with it, and the first one had none."""
    sent = "told 0 0\nsent 0 400\nsent 400 800\nacked 800\ntold 800 "
    assert told(tmp_path, feed_tower=f"{sent}800\n").ranges("tower") == [(0, 400), (400, 800)]
    life = told(tmp_path, feed_tower=f"{sent}{place}\n")
    with pytest.raises(Wrong, match="and its source was at 800"):
        life.look()
