"""Plans of online learners: ways of selection, schedules, costs, and the mode of the paper."""
