"""Public parameters of the learners: fixed before any data, recorded in the store."""

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Literal, Self

from littled.budget.rounding import to_text

Selection = Literal["dense", "sparse"]
Accounting = Literal["pure", "zcdp"]
Keep = Literal["examples", "mistakes", "both"]


@dataclass(frozen=True, slots=True)
class OnlineParameters:
    """Public parameters of the online learner.

    Privacy-critical (they set prices): `epsilon`, `horizon`, `trigger_rate`, `selection`,
    `selection_rate`, `selection_accounting`, `draws`, `list_cap`, `bottom_score`, `teachers`,
    `stage_rate`, `calls_max`. Utility only: `noise_rate`, `trigger_threshold`, `buffer`,
    `background_max`.

    - `horizon`: examples in a season.
    - `noise_rate`: share of labels that may contradict the best rule; the trigger counts mistakes
      beyond it.
    - `trigger_rate`, `trigger_threshold`: e and U of Lemma A (PRIVACY.md).
    - `selection_rate`: e of one unit of score; `draws`: R, odd.
    - `teachers`: k of Algorithm 4, or None where every example is a teacher of its own.
    - `stage_rate`: e of the stage test of Algorithm 4, or None where bottom is taken as Below.
    - `calls_max`: calls of joint training that the season's caps have room for.
    - `buffer`: what an epoch keeps: a background sample of all examples, mistakes, or both;
      `background_max`: size of the background (0 for "mistakes").
    """

    epsilon: Fraction
    horizon: int
    noise_rate: Fraction
    trigger_rate: Fraction
    trigger_threshold: int
    selection: Selection
    selection_rate: Fraction
    selection_accounting: Accounting
    draws: int
    calls_max: int
    buffer: Keep
    background_max: int = 0
    list_cap: int = 0
    bottom_score: int = 0
    teachers: int | None = None
    stage_rate: Fraction | None = None

    @property
    def keeps_mistakes(self) -> bool:
        """Whether the epoch's mistakes are kept whatever their priority."""
        return self.buffer != "examples"

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; fractions as "numerator/denominator"."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The parameters that `to_dict` wrote; ValueError names what is missing or unknown."""
        known = {each.name for each in fields(cls)}
        if set(values) != known:
            odd = ", ".join(sorted(known ^ set(values)))
            raise ValueError(f"stored parameters of the online learner differ in: {odd}")
        fractions = {"epsilon", "noise_rate", "trigger_rate", "selection_rate", "stage_rate"}
        read: dict[str, Any] = {
            name: Fraction(value) if name in fractions and value is not None else value
            for name, value in values.items()
        }
        return cls(**read)


def _plain(value: object) -> object:
    return to_text(value) if isinstance(value, Fraction) else value
