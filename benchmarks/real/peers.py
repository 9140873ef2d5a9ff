"""Without privacy: online learners that people use, on the same buckets.

Numbers are the numbers of their buckets, with a flag where they are missing; categories and parts
of times are one flag for each bucket, or texts where a learner takes texts.
"""

import importlib.util
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real.features import has_missing, is_number, names_of
from benchmarks.real.method import Method, Setting
from benchmarks.real.streams import Flags, RealStream

Predict = Callable[[dict[str, Any], dict[str, Any], bool], bool]


class Peer(Method):
    """A learner of another package, without privacy and without chance."""

    private, seeded = False, False
    package: str

    def refusal(self, stream: RealStream, epsilon: str) -> str | None:
        """Packages need not be installed."""
        if importlib.util.find_spec(self.package) is None:
            return f"{self.package} is not installed"
        return None


class RiverPeer(Peer):
    """Learners of River, one example after the other."""

    package = "river"

    def wrong(self, stream: RealStream, epsilon: str, seed: int, setting: Setting) -> Flags:
        """Predict, then learn."""
        step = self.step(setting)
        rows = zip(_cells(stream), (stream.y == 1).tolist(), strict=True)
        said = np.fromiter((step(*cells, label) for cells, label in rows), np.bool_, len(stream))
        wrong: Flags = said != (stream.y == 1)
        return wrong

    @abstractmethod
    def step(self, setting: Setting) -> Predict:
        """What predicts one example, of numbers and categories, and then learns its label."""


class RiverLogistic(RiverPeer):
    """Logistic regression by stochastic gradient descent; numbers go through StandardScaler."""

    name, title = "river-logistic", "River, logistic"

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Learning rates."""
        return tuple({"rate": rate} for rate in (0.003, 0.01, 0.03, 0.1))

    def step(self, setting: Setting) -> Predict:
        """The scaler learns each row before it scales it, as in River's pipelines."""
        from river import linear_model, optim, preprocessing  # noqa: PLC0415 - of an extra

        scaler = preprocessing.StandardScaler()
        rate = float(setting["rate"])
        model = linear_model.LogisticRegression(optim.SGD(rate), intercept_lr=rate)

        def step(numbers: dict[str, Any], categories: dict[str, Any], label: bool) -> bool:
            scaler.learn_one(numbers)
            x = scaler.transform_one(numbers)
            for name, value in categories.items():
                x[f"{name}={value}"] = 1.0
            said = bool(model.predict_one(x))
            model.learn_one(x, label)
            return said

        return step


class RiverTree(RiverPeer):
    """A Hoeffding tree."""

    name, title = "hoeffding-tree", "Hoeffding tree"

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Examples between looks for a split."""
        return tuple({"grace": grace} for grace in (50, 200, 1000))

    def step(self, setting: Setting) -> Predict:
        """Texts are nominal attributes."""
        from river import tree  # noqa: PLC0415 - of an extra

        model = tree.HoeffdingTreeClassifier(grace_period=int(setting["grace"]))

        def step(numbers: dict[str, Any], categories: dict[str, Any], label: bool) -> bool:
            x = {**numbers, **categories}
            said = bool(model.predict_one(x))
            model.learn_one(x, label)
            return said

        return step


def _cells(stream: RealStream) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Numbers and categories of each row, as dicts."""
    names = names_of(stream)
    kinds = list(zip(names, is_number(stream), has_missing(stream), strict=True))
    for row in stream.rows.tolist():
        numbers: dict[str, Any] = {}
        categories: dict[str, Any] = {}
        for (name, number, missing), bucket in zip(kinds, row, strict=True):
            if not number:
                categories[name] = f"b{bucket}"
            elif missing and bucket == 0:
                categories[f"{name} missing"] = "yes"
            else:
                numbers[name] = float(bucket)
        yield numbers, categories


class VowpalWabbit(Peer):
    """Vowpal Wabbit's logistic regression with its defaults: normalised, adaptive, invariant."""

    name, title, package = "vowpal-wabbit", "Vowpal Wabbit", "vowpalwabbit"

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Learning rates."""
        return tuple({"rate": rate} for rate in (0.5, 2.0, 8.0))

    def wrong(self, stream: RealStream, epsilon: str, seed: int, setting: Setting) -> Flags:
        """A file in, its progressive predictions out."""
        from vowpalwabbit import pyvw  # noqa: PLC0415 - of an extra

        with tempfile.TemporaryDirectory() as name:
            data, said = Path(name) / "data.txt", Path(name) / "said.txt"
            data.write_text(_vw_text(stream), encoding="utf-8")
            options = f"--loss_function logistic -l {setting['rate']} --no_stdin --quiet"
            pyvw.Workspace(f"{options} -d {data} -p {said}").finish()
            scores = np.loadtxt(said)
        assert len(scores) == len(stream)
        wrong: Flags = (scores > 0) != (stream.y == 1)
        return wrong


@lru_cache(maxsize=1)
def _vw_text(stream: RealStream) -> str:
    """The stream in Vowpal Wabbit's format; numbers are shares of their range."""
    sizes = dict(zip(names_of(stream), stream.sizes, strict=True))
    lines = []
    for (numbers, categories), label in zip(_cells(stream), stream.y.tolist(), strict=True):
        shares = [f"{_vw_name(k)}:{v / sizes[k]:.4f}" for k, v in numbers.items()]
        flags = [f"{_vw_name(k)}={v}" for k, v in categories.items()]
        lines.append(f"{2 * label - 1} | {' '.join(shares + flags)}\n")
    return "".join(lines)


def _vw_name(name: str) -> str:
    return name.replace(" ", "_")
