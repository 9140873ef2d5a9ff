"""One meaning everywhere, of rules over the columns of tables: the same row gets the same label."""

import csv
import io
import json
import pickle
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import polars
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from littled_client import Rule as KeptRule
from littled_client import points_of
from littled_protocol.rules import ScorecardRule, Words, rule_from_dict
from support.databases import Postgres
from support.readings import CASES, drawn, labels_by_sql, labels_of_answers, script
from support.ways import LEARNER, Ways, event, got, latest, littled, open_ways

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    with open_ways(tmp_path_factory.mktemp("ways")) as found:
        yield found


def arguments_of(table: dict[str, list[Any]]) -> list[str]:
    """The rows of a table as they stand on a command line, cells with commas between them."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerows(zip(*table.values(), strict=True))
    return lines.getvalue().splitlines()


@pytest.mark.parametrize("name", CASES)
@settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # no smaller example: each takes many commands
)
@given(data=st.data())
def test_a_row_gets_one_label_whichever_way_its_rule_went(
    ways: Ways, postgresql: Postgres | None, name: str, data: st.DataObject
) -> None:
    rule, words, table = drawn(data, name, 6)
    assert words.reading is not None
    ways.publish(rule, words)
    expected = rule.evaluate(points_of(table, words.reading)).tolist()
    where, written = [LEARNER, "-a", ways.address], arguments_of(table)
    over_http, exported = ways.folder / "http.json", ways.folder / "exported.json"
    over_http.write_text(got(ways.url))
    exported.write_text(littled("rule", "export", *where))
    told = json.loads(exported.read_text())
    assert told == json.loads(over_http.read_text()) == event(f"{ways.url}/events")
    assert told["text"] == rule.describe(words) == got(f"{ways.url}?format=text").rstrip("\n")
    assert (rule_from_dict(told["rule"]), Words.from_dict(told["words"])) == (rule, words)
    for place in ([over_http], where):
        said = littled("rule", "eval", *place, "--words", "--", *written).splitlines()
        assert said == [words.label(label) for label in expected]
        assert littled("rule", "show", *place).splitlines()[0] == told["text"]
        if isinstance(rule, ScorecardRule):
            lines = littled("rule", "eval", *place, "--explain", "--json", "--", *written)
            assert [json.loads(line)["label"] for line in lines.splitlines()] == expected
    published = latest(ways.address, LEARNER)
    assert len(published) == 2
    kept = KeptRule.from_dict(told)
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    for each in (table, rows):
        assert [one.predict(each).tolist() for one in published] == [expected] * 2
        said = list(pickle.loads(pickle.dumps(kept)).predict(each))  # noqa: S301
        assert said == [words.label(label) for label in expected]
    if name not in ("ids",):  # whose texts and numbers are no column of a frame
        assert published[0].predict(polars.DataFrame(table)).tolist() == expected
    for dialect in ("sqlite", "duckdb", "postgresql"):
        if (name, dialect) == ("ids", "sqlite"):
            continue
        asked = ["--format", "sql", "--dialect", dialect]
        sql = littled("rule", "export", over_http, *asked)
        assert sql == littled("rule", "export", *where, *asked)
        assert sql == got(f"{ways.url}?format=sql&dialect={dialect}")
        assert sql == f"{rule.to_sql(words, dialect=dialect)}\n"
        if dialect != "postgresql":
            assert labels_by_sql(rule, words, table, dialect) == expected
        elif postgresql is not None:  # else test_cli_meanings.py has a test that is skipped
            answers = postgresql.ask(script(rule, words, table, dialect))
            assert labels_of_answers(answers) == expected
    named = 'a "strange" name'
    made = littled("rule", "export", over_http, "--format", "sql-function", "--name", named)
    assert made == got(f"{ways.url}?format=sql-function&name={quote(named)}")
