"""`littled ledger`: for people and for programs, and with wrong input.

Beside a running daemon it is tried in test_cli_watching.py.
"""

import tarfile
from pathlib import Path

from littled.store.store import Store
from support.commands import Littled
from support.old_stores import FIXTURES


def test_people_see_a_table_of_each_season(littled: Littled, tmp_path: Path) -> None:
    with tarfile.open(FIXTURES / "answers.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    shown = littled("ledger", tmp_path / "answers", "--stream", "majority")
    assert shown.status == 0, shown.err
    lines = shown.out.splitlines()
    assert lines[0] == "majority, season 0: epsilon 20 of 20 at delta 1e-05, for each example"
    assert lines[1].split() == ["learner", "charge", "times", "epsilon_pure", "rho", "delta"]
    assert lines[3].split()[:3] == ["one", "prediction_answers_majority", "1"]
    assert lines[-2].split()[0] == "all"
    assert lines[-1] == "paid for by this season: 12 answers to 1 request"


def test_a_store_without_charges_and_wrong_input(littled: Littled, tmp_path: Path) -> None:
    with tarfile.open(FIXTURES / "users.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    with Store.open(tmp_path / "users", read_only=True) as used:
        plans = used.plans
    store = tmp_path / "new"
    Store.create(store, {}, plans)
    assert littled("ledger", store).out == "late: nothing was charged yet, of 8 at delta 1e-05\n"
    everything = littled("ledger", store, "--format", "json")
    assert littled("ledger", store, "--json").out == everything.out
    found = everything.json["streams"]["late"]
    assert (found["unit"], found["user_examples_max"], found["seasons"]) == ("user", 4, [])
    wrong = littled("ledger", store, "--stream", "old")
    assert (wrong.status, wrong.sentence) == (2, f"{store} has no stream old; it has late")
    missing = littled("ledger", tmp_path / "nowhere")
    assert (missing.status, "there is no store in" in missing.sentence) == (1, True)
    form = littled("ledger", store, "--format", "xml")
    assert (form.status, "'xml' is not one of" in form.sentence) == (2, True)
