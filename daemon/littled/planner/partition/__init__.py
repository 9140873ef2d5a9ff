"""How partition learners are planned."""
