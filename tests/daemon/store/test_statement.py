"""The ledger for other accountants: dp_accounting and OpenDP come to the epsilon of a status.

The programs are those of docs/ledger.md, taken from the page.
"""

import contextlib
import json
import re
import tarfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from littled import ledger_of
from littled.budget.codec import event_from_dict
from littled.budget.price import Price
from littled.budget.prices import composable_price, price
from littled.budget.spending import epsilon_of
from littled.budget.statement import Charge, Form, Season
from littled.store.errors import StoreError
from littled.store.sqlite import DATABASE_NAME
from littled.store.statement import NoSuchStream
from littled.store.store import Store
from support.old_stores import CONFIGURATIONS, FIXTURES
from support.stores import change

PAGE = Path(__file__).parents[3] / "docs" / "ledger.md"
FORMS: tuple[Form, Form] = ("dp_accounting", "opendp")
# How far apart the epsilons may be, by docs/ledger.md.
APART = {"dp_accounting": 1e-5, "opendp": 1e-11}
Accountant = Callable[[dict[str, Any]], tuple[float, float]]


@pytest.fixture(scope="module")
def accountants(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Accountant]:
    """What the programs of the page define, once they have printed a ledger without streams."""
    programs = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    found: dict[str, Accountant] = {}
    folder = tmp_path_factory.mktemp("page")
    (folder / "ledger.json").write_text('{"streams": {}}')
    with contextlib.chdir(folder):
        for form, program in zip(FORMS, programs[1:], strict=True):
            names: dict[str, Any] = {}
            exec(compile(program, form, "exec"), names)  # noqa: S102 - of our page
            found[form] = names["epsilon_and_delta"]
    return found


def old_store(folder: Path, name: str) -> Path:
    """A store of the tests, as it was left."""
    with tarfile.open(FIXTURES / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / name


def epsilon_for_others(season: dict[str, Any]) -> float:
    """Our own epsilon of what other accountants are given: more where parts stand side by side."""
    if not any("conversion_delta" in charge["event"] for charge in season["charges"]):
        return float(season["epsilon"])
    prices = (
        composable_price(event_from_dict(charge["event"])) * charge["count"]
        for charge in season["charges"]
    )
    found = epsilon_of(sum(prices, Price.zero()), Fraction(season["conversion_delta"]))
    assert found > season["epsilon"]
    return found


@pytest.mark.parametrize("name", [each for each in CONFIGURATIONS if each != "columns"])
def test_both_libraries_come_to_the_epsilon_of_every_season(
    tmp_path: Path, name: str, accountants: dict[str, Accountant]
) -> None:
    store = old_store(tmp_path, name)
    for form in FORMS:
        found = json.loads(json.dumps(ledger_of(store, form=form)))
        for stream in found["streams"].values():
            for season in stream["seasons"]:
                epsilon, delta = accountants[form](season)
                own = epsilon_for_others(season)
                exact = "gaussian" not in season["spent"] or form == "dp_accounting"
                if exact:
                    assert epsilon == pytest.approx(own, rel=APART[form])
                else:  # it knows no better than zCDP
                    assert own < epsilon < 1.2 * own
                assert season["epsilon"] <= stream["budget"]["epsilon"]
                assert season["delta"] <= stream["budget"]["delta"]
                composed = form == "dp_accounting" or not exact
                composed = composed or not season["spent"]["rho"].startswith("0/")
                expected = season["delta"] if composed else season["failure_mass"]
                assert delta == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["answers", "quality", "restored", "users"])
def test_it_is_what_a_status_says_of_the_season_that_runs(tmp_path: Path, name: str) -> None:
    path = old_store(tmp_path, name)
    found = ledger_of(path)["streams"]
    with Store.open(path, read_only=True) as store:
        assert list(found) == list(store.plans)
        for stream, plan in store.plans.items():
            last, entries = found[stream]["seasons"][-1], store.ledger(stream)
            own = [
                entry for entry in entries if entry.season == last["season"] == entries[-1].season
            ]
            spent = sum((each.price for each in own if each.window is None), Price.zero())
            assert Price.from_dict(last["spent"]) == spent
            assert last["epsilon"] == epsilon_of(spent, Fraction(plan["delta_z"]))
            assert found[stream]["unit"] == plan["unit"]
            for charge in last["charges"]:
                derived = price(event_from_dict(charge["event"]))
                assert Price.from_dict(charge["price"]) == derived


@pytest.mark.parametrize("rho", [Fraction(1, 10**8), Fraction(1, 1000), Fraction(1), Fraction(40)])
@pytest.mark.parametrize("pure", [Fraction(0), Fraction(1, 7)])
@pytest.mark.parametrize("mass", [Fraction(0), Fraction(1, 10**7)])
@pytest.mark.parametrize("form", FORMS)
def test_both_libraries_agree_for_prices_of_any_size(
    rho: Fraction, pure: Fraction, mass: Fraction, form: Form, accountants: dict[str, Accountant]
) -> None:
    charges = (
        Charge("a", {}, Price(pure, rho / 2, mass), 1),
        Charge("b", {}, Price(Fraction(0), rho / 100, Fraction(0)), 50),
    )
    season = Season(0, charges).to_dict(Fraction(1, 10**6), form)
    epsilon, delta = accountants[form](season)
    assert epsilon == pytest.approx(season["epsilon"], rel=1e-6 if form == FORMS[0] else 1e-11)
    assert delta == pytest.approx(season["delta"], rel=1e-9)
    if form == "dp_accounting":
        # a charge that is left out is seen
        del season["dp_event"]["events"][1]
        assert accountants[form](season)[0] < (1 - 1e-4) * epsilon


def test_one_stream_alone_and_words_for_what_is_not_there(tmp_path: Path) -> None:
    store = old_store(tmp_path, "answers")
    everything = ledger_of(store, form="json")
    one = ledger_of(store, stream="majority")
    assert one["streams"] == {"majority": everything["streams"]["majority"]}
    assert one["streams"]["majority"]["seasons"][0]["answered"] == {"requests": 1, "answers": 12}
    with pytest.raises(NoSuchStream, match=r"has no stream minority; it has dense, stability, "):
        ledger_of(store, stream="minority")
    with pytest.raises(ValueError, match=r"^form must be one of json, dp_accounting, opendp$"):
        ledger_of(store, form="xml")
    with pytest.raises(StoreError, match="there is no store in"):
        ledger_of(tmp_path / "nowhere")


def test_a_plan_that_promises_nothing_and_a_damaged_ledger_are_refused(tmp_path: Path) -> None:
    path = old_store(tmp_path, "users")
    with Store.open(path, read_only=True) as store:
        ((name, plan),) = store.plans.items()
    change(
        path / DATABASE_NAME,
        "UPDATE ledger SET entry = CAST(replace(entry, '0', '1') AS BLOB) WHERE number = 1",
    )
    with pytest.raises(StoreError, match=f"the ledger of {name} .* at entry 1"):
        ledger_of(path)
    strange = tmp_path / "strange"
    Store.create(strange, {}, {name: plan | {"delta_z": "a little"}})
    with pytest.raises(StoreError, match=f"the plan of {name} does not say what it promises"):
        ledger_of(strange)
