"""The hard budget: a filter with public caps.

Source: Feldman and Zrnic, "Individual Privacy Accounting via a Renyi Filter" (2021); Whitehouse,
Ramdas, Rogers, Wu, "Fully Adaptive Composition in Differential Privacy" (2023), for approximate
zCDP.

When a season opens, its budget is caps, one for each amount of a price. An action is
admitted before it runs, only if every sum stays within its cap; prices depend on what is already
public only. So on every path of an interaction, whatever was asked after seeing whatever was
released, the admitted prices sum to at most the caps. By induction over the actions, conditioned
on the first parts of all mixtures (see `littled.budget.price`), for every Renyi order a the
divergence of the two transcripts is at most the largest sum of epsilon_pure_i + a * (rho_i +
gaussian_i) over all paths, hence at most epsilon_pure + a * (rho + gaussian); the mass outside is
at most delta. Without a rho they are sqrt(2 gaussian)-GDP but for the pure parts (PRIVACY.md,
"Gaussian differential privacy"), and for draws that stand beside them ("Parts side by side").

Actions that release step by step while others run (the triggers of a season, a segment of stage
tests) are admitted as a whole when they begin, and are pure, or pure outside a set of transcripts
of mass delta_i (Lemma D, one-sided; PRIVACY.md, Composition): whatever the others release in
between, the ratio of their own factors of a transcript's probability is at most exp(epsilon_i) on
every transcript that is left. So this factor can be taken out of every Renyi integral, and the
induction over the remaining actions, each a single release, goes on unchanged.

Fresh selections (`PrepaidSelection`) are admitted as one when the season opens, and each of them
at the price 0. Fix the position t* at which two streams differ. For the induction, a call's price
is that of one selection, rho_c and the mass w_c outside its mixture's first part, if its epoch
contains t*; otherwise it is 0, as the call's factors are equal on both sides. Both are functions of
the transcript before the draw: the limits of epochs are public. On every path at most one call of a
learner has another price than 0, so that these prices sum, on every path, to at most what was
admitted at the opening, and both inductions (over Renyi orders, and over the mass outside) hold
with the admitted amounts (PRIVACY.md, Composition).

Squares of mu add up under the same filter: mu_i is a function of what is public before the i-th
release, and so is what is left of the cap. Backwards, from the last release to the first, what
follows is mu-GDP with mu^2 the double of what is left: a release takes mu_i^2 of that, whatever it
turns out to be, and two that follow each other compose (PRIVACY.md, "Gaussian differential
privacy").

The same admissions serve all orders at once, so the order that converts best may be chosen
(`littled.budget.conversion.guarantee`). A refusal is a function of public values and costs nothing.
"""

from dataclasses import dataclass
from typing import Self

from littled.budget.price import Price


class BudgetRefused(Exception):
    """An action does not fit: what was spent, what was asked, what was left. All public."""

    def __init__(self, spent: Price, asked: Price, left: Price) -> None:
        """Keep the three prices and say them in one sentence."""
        super().__init__(
            f"the budget does not allow an action of ({asked.in_words()}): "
            f"({left.in_words()}) is left after spending ({spent.in_words()})"
        )
        self.spent = spent
        self.asked = asked
        self.left = left

    def __reduce__(self) -> tuple[type[Self], tuple[Price, Price, Price]]:
        """Prices, not the sentence, make an equal refusal in another process."""
        return type(self), (self.spent, self.asked, self.left)


@dataclass(frozen=True, slots=True)
class PrivacyFilter:
    """The caps of one season and what is spent of them: a value, so a refusal changes nothing.

    ValueError if more is spent than the caps allow.
    """

    caps: Price
    spent: Price

    def __post_init__(self) -> None:
        """Refuse a state that no sequence of admissions leads to."""
        if not self.spent.fits_in(self.caps):
            raise ValueError("more privacy budget is spent than its caps allow")

    @property
    def left(self) -> Price:
        """What may still be spent, amount by amount."""
        caps, spent = self.caps, self.spent
        return Price(
            caps.epsilon_pure - spent.epsilon_pure,
            caps.rho - spent.rho,
            caps.delta - spent.delta,
            caps.gaussian - spent.gaussian,
        )

    def admit(self, asked: Price) -> "PrivacyFilter":
        """The filter after an action of this price; BudgetRefused if it does not fit.

        After a refusal a smaller request may still pass.
        """
        spent = self.spent + asked
        if not spent.fits_in(self.caps):
            raise BudgetRefused(self.spent, asked, self.left)
        return PrivacyFilter(self.caps, spent)
