"""Figures in a store: replayed byte for byte, checked against the plan, carried on by a restore."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from littled.cli.replaying import compare_stream
from littled.learners.measured import QualitySettings
from littled.planner import StreamPlan
from littled.store.records import StoredRelease
from littled.store.restoring import Restoring
from littled.store.store import Store
from littled.store.verify import verify
from littled_protocol.figures import Figure, figures_of
from support.predictions import HORIZON, STREAM, Bench, make_store, stream_plan

LATE = f"{STREAM}/late"
FIGURES = figures_of(LATE)
# 3 periods of 100 in a season of 350.
QUALITY = QualitySettings(Fraction(1, 2), 100, 3)


def measured_plan() -> StreamPlan:
    plan = stream_plan()
    late, *others = plan.plans
    own = replace(late, quality=QUALITY)  # type: ignore[call-arg]
    costs = [one.season_cost(STREAM) for one in (own, *others)]
    return replace(plan, plans=(own, *others), caps=sum(costs[1:], costs[0]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_store(tmp_path / "store", measured_plan(), mark_path=tmp_path / "mark")


def open_bench(path: Path) -> Bench:
    return Bench(Store.open(path, mark_path=path.parent / "mark"))


def figures(path: Path) -> list[Figure]:
    with Store.open(path, mark_path=path.parent / "mark") as store:
        return [Figure.from_bytes(one.body) for one in store.releases(FIGURES)]


def fed(path: Path, *counts: int) -> Path:
    bench = open_bench(path)
    for count in counts:
        bench.feed(count)
    bench.close()
    return path


def test_figures_come_at_public_positions_in_every_season(path: Path) -> None:
    fed(path, 99, 1, 130, 300, 220)
    found = figures(path)
    assert [(f.number, f.season, f.first, f.end) for f in found] == [
        (1, 0, 0, 100), (2, 0, 100, 200), (3, 0, 200, 300),
        (4, 1, 350, 450), (5, 1, 450, 550), (6, 1, 550, 650),
    ]  # fmt: skip
    assert verify(path, mark_path=path.parent / "mark").findings == ()


def test_a_replay_comes_to_the_same_figures(path: Path) -> None:
    fed(path, 250)
    bench = open_bench(path)  # which replays from the start, against what is stored
    assert bench.engine.status()["learners"]["late"]["quality"]["number"] == 2
    bench.feed(120)
    bench.close()
    assert len(figures(path)) == 3
    with Store.open(path, mark_path=path.parent / "mark") as store:
        found = compare_stream(store, STREAM)
    assert (found.findings, found.pending) == ((), 0)
    assert found.releases >= 4


def stored(version: int, **changes: Any) -> StoredRelease:
    figure = replace(Figure(version, 0, 200, 300, 2, 2, 7), **changes)
    return StoredRelease(FIGURES, version, figure.to_bytes(), None)


Faulty = Callable[[], StoredRelease]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: stored(3, number=4), "not of a period that the plan has"),
        (lambda: stored(3, season=1), "not of a period that the plan has"),
        (lambda: stored(3, first=201, end=301), "not of a period that the plan has"),
        (lambda: stored(3, end=299), "not of a period that the plan has"),
        (lambda: stored(3, first=300, end=400), "not of a period that the plan has"),
        (lambda: stored(3, right=2), "not of a period that the plan has"),
        (lambda: stored(3, first=100, end=200), "of examples that an earlier one has counted"),
        (lambda: stored(3, first_version=1, last_version=2), "rules that were published before"),
        (lambda: stored(3, last_version=900), "speak of rules that were never published"),
        (lambda: replace(stored(3), body=b"{}"), "is not the value that it should be"),
        (lambda: replace(stored(3), charge=0), "names a charge, though its season has paid"),
    ],
)
def test_a_wrong_figure_is_found(path: Path, wrong: Faulty, sentence: str) -> None:
    bench = open_bench(path)
    bench.feed(299)
    bench.feed(1, learn=False)  # so that its figure is not there yet
    bench.store.publish([wrong()], ())
    bench.close()
    findings = verify(path, mark_path=path.parent / "mark").findings
    assert any(sentence in finding for finding in findings), findings


def test_figures_of_learners_that_are_not_measured_are_found(tmp_path: Path) -> None:
    path = make_store(tmp_path / "plain")
    bench = Bench(Store.open(path))
    bench.feed(320)
    bench.store.publish([StoredRelease(FIGURES, 1, stored(1).body, None)], ())
    bench.close()
    (finding,) = verify(path).findings
    assert finding == f"learner {LATE} has figures, and its plan measures nothing"


def test_a_figure_that_comes_out_otherwise_stops_the_daemon(path: Path) -> None:
    fed(path, 100)
    mark = path.parent / "mark"
    with Store.open(path, mark_path=mark) as store:
        (one,) = store.releases(FIGURES)
        figure = Figure.from_bytes(one.body)
        changed = replace(one, body=replace(figure, wrong=figure.wrong + 1).to_bytes())
        with pytest.raises(Exception, match=rf"replay mismatch: release 1 of {FIGURES}"):
            store.publish([changed], ())


def test_a_restore_goes_on_above_the_figures_that_were_lost(path: Path) -> None:
    mark = path.parent / "mark"
    copy = path.parent / "copy"
    fed(path, 120)
    shutil.copytree(path, copy)
    fed(path, 130, 60)
    assert [f.number for f in figures(path)] == [1, 2, 3]
    with Restoring.open(copy, mark_path=mark) as restoring:
        (lost,) = restoring.lost
        assert (lost.versions[FIGURES], lost.marked.versions[FIGURES]) == (1, 3)
        restoring.finish()
    bench = Bench(Store.open(copy, mark_path=mark))
    bench.feed(100)
    bench.close()
    with Store.open(copy, mark_path=mark) as store:
        found = [Figure.from_bytes(one.body) for one in store.releases(FIGURES)]
        assert compare_stream(store, STREAM).findings == ()
    assert [f.number for f in found] == [1, 4]
    assert found[1].first == found[1].season * HORIZON > 250
    assert verify(copy, mark_path=mark).findings == ()
