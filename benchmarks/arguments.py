"""What benchmarks ask of the numbers on their command lines."""

import argparse


def too_small(found: argparse.Namespace, **least: int) -> str | None:
    """What is wrong with the first option that is below its least value, in one sentence."""
    for name, value in least.items():
        if getattr(found, name) < value:
            option = name.replace("_", "-")
            return f"--{option} must be at least {value}, not {getattr(found, name)}"
    return None
