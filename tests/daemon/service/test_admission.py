"""Who may have a connection, and who makes room."""

import random
import socket
from pathlib import Path

import pytest

from littled.limits import (
    CONNECTIONS_MAX,
    CONNECTIONS_PER_ORIGIN_SHARE,
    CONNECTIONS_RESERVED_SHARE,
)
from littled.service.admission import Admission, Full
from littled.service.listeners import origin_of

PER_ORIGIN = int(CONNECTIONS_MAX * CONNECTIONS_PER_ORIGIN_SHARE)
RESERVED = int(CONNECTIONS_MAX * CONNECTIONS_RESERVED_SHARE) // 2


def filled(admission: Admission[str], listener: int, origin: str, count: int) -> list[str]:
    """So many guests, for whom there has to be room."""
    names = [f"{listener} {origin} {number}" for number in range(count)]
    for name in names:
        assert admission.who_makes_room(listener, origin) is None
        admission.enter(name, listener, origin)
    return names


def test_one_origin_has_its_share_and_no_more() -> None:
    admission: Admission[str] = Admission(2)
    guests = filled(admission, 0, "uid 7", PER_ORIGIN)
    assert admission.who_makes_room(0, "uid 7") == guests[0]
    assert admission.who_makes_room(0, "uid 8") is None
    admission.heard(guests[0])
    admission.settle(guests[1])
    assert admission.who_makes_room(1, "uid 7") == guests[2]
    for guest in guests:
        admission.settle(guest)
    with pytest.raises(Full):
        admission.who_makes_room(0, "uid 7")
    admission.leave(guests[0])
    admission.leave(guests[0])
    assert admission.who_makes_room(0, "uid 7") is None
    assert len(admission) == PER_ORIGIN - 1


def test_places_are_kept_for_every_listener() -> None:
    admission: Admission[str] = Admission(2)
    rest = CONNECTIONS_MAX - RESERVED - PER_ORIGIN
    settled = [*filled(admission, 0, "a", PER_ORIGIN), *filled(admission, 0, "b", rest)]
    for guest in settled:
        admission.settle(guest)
    with pytest.raises(Full):
        admission.who_makes_room(0, "c")
    others = filled(admission, 1, "c", RESERVED)
    assert len(admission) == CONNECTIONS_MAX
    assert admission.who_makes_room(1, "c") == others[0]
    with pytest.raises(Full):  # who has a kept place keeps it
        admission.who_makes_room(0, "c")


def test_the_longest_silent_of_all_makes_room_when_nothing_is_free() -> None:
    admission: Admission[str] = Admission(1)
    first = filled(admission, 0, "a", PER_ORIGIN)
    filled(admission, 0, "b", CONNECTIONS_MAX - PER_ORIGIN)
    assert admission.who_makes_room(0, "c") == first[0]
    admission.leave(first[0])
    assert admission.who_makes_room(0, "c") is None


def test_counts_agree_with_a_plain_list_whatever_happens() -> None:
    admission: Admission[int] = Admission(3)
    chance, guests = random.Random(3), dict[int, tuple[int, str]]()
    for number in range(5_000):
        listener, origin = chance.randrange(3), chance.choice(["a", "b", "c", "d"])
        try:
            while (leaving := admission.who_makes_room(listener, origin)) is not None:
                admission.leave(leaving)
                del guests[leaving]
        except Full:
            continue
        admission.enter(number, listener, origin)
        guests[number] = listener, origin
        if chance.random() < 0.5:
            admission.settle(number)
        if chance.random() < 0.3:
            leaving = chance.choice(list(guests))
            admission.leave(leaving)
            del guests[leaving]
        assert len(admission) == len(guests) <= CONNECTIONS_MAX
        origins = [found for _, found in guests.values()]
        assert origins.count(origin) <= PER_ORIGIN


def test_origins_are_users_and_addresses(tmp_path: Path) -> None:
    import os

    left, right = socket.socketpair(socket.AF_UNIX)
    with left, right:
        assert origin_of(left) == f"uid {os.getuid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.bind(("127.0.0.9", 0))
        client.connect(server.getsockname())
        accepted, _ = server.accept()
        with accepted:
            # whoever has one of these has 16 million
            assert origin_of(accepted) == "127.0.0.0/8"
