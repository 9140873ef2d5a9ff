"""Plans as a store has them: those of this version as they were, those of newer ones refused."""

from pathlib import Path
from typing import Any

import pytest

from littled.auditing.subjects import small_plan
from littled.service.stored_plans import stored_plan
from littled.store.errors import StoreDamaged, StoreRefused
from littled.store.store import Store
from support.learner_cases import learner_plan
from support.twins import plan_of

PLAN = plan_of([learner_plan("dense", None)], 100, name="visits")


def stored(path: Path, changes: dict[str, Any]) -> Store:
    values = PLAN.to_dict()
    values["learners"]["dense"] |= {
        part: {**values["learners"]["dense"][part], **changed} for part, changed in changes.items()
    }
    Store.create(path, {}, {"visits": values})
    return Store.open(path)


def test_a_plan_is_what_it_was(tmp_path: Path) -> None:
    with stored(tmp_path / "store", {}) as store:
        assert stored_plan(store, "visits") == PLAN


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parameters": {"buffer": "novel"}}, "learner dense: buffer must be one of "),
        ({"parameters": {"pool": {"haste": 3}}}, "learner dense: "),
    ],
)
def test_what_only_a_newer_version_knows_is_refused_in_one_sentence(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    path = tmp_path / "store"
    with stored(path, changes) as store, pytest.raises(StoreRefused) as refused:
        stored_plan(store, "visits")
    sentence = str(refused.value)
    assert sentence.startswith(
        f"the store in {path} was written by a newer version, as the plan of visits is not one of "
        "this version ("
    )
    assert f"({said}" in sentence
    assert sentence.endswith("); use the version that wrote it")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"delta_z": "1/500"}, "scorecard_season has a conversion_delta, and its stream has a rho"),
        ({"rate": "4/1"}, "stump_rate of scorecard_season is above what its rows convert to"),
    ],
)
def test_a_plan_that_nobody_can_have_made_is_damage(
    tmp_path: Path, changes: dict[str, str], said: str
) -> None:
    values = small_plan("scorecard-trial").to_dict()
    if "rate" in changes:
        values["learners"]["scorecard-trial"]["parameters"]["stump_rate"] = changes["rate"]
    else:
        values |= changes
    Store.create(tmp_path / "store", {}, {"visits": values})
    with (
        Store.open(tmp_path / "store") as store,
        pytest.raises(StoreDamaged, match=f"the plan of visits in .* is no plan: .*{said}"),
    ):
        stored_plan(store, "visits")
