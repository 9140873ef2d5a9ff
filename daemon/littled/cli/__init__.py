"""The command line: one small module for each family of commands, loaded when it is called."""

from littled.cli.entry import main

__all__ = ["main"]
