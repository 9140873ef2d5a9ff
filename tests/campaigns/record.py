"""The page that says of each campaign on which version it last ran whole, and what came of it.

Only `make campaign` writes rows, from what it counted itself; a campaign that ran in part leaves
the row of its last whole run as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PAGE = "docs/campaigns.md"
HEADER = "| campaign | version | on | cases | skipped | failed | core-minutes |"
NEVER = "not yet"


@dataclass(frozen=True, slots=True)
class Row:
    """A whole run: version and day (ISO 8601), cases, and minutes of CPU time of one core."""

    version: str
    day: str
    cases: int
    skipped: int
    failed: int
    core_minutes: float

    def cells(self) -> tuple[str, ...]:
        """As the page says it."""
        counts = f"{self.cases:,}", f"{self.skipped:,}", f"{self.failed:,}"
        return f"`{self.version}`", self.day, *counts, f"{self.core_minutes:,.0f}"


def rows_of(text: str) -> dict[str, str]:
    """The rows of the page by the names of their campaigns, each as its whole line."""
    _, _, below = text.partition(HEADER)
    lines = [line for line in below.splitlines()[2:] if line.startswith("| ")]
    return {line.split("|")[1].strip(" `"): line for line in lines}


def row(name: str, cells: tuple[str, ...]) -> str:
    """A line of the table."""
    return f"| {' | '.join((f'`{name}`', *cells))} |"


def renew(page: Path, found: Mapping[str, Row]) -> None:
    """Replace the rows of campaigns that ran whole; all else of the page stays as it is."""
    text = page.read_text(encoding="utf-8")
    for name, line in rows_of(text).items():
        if name in found:
            text = text.replace(f"{line}\n", f"{row(name, found[name].cells())}\n")
    page.write_text(text, encoding="utf-8")
