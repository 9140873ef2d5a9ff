"""How the columns of each stream are configured: public edges, without a look at the data.

Ranges are what a column means (a share, a scale of a questionnaire, an hour), what nature or law
allow, or round numbers that are surely wide enough; lists are those of the trade or the form.
Whatever lies outside is taken for the nearest bucket.
"""

import json
from collections.abc import Iterable

from benchmarks.real.tables import GENRES

STATES = [
    "Alabama", "Alaska", "Arizona", "Arkansas", "California", "Colorado", "Connecticut",
    "Delaware", "District of Columbia", "Florida", "Georgia", "Hawaii", "Idaho", "Illinois",
    "Indiana", "Iowa", "Kansas", "Kentucky", "Louisiana", "Maine", "Maryland", "Massachusetts",
    "Michigan", "Minnesota", "Mississippi", "Missouri", "Montana", "Nebraska", "Nevada",
    "New Hampshire", "New Jersey", "New Mexico", "New York", "North Carolina", "North Dakota",
    "Ohio", "Oklahoma", "Oregon", "Pennsylvania", "Rhode Island", "South Carolina",
    "South Dakota", "Tennessee", "Texas", "Utah", "Vermont", "Virginia", "Washington",
    "West Virginia", "Wisconsin", "Wyoming",
]  # fmt: skip
CARRIERS = '["9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV"]'  # noqa: E501
POSTAL = (
    "AK AL AR AZ CA CO CT DC DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH "
    "NJ NM NV NY OH OK OR PA RI SC SD TN TX UT VA VT WA WI WV WY"
)
PIZZAS = (
    "bbq_ckn big_meat brie_carre calabrese cali_ckn ckn_alfredo ckn_pesto classic_dlx five_cheese "
    "four_cheese green_garden hawaiian ital_cpcllo ital_supr ital_veggie mediterraneo mexicana "
    "napolitana pep_msh_pep pepperoni peppr_salami prsc_argla sicilian soppressata southw_ckn "
    "spicy_ital spin_pesto spinach_fet spinach_supr thai_ckn the_greek veggie_veg"
)
OCCUPATIONS = [
    "Business/Finance", "Construction/Extraction", "Farming, Fishing, and Forestry",
    "Installation, Maintenance, and Repair", "Office and Administrative Support", "Production",
    "Professional", "Sales", "Service", "Transportation",
]  # fmt: skip
DEGREES = ["Less Than High School", "High School", "Junior College", "Bachelor", "Graduate"]
PARTIES = [
    "Strong Democrat", "Not Str Democrat", "Ind,Near Dem", "Independent", "Ind,Near Rep",
    "Not Str Republican", "Strong Republican",
]  # fmt: skip
PARTS = '["month", "weekday", "hour"]'


def _number(least: float, most: float, steps: int, more: str = "") -> str:
    return f'{{ kind = "number", from = {least}, to = {most}, steps = {steps}{more} }}'


def _edges(*edges: float, more: str = "") -> str:
    return f'{{ kind = "number", edges = {list(edges)}{more} }}'


def _scale(most: int, more: str = "") -> str:
    """Answers 1 to `most`."""
    return _edges(*(answer + 0.5 for answer in range(1, most)), more=more)


def _category(values: str, more: str = "") -> str:
    return f'{{ kind = "category", values = {values}{more} }}'


def _listed(values: Iterable[str], more: str = "") -> str:
    """A category of these values."""
    return _category(json.dumps(list(values)), more)


def _words(text: str, more: str = "") -> str:
    """A category of single words."""
    return _listed(text.split(), more)


MISSING = ', missing = "bucket"'
_FLAG = _edges(0.5)
_KNOWN_FLAG = _edges(0.5, more=MISSING)

_DIAMONDS = {
    "carat": _number(0, 5, 50),
    "cut": _category('["Fair", "Good", "Very Good", "Premium", "Ideal"]'),
    "color": _category('["J", "I", "H", "G", "F", "E", "D"]'),
    "clarity": _category('["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"]'),
    "depth": _number(50, 75, 25),
    "table": _number(40, 80, 40),
    "x": _number(0, 12, 60),
    "y": _number(0, 12, 60),
    "z": _number(0, 8, 40),
}
_FLIGHT = {
    "scheduled": f'{{ kind = "time", parts = {PARTS}, zone = "America/New_York" }}',
    "origin": _category('["EWR", "JFK", "LGA"]'),
    "carrier": _category(CARRIERS),
    "distance": _number(0, 5000, 50),
}

COLUMNS: dict[str, dict[str, str]] = {
    "diamonds": _DIAMONDS,
    "flights": {
        **_FLIGHT,
        "temp": _number(0, 110, 22, MISSING),
        "humid": _number(0, 100, 20, MISSING),
        "wind_speed": _number(0, 60, 30, MISSING),
        "precip": _edges(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, more=MISSING),
        "pressure": _number(980, 1050, 35, MISSING),
        "visib": _number(0, 10, 20, MISSING),
        "previous_delay": _number(-30, 120, 50, MISSING),
    },
    "arrivals": {**_FLIGHT, "dep_delay": _number(-30, 120, 75)},
    "ballots": {
        "state": _listed(STATES),
        "age": _number(18, 98, 40),
        "female": _FLAG,
        "collegeed": _FLAG,
        "racef": _category('["White", "Black", "Hispanic", "Asian"]'),
        "famincr": _scale(12, MISSING),
        "ideo": _scale(5, MISSING),
        "pid7na": _scale(7, MISSING),
        "bornagain": _KNOWN_FLAG,
        "religimp": _scale(4, MISSING),
        "churchatd": _scale(6, MISSING),
        "prayerfreq": _scale(7, MISSING),
        "angryracism": _scale(5, MISSING),
        "whiteadv": _scale(5, MISSING),
        "fearraces": _scale(5, MISSING),
        "racerare": _scale(5, MISSING),
    },
    "wages": {
        "gender": _category('["female", "male"]'),
        "age": _number(16, 76, 30),
        "region": _category('["Northeast", "Midwest", "South", "West"]'),
        "education": _number(5, 21, 16),
    },
    "stops": {
        "date": f'{{ kind = "time", parts = {PARTS}, zone = "America/Chicago" }}',
        "MDC": _category('["MDC", "other"]'),
        "race": _category(
            '["Black", "White", "East African", "Latino", "Native American", "Asian"]', MISSING
        ),
        "gender": _category('["Female", "Male", "Unknown"]', MISSING),
        "lat": _number(44.89, 45.06, 34),
        "long": _number(-93.33, -93.19, 28),
        "policePrecinct": _category('["1", "2", "3", "4", "5"]'),
    },
    "movies": {
        "year": _number(1890, 2010, 60),
        "length": _number(0, 240, 48),
        "votes": '{ kind = "number", from = 1, to = 1000000, steps = 40, scale = "log" }',
        "budget": '{ kind = "number", from = 1000, to = 1000000000, steps = 24, scale = "log", missing = "bucket" }',  # noqa: E501
        "mpaa": _category('["PG", "PG-13", "R", "NC-17"]', MISSING),
        "Action": _FLAG,
        "Animation": _FLAG,
        "Comedy": _FLAG,
        "Drama": _FLAG,
        "Documentary": _FLAG,
        "Romance": _FLAG,
        "Short": _FLAG,
    },
    "ratings": {
        "rated": f'{{ kind = "time", parts = {PARTS} }}',
        "year": _number(1900, 2020, 60, MISSING),
        **dict.fromkeys(GENRES, _FLAG),
    },
    "lectures": {
        "studage": _edges(3, 5, 7),
        "lectage": _scale(6),
        "service": _FLAG,
        "dept": _listed(map(str, range(1, 16))),
    },
    "shuttle": {
        "f1": _number(0, 128, 64),
        **{f"f{number}": _number(-128, 128, 64) for number in range(2, 10)},
    },
    "networks": {
        "address": '{ kind = "address", bits = 32 }',
        "first": _number(0, 256, 256),
        "second": _number(0, 256, 256),
    },
    "flights-change": {"dep_delay": _number(-30, 226, 256)},
    "diamonds-flipped": _DIAMONDS,
    "births": {
        "state": _words(POSTAL),
        "year": _number(1969, 1989, 20),
        "month": _scale(12),
        "day": _scale(31),
        "wday": _words("Mon Tues Wed Thurs Fri Sat Sun"),
    },
    "pizzas": {
        "hour": _number(8, 24, 16),
        "month": _scale(12),
        "type": _words("chicken classic supreme veggie"),
        "name": _words(PIZZAS),
    },
    "homes": {
        "bpl": _listed(STATES),
        "qob": _scale(4),
        "nonwhite": _FLAG,
        "vet_wwko": _FLAG,
        "qob_minus_kw": _number(-100, 50, 60),
    },
    "incomes": {
        "year": _number(1970, 2020, 50),
        "age": _number(18, 90, 36, MISSING),
        "occrecode": _listed(OCCUPATIONS, MISSING),
        "prestg10": _number(0, 100, 50, MISSING),
        "childs": _number(0, 8, 8, MISSING),
        "wrkstat": _category('["Full-Time", "Part-Time", "Retired", "School"]', MISSING),
        "gender": _words("Female Male", MISSING),
        "educcat": _listed(DEGREES, MISSING),
        "maritalcat": _words("Divorced Married Separated Widowed", MISSING),
    },
    "opinions": {
        "year": _number(1970, 2020, 50),
        "age": _number(18, 90, 36, MISSING),
        "race": _words("White Black", MISSING),
        "sex": _words("Female Male", MISSING),
        "educ": _number(0, 20, 20, MISSING),
        "partyid": _listed(PARTIES, MISSING),
        "relactiv": _scale(11, MISSING),
    },
    "colleges": {
        "state_abbr": _words(POSTAL),
        "pred_degree_awarded_ipeds": _scale(3),
        "year": _number(2000, 2020, 20),
        "count_not_working": _number(0, 2000, 50, MISSING),
        "count_working": _number(0, 10000, 50, MISSING),
    },
}


def configuration(name: str, rows: int, epsilon: str, delta: str, learner: str) -> str:
    """The configuration of a stream with one learner, whose further keys are TOML; one season."""
    columns = "\n".join(f'"{column}" = {table}' for column, table in COLUMNS[name].items())
    return f"""\
[streams."{name}"]
epsilon = {epsilon}
delta = {delta}
horizon = {rows}

[streams."{name}".label]
column = "label"
positive = "True"
negative = "False"

[streams."{name}".columns]
{columns}

[streams."{name}".learners.rule]
{learner}
"""
