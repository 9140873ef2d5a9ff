"""How much of each room its own tests must run, in percent.

Every room is in one of three groups, by what its tests do; each group is measured by one run.

- `pure`: rooms without I/O, measured by `make coverage`: statements and branches.
- `rooms`: rooms that run in the process of the test, measured by `make coverage`: statements.
- `processes`: rooms whose tests start daemons and commands, measured by `make floors` in all of
  these processes: statements. It takes longest.

Tests that come to the same lines thousands of times are marked with `no_cover` and not measured:
measured they take twice as long, and the floors hold without them. Not so tests that are the first
to import a module, by the name of a kind: what runs when it is imported would be missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

FLOORS: Final[Mapping[str, Mapping[str, int]]] = {
    "pure": {
        "daemon/littled/budget": 99,
        "daemon/littled/classes": 98,
        "daemon/littled/learners": 97,
        "daemon/littled/littlestone": 99,
        "daemon/littled/mechanisms": 99,
    },
    "rooms": {
        "protocol/littled_protocol": 99,
        "daemon/littled/engine": 98,
        "daemon/littled/auditing": 96,
        "daemon/littled/laboratory": 88,  # tables that take long are compared in campaigns
        "daemon/littled/programs": 97,
        "daemon/littled/store": 97,
    },
    "processes": {
        "clients/littled_client": 98,
        "daemon/littled/cli": 95,
        "daemon/littled/configuration": 98,
        "daemon/littled/groups": 40,  # what needs etcd is run by `make test-cluster`
        "daemon/littled/planner": 97,
        "daemon/littled/service": 96,
    },
}
"""Least percentage by group and folder, a little below what there was when it was set."""


@dataclass(frozen=True, slots=True)
class Share:
    """How much of a room was run. Counts are of statements, and of branches where measured."""

    room: str
    run: int
    there_are: int
    floor: int

    @property
    def percent(self) -> float:
        """0 for a room with nothing to run, as then nothing was measured."""
        return 100 * self.run / self.there_are if self.there_are else 0.0

    @property
    def suffices(self) -> bool:
        """Whether that is as much as the room's floor."""
        return self.percent >= self.floor


def shares(group: str, report: Mapping[str, Any]) -> list[Share]:
    """The share of every room of a group, by a report of coverage as JSON."""
    files: Mapping[str, Any] = report["files"]
    found = []
    for room, floor in FLOORS[group].items():
        summaries = [file["summary"] for path, file in files.items() if path.startswith(f"{room}/")]
        run, there_are = (
            sum(summary.get(key, 0) for summary in summaries for key in keys)
            for keys in (
                ("covered_lines", "covered_branches"),
                ("num_statements", "num_branches"),
            )
        )
        found.append(Share(room, run, there_are, floor))
    return found
