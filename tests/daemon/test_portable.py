"""Exponentials, logarithms and sums against 40 digits, and the bits that all machines must have."""

import hashlib
import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import mpmath
import numpy as np
import pytest

from littled import portable
from littled.planner.online import histograms, schedules
from littled.planner.prediction import errors as prediction_errors
from littled.portable import Floats

# Relative error that is allowed.
ERROR = 2.0**-50
# Numbers of every size, the same on every machine: multiples of odd numbers, scaled exactly.
MANTISSAS = [(number * 7919 % 4096 - 2048) / 2048 for number in range(2048)]
NEAR = [*MANTISSAS, *(math.ldexp(x, -(number % 60)) for number, x in enumerate(MANTISSAS))]
WIDE = [x * 700 for x in MANTISSAS]
POSITIVE = [
    *(1 + x / 2 for x in MANTISSAS),
    *(math.ldexp(abs(x) + 1, number % 2000 - 1000) for number, x in enumerate(MANTISSAS)),
]
FUNCTIONS: dict[str, tuple[Callable[[float], float], Callable[[Any], Floats], list[float]]] = {
    "exp": (portable.exp, portable.exps, NEAR + WIDE),
    "expm1": (portable.expm1, portable.expm1s, NEAR + WIDE),
    "log": (portable.log, portable.logs, POSITIVE),
    "log1p": (portable.log1p, portable.log1ps, [x for x in NEAR if x > -1] + POSITIVE),
}
# Of everything the functions return for the numbers above. It changes with the functions only,
# never with the machine, the operating system, or the versions of Python and numpy.
BITS = "e33a08a431445b24a2903fe90d0e8e2d"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_accurate_and_arrays_have_the_same_bits(name: str) -> None:
    one, many, numbers = FUNCTIONS[name]
    found = [one(x) for x in numbers]
    assert many(np.array(numbers)).tolist() == found
    with mpmath.workdps(40):
        for x, value in zip(numbers[::3], found[::3], strict=True):
            true = getattr(mpmath, name)(mpmath.mpf(x))
            assert abs(value - true) <= ERROR * abs(true), (x, value)


def test_the_bits_are_the_same_everywhere() -> None:
    digest = hashlib.blake2b(digest_size=16)
    for _, many, numbers in FUNCTIONS.values():
        digest.update(many(np.array(numbers)).astype("<f8").tobytes())
    places = np.array(sorted(POSITIVE[:2048]))
    digest.update(portable.total(places.reshape(-1, 128)).astype("<f8").tobytes())
    digest.update(portable.interpolated(places + 0.1, places, places).astype("<f8").tobytes())
    digest.update(portable.geometric(1e-3, 7.0, 99).astype("<f8").tobytes())
    assert digest.hexdigest() == BITS


def test_at_the_ends() -> None:
    assert portable.exp(-1e9) == 0
    assert portable.exp(1e9) == math.inf
    assert portable.exps([-math.inf, -1e9, 0, 1e9, math.inf]).tolist() == [
        *(0, 0, 1, math.inf, math.inf)
    ]
    assert portable.log(0) == -math.inf == portable.logs([0.0])[0]
    assert portable.log(math.inf) == math.inf
    assert portable.log(10**400) == pytest.approx(400 * math.log(10))
    assert portable.log(Fraction(1, 3)) == pytest.approx(-math.log(3))
    assert portable.log2(8.0) == 3
    assert portable.log2(0.3) == pytest.approx(math.log2(0.3))
    assert [portable.power(2.0, x) for x in (-1, 0, 1, 10)] == [0.5, 1, 2, pytest.approx(1024)]
    assert portable.power(0.0, 3) == 0
    assert portable.powers([0.0, 0.5, 1.0], 2).tolist() == pytest.approx([0, 0.25, 1])


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 64, 129])
def test_sums_along_every_axis(length: int) -> None:
    values = np.array(MANTISSAS[: 4 * length]).reshape(4, length)
    assert portable.total(values) == pytest.approx(values.sum(axis=1), abs=1e-12)
    assert portable.total(values.T, axis=0).tolist() == portable.total(values).tolist()
    assert values.tolist() == np.array(MANTISSAS[: 4 * length]).reshape(4, length).tolist()


def test_lines_and_ratios() -> None:
    places, values = np.array([0.0, 1.0, 4.0]), np.array([2.0, 0.0, 6.0])
    x = np.array([-3.0, 0.0, 0.25, 1.0, 2.0, 4.0, 9.0])
    assert (
        portable.interpolated(x, places, values).tolist() == np.interp(x, places, values).tolist()
    )
    assert portable.interpolated(x, places[:1], values[:1]).tolist() == [2.0] * len(x)
    ratios = portable.geometric(1e-3, 7.0, 50)
    assert ratios == pytest.approx(np.geomspace(1e-3, 7.0, 50), rel=1e-13)
    assert ratios[-1] == 7.0


def test_written_nodes_and_quantiles_are_those_of_their_laws() -> None:
    for nodes, weights, count in (
        (histograms.DEVIATIONS, histograms.WEIGHTS, 5),
        (prediction_errors.NODES, prediction_errors.CHANCES, 7),
    ):
        theirs, chances = np.polynomial.hermite_e.hermegauss(count)
        assert nodes == pytest.approx(theirs, rel=1e-12, abs=1e-15)
        assert weights == pytest.approx(chances / chances.sum(), rel=1e-12)
    normal = [NormalDist().inv_cdf((step + 0.5) / 32) for step in range(32)]
    assert pytest.approx(normal, rel=1e-12) == schedules.QUANTILES
