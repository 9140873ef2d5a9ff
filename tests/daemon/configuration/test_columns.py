"""Columns of tables in a configuration: what learners read, and a sentence for what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from littled.configuration import Configuration, ConfigurationError, parse_configuration
from littled.planner import plan_stream
from littled.planner.plans import StreamPlan
from littled_protocol.encodings import TableSchema

HEAD = """\
[streams.loans]
epsilon = 1.0
delta = 1e-6
horizon = 100_000
"""
TABLE = """\
[streams.loans.label]
column = "defaulted"
positive = "yes"
negative = "no"
[streams.loans.columns.income]
kind = "number"
from = 0
to = 200_000
steps = 64
unit = "EUR"
[streams.loans.columns.grade]
kind = "category"
values = ["A", "B", "C", "D"]
[streams.loans.columns.opened]
kind = "time"
parts = ["month"]
[streams.loans.columns.card]
kind = "id"
"""
FEATURES = ["income", "grade", "opened"]
LEARNER = "[streams.loans.learners.rule]\n"


def parsed(text: str, folder: Path = Path()) -> Configuration:
    return parse_configuration(text, folder / "littled.toml")


def refused(text: str) -> str:
    with pytest.raises(ConfigurationError) as raised:
        parsed(text)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("learner", "found", "form", "names"),
    [
        ('class = "stumps"', "stumps:3:64", "row", ("income", "grade", "opened")),
        ('class = "stumps:3:64"', "stumps:3:64", "row", ("income", "grade", "opened")),
        (
            'class = "stumps"\ncolumns = ["grade", "income"]',
            "stumps:2:64",
            "row",
            ("grade", "income"),
        ),
        ('class = "thresholds"\ncolumns = ["income"]', "thresholds:64", "value", ("income",)),
        ('class = "thresholds"\ncolumns = ["opened"]', "thresholds:12", "value", ("opened",)),
        (
            'class = "conjunctions"\ncolumns = ["grade", "opened"]',
            "conjunctions:16",
            "bits",
            ("grade", "opened"),
        ),
        ('class = "points"', "points:64", "number", ("card",)),
        ('class = "points"\ncolumns = ["grade"]', "points:3", "value", ("grade",)),
        ('class = "sparse_sets:4"', "sparse_sets:64:4", "number", ("card",)),
        ('class = "affine:2"\ncolumns = ["grade"]', "affine:4:2", "bits", ("grade",)),
        (
            'kind = "prediction"\nwindow = 1000\nclass = "stumps"',
            "stumps:3:64",
            "row",
            ("income", "grade", "opened"),
        ),
        (
            'kind = "batch"\nwindow = 1000\nclass = "stumps"',
            "stumps:3:64",
            "row",
            ("income", "grade", "opened"),
        ),
    ],
)
def test_classes_take_their_sizes_from_the_columns(
    learner: str, found: str, form: str, names: tuple[str, ...]
) -> None:
    stream = parsed(HEAD + TABLE + LEARNER + learner + "\n").streams["loans"]
    read = stream.learners["rule"]
    assert read.hypothesis_class.name == found
    assert read.reading is not None
    assert (read.reading.form, read.reading.names) == (form, names)
    assert read.hypothesis_class.point_type == read.reading.x_type
    words = stream.request().learners[0].words
    assert (words.positive, words.negative, words.reading) == ("yes", "no", read.reading)


def test_a_table_of_rules_has_a_point_for_each_cell(tmp_path: Path) -> None:
    (tmp_path / "rules.csv").write_text("r,0,1,0,1,1\ns,1,1,0,0,0\n")
    text = HEAD + TABLE + LEARNER + 'class = "table:rules.csv"\ncolumns = ["grade"]\n'
    reading = parsed(text, tmp_path).streams["loans"].learners["rule"].reading
    assert reading is not None
    assert (reading.form, reading.size) == ("cell", 5)
    with pytest.raises(ConfigurationError, match="class: a table needs 60 points"):
        parsed(text.replace('["grade"]', '["grade", "opened"]'), tmp_path)


def test_a_plan_keeps_the_schema_and_what_learners_read() -> None:
    stream = parsed(HEAD + TABLE + LEARNER + 'class = "stumps"\n').streams["loans"]
    plan = plan_stream(stream.request())
    assert plan.schema is not None
    assert plan.schema.names == ("income", "grade", "opened", "card")
    assert (plan.schema.label, plan.schema.positive, plan.schema.negative) == (
        "defaulted",
        "yes",
        "no",
    )
    assert plan.x_type == plan.schema.x_type == "u16x7"
    assert StreamPlan.from_dict(plan.to_dict()) == plan
    assert TableSchema.from_dict(plan.to_dict()["schema"]) == plan.schema


def test_plans_of_points_are_written_as_before() -> None:
    plan = plan_stream(
        parsed(HEAD + LEARNER + 'class = "thresholds:16"\n').streams["loans"].request()
    )
    written = plan.to_dict()
    assert "schema" not in written
    assert set(written["learners"]["rule"]["words"]) == {
        *("x_name", "unit", "offset", "positive", "negative")
    }


def test_columns_are_written_as_a_store_keeps_them() -> None:
    kept = parsed(HEAD + TABLE + LEARNER + 'class = "stumps"\n').to_dict()["streams"]["loans"]
    assert kept["columns"]["income"] == {
        "kind": "number",
        "from": "0",
        "to": "200000",
        "steps": 64,
        "unit": "EUR",
    }
    assert kept["label"] == {"column": "defaulted", "positive": "yes", "negative": "no"}


def test_users_have_a_column() -> None:
    user = '[streams.loans.user]\ncolumn = "who"\n'
    unit = 'unit = "user"\n'
    stream = parsed(HEAD + unit + TABLE + user + LEARNER + 'class = "stumps"\n').streams["loans"]
    schema = stream.request().schema
    assert schema is not None
    assert schema.user == "who"
    assert "has user, which needs" in refused(HEAD + TABLE + user + LEARNER + 'class = "stumps"\n')


STUMPS = 'class = "stumps"\n'


@pytest.mark.parametrize(
    ("old", "new", "learner", "sentence"),
    [
        (
            "to = 200_000",
            "to = 0",
            STUMPS,
            "streams.loans.columns.income.to must be greater than from",
        ),
        (
            "steps = 64",
            "step = 64",
            STUMPS,
            "columns.income.step is not a known key; did you mean steps?",
        ),
        ("steps = 64", "steps = 1", STUMPS, "columns.income.steps must be a whole number from 2"),
        (
            'kind = "id"',
            'kind = "ids"',
            STUMPS,
            'streams.loans.columns.card.kind must be "number", ',
        ),
        ('kind = "id"', 'kind = "id"\nname = "x"', STUMPS, "columns.card.name is not a known key"),
        (
            'parts = ["month"]',
            'parts = ["moon"]',
            STUMPS,
            "columns.opened.parts must be different words",
        ),
        ('column = "defaulted"', 'column = "grade"', STUMPS, "must be different from each other"),
        ('negative = "no"', 'negative = "yes"', STUMPS, "streams.loans.label must name the labels"),
        ("", "", 'class = "stump"\n', "learners.rule.class: there is no class 'stump'"),
        (
            "",
            "",
            'class = "stumps:3:65"\n',
            "rule.class: the columns of stumps:3:65 make BUCKETS 64, not 65",
        ),
        (
            "",
            "",
            'class = "stumps"\ncolumns = ["incom"]\n',
            "rule.class: the columns of a learner of stumps must be among income, grade",
        ),
        ("", "", 'class = "stumps"\ncolumns = []\n', "rule.columns must have at least 1 entry"),
        (
            "",
            "",
            'class = "stumps"\ncolumns = ["grade"]\n',
            "must have 2 to 1024 features together",
        ),
        (
            "",
            "",
            'class = "thresholds"\n',
            "rule.class: thresholds reads one column; name it with columns",
        ),
        ("", "", 'class = "thresholds"\ncolumns = ["card"]\n', "which card is not"),
        ("", "", 'class = "conjunctions"\ncolumns = ["income", "card"]\n', "which card is not"),
        ("", "", 'class = "sparse_sets"\n', "rule.class: the class sparse_sets is written"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_with_the_key(
    old: str, new: str, learner: str, sentence: str
) -> None:
    assert old in TABLE
    assert sentence in refused(HEAD + TABLE.replace(old, new, 1) + LEARNER + learner)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            HEAD + LEARNER + STUMPS,
            "rule.class: the class stumps is written stumps:FEATURES:BUCKETS",
        ),
        (
            HEAD + LEARNER + 'class = "thresholds:16"\ncolumns = ["a"]\n',
            "rule.class: there are no columns",
        ),
        (
            HEAD + TABLE.partition("[streams.loans.columns")[0] + LEARNER + STUMPS,
            "has label and no columns",
        ),
        (
            HEAD + '[streams.loans.columns.c]\nkind = "id"\n' + LEARNER + 'class = "points"\n',
            "has columns and no label",
        ),
        (HEAD + TABLE + '[streams.loans.x]\nunit = "m"\n' + LEARNER + STUMPS, "has columns and x"),
        (
            HEAD + TABLE + '[streams.loans.y]\npositive = "m"\n' + LEARNER + STUMPS,
            "has columns and y",
        ),
        (HEAD + "columns = 5\n" + LEARNER + STUMPS, "streams.loans.columns"),
        (
            HEAD
            + TABLE.replace('[streams.loans.columns.card]\nkind = "id"', "")
            + "[streams.loans.columns]\ncard = 5\n"
            + LEARNER
            + STUMPS,
            "streams.loans.columns.card must be a table",
        ),
    ],
)
def test_what_does_not_belong_together(text: str, sentence: str) -> None:
    assert sentence in refused(text)


@pytest.mark.parametrize(
    ("learner", "chosen", "names"),
    [
        ("", "scorecard", FEATURES),
        ('adversary = "none"', "scorecard", FEATURES),
        ('kind = "leader"\ncolumns_max = 1', "scorecard", FEATURES),
        ('kind = "leader"\nmonotone = {income = "falling"}', "scorecard", FEATURES),
        # what only a learner of one rule can be told
        ("noise_rate = 0.1", "stumps", FEATURES),
        ("noise_rate = 0", "stumps", FEATURES),
        ('selection = "capped"', "stumps", FEATURES),
        ('adversary = "adaptive"', "stumps", FEATURES),
        ('kind = "online"', "stumps", FEATURES),
        ('columns = ["grade"]', "conjunctions", ["grade"]),
        ('columns = ["income"]', "thresholds", ["income"]),
        pytest.param('columns = ["card"]', "sparse_sets:16", ["card"], marks=pytest.mark.long),
        ('kind = "batch"\nwindow = 5_000', "scorecard", FEATURES),
        ('kind = "batch"\nwindow = 100', "stumps", FEATURES),
        ('kind = "batch"\nalpha = 0.1', "stumps", FEATURES),
        (
            'kind = "prediction"\nwindow = 5_000\ncolumns = ["grade", "income"]',
            "stumps",
            ["grade", "income"],
        ),
    ],
)
def test_a_learner_without_a_class_is_as_if_it_had_named_one(
    learner: str, chosen: str, names: list[str]
) -> None:
    open_ = parsed(HEAD + TABLE + LEARNER + learner + "\n")
    assert open_.streams["loans"].chosen_classes == {"rule": chosen}
    others = ("columns =", 'adversary = "none"')  # which says nothing to scorecards
    kept = [line for line in learner.splitlines() if not line.startswith(others)]
    named = [f'class = "{chosen}"', f"columns = {names}".replace("'", '"'), *kept]
    wanted = parsed(HEAD + TABLE + LEARNER + "\n".join(named) + "\n")
    assert wanted.streams["loans"].chosen_classes == {}
    # what is stored says what was chosen
    assert open_.to_dict() == wanted.to_dict()
    assert open_.streams["loans"].request() == wanted.streams["loans"].request()


@pytest.mark.long
def test_each_of_several_is_chosen_for_its_part_of_the_budget() -> None:
    """Half of epsilon pays for fewer members."""
    cards = 'columns = ["card"]\n'
    more = f"[streams.loans.learners.other]\n{cards}\n"
    head = HEAD.replace("100_000", "50_000")
    alone = parsed(head + TABLE + LEARNER + cards).streams["loans"].chosen_classes
    both = parsed(head + TABLE + LEARNER + cards + more).streams["loans"]
    assert alone == {"rule": "sparse_sets:16"}
    assert both.chosen_classes["rule"] == "sparse_sets:4"
    assert plan_stream(both.request()).epsilon == 1


@pytest.mark.parametrize(("horizon", "chosen"), [("15_000", "scorecard"), ("10_000", "stumps")])
def test_no_learner_is_lost_by_what_is_chosen_for_another(horizon: str, chosen: str) -> None:
    """Scorecards are paid for in zCDP, and then so is all of the stream; points cost more then."""
    cards = '[streams.loans.learners.cards]\nclass = "points"\ncolumns = ["card"]\n'
    head = HEAD.replace("100_000", horizon)
    both = parsed(head + TABLE + LEARNER + cards).streams["loans"]
    assert both.chosen_classes == {"rule": chosen}
    alone = parsed(head.replace("1.0", "0.5") + TABLE + LEARNER).streams["loans"]
    assert alone.chosen_classes == {"rule": "scorecard"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            HEAD + LEARNER,
            "streams.loans.learners.rule.class: name one, as the stream has no column",
        ),
        (
            HEAD + TABLE + LEARNER + 'columns = ["no"]\n',
            "must be among income, grade, opened, card",
        ),
        (
            HEAD + TABLE + LEARNER + 'columns = ["card", "grade"]\n',
            "rule.class: rules read numbers, categories and times, or one id or address",
        ),
    ],
)
def test_where_no_class_can_be_chosen(text: str, sentence: str) -> None:
    assert sentence in refused(text)


def test_learners_of_one_stream_read_points_of_different_types() -> None:
    """Without columns they may not; see test_configuration.py."""
    more = '[streams.loans.learners.cards]\nclass = "points"\n'
    learners: Any = parsed(HEAD + TABLE + LEARNER + STUMPS + more).streams["loans"].learners
    types = {name: one.hypothesis_class.point_type for name, one in learners.items()}
    assert types == {"rule": "u16x3", "cards": "u64"}
