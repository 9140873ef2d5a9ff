"""How much of each room its own tests must run, in percent of its statements.

`make rooms` measures the rooms in `FLOORS`. Those in `ELSEWHERE` are not measured there, each for
the reason that it names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

FLOORS: Final[Mapping[str, int]] = {
    "protocol/littled_protocol": 99,
    "daemon/littled/engine": 98,
    "daemon/littled/auditing": 96,
    "daemon/littled/store": 97,
}
"""Least percentage by folder, a little below what there was when it was set."""

_PURE = "make coverage: all rooms without I/O together, branches counted"
_OTHER_PROCESSES = "its tests start daemons and commands, which run in processes of their own"
ELSEWHERE: Final[Mapping[str, str]] = {
    "daemon/littled/budget": _PURE,
    "daemon/littled/classes": _PURE,
    "daemon/littled/learners": _PURE,
    "daemon/littled/littlestone": _PURE,
    "daemon/littled/mechanisms": _PURE,
    "daemon/littled/cli": _OTHER_PROCESSES,
    "daemon/littled/service": _OTHER_PROCESSES,
    "daemon/littled/configuration": "its tests are those of plans and commands, in other rooms",
    "daemon/littled/planner": "measured, its tests take twice as long",
    "clients/littled_client": "its tests hold the program to times that measuring changes",
}
"""Why a room has no floor in `FLOORS`, by folder."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many of a room's statements were run."""

    room: str
    run: int
    statements: int

    @property
    def percent(self) -> float:
        """Of its statements; 0 for a room without any, as then nothing was measured."""
        return 100 * self.run / self.statements if self.statements else 0.0

    @property
    def suffices(self) -> bool:
        """Whether that is as much as the room's floor."""
        return self.percent >= FLOORS[self.room]


def shares(report: Mapping[str, Any]) -> list[Share]:
    """The share of every room in `FLOORS`, by a report of coverage as JSON."""
    files: Mapping[str, Any] = report["files"]
    found = []
    for room in FLOORS:
        summaries = [file["summary"] for path, file in files.items() if path.startswith(f"{room}/")]
        run = sum(summary["covered_lines"] for summary in summaries)
        statements = sum(summary["num_statements"] for summary in summaries)
        found.append(Share(room, run, statements))
    return found
