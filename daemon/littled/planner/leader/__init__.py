"""How scorecard learners are planned."""
