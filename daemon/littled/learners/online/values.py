"""The values of an online learner's parameters, as a store records them, and what they mean.

What values may be, and which of them go together, is in `littled.learners.online.parameters`.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from littled.learners.online.groups import GroupSettings
from littled.learners.online.memory import MemorySettings
from littled.learners.online.pool import PoolSettings

Accounting = Literal["pure", "zcdp"]
Keep = Literal["examples", "mistakes", "both"]
Tests = Literal["above_threshold", "cohen_lyu"]


@dataclass(frozen=True, slots=True)
class EpochSettings:
    """What a ladder sets of an epoch: the threshold U, and for closures the teachers k."""

    trigger_threshold: int
    teachers: int | None = None


@dataclass(frozen=True, slots=True)
class ParameterValues:
    """Values of the public parameters of the online learner, fixed before any data.

    Privacy-critical (they set prices): `epsilon`, `horizon`, `trigger_rate`, `selection`,
    `selection_rate`, `selection_accounting`, `draws`, `list_cap`, `bottom_score`, `teachers`,
    `stage_rate`, `calls_max`, `fresh`, `tests`, `tests_failure`, `user_examples_max`,
    `threshold_rate`, `warmup_ends`, `groups.tested_every`; where users are protected, `buffer` and
    whether there is a background; where a histogram is booked as zCDP, whether `noise_rate` is 0.
    Utility only: all others.

    - `horizon`: examples in a season.
    - `noise_rate`: share of labels that may contradict the best rule; the trigger counts mistakes
      beyond it.
    - `trigger_rate`, `trigger_threshold`: e and U of Lemma A (PRIVACY.md).
    - `selection`: the word of a way of selection, `littled.learners.online.selections.register`.
    - `selection_rate`: e of one unit of score; `draws`: R, odd.
    - `teachers`: k of Algorithm 4 or of the closures; None where every example is a teacher of its
      own.
    - `stage_rate`: e of the stage test of Algorithm 4, or None where bottom is taken as Below.
    - `calls_max`: calls of joint training that the season's caps have room for.
    - `buffer`: what an epoch keeps: a background sample of all examples, mistakes, or both;
      `background_max`: size of the background (0 for "mistakes").
    - `ladder`: after j >= 1 calls in a row that kept the rule, entry min(j, length) is in force in
      place of `trigger_threshold` and, for closures, of `teachers`; a call that changes the rule
      goes back to those. For dense selection, which hardly ever keeps a rule, j counts all calls of
      the season.
    - `fresh`: a call sees what its own epoch has kept and nothing older, or with a `pool` what was
      held back for it alone, so an example is in one selection at most; all selections of a season
      are charged as one, when it opens.
    - `tests`: how the trigger and the stage test are made private; `tests_failure`: f of Lemma D
      (PRIVACY.md), the failure mass of the trigger and of each segment of stage tests.
    - `schedule_first`: epochs end at public times instead of when a trigger fires: once the season
      has had so many examples, twice as many, four times, and so on; or None for a trigger.
      `calls_max` is then the number of these times before the season's last example.
    - `schedule_cap`: with a schedule, the most examples of an epoch, at least `schedule_first`:
      epochs double only until they would be longer, and each one after that is as long as this.
      None where they double for ever; plans that have none are stored without it.
    - `mistakes_max`: with a schedule, about how many mistakes an epoch keeps at the most: those at
      a public share of its positions, which secret words choose.
    - `user_examples_max`: c of "User-level privacy" (PRIVACY.md): of one user and season so many
      mistakes are counted by the trigger and so many examples kept, at the most, and everything is
      priced for a user's examples together; None where one example is protected.
    - `memory`: the settings of a public memory; None for ways of selection without one.
    - `threshold_rate`: where users are protected, the rate e_1 of the noise on the trigger's
      threshold, if it is another one than that on its steps, e_2 = `trigger_rate` (Lemma U); None
      for the same. Plans that have none are stored without it. For tallies e_1 of Lemma T, where
      `selection_rate` is e_2.
    - `pool`: how fresh dense selections hold examples back for later calls; None if they do not.
      Plans that have none are stored without it.
    - `published_score`: for tallies of ids, the threshold B' of an id that is published, which is
      tested from then on without any votes; None where published ids have `bottom_score` too, and
      are tested from their first vote on. Plans that have none are stored without it.
    - `groups`: who votes for closures, and when they are tested; None for other ways of selection.
      Plans that have none are stored without it.
    - `starts_over`: for closures, whether an example that no rule around the published one fits
      speaks for the class's smallest rule, from which everything begins anew; without it rules only
      grow. Plans that have it not are stored without it.
    - `starts_over_together`: where closures are proposed and start over, whether a teacher speaks
      for the smallest rule as well if no rule around the published one fits all examples of theirs,
      though one fits each of these. Plans that have it not are stored without it.
    - `warmup_ends`: the warm-up: in a stream's first season the first epochs end once there were so
      many examples, whatever the trigger would say, and their selections have its part of epsilon
      too (PRIVACY.md, "Warm-up"). Empty where the trigger ends all epochs; plans that have none are
      stored without it.
    """

    epsilon: Fraction
    horizon: int
    noise_rate: Fraction
    trigger_rate: Fraction
    trigger_threshold: int
    selection: str
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
    ladder: tuple[EpochSettings, ...] = ()
    fresh: bool = False
    tests: Tests = "above_threshold"
    tests_failure: Fraction = Fraction(0)
    schedule_first: int | None = None
    mistakes_max: int = 0
    user_examples_max: int | None = None
    memory: MemorySettings | None = None
    threshold_rate: Fraction | None = None
    pool: PoolSettings | None = None
    groups: GroupSettings | None = None
    schedule_cap: int | None = None
    published_score: int | None = None
    starts_over: bool = False
    starts_over_together: bool = False
    warmup_ends: tuple[int, ...] = ()

    @property
    def has_tallies(self) -> bool:
        """Whether each candidate has a threshold of its own, and an epoch ends when one passes."""
        return self.selection in ("tally", "closure-tally")

    @property
    def first_threshold(self) -> int:
        """U of the first epoch, or B where there are tallies: about so many mistakes end it."""
        return self.bottom_score if self.has_tallies else self.trigger_threshold

    @property
    def keeps_mistakes(self) -> bool:
        """Whether the epoch's mistakes are kept whatever their priority."""
        return self.buffer != "examples"

    @property
    def user_epochs_max(self) -> int:
        """Epochs of fresh selections in which kept examples of one user can be; 1 for an example.

        c of the user and c of whoever takes their place: in the same epochs, if all that decides
        which examples are kept is their positions; in up to 2c, if mistakes are kept.
        """
        if self.user_examples_max is None:
            return 1
        sides = 2 if self.keeps_mistakes else 1
        return max(1, min(self.calls_max, sides * self.user_examples_max))

    @property
    def all_settings(self) -> tuple[EpochSettings, ...]:
        """All settings that can be in force: those that a season begins with, then the ladder."""
        return (EpochSettings(self.trigger_threshold, self.teachers), *self.ladder)

    @property
    def chooses_teachers(self) -> bool:
        """Whether any settings share the kept examples out to a number of teachers."""
        return any(settings.teachers is not None for settings in self.all_settings)

    def settings(self, calls: int) -> EpochSettings:
        """The settings in force after so many of the calls that the ladder counts; public."""
        return self.all_settings[min(calls, len(self.ladder))]

    @property
    def warmup_rate(self) -> Fraction:
        """e_w of one unit of score in the warm-up: a draw costs what trigger and draw cost later.

        2 e_w = e_t + 2 e_s.
        """
        return self.trigger_rate / 2 + self.selection_rate

    def warmup_length(self, season: int, calls: int) -> int | None:
        """Examples of the epoch after so many calls of a season; None if it is no warm-up. Public.

        A later season begins with the rule of the one before, and has none.
        """
        if season or calls >= len(self.warmup_ends):
            return None
        return self.warmup_ends[calls] - (self.warmup_ends[calls - 1] if calls else 0)

    def epoch_length(self, calls: int) -> int | None:
        """Examples of the scheduled epoch after so many calls; None: it has no end of its own.

        A call after the season's last example would be of no use. Public.
        """
        first, cap = self.schedule_first, self.schedule_cap
        if first is None or calls >= scheduled_calls(first, self.horizon, cap):
            return None
        doubled = first << max(min(calls, self.horizon.bit_length()) - 1, 0)
        return doubled if cap is None else min(doubled, cap)


def scheduled_calls(first: int, horizon: int, cap: int | None = None) -> int:
    """Calls of a season with a schedule: at first, 2 first, 4 first, ... below the horizon.

    With a `cap` epochs that would be longer have so many examples.
    """
    doublings = (-(-horizon // first) - 1).bit_length()
    if cap is None:
        return doublings
    doubled = 1 + (cap // first).bit_length()  # the epochs that a cap leaves as they are
    if doubled > doublings:
        return doublings
    end = first << (doubled - 1)
    return doubled + (horizon - 1 - end) // cap
