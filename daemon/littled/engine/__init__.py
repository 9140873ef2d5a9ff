"""What runs the learners of one stream: the order of its events, and answers from its windows."""

from littled.engine.journal import (
    Engine,
    Outlet,
    OutOfOrder,
    Trainings,
    Transcript,
    in_turns,
    newest_usable,
    replay,
    wait_for,
)
from littled.engine.running import AtOnce, Progress, PublishedRule, Runner, progressive

__all__ = [
    "AtOnce",
    "Engine",
    "OutOfOrder",
    "Outlet",
    "Progress",
    "PublishedRule",
    "Runner",
    "Trainings",
    "Transcript",
    "in_turns",
    "newest_usable",
    "progressive",
    "replay",
    "wait_for",
]
