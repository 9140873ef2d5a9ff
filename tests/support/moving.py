"""A store that one daemon after another serves, and a *front*, which knows where that is.

The front has another stream and stays. Clients know the front alone; it has the places of a file.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from littled.classes.names import class_from_name
from littled.planner import OnlineRequest, StreamRequest, plan_stream
from littled.store.store import Store
from support.serving import PlacesFile, Serving, serving


def make_store(path: Path, stream: str) -> Path:
    """A store whose one stream soon has several rules."""
    learner = OnlineRequest("late", class_from_name("thresholds:256"), noise_rate=Fraction(0))
    request = StreamRequest(stream, Fraction(1), Fraction(1, 10**6), 10**6, (learner,))
    Store.create(path, {"streams": [stream]}, {stream: plan_stream(request).to_dict()})
    return path


@dataclass
class Moving:
    """The store of `flights`, which one daemon after another serves, each at its own socket."""

    folder: Path
    places: PlacesFile
    how: dict[str, Any] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=itertools.count)
    daemon: Serving | None = None

    def serve(self) -> None:
        """Serve it at a new place, and say so."""
        unix = self.folder / f"{next(self.numbers)}.sock"
        self.daemon = Serving.start(
            self.folder / "flights", unix=unix, elsewhere=str(self.places.path), **self.how
        )
        self.places.say(flights=[f"unix:{unix}"])

    def leave(self, *, killed: bool) -> None:
        """End who serves it; nobody does, and the front learns of that a while later."""
        assert self.daemon is not None
        if killed:
            self.daemon.kill()
        else:
            assert self.daemon.stop() == 0
        self.places.say(flights=[])
        self.daemon = None


@contextmanager
def moving(folder: Path, **how: Any) -> Iterator[tuple[Moving, str]]:
    """The store that moves, being served, and the address of the front."""
    places = PlacesFile(folder / "places")
    places.say(flights=[])
    made = Moving(folder, places, how)
    make_store(folder / "flights", "flights")
    with serving(make_store(folder / "front", "other"), elsewhere=str(places.path), **how) as front:
        made.serve()
        try:
            yield made, f"unix:{front.unix}"
        finally:
            if made.daemon is not None:
                made.leave(killed=True)
