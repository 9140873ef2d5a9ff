"""Plans do not depend on the processor: other kernels, other vector units, other libraries of C."""

import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from littled.kinds import KINDS, USUAL
from littled.planner import PlanError
from support import plan_table

TESTS = Path(__file__).parents[2]


def optional_features() -> str:
    """All that numpy would choose from on this machine, so that it can be told not to."""
    umath = import_module("numpy._core._multiarray_umath")
    return " ".join(each for each in umath.__cpu_dispatch__ if umath.__cpu_features__[each])


# Other code for matrix products (by the name of a processor), other vector instructions in numpy,
# other variants of the C library's functions (glibc takes this; others ignore it).
CORES = ("Haswell", "Zen", "SkylakeX", "Prescott")
NO_VECTORS = {"NPY_DISABLE_CPU_FEATURES": optional_features()}
NO_FMA = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"}
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "as it is": {},
    **{
        f"{core}, {threads} threads": {
            "OPENBLAS_CORETYPE": core,
            "OPENBLAS_NUM_THREADS": str(threads),
        }
        for core in CORES
        for threads in (1, 2)
    },
    "numpy without vectors": NO_VECTORS,
    "C without fused multiply-add": NO_FMA,
    "nothing": {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1"} | NO_VECTORS | NO_FMA,
}
# Of the table, each test run sees every so many-th case.
EVERY = 97


def rows(environment: dict[str, str], every: int) -> list[str]:
    """The table of plans, as a process of its own makes it."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "support.plan_table", str(every)],
        cwd=TESTS, env=os.environ | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


# In a long test another setting for each core, and all that there is to take away at once.
SOME = {core: {"OPENBLAS_CORETYPE": core} for core in CORES} | {"nothing": ENVIRONMENTS["nothing"]}


@pytest.mark.long
@pytest.mark.parametrize("name", SOME)
def test_plans_are_the_same_on_other_processors(name: str, some_rows: list[str]) -> None:
    assert len(some_rows) > 6 + len(KINDS)
    assert rows(SOME[name], EVERY) == some_rows


@pytest.fixture(scope="module")
def some_rows() -> list[str]:
    return rows({}, EVERY)


def test_every_kind_of_learner_has_plans_in_the_table() -> None:
    assert set(plan_table.KINDS) == set(KINDS)
    for kind, part in plan_table.KINDS.items():
        first = next(filter(None, (plan_of(case) for _, case in part())))
        assert first["learners"]["l"].get("kind", USUAL) == kind


def plan_of(case: Callable[[], object]) -> Any:
    """The plan of a case; None for one that is refused."""
    try:
        return case()
    except PlanError:
        return None


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names of other processors")
def test_other_names_of_processors_do_change_the_products() -> None:
    """Else asking for them would show nothing; one that a machine lacks may become another."""
    took = [core_that_took_effect(name) for name in CORES]
    if None in took:
        pytest.skip(
            "numpy has another library here than OpenBLAS, or one that does not say its core"
        )
    assert len(set(took)) >= 2


def core_that_took_effect(name: str) -> str | None:
    """What OpenBLAS says that it uses when it is asked for a processor."""
    environment = os.environ | {"OPENBLAS_CORETYPE": name, "OPENBLAS_VERBOSE": "2"}
    done = subprocess.run(
        [sys.executable, "-c", "import numpy"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
    )  # fmt: skip
    said = re.search(r"^Core: (\S+)$", done.stdout, re.MULTILINE)
    return said[1] if said else None


@pytest.mark.campaign
@pytest.mark.parametrize("name", [name for name, changed in ENVIRONMENTS.items() if changed])
def test_every_plan_is_the_same_everywhere(name: str, whole_table: list[str]) -> None:
    assert rows(ENVIRONMENTS[name], 1) == whole_table


@pytest.fixture(scope="module")
def whole_table() -> list[str]:
    return rows({}, 1)


SUMS = """
import hashlib, numpy as np
x = np.random.default_rng(1).random((300, 300))
print(hashlib.blake2b((x @ x).tobytes() + np.exp(x).tobytes()).hexdigest())
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names of other processors")
def test_the_environments_do_change_floating_point() -> None:
    """Else the comparison would show nothing."""
    found = {
        subprocess.run(
            [sys.executable, "-c", SUMS], env=os.environ | each, capture_output=True, check=True
        ).stdout
        for each in (ENVIRONMENTS["as it is"], ENVIRONMENTS["nothing"])
    }
    assert len(found) == 2
