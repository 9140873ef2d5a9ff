"""Configurations: what is accepted, and the one sentence for everything that is not."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from littled.budget.unit import EXAMPLE, Unit
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds
from littled.configuration import (
    Configuration,
    ConfigurationError,
    load_configuration,
    parse_configuration,
)
from littled.configuration.online import LearnerConfiguration
from littled.configuration.prediction import PredictionConfiguration
from littled.planner import OnlineRequest, plan_stream
from littled.planner.prediction.request import PredictionRequest
from littled_protocol.rules import Words

GOOD = """
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 1_000_000

[streams.flights.x]
name = "departure delay"
unit = "min"
offset = -30

[streams.flights.y]
positive = "late"
negative = "not late"

[streams.flights.learners.late]
class = "thresholds:256"
noise_rate = 0.1
"""
SMALL = """
[streams.s]
epsilon = 1
delta = 1e-6
horizon = 1000
learners.l.class = "points:64"
"""
# Questions about the same flights, answered from windows.
ASKING = """
[streams.flights.learners.ask]
kind = "prediction"
class = "thresholds:256"
window = 10_000
"""
HERE = Path("littled.toml")


def parsed(text: str) -> Configuration:
    return parse_configuration(text, HERE)


def refused(text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        parsed(text)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def test_a_good_configuration_keeps_what_was_written() -> None:
    stream = parsed(GOOD).streams["flights"]
    assert stream.name == "flights"
    assert (stream.epsilon, stream.delta) == (Decimal("1.0"), Decimal("1e-6"))
    assert stream.horizon == 1_000_000
    learner = stream.learners["late"]
    assert isinstance(learner, LearnerConfiguration)
    assert (learner.kind, learner.selection, learner.teachers) == ("online", "auto", None)
    assert learner.noise_rate == Decimal("0.1")
    assert learner.hypothesis_class == Thresholds(256)


def test_numbers_are_the_decimals_that_were_written() -> None:
    request = parsed(GOOD.replace("1.0", "0.1")).streams["flights"].request()
    assert request.epsilon == Fraction(1, 10)
    assert request.delta == Fraction(1, 1_000_000)
    assert request.learners[0].noise_rate == Fraction(1, 10)


def test_a_stream_says_to_the_planner_all_that_it_was_told() -> None:
    request = parsed(GOOD).streams["flights"].request()
    assert (request.name, request.horizon) == ("flights", 1_000_000)
    (learner,) = request.learners
    assert (learner.name, learner.hypotheses) == ("late", Thresholds(256))
    assert learner.words == Words("departure delay", "min", -30, "late", "not late")
    plan = plan_stream(request)
    assert plan.x_type == "u8"
    assert plan.words["late"] == learner.words


def test_what_is_not_written_has_plain_defaults() -> None:
    request = parsed(SMALL).streams["s"].request()
    (learner,) = request.learners
    assert learner.words == Words()
    assert learner.noise_rate == 0


def test_a_stream_may_protect_users() -> None:
    example = parsed(GOOD).streams["flights"].request()
    assert example.unit == EXAMPLE
    for text, most in (('unit = "user"', 1), ('unit = "user"\nuser_examples_max = 20', 20)):
        request = parsed(line("horizon =", f"{text}\nhorizon =")).streams["flights"].request()
        assert request.unit == Unit(most)
        plan = plan_stream(request)
        assert plan.unit == Unit(most)
        assert request.users_expected is None
    hint = line("horizon =", 'unit = "user"\nusers_expected = 700\nhorizon =')
    request = parsed(hint).streams["flights"].request()
    assert request.users_expected == 700
    assert plan_stream(request).to_dict().keys() == plan.to_dict().keys()


def test_answers_protect_single_examples_only() -> None:
    text = line("horizon =", 'unit = "user"\nhorizon =') + ASKING
    assert refused(text) == (
        'streams.flights has unit = "user", but learners.ask is of kind "prediction", whose '
        "answers protect single examples only; give it a stream of its own"
    )


def test_the_store_gets_a_copy_that_reads_back_the_same() -> None:
    copied = parsed(GOOD).to_dict()
    stream = copied["streams"]["flights"]
    assert Decimal(stream["epsilon"]) == 1
    assert stream["learners"]["late"]["class"] == "thresholds:256"


def test_a_table_is_looked_for_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "rules.csv").write_text("rule,a,b\nsecond,0,1\nnever,0,0\n")
    path = tmp_path / "littled.toml"
    path.write_text(SMALL.replace("points:64", "table:rules.csv"))
    found = load_configuration(path).streams["s"].learners["l"].hypothesis_class
    assert isinstance(found, Table)
    assert found.rule_names == ("second", "never")


def line(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


EPSILON = "streams.flights.epsilon"
LEARNER = "streams.flights.learners.late"


@pytest.mark.parametrize(
    ("text", "start", "reason"),
    [
        (line("epsilon = 1.0", "epsilon = 0"), EPSILON, "must be greater than 0, not 0"),
        (line("epsilon = 1.0", "epsilon = -0.5"), EPSILON, "must be greater than 0, not -0.5"),
        (line("epsilon = 1.0", "epsilon = inf"), EPSILON, "must be finite, not inf"),
        (line("epsilon = 1.0", "epsilon = nan"), EPSILON, "must be finite, not nan"),
        (line("epsilon = 1.0", "epsilon = 1e400000"), EPSILON, "must be from"),
        (line("epsilon = 1.0", "epsilon = 1e-400000"), EPSILON, "must be from"),
        (line("epsilon = 1.0", 'epsilon = "1"'), EPSILON, "must be a number, not '1'"),
        (line("epsilon = 1.0", "epsilon = true"), EPSILON, "must be a number, not true"),
        (line("epsilon = 1.0", "epsilon = [1]"), EPSILON, "must be a number, not a list"),
        (line("epsilon = 1.0\n", ""), EPSILON, "is missing"),
        (line("epsilon = 1.0", "epsilonn = 1.0"), "streams.flights.epsilonn", "mean epsilon?"),
        (
            line("epsilon = 1.0", "seed = 7\nepsilon = 1"),
            "streams.flights.seed",
            "the keys here are",
        ),
        (line("delta = 1e-6", "delta = 0"), "streams.flights.delta", "must be greater than 0"),
        (line("delta = 1e-6", "delta = 1"), "streams.flights.delta", "must be less than 1"),
        (line("delta = 1e-6", "delta = 1e-99"), "streams.flights.delta", "must be at least"),
        (line("1_000_000", "0"), "streams.flights.horizon", "must be at least 1, not 0"),
        (line("1_000_000", "1.5"), "streams.flights.horizon", "must be a whole number, not 1.5"),
        (line("1_000_000", "true"), "streams.flights.horizon", "must be a whole number, not true"),
        (line("1_000_000", "9" * 30), "streams.flights.horizon", "must be at most"),
        (line("-30", "1e3"), "streams.flights.x.offset", "must be a whole number"),
        (line("-30", "-" + "9" * 19 + "9"), "streams.flights.x.offset", "must be greater than"),
        (line('"min"', "5"), "streams.flights.x.unit", "must be a text in quotes, not 5"),
        (line('"min"', '"\\u0007"'), "streams.flights.x.unit", "printable characters"),
        (line('"late"', '""'), "streams.flights.y.positive", "must not be empty"),
        (line('"not late"', '"late"'), "streams.flights.y", "must name the labels 1 and 0"),
        (line("256", "0"), f"{LEARNER}.class", "thresholds needs a size"),
        (line("thresholds:256", "forests:9"), f"{LEARNER}.class", "there is no class 'forests:9'"),
        (line("thresholds:256", "thresholds"), f"{LEARNER}.class", "thresholds:SIZE"),
        (line("thresholds:256", "table:no.csv"), f"{LEARNER}.class", "cannot read the table"),
        (line("0.1", "0.5"), f"{LEARNER}.noise_rate", "must be less than 0.5"),
        (line("0.1", "-0.1"), f"{LEARNER}.noise_rate", "must be at least 0"),
        (
            GOOD + 'kind = "offline"',
            f"{LEARNER}.kind",
            "'most_frequent' or 'sequences', not",
        ),
        (
            GOOD + "kind = 1",
            f"{LEARNER}.kind",
            "'most_frequent' or 'sequences', not 1",
        ),
        (
            GOOD + 'selection = "odd"',
            f"{LEARNER}.selection",
            "must be 'auto', 'dense', 'fresh', 'capped', 'memory', 'halving', 'majority', "
            "'sparse', 'closure', 'histogram', 'tally', 'closure-tally' or 'paper'",
        ),
        (GOOD + "teachers = 1", f"{LEARNER}.teachers", "must be at least 2, not 1"),
        (GOOD + "classs = 1", f"{LEARNER}.classs", "did you mean class?"),
        (GOOD + '[streams.flights.learners."a b"]', "streams.flights.learners.a b", "a name"),
        (GOOD + '[streams."a/b"]', "streams.a/b", "must be a name of 1 to 64 letters"),
        (GOOD + "[other]", "other", "the keys here are streams"),
        (
            GOOD + "[streams.flights.label]\ncolum = 'late'",
            "streams.flights.label.colum",
            "did you mean column?",
        ),
        (
            line("[streams.flights]", "[streams.flights]\nname = 'x'"),
            "streams.flights.name",
            "word",
        ),
        (
            line("horizon =", 'unit = "household"\nhorizon ='),
            "streams.flights.unit",
            "must be 'example' or 'user', not 'household'",
        ),
        *(
            (
                line("horizon =", f'unit = "user"\nuser_examples_max = {most}\nhorizon ='),
                "streams.flights.user_examples_max",
                reason,
            )
            for most, reason in [
                ("0", "must be at least 1, not 0"),
                ("2.5", "must be a whole number, not 2.5"),
                ('"3"', "must be a whole number, not '3'"),
            ]
        ),
        (
            line("horizon =", "user_examples_max = 3\nhorizon ="),
            "streams.flights",
            'has user_examples_max, which needs unit = "user"',
        ),
        (
            line("horizon =", "users_expected = 3\nhorizon ="),
            "streams.flights",
            'has users_expected, which needs unit = "user"',
        ),
        (
            line("horizon =", 'unit = "user"\nusers_expected = 0\nhorizon ='),
            "streams.flights.users_expected",
            "must be at least 1, not 0",
        ),
        ("streams = 5", "streams", "must be a table, not 5"),
        ("[streams]\nflights = 5", "streams.flights", "must be a table, not 5"),
        ("", "streams", "is missing"),
        ("[streams]", "streams", "must have at least 1 entry"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_with_the_key(
    text: str, start: str, reason: str
) -> None:
    sentence = refused(text)
    assert sentence.startswith((f"{start} ", f"{start}:"))
    assert reason in sentence


def test_learners_of_a_stream_must_read_the_same_points() -> None:
    sentence = refused(GOOD + '[streams.flights.learners.other]\nclass = "points:64"')
    assert sentence.startswith("streams.flights mixes learners")
    assert "late needs u8, other needs u64" in sentence


# -- learners that answer questions --------------------------------------------------------------


def test_learners_of_both_kinds_stand_beside_each_other() -> None:
    stream = parsed(GOOD + ASKING + "noise_rate = 0.1\nanswers = 500\nmethod = 'dense'").streams
    late, ask = stream["flights"].learners.values()
    assert isinstance(late, LearnerConfiguration)
    assert isinstance(ask, PredictionConfiguration)
    assert (late.kind, ask.kind, ask.hypothesis_class) == ("online", "prediction", Thresholds(256))
    first, second = stream["flights"].request().learners
    assert isinstance(first, OnlineRequest)
    words = Words("departure delay", "min", -30, "late", "not late")
    assert second == PredictionRequest(
        "ask", Thresholds(256), 10_000, Fraction(1, 10), None, 500, "dense", words
    )


@pytest.mark.long
def test_answers_are_as_many_as_there_can_be_if_nothing_is_said() -> None:
    (_, asked) = parsed(GOOD + ASKING).streams["flights"].request().learners
    assert isinstance(asked, PredictionRequest)
    assert (asked.excess_error, asked.answers, asked.method) == (Fraction(1, 20), None, "auto")
    (_, asked) = parsed(GOOD + ASKING + "excess_error = 0.1").streams["flights"].request().learners
    assert isinstance(asked, PredictionRequest)
    assert asked.excess_error == Fraction(1, 10)


def test_the_copy_for_the_store_says_the_kind() -> None:
    ask = parsed(GOOD + ASKING).to_dict()["streams"]["flights"]["learners"]["ask"]
    assert (ask["kind"], ask["class"], ask["window"]) == ("prediction", "thresholds:256", 10_000)


ASK = "streams.flights.learners.ask"


@pytest.mark.parametrize(
    ("old", "new", "start", "reason"),
    [
        ("window = 10_000", "", f"{ASK}.window", "is missing"),
        ("10_000", "0", f"{ASK}.window", "must be at least 1, not 0"),
        ("10_000", "2.5", f"{ASK}.window", "must be a whole number, not 2.5"),
        ("10_000", "10_000_001", f"{ASK}.window", "must be at most 10000000"),
        (
            "10_000",
            "1_000_001",
            "streams.flights",
            "has a horizon of 1000000, so learners.ask.window must be at most 1000000, not 1000001",
        ),
        ("10_000", "1000\nanswers = 0", f"{ASK}.answers", "must be at least 1, not 0"),
        ("10_000", "1000\nexcess_error = 0.5", f"{ASK}.excess_error", "must be less than 0.5"),
        ("10_000", "1000\nexcess_error = 0", f"{ASK}.excess_error", "must be greater than 0"),
        ("10_000", "1000\nexcess_error = '1'", f"{ASK}.excess_error", "must be a number"),
        ("10_000", "1000\nanswers = 5\nexcess_error = 0.1", ASK, "has both excess_error and"),
        ("10_000", "1000\nmethod = 'odd'", f"{ASK}.method", "must be 'auto', 'dense', 'stab"),
        (
            "10_000",
            "1000\nteachers = 5",
            f"{ASK}.teachers",
            'is not a known key of this learner; one with kind = "online" has it',
        ),
        ("10_000", "1000\nzzz = 5", f"{ASK}.zzz", "keys here are class, columns, noise_rate"),
        ("10_000", "1000\ncolumns_max = 5", f"{ASK}.columns_max", 'class = "scorecard" has it'),
        ("10_000", "1000\nwindows = 5", f"{ASK}.windows", "did you mean window?"),
        ("10_000", "1000\nnoise_rate = 0.5", f"{ASK}.noise_rate", "must be less than 0.5"),
        ('"thresholds:256"', '"forests:9"', f"{ASK}.class", "there is no class 'forests:9'"),
        ('"thresholds:256"', '"points:64"', "streams.flights", "mixes learners"),
        (
            '"prediction"',
            '"predictions"',
            f"{ASK}.kind",
            "'most_frequent' or 'sequences'",
        ),
        ('kind = "prediction"', "", f"{ASK}.window", "is not a known key"),
    ],
)
def test_what_is_wrong_with_questions_is_said_in_one_sentence_with_the_key(
    old: str, new: str, start: str, reason: str
) -> None:
    assert old in ASKING
    sentence = refused(GOOD + ASKING.replace(old, new))
    assert sentence.startswith((f"{start} ", f"{start}:"))
    assert reason in sentence


def test_a_learner_may_be_called_like_a_kind() -> None:
    for name in ("online", "prediction"):
        text = SMALL.replace("learners.l.", f"learners.{name}.")
        assert list(parsed(text).streams["s"].learners) == [name]
        wrong = refused(text + f"learners.{name}.clas = 1")
        assert wrong.startswith(f"streams.s.learners.{name}.clas is not a known key")
        sentence = refused(text.replace(f'learners.{name}.class = "points:64"',
                                        f"learners.{name} = 5"))  # fmt: skip
        assert sentence == f"streams.s.learners.{name} must be a table, not 5"


def test_a_stream_needs_a_learner() -> None:
    sentence = refused(SMALL.replace('learners.l.class = "points:64"', "learners = {}"))
    assert sentence == "streams.s.learners must have at least 1 entry"


@pytest.mark.parametrize(
    "text",
    ["[streams", "epsilon = ", "a = 1\na = 2", "[" * 5000 + "]" * 5000, "a = " + "[" * 5000],
)
def test_a_file_that_is_not_toml_is_refused(text: str) -> None:
    assert refused(text).startswith("littled.toml is not valid TOML")


def test_a_file_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot read .*none\.toml: No such file"):
        load_configuration(tmp_path / "none.toml")
    with pytest.raises(ConfigurationError, match="Is a directory"):
        load_configuration(tmp_path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="not text in UTF-8"):
        load_configuration(binary)
    monkeypatch.setattr("littled.configuration.CONFIGURATION_BYTES_MAX", 1 << 20)
    large = tmp_path / "large.toml"
    large.write_text("#" * (1 << 21))
    with pytest.raises(ConfigurationError, match="larger than"):
        load_configuration(large)


def test_a_long_or_odd_value_is_shown_in_one_short_line() -> None:
    for value in ("0x" + "f" * 20_000, "9" * 4_000, '"' + "z" * 500 + '"', '"two\\nlines"'):
        assert len(refused(line("1_000_000", value))) < 200
    for key in ('"two\\nlines"', '"' + "z" * 100 + '"'):
        assert len(refused(GOOD + f"[streams.{key}]")) < 300
