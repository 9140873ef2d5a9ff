"""The tables of docs/store-versions.md: PYTHONPATH=tests python -m support.store_versions."""

import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from littled.store.database import (
    FORMAT,
    FORMAT_OF_USERS,
    FORMAT_PACKED,
    FORMATS_BESIDE,
    FORMATS_BLAKE3,
    FORMATS_GDP,
    FORMATS_GROWN,
    FORMATS_TAIL,
    format_number,
)
from littled.store.sqlite import DATABASE_NAME
from support.old_stores import CONFIGURATIONS, FIXTURES

PAGE = Path(__file__).parents[2] / "docs" / "store-versions.md"
TEST = "test_an_old_store_goes_on"
# The commit whose program made a store; of all others the first.
FIRST = "17e11b0"
WRITTEN_BY = {
    "ahead": "44ac363",
    "columns": "da941a9",
    "grown": "fbf3554",
    "places": "10fe5c0",
    "windows": "f8874e1",
    "quality": "ac0f058",
    "scorecards": "84a95e3",
    "boosted": "9e2c4c6",
    "damped": "167dd7b",
    "sequences": "ca54681",
    "exact": "18ed2ea",
    "tallies": "c2eb29e",
    "memories": "c2eb29e",
    "warmups": "13b946e",
    "together": "13b946e",
}
HOLDS = {
    "ahead": "records that stand ahead of the database, as a killed daemon left them",
    "answers": "learners that answer questions, by every method",
    "boosted": "scorecards from windows",
    "classes": "a learner of each of ten classes",
    "columns": "large batches, whose columns lie in files beside the database",
    "exact": "scorecards that are charged for GDP",
    "grown": "a stream that was added, and one that was closed",
    "killed": "what a daemon left that was killed at work",
    "memories": "public memories, and examples that are held back",
    "places": "places of producers' sources",
    "quality": "how good rules are, measured from the budget",
    "restored": "a store that was restored from an older copy",
    "scorecards": "scorecards",
    "damped": "scorecards with damped noise, a stump and judged candidates",
    "seasons": "several [seasons](glossary.md#season)",
    "selections": "every way of selection",
    "sequences": "one-way sequences",
    "tallies": "tallies of ids and of closures",
    "together": "closures of [teachers](glossary.md#teacher) and of users who start over together",
    "users": "a stream that protects users",
    "warmups": "warm-ups of a chain and of a pool, with later seasons and without",
    "windows": "a rule from each window, by every method",
}


def formats() -> dict[int, tuple[bool, ...]]:
    """All formats, and what each says of a store."""
    found: dict[int, tuple[bool, ...]] = {}
    for packed, of_users, beside, of_blake3, grown, of_gdp, of_tail in product(
        (False, True), repeat=7
    ):
        if of_blake3 and not beside:
            continue
        number = format_number(
            packed=packed,
            of_users=of_users,
            beside=beside,
            of_blake3=of_blake3,
            grown=grown,
            of_gdp=of_gdp,
            of_tail=of_tail,
        )
        found[number] = (packed, of_users, beside, of_blake3, grown, of_gdp, of_tail)
    return found


# What each fact adds to a format, and what it is; of the two about columns one at most.
ADDED = (
    (FORMAT, "every store"),
    (FORMAT_OF_USERS - FORMAT, "a stream that protects users"),
    (FORMAT_PACKED - FORMAT, "records packed into segments"),
    (FORMATS_BESIDE, "columns beside the database"),
    (FORMATS_BLAKE3, "columns beside the database, in the chain by their BLAKE3"),
    (FORMATS_GROWN, "streams with configurations of their own, or closed"),
    (FORMATS_GDP, "a stream that is charged for GDP"),
    (
        FORMATS_TAIL,
        "records that may stand ahead of the database, in the file `tail`: while a daemon is at "
        "work, and when one has ended suddenly",
    ),
)


def format_of(name: str) -> int:
    """The format of a store of the tests."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(FIXTURES / f"{name}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        connection = sqlite3.connect(Path(folder) / name / DATABASE_NAME)
        (number,) = connection.execute("PRAGMA user_version").fetchone()
        connection.close()
    return int(number)


def tables() -> dict[str, Iterator[str]]:
    """The rows of each table by its name."""
    return {
        "formats": (f"| {number} | {what} |" for number, what in ADDED),
        "stores": (
            f"| `{name}` | `{WRITTEN_BY.get(name, FIRST)}` | {format_of(name)} | {HOLDS[name]} | "
            f"`{TEST}[{name}]` |"
            for name in sorted(CONFIGURATIONS)
        ),
    }


HEADINGS = {
    "formats": "| adds | what the store has |\n|---:|---|",
    "stores": "| store | written by | format | it has | test |\n|---|---|---|---|---|",
}


def renewed(text: str) -> str:
    """The page with its tables as they have to be."""
    for name, rows in tables().items():
        table = "\n".join((HEADINGS[name], *rows))
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        text = f"{before}{mark}{table}\n{end}{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
