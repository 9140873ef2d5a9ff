"""`littled predict`: private answers to questions about single points."""

import secrets
import sys
from typing import Any

import click

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.options import DaemonChoice, daemon_options
from littled.cli.output import number, print_json
from littled.cli.values import reader_of
from littled_client.blocking import Client
from littled_client.conversation import words_of
from littled_client.errors import (
    ClientError,
    PredictionRefused,
    StreamElsewhereError,
    UnreachableError,
)
from littled_client.predictions import Predictions
from littled_protocol import limits
from littled_protocol.columns import Labels, Points
from littled_protocol.errors import ProtocolError
from littled_protocol.rules import Words

VALUES_MAX = 100_000  # of one call; each of them costs


class RequestParameter(click.ParamType[bytes]):
    """The name of a request: 16 bytes as 32 hexadecimal digits."""

    name = "hex"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes:
        """The bytes, or click's error."""
        try:
            request = bytes.fromhex(value)
        except ValueError:
            request = b""
        if len(request) != limits.request_bytes:
            digits = 2 * limits.request_bytes
            self.fail(f"a request is named by {digits} hexadecimal digits", param, ctx)
        return request


@click.command()
@click.argument("learner", metavar="STREAM/LEARNER")
@click.argument("values", nargs=-1)
@click.option("--offset", type=int, help="The number that point 0 stands for; else the stream's.")
@click.option("--clip", type=int, nargs=2, default=None, metavar="LEAST MOST",
              help="Move every value into this range first.")  # fmt: skip
@click.option("--words", "in_words", is_flag=True, help="Print the labels' names, not 0 and 1.")
@click.option("--request", type=RequestParameter(), metavar="HEX",
              help="Name of the request; the same again gets the same answers at no charge.",
              )  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
@daemon_options
def predict(
    learner: str,
    values: tuple[str, ...],
    offset: int | None,
    clip: tuple[int, int] | None,
    in_words: bool,
    request: bytes | None,
    as_json: bool,
    daemon: DaemonChoice,
) -> None:
    """Ask LEARNER about VALUES, or about the lines of standard input; each answer is charged.

    Prints one label a line. Values are the numbers that people read: the stream's offset is
    subtracted. Addresses are written as usual, features of a row with commas between them. Put --
    before negative values. Which answers are given from a window, and how many are left, `littled
    status` tells.
    """
    asked = values or tuple(line.strip() for line in sys.stdin)
    if not 1 <= len(asked) <= VALUES_MAX:
        raise Failure(f"ask about 1 to {number(VALUES_MAX)} values", WRONG_USE)
    name = request or secrets.token_bytes(limits.request_bytes)
    with explained(ClientError, ProtocolError), daemon.client() as client:
        status = client.status(learner.partition("/")[0])
        x_type = _point_type(status, learner)
        words = words_of(status).get(learner, Words())  # an unknown learner is refused by name
        if words is None:
            raise Failure(f"it is not known what the points of {learner} stand for")
        points = reader_of(x_type, words, offset, clip).points(asked)
        found = _asked(client, learner, points, name, words if in_words else None)
    if as_json:
        print_json(answer_facts(learner, name, found, words))
    else:
        print_labels(found.labels, words if in_words else None)


def _point_type(status: dict[str, Any], learner: str) -> str:
    """The type of the points of a learner's stream; Failure for an unknown stream."""
    stream = learner.partition("/")[0]
    if stream not in status["streams"]:
        raise Failure(f"the daemon has no stream {stream}")
    found: str = status["streams"][stream]["x_type"]
    return found


def _asked(
    client: Client, learner: str, points: Points, name: bytes, words: Words | None
) -> Predictions:
    """The answers; what was answered before a refusal is printed, since it was paid for."""
    try:
        return client.predict_points(learner, points, request=name)
    except PredictionRefused as refused:
        print_labels(refused.labels, words)
        raise Failure(refusal_sentence(refused)) from None
    except (UnreachableError, StreamElsewhereError) as lost:
        raise Failure(
            f"{lost}; ask again with --request {name.hex()}, and nothing is charged twice"
        ) from None


def print_labels(labels: Labels, words: Words | None) -> None:
    """One label a line, by name if there are words."""
    names = (words.negative, words.positive) if words else ("0", "1")
    if len(labels):
        click.echo("\n".join(names[int(label)] for label in labels))


def answer_facts(learner: str, name: bytes, found: Predictions, words: Words) -> dict[str, Any]:
    """Answers as a JSON object."""
    return {
        "learner": learner,
        "request": name.hex(),
        "y": found.labels.tolist(),
        "labels": [(words.negative, words.positive)[int(label)] for label in found.labels],
        "window": found.window,
        "left": found.left,
        "repeated": found.repeated,
    }


def refusal_sentence(refused: PredictionRefused) -> str:
    """Why there is no answer, with the numbers that say when there will be."""
    facts = str(refused).rstrip(".")
    if refused.code == "window_spent":
        facts += f" ({number(refused.asked)} asked, {number(refused.left)} left)"
    if refused.next_window is not None and refused.code in ("window_spent", "no_window"):
        facts += f"; the next window is full after {number(refused.next_window)} examples"
    return facts
