"""Planning of learners of most frequent items."""
