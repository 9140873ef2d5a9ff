"""The register of all hypothesis classes: how each is written, and where it is.

Classes are named here and not imported, so that help can list them and compute nothing.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One class: `name` and `parameters` as they are written, `made_by` "module:constructor".

    In small letters the parameters are the fields of the class's description. `from_file`: its
    rules come from a file, which the configuration reads.
    """

    name: str
    parameters: tuple[str, ...]
    made_by: str
    from_file: bool = False

    @property
    def written(self) -> str:
        """With its parameters: `stumps:FEATURES:BUCKETS`."""
        return ":".join((self.name, *self.parameters))


CLASSES: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("thresholds", ("SIZE",), "littled.classes.thresholds:Thresholds"),
        Entry("points", ("BITS",), "littled.classes.points:PointFunctions"),
        Entry("sparse_sets", ("BITS", "MEMBERS"), "littled.classes.sparse_sets:SparseSets"),
        Entry("prefixes", ("BITS",), "littled.classes.prefixes:Prefixes"),
        Entry("affine", ("BITS", "DIMENSION"), "littled.classes.affine:AffineSubspaces"),
        Entry("stumps", ("FEATURES", "BUCKETS"), "littled.classes.stumps:Stumps"),
        Entry("conjunctions", ("BITS",), "littled.classes.conjunctions:Conjunctions"),
        Entry("table", ("FILE",), "littled.classes.table:Table", from_file=True),
    )
}


def all_written() -> str:
    """Every class as it is written, with commas."""
    return ", ".join(entry.written for entry in CLASSES.values())
