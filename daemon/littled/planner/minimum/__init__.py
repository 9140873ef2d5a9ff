"""Planning of learners of robust minima."""
