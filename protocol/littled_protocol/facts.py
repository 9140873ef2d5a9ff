"""What daemons tell as JSON: status, releases, figures, answers. All of it is public.

These are the types of what the program writes; the JSON Schemas that are served and stand in the
documentation are made of them. Programs have to expect further keys of later versions.
"""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from littled_protocol import limits
from littled_protocol.described import Count, Says
from littled_protocol.encodings.fields import SchemaFields
from littled_protocol.messages import NAME
from littled_protocol.rules.fields import RuleFields, WordsFacts, WordsFields

LearnerName = Annotated[str, Says("STREAM/LEARNER", pattern=f"^{NAME.pattern}/{NAME.pattern}$")]
Instance = Annotated[str, Says("what the store is called, which no other is")]
Epsilon = Annotated[float, Says(minimum=0)]
Share = Annotated[float, Says(minimum=0, maximum=1)]
Fraction = Annotated[
    str, Says("an exact fraction, as numerator/denominator", pattern="^[0-9]+(/[0-9]+)?$")
]
ReleaseKind = Annotated[
    str,
    Says(
        "rule: a new one; halt: no more in this season; season: a new season with a new budget",
        enum=["rule", "halt", "season"],
    ),
]
Labels = list[Annotated[int, Says(minimum=0, maximum=1)]]
Version = Annotated[int, Says("counts the learner's releases from 1", minimum=1)]
Request = Annotated[
    str,
    Says(
        "32 hexadecimal digits, by which the same question may be asked again",
        pattern=f"^[0-9A-Fa-f]{{{2 * limits.request_bytes}}}$",
    ),
]


class PriceFacts(TypedDict):
    """What something costs: amounts that are added separately."""

    epsilon_pure: Fraction
    rho: Fraction
    delta: Fraction
    gaussian: NotRequired[
        Annotated[Fraction, Says("mu^2 / 2 of what is mu-GDP; left out where it is 0")]
    ]


class CallFacts(TypedDict):
    """What one more call of a learner adds to the epsilon of the season."""

    epsilon: Epsilon
    fits: Annotated[bool, Says("whether the budget of the season has that left")]


class FigureFacts(TypedDict):
    """How often rules were wrong in one period, with an interval that holds with `level`."""

    error_rate: Share
    error_rate_lower: Share
    error_rate_upper: Share
    level: Share
    number: Annotated[int, Says("counts figures from 1", minimum=1)]
    season: Count
    first_position: Count
    position: Annotated[int, Says("where the period ended", minimum=0)]
    first_version: Count
    last_version: Count
    examples_counted: NotRequired[Annotated[int, Says("with noise", minimum=0)]]


class QualityFacts(TypedDict, total=False):
    """How often rules are wrong: the last figure, if there is one, and when the next comes."""

    period_examples: Annotated[int, Says(minimum=1)]
    next_position: Annotated[int | None, Says("null where the season has no further one")]
    error_rate: Share
    error_rate_lower: Share
    error_rate_upper: Share
    level: Share
    number: Annotated[int, Says(minimum=1)]
    season: Count
    first_position: Count
    position: Count
    first_version: Count
    last_version: Count
    examples_counted: Count


class KindFacts(TypedDict, total=False):
    """What a learner that publishes at fixed times says of itself."""

    kind: str
    method: str
    window_examples: Annotated[int, Says(minimum=1)]
    batch_examples: Annotated[int, Says(minimum=1)]
    epoch_examples: Annotated[int, Says(minimum=1)]


class StateFacts(TypedDict):
    """A learner that publishes rules, as of its last release."""

    words: WordsFacts
    version: Annotated[int, Says(minimum=0)]
    epoch: Count
    halted: Annotated[bool, Says("whether it publishes nothing more in this season")]
    rule: Annotated[str, Says("in words")]


class CallsFacts(TypedDict):
    """How many rules may still follow in the season."""

    calls_left: Annotated[int, Says(minimum=0)]
    next_call: CallFacts | None


class MeasuredFacts(TypedDict, total=False):
    """How good the rules of a learner are, where that is measured."""

    quality: QualityFacts


class LearnerFacts(StateFacts, CallsFacts, KindFacts, MeasuredFacts):
    """A learner that publishes rules."""


class AnsweringFacts(TypedDict):
    """A learner that answers questions."""

    kind: str
    words: WordsFacts
    x_type: NotRequired[str]
    method: str
    window_examples: Annotated[int, Says(minimum=1)]
    window: Annotated[int | None, Says("that answers now; null before the first is full")]
    window_first: Annotated[int | None, Says("position of its first example")]
    window_last: int | None
    answers_given: Count
    answers_left: Count
    answer_price: PriceFacts
    next_window: Annotated[int, Says("length of the stream with which the next one is full")]


class _SeasonFacts(TypedDict):
    stream: str
    position: Annotated[int, Says("examples that are durable", minimum=0)]
    season: Annotated[int, Says("from 0 on", minimum=0)]
    horizon: Annotated[int, Says("examples of a season", minimum=1)]
    epsilon: Annotated[float, Says("of a season", minimum=0)]
    delta: Share
    spent: PriceFacts
    caps: PriceFacts
    restores: NotRequired[Annotated[int, Says("how often an older copy was gone on from")]]
    closed: NotRequired[Annotated[bool, Says("true where no more examples and answers come")]]


class EngineFacts(_SeasonFacts):
    """A stream, as of its last release."""

    learners: dict[str, LearnerFacts]


class StreamFacts(_SeasonFacts):
    """A stream: its budget, its position, its learners."""

    x_type: Annotated[str, Says("the type of its points")]
    schema: NotRequired[SchemaFields]
    unit: Annotated[Literal["example", "user"], Says("what is protected")]
    user_examples_max: NotRequired[Annotated[int, Says("of one user and season", minimum=1)]]
    x_greatest: NotRequired[Annotated[int, Says("the greatest number that a point may have")]]
    epsilon_spent: Epsilon
    epsilon_prepaid: Annotated[float, Says("paid when a season opens", minimum=0)]
    learners: dict[str, LearnerFacts | AnsweringFacts]


class StatusFacts(TypedDict):
    """Every stream that whoever asks may see."""

    server: Annotated[str, Says("name and version of the daemon")]
    instance: Instance
    streams: dict[str, StreamFacts]
    more: NotRequired[Annotated[bool, Says("true where a page was asked for and others follow")]]


class ReleaseFacts(TypedDict):
    """One release of a learner, with its rule ready to use: also what `littled rule` exports."""

    learner: LearnerName
    version: Version
    kind: ReleaseKind
    season: Count
    epoch: Count
    position: Annotated[int, Says("examples of the stream before it", minimum=0)]
    text: Annotated[str | None, Says("the rule in words")]
    words: WordsFields | None
    rule: Annotated[RuleFields | None, Says("over points; null where there is none")]


class ShortRelease(TypedDict):
    """One release without its rule."""

    version: Version
    kind: ReleaseKind
    season: Count
    epoch: Count
    position: Count
    text: str | None
    cut: Annotated[float | None, Says("from which number on the label is 1, where it is so")]


class HistoryFacts(TypedDict):
    """Releases of a learner, oldest first."""

    learner: LearnerName
    releases: list[ShortRelease]
    more: Annotated[bool, Says("whether there are later ones")]


class PeriodsFacts(TypedDict):
    """The figures of a learner whose rules are measured, oldest first."""

    learner: LearnerName
    periods: list[FigureFacts]


class _Question(TypedDict):
    learner: LearnerName
    request: NotRequired[Annotated[Request | None, Says("made up where it is left out")]]


_Number = int | Annotated[str, Says("digits, or an address")]
_Point = _Number | list[_Number]


class ValuesQuestion(_Question):
    """A question about values in the stream's own units."""

    values: Annotated[
        list[_Point | dict[str, int | float | str | bool | None]],
        Says(
            "numbers, texts of digits, addresses, lists of features, or rows by their columns",
            minItems=1,
            maxItems=limits.predict_points_max,
        ),
    ]


class PointsQuestion(_Question):
    """A question about points."""

    x: Annotated[
        list[_Point],
        Says("values less the offset", minItems=1, maxItems=limits.predict_points_max),
    ]


class PredictionFacts(TypedDict):
    """Answers to a question."""

    learner: LearnerName
    request: Request
    y: Labels
    window: Count
    left: Annotated[int, Says("answers that the window has left", minimum=0)]
    repeated: Annotated[bool, Says("whether it was answered before, and costs nothing")]


class ErrorFacts(TypedDict):
    """Why a request was refused, in one sentence that holds no private value."""

    error: str


class ElsewhereFacts(ErrorFacts):
    """That another daemon serves the stream, and where; nobody does now without addresses."""

    stream: str
    addresses: Annotated[
        list[str],
        Says(
            "for clients of the protocol: unix:PATH, HOST:PORT or tls://HOST:PORT, the best first"
        ),
    ]


class RefusalFacts(ErrorFacts, total=False):
    """Why a question was refused; the learner's facts where it was the learner that refused."""

    learner: LearnerName
    request: Request
    code: str
    asked: Count
    spent: Count
    left: Count
    window: int | None
    next_window: int | None


class FeedErrorFacts(ErrorFacts, total=False):
    """Why rows were refused; where the producer goes on, if some are missing before them."""

    next_sequence: Count


class ProducerFacts(TypedDict):
    """Where a producer goes on."""

    stream: str
    producer: str
    next_sequence: Annotated[int, Says("the number of its next row", minimum=0)]
    position: Annotated[int, Says("examples that the stream has", minimum=0)]


class FedFacts(ProducerFacts):
    """Rows are durable."""

    accepted: Annotated[int, Says("rows that were new", minimum=0)]


class HelloFacts(TypedDict):
    """The first event."""

    instance: Instance


class TickFacts(TypedDict):
    """How many examples of each stream are durable."""

    positions: dict[str, int]


class QualityEventFacts(FigureFacts):
    """A figure of a learner."""

    learner: LearnerName
