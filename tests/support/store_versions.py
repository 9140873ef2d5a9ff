"""The tables of docs/store-versions.md: PYTHONPATH=tests python -m support.store_versions."""

import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from littled.store.database import format_number
from littled.store.sqlite import DATABASE_NAME
from support.old_stores import CONFIGURATIONS, FIXTURES

PAGE = Path(__file__).parents[2] / "docs" / "store-versions.md"
TEST = "test_an_old_store_goes_on"
# The commit whose program made a store; of all others the first.
FIRST = "17e11b0"
WRITTEN_BY = {
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


def formats() -> dict[int, str]:
    """What each format says of a store."""
    found = {}
    for packed, of_users, beside, of_blake3, grown, of_gdp in product((False, True), repeat=6):
        if of_blake3 and not beside:
            continue
        number = format_number(
            packed=packed,
            of_users=of_users,
            beside=beside,
            of_blake3=of_blake3,
            grown=grown,
            of_gdp=of_gdp,
        )
        what = ["a stream that protects users"] * of_users
        what += ["records packed into segments"] * packed
        what += ["columns beside the database"] * beside
        what += ["these in the chain by their BLAKE3"] * of_blake3
        what += ["streams with configurations of their own, or closed"] * grown
        what += ["a stream that is charged for GDP"] * of_gdp
        found[number] = "; ".join(what) or "nothing of this"
    return dict(sorted(found.items()))


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
        "formats": (f"| {number} | {what} |" for number, what in formats().items()),
        "stores": (
            f"| `{name}` | `{WRITTEN_BY.get(name, FIRST)}` | {format_of(name)} | {HOLDS[name]} | "
            f"`{TEST}[{name}]` |"
            for name in sorted(CONFIGURATIONS)
        ),
    }


HEADINGS = {
    "formats": "| format | the store has |\n|---|---|",
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
