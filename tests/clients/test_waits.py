"""Waits and the pauses between tries, with a clock moved by hand."""

import pytest

from littled_client.waits import Retry, Waits

WAITS = Waits(
    connect_seconds=16.0,
    reconnect_seconds=6.0,
    stable_seconds=4.0,
    delay_least_seconds=1.0,
    delay_most_seconds=4.0,
)


def pauses(retry: Retry, now: float) -> list[float]:
    """All pauses until time is up, the clock moved by just these pauses."""
    found = []
    while (pause := retry.pause(now)) is not None:
        found.append(pause)
        now += pause
    return found


def test_pauses_double_up_to_the_most_and_end_at_the_deadline() -> None:
    retry = Retry(WAITS, started=100.0, jitter=lambda: 1.0)
    assert pauses(retry, 100.0) == [1.0, 2.0, 4.0, 4.0, 4.0, 1.0]


def test_jitter_shortens_a_pause_by_at_most_half() -> None:
    assert Retry(WAITS, 0.0, jitter=lambda: 0.0).pause(0.0) == 0.5
    assert 0.5 <= (Retry(WAITS, 0.0).pause(0.0) or 0.0) <= 1.0


def test_no_time_means_no_second_try() -> None:
    assert Retry(Waits(connect_seconds=0.0), 5.0).pause(5.0) is None


def test_the_first_connection_is_worth_coming_back_at_once() -> None:
    retry = Retry(WAITS, 0.0, jitter=lambda: 1.0)
    retry.connected(20.0)
    assert pauses(retry, 20.0) == [0.0, 1.0, 2.0, 3.0]


def test_connections_that_fall_again_and_again_do_not_start_afresh() -> None:
    retry = Retry(WAITS, 0.0, jitter=lambda: 1.0)
    retry.connected(0.0)
    assert retry.pause(0.0) == 0.0
    for now, expected in ((0.0, 1.0), (1.0, 2.0), (3.0, 3.0), (6.0, None)):
        retry.connected(now)
        assert retry.pause(now) == expected


@pytest.mark.parametrize("progress", [True, False])
def test_use_or_age_earns_a_fresh_start(progress: bool) -> None:
    retry = Retry(WAITS, 0.0, jitter=lambda: 1.0)
    retry.connected(0.0)
    assert retry.pause(0.0) == 0.0
    assert retry.pause(0.0) == 1.0
    retry.connected(5.0)
    if progress:
        retry.progressed()
    assert pauses(retry, 5.0 if progress else 9.0) == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"connect_seconds": -1.0},
        {"reconnect_seconds": -0.1},
        {"answer_seconds": 0.0},
        {"idle_seconds": 0.0},
        {"send_seconds": 0.0},
        {"stable_seconds": 0.0},
        {"delay_least_seconds": 0.0},
        {"delay_least_seconds": 16.0},
        {"pong_seconds": -1.0},
    ],
)
def test_impossible_waits_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        Waits(**wrong)


def test_a_pause_is_as_long_as_a_daemon_asks_for_and_ends_in_time() -> None:
    waits = Waits(reconnect_seconds=10.0, delay_least_seconds=1.0, delay_most_seconds=1.0)
    retry = Retry(waits, 0.0, jitter=lambda: 1.0)
    retry.connected(0.0)
    assert retry.pause(0.0, 4.0) == 4.0  # the first try, which would come at once
    assert retry.pause(4.0, 0.5) == 1.0
    assert retry.pause(5.0, 2.0) == 2.0
    assert retry.pause(9.5, 60.0) == 0.5
    assert retry.pause(10.0, 60.0) is None
    hurried = Retry(Waits(reconnect_seconds=0.25), 0.0)
    hurried.connected(0.0)
    assert hurried.pause(0.0, 60.0) == 0.25
