"""JSON Schemas against what the program writes: rules of every kind, releases, statuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from littled.engine import Runner
from littled.service.http_routes import SCHEMAS
from littled.service.schemas import schema
from littled_client.published import Published
from littled_protocol.facts import EngineFacts, ReleaseFacts
from littled_protocol.rules import Rule, Words, rule_from_dict
from littled_protocol.rules.fields import RuleFields, WordsFields
from littled_protocol.rules.kinds import KINDS
from support.learner_cases import HORIZON, LEARNERS, PREDICTIONS, case_of, learner_plan
from support.rules import every_case
from support.schemas import validator
from support.twins import plan_of, random_stream, with_users

ROOT = Path(__file__).parents[3]
VECTORS: dict[str, Any] = json.loads((ROOT / "protocol/vectors/rules.json").read_text())
RULES, WORDS, RELEASES = validator(RuleFields), validator(WordsFields), validator(ReleaseFacts)
STATUS = validator(EngineFacts)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_stand_by_themselves(name: str) -> None:
    made = schema(name)
    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(made)
    assert set(made["$defs"]) == {each.removeprefix("#/$defs/") for each in references(made)} | {
        name.title()
    } - {"Rule"}


def references(value: Any) -> set[str]:
    """All that a schema refers to."""
    if isinstance(value, list):
        return set().union(*map(references, value))
    if not isinstance(value, dict):
        return set()
    own = {value["$ref"]} if "$ref" in value else set()
    return own.union(*map(references, value.values()))


@pytest.mark.parametrize("kind", KINDS)
def test_rules_of_every_kind(kind: str) -> None:
    vectors = [each for each in VECTORS["rules"] if each["rule"]["kind"] == kind]
    assert vectors
    for vector in vectors:
        rule = vector["rule"]
        RULES.validate(rule)
        words = Words.from_dict(vector.get("words", {}))
        WORDS.validate(vector.get("words", {}))
        release = Published("s/l", 1, "rule", 0, 0, 0, rule_from_dict(rule), words)
        RELEASES.validate(json.loads(json.dumps(release.to_dict())))
        assert not RULES.is_valid({**rule, "further": 1})
        for field in rule:
            assert not RULES.is_valid({key: each for key, each in rule.items() if key != field})


@given(every_case)
@settings(max_examples=40, derandomize=True)
def test_whatever_is_exported(case: Any) -> None:
    rule: Rule = case.rule
    RULES.validate(json.loads(rule.to_json()))


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in PREDICTIONS])
def test_the_status_of_learners_of_every_kind(name: str) -> None:
    plan = plan_of([learner_plan(name)], HORIZON)
    runner = Runner(plan, b"7" * 32)
    STATUS.validate(runner.status())
    if not plan.x_type.startswith("bytes"):
        case, random = case_of(name), np.random.default_rng(8)
        stream = random_stream(case.points, 40, random, noisy=0.2)
        stream = with_users(stream, random, 9) if plan.unit.is_user else stream
        runner.learn(stream.x, stream.y, stream.users)
    STATUS.validate(json.loads(json.dumps(runner.status())))
