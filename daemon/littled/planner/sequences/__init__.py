"""Planning of learners of one-way sequences."""
