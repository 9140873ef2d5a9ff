"""Plans of learners that answer questions from windows."""
