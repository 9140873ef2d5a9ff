"""`littled dim`: what the rules of a table can shatter, with a tree that proves it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from littled.classes.base import ClassError
from littled.cli.failures import WRONG_USE, explained
from littled.cli.output import number, print_json, print_pairs
from littled.littlestone import (
    CostExceeded,
    Leaf,
    ShatteredTree,
    bounds_and_witness,
    describe_tree,
    dual_vapnik_chervonenkis_dimension,
    vapnik_chervonenkis_dimension,
)
from littled.tables import TableFileError, read_named_table

SUBCLASSES_MAX = 200_000


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--limit", type=click.IntRange(1), default=SUBCLASSES_MAX, show_default=True,
              metavar="N", help="Sub-classes that each search may visit.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
def dim(file: Path, limit: int, as_json: bool) -> None:
    """Show the dimensions of the rules in FILE, a table as for the class `table:FILE`.

    The Littlestone dimension is the number of mistakes that the best online learner makes in the
    worst case, and the depth of the witness tree: whichever way one goes down that tree, a rule
    gives every point on the way the label that was chosen. Certified bounds take its place where
    the search visits too many sub-classes.
    """
    with explained(TableFileError, ClassError, status=WRONG_USE):
        named = read_named_table(file)
    table, points = named.table, named.point_names
    bounds, tree = bounds_and_witness(table.matrix, subclasses_max=limit)
    facts = {
        "rules": len(table.rule_names),
        "points": table.points,
        "littlestone_dimension": bounds.lower if bounds.lower == bounds.upper else None,
        "littlestone_bounds": [*bounds],
        "vc_dimension": within(limit, vapnik_chervonenkis_dimension, table.matrix),
        "dual_vc_dimension": within(limit, dual_vapnik_chervonenkis_dimension, table.matrix),
        "subclasses_max": limit,
    }
    if as_json:
        print_json(facts | {"witness_tree": tree_facts(tree, points, table.rule_names)}, indent=2)
        return
    print_pairs(facts_in_words(facts))
    click.echo(f"\nwitness tree of depth {bounds.lower}:")
    click.echo(describe_tree(tree, points, table.rule_names))


def within(limit: int, search: Callable[..., int], matrix: Any) -> int | None:
    """The dimension that a search finds; None where it visits too many sub-classes."""
    try:
        return search(matrix, subclasses_max=limit)
    except CostExceeded:
        return None


def tree_facts(tree: ShatteredTree, points: Sequence[str], rules: Sequence[str]) -> dict[str, Any]:
    """A tree as a JSON object: {"point", "zero", "one"} or {"rule"}."""
    if isinstance(tree, Leaf):
        return {"rule": rules[tree.hypothesis]}
    return {
        "point": points[tree.point],
        "zero": tree_facts(tree.zero, points, rules),
        "one": tree_facts(tree.one, points, rules),
    }


def facts_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """The dimensions for people."""
    limit = f"takes more than {number(facts['subclasses_max'])} sub-classes; see --limit"
    lower, upper = facts["littlestone_bounds"]
    return {
        "rules": number(facts["rules"]),
        "points": number(facts["points"]),
        "Littlestone dimension": (
            str(lower)
            if lower == upper
            else f"at least {lower}, at most {upper} (the exact value {limit})"
        ),
        "VC dimension": _or_not_computed(facts["vc_dimension"], limit),
        "dual VC dimension": _or_not_computed(facts["dual_vc_dimension"], limit),
    }


def _or_not_computed(dimension: int | None, reason: str) -> str:
    """The dimension, or why there is none."""
    return f"not computed ({reason})" if dimension is None else str(dimension)
