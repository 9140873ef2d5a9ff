"""The configuration of a store: streams with their budgets, and the learners of each stream.

A configuration is a TOML file. Numbers keep the decimal digits that were written, so that a budget
of 0.1 is one tenth and not the nearest binary fraction. Whatever is wrong with a file is said in
one sentence that names the key by its dotted path, for example `streams.flights.epsilon`.
"""

import difflib
import tomllib
import typing
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from littled.classes import ClassError, HypothesisClass, class_from_name
from littled.planner import (
    EXCESS_ERROR,
    LearnerRequest,
    PaperConstants,
    PredictionRequest,
    StreamRequest,
)
from littled.tables import TABLE_PREFIX, TableFileError, read_table
from littled_protocol import limits
from littled_protocol.rules import Words

CONFIGURATION_BYTES_MAX = 1 << 20  # a file somebody wrote by hand is far smaller
STREAMS_MAX = 256  # each stream has a thread and a journal of its own
LEARNERS_PER_STREAM_MAX = 64  # all of them share one budget
TEACHERS_MAX = 100_000  # each teacher has a data set of its own
PAPER_CONSTANT_MAX = 10**6  # far beyond any number of teachers that a machine can train
HORIZON_MAX = 10**15  # positions stay far inside 63 bits
WINDOW_MAX = 10**7  # a window is prepared in memory, with up to 80 bytes for each example
ANSWERS_MAX = 10**9  # of one window
EPSILON_MIN, EPSILON_MAX = Decimal("1e-6"), Decimal("1e4")
DELTA_MIN = Decimal("1e-30")
WORDS_CHARACTERS_MAX = 80  # a rule in words stays one line
OFFSET_MAX = 2**63  # numbers that people read fit into 64 bits
SHOWN_CHARACTERS_MAX = 60  # of a wrong value, in the sentence about it
SHOWN_BITS_MAX = 128
# As in the protocol: names become parts of paths, table keys and metric labels.
NAME_PATTERN = rf"^[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{limits.name_characters_max - 1}}}$"

Name = Annotated[str, Field(pattern=NAME_PATTERN)]


class ConfigurationError(ValueError):
    """Something is wrong with a configuration; one sentence that names the key."""


def _decimal(value: Any) -> Decimal:
    """A number as it was written; texts and truth values are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise PydanticCustomError("number", "must be a number")
    return Decimal(value)


def _printable(text: str) -> str:
    """Words stand in one line of a terminal, a page or a log."""
    if not text.isprintable():
        raise ValueError("must be one line of printable characters")
    return text


Number = Annotated[Decimal, BeforeValidator(_decimal)]
Text = Annotated[str, Field(max_length=WORDS_CHARACTERS_MAX), AfterValidator(_printable)]
SomeText = Annotated[
    str, Field(min_length=1, max_length=WORDS_CHARACTERS_MAX), AfterValidator(_printable)
]


class _Part(BaseModel):
    """What all parts of a configuration share: nothing unknown, nothing guessed, no changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class XWords(_Part):
    """How the points of a stream are spoken about: name, unit, and what point 0 stands for."""

    name: SomeText = "x"
    unit: Text = ""
    offset: int = Field(default=0, gt=-OFFSET_MAX, lt=OFFSET_MAX)


class YWords(_Part):
    """How the labels 1 and 0 of a stream are spoken about."""

    positive: SomeText = "1"
    negative: SomeText = "0"

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        """Two labels with one name could not be told apart."""
        if self.positive == self.negative:
            raise ValueError("must name the labels 1 and 0 differently")
        return self


Constant = Annotated[Number, Field(gt=0, le=PAPER_CONSTANT_MAX)]
Share = Annotated[Number, Field(gt=0, lt=1)]
LessThanHalf = Annotated[Number, Field(gt=0, lt=0.5)]


class PaperConfiguration(_Part):
    """The constants of paper mode (`littled.planner.PaperConstants`) and its split of epsilon."""

    calls: Constant = Decimal(1)
    teachers: Constant = Decimal(1)
    threshold: Constant = Decimal(1)
    draws: Constant = Decimal(1)
    trigger_share: Share = Decimal("0.25")
    stage_share: Share = Decimal("0.25")

    @model_validator(mode="after")
    def _leaves_something(self) -> Self:
        """The draws need a part of epsilon as well."""
        if self.trigger_share + self.stage_share >= 1:
            raise ValueError("must leave a part of epsilon to the draws: its shares add up to 1")
        return self

    def constants(self) -> PaperConstants:
        """What the planner is told."""
        return PaperConstants(*(Fraction(getattr(self, name)) for name in type(self).model_fields))


class _LearnerPart(_Part):
    """What learners of both kinds have: a class of rules, and the share of labels against it.

    `class_name` is written `class` in a file: a name that `class_from_name` knows, such as
    `thresholds:256`, or `table:FILE`, where a relative FILE is looked for beside the configuration.
    """

    class_name: str = Field(alias="class", min_length=1)
    noise_rate: Number = Field(default=Decimal(0), ge=0, lt=Decimal("0.5"))

    _hypothesis_class: HypothesisClass = PrivateAttr()

    @field_validator("class_name", mode="after")
    @classmethod
    def _exists(cls, name: str, info: ValidationInfo) -> str:
        """Refuse a class that does not exist, here so that the error carries the key's name."""
        find_class(name, _folder(info))
        return name

    @model_validator(mode="after")
    def _remember_class(self, info: ValidationInfo) -> Self:
        """Keep the class that the name stands for."""
        self._hypothesis_class = find_class(self.class_name, _folder(info))
        return self

    @property
    def hypothesis_class(self) -> HypothesisClass:
        """The class itself, a table already read from its file."""
        return self._hypothesis_class


def _known_kind(kind: Any) -> Any:
    """A learner without a kind that exists is read as an online one, whose kind this refuses."""
    if kind not in KINDS:
        names = " or ".join(map(repr, KINDS))
        raise PydanticCustomError("kind", "must be {names}", {"names": names})
    return kind


class LearnerConfiguration(_LearnerPart):
    """One online learner of a stream: its class of rules and its public parameters."""

    kind: Annotated[Literal["online"], BeforeValidator(_known_kind)] = "online"
    selection: Literal["auto", "dense", "fresh", "sparse", "closure", "histogram", "paper"] = "auto"
    teachers: int | None = Field(default=None, ge=2, le=TEACHERS_MAX)
    adversary: Literal["none", "oblivious", "adaptive"] = "oblivious"
    failure_probability: Share = Decimal("0.05")
    paper: PaperConfiguration = PaperConfiguration()

    def request(self, name: str, words: Words) -> LearnerRequest:
        """What the planner is asked for."""
        return LearnerRequest(
            name=name,
            hypotheses=self.hypothesis_class,
            noise_rate=Fraction(self.noise_rate),
            selection=self.selection,
            teachers=self.teachers,
            adversary=self.adversary,
            failure_probability=Fraction(self.failure_probability),
            paper=self.paper.constants(),
            words=words,
        )


class PredictionConfiguration(_LearnerPart):
    """One learner that answers questions from windows: its class, and what is wanted of answers."""

    kind: Literal["prediction"]
    window: int = Field(ge=1, le=WINDOW_MAX)
    excess_error: LessThanHalf | None = None
    answers: int | None = Field(default=None, ge=1, le=ANSWERS_MAX)
    method: Literal[
        "auto", "dense", "stability", "relabelling", "realizable", "averaging", "majority"
    ] = "auto"

    @model_validator(mode="after")
    def _one_wish(self) -> Self:
        """Errors follow from the number of answers, and the other way round."""
        if self.excess_error is not None and self.answers is not None:
            raise ValueError("has both excess_error and answers; give one, the other follows")
        return self

    def request(self, name: str, words: Words) -> PredictionRequest:
        """What the planner is asked for."""
        wanted = EXCESS_ERROR if self.excess_error is None else Fraction(self.excess_error)
        return PredictionRequest(
            name=name,
            hypotheses=self.hypothesis_class,
            window=self.window,
            noise_rate=Fraction(self.noise_rate),
            excess_error=wanted if self.answers is None else None,
            answers=self.answers,
            method=self.method,
            words=words,
        )


KINDS: dict[str, type[_LearnerPart]] = {
    "online": LearnerConfiguration,
    "prediction": PredictionConfiguration,
}


def _kind(value: Any) -> str:
    """Which kind of learner a table of a file means."""
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return kind if isinstance(kind, str) and kind in KINDS else "online"


AnyLearnerConfiguration = Annotated[
    Annotated[LearnerConfiguration, Tag("online")]
    | Annotated[PredictionConfiguration, Tag("prediction")],
    Discriminator(_kind),
]


class StreamConfiguration(_Part):
    """One stream: its whole budget per season, its season's length and its learners."""

    name: Name
    epsilon: Number = Field(gt=0, allow_inf_nan=False)
    delta: Number = Field(gt=0, lt=1, allow_inf_nan=False)
    horizon: int = Field(ge=1, le=HORIZON_MAX)
    unit: Literal["example", "user"] = "example"
    user_examples_max: int | None = Field(default=None, ge=1)
    x: XWords = XWords()
    y: YWords = YWords()
    learners: dict[Name, AnyLearnerConfiguration] = Field(
        min_length=1, max_length=LEARNERS_PER_STREAM_MAX
    )

    @field_validator("epsilon", mode="after")
    @classmethod
    def _sensible_epsilon(cls, epsilon: Decimal) -> Decimal:
        """Keep exact arithmetic on the budget small."""
        if not EPSILON_MIN <= epsilon <= EPSILON_MAX:
            raise ValueError(f"must be from {EPSILON_MIN} to {EPSILON_MAX:f}, not {epsilon}")
        return epsilon

    @field_validator("delta", mode="after")
    @classmethod
    def _sensible_delta(cls, delta: Decimal) -> Decimal:
        """Keep exact arithmetic on the budget small."""
        if delta < DELTA_MIN:
            raise ValueError(f"must be at least {DELTA_MIN}, not {delta}")
        return delta

    @model_validator(mode="after")
    def _one_point_type(self) -> Self:
        """All learners of a stream see the same points."""
        names = list(self.learners)
        kinds = [learner.hypothesis_class.point_type for learner in self.learners.values()]
        for name, kind in zip(names, kinds, strict=True):
            if kind != kinds[0]:
                raise ValueError(
                    f"mixes learners over points of different types: {names[0]} needs {kinds[0]}, "
                    f"{name} needs {kind}; give each type a stream of its own"
                )
        return self

    @model_validator(mode="after")
    def _users_protected(self) -> Self:
        """Answers protect single examples only; a number of examples of a user needs users."""
        if self.unit == "user":
            for name, learner in self.learners.items():
                if isinstance(learner, PredictionConfiguration):
                    raise ValueError(
                        f'has unit = "user", but learners.{name} is of kind "prediction", whose '
                        "answers protect single examples only; give it a stream of its own"
                    )
        elif self.user_examples_max is not None:
            raise ValueError('has user_examples_max, which needs unit = "user"')
        return self

    @model_validator(mode="after")
    def _windows_fill(self) -> Self:
        """A window that is longer than a season would never be full."""
        for name, learner in self.learners.items():
            if isinstance(learner, PredictionConfiguration) and learner.window > self.horizon:
                raise ValueError(
                    f"has a horizon of {self.horizon}, so learners.{name}.window must be at most "
                    f"{self.horizon}, not {learner.window}"
                )
        return self

    def request(self) -> StreamRequest:
        """What the planner is asked for."""
        words = Words(self.x.name, self.x.unit, self.x.offset, self.y.positive, self.y.negative)
        return StreamRequest(
            name=self.name,
            epsilon=Fraction(self.epsilon),
            delta=Fraction(self.delta),
            horizon=self.horizon,
            unit=self.unit,
            user_examples_max=self.user_examples_max or 1,
            learners=tuple(learner.request(name, words) for name, learner in self.learners.items()),
        )


class Configuration(_Part):
    """Everything `littled init` needs to know."""

    streams: dict[Name, StreamConfiguration] = Field(min_length=1, max_length=STREAMS_MAX)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able copy for the store: numbers as the text that was written."""
        return self.model_dump(mode="json", by_alias=True)


def find_class(name: str, folder: Path) -> HypothesisClass:
    """The class that `name` stands for; a table's file is looked for in `folder`.

    Raises ValueError with one sentence for a class that does not exist.
    """
    try:
        if name.startswith(TABLE_PREFIX):
            return read_table(folder / name.removeprefix(TABLE_PREFIX))
        return class_from_name(name)
    except (ClassError, TableFileError) as error:
        # a sentence after the key's name: "streams.s.learners.l.class: there is no class ..."
        raise PydanticCustomError("class", ": {reason}", {"reason": str(error)}) from error


def load_configuration(path: Path) -> Configuration:
    """The configuration in the TOML file `path`; ConfigurationError says what is wrong with it."""
    try:
        with path.open("rb") as file:
            data = file.read(CONFIGURATION_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > CONFIGURATION_BYTES_MAX:
        raise ConfigurationError(f"{path} is larger than {CONFIGURATION_BYTES_MAX} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is not text in UTF-8") from None
    return parse_configuration(text, path)


def parse_configuration(text: str, path: Path) -> Configuration:
    """The configuration in `text`, read from `path`: its folder is where tables are looked for."""
    try:
        raw = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from None
    except (RecursionError, ValueError, ArithmeticError):
        raise ConfigurationError(f"{path} is not valid TOML: a value is too deep or long") from None
    return checked_configuration(raw, path.parent)


def checked_configuration(raw: dict[str, Any], folder: Path) -> Configuration:
    """The configuration of a parsed file, whose floats are Decimals; tables are in `folder`."""
    _name_streams(raw)
    try:
        return Configuration.model_validate(raw, context={"folder": folder})
    except ValidationError as error:
        problems = error.errors(include_url=False)
        # an unknown key first: "epsilonn" explains better than "epsilon is missing"; and before it
        # an unknown kind, as the other kinds have other keys
        first = ("kind", "extra_forbidden")
        problems.sort(
            key=lambda each: first.index(each["type"]) if each["type"] in first else len(first)
        )
        raise ConfigurationError(_sentence(problems[0])) from None


def _name_streams(raw: dict[str, Any]) -> None:
    """Tell every stream its name, which a file writes as the key of the stream's table."""
    streams = raw.get("streams")
    if not isinstance(streams, dict):
        return
    for name, stream in streams.items():
        if isinstance(stream, dict):
            if "name" in stream:
                raise ConfigurationError(
                    f"streams.{name}.name is not a known key: a stream's name is the word after "
                    f"the dot in [streams.{name}]"
                )
            stream["name"] = name


def _folder(info: ValidationInfo) -> Path:
    context = info.context
    return context["folder"] if isinstance(context, Mapping) else Path()


# Of the kind of a learner in streams, NAME, learners, NAME, KIND, key.
TAG_DEPTH = 4

_NAME_RULE = (
    f"must be a name of 1 to {limits.name_characters_max} letters, digits and _ . -, "
    "with a letter, digit or _ first, not {input}"
)

# One template for each way in which pydantic finds a value wrong; {input} is what was written.
_SENTENCES = {
    "missing": "is missing",
    "greater_than": "must be greater than {gt}, not {input}",
    "greater_than_equal": "must be at least {ge}, not {input}",
    "less_than": "must be less than {lt}, not {input}",
    "less_than_equal": "must be at most {le}, not {input}",
    "finite_number": "must be finite, not {input}",
    "int_type": "must be a whole number, not {input}",
    "number": "must be a number, not {input}",
    "string_type": "must be a text in quotes, not {input}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "dict_type": "must be a table, not {input}",
    "model_type": "must be a table, not {input}",
    "too_short": "must have at least {min_length} entry",
    "too_long": "must have at most {max_length} entries",
    "literal_error": "must be {expected}, not {input}",
    "kind": "must be {names}, not {input}",
}


def _sentence(problem: ErrorDetails) -> str:
    """One sentence for one problem."""
    kind, place = problem["type"], [str(part) for part in problem["loc"] if part != "[key]"]
    written = [part for depth, part in enumerate(place) if not _is_tag(place, depth)]
    key = ".".join(part if part.isprintable() else ascii(part) for part in written)
    facts = dict(problem.get("ctx", {}), input=_shown(problem["input"]))
    if kind == "string_pattern_mismatch":
        return f"{key} {_NAME_RULE.format(**facts)}"
    if kind == "extra_forbidden":
        return f"{key} is not a known key; {_known_keys(place)}"
    if kind == "class":
        return f"{key}{problem['msg']}"
    template = _SENTENCES.get(kind)
    if template is not None:
        return f"{key} {template.format(**facts)}"
    return f"{key} {problem['msg'].removeprefix('Value error, ')}"


def _is_tag(place: list[str], depth: int) -> bool:
    """Whether pydantic put this part in, to say which kind of learner it took a table for."""
    return depth == TAG_DEPTH and place[depth] in KINDS and place[TAG_DEPTH - 2] == "learners"


def _shown(value: Any) -> str:
    """A value as the file's author would recognise it, cut to a short length."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and value.bit_length() > SHOWN_BITS_MAX:
        return "so large a number"
    text = ascii(value) if isinstance(value, str) else str(value).lower()
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[:SHOWN_CHARACTERS_MAX]}..."


def _known_keys(place: list[str]) -> str:
    """What could have been written instead of the last key of `place`."""
    keys = _keys_at(place[:-1])
    close = difflib.get_close_matches(place[-1], keys, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"the keys here are {', '.join(keys)}"


def _keys_at(place: Iterable[str]) -> list[str]:
    """The keys that the table at `place` may have."""
    model: Any = Configuration
    for depth, part in enumerate(place):
        if _is_tag([*place], depth):
            model = KINDS[part]
            continue
        if not isinstance(model, type) or not issubclass(model, BaseModel):
            model = typing.get_args(model)[1]  # dict[Name, Part]: the part is a name
            continue
        fields = {field.alias or key: field for key, field in model.model_fields.items()}
        model = fields[part].annotation
    return [
        field.alias or key
        for key, field in model.model_fields.items()
        if key != "name" or model is XWords
    ]
