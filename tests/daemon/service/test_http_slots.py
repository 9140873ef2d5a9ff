"""Slots of HTTP: as many as there are, a part of them for one origin, and a line in front."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from littled.service.admission import share_of
from littled.service.http_slots import Shares, Slots

MOST = 4
SHARE = share_of(MOST)


class Asking:
    """Somebody who asks for a slot."""

    def __init__(self, origin: str, slots: Slots) -> None:
        self.origin = origin
        self.is_begun = self.is_answered = self.was_cut = False
        self.slots = slots

    def begin(self) -> None:
        self.is_begun = True

    def cut(self) -> None:
        self.was_cut = True
        self.slots.leave(self)

    def check_time(self, now: float) -> None:
        """Nothing is late here."""


def asked(slots: Slots, origin: str, count: int) -> list[Asking]:
    """So many who have asked."""
    found = [Asking(origin, slots) for _ in range(count)]
    for each in found:
        slots.ask(each)
    return found


async def test_one_origin_has_its_part_and_leaves_the_rest_to_others() -> None:
    slots = Slots(MOST)
    first = asked(slots, "here", MOST)
    assert [each.is_begun for each in first] == [True] * SHARE + [False] * (MOST - SHARE)
    assert all(each.is_begun for each in asked(slots, "there", MOST - SHARE))
    assert len(slots) == len([*slots]) == MOST


async def test_who_leaves_lets_the_next_in_and_origins_have_their_turns() -> None:
    slots = Slots(1)
    (first,) = asked(slots, "here", 1)
    others = asked(slots, "here", 2)
    (late,) = asked(slots, "there", 1)
    begun = []
    for leaving in (first, others[0], late):
        slots.leave(leaving)
        await asyncio.sleep(0)
        begun.append([each.is_begun for each in (*others, late)])
    assert begun == [[True, False, False], [True, False, True], [True, True, True]]
    assert len(slots) == 1


async def test_who_leaves_the_line_is_never_let_in() -> None:
    slots = Slots(1)
    (first,) = asked(slots, "here", 1)
    gone, last = asked(slots, "here", 2)
    slots.leave(gone)
    slots.leave(gone)
    slots.leave(first)
    await asyncio.sleep(0)
    assert (gone.is_begun, last.is_begun) == (False, True)


@pytest.mark.parametrize("origin", ["here", "there"])
async def test_who_was_answered_and_has_not_closed_makes_room(origin: str) -> None:
    slots = Slots(MOST)
    first = [*asked(slots, "here", SHARE), *asked(slots, "elsewhere", MOST - SHARE)]
    first[0].is_answered = True
    (late,) = asked(slots, origin, 1)
    assert late.is_begun
    assert [each.was_cut for each in first] == [True] + [False] * (MOST - 1)


def request(origin: str | None) -> Any:
    """A request from there; its peer is gone without."""
    return SimpleNamespace(get_extra_info=lambda _: origin)


async def test_places_are_shared_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("littled.service.http_slots.origin_of", lambda peer: peer)
    shares = Shares()
    with shares.place(request("here"), MOST, KeyError):
        with shares.place(request("here"), MOST, KeyError):
            with pytest.raises(KeyError), shares.place(request("here"), MOST, KeyError):
                pass
            with (
                shares.place(request("there"), MOST, KeyError),
                shares.place(request(None), MOST, KeyError),
                pytest.raises(KeyError),
                shares.place(request("elsewhere"), MOST, KeyError),
            ):
                pass
        with shares.place(request("here"), MOST, KeyError):
            pass
