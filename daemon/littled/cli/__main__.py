"""`python -m littled.cli` is `littled`."""

from littled.cli.entry import main

main()
