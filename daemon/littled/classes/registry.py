"""The register of all hypothesis classes: how each is written, and where it is.

Classes are named here and not imported, so that help can list them and compute nothing.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One class: `name` and `parameters` as they are written, `made_by` "module:constructor".

    In small letters the parameters are the fields of the class's description. `from_file`: its
    rules come from a file, which the configuration reads. forms: which forms of points a class can
    have where columns of tables are read, the first of them before the others
    (`littled_protocol.encodings.Reading`).
    """

    name: str
    parameters: tuple[str, ...]
    made_by: str
    forms: tuple[str, ...]
    from_file: bool = False

    @property
    def written(self) -> str:
        """With its parameters: `stumps:FEATURES:BUCKETS`."""
        return ":".join((self.name, *self.parameters))


_SCALAR = ("number", "value")

CLASSES: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("thresholds", ("SIZE",), "littled.classes.thresholds:Thresholds", ("value",)),
        Entry("points", ("BITS",), "littled.classes.points:PointFunctions", _SCALAR),
        Entry(
            "sparse_sets",
            ("BITS", "MEMBERS"),
            "littled.classes.sparse_sets:SparseSets",
            _SCALAR,
        ),
        Entry("prefixes", ("BITS",), "littled.classes.prefixes:Prefixes", _SCALAR),
        Entry(
            "prefix_sets",
            ("BITS", "BLOCKS"),
            "littled.classes.prefix_sets:PrefixSets",
            _SCALAR,
        ),
        Entry(
            "affine",
            ("BITS", "DIMENSION"),
            "littled.classes.affine:AffineSubspaces",
            ("number", "bits"),
        ),
        Entry("stumps", ("FEATURES", "BUCKETS"), "littled.classes.stumps:Stumps", ("row",)),
        Entry(
            "scorecard",
            ("COLUMNS",),
            "littled.classes.scorecard:Scorecards",
            ("row", "value"),
        ),
        Entry("integers", ("BITS",), "littled.classes.integers:Integers", ("value",)),
        Entry("strings", ("LENGTH",), "littled.classes.strings:Strings", ()),
        Entry("oneway", ("BITS",), "littled.classes.oneway:OneWay", ()),
        Entry("conjunctions", ("BITS",), "littled.classes.conjunctions:Conjunctions", ("bits",)),
        Entry("table", ("FILE",), "littled.classes.table:Table", ("cell",), from_file=True),
    )
}


def all_written() -> str:
    """Every class as it is written, with commas."""
    return ", ".join(entry.written for entry in CLASSES.values())
