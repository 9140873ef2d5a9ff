"""What runs the learners of one stream: the order of its events, and answers from its windows."""

from littled.engine.journal import (
    Engine,
    Outlet,
    OutOfOrder,
    Trainings,
    Transcript,
    in_turns,
    replay,
)

__all__ = ["Engine", "OutOfOrder", "Outlet", "Trainings", "Transcript", "in_turns", "replay"]
