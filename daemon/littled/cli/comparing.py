"""What `littled verify --replay` finds, known without anything that replays."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a replay of one stream came to.

    releases, entries, predictions: how many stored ones were compared; the entries that charge
    answers are no function of the journal and not among them. findings: one sentence for each that
    differs. pending: releases that the journal leads to and that are not published yet, since the
    daemon was stopped before it had learned the journal's end.
    """

    stream: str
    releases: int
    entries: int
    findings: tuple[str, ...]
    pending: int
    predictions: int = 0
