"""Plans over HTTP: what the command prints, one process at a time, and nothing else."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from littled.service import planning
from littled.service.planning import PlanError, Plans

ASKED = {"class": "thresholds:16", "epsilon": "1", "delta": "1e-6", "horizon": "1000"}


@pytest.mark.long
async def test_a_plan_is_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "PLAN_SECONDS", 300)  # on whatever machine
    plans = Plans()
    text = await plans.plan(ASKED)
    options = [f"--{name}={value}" for name, value in ASKED.items()]
    printed = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "littled.cli", "plan", *options],
        capture_output=True,
        text=True,
        check=True,
    )
    assert text == printed.stdout


async def test_what_was_planned_is_kept_and_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, ...]] = []
    under_way = 0

    async def planned(key: tuple[str, ...]) -> str:
        nonlocal under_way
        under_way += 1
        assert under_way == 1
        made.append(key)
        await asyncio.sleep(0.01)
        under_way -= 1
        return key[0]

    monkeypatch.setattr(planning, "_planned", planned)
    monkeypatch.setattr(planning, "PLANS_WAITING_MAX", 3)
    monkeypatch.setattr(planning, "PLANS_KEPT_MAX", 2)
    plans = Plans()
    asked = [ASKED | {"class": f"thresholds:{size}"} for size in (16, 16, 17, 18)]
    found = await asyncio.gather(*map(plans.plan, asked), return_exceptions=True)
    assert found[:3] == ["thresholds:16", "thresholds:16", "thresholds:17"]
    assert isinstance(found[3], PlanError)
    assert found[3].status == 503
    assert len(made) == 2
    await plans.plan(asked[3])
    await plans.plan(asked[2])
    assert len(made) == 3
    await plans.plan(asked[0])  # which made room for another one
    assert len(made) == 4


@pytest.mark.parametrize(
    "changed",
    [
        {"class": ""},
        {"class": "table:/etc/passwd"},
        {"class": "thresholds:16 --json"},
        {"epsilon": "-1"},
        {"epsilon": "1e400"},
        {"delta": "x"},
        {"horizon": "0"},
        {"horizon": "٣"},
        {"further": "1"},
    ],
)
async def test_what_is_not_written_so_is_refused_unplanned(
    changed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def planned(key: tuple[str, ...]) -> str:
        raise AssertionError(key)

    monkeypatch.setattr(planning, "_planned", planned)
    with pytest.raises(PlanError) as refused:
        await Plans().plan(ASKED | changed)
    assert refused.value.status == 400


async def test_what_the_command_refuses_is_said_in_its_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "PLAN_SECONDS", 300)
    with pytest.raises(PlanError, match=r"^[^\n]+$") as refused:
        await Plans().plan(ASKED | {"class": "cubes:3"})
    assert refused.value.status == 400
    assert not str(refused.value).startswith("littled")


@pytest.mark.long
async def test_a_plan_that_takes_too_much_of_the_processor_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However busy the machine is: only the processor's time counts. The longest plans take 3 s."""
    monkeypatch.setattr(planning, "PLAN_SECONDS", 300)
    monkeypatch.setattr(planning, "PLAN_CPU_SECONDS", 1)
    with pytest.raises(PlanError, match="this takes more than 1 s; use littled plan") as refused:
        await Plans().plan(ASKED | {"class": "stumps:1000:256", "horizon": "1000000000"})
    assert refused.value.status == 400


async def test_a_plan_for_which_the_machine_is_too_busy_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "PLAN_SECONDS", 0.01)
    with pytest.raises(PlanError, match="too busy") as refused:
        await Plans().plan(ASKED)
    assert refused.value.status == 503
