"""Plans do not depend on the processor: other kernels, other vector units, other libraries of C."""

import os
import platform
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]


def optional_features() -> str:
    """All that numpy would choose from on this machine, so that it can be told not to."""
    umath = import_module("numpy._core._multiarray_umath")
    return " ".join(each for each in umath.__cpu_dispatch__ if umath.__cpu_features__[each])


# Other code for matrix products (by the name of a processor), other vector instructions in numpy,
# other variants of the C library's functions (glibc takes this; others ignore it).
NO_VECTORS = {"NPY_DISABLE_CPU_FEATURES": optional_features()}
NO_FMA = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"}
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "as it is": {},
    **{
        f"{core}, {threads} threads": {
            "OPENBLAS_CORETYPE": core,
            "OPENBLAS_NUM_THREADS": str(threads),
        }
        for core in ("Haswell", "Zen", "SkylakeX", "Prescott")
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


@pytest.mark.long
def test_plans_are_the_same_on_other_processors() -> None:
    found = rows({}, EVERY)
    assert len(found) > 6
    assert rows(ENVIRONMENTS["nothing"], EVERY) == found


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
