"""Drafts of the columns of a configuration, made from a file that somebody may look at."""
