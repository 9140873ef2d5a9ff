"""What a commit takes of those who feed at full speed, and when, on a clock that tests move."""

import time

import pytest

from littled.limits import (
    COMMIT_BYTES_MAX,
    HURRIED_BYTES_MAX,
    HURRIED_PENDING_BYTES_MAX,
    HURRIED_REST_SECONDS_MAX,
    HURRIED_REST_SECONDS_MIN,
    HURRIED_REST_TIMES,
    HURRIED_SECONDS,
    STREAM_PENDING_BYTES_MAX,
)
from littled.service.pace import Pace


class Machine:
    """A clock, and what the loop has worked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Begin some time after the start."""
        self.now, self.worked = 100.0, 7.0
        monkeypatch.setattr(time, "clock_gettime", lambda _: self.worked)
        self.pace = Pace(lambda: self.now)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_alone_they_take_all_they_can(machine: Machine) -> None:
    pace = machine.pace
    for _ in range(3):
        assert pace.room_bytes == COMMIT_BYTES_MAX
        assert pace.pending_bytes_max == STREAM_PENDING_BYTES_MAX
        pace.begin_rest()
        assert not pace.rests


def test_beside_who_waits_a_rest_follows_each_short_commit(machine: Machine) -> None:
    pace = machine.pace
    pace.hurry()
    assert pace.pending_bytes_max == HURRIED_PENDING_BYTES_MAX
    for _ in range(3):
        assert pace.room_bytes == HURRIED_BYTES_MAX
        pace.begin_rest()
        assert pace.rests
        assert pace.room_bytes == 0
        assert pace.rest_ends == pytest.approx(machine.now + HURRIED_REST_SECONDS_MIN)
        machine.now = pace.rest_ends
        assert not pace.rests


def test_who_waits_no_more_is_forgotten(machine: Machine) -> None:
    pace = machine.pace
    pace.hurry()
    machine.now += HURRIED_SECONDS - 1e-6
    pace.begin_rest()
    assert pace.rests
    assert pace.rest_ends == pytest.approx(machine.now + 1e-6)
    machine.now = pace.rest_ends
    assert not pace.rests
    assert pace.room_bytes == COMMIT_BYTES_MAX
    assert pace.pending_bytes_max == STREAM_PENDING_BYTES_MAX


@pytest.mark.parametrize("worked", [0.0, 0.001, 0.003, 0.006, 4.0])
def test_more_work_on_the_loop_means_a_longer_rest(machine: Machine, worked: float) -> None:
    pace = machine.pace
    pace.hurry()
    for _ in range(2):  # what was worked before the last one does not count again
        machine.worked += worked
        pace.begin_rest()
        rest = pace.rest_ends - machine.now
        least, most = HURRIED_REST_SECONDS_MIN, HURRIED_REST_SECONDS_MAX
        assert rest == pytest.approx(min(max(HURRIED_REST_TIMES * worked, least), most))
        machine.now = pace.rest_ends
