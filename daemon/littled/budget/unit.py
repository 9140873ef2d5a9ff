"""What a budget protects: one example, or one user with all of their examples of a season."""

from dataclasses import dataclass
from typing import Any, Self

WORDS = ("example", "user")
# Examples that one user may have in a season: more than any budget pays for.
USER_EXAMPLES_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Unit:
    """What (epsilon, delta) protects, as PRIVACY.md, "User-level privacy", says.

    `user_examples_max`: c >= 1, how many examples of one user and season a learner keeps at the
    most, where users are protected; None where single examples are. `EXAMPLE` is the latter.

    ValueError, one sentence, for any other number.
    """

    user_examples_max: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no number of examples."""
        most = self.user_examples_max
        if most is not None and not (type(most) is int and 1 <= most <= USER_EXAMPLES_MAX):
            raise ValueError(
                f"user_examples_max must be an integer from 1 to {USER_EXAMPLES_MAX:,}"
            )

    @classmethod
    def of(cls, word: str, user_examples_max: int | None = None) -> Self:
        """The unit that is written as a word and, for users, as a number, which is 1 unless given.

        ValueError, one sentence, for another word, or a number of examples without users.
        """
        if word not in WORDS:
            raise ValueError(f"unit must be one of {', '.join(WORDS)}")
        if word == "user":
            return cls(1 if user_examples_max is None else user_examples_max)
        if user_examples_max not in (None, 1):
            raise ValueError('user_examples_max is for streams with unit = "user" only')
        return cls()

    @property
    def word(self) -> str:
        """The word for it: "example" or "user"."""
        return "example" if self.user_examples_max is None else "user"

    @property
    def is_user(self) -> bool:
        """Whether users are protected."""
        return self.user_examples_max is not None

    @property
    def examples(self) -> int:
        """Examples that two neighbouring streams have on either side: c of a user, else 1."""
        return 1 if self.user_examples_max is None else self.user_examples_max

    def to_dict(self) -> dict[str, Any]:
        """The word and the number of examples, as plans are stored with them."""
        return {"unit": self.word, "user_examples_max": self.examples}


EXAMPLE = Unit()
