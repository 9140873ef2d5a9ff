"""For programs and notebooks, without a daemon: a classifier, and streams in a few lines."""
