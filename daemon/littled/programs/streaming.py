"""The private online learner as a classifier of River, in this process.

    model = PrivateRiverClassifier(columns={"income": {"kind": "number", ...}}, seed=1)
    evaluate.progressive_val_score(stream, model, metrics.Accuracy())

It is `PrivateOnlineClassifier` behind the interface of River, which clones and copies estimators in
its own ways. The contracts of River and of scikit-learn cannot be one class: each wants to make
`clone`, `repr` and parameters itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from river import base

from littled.programs.estimator import Budget, PrivateOnlineClassifier
from littled.programs.ledgers import Ledger
from littled_client.rule import Rule


class PrivateRiverClassifier(base.Classifier):  # type: ignore[misc]
    """A differentially private online classifier for two labels, for River.

    Guarantee, budgets and ledgers are those of `PrivateOnlineClassifier`: clones and copies spend
    from one ledger, made with the first of them unless one is given, and a training that does not
    fit is refused (LedgerExceeded) at its first example. Its rule says yes or no, so there are no
    probabilities: `predict_proba_one` raises NotImplementedError, as River has it. Examples that
    lack a feature of the first one, or a column, are refused: columns are public, and fixed.

    Parameters
    ----------
    rules, columns, bounds, steps, epsilon, delta, horizon, noise_rate, adversary, selection
        As of `PrivateOnlineClassifier`.
    classes
        Both labels, of which the one that sorts last is positive; None for booleans.
    ledger
        What all clones may spend together; None for one with this epsilon and delta.
    budget
        "shared", or "each" where the data is public.
    seed
        An integer, for noise that can be seen again, and so hides nothing; None for secret noise.
    """

    def __init__(
        self,
        rules: str | Mapping[str, Mapping[str, Any]] | None = None,
        *,
        columns: Mapping[str, Mapping[str, Any]] | None = None,
        bounds: tuple[Any, Any] = (-4.0, 4.0),
        steps: int = 64,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        horizon: int = 1_000_000,
        noise_rate: float | None = None,
        adversary: str = "oblivious",
        selection: str = "auto",
        classes: Sequence[Any] | None = None,
        ledger: Ledger | None = None,
        budget: Budget = "shared",
        seed: int | None = None,
    ) -> None:
        """Keep the settings, and the ledger, which River's clones are then made with."""
        self.rules = rules
        self.columns = columns
        self.bounds = bounds
        self.steps = steps
        self.epsilon = epsilon
        self.delta = delta
        self.horizon = horizon
        self.noise_rate = noise_rate
        self.adversary = adversary
        self.selection = selection
        self.classes = classes
        self.ledger = Ledger(epsilon, delta) if ledger is None and budget != "each" else ledger
        self.budget = budget
        self.seed = seed
        settings = {**self._get_params(), "ledger": self.ledger}
        self._model = PrivateOnlineClassifier(random_state=settings.pop("seed"), **settings)

    def learn_one(self, x: Mapping[str, Any], y: Any) -> None:
        """Learn from one example; ValueError for one that does not fit, LedgerExceeded."""
        self._model.learn_one(_ordered(x), bool(y) if self.classes is None else y)

    def predict_one(self, x: Mapping[str, Any], **_: Any) -> Any:
        """The label of one example by the published rule; None before anything was learned."""
        return self._model.predict_one(_ordered(x))

    @property
    def rule(self) -> Rule:
        """The rule that is published, with its words."""
        return self._model.rule_

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """Public data, and noise that can be seen again."""
        yield {"budget": "each", "seed": 1, "horizon": 10_000, "steps": 16}

    def _unit_test_skips(self) -> set[str]:
        """Checks that hand over examples without some of the features: these are refused."""
        return {
            "check_emerging_features",
            "check_disappearing_features",
            "check_radically_disappearing_features",
        }


def _ordered(x: Mapping[str, Any]) -> dict[str, Any]:
    """The same features in the order of their names, as that of a dict means nothing in River."""
    return {name: x[name] for name in sorted(x, key=str)}
