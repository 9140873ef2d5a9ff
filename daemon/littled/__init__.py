"""The littled daemon: private rules from streams of labelled queries."""
