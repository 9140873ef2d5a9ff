"""The configuration of a store: streams with their budgets, and the learners of each stream.

A configuration is a TOML file. Numbers keep the decimal digits that were written, so that a budget
of 0.1 is one tenth and not the nearest binary fraction. Whatever is wrong with a file is said in
one sentence that names the key by its dotted path, for example `streams.flights.epsilon`.
"""

import difflib
import tomllib
import typing
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    Field,
    GetCoreSchemaHandler,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError
from pydantic_core.core_schema import tagged_union_schema

from littled.budget.unit import USER_EXAMPLES_MAX, Unit
from littled.classes.base import ClassError
from littled.configuration.columns import Columns
from littled.configuration.parts import LearnerPart, Number, Part, Quality
from littled.configuration.words import LabelWords, UserWords, XWords, YWords
from littled.kinds import KINDS, USUAL, Kind, kind_for, load
from littled.planner import StreamRequest, best_class, decided
from littled_protocol import limits
from littled_protocol.encodings import EncodingError, TableSchema
from littled_protocol.rules import Words

# Of a hundred thousand streams; what somebody wrote by hand is far smaller.
CONFIGURATION_BYTES_MAX = 64 << 20
LEARNERS_PER_STREAM_MAX = 64  # all of them share one budget
HORIZON_MAX = 10**15  # positions stay far inside 63 bits
EPSILON_MIN, EPSILON_MAX = Decimal("1e-6"), Decimal("1e4")
DELTA_MIN = Decimal("1e-30")
SHOWN_CHARACTERS_MAX = 60  # of a wrong value, in the sentence about it
SHOWN_BITS_MAX = 128
# As in the protocol: names become parts of paths, table keys and metric labels.
NAME_PATTERN = rf"^[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{limits.name_characters_max - 1}}}$"

Name = Annotated[str, Field(pattern=NAME_PATTERN)]


class ConfigurationError(ValueError):
    """Something is wrong with a configuration; one sentence that names the key."""


class _ByKind:
    """Reads the table of a learner as its kind does."""

    def __get_pydantic_core_schema__(
        self, _source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """One choice for each kind."""
        return tagged_union_schema(
            {kind.name: handler.generate_schema(_table_of(kind)) for kind in KINDS.values()},
            discriminator=_kind,
        )


def _table_of(kind: Kind) -> type[LearnerPart]:
    table: type[LearnerPart] = load(kind.configuration)
    return table


def _kind(value: Any) -> str:
    """Which kind of learner a table of a file means."""
    if isinstance(value, dict) and "kind" not in value:
        return kind_for(value.get("class"))
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return kind if isinstance(kind, str) and kind in KINDS else USUAL


class StreamConfiguration(Part):
    """One stream: its whole budget per season, its season's length and its learners."""

    name: Name
    epsilon: Number = Field(
        gt=0,
        allow_inf_nan=False,
        description="What all learners of the stream may spend in a season.",
    )
    delta: Number = Field(
        gt=0, lt=1, allow_inf_nan=False, description="The failure mass that goes with epsilon."
    )
    horizon: int = Field(
        ge=1, le=HORIZON_MAX, description="Examples in a season; the next one has a new budget."
    )
    unit: Literal["example", "user"] = Field(
        default="example",
        description="What is protected: one example, or all that one user gives to a season.",
    )
    user_examples_max: int | None = Field(
        default=None,
        ge=1,
        le=USER_EXAMPLES_MAX,
        description='Examples of one user that a season uses, with `unit = "user"`; 1 without it.',
    )
    users_expected: int | None = Field(
        default=None,
        ge=1,
        le=HORIZON_MAX,
        description='About how many users a season has, with `unit = "user"`; for plans alone.',
    )
    quality: Quality | None = Field(
        default=None,
        description="The share of epsilon that tells how good rules are: 0.025 if there is room, "
        "and none with `false`.",
    )
    x: XWords = Field(default=XWords(), description="Words for points, without columns.")
    y: YWords = Field(default=YWords(), description="Words for labels, without columns.")
    columns: Columns | None = Field(
        default=None, description="The columns of tables, by their names."
    )
    label: LabelWords | None = Field(default=None, description="The label of tables.")
    user: UserWords | None = Field(default=None, description="The users of tables.")
    learners: dict[Name, Annotated[LearnerPart, _ByKind()]] = Field(
        min_length=1,
        max_length=LEARNERS_PER_STREAM_MAX,
        description="The learners, by their names; all of them share the stream's budget.",
    )

    # Of learners that name no class: what they may be.
    _choices: dict[str, tuple[LearnerPart, ...]] = PrivateAttr(default_factory=dict)

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
    def _table(self) -> Self:
        """Columns and a label belong together, and then points have no words of their own."""
        if (self.columns is None) != (self.label is None):
            there, missing = ("columns", "label") if self.label is None else ("label", "columns")
            raise ValueError(f"has {there} and no {missing}; a table needs both")
        if self.user is not None and (self.columns is None or self.unit != "user"):
            raise ValueError('has user, which needs columns and unit = "user"')
        for key in ("x", "y"):
            if self.columns is not None and key in self.model_fields_set:
                raise ValueError(
                    f"has columns and {key}; the words of columns and label stand for it"
                )
        try:
            read = () if self.table_schema is None else self.table_schema.columns
        except EncodingError as error:
            raise ValueError(f"has columns that cannot be together: {error}") from None
        for name, learner in self.learners.items():
            try:
                if learner.class_name is None:
                    self._choices[name] = learner.choices(read)
                else:
                    learner.read(read)
            except ClassError as error:
                place = f".learners.{name}.class: {error}"
                raise PydanticCustomError("class", "{place}", {"place": place}) from None
        return self

    @model_validator(mode="after")
    def _one_point_type(self) -> Self:
        """All learners of a stream see the same points, unless they read columns of a table."""
        if self.columns is not None:
            return self
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
    def _learners_fit(self) -> Self:
        """Not every kind of learner can be on every stream; a cap of users needs users."""
        for key in ("user_examples_max", "users_expected"):
            if self.unit == "example" and getattr(self, key) is not None:
                raise ValueError(f'has {key}, which needs unit = "user"')
        for name, learner in self.learners.items():
            for each in self._choices.get(name, (learner,)):
                for problem in each.problems(name, self._protected, self.horizon):
                    raise ValueError(problem)
        return self

    @model_validator(mode="after")
    def _choose_classes(self) -> Self:
        """A learner without a class gets what the planner thinks best for its columns."""
        known = {
            name: learner for name, learner in self.learners.items() if name not in self._choices
        }
        for name, choices in self._choices.items():
            others = self._part(known) if known else None
            streams = [self._part({**known, name: learner}) for learner in choices]
            known[name] = choices[best_class(name, streams, others)]
            self.learners[name] = known[name]
        return self

    def _part(self, learners: Mapping[str, LearnerPart]) -> StreamRequest:
        """The stream with some of its learners, and their part of the budget."""
        whole, share = self._request(learners), Fraction(len(learners), len(self.learners))
        return replace(whole, epsilon=whole.epsilon * share, delta=whole.delta * share)

    @property
    def chosen_classes(self) -> dict[str, str]:
        """The classes that were chosen, by the learners that named none."""
        return {name: str(self.learners[name].class_name) for name in self._choices}

    @property
    def _protected(self) -> Unit:
        return Unit.of(self.unit, self.user_examples_max)

    @property
    def table_schema(self) -> TableSchema | None:
        """The columns of the stream's tables, if it takes tables."""
        if self.columns is None or self.label is None:
            return None
        user = None if self.user is None else self.user.column
        label = self.label
        return TableSchema(self.columns, label.column, label.positive, label.negative, user)

    def words_of(self, learner: LearnerPart) -> Words:
        """How the rules of one of the learners are spoken about."""
        if self.label is not None:
            reading = learner.reading
            return Words(
                positive=self.label.positive, negative=self.label.negative, reading=reading
            )
        return Words(self.x.name, self.x.unit, self.x.offset, self.y.positive, self.y.negative)

    def request(self) -> StreamRequest:
        """What the planner is asked for, with what it costs to say how good rules are decided."""
        return decided(self._request(self.learners))

    def _request(self, learners: Mapping[str, LearnerPart]) -> StreamRequest:
        return StreamRequest(
            name=self.name,
            epsilon=Fraction(self.epsilon),
            delta=Fraction(self.delta),
            horizon=self.horizon,
            unit=self._protected,
            users_expected=self.users_expected,
            learners=tuple(
                learner.request(name, self.words_of(learner)) for name, learner in learners.items()
            ),
            schema=self.table_schema,
            quality=None if self.quality is None else Fraction(self.quality),
        )


class Configuration(Part):
    """Everything `littled init` needs to know."""

    streams: dict[Name, StreamConfiguration] = Field(
        min_length=1, description="The streams, by their names."
    )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able copy for the store: numbers as the text that was written."""
        return self.model_dump(mode="json", by_alias=True)


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
            key=lambda problem: (
                first.index(problem["type"]) if problem["type"] in first else len(first)
            )
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
        return f"{key} is not a known key{_known_keys(place)}"
    if kind in ("class", "column"):
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
    """What could have been written instead of the last key of `place`, after "a known key"."""
    *table, key = place
    others = _other_kinds(table, key)
    if others:
        return f" of this learner; one with {' or '.join(others)} has it"
    keys = _keys_at(table)
    close = difflib.get_close_matches(key, keys, n=1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; the keys here are {', '.join(keys)}"


def _other_kinds(table: list[str], key: str) -> list[str]:
    """What learners write that may have this key, where those at `table` may not."""
    if len(table) != TAG_DEPTH + 1 or not _is_tag(table, TAG_DEPTH):
        return []
    *learner, own = table
    return [
        f'class = "{kind.classes[0]}"' if kind.classes else f'kind = "{kind.name}"'
        for kind in KINDS.values()
        if kind.name != own and key in _keys_at([*learner, kind.name])
    ]


def _keys_at(place: Iterable[str]) -> list[str]:
    """The keys that the table at `place` may have."""
    model: Any = Configuration
    for depth, part in enumerate(place):
        if _is_tag([*place], depth):
            model = _table_of(KINDS[part])
            continue
        if not isinstance(model, type) or not issubclass(model, BaseModel):
            model = typing.get_args(model)[1]  # dict[Name, Part]: the part is a name
            continue
        fields = {field.alias or key: field for key, field in model.model_fields.items()}
        model = fields[part].annotation
        if type(None) in typing.get_args(model):
            model = typing.get_args(model)[0]  # Part | None
    return [
        field.alias or key
        for key, field in model.model_fields.items()
        if key != "name" or model is XWords
    ]
